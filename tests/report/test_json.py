from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from recipe_lint.lint.finding import Span
from recipe_lint.lint.result import Result
from recipe_lint.report.json import render_json

from .samples import CHAIN, CONSEQUENCES, ENGINE, MAY, REASON, odd, result

SCHEMA = json.loads(Path(__file__).with_name("report.schema.json").read_text(encoding="utf-8"))
FINDING_KEYS = [
    *("code", "name", "severity", "certainty", "recipe", "engine", "path", "line", "column", "end_line", "end_column"),
    *("message", "help", "conditions", "stages", "related", "fix", "fingerprint", "harm", "reason", "consequences"),
]


def load(text: str) -> Any:
    document = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


@pytest.mark.parametrize("show_unknown", [False, True])
@pytest.mark.parametrize(
    "case", [Result(()), result(), result(unknown=2), result(CHAIN, MAY, REASON, CONSEQUENCES, odd(4), unknown=1)]
)
def test_matches_the_schema(case: Result, show_unknown: bool) -> None:
    document = load(render_json(case, show_unknown=show_unknown))
    assert len(document["findings"]) == len(case.findings)
    assert document.get("unknown", []) == document["unknown"] if show_unknown else "unknown" not in document


def test_keys_keep_their_order() -> None:
    document = load(render_json(result(CONSEQUENCES, unknown=1), show_unknown=True))
    assert list(document) == ["version", "findings", "summary", "unknown"]
    assert list(document["findings"][0]) == FINDING_KEYS
    assert list(document["summary"]) == [
        *("errors", "warnings", "infos", "recipes", "engines", "files", "model_calls", "unknown_calls")
    ]


def test_values() -> None:
    document = load(render_json(result(CONSEQUENCES, MAY, unknown=3)))
    assert document["summary"] == {
        **{"errors": 1, "warnings": 1, "infos": 0, "recipes": 3},
        **{"engines": 4, "files": 17, "model_calls": 40, "unknown_calls": 3},
    }
    first = document["findings"][0]
    assert (first["path"], first["line"], first["column"], first["end_column"]) == (ENGINE, 14, 17, 40)
    assert first["fix"]["safety"] == "unsafe"
    assert first["fix"]["edits"][0]["text"] == "# moved\n"
    assert first["consequences"][0]["code"] == "RL107"
    assert first["related"][0]["label"] == "parallelize happens here"
    assert document["findings"][1]["certainty"] == "may"


def test_layout() -> None:
    text = render_json(result(odd(1, message="冻结")))
    assert text.startswith('{\n  "version": 1,\n  "findings": [\n    {\n      "code": ')
    assert text.endswith("}\n")
    assert "冻结" in text


def test_any_text_can_be_written_and_read_back() -> None:
    message = "\udc80 \x9b \x7f \u202e \u2028 \x1b 🚀"
    finding = replace(odd(1, message=message), span=Span("a\udcff.py", 1, 1, 1, 2))
    text = render_json(result(finding))
    assert not {"\udc80", "\x9b", "\x7f", "\u202e", "\u2028", "\x1b"} & set(text)
    document = json.loads(text.encode("utf-8"))
    assert document["findings"][0]["message"] == message
    assert document["findings"][0]["path"] == "a\udcff.py"
