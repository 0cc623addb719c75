"""Engine of the heron recipe."""

from .heron_engine import HeronEngine

__all__ = ["HeronEngine"]
