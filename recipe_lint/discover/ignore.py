"""Ignore files of git: which of them hold for a folder, and what they say about an entry of it."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import cached_property
from pathlib import Path

from recipe_lint.config.paths import Patterns
from recipe_lint.read.source import Problem, read_bytes


class IgnoreFile:
    """One ignore file; its patterns are relative to ``base``, a folder with a closing separator."""

    def __init__(self, path: str, base: str) -> None:
        self._path = path
        self._base = base if base.endswith(os.sep) else base + os.sep

    def says(self, path: str, is_folder: bool) -> bool | None:
        """True: ignore the path. False: a negation takes it back. None: no pattern matches."""
        relative = path[len(self._base) :]
        return self._patterns.says(relative + "/" if is_folder else relative)

    @cached_property
    def _patterns(self) -> Patterns:
        data = read_bytes(Path(self._path), self._path)
        if isinstance(data, Problem):
            return Patterns(())
        lines = [line.removesuffix("\r") for line in os.fsdecode(data.removeprefix(b"\xef\xbb\xbf")).split("\n")]
        return Patterns(line for line in lines if line.strip() and not line.startswith("#"))


# The files that hold for a folder, the least important first.
Stack = tuple[IgnoreFile, ...]


def enter(stack: Stack, folder: str, names: Collection[str]) -> Stack:
    """The ignore files for the entries of ``folder``, whose entry names are given; ``stack`` is its parent's."""
    if ".git" in names:
        # A repository inside another one (a submodule, a worktree) has rules of its own.
        exclude = _info_exclude(os.path.join(folder, ".git"))  # noqa: PTH118
        stack = (IgnoreFile(exclude, folder),)
    if ".gitignore" in names:
        stack = (*stack, IgnoreFile(os.path.join(folder, ".gitignore"), folder))  # noqa: PTH118
    return stack


def is_ignored(stack: Stack, path: str, is_folder: bool) -> bool:
    """Whether the last word about the path itself is to ignore it."""
    for file in reversed(stack):
        verdict = file.says(path, is_folder)
        if verdict is not None:
            return verdict
    return False


def stack_above(folder: str, top: str) -> Stack:
    """The ignore files from ``top`` down to the parent of ``folder``."""
    stack: Stack = ()
    current = top
    for name in Path(folder).relative_to(top).parts:
        present = [mark for mark in (".git", ".gitignore") if os.path.lexists(os.path.join(current, mark))]  # noqa: PTH118
        stack = enter(stack, current, present)
        current = os.path.join(current, name)  # noqa: PTH118
    return stack


def _info_exclude(git: str) -> str:
    """``info/exclude`` of a repository; ``.git`` may be a file that points to the folder."""
    folder = Path(git)
    if folder.is_file():
        data = read_bytes(folder, git)
        target = "" if isinstance(data, Problem) else os.fsdecode(data).removeprefix("gitdir:").strip()
        folder = folder.parent / target
        common = read_bytes(folder / "commondir", "")
        if not isinstance(common, Problem):
            folder = folder / os.fsdecode(common).strip()
    return str(folder / "info" / "exclude")
