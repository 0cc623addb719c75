"""Engine of the mallow recipe."""

from .mallow_engine import MallowEngine

__all__ = ["MallowEngine"]
