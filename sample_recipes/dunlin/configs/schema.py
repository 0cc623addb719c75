"""Configuration of the dunlin recipe."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mvp_engine.config.schema import BaseEngineConfig, BaseLoopConfig, BaseOptimConfig


class DunlinDataConfig(BaseModel):
    """Where the chat samples are and how they are batched."""

    model_config = ConfigDict(extra="forbid")

    train_path: str
    max_seq_len: int = Field(4096, ge=1)
    batch_size: int = Field(1, ge=1)
    num_workers: int = Field(4, ge=0)


class DunlinCheckpointingConfig(BaseModel):
    """Recomputation of activations."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = False
    use_reentrant: bool = False


class DunlinCompileConfig(BaseModel):
    """Compilation of the model."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = False
    backend: Literal["inductor", "aot_eager", "eager"] = "inductor"
    mode: Literal["default", "reduce-overhead", "max-autotune"] = "default"


class DunlinKernelConfig(BaseModel):
    """Fused kernels."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = False


class DunlinModelConfig(BaseModel):
    """The checkpoint, and which of its parts train."""

    model_config = ConfigDict(extra="forbid")

    pretrained_model_name_or_path: str = "Qwen/Qwen2.5-VL-7B-Instruct"
    attn_implementation: Literal["eager", "sdpa", "flash_attention_2"] = "sdpa"
    freeze_vit: bool = False
    freeze_projector: bool = False
    freeze_llm: bool = False
    gradient_checkpointing: DunlinCheckpointingConfig = Field(default_factory=DunlinCheckpointingConfig)
    compile: DunlinCompileConfig = Field(default_factory=DunlinCompileConfig)
    liger_kernel: DunlinKernelConfig = Field(default_factory=DunlinKernelConfig)


class DunlinOptimConfig(BaseOptimConfig):
    """Optimizer settings on top of the shared ones."""

    optimizer: str = "AdamW"


class DunlinConfig(BaseEngineConfig):
    """Root of the dunlin configuration."""

    data: DunlinDataConfig
    model: DunlinModelConfig = Field(default_factory=DunlinModelConfig)
    optim: DunlinOptimConfig = Field(default_factory=DunlinOptimConfig)
    loop: BaseLoopConfig = Field(default_factory=BaseLoopConfig)
