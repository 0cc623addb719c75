"""The tracer's machine: the parts that interpret code, and what they share while they do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import libcst as cst

from recipe_lint.protocol.model import Protocol
from recipe_lint.read.imports import Definition, Project
from recipe_lint.read.modules import FunctionNode, Module
from recipe_lint.read.segments import Segment
from recipe_lint.trace.assignments import Assignments
from recipe_lint.trace.builtins import Builtins
from recipe_lint.trace.calls import Calls
from recipe_lint.trace.classes import Classes
from recipe_lint.trace.conditions import Conditions
from recipe_lint.trace.events import Event, Note, ObjectInfo, Site
from recipe_lint.trace.expressions import Expressions
from recipe_lint.trace.functions import Functions
from recipe_lint.trace.guards import Cube, Guard, Literal
from recipe_lint.trace.life import Life
from recipe_lint.trace.loops import Loops
from recipe_lint.trace.names import Names
from recipe_lint.trace.optimizers import Optimizers
from recipe_lint.trace.patches import Patches
from recipe_lint.trace.relevance import Relevance
from recipe_lint.trace.state import State, alternatives, join, narrow
from recipe_lint.trace.statements import Statements
from recipe_lint.trace.steps import Steps
from recipe_lint.trace.values import ClassRef, Obj, Parameters, Value

MAX_WORK = 400_000


@dataclass
class Record:
    """What a trace collects."""

    events: list[Event] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    objects: dict[int, ObjectInfo] = field(default_factory=dict)
    assumed: set[tuple[Cube, Literal]] = field(default_factory=set)
    prefixes: dict[int, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    classes: dict[int, ClassRef] = field(default_factory=dict)
    memo: dict[str, Obj] = field(default_factory=dict)
    views: dict[int, int] = field(default_factory=dict)
    entered: set[str] = field(default_factory=set)
    families: set[str] = field(default_factory=set)
    inside: dict[int, Obj] = field(default_factory=dict)


class Machine:
    """Interprets one engine or root. Parts reach each other through it; it owns no rule and reads no file itself."""

    def __init__(self, project: Project, protocol: Protocol, relevance: Relevance) -> None:
        """A fresh machine with nothing recorded."""
        self.project = project
        self.protocol = protocol
        self.relevance = relevance
        self.record = Record()
        self.chain: list[Site] = []
        self.stack: list[object] = []
        self.hook = ""
        self.work = 0
        self._numbers = 0
        self.element_depth = 0
        self.rounds: tuple[int, ...] = ()
        self.unrolled: list[int] = []
        self.name_tests: list[str] = []
        self.bare_call: cst.CSTNode | None = None
        self.patch_sink: list[tuple[tuple[str, ...], str]] | None = None
        self.life: Life | None = None
        self.expressions = Expressions(self)
        self.loops = Loops(self)
        self.statements = Statements(self)
        self.conditions = Conditions(self)
        self.names = Names(self)
        self.calls = Calls(self)
        self.builtins = Builtins(self)
        self.functions = Functions(self)
        self.classes = Classes(self)
        self.assignments = Assignments(self)
        self.steps = Steps(self)
        self.patches = Patches(self)
        self.optimizers = Optimizers(self)

    def segment(self, module: Module, node: FunctionNode | None, qualname: str) -> Segment:
        """The LibCST segment of a definition, parsed at most once in a run."""
        return self.relevance.segment(module, node, qualname)

    def new(self, origin: str, label: str, parent: int | None = None) -> Obj:
        """A new object."""
        number = len(self.record.objects)
        self.record.objects[number] = ObjectInfo(number, origin, label, parent)
        return Obj(number)

    def name_object(self, obj: Obj, name: str) -> None:
        """Remember the first name an object is bound to, for what people read."""
        info = self.record.objects[obj.id]
        if not info.name:
            self.record.objects[obj.id] = replace(info, name=name)

    def whole(self, obj: Obj) -> Obj:
        """The same thing seen from the outermost module that holds it: a swapped-in tower is a part of its model."""
        seen: set[int] = set()
        while obj.id in self.record.inside and obj.id not in seen:
            seen.add(obj.id)
            holder = self.record.inside[obj.id]
            obj = Obj(holder.id, (*holder.path, *obj.path), obj.view, obj.may)
        return obj

    def unknown(self, label: str = "?") -> Obj:
        """A new object of which nothing is known."""
        return self.new("unknown", label)

    def next_number(self) -> int:
        """A number that no other test of this trace has."""
        self._numbers += 1
        return self._numbers

    def remembered(self, key: str, origin: str, label: str) -> Obj:
        """The object of a pure-looking call: the same text with the same arguments is the same value."""
        if key not in self.record.memo:
            self.record.memo[key] = self.new(origin, label)
        return self.record.memo[key]

    def collapse(self) -> Value:
        """The value of a join past the bound."""
        return Obj(self.unknown("one of many values").id, may=True)

    def join(self, states: list[State]) -> State:
        """The state after branches meet."""
        return join(states, self.collapse)

    def options(self, value: Value, state: State) -> list[tuple[Guard, Value]]:
        """The possible values here, each with its guard."""
        return narrow(value, state.guard)

    def single(self, value: Value, state: State) -> Value:
        """``value`` without the alternatives that are impossible here."""
        found = narrow(value, state.guard)
        if len(found) == 1:
            return found[0][1]
        return alternatives(found, self.collapse) if found else value

    def info(self, obj: Obj | int) -> ObjectInfo:
        """What is known of an object."""
        return self.record.objects[obj if isinstance(obj, int) else obj.id]

    def is_model_like(self, value: Value) -> bool:
        """Whether a value may be (a part of) a model: anything opaque that is no configuration, engine or optimizer."""
        if isinstance(value, Parameters):
            return True
        return isinstance(value, Obj) and self.info(value).origin not in ("config", "self", "optimizer", "plain")

    def note(self, kind: str, obj: int, site: Site, state: State, **traits: object) -> None:
        """Record a note."""
        index = len(self.record.events) + len(self.record.notes)
        may = bool(traits.pop("may", False)) or state.guard.approximate
        self.record.notes.append(Note(index, kind, obj, site, tuple(self.chain), state.guard, self.hook, may, traits))

    def spend(self) -> bool:
        """Count one unit of work; False once the bound is passed, so that any input ends."""
        self.work += 1
        return self.work <= MAX_WORK

    @contextmanager
    def entered(self, site: Site, key: object) -> Iterator[None]:
        """Walk a callee: ``site`` is the call, ``key`` identifies the callee on the stack."""
        outer = self.chain
        # A hook is entered by the engine's life, not by a call that stands somewhere.
        self.chain = outer if isinstance(site.node, cst.FunctionDef) else [*outer, site]
        self.stack.append(key)
        try:
            yield
        finally:
            self.chain = outer
            self.stack.pop()

    def definition_of(self, module: Module, dotted: str) -> Definition | None:
        """A project definition by dotted name, or None."""
        found = self.project.resolve(module, dotted)
        return found if isinstance(found, Definition) else None
