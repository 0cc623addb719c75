"""One read of one file: its bytes, its text by PEP 263, or the one-line reason why there is none."""

from __future__ import annotations

import io
import os
import stat
import tokenize
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Problem:
    """Why a file cannot be judged. ``line`` and ``column`` are 1-based; ``kind`` names the rule that reports it."""

    kind: str
    display: str
    line: int
    column: int
    message: str


@dataclass(frozen=True)
class Source:
    """Decoded text of one file. ``display`` is the path that is shown; lines have no line ending."""

    path: Path
    display: str
    text: str

    @cached_property
    def lines(self) -> tuple[str, ...]:
        r"""Split at ``\n``, ``\r\n`` and ``\r`` alone, as the Python grammar does (a form feed ends no line)."""
        return tuple(self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def read_bytes(path: Path, display: str) -> bytes | Problem:
    """Read a regular file whole. Devices, pipes and oversized files are refused, so that a read always ends."""
    try:
        mode = os.stat(path)  # noqa: PTH116 - one call serves type and size
        if not stat.S_ISREG(mode.st_mode):
            return Problem("unreadable-file", display, 1, 1, "not a regular file; name a file or a folder")
        if mode.st_size > MAX_BYTES:
            size = mode.st_size // (1024 * 1024)
            return Problem("unreadable-file", display, 1, 1, f"{size} MiB is over the limit of 16 MiB; exclude it")
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return Problem("unreadable-file", display, 1, 1, f"cannot be read ({reason}); check its permissions")


def decode(data: bytes, path: Path, display: str) -> Source | Problem:
    """Decode Python source by its PEP 263 declaration or byte-order mark; UTF-8 where there is neither."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, LookupError) as error:
        return Problem("unreadable-file", display, 1, 1, f"its encoding is not known ({error}); save it as UTF-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not valid {encoding}; save the file as UTF-8"
        return Problem("unreadable-file", display, line, 1, message)
    return Source(path, display, text.removeprefix("\ufeff"))
