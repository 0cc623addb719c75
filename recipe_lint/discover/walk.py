"""Find the files to read below the paths that a user names."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from recipe_lint.config.load import FILE_NAMES, Loaded, Resolver
from recipe_lint.config.paths import PathMatcher, display_path
from recipe_lint.discover.ignore import Stack, enter, is_ignored, stack_above
from recipe_lint.errors import UsageError
from recipe_lint.read.source import Problem

# ruff: noqa: PTH100, PTH110, PTH114, PTH116, PTH118, PTH121 - os.scandir and strings are several times as fast as paths

Kind = Literal["python", "yaml"]


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to read: its absolute path (links are not resolved), and whether the user named it."""

    path: Path
    explicit: bool
    kind: Kind = "python"


@dataclass(frozen=True, slots=True)
class Walk:
    """What was found, in the order of the paths, and the folders that could not be read."""

    files: tuple[FoundFile, ...]
    problems: tuple[Problem, ...]


def find_python_files(paths: Iterable[Path | str], resolver: Resolver, *, force_exclude: bool = False) -> Walk:
    """Collect the Python files in the named files and folders, each file once.

    A named file counts whatever its ending and whatever excludes say, unless ``force_exclude``. A link is followed
    where it stays inside the named folder. A path that does not exist raises ``UsageError``.
    """
    search = _Search(resolver, force_exclude)
    for path in paths:
        search.add(os.fspath(path))
    files = sorted((candidate.file for candidate in search.found.values()), key=lambda file: str(file.path))
    problems = sorted(set(search.problems), key=lambda problem: (problem.display, problem.message))
    return Walk(tuple(files), tuple(problems))


def project_root(path: Path) -> Path:
    """The nearest folder at or above ``path`` that holds a repository or a configuration, else its own folder."""
    absolute = Path(_absolute(os.fspath(path)))
    folder = absolute if absolute.is_dir() else absolute.parent
    marks = (".git", *FILE_NAMES)
    for candidate in (folder, *folder.parents):
        if any(os.path.lexists(candidate / mark) for mark in marks):
            return candidate
    return folder


@dataclass(frozen=True, slots=True)
class _Candidate:
    file: FoundFile
    linked: bool

    @property
    def rank(self) -> tuple[bool, bool, str]:
        """Of several paths to one file the named one is kept, then the one without links."""
        return (not self.file.explicit, self.linked, str(self.file.path))


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to scan: ``real`` is its path without links, ``stack`` the ignore files above it."""

    path: str
    real: str
    stack: Stack
    linked: bool


@dataclass(frozen=True, slots=True)
class _Rules:
    """What decides about the entries of one folder."""

    excludes: PathMatcher
    gitignore: bool
    stack: Stack

    def drop(self, name: str, path: str, is_folder: bool) -> bool:
        if self.excludes.matches(name, path, is_folder):
            return True
        return self.gitignore and is_ignored(self.stack, path, is_folder)


class _Search:
    """All files found so far, by their real path."""

    def __init__(self, resolver: Resolver, force_exclude: bool) -> None:
        self._resolver = resolver
        self._force = force_exclude
        self._matchers: dict[tuple[Path | None, Path], PathMatcher] = {}
        self._real_folders: dict[str, str] = {}
        self.found: dict[str, _Candidate] = {}
        self.problems: list[Problem] = []

    def add(self, named: str) -> None:
        """Take in one path from the command line."""
        try:
            if not named:
                raise FileNotFoundError
            path = _absolute(named)
            mode = os.stat(path).st_mode
        except PermissionError as error:
            self._refuse(os.path.abspath(named), error)
            return
        except (OSError, ValueError) as error:
            raise UsageError(f"no such file or folder: {named}") from error
        is_folder = stat.S_ISDIR(mode)
        if self._force and self._is_excluded(path, is_folder):
            return
        if is_folder:
            _Tree(self, path).walk()
            return
        kind: Kind = "yaml" if path.lower().endswith((".yaml", ".yml")) else "python"
        self.keep(self._real(path), FoundFile(Path(path), True, kind), os.path.islink(path))

    def keep(self, real: str, file: FoundFile, linked: bool) -> None:
        """Note a file, unless a better path to it is known."""
        candidate = _Candidate(file, linked)
        known = self.found.get(real)
        if known is None or candidate.rank < known.rank:
            self.found[real] = candidate

    def rules(self, folder: str, stack: Stack) -> _Rules:
        """The rules for the entries of a folder."""
        loaded = self._resolver.for_folder(folder)
        return _Rules(self._matcher(loaded), loaded.settings.respect_gitignore, stack)

    def problem(self, path: str, error: OSError) -> None:
        """Note a folder that cannot be listed."""
        self._refuse(path, error)

    def _refuse(self, path: str, error: OSError) -> None:
        reason = (error.strerror or str(error)).lower()
        text = f"cannot be read ({reason}); check its permissions"
        self.problems.append(Problem("unreadable-file", display_path(Path(path)), 1, 1, text))

    def _matcher(self, loaded: Loaded) -> PathMatcher:
        key = (loaded.file, loaded.root)
        if key not in self._matchers:
            settings = loaded.settings
            self._matchers[key] = PathMatcher((*settings.exclude, *settings.extend_exclude), loaded.root)
        return self._matchers[key]

    def _is_excluded(self, path: str, is_folder: bool) -> bool:
        """Whether a named path, or a folder above it inside the project, is excluded."""
        loaded = self._resolver.for_path(Path(path))
        top = loaded.root if Path(path).is_relative_to(loaded.root) else project_root(Path(path))
        matcher = self._matcher(loaded)
        current = Path(path)
        while current not in {top, current.parent}:
            if matcher.matches(current.name, str(current), is_folder):
                return True
            current, is_folder = current.parent, True
        return False

    def _real(self, path: str) -> str:
        if os.path.islink(path):
            return os.path.realpath(path)
        folder, name = os.path.split(path)
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        return os.path.join(self._real_folders[folder], name)


class _Tree:
    """The walk below one named folder. Links wait until all real folders are done, so that real paths win."""

    def __init__(self, search: _Search, top: str) -> None:
        self._search = search
        self._real_top = os.path.realpath(top)
        self._seen: set[str] = set()
        self._folders = [_Folder(top, self._real_top, stack_above(top, _ignore_top(top)), False)]
        self._links: list[tuple[str, str, _Rules]] = []

    def walk(self) -> None:
        """Scan all folders, then follow the links, until neither is left."""
        while self._folders or self._links:
            while self._folders:
                self._scan(self._folders.pop())
            links, self._links = sorted(self._links, key=lambda link: link[1]), []
            for name, path, rules in links:
                self._follow(name, path, rules)
                while self._folders:
                    self._scan(self._folders.pop())

    def _scan(self, folder: _Folder) -> None:
        if folder.real in self._seen:
            return
        self._seen.add(folder.real)
        try:
            with os.scandir(folder.path) as listing:
                entries = list(listing)
        except OSError as error:
            self._search.problem(folder.path, error)
            return
        stack = enter(folder.stack, folder.path, {entry.name for entry in entries})
        rules = self._search.rules(folder.path, stack)
        for entry in entries:
            try:
                self._entry(entry, folder, rules)
            except OSError as error:
                self._search.problem(entry.path, error)

    def _entry(self, entry: os.DirEntry[str], folder: _Folder, rules: _Rules) -> None:
        name, path = entry.name, entry.path
        if entry.is_symlink():
            self._links.append((name, path, rules))
        elif entry.is_dir(follow_symlinks=False):
            if not rules.drop(name, path, True):
                self._folders.append(_Folder(path, os.path.join(folder.real, name), rules.stack, folder.linked))
        elif name.endswith(".py") and entry.is_file(follow_symlinks=False) and not rules.drop(name, path, False):
            self._search.keep(os.path.join(folder.real, name), FoundFile(Path(path), False), folder.linked)

    def _follow(self, name: str, path: str, rules: _Rules) -> None:
        """Follow a link that stays inside the named folder and leads to something not yet seen."""
        try:
            real = os.path.realpath(path)
            mode = os.stat(path).st_mode
        except OSError:
            return  # it leads nowhere, or round in a circle
        if not Path(real).is_relative_to(self._real_top) or real in self._seen:
            return
        if stat.S_ISDIR(mode) and not rules.drop(name, path, True):
            self._folders.append(_Folder(path, real, rules.stack, True))
        elif stat.S_ISREG(mode) and name.endswith(".py") and not rules.drop(name, path, False):
            self._search.keep(real, FoundFile(Path(path), False), True)


def _ignore_top(folder: str) -> str:
    """Where ignore files begin to hold: the repository's folder, else the project's."""
    path = Path(folder)
    for candidate in (path, *path.parents):
        if os.path.lexists(candidate / ".git"):
            return str(candidate)
    return str(project_root(path))


def _absolute(path: str) -> str:
    """An absolute path without ``.`` and ``..``, which keeps links where that leads to the same file."""
    absolute = os.path.abspath(path)
    if ".." in Path(path).parts and not (os.path.exists(absolute) and os.path.samefile(absolute, path)):
        return os.path.realpath(path)
    return absolute
