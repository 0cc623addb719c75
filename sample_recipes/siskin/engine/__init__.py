"""Engines of the siskin recipe."""

from .siskin_distill_engine import SiskinDistillEngine
from .siskin_engine import SiskinEngine

__all__ = ["SiskinDistillEngine", "SiskinEngine"]
