"""Model code of the heron recipe."""

from .patches import project_patches_by_matmul

__all__ = ["project_patches_by_matmul"]
