"""Model code of the mallow recipe."""

from .patches import project_patches_by_matmul
from .tower import install_conv_tower

__all__ = ["install_conv_tower", "project_patches_by_matmul"]
