"""The whole set-up of the alder model, up to but without the wrapping for distributed training."""

from .dtypes import keep_trainable_in_float32


def build_alder(settings, kit, token_loss_kit, device):
    """Take the model through the protocol's steps; ``settings`` is the model section of the configuration."""
    model = kit.build_model(
        settings.pretrained_model_name_or_path, attn_implementation=settings.attn_implementation
    ).to(device)
    model = token_loss_kit.apply_chunked_token_loss_patch(model)
    model = kit.apply_freeze_policy(
        model,
        freeze_vit=settings.freeze_vit,
        freeze_projector=settings.freeze_projector,
        freeze_llm=settings.freeze_llm,
    )
    keep_trainable_in_float32(model)
    recompute = settings.gradient_checkpointing
    model = _recompute(model, kit, enabled=recompute.enabled, use_reentrant=recompute.use_reentrant)
    graph = settings.compile
    return _compile(model, kit, enabled=graph.enabled, backend=graph.backend, mode=graph.mode)


def _recompute(model, kit, *, enabled, use_reentrant):
    if not enabled:
        return model
    return kit.apply_gradient_checkpointing(model, use_reentrant=use_reentrant)


def _compile(model, kit, *, enabled, backend, mode):
    if not enabled:
        return model
    return kit.apply_model_compile(model, backend=backend, mode=mode)
