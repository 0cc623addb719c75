"""The concise text report: one line for each finding."""

from __future__ import annotations

from recipe_lint.lint.finding import Finding
from recipe_lint.lint.result import Result
from recipe_lint.report.summary import place, summary_line
from recipe_lint.report.text import escape, one_line, paint, severity_style


def render_concise(result: Result, *, color: bool) -> str:
    """Render a result as ``path:line:column: severity[CODE] message [name] (when ...; stages ...)`` lines."""
    rows = [_row(finding, color) for finding in result.findings]
    return "\n".join([*rows, summary_line(result, color=color)]) + "\n"


def _row(finding: Finding, color: bool) -> str:
    head = f"{finding.severity.name}[{escape(finding.code)}]"
    if finding.certainty == "may":
        head += " (may)"
    parts = [
        f"{paint(place(finding.span), 'strong', color)}:",
        paint(head, severity_style(finding.severity), color),
        one_line(finding.message),
        f"[{escape(finding.name)}]",
    ]
    limits = []
    if finding.conditions:
        limits.append(f"when {' and '.join(map(one_line, finding.conditions))}")
    if finding.stages:
        limits.append(f"stages {', '.join(map(one_line, finding.stages))}")
    if limits:
        parts.append(f"({'; '.join(limits)})")
    return " ".join(part for part in parts if part)
