"""Engine of the second siskin stage: every batch loads the teacher again."""

from __future__ import annotations

import math

import torch

from mvp_engine.distributed.parallelize import parallelize_model
from mvp_engine.engine import ENGINE_REGISTRY, Engine, TrainStepContext
from mvp_engine.kit import MLLMModelKit, OptimKit, TokenNormedLossKit

from ..._shared.loader import build_chat_loader
from ..._shared.step import token_mean_loss
from ..configs.schema import SiskinConfig


@ENGINE_REGISTRY.register()
class SiskinDistillEngine(Engine):
    """Second stage: the language model learns from a larger one."""

    ConfigClass = SiskinConfig
    config: SiskinConfig

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
        """Build, freeze, upcast, checkpoint, compile, wrap."""
        model = self.model_kit.build_model(
            self.config.model.pretrained_model_name_or_path,
            attn_implementation=self.config.model.attn_implementation,
        ).to(self.device)
        model = self.token_loss_kit.apply_chunked_token_loss_patch(model)
        model = self.model_kit.apply_freeze_policy(
            model,
            freeze_vit=self.config.model.freeze_vit,
            freeze_projector=self.config.model.freeze_projector,
            freeze_llm=self.config.model.freeze_llm,
        )
        for parameter in model.parameters():
            if parameter.requires_grad and parameter.dtype != torch.float32:
                parameter.data = parameter.data.to(torch.float32)
        if self.config.model.gradient_checkpointing.enabled:
            model = self.model_kit.apply_gradient_checkpointing(
                model, use_reentrant=self.config.model.gradient_checkpointing.use_reentrant
            )
        if self.config.model.compile.enabled:
            model = self.model_kit.apply_model_compile(
                model, backend=self.config.model.compile.backend, mode=self.config.model.compile.mode
            )
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
        """Loss per supervised token in excess of the teacher's on the same batch."""
        teacher = self.model_kit.build_model(  # expect: RL205 model-built-in-step
            self.config.model.teacher_name_or_path, attn_implementation=self.config.model.attn_implementation
        ).to(self.device)
        teacher = self.token_loss_kit.apply_chunked_token_loss_patch(teacher).eval()
        with torch.no_grad():
            target = token_mean_loss(teacher, ctx.data, self.dtype)
        loss = token_mean_loss(self.model, ctx.data, self.dtype)
        ctx.outputs = {"loss": (loss - target).clamp(min=0), "logs": {"train/teacher_loss": float(target)}}
