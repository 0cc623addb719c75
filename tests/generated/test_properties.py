"""Whatever the code is, tracing ends; however it is written down, the findings are the same."""

from __future__ import annotations

import ast
import re
from collections import Counter
from random import Random

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from recipe_lint.lint.finding import Finding
from recipe_lint.lint.result import Result
from recipe_lint.report.json import render_json

from .bodies import NAMES, Node, Shape, bodies, count_steps, extracting, project, render
from .dresses import run

ENGINE = "recipes/r/engine/engine.py"
_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)

Body = tuple[Node, ...]


def moderate(examples: int) -> settings:
    """The same examples in every run; they are small, so that one that fails is shown as it is."""
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=_SLOW,
    )


def judge(text: str) -> Result:
    """Judge one engine file."""
    with project({ENGINE: text}) as root:
        return run(root)


def judge_both(first: str, second: str) -> tuple[Result, Result]:
    """Judge two texts of one engine file at the same place."""
    with project({ENGINE: first}) as root:
        before = run(root)
        (root / ENGINE).write_text(second, encoding="utf-8")
        return before, run(root)


def told(finding: Finding) -> tuple[object, ...]:
    """What a finding says, without its place."""
    return finding.code, finding.severity, finding.certainty, finding.conditions


def consequences(finding: Finding) -> list[str]:
    return sorted(consequence.code for consequence in finding.consequences)


@moderate(150)
@given(bodies(rough=True))
def test_tracing_ends_and_never_raises(body: Body) -> None:
    text = render(body)
    ast.parse(text)
    result = judge(text)
    assert result.internal_errors == ()
    assert result.engines >= 1
    assert not {"RL001", "RL002"} & {finding.code for finding in result.findings}


@moderate(20)
@given(st.lists(bodies(rough=True), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_the_same_input_gives_the_same_report(many: list[Body], random: Random) -> None:
    files = {f"recipes/r{number}/engine/engine.py": render(body) for number, body in enumerate(many)}
    with project(files) as root:
        assert render_json(run(root), show_unknown=True) == render_json(run(root), show_unknown=True)
        named = [root / path for path in files]
        shuffled = list(named)
        random.shuffle(shuffled)
        first, second = run(*named), run(*shuffled)
        assert first == second
        assert render_json(first, show_unknown=True) == render_json(second, show_unknown=True)


@moderate(50)
@given(bodies(rough=True))
def test_names_of_locals_do_not_matter(body: Body) -> None:
    names = {"A": "zz_first", "B": "zz_second", "K": "zz_tool", "C": "zz_options", "X": "zz_when"}
    back = {names[key]: NAMES[key] for key in NAMES}
    pattern = re.compile("|".join(back))

    def original(text: str) -> str:
        return pattern.sub(lambda match: back[match[0]], text)

    before, after = judge(render(body)), judge(render(body, Shape(names=names)))
    first = [(*told(f), f.span.line, f.message, consequences(f)) for f in before.findings]
    second = [
        (
            f.code,
            f.severity,
            f.certainty,
            tuple(sorted(original(c) for c in f.conditions)),
            f.span.line,
            original(f.message),
            consequences(f),
        )
        for f in after.findings
    ]
    assert sorted(map(repr, first)) == sorted(map(repr, second))


@moderate(50)
@given(bodies(rough=True), st.randoms(use_true_random=False))
def test_blank_lines_and_comments_do_not_matter(body: Body, random: Random) -> None:
    text = render(body)
    lines = text.splitlines()
    added = ("", "    ", "# a remark", "            # another remark", "\t# a third one", "\f")
    spaced: list[str] = []
    origin: list[int] = []
    for number, line in enumerate(lines, 1):
        for extra in random.choices(added, k=random.randint(0, 2)):
            spaced.append(extra)
            origin.append(0)
        spaced.append(line)
        origin.append(number)
    before, after = judge_both(text, "\n".join(spaced) + "\n")
    first = [(*told(f), f.span.line, f.span.column, f.fingerprint, consequences(f)) for f in before.findings]
    second = [
        (*told(f), origin[f.span.line - 1], f.span.column, f.fingerprint, consequences(f)) for f in after.findings
    ]
    assert first == second


@moderate(50)
@given(bodies(rough=False, calls=1), st.data(), st.booleans())
def test_a_step_moved_to_a_helper_is_the_same_step(body: Body, data: st.DataObject, as_function: bool) -> None:
    numbers = data.draw(st.frozensets(st.integers(0, count_steps(body) - 1), min_size=1))
    before, after = judge(render(body)), judge(render(body, extracting(numbers, as_function)))
    # Helpers stand below the hook, so the lines of the hook keep their numbers.
    first, second = (
        sorted((f.span.line, *map(repr, told(f)), *consequences(f)) for f in result.findings)
        for result in (before, after)
    )
    assert first == second


@moderate(50)
@given(bodies(rough=False))
def test_nested_calls_are_two_statements(body: Body) -> None:
    nested, split = judge(render(body)), judge(render(body, Shape(split=True)))
    # Of faults that are equally bad, the one that stands first is told for all: compare the group where there is one.
    first, second = (
        Counter((x.code, x.severity) for f in result.findings for x in (f, *f.consequences))
        for result in (nested, split)
    )
    assert first == second
    if not any(f.consequences for f in (*nested.findings, *split.findings)):
        assert Counter(map(told, nested.findings)) == Counter(map(told, split.findings))
