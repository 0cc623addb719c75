"""Model code of the lapwing recipe."""

from .resampler import install_resampler

__all__ = ["install_resampler"]
