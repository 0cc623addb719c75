"""Marks that stand where a configuration value would stand."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Flag(Enum):
    """What is known where there is no plain value.

    ``UNKNOWN``: there may be a value, but it cannot be told statically. ``MISSING``: nothing sets the path.
    ``SECTION``: the path holds a section (a mapping or a nested config object), which has values of its own.
    """

    UNKNOWN = "unknown"
    MISSING = "missing"
    SECTION = "section"

    def __repr__(self) -> str:
        return self.name


UNKNOWN: Final = Flag.UNKNOWN
MISSING: Final = Flag.MISSING
SECTION: Final = Flag.SECTION
