"""What a rule reports: plain values that every output format and every later stage reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recipe_lint.config.severity import Severity
from recipe_lint.read.span import Span

Certainty = Literal["certain", "may"]

__all__ = ["Certainty", "Consequence", "Edit", "Finding", "Fix", "Related", "Severity", "Span"]


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that takes part in a finding, and what happens there."""

    span: Span
    label: str


@dataclass(frozen=True, slots=True)
class Consequence:
    """Another broken edge with the same root cause; it is told with the finding instead of on its own."""

    code: str
    name: str
    severity: Severity
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text of one span by ``text``."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that removes the finding. ``safety`` is ``safe``, ``unsafe`` or ``display``."""

    safety: Literal["safe", "unsafe", "display"]
    message: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault at one place.

    ``message`` is one sentence, ``label`` the few words under the primary span, ``harm`` what the fault does at run
    time, ``help`` what to do. ``conditions`` are the gates under which it holds ("model.compile.enabled"), ``stages``
    the YAML files whose values open those gates. ``reason`` is the author's written reason where one was accepted.
    ``anchors`` identify the events that take part; two findings that share one may share a root cause.
    """

    code: str
    name: str
    severity: Severity
    certainty: Certainty
    recipe: str
    engine: str
    span: Span
    message: str
    label: str = ""
    harm: str = ""
    help: str = ""
    conditions: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    consequences: tuple[Consequence, ...] = ()
    reason: str | None = None
    fix: Fix | None = None
    fingerprint: str = ""
    function: str = ""
    anchors: tuple[str, ...] = ()

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Order of output: by place, then by code and text, so that it never depends on the order of work."""
        return (self.span.path, self.span.line, self.span.column, self.code, self.message)
