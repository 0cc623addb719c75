"""Every edge of the protocol, broken and kept, in every dress."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from recipe_lint.lint.finding import Finding, Severity

from .dresses import DRESSES, STEPS, Recipe, Step, lint_many, pack

ORDER = tuple(STEPS.values())
EDGES = {
    (before, after): edge
    for edge in pack().protocol.edges.values()
    for before in edge.before
    for after in edge.after
    if before in STEPS and after in STEPS
}
PAIRS = sorted(EDGES, key=lambda pair: tuple(map(list(STEPS).index, pair)))
ADJACENT = [(a.name, b.name) for a, b in pairwise(ORDER) if (a.name, b.name) in EDGES]

Judged = tuple[dict[str, Recipe], dict[str, list[Finding]]]


def _swapped(pair: tuple[str, str]) -> tuple[Step, ...]:
    names = list(STEPS)
    left, right = map(names.index, pair)
    names[left], names[right] = names[right], names[left]
    return tuple(STEPS[name] for name in names)


def _recipes(dress: str) -> dict[str, Recipe]:
    make = DRESSES[dress]
    recipes = {"full": make(ORDER)}
    for before, after in PAIRS:
        recipes[f"right-{before}-{after}"] = make((STEPS[before], STEPS[after]))
        recipes[f"wrong-{before}-{after}"] = make((STEPS[after], STEPS[before]))
    for pair in ADJACENT:
        recipes[f"full-{'-'.join(pair)}"] = make(_swapped(pair))
    return recipes


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Judged]:
    """Recipes and findings of a dress, judged in one run when its first test asks."""
    known: dict[str, Judged] = {}

    def of(dress: str) -> Judged:
        if dress not in known:
            recipes = _recipes(dress)
            known[dress] = recipes, lint_many(tmp_path_factory.mktemp(dress).resolve(), recipes)
        return known[dress]

    return of


def _all(findings: list[Finding], code: str) -> list[str]:
    codes = [finding.code for finding in findings] + [c.code for f in findings for c in f.consequences]
    return [found for found in codes if found == code]


def _place(finding: Finding) -> tuple[str, int]:
    parts = Path(finding.span.path).parts
    return "/".join(parts[parts.index("recipes") + 2 :]), finding.span.line


def _misplaced(pair: tuple[str, str]) -> str:
    return pair[0] if EDGES[pair].primary == "before" else pair[1]


def test_the_protocol_has_edges_between_all_of_the_steps() -> None:
    assert len(PAIRS) >= 25
    assert {name for pair in PAIRS for name in pair} == set(STEPS)
    assert len(ADJACENT) >= 6


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("dress", DRESSES)
def test_a_swapped_pair_is_told_once(dress: str, pair: tuple[str, str], judged: Callable[[str], Judged]) -> None:
    recipes, found = judged(dress)
    name = f"wrong-{'-'.join(pair)}"
    findings = found[name]
    assert [finding.code for finding in findings] == [EDGES[pair].code]
    assert not findings[0].consequences
    assert _place(findings[0]) == recipes[name].place(_misplaced(pair))
    assert findings[0].certainty == "certain"
    assert findings[0].conditions == recipes[name].conditions


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("dress", DRESSES)
def test_the_right_order_is_silent(dress: str, pair: tuple[str, str], judged: Callable[[str], Judged]) -> None:
    _, found = judged(dress)
    assert found[f"right-{'-'.join(pair)}"] == []


@pytest.mark.parametrize("dress", DRESSES)
def test_the_whole_protocol_in_order_is_silent(dress: str, judged: Callable[[str], Judged]) -> None:
    _, found = judged(dress)
    assert found["full"] == []


@pytest.mark.parametrize("pair", ADJACENT, ids="-".join)
@pytest.mark.parametrize("dress", DRESSES)
def test_a_swap_in_the_whole_protocol_is_told_once(
    dress: str, pair: tuple[str, str], judged: Callable[[str], Judged]
) -> None:
    _, found = judged(dress)
    findings = found[f"full-{'-'.join(pair)}"]
    assert _all(findings, EDGES[pair].code) == [EDGES[pair].code]
    others = [f for f in findings if f.code != EDGES[pair].code and f.severity > Severity.info]
    assert others == []
