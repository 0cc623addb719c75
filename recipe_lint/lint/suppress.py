"""Suppressions: ``# recipe-lint: ignore[RL101] <why>`` on a line or the line above, ``ignore-file[...]`` for a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from recipe_lint.lint.comments import Comment, Comments
from recipe_lint.lint.finding import Finding, Severity, Span
from recipe_lint.read.modules import Module

_MARK = re.compile(r"recipe-lint:\s*(?P<kind>ignore-file|ignore)\b\s*(?:\[(?P<codes>[^\]]*)\])?(?P<why>.*)")
MARK_TEXT = "recipe-lint:"


@dataclass
class Suppression:
    """One comment. ``used`` collects the codes that it has suppressed."""

    span: Span
    whole_file: bool
    codes: tuple[str, ...]
    why: str
    lines: frozenset[int]
    used: set[str] = field(default_factory=set)


class Suppressions:
    """The suppressions of the modules that a run has judged."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """``names`` maps rule codes to names; either may stand in a suppression."""
        self._codes = {**{code: code for code in names}, **{name: code for code, name in names.items()}}
        self._files: dict[str, list[Suppression]] = {}
        self._unknown: list[tuple[Span, str]] = []

    def read(self, module: Module) -> None:
        """Take up the suppressions of one module, once."""
        if module.display in self._files:
            return
        self._files[module.display] = []
        if MARK_TEXT not in module.source.text:
            return
        comments = Comments(module)
        for comment in comments.by_line.values():
            match = _MARK.search(comment.text)
            if match is not None:
                self._files[module.display].append(self._suppression(module, comments, comment, match))

    def _suppression(self, module: Module, comments: Comments, comment: Comment, match: re.Match[str]) -> Suppression:
        line = module.source.lines[comment.line - 1]
        span = Span(module.display, comment.line, comment.column, comment.line, len(line.rstrip()) + 1)
        written = [part.strip() for part in (match["codes"] or "").split(",") if part.strip()]
        known = []
        for text in written:
            code = self._codes.get(text) or self._codes.get(text.upper())
            if code is None:
                self._unknown.append((span, text))
            else:
                known.append(code)
        if not written:
            self._unknown.append((span, ""))
        lines = {comment.line}
        if comment.alone:
            following = comment.line + 1
            while (other := comments.by_line.get(following)) is not None and other.alone:
                following += 1
            lines = {following}
        why = match["why"].strip(" -:—")
        return Suppression(span, match["kind"] == "ignore-file", tuple(known), why, frozenset(lines))

    def covers(self, code: str, places: Iterable[tuple[str, int]]) -> bool:
        """Whether a suppression of ``code`` with a reason stands at one of the places; it then counts as used."""
        found = False
        for path, line in places:
            for item in self._files.get(path, ()):
                if code in item.codes and (item.whole_file or line in item.lines):
                    item.used.add(code)
                    found = found or bool(item.why)
        return found

    def findings(self, judged: Mapping[str, tuple[str, str]], active: Iterable[str]) -> list[Finding]:
        """What is wrong with the suppressions: no reason, no use, no such rule.

        ``judged`` maps the files that were judged to recipe and engine; ``active`` are the codes that could fire.
        """
        could_fire = frozenset(active)
        found: list[Finding] = []
        for path, items in self._files.items():
            recipe, engine = judged.get(path, ("", ""))
            for item in items:
                if item.codes and not item.why:
                    found.append(_without_reason(item, recipe, engine))
                idle = tuple(code for code in item.codes if code not in item.used and code in could_fire)
                if idle and path in judged:
                    found.append(_unused(item, idle, recipe, engine))
        for span, text in self._unknown:
            recipe, engine = judged.get(span.path, ("", ""))
            found.append(_unknown(span, text, recipe, engine))
        return found


def _without_reason(item: Suppression, recipe: str, engine: str) -> Finding:
    codes = ", ".join(item.codes)
    return Finding(
        "RL003",
        "suppression-without-reason",
        Severity.warning,
        "certain",
        recipe,
        engine,
        item.span,
        f"the suppression of {codes} gives no reason, so it has no effect",
        label="say why",
        help=f"write the reason behind it: # recipe-lint: ignore[{codes}] <why>",
    )


def _unused(item: Suppression, idle: tuple[str, ...], recipe: str, engine: str) -> Finding:
    codes = ", ".join(idle)
    return Finding(
        "RL004",
        "unused-suppression",
        Severity.warning,
        "certain",
        recipe,
        engine,
        item.span,
        f"the suppression of {codes} suppresses nothing",
        label="nothing to suppress here",
        help="remove it",
    )


def _unknown(span: Span, text: str, recipe: str, engine: str) -> Finding:
    message = f'no rule is called "{text}"' if text else "a suppression must name its rules: ignore[RL101] <why>"
    return Finding(
        "RL005",
        "unknown-code",
        Severity.warning,
        "certain",
        recipe,
        engine,
        span,
        message,
        label="unknown rule" if text else "names no rule",
        help="recipe-lint rules lists the codes and names",
    )
