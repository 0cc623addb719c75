"""Every rule has a whole page, its page shows its own examples, and the rules and the protocol agree."""

from __future__ import annotations

import inspect
import re

import pytest
from recipe_lint.rules.order.edge import EdgeRule

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.pack import load_pack
from recipe_lint.lint.rule import HEADINGS, Example, Rule
from recipe_lint.protocol.model import BACKENDS

PACK = load_pack()
MARK = re.compile(r"\s*# expect: RL\d{3}$", re.MULTILINE)
LEVELS = {"off", *(level.name for level in Severity)}
every_rule = pytest.mark.parametrize("rule", PACK.rules, ids=lambda rule: rule.code)
every_edge = pytest.mark.parametrize("edge", sorted(PACK.protocol.edges))


def edge_rules() -> dict[str, type[EdgeRule]]:
    return {rule.name: rule for rule in PACK.rules if issubclass(rule, EdgeRule)}


def lines_of(text: str) -> list[str]:
    return [line.strip() for line in MARK.sub("", text).splitlines() if line.strip()]


def code_block(rule: type[Rule], heading: str) -> list[str]:
    blocks = re.findall(r"^```python\n(.*?)^```$", f"{rule.section(heading)}\n", re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    return lines_of(blocks[0])


def in_order(part: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(line in rest for line in part)


@every_rule
def test_page_has_every_heading_once_and_in_order(rule: type[Rule]) -> None:
    found = re.findall(r"^## (.*)$", rule.page(), re.MULTILINE)
    assert tuple(found) == HEADINGS
    assert all(rule.section(heading) for heading in HEADINGS)


@every_rule
def test_page_begins_with_a_summary_of_one_sentence(rule: type[Rule]) -> None:
    lines = rule.page().splitlines()
    assert rule.summary() == lines[0]
    assert rule.summary().endswith(".")
    assert ". " not in rule.summary()
    assert not lines[1]


@every_rule
def test_page_says_that_no_fix_is_offered(rule: type[Rule]) -> None:
    assert rule.section("Fix safety").startswith("Shown only: ")


@every_rule
def test_page_speaks_of_nothing_that_its_reader_cannot_open(rule: type[Rule]) -> None:
    assert not re.search(r"/work\b|evidence\.md|design\.md|idioms\.md", rule.page())


@every_rule
@pytest.mark.parametrize(("heading", "kind"), [("Example", "bad"), ("Use instead", "good")])
def test_page_shows_the_first_example(rule: type[Rule], heading: str, kind: str) -> None:
    examples: tuple[Example, ...] = getattr(rule, kind)
    block = code_block(rule, heading)
    assert block
    assert in_order(block, lines_of(examples[0].code))


@every_rule
def test_page_shows_the_line_that_is_flagged(rule: type[Rule]) -> None:
    marked = [line for line in rule.bad[0].code.splitlines() if MARK.search(line)]
    assert marked
    assert {line for text in marked for line in lines_of(text)} <= set(code_block(rule, "Example"))


@every_rule
def test_rule_has_examples(rule: type[Rule]) -> None:
    assert len(rule.bad) >= 1
    assert len(rule.good) >= 2


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in PACK.rules}) == len(PACK.rules)
    assert len({rule.name for rule in PACK.rules}) == len(PACK.rules)


@every_rule
def test_code_and_name_are_well_formed(rule: type[Rule]) -> None:
    assert re.fullmatch(r"RL\d{3}", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)


def test_edges_and_edge_rules_are_the_same_set() -> None:
    assert set(edge_rules()) == set(PACK.protocol.edges)


@every_edge
def test_edge_has_the_code_of_its_rule(edge: str) -> None:
    assert PACK.protocol.edges[edge].code == edge_rules()[edge].code


@every_edge
def test_default_severity_is_the_one_of_the_rule(edge: str) -> None:
    assert PACK.protocol.edges[edge].severity["default"] == edge_rules()[edge].severity.name


@every_edge
def test_severities_are_words_that_exist(edge: str) -> None:
    assert set(PACK.protocol.edges[edge].severity.values()) <= LEVELS


@every_edge
def test_severities_are_keyed_by_a_backend_or_a_trait_of_the_rule(edge: str) -> None:
    traits = inspect.getsource(edge_rules()[edge].traits)
    for key in set(PACK.protocol.edges[edge].severity) - {"default"}:
        first, _, rest = key.partition("-")
        trait = rest if first in BACKENDS else key
        assert not trait or f'"{trait}"' in traits


@every_edge
def test_edge_joins_steps_that_exist(edge: str) -> None:
    found = PACK.protocol.edges[edge]
    assert {*found.before, *found.after} <= set(PACK.protocol.steps)
    assert found.primary in ("before", "after")
    assert found.harm
    assert found.source
