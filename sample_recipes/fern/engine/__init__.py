"""Engine of the fern recipe."""

from .fern_engine import FernEngine

__all__ = ["FernEngine"]
