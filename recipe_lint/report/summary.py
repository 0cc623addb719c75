"""The closing lines that the text formats share."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity, Span
from recipe_lint.lint.result import Result
from recipe_lint.report.text import escape, one_line, paint, severity_style


def plural(count: int, word: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def place(span: Span) -> str:
    """``path:line:column`` of the start of a span, safe to print."""
    return f"{escape(span.path)}:{span.line}:{span.column}"


def count(result: Result, severity: Severity) -> int:
    """How many findings of a result have a severity."""
    return sum(finding.severity is severity for finding in result.findings)


def summary_line(result: Result, *, color: bool) -> str:
    """One sentence: what was found, in how much of what was looked at."""
    line = _found(result, color) if result.findings else _nothing_found(result, color)
    if result.internal_errors:
        failed = paint("Incomplete", "error", color)
        line += f" {failed}: {plural(len(result.internal_errors), 'internal error')}."
    return line


def _found(result: Result, color: bool) -> str:
    counts = ", ".join(
        paint(plural(number, severity.name), severity_style(severity), color)
        for severity in sorted(Severity, reverse=True)
        if (number := count(result, severity))
    )
    if not result.recipes and not result.engines:
        return f"Found {counts}. No recipes found."
    hit = {finding.recipe for finding in result.findings} & set(result.recipes)
    if not hit:
        return f"Found {counts}; {_checked(result)}."
    recipes = plural(len(result.recipes), "recipe")
    return f"Found {counts} in {len(hit)} of {recipes} ({plural(result.engines, 'engine')})."


def _nothing_found(result: Result, color: bool) -> str:
    if not result.recipes and not result.engines:
        return paint("No recipes found.", "warning", color)
    # A run that could not finish must not read as a clean one.
    verdict = "No findings" if result.internal_errors else paint("All clear", "good", color)
    return f"{verdict}: {_checked(result)}."


def _checked(result: Result) -> str:
    return f"{plural(len(result.recipes), 'recipe')}, {plural(result.engines, 'engine')} checked"


def unknown_rows(result: Result, *, show: bool, color: bool) -> list[str]:
    """Every unresolved call when ``show`` is set, else one line that says how many there are."""
    if not result.unknown:
        return []
    if show:
        head = paint("unknown", "strong", color)
        return [
            f"{head}: {place(call.span)} {one_line(call.call)} — {one_line(call.why)}".rstrip()
            for call in result.unknown
        ]
    number = len(result.unknown)
    verb, them = ("was", "it") if number == 1 else ("were", "them")
    note = f"{plural(number, 'call')} on a model {verb} not resolved; --show-unknown lists {them}"
    return [paint(note, "dim", color)]
