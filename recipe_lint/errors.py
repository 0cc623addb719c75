"""The one error type that ends a run with exit code 2 and a single line."""

from __future__ import annotations


class UsageError(Exception):
    """Wrong arguments or configuration; the text says which file, where, and what to do."""
