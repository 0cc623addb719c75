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
    order = sorted(findings, key=lambda finding: finding.sort_key)
    holders: dict[str, set[int]] = {}
    for number, finding in enumerate(order):
        for anchor in finding.anchors:
            holders.setdefault(anchor, set()).add(number)

    def linked_to(finding: Finding) -> set[int]:
        return set().union(*(holders[anchor] for anchor in finding.anchors))

    degree = [len(linked_to(finding)) for finding in order]
    queue = sorted(
        range(len(order)),
        key=lambda n: (-order[n].severity, order[n].certainty != "certain", -degree[n], order[n].sort_key),
    )
    left = set(queue)
    kept: list[Finding] = []
    for number in queue:
        if number not in left:
            continue
        head = order[number]
        left.discard(number)
        group = linked_to(head) & left
        touched = {anchor for n in group for anchor in order[n].anchors}
        # A mere convention that touches the group anywhere is no cause of its own.
        group |= {n for n in left if order[n].severity is Severity.info and not touched.isdisjoint(order[n].anchors)}
        left -= group
        linked = (order[n] for n in group)
        consequences = sorted(
            (Consequence(o.code, o.name, o.severity, o.span, o.message) for o in linked),
            key=lambda c: (c.span, c.code, c.message),
        )
        kept.append(replace(head, consequences=tuple(dict.fromkeys(consequences))))
    return kept
