"""Engine of the rowan recipe."""

from .rowan_engine import RowanEngine

__all__ = ["RowanEngine"]
