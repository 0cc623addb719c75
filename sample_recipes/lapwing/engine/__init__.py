"""Engine of the lapwing recipe."""

from .lapwing_engine import LapwingEngine

__all__ = ["LapwingEngine"]
