"""The state that branches fork and join: a guard, local names, and what objects hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from recipe_lint.trace.guards import NEVER, Guard
from recipe_lint.trace.values import Alternatives, Const, Obj, Sequence, Value

MAX_OPTIONS = 24
MAX_ITEMS = 4096

HeapKey = tuple[int, str]
_Key = TypeVar("_Key")


@dataclass(slots=True)
class State:
    """One symbolic state. ``guard`` is when it is reached; NEVER once the path has ended.

    ``exit`` says how the path ended: ``raise``, or anything else ("") for return, break and continue.
    """

    guard: Guard
    env: dict[str, Value] = field(default_factory=dict)
    heap: dict[HeapKey, Value] = field(default_factory=dict)
    exit: str = ""

    def fork(self, guard: Guard) -> State:
        """A copy that is reached under ``guard`` only."""
        return State(guard, dict(self.env), dict(self.heap))

    def become(self, other: State) -> None:
        """Continue as ``other``."""
        self.guard, self.env, self.heap, self.exit = other.guard, other.env, other.heap, other.exit

    def end(self, how: str = "") -> None:
        """The path goes no further."""
        self.guard = NEVER
        self.exit = how

    @property
    def dead(self) -> bool:
        """No path reaches it."""
        return self.guard.impossible


def join(states: Iterable[State], collapse: Callable[[], Value]) -> State:
    """The state after branches meet. Dead branches are left out; with none alive the result is dead."""
    every = list(states)
    live = [state for state in every if not state.dead]
    if not live:
        how = "raise" if every and all(state.exit == "raise" for state in every) else ""
        return State(NEVER, dict(every[0].env) if every else {}, dict(every[0].heap) if every else {}, how)
    result = live[0]
    for state in live[1:]:
        result = State(
            result.guard | state.guard,
            _join_tables(result.guard, result.env, state.guard, state.env, collapse),
            _join_tables(result.guard, result.heap, state.guard, state.heap, collapse),
        )
    return result


def _join_tables(
    left_guard: Guard,
    left: dict[_Key, Value],
    right_guard: Guard,
    right: dict[_Key, Value],
    collapse: Callable[[], Value],
) -> dict[_Key, Value]:
    if left is right:
        return left
    result = dict(left)
    for key, value in right.items():
        other = left.get(key)
        if other is value:
            continue
        result[key] = (
            Alternatives(((right_guard, value),))
            if other is None
            else join_values(left_guard, other, right_guard, value, collapse)
        )
    for key, value in left.items():
        if key not in right:
            result[key] = Alternatives(tuple(narrow(value, left_guard)))
    return result


def join_values(
    left_guard: Guard, left: Value, right_guard: Guard, right: Value, collapse: Callable[[], Value]
) -> Value:
    """What a name holds after two branches; equal values stay single."""
    if left == right:
        return left
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        return _join_sequences(left_guard, left, right_guard, right)
    return alternatives([*narrow(left, left_guard), *narrow(right, right_guard)], collapse)


def alternatives(options: list[tuple[Guard, Value]], collapse: Callable[[], Value]) -> Value:
    """Group equal values, keep the rest apart; past the bound they become one value that is only known as "may"."""
    grouped: dict[Value, Guard] = {}
    for guard, value in options:
        grouped[value] = grouped[value] | guard if value in grouped else guard
    if len(grouped) == 1:
        return next(iter(grouped))
    if len(grouped) > MAX_OPTIONS:
        ids = {value.id for value in grouped if isinstance(value, Obj)}
        if len(ids) == 1 and all(isinstance(value, Obj | Const) for value in grouped):
            return Obj(ids.pop(), (), max(v.view for v in grouped if isinstance(v, Obj)), True)
        return collapse()
    return Alternatives(tuple((guard, value) for value, guard in grouped.items()))


def narrow(value: Value, guard: Guard) -> list[tuple[Guard, Value]]:
    """The alternatives of ``value`` that are possible under ``guard``, each with its full guard."""
    if not isinstance(value, Alternatives):
        return [(guard, value)]
    found = []
    for condition, option in value.options:
        # A condition past the bound keeps saying that it is approximate.
        both = guard if guard.implies(condition) and not condition.approximate else guard & condition
        if not both.impossible:
            found.append((both, option))
    return found


def concatenated(first: Sequence, second: Sequence) -> Sequence:
    """One list behind the other; past the bound, which only a list that keeps doubling reaches, it is left open."""
    items = first.items + second.items
    return Sequence(items[:MAX_ITEMS], first.open or second.open or len(items) > MAX_ITEMS)


def _join_sequences(left_guard: Guard, left: Sequence, right_guard: Guard, right: Sequence) -> Sequence:
    """Join two versions of a list: shared head and tail once, the rest of each under its guard."""
    a, b = left.items, right.items
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    middle = [(guard & left_guard, value) for guard, value in a[head : len(a) - tail]]
    middle += [(guard & right_guard, value) for guard, value in b[head : len(b) - tail]]
    end = a[len(a) - tail :] if tail else ()
    return Sequence((*a[:head], *middle, *end), left.open or right.open)
