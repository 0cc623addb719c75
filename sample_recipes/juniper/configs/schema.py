"""Configuration of the juniper recipe."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mvp_engine.config.schema import BaseEngineConfig, BaseLoopConfig, BaseOptimConfig


class JuniperDataConfig(BaseModel):
    """Where the chat samples are and how they are batched."""

    model_config = ConfigDict(extra="forbid")

    train_path: str
    max_seq_len: int = Field(4096, ge=1)
    batch_size: int = Field(1, ge=1)
    num_workers: int = Field(4, ge=0)


class JuniperCheckpointingConfig(BaseModel):
    """Recomputation of activations."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = False
    use_reentrant: bool = False


class JuniperCompileConfig(BaseModel):
    """Compilation of the model."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = False
    backend: Literal["inductor", "aot_eager", "eager"] = "inductor"
    mode: Literal["default", "reduce-overhead", "max-autotune"] = "default"


class JuniperLoraConfig(BaseModel):
    """Low-rank adapters of the attention projections."""

    model_config = ConfigDict(extra="forbid")

    rank: int = Field(16, ge=1)
    alpha: int = Field(32, ge=1)
    dropout: float = Field(0.05, ge=0.0, lt=1.0)


class JuniperModelConfig(BaseModel):
    """The checkpoint, and which of its parts train."""

    model_config = ConfigDict(extra="forbid")

    pretrained_model_name_or_path: str = "Qwen/Qwen2.5-VL-7B-Instruct"
    attn_implementation: Literal["eager", "sdpa", "flash_attention_2"] = "sdpa"
    freeze_vit: bool = False
    freeze_projector: bool = False
    freeze_llm: bool = False
    gradient_checkpointing: JuniperCheckpointingConfig = Field(default_factory=JuniperCheckpointingConfig)
    compile: JuniperCompileConfig = Field(default_factory=JuniperCompileConfig)
    lora: JuniperLoraConfig = Field(default_factory=JuniperLoraConfig)


class JuniperOptimConfig(BaseOptimConfig):
    """Optimizer settings on top of the shared ones."""

    optimizer: str = "AdamW"


class JuniperConfig(BaseEngineConfig):
    """Root of the juniper configuration."""

    data: JuniperDataConfig
    model: JuniperModelConfig = Field(default_factory=JuniperModelConfig)
    optim: JuniperOptimConfig = Field(default_factory=JuniperOptimConfig)
    loop: BaseLoopConfig = Field(default_factory=BaseLoopConfig)
