"""Engine of the wren recipe."""

from .wren_engine import WrenEngine

__all__ = ["WrenEngine"]
