"""Interpolations of a composed configuration: ``${a.b}``, ``${.b}`` and strings around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from recipe_lint.read.compose import Entry
from recipe_lint.read.flags import UNKNOWN
from recipe_lint.read.source import Problem
from recipe_lint.read.span import Span

MAX_CHAIN = 64
MAX_TEXT = 10_000

_REFERENCE = re.compile(r"\$\{([^${}]*)\}")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True)
class Resolved:
    """A composition as dotted paths. Plain values are Python values, lists and dicts, or ``UNKNOWN``."""

    values: dict[str, object]
    sections: frozenset[str]
    origins: dict[str, Span]
    problems: tuple[Problem, ...]


def resolve(entries: dict[str, Entry]) -> Resolved:
    """Flatten to dotted paths and resolve interpolations.

    A reference to what is not a known plain value of the same composition is ``UNKNOWN``, and so is a resolver such as
    ``${oc.env:HOME}``. A cycle is also reported.
    """
    flat = dict(_flatten(entries, ""))
    leaves = {path: entry for path, entry in flat.items() if entry.children is None}
    resolver = _Resolver(leaves)
    values = {path: resolver.value(path, ()) for path in leaves}
    sections = frozenset(flat) - frozenset(leaves)
    origins = {path: entry.span for path, entry in flat.items()}
    return Resolved(values, sections, origins, tuple(resolver.problems))


def _flatten(entries: dict[str, Entry], prefix: str) -> Iterator[tuple[str, Entry]]:
    for key, entry in entries.items():
        path = f"{prefix}{key}"
        yield path, entry
        if entry.children is not None:
            yield from _flatten(entry.children, f"{path}.")


class _Resolver:
    def __init__(self, leaves: dict[str, Entry]) -> None:
        self._leaves = leaves
        self._known: dict[str, object] = {}
        self.problems: list[Problem] = []

    def value(self, path: str, chain: tuple[str, ...]) -> object:
        if path in self._known:
            return self._known[path]
        if path in chain:
            self._cycle(path, chain)
            return UNKNOWN
        if path not in self._leaves or len(chain) > MAX_CHAIN:
            return UNKNOWN
        found = self._plain(self._leaves[path].value, path, (*chain, path))
        # A value cut short by the length of the chain that led here may be known when asked for by itself.
        if found is not UNKNOWN or not chain:
            self._known[path] = found
        return found

    def _cycle(self, path: str, chain: tuple[str, ...]) -> None:
        loop = chain[chain.index(path) :]
        self._known.update(dict.fromkeys(loop, UNKNOWN))
        first = min(loop)
        span = self._leaves[first].span
        text = " -> ".join([*loop[:6], *(["..."] if len(loop) > 6 else []), path])
        message = f"interpolations form a cycle ({text}); give one of them a value"
        self.problems.append(Problem("syntax-error", span.path, span.line, span.column, message))

    def _plain(self, value: object, path: str, chain: tuple[str, ...]) -> object:
        if isinstance(value, str):
            return self._text(value, path, chain)
        if isinstance(value, list):
            items = self._all(value, path, chain)
            return UNKNOWN if items is None else items
        if isinstance(value, dict):
            items = self._all(list(value.values()), path, chain)
            return UNKNOWN if items is None else dict(zip(value, items, strict=True))
        return value

    def _all(self, values: list[object], path: str, chain: tuple[str, ...]) -> list[object] | None:
        """The values of a collection; None at the first unknown one, since going on would repeat work without bound."""
        items: list[object] = []
        for value in values:
            found = self._plain(value, path, chain)
            # A collection that is pulled into another one doubles with each step.
            if found is UNKNOWN or (isinstance(value, str) and isinstance(found, list | dict)):
                return None
            items.append(found)
        return items

    def _text(self, text: str, path: str, chain: tuple[str, ...]) -> object:
        if text == "???":
            return UNKNOWN
        if "${" not in text:
            return text
        whole = _REFERENCE.fullmatch(text)
        if whole is not None:
            return self.value(_target(whole[1], path), chain)
        # What is left of ``${`` is a nested or escaped reference.
        if "${" in _REFERENCE.sub("", text) or "\\${" in text:
            return UNKNOWN
        pieces: list[str] = []
        end = 0
        for match in _REFERENCE.finditer(text):
            value = self.value(_target(match[1], path), chain)
            if not isinstance(value, str | int | float | None):
                return UNKNOWN
            pieces += [text[end : match.start()], str(value)]
            end = match.end()
        result = "".join([*pieces, text[end:]])
        return UNKNOWN if len(result) > MAX_TEXT else result


def _target(reference: str, path: str) -> str:
    """The absolute path of ``a.b``, ``a[b]`` or, counted from the section that holds ``path``, ``.b`` and ``..b``."""
    name = _BRACKETS.sub(r".\1", reference.strip())
    rest = name.lstrip(".")
    dots = len(name) - len(rest)
    if not dots:
        return rest
    parents = path.split(".")[:-dots]
    return ".".join([*parents, rest])
