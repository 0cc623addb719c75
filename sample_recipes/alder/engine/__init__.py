"""Engine of the alder recipe."""

from .alder_engine import AlderEngine

__all__ = ["AlderEngine"]
