"""Globs of the configuration: gitignore patterns that hang on a folder and are matched against absolute paths."""

from __future__ import annotations

import os
import posixpath
import re
import warnings
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from recipe_lint.errors import UsageError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def display_path(path: Path, cwd: Path | None = None) -> str:
    """The path as messages show it: relative to the working directory where it lies below, with ``/`` everywhere."""
    try:
        return path.relative_to(cwd or Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def rebase(pattern: str, base: Path, root: Path) -> str:
    """The glob that means below ``root`` what ``pattern`` means below ``base``."""
    mark, body = _split(pattern)
    if base == root or not _is_anchored(body):
        return pattern
    try:
        way = Path(os.path.relpath(base, root)).as_posix()
    except ValueError:  # two drives on Windows
        return pattern
    # ".." stays as it is: only the names on the way may hold characters that mean something in a glob.
    return f"{mark}{_escape(way)}/{body.removeprefix('./').lstrip('/')}"


def compile_globs(patterns: Iterable[str], root: Path) -> GitIgnoreSpec:
    """Compile gitignore patterns relative to ``root`` so that they match absolute paths."""
    return _compile(_valid_lines(patterns, root))


class Patterns:
    """Gitignore patterns that judge a path by itself: a walk has already dropped what lies below a matching folder.

    Git works so too; ``match_file`` would let ``!a/`` take back each file in ``a``.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        """Patterns that git could not read match nothing, as in git."""
        self._rules: list[tuple[bool, re.Pattern[str]]] = []
        for line in lines:
            try:
                compiled = _compile([_by_itself(line)]).patterns
            except ValueError:
                continue
            self._rules += [(bool(p.include), p.regex) for p in compiled if p.include is not None and p.regex]
        self._rules.reverse()
        # Most paths match nothing, and one search for all is several times as fast as one for each.
        named_group = re.compile(r"\(\?P<\w+>")
        joined = "|".join(named_group.sub("(?:", regex.pattern) for _, regex in self._rules)
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            self._any = re.compile(joined or r"(?!)")

    def says(self, path: str) -> bool | None:
        """True: matched. False: taken back by a negation. None: no pattern matches. A folder ends with ``/``."""
        if os.sep != "/":
            path = path.replace(os.sep, "/")
        if self._any.search(path) is None:
            return None
        for include, regex in self._rules:
            found = regex.search(path)
            if found is not None and _whole(found):
                return include
        return None


class PathMatcher:
    """Says whether a path is among the excluded ones. Plain names need no pattern and are looked up."""

    def __init__(self, patterns: Iterable[str], root: Path) -> None:
        listed = tuple(patterns)
        # A negation can take a plain name back, so then the order of all patterns counts.
        ordered = any(pattern.startswith("!") for pattern in listed)
        self._names = frozenset(pattern for pattern in listed if not ordered and re.fullmatch(r"[\w.\- ]*\w", pattern))
        self._others = tuple(pattern for pattern in listed if pattern not in self._names)
        self._root = root

    @cached_property
    def _patterns(self) -> Patterns | None:
        return Patterns(_valid_lines(self._others, self._root)) if self._others else None

    def matches(self, name: str, path: str, is_folder: bool) -> bool:
        """Whether the path (absolute, and its last part) is excluded itself, not by a folder above it."""
        if name in self._names:
            return True
        if self._patterns is None:
            return False
        return self._patterns.says((path + "/" if is_folder else path).lstrip("/")) is True


def _split(pattern: str) -> tuple[str, str]:
    return ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)


def _is_anchored(body: str) -> bool:
    return "/" in body.rstrip("/") or body.startswith("/")


def _escape(text: str) -> str:
    return re.sub(r"([\\*?\[\]!# ])", r"\\\1", text)


def _absolute(pattern: str, root: Path) -> str | None:
    """A gitignore line for absolute paths; None where the pattern is empty and so matches nothing."""
    mark, body = _split(pattern)
    anchored = _is_anchored(body)
    base = root.as_posix()
    body = body.lstrip("/")
    while body.startswith(("./", "../")):
        if body.startswith("../"):
            base = posixpath.dirname(base)
        body = body.partition("/")[2].lstrip("/")
    if not body.strip("/ "):
        return None
    middle = "/" if anchored else "/**/"
    return f"{mark}/{_escape(base.strip('/'))}{middle}{body}".replace("//", "/")


def _compile(lines: Iterable[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - costs 30 ms, and many runs need no spec

    # A set such as "[[]" makes Python warn of a syntax that it may have one day.
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        return GitIgnoreSpec.from_lines(lines)


def _valid_lines(patterns: Iterable[str], root: Path) -> list[str]:
    lines = []
    for pattern in patterns:
        line = _absolute(pattern, root)
        if line is None:
            continue
        try:
            readable = all(compiled.regex is not None for compiled in _compile([line]).patterns)
        except ValueError:
            readable = False
        if not readable:
            raise UsageError(f'"{pattern}" is not a valid glob; write it as in .gitignore')
        lines.append(line)
    return lines


def _by_itself(line: str) -> str:
    """Spell out what a closing ``**`` matches: the entries of a folder, and not the folder."""
    if line.endswith("/**"):
        return line + "/*"
    return line + "*/" if line.endswith("/**/") or line in {"**/", "!**/"} else line


def _whole(found: re.Match[str]) -> bool:
    """Whether a match means the path itself: pathspec marks the end of a folder's name by this group."""
    try:
        mark = found.start("ps_d")
    except IndexError:
        return True
    return mark in {-1, len(found.string) - 1}
