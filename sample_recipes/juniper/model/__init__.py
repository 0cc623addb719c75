"""Model code of the juniper recipe."""

from .adapters import attention_adapters

__all__ = ["attention_adapters"]
