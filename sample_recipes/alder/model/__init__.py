"""Model code of the alder recipe, loaded when it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .builder import build_alder
    from .dtypes import count_trainable

_HOMES = {"build_alder": "builder", "count_trainable": "dtypes"}

__all__ = ["build_alder", "count_trainable"]


def __getattr__(name: str):
    """Import the module that holds ``name``."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
