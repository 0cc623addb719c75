"""The algebra of guards against truth tables, and what is known to contradict."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from enum import Enum
from functools import reduce

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recipe_lint.trace.guards import ALWAYS, MAX_CUBES, NEVER, Atom, Guard, literal

NAMES = "abcde"
Row = dict[str, bool]
Formula = tuple[Guard, Callable[[Row], bool]]


def flag(name: str) -> Guard:
    return literal(Atom(name, "truthy", None, name, name))


def rows() -> Iterator[Row]:
    for values in itertools.product((False, True), repeat=len(NAMES)):
        yield dict(zip(NAMES, values, strict=True))


def table(guard: Guard) -> list[bool | None]:
    return [guard.decide(row) for row in rows()]


def truth(formula: Callable[[Row], bool]) -> list[bool]:
    return [formula(row) for row in rows()]


def _leaf(name: str) -> Formula:
    return flag(name), lambda row: row[name]


def _extend(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    def both(pair: tuple[Formula, Formula]) -> Formula:
        (g, f), (h, k) = pair
        return g & h, lambda row: f(row) and k(row)

    def either(pair: tuple[Formula, Formula]) -> Formula:
        (g, f), (h, k) = pair
        return g | h, lambda row: f(row) or k(row)

    def negated(one: Formula) -> Formula:
        g, f = one
        return ~g, lambda row: not f(row)

    pairs = st.tuples(inner, inner)
    return st.one_of(pairs.map(both), pairs.map(either), inner.map(negated))


constants = st.sampled_from([(ALWAYS, lambda _: True), (NEVER, lambda _: False)])
formulas = st.recursive(st.sampled_from(NAMES).map(_leaf) | constants, _extend, max_leaves=12)


@given(formulas)
def test_a_guard_has_the_truth_table_of_its_formula(formula: Formula) -> None:
    guard, meaning = formula
    assume(not guard.approximate)
    assert table(guard) == truth(meaning)


@given(formulas)
def test_impossible_and_always_are_right(formula: Formula) -> None:
    guard, meaning = formula
    assume(not guard.approximate)
    assert guard.impossible == (not any(truth(meaning)))
    if guard.always:
        assert all(truth(meaning))


@given(formulas, formulas)
def test_meets_is_exact(first: Formula, second: Formula) -> None:
    (g, f), (h, k) = first, second
    assume(not g.approximate and not h.approximate)
    expected = any(a and b for a, b in zip(truth(f), truth(k), strict=True))
    assert g.meets(h) == expected
    assert h.meets(g) == expected


@given(formulas, formulas)
def test_implies_is_sound(first: Formula, second: Formula) -> None:
    (g, f), (h, k) = first, second
    assume(not g.approximate and not h.approximate and g.implies(h))
    assert all(b or not a for a, b in zip(truth(f), truth(k), strict=True))


@given(formulas)
def test_a_guard_implies_itself_and_always_and_is_implied_by_never(formula: Formula) -> None:
    guard, _ = formula
    assert guard.implies(guard)
    assert guard.implies(ALWAYS)
    assert NEVER.implies(guard)


@given(formulas)
def test_a_guard_and_its_opposite(formula: Formula) -> None:
    guard, _ = formula
    assume(not guard.approximate and not (~guard).approximate)
    assert not guard.meets(~guard)
    assert all(a is not b for a, b in zip(table(guard), table(~guard), strict=True))
    assert table(~~guard) == table(guard)


@given(formulas)
def test_common_literals_hold_on_every_row(formula: Formula) -> None:
    guard, meaning = formula
    assume(not guard.approximate)
    for row in rows():
        if meaning(row):
            assert all(row[atom.subject] == positive for atom, positive in guard.common)


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.booleans()), max_size=5))
def test_a_join_of_two_branches_is_the_base(choices: list[tuple[str, bool]]) -> None:
    base = reduce(lambda g, c: g & (flag(c[0]) if c[1] else ~flag(c[0])), choices, ALWAYS)
    joined = (base & flag("x")) | (base & ~flag("x"))
    assert joined.cubes == base.cubes


# -- contradictions


def of(op: str, operand: object, subject: str = "s") -> Guard:
    return literal(Atom(subject, op, operand, subject, subject))


CONTRADICTIONS = [
    (of("==", "ddp"), of("==", "fsdp")),
    (of("==", "ddp"), ~of("==", "ddp")),
    (of("is", None), of("==", "ddp")),
    (of("is", None), of("truthy", None)),
    (of("is", None), ~of("is", None)),
    (of("==", ""), of("truthy", None)),
    (of("==", 3), ~of("truthy", None)),
    (of("in", ("ddp", "fsdp")), of("==", "tp")),
    (of("in", ("ddp", "fsdp")), of("in", ("tp", "cp"))),
    (of("in", ("ddp",)), ~of("==", "ddp")),
    (of("in", (0, "")), of("truthy", None)),
    (of("==", 1), of(">", 1)),
    (of("==", 1), ~of("<=", 1)),
    (of(">", 1), of("<", 1)),
    (of(">", 1), of("<=", 1)),
    (of(">=", 2), of("<", 2)),
    (of(">", 1), ~of(">", 1)),
    (of(">", 3), ~of(">", 1)),
    (of("in", (1, 2)), of(">", 4)),
]


@pytest.mark.parametrize(("first", "second"), CONTRADICTIONS)
def test_what_cannot_hold_together(first: Guard, second: Guard) -> None:
    assert (first & second).impossible
    assert (second & first).impossible
    assert not first.meets(second)


COMPATIBLE = [
    (of("==", "ddp"), ~of("==", "fsdp")),
    (of("==", "ddp"), of("truthy", None)),
    (of("==", "ddp"), of("==", "ddp", "t")),
    (of("in", ("ddp", "fsdp")), ~of("==", "ddp")),
    (of("in", ("ddp", "fsdp")), of("in", ("fsdp", "tp"))),
    (~of("==", "ddp"), ~of("==", "fsdp")),
    (~of("is", None), ~of("truthy", None)),
    (of(">=", 2), of("<=", 2)),
    (of(">", 1), of("<", 2)),
    (of(">", 1), of("==", 2)),
    (of("opaque", None), of("==", 2)),
    (of("==", None), of("is", None)),
]


@pytest.mark.parametrize(("first", "second"), COMPATIBLE)
def test_what_can_hold_together(first: Guard, second: Guard) -> None:
    assert first.meets(second)
    assert second.meets(first)


values = st.one_of(st.integers(-3, 3), st.sampled_from(["", "ddp", "fsdp", None, True, False]))
numbers = st.integers(-3, 3)
tests = st.one_of(
    st.just(of("truthy", None)),
    values.map(lambda v: of("==", v)),
    st.just(of("is", None)),
    st.lists(values, min_size=1, max_size=3).map(lambda v: of("in", tuple(v))),
    st.tuples(st.sampled_from(["<", "<=", ">", ">="]), numbers).map(lambda t: of(*t)),
)
signed = st.tuples(tests, st.booleans()).map(lambda t: t[0] if t[1] else ~t[0])


@given(st.lists(signed, min_size=1, max_size=4), values)
def test_a_conjunction_that_some_value_satisfies_is_possible(parts: list[Guard], value: object) -> None:
    joined = reduce(lambda a, b: a & b, parts)
    if all(part.decide({"s": value}) is True for part in parts):
        assert not joined.impossible
        assert joined.decide({"s": value}) is True


@given(st.lists(signed, min_size=1, max_size=4), values)
def test_decide_agrees_with_its_parts(parts: list[Guard], value: object) -> None:
    decided = [part.decide({"s": value}) for part in parts]
    joined = reduce(lambda a, b: a & b, parts)
    either = reduce(lambda a, b: a | b, parts)
    if None not in decided:
        assert joined.decide({"s": value}) is all(decided)
        assert either.decide({"s": value}) is any(decided)


# -- the bound


def test_the_bound_marks_what_it_weakens() -> None:
    guard = NEVER
    for number in range(MAX_CUBES):
        guard |= flag(f"p{number}") & flag(f"q{number}") & flag("shared")
    assert not guard.approximate
    assert len(guard.cubes) == MAX_CUBES
    wide = guard | (flag("p") & flag("q") & flag("shared"))
    assert wide.approximate
    assert wide.cubes == flag("shared").cubes


def test_a_weakened_guard_holds_wherever_the_true_one_does() -> None:
    parts = [flag(f"p{n}") & flag(f"q{n}") & flag("shared") for n in range(MAX_CUBES + 3)]
    wide = reduce(lambda a, b: a | b, parts)
    assert wide.approximate
    for part in parts:
        assert part.implies(wide)
        assert part.meets(wide)


def test_what_rests_on_a_weakened_guard_is_weakened_too() -> None:
    wide = Guard(flag("a").cubes, True)
    assert (wide & flag("b")).approximate
    assert (flag("b") & wide).approximate
    assert (wide & ALWAYS).approximate
    assert (ALWAYS & wide).approximate
    assert (wide | flag("b")).approximate
    assert (flag("a") | wide).approximate
    assert (~wide).approximate


def test_many_independent_tests_stay_small() -> None:
    guard = ALWAYS
    for number in range(200):
        base = guard
        guard = (base & flag(f"p{number}")) | (base & ~flag(f"p{number}"))
    assert guard == ALWAYS


# -- stage values


class Mark(Enum):
    UNKNOWN = "unknown"


@pytest.mark.parametrize(
    ("guard", "values", "expected"),
    [
        (flag("a"), {"a": True}, True),
        (flag("a"), {"a": False}, False),
        (flag("a"), {"a": None}, False),
        (flag("a"), {"a": "ddp"}, True),
        (flag("a"), {}, None),
        (flag("a"), {"a": Mark.UNKNOWN}, None),
        (flag("a") & flag("b"), {"a": False}, False),
        (flag("a") & flag("b"), {"a": True}, None),
        (flag("a") | flag("b"), {"a": True}, True),
        (flag("a") | flag("b"), {"a": False}, None),
        (flag("a") | flag("b"), {"a": False, "b": False}, False),
        (~flag("a"), {"a": False}, True),
        (of("==", "ddp"), {"s": "ddp"}, True),
        (of("==", "ddp"), {"s": "fsdp"}, False),
        (~of("==", "ddp"), {"s": "fsdp"}, True),
        (of("is", None), {"s": None}, True),
        (of("is", None), {"s": 0}, False),
        (of("in", ("a", "b")), {"s": "b"}, True),
        (of("in", ("a", "b")), {"s": "c"}, False),
        (of(">", 1), {"s": 8}, True),
        (of(">", 1), {"s": 1}, False),
        (of(">", 1), {"s": "eight"}, None),
        (of("opaque", None), {"s": 1}, None),
        (ALWAYS, {}, True),
        (NEVER, {"a": True}, False),
    ],
)
def test_decide_against_stage_values(guard: Guard, values: dict[str, object], expected: bool | None) -> None:
    assert guard.decide(values) is expected


def test_only_configuration_paths_are_decided() -> None:
    assert literal(Atom("a", "truthy", None, "a")).decide({"a": True}) is None


@pytest.mark.parametrize(
    ("guard", "text"),
    [
        (flag("a"), "a"),
        (~flag("a"), "not a"),
        (of("==", "x"), "s == 'x'"),
        (~of("==", "x"), "s != 'x'"),
        (of("is", None), "s is None"),
        (~of("is", None), "s is not None"),
        (of("in", ("x", 1)), "s in ('x', 1)"),
        (~of("in", ("x", 1)), "s not in ('x', 1)"),
        (of("<", 2), "s < 2"),
        (~of("<", 2), "s >= 2"),
        (~of(">=", 2), "s < 2"),
    ],
)
def test_how_a_test_is_shown(guard: Guard, text: str) -> None:
    ((atom, positive),) = guard.common
    assert atom.show(positive) == text
