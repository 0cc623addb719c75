"""Text for a terminal: escaping, display widths, wrapping and colour."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Literal

from termcolor import colored

from recipe_lint.lint.finding import Severity

Style = Literal["error", "warning", "info", "good", "gutter", "strong", "dim"]

TAB = "    "

# Categories that steer a terminal, break a line, reorder text or cannot be encoded.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Emoji sequences and some scripts need the two joiners to read right.
_JOINERS = frozenset("\u200c\u200d")
_SHORT_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def escape(text: str) -> str:
    """``text`` with every character that could steer a terminal or break the line written as a backslash escape."""
    if text.isprintable():
        return text
    return "".join(map(_escape_character, text))


def _escape_character(char: str) -> str:
    if char.isprintable() or char in _JOINERS or unicodedata.category(char) not in _UNSAFE:
        return char
    if char in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[char]
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def cell(char: str) -> str:
    """How one character of a source line is shown: tabs expanded, unsafe characters escaped."""
    return TAB if char == "\t" else escape(char)


def one_line(text: str) -> str:
    """``text`` on one line: runs of white space become one blank, unsafe characters are escaped."""
    return escape(" ".join(text.split()))


def display_width(text: str) -> int:
    """How many terminal columns already escaped ``text`` takes."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(char: str) -> int:
    # Hangul vowels and finals join the consonant before them, though Unicode does not class them as marks.
    if unicodedata.category(char) in {"Mn", "Me"} or char in _JOINERS or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def wrap(text: str, width: int, *, break_words: bool = False) -> list[str]:
    """Rows of ``text``, escaped, at most ``width`` columns wide.

    Line ends in ``text`` are kept, and an indented line stands as written, since it is a piece of code. A word that is
    wider than a row stays whole, so that paths can be copied, unless ``break_words`` is set or it holds wide
    characters, which are written without blanks between words.
    """
    rows: list[str] = []
    for line in text.strip().replace("\r\n", "\n").split("\n"):
        if line[:1] in {" ", "\t"}:
            rows.append(escape(line.expandtabs(len(TAB))).rstrip())
        else:
            rows.extend(_wrap_line(line, width, break_words))
    return rows


def _wrap_line(line: str, width: int, break_words: bool) -> list[str]:
    rows: list[str] = []
    row = ""
    for piece in _pieces(map(escape, line.split()), width, break_words):
        joined = f"{row} {piece}" if row else piece
        if row and display_width(joined) > width:
            rows.append(row)
            row = piece
        else:
            row = joined
    return [*rows, row]


def _pieces(words: Iterable[str], width: int, break_words: bool) -> Iterable[str]:
    for word in words:
        columns = display_width(word)
        if columns <= width or not (break_words or columns > len(word)):
            yield word
            continue
        piece, used = "", 0
        for char in word:
            columns = _character_width(char)
            if used + columns > width and piece:
                yield piece
                piece, used = "", 0
            piece, used = piece + char, used + columns
        yield piece


def paint(text: str, style: Style, color: bool) -> str:
    """``text`` in a style when ``color`` is set, else as it is; the environment has no say."""
    if not color or not text:
        return text
    name: str | None
    match style:
        case "error":
            name = "red"
        case "warning":
            name = "yellow"
        case "info":
            name = "cyan"
        case "good":
            name = "green"
        case "gutter":
            name = "blue"
        case "strong" | "dim":
            name = None
    return colored(text, name, attrs=["dark" if style == "dim" else "bold"], force_color=True)


def severity_style(severity: Severity) -> Style:
    """The style of a severity."""
    if severity is Severity.error:
        return "error"
    return "warning" if severity is Severity.warning else "info"
