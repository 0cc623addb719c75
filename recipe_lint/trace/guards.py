"""When something happens: a condition in disjunctive normal form over atoms such as ``model.compile.enabled``.

Every event carries its guard instead of belonging to one of many enumerated paths, so ``n`` independent branches cost
``n`` guards and not ``2**n`` paths. Two events share a feasible path exactly when their guards can hold together. A
guard that would grow past the bound is weakened to what all of its cubes agree on and marked ``approximate``; what
rests on it is reported as "may".
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache

MAX_CUBES = 12

_ORDER: dict[str, Callable[[object, object], bool]] = {
    "<": operator.lt,  # type: ignore[dict-item]
    "<=": operator.le,  # type: ignore[dict-item]
    ">": operator.gt,  # type: ignore[dict-item]
    ">=": operator.ge,  # type: ignore[dict-item]
}
_FLIP = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True, slots=True)
class Atom:
    """One test of one subject. ``op``: truthy, ==, is, in, an order operator, or ``opaque`` (nothing is known of it).

    ``subject`` is equal for two tests of the same value; ``label`` is how reports show the subject. ``path`` is the
    configuration path that the subject stands for, if it is one.
    """

    subject: str
    op: str
    operand: object = None
    label: str = field(default="", compare=False)
    path: str | None = field(default=None, compare=False)

    def decide(self, value: object) -> bool | None:
        """Whether the test holds for a known ``value``; None where it cannot be told."""
        try:
            match self.op:
                case "truthy":
                    return bool(value)
                case "==":
                    return value == self.operand
                case "is":
                    return value is self.operand or value == self.operand
                case "in":
                    return value in self.operand  # type: ignore[operator]
                case "<" | "<=" | ">" | ">=":
                    return _ORDER[self.op](value, self.operand)
        except TypeError:
            return None
        return None

    def show(self, positive: bool) -> str:
        """Text for a person: ``not model.compile.enabled``, ``parallel.type == 'ddp'``."""
        label = self.label or self.subject
        match self.op:
            case "truthy" | "opaque":
                return label if positive else f"not {label}"
            case "is":
                return f"{label} is {'' if positive else 'not '}{self.operand!r}"
            case "==":
                return f"{label} {'==' if positive else '!='} {self.operand!r}"
            case "in":
                options = ", ".join(repr(item) for item in self.operand)  # type: ignore[attr-defined]
                return f"{label} {'in' if positive else 'not in'} ({options})"
        return f"{label} {self.op if positive else _FLIP[self.op]} {self.operand!r}"


Literal = tuple[Atom, bool]
Cube = frozenset[Literal]


def _consistent(cube: Iterable[Literal]) -> bool:
    by_subject: dict[str, list[Literal]] = {}
    for literal in cube:
        by_subject.setdefault(literal[0].subject, []).append(literal)
    return all(len(group) == 1 or _group_consistent(group) for group in by_subject.values())


def _group_consistent(group: list[Literal]) -> bool:
    truth: dict[Atom, bool] = {}
    for atom, positive in group:
        if truth.setdefault(atom, positive) != positive:
            return False
    for atom, positive in group:
        if positive and atom.op in ("==", "is"):
            return all(other.decide(atom.operand) in (None, sign) for other, sign in group)
        if positive and atom.op == "in":
            options = [
                value
                for value in atom.operand  # type: ignore[attr-defined]
                if all(other.decide(value) in (None, sign) for other, sign in group)
            ]
            if not options:
                return False
    return not _empty_interval(group)


def _empty_interval(group: list[Literal]) -> bool:
    low: list[tuple[float, bool]] = []
    high: list[tuple[float, bool]] = []
    for atom, positive in group:
        if atom.op not in _ORDER or not isinstance(atom.operand, int | float):
            continue
        op = atom.op if positive else _FLIP[atom.op]
        (low if op in (">", ">=") else high).append((float(atom.operand), op in (">=", "<=")))
    return any(a > b or (a == b and not (inc_a and inc_b)) for a, inc_a in low for b, inc_b in high)


@dataclass(frozen=True)
class Guard:
    """A disjunction of cubes; no cube is "never", one empty cube is "always"."""

    cubes: frozenset[Cube]
    approximate: bool = False

    @property
    def impossible(self) -> bool:
        """No path satisfies it."""
        return not self.cubes

    @property
    def always(self) -> bool:
        """Every path satisfies it."""
        return frozenset() in self.cubes

    def __and__(self, other: Guard) -> Guard:
        if self is other or other.always:
            return self if not other.approximate else Guard(self.cubes, True)
        if self.always:
            return other if not self.approximate else Guard(other.cubes, True)
        cubes = {a | b for a in self.cubes for b in other.cubes}
        return _build((c for c in cubes if _consistent(c)), self.approximate or other.approximate)

    def __or__(self, other: Guard) -> Guard:
        if self.cubes == other.cubes or other.impossible:
            return self if not other.approximate or self.approximate else Guard(self.cubes, True)
        if self.impossible:
            return other
        return _build(self.cubes | other.cubes, self.approximate or other.approximate)

    def __invert__(self) -> Guard:
        result = ALWAYS
        for cube in self.cubes:
            inverse = Guard(frozenset(frozenset({(atom, not sign)}) for atom, sign in cube))
            result &= inverse
        return Guard(result.cubes, result.approximate or self.approximate)

    def meets(self, other: Guard) -> bool:
        """Whether both can hold on one path."""
        return not (self & other).impossible

    def implies(self, other: Guard) -> bool:
        """Whether each cube of this guard lies inside some cube of the other (sound, not complete)."""
        return all(any(big <= cube for big in other.cubes) for cube in self.cubes)

    @cached_property
    def common(self) -> Cube:
        """The literals on which all cubes agree."""
        cubes = iter(self.cubes)
        first = next(cubes, frozenset())
        return first.intersection(*cubes)

    def decide(self, values: Mapping[str, object]) -> bool | None:
        """Whether it holds for known configuration ``values`` by path; None where they do not settle it."""
        open_cube = False
        for cube in self.cubes:
            verdicts = [_decide_literal(literal, values) for literal in cube]
            if all(v is True for v in verdicts):
                return True
            open_cube = open_cube or False not in verdicts
        return None if open_cube else False


def _decide_literal(literal: Literal, values: Mapping[str, object]) -> bool | None:
    atom, positive = literal
    if atom.path is None or atom.path not in values:
        return None
    value = values[atom.path]
    if isinstance(value, Enum):
        return None
    verdict = atom.decide(value)
    return None if verdict is None else verdict == positive


def _build(cubes: Iterable[Cube], approximate: bool) -> Guard:
    kept = _merge(set(cubes))
    if len(kept) <= MAX_CUBES:
        return Guard(frozenset(kept), approximate)
    common = next(iter(kept)).intersection(*kept)
    return Guard(frozenset({common}), True)


def _merge(cubes: set[Cube]) -> set[Cube]:
    """Absorb (``a or a and b`` is ``a``) and resolve (``a and b or a and not b`` is ``a``) until nothing changes."""
    changed = True
    while changed and len(cubes) > 1:
        changed = False
        cubes = {c for c in cubes if not any(other < c for other in cubes)}
        for cube in sorted(cubes, key=_order):
            for literal in sorted(cube, key=_literal_order):
                flipped = (cube - {literal}) | {(literal[0], not literal[1])}
                if flipped in cubes:
                    cubes = (cubes - {cube, flipped}) | {cube - {literal}}
                    changed = True
                    break
            if changed:
                break
    return cubes


@lru_cache(maxsize=8192)
def _order(cube: Cube) -> tuple[int, list[tuple[str, str, str, bool]]]:
    """A fixed order of cubes, so that a result never depends on how sets happen to be laid out."""
    return len(cube), sorted(_literal_order(item) for item in cube)


def _literal_order(item: Literal) -> tuple[str, str, str, bool]:
    atom, positive = item
    return atom.subject, atom.op, repr(atom.operand), positive


ALWAYS = Guard(frozenset({frozenset()}))
NEVER = Guard(frozenset())


def literal(atom: Atom, positive: bool = True) -> Guard:
    """The guard of one test."""
    return Guard(frozenset({frozenset({(atom, positive)})}))
