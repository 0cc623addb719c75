"""Standard output and standard error of the program; imports nothing heavy."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TextIO

from recipe_lint.errors import UsageError
from recipe_lint.report.stream import write


def open_missing_streams() -> None:
    """Give a program that was started with closed streams places to write to."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - lives as long as the program
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def emit(text: str, *, data: bool = False) -> None:
    """Write to standard output; a reader who has gone away is no error, a full disk is.

    ``data`` is for machines: always UTF-8 and the same line ends on every system.
    """
    stream = sys.stdout
    if data and isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", newline="\n")
    try:
        write(text, stream)
    except OSError as error:
        discard(stream)
        raise UsageError(f"cannot write the output: {(error.strerror or str(error)).lower()}") from error


def note(text: str) -> None:
    """Write one line to standard error."""
    from recipe_lint.report.text import escape  # noqa: PLC0415 - a clean run has nothing to say

    try:
        write(f"{escape(text)}\n", sys.stderr)
    except OSError:
        discard(sys.stderr)


def complain(text: str) -> None:
    """Write one line to standard error in the name of the program."""
    note(f"recipe-lint: {text}")


def discard(stream: TextIO) -> None:
    """Let what is buffered in a stream go nowhere: the interpreter flushes at exit, and would fail again."""
    with suppress(OSError, ValueError):
        target = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, target)
        finally:
            os.close(nowhere)
