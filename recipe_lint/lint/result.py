"""What one run hands to the reports."""

from __future__ import annotations

from dataclasses import dataclass

from recipe_lint.lint.finding import Finding, Span


@dataclass(frozen=True, slots=True)
class UnknownCall:
    """A call on a model that the tracer could not resolve; shown with ``--show-unknown``."""

    span: Span
    recipe: str
    engine: str
    call: str
    why: str


@dataclass(frozen=True, slots=True)
class Result:
    """Findings in output order, and what was looked at.

    ``engines`` counts engine classes and script roots. ``model_calls`` counts the calls that take a model or are made
    on one; ``unknown`` are those of them that stayed unresolved. ``internal_errors`` are one-line texts of rules or
    traces that failed; they make the exit code 2.
    """

    findings: tuple[Finding, ...]
    recipes: tuple[str, ...] = ()
    engines: int = 0
    files: int = 0
    model_calls: int = 0
    unknown: tuple[UnknownCall, ...] = ()
    internal_errors: tuple[str, ...] = ()
