"""Engine of the dunlin recipe."""

from .dunlin_engine import DunlinEngine

__all__ = ["DunlinEngine"]
