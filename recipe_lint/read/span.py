"""A place in a file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A place in a file: 1-based lines and 1-based columns in code points, the end exclusive.

    ``path`` is relative to the working directory where it lies below it, with ``/`` on every system.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
