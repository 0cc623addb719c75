"""Engine of the sorrel recipe."""

from .sorrel_engine import SorrelEngine

__all__ = ["SorrelEngine"]
