"""How a report reaches a stream, and what the stream can show."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import Literal, TextIO

ColorChoice = Literal["auto", "always", "never"]

_DEFAULT_WIDTH = 100
_MIN_WIDTH = 40
_MAX_WIDTH = 200

# An unbuffered stream swallows the error of a large write that a closing pipe cut short; the next piece tells.
_PIECE = 8192


def write(text: str, stream: TextIO) -> bool:
    """Write and flush ``text``; False when nobody reads the stream any more.

    A closed pipe ends quietly, also when the interpreter flushes at exit. A character that the encoding of the stream
    lacks is written as a backslash escape. Any other failure, such as a full disk, is raised.
    """
    if stream.closed:
        return False
    try:
        for start in range(0, len(text), _PIECE):
            _write_piece(text[start : start + _PIECE], stream)
        stream.flush()
    except OSError as error:
        if not _is_closed_pipe(error):
            raise
        _discard(stream)
        return False
    return True


def _write_piece(text: str, stream: TextIO) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _is_closed_pipe(error: OSError) -> bool:
    # Windows reports a closed pipe as an invalid argument.
    return isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL)


def _discard(stream: TextIO) -> None:
    """Let what is still buffered go nowhere: the interpreter flushes at exit, and would complain about the pipe."""
    try:
        target = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
    except (OSError, ValueError):
        return
    try:
        os.dup2(nowhere, target)
    finally:
        os.close(nowhere)


def is_terminal(stream: TextIO) -> bool:
    """Whether a person sees the stream as it is written."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def want_color(stream: TextIO, choice: ColorChoice, env: Mapping[str, str]) -> bool:
    """Decide about colour: the choice, then ``NO_COLOR``, ``FORCE_COLOR`` and ``CLICOLOR_FORCE``, then the terminal."""
    if choice != "auto":
        return choice == "always"
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR") or env.get("CLICOLOR_FORCE", "0") not in {"", "0"}:
        return True
    return env.get("TERM") != "dumb" and is_terminal(stream)


def terminal_width(stream: TextIO) -> int:
    """Columns of the terminal behind a stream, within reason; a fixed width where there is none."""
    if not is_terminal(stream):
        return _DEFAULT_WIDTH
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    # Some terminals, such as those of CI runners, say zero.
    return min(max(columns, _MIN_WIDTH), _MAX_WIDTH) if columns > 0 else _DEFAULT_WIDTH
