"""How bad a finding is."""

from __future__ import annotations

from enum import IntEnum


class Severity(IntEnum):
    """How bad a finding is; the order of the members is the order of badness.

    ``error``: wrong result, crash or silent no-op. ``warning``: cost, or the kit's contract broken.
    ``info``: convention.
    """

    info = 1
    warning = 2
    error = 3
