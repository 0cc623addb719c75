"""Model code of the sorrel recipe."""

from .loading import load_sorrel

__all__ = ["load_sorrel"]
