"""Engine of the plover recipe."""

from .plover_engine import PloverEngine

__all__ = ["PloverEngine"]
