"""Numbers and dtypes of trainable parameters."""

import torch


def keep_trainable_in_float32(model):
    """Hold what trains in float32; frozen parts keep the dtype of the checkpoint."""
    for parameter in model.parameters():
        if parameter.requires_grad and parameter.dtype != torch.float32:
            parameter.data = parameter.data.float()


def count_trainable(model):
    """How many values an optimizer step changes."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
