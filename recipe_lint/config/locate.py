"""Find the line of a key or a value in a TOML text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

Keys = tuple[str, ...]


def dotted(keys: Keys) -> str:
    """Keys as TOML writes them: joined by dots, quoted where they are not bare."""
    return ".".join(key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else f'"{key}"' for key in keys)


def line_of(text: str, keys: Keys, value: object = None) -> int | None:
    """The 1-based line that holds a key (or, in it, a value) of a TOML text that parses."""
    prefix: Keys = ()
    for number, lines, table in _statements(text):
        if lines[0].lstrip().startswith("["):
            prefix = _header(table)
            if prefix[: len(keys)] == keys:
                return number
        elif keys[: len(prefix)] == prefix and _holds(table, keys[len(prefix) :]):
            return number + _offset(lines, keys, value)
    return None


def _statements(text: str) -> Iterator[tuple[int, Sequence[str], dict[str, Any]]]:
    """Cut a TOML text into its headers and ``key = value`` statements, which may take several lines."""
    lines = text.replace("\r\n", "\n").split("\n")
    start = 0
    while start < len(lines):
        for end in range(start + 1, len(lines) + 1):
            try:
                table = tomllib.loads("\n".join(lines[start:end]))
            except tomllib.TOMLDecodeError:
                continue
            if table:
                yield start + 1, lines[start:end], table
            start = end
            break
        else:
            return


def _header(table: Any) -> Keys:
    keys: list[str] = []
    while table:
        if isinstance(table, list):
            table = table[0]
            continue
        key = next(iter(table))
        keys.append(key)
        table = table[key]
    return tuple(keys)


def _holds(table: Any, keys: Keys) -> bool:
    for key in keys:
        if not isinstance(table, dict) or key not in table:
            return False
        table = table[key]
    return bool(keys)


def _offset(lines: Sequence[str], keys: Keys, value: object) -> int:
    scalar = isinstance(value, str | int | float) and not isinstance(value, bool)
    word = str(value) if scalar else keys[-1]
    pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    return next((index for index, line in enumerate(lines) if pattern.search(line)), 0)
