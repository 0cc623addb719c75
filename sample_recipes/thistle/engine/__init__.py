"""Engine of the thistle recipe."""

from .thistle_engine import ThistleEngine

__all__ = ["ThistleEngine"]
