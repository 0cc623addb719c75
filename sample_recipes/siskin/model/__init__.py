"""Model code of the siskin recipe."""

from .report import trainable_shares

__all__ = ["trainable_shares"]
