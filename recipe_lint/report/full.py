"""The full text report: a block for each finding, with the source it speaks of, and a summary."""

from __future__ import annotations

from collections.abc import Iterator

from recipe_lint.lint.finding import Finding
from recipe_lint.lint.result import Result
from recipe_lint.report.frame import SourceLookup, frames
from recipe_lint.report.summary import summary_line, unknown_rows
from recipe_lint.report.text import display_width, escape, one_line, paint, severity_style, wrap

__all__ = ["SourceLookup", "render_full"]

_MIN_WIDTH = 40


def render_full(result: Result, sources: SourceLookup, *, color: bool, width: int, show_unknown: bool) -> str:
    """Render a result for a person at a terminal of ``width`` columns.

    ``sources`` gives the lines of a displayed path, or None where there are none to show. ``color`` alone decides
    about colour. Internal errors are counted in the summary; telling them is left to the caller.
    """
    width = max(width, _MIN_WIDTH)
    blocks = [_block(finding, sources, width=width, color=color) for finding in result.findings]
    unknown = unknown_rows(result, show=show_unknown, color=color)
    if unknown:
        blocks.append("\n".join(unknown))
    blocks.append(summary_line(result, color=color))
    return "\n\n".join(blocks) + "\n"


def _block(finding: Finding, sources: SourceLookup, *, width: int, color: bool) -> str:
    drawn = frames(finding, sources, width=width, color=color)
    rows = [_head(finding, color), *drawn.rows]
    for key, text in _notes(finding):
        rows += _note_rows(key, text, gutter=drawn.gutter, width=width, color=color)
    return "\n".join(rows)


def _head(finding: Finding, color: bool) -> str:
    code = f"{finding.severity.name}[{escape(finding.code)}]"
    may = " (may)" if finding.certainty == "may" else ""
    text = f": {escape(finding.name)}: {one_line(finding.message)}".rstrip()
    return f"{paint(code + may, severity_style(finding.severity), color)}{paint(text, 'strong', color)}"


def _notes(finding: Finding) -> Iterator[tuple[str, str]]:
    if finding.conditions:
        yield "when", " and ".join(map(one_line, finding.conditions))
    if finding.stages:
        yield "stages", ", ".join(map(one_line, finding.stages))
    if finding.harm:
        yield "harm", finding.harm
    for other in finding.consequences:
        where = f"{escape(other.span.path)}:{other.span.line}"
        yield "also", f"{escape(other.code)} {escape(other.name)} at {where} ({other.severity.name})"
    if finding.help:
        yield "help", finding.help
    if finding.fix is not None and finding.fix.message:
        yield "fix", f"{finding.fix.message} ({finding.fix.safety})"
    if finding.reason is not None:
        yield "reason given", f'"{one_line(finding.reason)}"'
    yield "rule", f"recipe-lint explain {finding.code}"


def _note_rows(key: str, text: str, *, gutter: int, width: int, color: bool) -> list[str]:
    margin = " " * (gutter + 1)
    hanging = " " * display_width(f"{margin}= {key}: ")
    first, *rest = wrap(text, max(width - len(hanging), _MIN_WIDTH // 2))
    head = f"{margin}{paint('=', 'gutter', color)} {paint(f'{key}:', 'strong', color)} {first}"
    return [head.rstrip(), *(f"{hanging}{row}".rstrip() for row in rest)]
