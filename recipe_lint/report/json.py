"""The JSON report, version 1: keys are only ever added within a version."""

from __future__ import annotations

import json
import re

from recipe_lint.lint.finding import Consequence, Finding, Fix, Severity, Span
from recipe_lint.lint.result import Result, UnknownCall
from recipe_lint.report.summary import count

VERSION = 1

# Lone surrogates cannot be written as UTF-8; the others steer a terminal. JSON can spell all of them.
_ESCAPED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def render_json(result: Result, *, show_unknown: bool = False) -> str:
    """Render a result as one JSON document that can always be written as UTF-8."""
    document: dict[str, object] = {
        "version": VERSION,
        "findings": [finding_object(finding) for finding in result.findings],
        "summary": _summary(result),
    }
    if show_unknown:
        document["unknown"] = [_unknown(call) for call in result.unknown]
    return dump(document, indent=2) + "\n"


def dump(value: object, *, indent: int | None = None) -> str:
    """JSON text of a value, readable, and safe for UTF-8 and terminals."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def finding_object(finding: Finding) -> dict[str, object]:
    """A finding as a JSON object, its keys in the order of the format."""
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.name,
        "certainty": finding.certainty,
        "recipe": finding.recipe,
        "engine": finding.engine,
        **_span(finding.span),
        "message": finding.message,
        "help": finding.help,
        "conditions": list(finding.conditions),
        "stages": list(finding.stages),
        "related": [{**_span(related.span), "label": related.label} for related in finding.related],
        "fix": None if finding.fix is None else _fix(finding.fix),
        "fingerprint": finding.fingerprint,
        "harm": finding.harm,
        "reason": finding.reason,
        "consequences": [_consequence(other) for other in finding.consequences],
    }


def _span(span: Span) -> dict[str, object]:
    return {
        "path": span.path,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def _fix(fix: Fix) -> dict[str, object]:
    edits = [{**_span(edit.span), "text": edit.text} for edit in fix.edits]
    return {"safety": fix.safety, "message": fix.message, "edits": edits}


def _consequence(other: Consequence) -> dict[str, object]:
    return {
        "code": other.code,
        "name": other.name,
        "severity": other.severity.name,
        "path": other.span.path,
        "line": other.span.line,
        "column": other.span.column,
        "message": other.message,
    }


def _unknown(call: UnknownCall) -> dict[str, object]:
    return {
        **_span(call.span),
        "recipe": call.recipe,
        "engine": call.engine,
        "call": call.call,
        "why": call.why,
    }


def _summary(result: Result) -> dict[str, object]:
    return {
        "errors": count(result, Severity.error),
        "warnings": count(result, Severity.warning),
        "infos": count(result, Severity.info),
        "recipes": len(result.recipes),
        "engines": result.engines,
        "files": result.files,
        "model_calls": result.model_calls,
        "unknown_calls": len(result.unknown),
    }
