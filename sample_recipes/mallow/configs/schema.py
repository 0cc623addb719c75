"""Configuration of the mallow recipe."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mvp_engine.config.schema import BaseEngineConfig, BaseLoopConfig, BaseOptimConfig


class MallowDataConfig(BaseModel):
    """Where the chat samples are and how they are batched."""

    model_config = ConfigDict(extra="forbid")

    train_path: str
    max_seq_len: int = Field(4096, ge=1)
    batch_size: int = Field(1, ge=1)
    num_workers: int = Field(4, ge=0)


class MallowCheckpointingConfig(BaseModel):
    """Recomputation of activations."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = False
    use_reentrant: bool = False


class MallowCompileConfig(BaseModel):
    """Compilation of the model."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = False
    backend: Literal["inductor", "aot_eager", "eager"] = "inductor"
    mode: Literal["default", "reduce-overhead", "max-autotune"] = "default"


class MallowTowerConfig(BaseModel):
    """The convolutional tower that takes the place of the transformer one."""

    model_config = ConfigDict(extra="forbid")

    width: int = Field(512, ge=32)
    depth: int = Field(12, ge=1)


class MallowModelConfig(BaseModel):
    """The checkpoint, and which of its parts train."""

    model_config = ConfigDict(extra="forbid")

    pretrained_model_name_or_path: str = "Qwen/Qwen2.5-VL-3B-Instruct"
    attn_implementation: Literal["eager", "sdpa", "flash_attention_2"] = "sdpa"
    freeze_vit: bool = False
    freeze_projector: bool = False
    freeze_llm: bool = False
    gradient_checkpointing: MallowCheckpointingConfig = Field(default_factory=MallowCheckpointingConfig)
    compile: MallowCompileConfig = Field(default_factory=MallowCompileConfig)
    tower: MallowTowerConfig = Field(default_factory=MallowTowerConfig)


class MallowOptimConfig(BaseOptimConfig):
    """Optimizer settings on top of the shared ones."""

    optimizer: str = "AdamW"


class MallowConfig(BaseEngineConfig):
    """Root of the mallow configuration."""

    data: MallowDataConfig
    model: MallowModelConfig = Field(default_factory=MallowModelConfig)
    optim: MallowOptimConfig = Field(default_factory=MallowOptimConfig)
    loop: BaseLoopConfig = Field(default_factory=BaseLoopConfig)
