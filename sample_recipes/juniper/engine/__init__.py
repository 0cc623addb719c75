"""Engine of the juniper recipe."""

from .juniper_engine import JuniperEngine

__all__ = ["JuniperEngine"]
