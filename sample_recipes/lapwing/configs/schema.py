"""Configuration of the lapwing recipe."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mvp_engine.config.schema import BaseEngineConfig, BaseLoopConfig, BaseOptimConfig


class LapwingDataConfig(BaseModel):
    """Where the chat samples are and how they are batched."""

    model_config = ConfigDict(extra="forbid")

    train_path: str
    max_seq_len: int = Field(4096, ge=1)
    batch_size: int = Field(1, ge=1)
    num_workers: int = Field(4, ge=0)


class LapwingCheckpointingConfig(BaseModel):
    """Recomputation of activations."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = False
    use_reentrant: bool = False


class LapwingCompileConfig(BaseModel):
    """Compilation of the model."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = False
    backend: Literal["inductor", "aot_eager", "eager"] = "inductor"
    mode: Literal["default", "reduce-overhead", "max-autotune"] = "default"


class LapwingResamplerConfig(BaseModel):
    """The module that turns patches into a fixed number of visual tokens."""

    model_config = ConfigDict(extra="forbid")

    weights: str = "./weights/resampler.safetensors"
    num_queries: int = Field(64, ge=1)
    num_heads: int = Field(16, ge=1)


class LapwingModelConfig(BaseModel):
    """The checkpoint, and which of its parts train."""

    model_config = ConfigDict(extra="forbid")

    pretrained_model_name_or_path: str = "Qwen/Qwen2.5-VL-7B-Instruct"
    attn_implementation: Literal["eager", "sdpa", "flash_attention_2"] = "sdpa"
    freeze_vit: bool = False
    freeze_projector: bool = False
    freeze_llm: bool = False
    gradient_checkpointing: LapwingCheckpointingConfig = Field(default_factory=LapwingCheckpointingConfig)
    compile: LapwingCompileConfig = Field(default_factory=LapwingCompileConfig)
    resampler: LapwingResamplerConfig = Field(default_factory=LapwingResamplerConfig)


class LapwingOptimConfig(BaseOptimConfig):
    """Optimizer settings on top of the shared ones."""

    optimizer: str = "AdamW"


class LapwingConfig(BaseEngineConfig):
    """Root of the lapwing configuration."""

    data: LapwingDataConfig
    model: LapwingModelConfig = Field(default_factory=LapwingModelConfig)
    optim: LapwingOptimConfig = Field(default_factory=LapwingOptimConfig)
    loop: BaseLoopConfig = Field(default_factory=BaseLoopConfig)
