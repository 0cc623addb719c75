"""Where the tracer is: the function that is being walked, and the loops it is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import libcst as cst

from recipe_lint.read.modules import Module
from recipe_lint.read.segments import Segment
from recipe_lint.trace.state import State
from recipe_lint.trace.values import ClassRef, Obj, Value


@dataclass
class Loop:
    """A loop being walked: where its breaks and continues wait for the end of the round."""

    node: cst.CSTNode
    over: Value | None
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


@dataclass
class Frame:
    """One function being walked."""

    segment: Segment
    module: Module
    owner: ClassRef | None = None
    receiver: Obj | None = None
    scopes: tuple[Mapping[str, Value], ...] = ()
    local_names: frozenset[str] = frozenset()
    loops: list[Loop] = field(default_factory=list)
    returns: list[tuple[State, Value]] = field(default_factory=list)
    local_imports: dict[str, Value] = field(default_factory=dict)
