from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from recipe_lint.lint.finding import Finding, Related, Severity, Span
from recipe_lint.lint.result import Result
from recipe_lint.report.concise import render_concise
from recipe_lint.report.full import render_full
from recipe_lint.report.text import display_width

from .samples import CHAIN, CONSEQUENCES, ENGINE, FREEZE, MAY, ODD, OTHER_FILE, REASON, at, odd, result, sources

SNAPSHOTS = Path(__file__).parent / "snapshots"
ESCAPE_SEQUENCE = re.compile(r"\x1b\[\d+m")

LONG_WORDS = replace(
    FREEZE,
    label="freeze happens here, in a loop over the names of the model after it was wrapped",
    harm="冻结在并行化之后运行名称已经改变前缀不再匹配任何参数因此所有参数都被冻结。" * 2,
    help="Freeze before the model is wrapped:\n\n    freeze(model)\n    model = DDP(model)\n\nThen optimize.",
)
SAME_LINE = replace(
    odd(5),
    related=(Related(at(ODD, 5, "item_7,"), "far away"), Related(at(ODD, 5, "(model)"), "the model")),
)
MULTILINE = replace(
    REASON,
    span=Span(ENGINE, 12, 9, 14, 40),
    related=(Related(Span(ENGINE, 10, 1, 10, 1), "empty"), Related(Span(ENGINE, 9, 999, 9, 1002), "past the end")),
)
GONE = replace(
    FREEZE,
    related=(Related(Span("recipes/x/gone.py", 3, 1, 3, 9), "built here"), Related(Span(ENGINE, 99, 1, 99, 5), "")),
)
NOTHING_LEFT = replace(FREEZE, span=Span("recipes/x/\x1bgone\n.py", 4, 1, 4, 2), related=())

CASES: dict[str, tuple[Result, int, bool]] = {
    "two_spans": (result(FREEZE), 100, False),
    "other_file": (result(OTHER_FILE), 100, False),
    "chain": (result(CHAIN), 100, False),
    "may": (result(MAY), 100, False),
    "reason": (result(REASON), 100, False),
    "consequences": (result(CONSEQUENCES), 100, False),
    "odd_characters": (result(odd(1), odd(2), odd(3), odd(4, message="an \x1b[2J escape")), 100, False),
    "long_line": (result(odd(5)), 100, False),
    "long_line_two_marks": (result(SAME_LINE), 80, False),
    "width_60": (result(CHAIN, LONG_WORDS, odd(5)), 60, False),
    "multiline": (result(MULTILINE), 100, False),
    "lines_missing": (result(GONE, NOTHING_LEFT), 100, False),
    "no_findings": (result(unknown=1), 100, False),
    "unknown_hidden": (result(FREEZE, unknown=12), 100, False),
    "unknown_shown": (result(FREEZE, MAY, unknown=2), 100, True),
    "no_recipes": (Result(()), 100, False),
    "unreadable_only": (replace(result(replace(NOTHING_LEFT, recipe="")), recipes=(), engines=0), 100, False),
    "incomplete": (replace(result(), internal_errors=("RL103 failed on XEngine",)), 100, False),
}


def check_snapshot(name: str, text: str) -> None:
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_full_snapshot(name: str) -> None:
    case, width, show_unknown = CASES[name]
    check_snapshot(name, render_full(case, sources, color=False, width=width, show_unknown=show_unknown))


def test_concise_snapshot() -> None:
    findings = (MAY, CHAIN, REASON, odd(4, message="two\nlines \x1b[2J"))
    check_snapshot("concise", render_concise(result(*findings), color=False))


def test_every_snapshot_has_a_case() -> None:
    names = {path.stem for path in SNAPSHOTS.glob("*.txt")}
    assert names == {*CASES, "concise"}, "a case without its file, or a file without its case"


@pytest.mark.parametrize("name", CASES)
def test_color_changes_nothing_but_escapes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, width, show_unknown = CASES[name]
    monkeypatch.setenv("FORCE_COLOR", "1")
    plain = render_full(case, sources, color=False, width=width, show_unknown=show_unknown)
    assert "\x1b" not in plain
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setenv("NO_COLOR", "1")
    painted = render_full(case, sources, color=True, width=width, show_unknown=show_unknown)
    assert "\x1b" in painted
    assert ESCAPE_SEQUENCE.sub("", painted) == plain


def test_concise_color() -> None:
    case = result(FREEZE, MAY, REASON)
    painted = render_concise(case, color=True)
    assert painted.count("\x1b") > 6
    assert ESCAPE_SEQUENCE.sub("", painted) == render_concise(case, color=False)


@pytest.mark.parametrize("width", [1, 40, 60, 79, 100, 200])
@pytest.mark.parametrize("finding", [FREEZE, CHAIN, LONG_WORDS, SAME_LINE, MULTILINE, *(odd(n) for n in range(1, 6))])
def test_frames_and_notes_fit(finding: Finding, width: int) -> None:
    text = render_full(result(finding), sources, color=False, width=width, show_unknown=False)
    rows = [row for row in text.split("\n")[1:-2] if "-->" not in row and ":::" not in row]
    assert max(map(display_width, rows)) <= max(width, 40)


def test_marks_stand_under_their_text() -> None:
    for number in range(1, 6):
        text = render_full(result(odd(number)), sources, color=False, width=90, show_unknown=False)
        line, mark = (row for row in text.split("\n") if "freeze(model)" in row or "^" in row)
        start = mark.index("^")
        assert display_width(line[: line.index("freeze(model)")]) == start
        assert mark.count("^") == len("freeze(model)")


def test_a_line_of_megabytes_is_cheap() -> None:
    line = "a" * 8_000_000 + "freeze(model)" + "b" * 8_000_000
    finding = replace(FREEZE, span=Span("big.py", 1, 8_000_001, 1, 8_000_014), related=())

    def big(path: str) -> Sequence[str] | None:
        return [line]

    text = render_full(result(finding), big, color=False, width=100, show_unknown=False)
    assert "…aaa" in text
    assert "freeze(model)bbb" in text
    assert len(text) < 2000


def test_counts_agree_in_number() -> None:
    one = replace(result(FREEZE), recipes=("recipes/x",), engines=1)
    assert render_concise(one, color=False).endswith("\nFound 1 error in 1 of 1 recipe (1 engine).\n")
    many = result(FREEZE, FREEZE, MAY, replace(REASON, recipe="recipes/y"), REASON)
    assert render_concise(many, color=False).endswith(
        "\nFound 2 errors, 1 warning, 2 infos in 2 of 3 recipes (4 engines).\n"
    )
    outside = result(replace(FREEZE, recipe="", severity=Severity.warning))
    assert render_concise(outside, color=False).endswith("\nFound 1 warning; 3 recipes, 4 engines checked.\n")
