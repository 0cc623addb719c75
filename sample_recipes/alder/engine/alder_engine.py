"""Engine of the alder recipe: the set-up of the model is a builder in another file."""

from __future__ import annotations

import math

from mvp_engine.distributed.parallelize import parallelize_model
from mvp_engine.engine import ENGINE_REGISTRY, Engine, TrainStepContext
from mvp_engine.kit import MLLMModelKit, OptimKit, TokenNormedLossKit
from mvp_engine.utils.log import logger

from ..._shared.loader import build_chat_loader
from ..._shared.step import token_mean_loss
from ..configs.schema import AlderConfig
from ..model import build_alder, count_trainable


@ENGINE_REGISTRY.register()
class AlderEngine(Engine):
    """The engine wraps what the builder hands over."""

    ConfigClass = AlderConfig
    config: AlderConfig

    def __init__(self, config) -> None:
        """Set up the kits."""
        super().__init__(config)
        self.model_kit = MLLMModelKit()
        self.optim_kit = OptimKit()
        self.token_loss_kit = TokenNormedLossKit(
            device=self.device, dp_world_size=self.parallel_mesh.dp.world_size, dp_group=self.parallel_mesh.dp.group
        )

    def prepare_dataloader(self, workflow: str = "train"):
        """Packed chat samples for training; there is no evaluation set."""
        return build_chat_loader(self.config, self.parallel_mesh, self.device) if workflow == "train" else None

    def prepare_model(self):
        """Let the builder set the model up, then wrap it."""
        model = build_alder(self.config.model, self.model_kit, self.token_loss_kit, self.device)
        logger.info(f"{count_trainable(model) / 1e6:.1f} M parameters train")
        return parallelize_model(
            model,
            parallel_mesh=self.parallel_mesh,
            backend_kwargs=self.config.parallel.backend_kwargs.model_dump(),
        )

    def prepare_optimizer(self):
        """AdamW over what is left trainable."""
        return self.optim_kit.build_optimizer(
            self.model,
            optimizer=self.config.optim.optimizer,
            lr=self.config.optim.lr,
            weight_decay=self.config.optim.weight_decay,
        )

    def prepare_scheduler(self):
        """Cosine decay after a linear warm-up."""
        warmup = math.ceil(self.total_steps * self.config.optim.warmup_ratio)
        return self.optim_kit.build_lr_scheduler(
            self.optimizer, "cosine", num_warmup_steps=warmup, num_training_steps=self.total_steps
        )

    def forward_step(self, ctx: TrainStepContext) -> None:
        """Loss per supervised token."""
        ctx.outputs = {"loss": token_mean_loss(self.model, ctx.data, self.dtype), "logs": {}}
