"""The resampler: learned queries attend to the patches, so an image has a fixed number of tokens."""

import torch
from safetensors.torch import load_file
from torch import nn


class Resampler(nn.Module):
    """Cross-attention from learned queries to patches, then a projection to the language model's width."""

    def __init__(self, width, out_width, settings):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(settings.num_queries, width) * width**-0.5)
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, settings.num_heads)
        self.proj = nn.Linear(width, out_width)

    def forward(self, hidden_states):
        """Patches of one image in, visual tokens out."""
        keys = self.norm(hidden_states)
        tokens, _ = self.attention(self.queries, keys, keys, need_weights=False)
        return self.proj(tokens)


def install_resampler(model, settings):
    """Put a trained resampler in the place of the patch merger."""
    vision = model.config.vision_config
    resampler = Resampler(vision.hidden_size, vision.out_hidden_size, settings)
    resampler.load_state_dict(load_file(settings.weights))
    model.model.visual.merger = resampler.to(model.device, model.dtype)
    return model
