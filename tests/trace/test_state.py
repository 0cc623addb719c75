"""Joining what two branches leave behind: names, objects, lists."""

from __future__ import annotations

import pytest

from recipe_lint.trace.guards import ALWAYS, NEVER, Atom, Guard, literal
from recipe_lint.trace.state import MAX_OPTIONS, State, alternatives, join, join_values, narrow
from recipe_lint.trace.values import NONE, Alternatives, Const, ListRef, Obj, Sequence, Value

A = literal(Atom("a", "truthy", None, "a", "a"))
B = literal(Atom("b", "truthy", None, "b", "b"))
UNKNOWN = Obj(999, may=True)
KEY = (1, "model")


def collapse() -> Value:
    return UNKNOWN


def state(guard: Guard, env: dict[str, Value] | None = None, heap: dict[tuple[int, str], Value] | None = None) -> State:
    return State(guard, env or {}, heap or {})


# -- joining states


def test_equal_values_stay_single() -> None:
    joined = join([state(A, {"m": Obj(1)}), state(~A, {"m": Obj(1)})], collapse)
    assert joined.env == {"m": Obj(1)}
    assert joined.guard.always


def test_different_values_are_alternatives_under_their_guards() -> None:
    joined = join([state(A, {"m": Obj(1)}), state(~A, {"m": Obj(2)})], collapse)
    assert joined.env == {"m": Alternatives(((A, Obj(1)), (~A, Obj(2))))}


def test_a_name_that_one_branch_binds_is_there_under_its_guard() -> None:
    joined = join([state(A, {"m": Obj(1)}), state(~A)], collapse)
    assert joined.env == {"m": Alternatives(((A, Obj(1)),))}
    joined = join([state(A), state(~A, {"m": Obj(1)})], collapse)
    assert joined.env == {"m": Alternatives(((~A, Obj(1)),))}


def test_the_heap_is_joined_like_the_names() -> None:
    joined = join([state(A, heap={KEY: Obj(1)}), state(~A, heap={KEY: Obj(1, (), 1)})], collapse)
    assert joined.heap == {KEY: Alternatives(((A, Obj(1)), (~A, Obj(1, (), 1))))}


def test_dead_branches_are_left_out() -> None:
    dead = state(NEVER, {"m": Obj(2)})
    joined = join([state(A, {"m": Obj(1)}), dead], collapse)
    assert joined.env == {"m": Obj(1)}
    assert joined.guard == A


@pytest.mark.parametrize(("exits", "how"), [(("raise", "raise"), "raise"), (("raise", ""), ""), (("", ""), "")])
def test_a_join_of_dead_branches_is_dead(exits: tuple[str, str], how: str) -> None:
    states = [state(A), state(~A)]
    for one, exit_ in zip(states, exits, strict=True):
        one.end(exit_)
    joined = join(states, collapse)
    assert joined.dead
    assert joined.exit == how


def test_nothing_to_join_is_dead() -> None:
    assert join([], collapse).dead


def test_three_branches() -> None:
    states = [state(A, {"m": Obj(1)}), state(~A & B, {"m": Obj(2)}), state(~A & ~B, {"m": Obj(1)})]
    joined = join(states, collapse)
    assert joined.guard.always
    found = {value: guard for guard, value in narrow(joined.env["m"], ALWAYS)}
    assert set(found) == {Obj(1), Obj(2)}
    assert found[Obj(1)] == A | (~A & ~B)


def test_a_fork_is_a_copy() -> None:
    first = state(ALWAYS, {"m": Obj(1)}, {KEY: Obj(1)})
    second = first.fork(A)
    second.env["m"] = Obj(2)
    second.heap[KEY] = Obj(2)
    assert first.env == {"m": Obj(1)}
    assert first.heap == {KEY: Obj(1)}
    assert second.guard == A


# -- alternatives


def test_alternatives_of_one_value_are_that_value() -> None:
    assert alternatives([(A, Obj(1)), (B, Obj(1))], collapse) == Obj(1)


def test_equal_values_are_grouped() -> None:
    found = alternatives([(A, Obj(1)), (~A & B, Obj(2)), (~A & ~B, Obj(1))], collapse)
    assert isinstance(found, Alternatives)
    assert [value for _, value in found.options] == [Obj(1), Obj(2)]


def flags(count: int) -> list[Guard]:
    return [literal(Atom(f"f{n}", "truthy", None, f"f{n}")) for n in range(count)]


def test_past_the_bound_different_objects_collapse() -> None:
    options = [(guard, Obj(n)) for n, guard in enumerate(flags(MAX_OPTIONS + 1))]
    assert alternatives(options, collapse) == UNKNOWN
    assert isinstance(alternatives(options[:-1], collapse), Alternatives)


def test_past_the_bound_views_of_one_object_stay_that_object() -> None:
    options: list[tuple[Guard, Value]] = [(guard, Obj(7, (), n)) for n, guard in enumerate(flags(MAX_OPTIONS + 1))]
    assert alternatives(options, collapse) == Obj(7, (), MAX_OPTIONS, True)


def test_narrowing_drops_what_cannot_be() -> None:
    value = Alternatives(((A, Obj(1)), (~A, Obj(2))))
    assert narrow(value, A) == [(A, Obj(1))]
    assert narrow(value, A & B) == [(A & B, Obj(1))]
    assert narrow(value, B) == [(A & B, Obj(1)), (~A & B, Obj(2))]
    assert narrow(value, NEVER) == []
    assert narrow(Obj(3), B) == [(B, Obj(3))]


def test_joining_alternatives_keeps_each_guard() -> None:
    left = Alternatives(((B, Obj(1)), (~B, Obj(2))))
    joined = join_values(A, left, ~A, Obj(1), collapse)
    found = {value: guard for guard, value in narrow(joined, ALWAYS)}
    assert found[Obj(2)] == A & ~B
    assert found[Obj(1)] == (A & B) | ~A


def test_none_is_a_value_of_its_own() -> None:
    joined = join_values(A, NONE, ~A, Obj(1), collapse)
    assert joined == Alternatives(((A, Const(None)), (~A, Obj(1))))


# -- lists


def items(*values: int | tuple[Guard, int]) -> Sequence:
    return Sequence(tuple((v[0], Const(v[1])) if isinstance(v, tuple) else (ALWAYS, Const(v)) for v in values))


@pytest.mark.parametrize(
    ("left", "right", "joined"),
    [
        (items(1, 2), items(1, 2), items(1, 2)),
        (items(1, 2), items(1), items(1, (A, 2))),
        (items(1), items(1, 2), items(1, (~A, 2))),
        (items(0, 1), items(1), items((A, 0), 1)),
        (items(1, 2, 3), items(1, 3), items(1, (A, 2), 3)),
        (items(1, 2, 4), items(1, 3, 4), items(1, (A, 2), (~A, 3), 4)),
        (items(1), items(2), items((A, 1), (~A, 2))),
        (items(), items(1), items((~A, 1))),
        (items(1, (B, 2)), items(1), items(1, (A & B, 2))),
        (items(1, 1), items(1), items(1, (A, 1))),
    ],
)
def test_two_versions_of_a_list(left: Sequence, right: Sequence, joined: Sequence) -> None:
    found = join_values(A, left, ~A, right, collapse)
    assert isinstance(found, Sequence)
    assert [(g.cubes, v) for g, v in found.items] == [(g.cubes, v) for g, v in joined.items]


def test_each_branch_sees_its_own_version() -> None:
    left, right = items(1, 2, 4), items(3, 1, 4)
    found = join_values(A, left, ~A, right, collapse)
    assert isinstance(found, Sequence)
    for guard, version in ((A, left), (~A, right)):
        seen = [value for condition, value in found.items if condition.meets(guard)]
        assert seen == [value for _, value in version.items]


def test_an_open_list_stays_open() -> None:
    found = join_values(A, Sequence((), open=True), ~A, items(1), collapse)
    assert isinstance(found, Sequence)
    assert found.open


def test_a_list_in_the_heap_is_joined_by_its_content() -> None:
    key = (5, "[]")
    env: dict[str, Value] = {"patches": ListRef(5)}
    joined = join([state(A, dict(env), {key: items(1, 2)}), state(~A, dict(env), {key: items(1)})], collapse)
    assert joined.env == env
    assert joined.heap == {key: items(1, (A, 2))}


def test_two_lists_of_exclusive_branches_are_alternatives() -> None:
    joined = join([state(A, {"patches": ListRef(5)}), state(~A, {"patches": ListRef(6)})], collapse)
    assert joined.env == {"patches": Alternatives(((A, ListRef(5)), (~A, ListRef(6))))}
