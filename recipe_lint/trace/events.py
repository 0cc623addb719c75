"""What a trace consists of: protocol events on objects, in evaluation order, each under its guard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import libcst as cst

from recipe_lint.read.segments import Segment
from recipe_lint.read.span import Span
from recipe_lint.trace.guards import Cube, Guard, Literal

# The object of steps that change the process instead of one model.
GLOBAL_OBJECT = -1

Trait: TypeAlias = object
Traits: TypeAlias = Mapping[str, object]


@dataclass(frozen=True)
class Site:
    """A node in a segment: where something happens."""

    segment: Segment
    node: cst.CSTNode

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Site) and other.node is self.node

    def __hash__(self) -> int:
        return id(self.node)

    @cached_property
    def span(self) -> Span:
        """Its one-line span."""
        return self.segment.span(self.node)

    @cached_property
    def code(self) -> str:
        """Its source text on one line."""
        return self.segment.code(self.node)

    @property
    def function(self) -> str:
        """Qualified name of the function that holds it."""
        return self.segment.qualname


@dataclass(frozen=True)
class Event:
    """One protocol step that happens to one object.

    ``chain`` leads from the hook to ``site``: the calls that were entered on the way, outermost first. ``form`` is
    ``kit``, ``direct`` or ``recipe`` (the recipe's own statements). ``traits`` holds what a rule may ask of a step,
    such as ``backend``, ``wraps``, ``effect``, ``by_name``, ``covers`` (see rules/protocol.toml).
    """

    index: int
    step: str
    form: str
    call: str
    object: int
    path: tuple[str, ...]
    site: Site
    chain: tuple[Site, ...]
    guard: Guard
    hook: str
    may: bool = False
    traits: Traits = field(default_factory=dict)

    @property
    def places(self) -> tuple[Site, ...]:
        """All sites from the hook to the event."""
        return (*self.chain, self.site)

    def trait(self, name: str) -> Trait:
        """One trait, None where the event has none of that name."""
        return self.traits.get(name)


@dataclass(frozen=True)
class Note:
    """Something else that a rule asks about: a read, a bind, a discard, a return, an unknown call."""

    index: int
    kind: str
    object: int
    site: Site
    chain: tuple[Site, ...]
    guard: Guard
    hook: str
    may: bool = False
    traits: Traits = field(default_factory=dict)


@dataclass(frozen=True)
class ObjectInfo:
    """What an object is, and the first ``name`` it was bound to.

    ``origin``: config, self, load, instance, copy, call, optimizer, parameter, plain, unknown.
    """

    id: int
    origin: str
    label: str
    parent: int | None = None
    name: str = ""


@dataclass(frozen=True)
class Trace:
    """All that the tracer saw in one engine or script root."""

    root: str
    hooks: tuple[str, ...]
    events: tuple[Event, ...]
    notes: tuple[Note, ...]
    objects: Mapping[int, ObjectInfo]
    assumed: frozenset[tuple[Cube, Literal]]
    family: str
    files: frozenset[str]
    paths: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def _by_step(self) -> dict[str, tuple[Event, ...]]:
        found: dict[str, list[Event]] = {}
        for event in self.events:
            found.setdefault(event.step, []).append(event)
        return {step: tuple(events) for step, events in found.items()}

    def of(self, *steps: str) -> Iterator[Event]:
        """Events of the given steps, in order within each step."""
        for step in steps:
            yield from self._by_step.get(step, ())

    @cached_property
    def _by_kind(self) -> dict[tuple[str, object], tuple[Event, ...]]:
        found: dict[tuple[str, object], list[Event]] = {}
        for event in self.events:
            found.setdefault((event.step, event.trait("kind")), []).append(event)
        return {key: tuple(events) for key, events in found.items()}

    def of_kind(self, step: str, kind: str) -> tuple[Event, ...]:
        """Events of one step whose trait ``kind`` is this one, in order."""
        return self._by_kind.get((step, kind), ())

    def noted(self, kind: str) -> Iterator[Note]:
        """Notes of one kind, in order."""
        return (note for note in self.notes if note.kind == kind)

    def conditions(self, guard: Guard) -> tuple[str, ...]:
        """The gates of ``guard`` for a person, without what must hold for the run to go on at all."""
        granted = {item for base, item in self.assumed if base <= guard.common}
        shown = {
            atom.show(positive)
            for atom, positive in guard.common
            if (atom, positive) not in granted and not (atom.op == "opaque" and not positive)
        }
        shown |= _one_of(guard)
        return tuple(sorted(shown))


def _one_of(guard: Guard) -> set[str]:
    """Where the cubes differ only in the value of one subject: ``model.mode in ('train', 'tune')``."""
    rests = [cube - guard.common for cube in guard.cubes]
    if len(rests) < 2 or any(len(rest) != 1 for rest in rests):
        return set()
    tests = [next(iter(rest)) for rest in rests]
    first = tests[0][0]
    if any(not sign or atom.op != "==" or atom.subject != first.subject for atom, sign in tests):
        return set()
    values = sorted(repr(atom.operand) for atom, _ in tests)
    return {f"{first.label or first.subject} in ({', '.join(values)})"}
