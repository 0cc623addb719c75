"""From a rule's draft to a finding: sites become spans, guards conditions, and a written reason is looked for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from recipe_lint.lint.comments import Comments
from recipe_lint.lint.finding import Finding, Related, Severity
from recipe_lint.lint.reasons import placement_reason
from recipe_lint.lint.rule import Draft
from recipe_lint.read.modules import Module
from recipe_lint.trace.events import Site, Trace


@dataclass(frozen=True)
class Origin:
    """Where a finding comes from: the recipe folder and the engine or root."""

    recipe: str
    engine: str


class CommentIndex:
    """Comments of all modules of a run, each tokenised at most once."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._by_module: dict[str, Comments] = {}

    def of(self, module: Module) -> Comments:
        """The comments of one module."""
        if module.display not in self._by_module:
            self._by_module[module.display] = Comments(module)
        return self._by_module[module.display]


def places(draft: Draft) -> list[tuple[str, int]]:
    """Lines at which a suppression of the draft may stand: where the call begins and where it ends."""
    found: list[tuple[str, int]] = []
    for site in (draft.site, *draft.excuses):
        found.append((site.span.path, site.span.line))
        found.append((site.span.path, site.segment.last_line(site.node)))
    return list(dict.fromkeys(found))


def build(
    draft: Draft, origin: Origin, trace: Trace, comments: CommentIndex, override: Severity | None = None
) -> Finding:
    """The finding of a draft. "may" lowers the severity by one; a written reason for the placement makes it info."""
    severity = override or draft.severity
    if draft.may and severity > Severity.info:
        severity = Severity(severity - 1)
    reason = written_reason(draft, comments)
    if reason is not None:
        severity = Severity.info
    span = draft.site.span
    return Finding(
        draft.code,
        draft.name,
        severity,
        "may" if draft.may else "certain",
        origin.recipe,
        origin.engine,
        span,
        draft.message,
        draft.label,
        draft.harm,
        draft.help,
        trace.conditions(draft.guard),
        draft.stages,
        tuple(Related(site.span, label) for site, label in draft.related if site.span != span),
        (),
        reason,
        None,
        fingerprint(draft.code, draft.site),
        draft.site.function,
        _anchors({"early": draft.early, "late": draft.late}),
    )


def written_reason(draft: Draft, comments: CommentIndex) -> str | None:
    """The author's reason for the placement, from a comment directly above one of the calls."""
    for site in draft.excuses:
        if draft.placement:
            text = comments.of(site.segment.module).about(site.span.line)
            reason = placement_reason(text, draft.placement)
            if reason is not None:
                return reason
    return None


def fingerprint(code: str, site: Site) -> str:
    """A key that survives line shifts: rule, path, function and normalised code text."""
    text = "\0".join((code, site.span.path, site.function, site.code))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _anchors(sites: Mapping[str, Site | None]) -> tuple[str, ...]:
    return tuple(
        f"{role}:{site.span.path}:{site.span.line}:{site.span.column}"
        for role, site in sites.items()
        if site is not None
    )
