from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from recipe_lint.report.progress import progress
from recipe_lint.report.stream import ColorChoice, terminal_width, want_color, write


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Failing(io.StringIO):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def write(self, text: str) -> int:
        raise OSError(self.number, f"{os.strerror(self.number)}: {len(text)} characters")


def run_script(script: str, unbuffered: str = "") -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": unbuffered}
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(("size", "times"), [(0, 100_000), (400_000, 1)])
def test_closed_pipe_ends_quietly(size: int, times: int, unbuffered: str) -> None:
    script = (
        "import sys\n"
        "from recipe_lint.report.stream import write\n"
        "write('first\\n', sys.stdout)\n"
        f"ok = all(write('more\\n' * {size} + 'x\\n', sys.stdout) for _ in range({times}))\n"
        "print('left over')\n"
        "sys.exit(0 if ok else 7)\n"
    )
    with run_script(script, unbuffered) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline().strip() == b"first"
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(60) == 7


def test_write_returns_true_and_flushes() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
    assert write("héllo\n", stream)
    assert raw.getvalue() == "héllo\n".encode()
    long = "".join(f"{number} é\n" for number in range(9999))
    assert write(long, stream)
    assert raw.getvalue() == f"héllo\n{long}".encode()


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("ascii", b"\\u2014 \\U0001f680 \\udc80 \\xe9"),
        ("latin-1", b"\\u2014 \\U0001f680 \\udc80 \xe9"),
        ("cp1252", b"\x97 \\U0001f680 \\udc80 \xe9"),
        ("utf-8", "— 🚀 \\udc80 é".encode()),
        ("utf-16-le", "— 🚀 \\udc80 é".encode("utf-16-le")),
    ],
)
def test_an_encoding_that_lacks_a_character(encoding: str, expected: bytes) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    assert write("— 🚀 \udc80 é", stream)
    assert raw.getvalue() == expected


def test_a_closed_stream_has_no_reader() -> None:
    stream = io.StringIO()
    stream.close()
    assert not write("text", stream)
    assert not want_color(stream, "auto", {})


def test_a_full_disk_is_raised() -> None:
    with pytest.raises(OSError, match="No space left"):
        write("text", Failing(errno.ENOSPC))


def test_closed_pipe_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        write("text", Failing(errno.EINVAL))
    monkeypatch.setattr("recipe_lint.report.stream.os", SimpleNamespace(name="nt"))
    assert not write("text", Failing(errno.EINVAL))


@pytest.mark.parametrize(
    ("choice", "env", "on_terminal", "off_terminal"),
    [
        ("always", {"NO_COLOR": "1"}, True, True),
        ("never", {"FORCE_COLOR": "1"}, False, False),
        ("auto", {}, True, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ("auto", {"NO_COLOR": ""}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, True, True),
        ("auto", {"FORCE_COLOR": ""}, True, False),
        ("auto", {"CLICOLOR_FORCE": "1"}, True, True),
        ("auto", {"CLICOLOR_FORCE": "0"}, True, False),
        ("auto", {"TERM": "dumb"}, False, False),
        ("auto", {"TERM": "dumb", "FORCE_COLOR": "1"}, True, True),
        ("auto", {"TERM": "xterm"}, True, False),
    ],
)
def test_want_color(choice: ColorChoice, env: Mapping[str, str], on_terminal: bool, off_terminal: bool) -> None:
    assert want_color(Terminal(), choice, env) is on_terminal
    assert want_color(io.StringIO(), choice, env) is off_terminal


@pytest.mark.parametrize(("columns", "expected"), [(0, 100), (10, 40), (120, 120), (999, 200)])
def test_terminal_width(columns: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {2: os.terminal_size((columns, 24))}
    monkeypatch.setattr("recipe_lint.report.stream.os", SimpleNamespace(get_terminal_size=sizes.__getitem__))
    stream = Terminal()
    monkeypatch.setattr(stream, "fileno", lambda: 2)
    assert terminal_width(stream) == expected


def test_terminal_width_without_a_terminal() -> None:
    assert terminal_width(io.StringIO()) == 100
    assert terminal_width(Terminal()) == 100


@pytest.mark.parametrize(
    ("stream", "total", "enabled"),
    [(io.StringIO(), 1000, True), (Terminal(), 1000, False), (Terminal(), 25, True), (Terminal(), 0, True)],
)
def test_no_progress(stream: io.StringIO, total: int, enabled: bool) -> None:
    with progress(total, stream, enabled) as step:
        step("recipes/x")
    assert stream.getvalue() == ""


def test_progress_is_shown_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recipe_lint.report.progress._DELAY_SECONDS", 0)
    stream = Terminal()
    with progress(200, stream, True) as step:
        for number in range(200):
            step(f"recipes/\x1b{number}")
    text = stream.getvalue()
    assert "200" in text
    assert "\x1b" not in text.replace("\x1b[A", "")
    assert text.endswith("\r")


def test_progress_lets_errors_through() -> None:
    with pytest.raises(KeyError), progress(200, Terminal(), True):
        raise KeyError("x")


def test_progress_survives_a_lost_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recipe_lint.report.progress._DELAY_SECONDS", 1e-9)
    stream = Failing(errno.EIO)
    monkeypatch.setattr(stream, "isatty", lambda: True)
    with progress(200, stream, True) as step:
        for _ in range(200):
            step("recipes/x")


def test_tqdm_is_not_imported_for_short_runs() -> None:
    script = (
        "import sys\n"
        "from recipe_lint.report.progress import progress\n"
        "with progress(1000, sys.stderr, True) as step: step('x')\n"
        "sys.exit('tqdm' in sys.modules)\n"
    )
    with run_script(script) as child:
        _, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (0, b"")
