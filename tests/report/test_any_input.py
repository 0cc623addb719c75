"""No finding and no source line breaks a text report."""

from __future__ import annotations

import json
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from recipe_lint.lint.finding import Consequence, Edit, Finding, Fix, Related, Severity, Span
from recipe_lint.lint.result import Result, UnknownCall
from recipe_lint.report.concise import render_concise
from recipe_lint.report.full import render_full
from recipe_lint.report.json import render_json
from recipe_lint.report.text import display_width, escape, wrap

characters = st.one_of(
    st.characters(exclude_categories=()),
    st.sampled_from("ab (\t\r\n\x0b\x0c\x1b\x85\u2028\u202e\u00a0\u3000冻🚀\u0301\u200d\ud800"),
)
texts = st.text(characters, max_size=30)
lines = st.one_of(texts, st.builds(lambda text, times: text * times, texts, st.integers(1, 60)))
names = st.sampled_from(["a.py", "b/c.py", "\x1b\n.py", "gone.py"])
numbers = st.one_of(st.integers(1, 6), st.integers(1, 400), st.integers(-3, 10**6))
spans = st.builds(Span, names, numbers, numbers, numbers, numbers)
severities = st.sampled_from(Severity)
few = st.lists(texts, max_size=3).map(tuple)
findings = st.builds(
    Finding,
    code=texts,
    name=texts,
    severity=severities,
    certainty=st.sampled_from(["certain", "may"]),
    recipe=texts,
    engine=texts,
    span=spans,
    message=texts,
    label=texts,
    harm=lines,
    help=lines,
    conditions=few,
    stages=few,
    related=st.lists(st.builds(Related, spans, texts), max_size=3).map(tuple),
    consequences=st.lists(st.builds(Consequence, texts, texts, severities, spans, texts), max_size=2).map(tuple),
    reason=st.none() | texts,
    fix=st.none()
    | st.builds(
        Fix, st.sampled_from(["safe", "unsafe", "display"]), texts, st.lists(st.builds(Edit, spans, texts)).map(tuple)
    ),
)
results = st.builds(
    Result,
    findings=st.lists(findings, max_size=3).map(tuple),
    recipes=few,
    engines=st.integers(0, 3),
    unknown=st.lists(st.builds(UnknownCall, spans, texts, texts, texts, texts), max_size=2).map(tuple),
    internal_errors=few,
)
files = st.dictionaries(names.filter(lambda name: name != "gone.py"), st.lists(lines, max_size=6))


def assert_clean(text: str) -> None:
    assert text.endswith("\n")
    assert not any(
        unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} or char == "\u202e" for char in text.replace("\n", "")
    )
    assert [row for row in text.split("\n") if row != row.rstrip()] == []
    text.encode("utf-8")


@settings(deadline=None, max_examples=300)
@given(results, files, st.integers(0, 220), st.booleans())
def test_full(result: Result, files: dict[str, list[str]], width: int, show_unknown: bool) -> None:
    assert_clean(render_full(result, files.get, color=False, width=width, show_unknown=show_unknown))
    render_full(result, files.get, color=True, width=width, show_unknown=show_unknown)


@settings(deadline=None)
@given(results)
def test_concise(result: Result) -> None:
    text = render_concise(result, color=False)
    assert_clean(text)
    assert text.count("\n") == len(result.findings) + 1


@settings(deadline=None)
@given(results)
def test_json(result: Result) -> None:
    text = render_json(result, show_unknown=True)
    text.encode("utf-8")
    assert len(json.loads(text)["findings"]) == len(result.findings)


@given(lines, st.integers(2, 60))
def test_wrap_fits_and_keeps_all_words(text: str, width: int) -> None:
    flat = " ".join(text.split())
    rows = wrap(flat, width, break_words=True)
    assert max(map(display_width, rows)) <= width
    assert "".join("".join(rows).split()) == "".join(escape(flat).split())
