"""Configuration of the plover recipe."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mvp_engine.config.schema import BaseEngineConfig, BaseLoopConfig, BaseOptimConfig


class PloverDataConfig(BaseModel):
    """Where the chat samples are and how they are batched."""

    model_config = ConfigDict(extra="forbid")

    train_path: str
    max_seq_len: int = Field(4096, ge=1)
    batch_size: int = Field(1, ge=1)
    num_workers: int = Field(4, ge=0)


class PloverCheckpointingConfig(BaseModel):
    """Recomputation of activations."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = False
    use_reentrant: bool = False


class PloverCompileConfig(BaseModel):
    """Compilation of the model."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = False
    backend: Literal["inductor", "aot_eager", "eager"] = "inductor"
    mode: Literal["default", "reduce-overhead", "max-autotune"] = "default"


class PloverModelConfig(BaseModel):
    """The checkpoint, and which of its parts train."""

    model_config = ConfigDict(extra="forbid")

    pretrained_model_name_or_path: str = "Qwen/Qwen2.5-VL-3B-Instruct"
    attn_implementation: Literal["eager", "sdpa", "flash_attention_2"] = "sdpa"
    freeze_vit: bool = False
    freeze_projector: bool = False
    freeze_llm: bool = False
    gradient_checkpointing: PloverCheckpointingConfig = Field(default_factory=PloverCheckpointingConfig)
    compile: PloverCompileConfig = Field(default_factory=PloverCompileConfig)


class PloverOptimConfig(BaseOptimConfig):
    """Optimizer settings on top of the shared ones."""

    optimizer: str = "AdamW"


class PloverConfig(BaseEngineConfig):
    """Root of the plover configuration."""

    data: PloverDataConfig
    model: PloverModelConfig = Field(default_factory=PloverModelConfig)
    optim: PloverOptimConfig = Field(default_factory=PloverOptimConfig)
    loop: BaseLoopConfig = Field(default_factory=BaseLoopConfig)
