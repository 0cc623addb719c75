"""The examples of every rule, linted: a bad one is flagged where it says so and nowhere else, a good one not at all."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from recipe_lint.config.load import Resolver
from recipe_lint.lint.pack import load_pack
from recipe_lint.lint.result import Result
from recipe_lint.lint.rule import Example, Rule
from recipe_lint.lint.run import lint

PACK = load_pack()
# The mark is taken off before the file is written: it is no comment of the recipe's author.
MARK = re.compile(r"\s*# expect: (RL\d{3})$")


def examples(kind: str) -> list[ParameterSet]:
    return [
        pytest.param(rule, example, id=f"{rule.code}-{number}")
        for rule in PACK.rules
        for number, example in enumerate(getattr(rule, kind), 1)
    ]


def expected(example: Example) -> set[tuple[str, int]]:
    marks = ((MARK.search(line), number) for number, line in enumerate(example.code.splitlines(), 1))
    return {(mark[1], number) for mark, number in marks if mark is not None}


def run(example: Example, root: Path) -> tuple[Result, str]:
    (root / ".git").mkdir()
    recipe = root / "recipes" / "demo"
    code = "\n".join(MARK.sub("", line) for line in example.code.splitlines())
    for name, text in {**example.files, "engine/engine.py": f"{code}\n"}.items():
        (recipe / name).parent.mkdir(parents=True, exist_ok=True)
        (recipe / name).write_text(text, encoding="utf-8")
    return lint([root], Resolver(isolated=True), PACK), "recipes/demo/engine/engine.py"


def flagged(rule: type[Rule], result: Result, path: str) -> set[tuple[str, int]]:
    """Where a rule has fired, on its own or told with another finding of the same root cause."""
    told = [(finding.code, finding.span) for finding in result.findings]
    told += [(c.code, c.span) for finding in result.findings for c in finding.consequences]
    return {(code, span.line) for code, span in told if code == rule.code and span.path.endswith(path)}


@pytest.mark.parametrize(("rule", "example"), examples("bad"))
def test_bad_example_is_flagged_where_it_says(rule: type[Rule], example: Example, tmp_path: Path) -> None:
    result, path = run(example, tmp_path)
    marks = expected(example)
    assert marks
    assert {code for code, _ in marks} == {rule.code}
    assert flagged(rule, result, path) == marks
    assert not result.internal_errors


@pytest.mark.parametrize(("rule", "example"), examples("good"))
def test_good_example_is_not_flagged(rule: type[Rule], example: Example, tmp_path: Path) -> None:
    result, path = run(example, tmp_path)
    assert not expected(example)
    assert flagged(rule, result, path) == set()
    assert not result.internal_errors
    # Silence counts only where the example was judged at all.
    assert result.engines == 1 or rule.code.startswith("RL0")


RUNNABLE = [case for case in examples("bad") if case.values[0].code not in ("RL001", "RL002", "RL202")]


@pytest.mark.parametrize(("rule", "example"), [*RUNNABLE, *examples("good")])
def test_example_has_no_name_out_of_nowhere(rule: type[Rule], example: Example) -> None:
    tree = ast.parse(example.code)
    bound = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    bound |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    bound |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    assert used - bound <= {"sum", "enumerate", "super", "getattr", "float", "zip"}
