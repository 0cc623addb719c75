"""A convolutional vision tower with the part names of the transformer tower that it replaces."""

from torch import nn


class ConvBlock(nn.Module):
    """Depthwise convolution over the patch sequence and a pointwise mix, with a residual."""

    def __init__(self, width):
        super().__init__()
        self.depthwise = nn.Conv1d(width, width, kernel_size=7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, width)

    def forward(self, hidden_states):
        """(patches, width) in and out."""
        mixed = self.depthwise(hidden_states.T.unsqueeze(0)).squeeze(0).T
        return hidden_states + self.mix(self.norm(mixed).relu())


class ConvTower(nn.Module):
    """Patches in, tokens of the language model's width out."""

    def __init__(self, patch_size, out_width, settings):
        super().__init__()
        self.patch_embed = nn.Linear(patch_size, settings.width)
        self.blocks = nn.ModuleList(ConvBlock(settings.width) for _ in range(settings.depth))
        self.merger = nn.Linear(settings.width * 4, out_width)

    def forward(self, hidden_states, grid_thw):
        """Four neighbouring patches make one token."""
        hidden_states = self.patch_embed(hidden_states)
        for block in self.blocks:
            hidden_states = block(hidden_states)
        return self.merger(hidden_states.view(-1, self.merger.in_features))


def install_conv_tower(model, settings):
    """Put a new tower in the place of the pretrained one."""
    vision = model.config.vision_config
    patch_size = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
    tower = ConvTower(patch_size, vision.out_hidden_size, settings)
    model.model.visual = tower.to(model.device, model.dtype)
    return model
