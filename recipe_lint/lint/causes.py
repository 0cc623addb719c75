"""One root cause, one finding: broken edges that share a misplaced step are told together.

A step that stands in the wrong place breaks every edge that it passes. Of the findings that share an event, the worst
one, and among equals the one that touches most of the others, stands for all; the rest become its consequences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recipe_lint.lint.finding import Consequence, Finding, Severity


def attach_consequences(findings: Sequence[Finding]) -> list[Finding]:
    """Group the findings of one trace by shared anchors; the order of the input does not matter."""
    rest = sorted(findings, key=lambda finding: finding.sort_key)
    degree = {
        id(finding): sum(1 for other in rest if other is not finding and _linked(finding, other)) for finding in rest
    }
    rest.sort(
        key=lambda f: (-f.severity, f.certainty != "certain", -degree[id(f)], *map(str, f.sort_key[:1]), f.sort_key[1:])
    )
    kept: list[Finding] = []
    while rest:
        head = rest.pop(0)
        linked = [other for other in rest if _linked(head, other)]
        # A mere convention that touches the group anywhere is no cause of its own.
        linked += [
            other
            for other in rest
            if other not in linked and other.severity is Severity.info and any(_linked(other, it) for it in linked)
        ]
        rest = [other for other in rest if other not in linked]
        consequences = sorted(
            (Consequence(o.code, o.name, o.severity, o.span, o.message) for o in linked),
            key=lambda c: (c.span, c.code),
        )
        kept.append(replace(head, consequences=tuple(dict.fromkeys(consequences))))
    return kept


def _linked(first: Finding, second: Finding) -> bool:
    return bool(set(first.anchors) & set(second.anchors))
