"""What a rule is: a page, a code, one function from a trace to drafts, and examples that are its tests."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from recipe_lint.lint.finding import Severity
from recipe_lint.protocol.model import Protocol
from recipe_lint.read.stages import Stage
from recipe_lint.trace.events import Site, Trace
from recipe_lint.trace.guards import ALWAYS, Guard

HEADINGS = (
    "What it does",
    "Why it is bad",
    "Known limits",
    "Example",
    "Use instead",
    "Fix safety",
    "Source",
)


@dataclass(frozen=True)
class Subject:
    """What a rule looks at: the trace of one engine, the stages it runs at and the protocol it is held to."""

    trace: Trace
    protocol: Protocol
    stages: tuple[Stage, ...] = ()


@dataclass(frozen=True)
class Draft:
    """A finding before places become spans: rules work on sites and never touch files.

    ``guard`` is when it holds. ``early`` and ``late`` are the events out of order: drafts that share one in the same
    role share a root cause. ``placement`` names the steps of which a comment must speak to count as a written reason
    for the order (empty where no reason excuses it), ``excuses`` the places where such a comment or a suppression
    may stand.
    """

    code: str
    name: str
    severity: Severity
    site: Site
    message: str
    label: str = ""
    harm: str = ""
    help: str = ""
    guard: Guard = ALWAYS
    may: bool = False
    stages: tuple[str, ...] = ()
    related: tuple[tuple[Site, str], ...] = ()
    early: Site | None = None
    late: Site | None = None
    placement: tuple[str, ...] = ()
    excuses: tuple[Site, ...] = ()


@dataclass(frozen=True)
class Example:
    """Source of one recipe file; a line that must be flagged ends in ``# expect: RL101``.

    ``files`` holds further files of the recipe by relative path.
    """

    code: str
    files: Mapping[str, str] = field(default_factory=dict)


class Rule:
    """Base of all rules. A subclass's docstring is its page, with the headings of ``HEADINGS``."""

    code: ClassVar[str] = ""
    name: ClassVar[str] = ""
    severity: ClassVar[Severity] = Severity.warning
    good: ClassVar[tuple[Example, ...]] = ()
    bad: ClassVar[tuple[Example, ...]] = ()

    def check(self, subject: Subject) -> Iterator[Draft]:
        """Yield a draft for each fault in the trace."""
        raise NotImplementedError

    @classmethod
    def page(cls) -> str:
        """The rule's documentation as Markdown."""
        return inspect.cleandoc(cls.__doc__ or "")

    @classmethod
    def section(cls, heading: str) -> str:
        """The text of the page under one heading, "" where it has none."""
        lines: list[str] = []
        inside = False
        for line in cls.page().splitlines():
            if line.startswith("## "):
                inside = line[3:].strip() == heading
            elif inside:
                lines.append(line)
        return "\n".join(lines).strip()

    @classmethod
    def summary(cls) -> str:
        """The first line of the page."""
        return cls.page().splitlines()[0] if cls.__doc__ else ""
