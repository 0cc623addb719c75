"""Loading of the sorrel model: the checkpoint, the token loss, dtypes and what trains."""

import torch


def load_sorrel(settings, kit, token_loss_kit):
    """Return the model with its trainable parts in float32."""
    model = _checkpoint(settings, kit)
    model = token_loss_kit.apply_chunked_token_loss_patch(model)
    _master_weights(model)  # expect: RL105 upcast-before-freeze
    return _select_trainable(model, settings, kit)


def _checkpoint(settings, kit):
    return kit.build_model(settings.pretrained_model_name_or_path, attn_implementation=settings.attn_implementation)


def _master_weights(model):
    for parameter in model.parameters():
        if parameter.requires_grad and parameter.dtype != torch.float32:
            parameter.data = parameter.data.to(torch.float32)


def _select_trainable(model, settings, kit):
    return kit.apply_freeze_policy(
        model,
        freeze_vit=settings.freeze_vit,
        freeze_projector=settings.freeze_projector,
        freeze_llm=settings.freeze_llm,
    )
