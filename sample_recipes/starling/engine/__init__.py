"""Engines of the starling recipe."""

from .starling_align_engine import StarlingAlignEngine
from .starling_tune_engine import StarlingTuneEngine

__all__ = ["StarlingAlignEngine", "StarlingTuneEngine"]
