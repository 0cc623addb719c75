"""What of the model trains, part by part."""

from collections import Counter


def trainable_shares(model):
    """The share of each top-level part's values that train."""
    total, training = Counter(), Counter()
    for name, parameter in model.named_parameters():
        part = ".".join(name.split(".")[:2])
        total[part] += parameter.numel()
        training[part] += parameter.numel() * parameter.requires_grad
    return {part: training[part] / size for part, size in total.items()}
