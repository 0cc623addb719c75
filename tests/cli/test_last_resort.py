"""What the program does when something goes wrong that is nobody's fault outside."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Sequence

import pytest

from recipe_lint.__main__ import run
from recipe_lint.cli import parser


def fail_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def main(arguments: Sequence[str]) -> int:
        raise error

    monkeypatch.setattr(parser, "main", main)
    monkeypatch.setattr(sys, "argv", ["recipe-lint"])


def test_an_unexpected_exception_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RECIPE_LINT_TRACEBACK", raising=False)
    fail_with(ValueError("one\ntwo"), monkeypatch)
    assert run() == 2
    err = capsys.readouterr().err
    assert err.startswith("recipe-lint: internal error: ValueError: one two (cli/test_last_resort.py:")
    assert err.endswith("; please report it\n")
    assert err.count("\n") == 1


def test_the_traceback_is_shown_on_request(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RECIPE_LINT_TRACEBACK", "1")
    fail_with(ValueError("one"), monkeypatch)
    assert run() == 2
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_an_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fail_with(KeyboardInterrupt(), monkeypatch)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert run() == 130
    assert capsys.readouterr().err == ""


class FullDisk(io.StringIO):
    def write(self, _text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["rules"], ["check", "--help"]])
def test_a_full_disk_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["recipe-lint", *arguments])
    monkeypatch.setattr(sys, "stdout", FullDisk())
    assert run() == 2
    assert capsys.readouterr().err == "recipe-lint: error: cannot write the output: no space left on device\n"


def test_missing_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["recipe-lint", "--version"])
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert run() == 0
