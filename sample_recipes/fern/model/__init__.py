"""Model code of the fern recipe."""

from .patches import project_patches_by_matmul

__all__ = ["project_patches_by_matmul"]
