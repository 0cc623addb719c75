"""Find, read and merge configuration files; every mistake in them is one ``UsageError`` of one line."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from recipe_lint.config.locate import Keys, dotted, line_of
from recipe_lint.config.paths import compile_globs, display_path, rebase
from recipe_lint.config.select import rank
from recipe_lint.config.settings import CliOverrides, Settings
from recipe_lint.errors import UsageError
from recipe_lint.read.source import Problem, read_bytes

FILE_NAMES = ("recipe-lint.toml", ".recipe-lint.toml", "pyproject.toml")


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, the folder their globs are relative to, and the file they come from (None: defaults)."""

    settings: Settings
    root: Path
    file: Path | None


@dataclass(frozen=True, slots=True)
class _File:
    """One configuration file as read: the settings it names, not yet merged with what it extends."""

    path: Path
    text: str
    section: Keys
    table: dict[str, Any]


class Resolver:
    """Gives each path the settings of the closest configuration file above it, and reads each file once.

    One resolver serves one run (or one state of an editor's workspace): files that change later are not read again.
    """

    def __init__(
        self, explicit: Path | None = None, isolated: bool = False, overrides: CliOverrides | None = None
    ) -> None:
        """``explicit`` is the one file to use for all paths; ``isolated`` uses no file at all."""
        if explicit is not None and isolated:
            raise UsageError("--config and --isolated exclude each other; give one of them")
        self._overrides = overrides or CliOverrides()
        self._cwd = Path.cwd()
        self._defaults = self._finish({}, self._cwd, None)
        self._by_folder: dict[str, Loaded] = {}
        self._fixed: Loaded | None = self._defaults if isolated else None
        if explicit is not None:
            self._fixed = self._load(_read(Path(os.path.abspath(explicit)), "--config: "))  # noqa: PTH100 - keeps links

    def for_path(self, path: Path) -> Loaded:
        """Settings for a file or a folder."""
        if self._fixed is not None:
            return self._fixed
        absolute = os.path.abspath(path)  # noqa: PTH100 - without resolving links
        return self.for_folder(absolute if os.path.isdir(absolute) else os.path.dirname(absolute))  # noqa: PTH112, PTH120

    def for_folder(self, folder: str) -> Loaded:
        """Settings for the files in an absolute folder."""
        if self._fixed is not None:
            return self._fixed
        passed = []
        while folder not in self._by_folder:
            passed.append(folder)
            file = _configuration_in(folder)
            parent = os.path.dirname(folder)  # noqa: PTH120
            if file is not None:
                self._by_folder[folder] = self._load(file)
            elif parent == folder:
                self._by_folder[folder] = self._defaults
            else:
                folder = parent
        loaded = self._by_folder[folder]
        self._by_folder.update(dict.fromkeys(passed, loaded))
        return loaded

    def _load(self, file: _File) -> Loaded:
        root = file.path.parent
        merged: dict[str, Any] = {}
        for part in reversed(_chain(file)):
            merged = _merge(merged, _rebased(part.table, part.path.parent, root))
        return self._finish(merged, root, file.path)

    def _finish(self, table: dict[str, Any], root: Path, file: Path | None) -> Loaded:
        settings = msgspec.convert(table, Settings)
        return Loaded(_override(settings, self._overrides, self._cwd, root), root, file)


def load_for(
    path: Path, explicit: Path | None = None, isolated: bool = False, overrides: CliOverrides | None = None
) -> Loaded:
    """Settings for one path; see ``Resolver`` for many."""
    return Resolver(explicit, isolated, overrides).for_path(path)


def check_codes(settings: Settings, known: Mapping[str, str], file: Path | None) -> None:
    """Raise where a selector means no rule. ``known`` maps codes to names; ``file`` is where the settings come from."""
    for keys, selectors in _selectors(settings):
        for selector in selectors:
            if not any(rank(selector, code, name) >= 0 for code, name in known.items()):
                _refuse_selector(selector, keys, known, file)


def _selectors(settings: Settings) -> Iterator[tuple[Keys, Iterable[str]]]:
    yield ("select",), settings.select
    yield ("extend-select",), settings.extend_select
    yield ("ignore",), settings.ignore
    yield ("extend-ignore",), settings.extend_ignore
    yield ("severity",), settings.severity
    for glob, selectors in settings.per_file_ignores.items():
        yield ("per-file-ignores", glob), selectors


def _refuse_selector(selector: str, keys: Keys, known: Mapping[str, str], file: Path | None) -> None:
    from recipe_lint.config.explain import hint  # noqa: PLC0415 - only to tell a mistake

    close = hint(selector, [*known, *known.values()]) or "; give a code, a prefix of codes, a name or ALL"
    for part in _chain(_read(file, "")) if file else ():
        own = part.table.get(keys[0], ())
        listed = own if len(keys) == 1 else [item for entry in own.values() for item in entry] if own else ()
        if selector in listed:
            # The glob of another file may have been rebased, so the line is looked up by the selector.
            below = (selector,) if keys == ("severity",) else ()
            place = _place(part, (*(keys if len(keys) == 1 or keys[-1] in own else keys[:1]), *below), selector)
            raise UsageError(f'{place}: unknown rule "{selector}" in {dotted(keys)}{close}')
    raise UsageError(f'--{keys[0]}: unknown rule "{selector}"{close}')


def _configuration_in(folder: str) -> _File | None:
    for name in FILE_NAMES:
        path = os.path.join(folder, name)  # noqa: PTH118 - this runs for every folder of a tree
        if os.path.isfile(path):  # noqa: PTH113
            file = _read_if_meant(Path(path), "")
            if file is not None:
                return file
    return None


def _chain(file: _File) -> list[_File]:
    """The file and those it extends, the closest first."""
    chain = [file]
    seen = [os.path.realpath(file.path)]
    while (extend := chain[-1].table.get("extend")) is not None:
        last = chain[-1]
        where = f"{_place(last, ('extend',))}: extend: "
        target = Path(os.path.normpath(last.path.parent / os.path.expanduser(extend)))  # noqa: PTH111 - never raises
        chain.append(_read(target, where))
        if os.path.realpath(target) in seen:
            names = " -> ".join(display_path(part.path) for part in chain)
            raise UsageError(f"{where}the files extend each other in a circle: {names}")
        seen.append(os.path.realpath(target))
    return chain


def _read(path: Path, where: str) -> _File:
    """Read and check a file that was named; ``where`` says by what, for messages."""
    file = _read_if_meant(path, where)
    if file is None:
        raise UsageError(f"{where}{display_path(path)} has no [tool.recipe-lint] section; add one")
    return file


def _read_if_meant(path: Path, where: str) -> _File | None:
    """Read and check a file; None for a ``pyproject.toml`` that does not speak of this tool."""
    shown = display_path(path)
    if not path.exists():
        raise UsageError(f"{where}no such file: {shown}")
    data = read_bytes(path, shown)
    if isinstance(data, Problem):
        raise UsageError(f"{where}{shown}: {data.message}")
    sectioned = path.name == "pyproject.toml"
    if sectioned and b"recipe-lint" not in data:
        return None
    text, table = _parse(data, shown)
    if not sectioned:
        return _checked(_File(path, text, (), table))
    section = table.get("tool", {}).get("recipe-lint") if isinstance(table.get("tool", {}), dict) else None
    if section is None:
        return None
    if not isinstance(section, dict):
        raise UsageError(f"{shown}: tool.recipe-lint is not a table; write [tool.recipe-lint]")
    return _checked(_File(path, text, ("tool", "recipe-lint"), section))


def _parse(data: bytes, shown: str) -> tuple[str, dict[str, Any]]:
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
        return text, tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{shown}:{line}: byte 0x{data[error.start]:02x} is not UTF-8; save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        reason, _, rest = str(error).partition(" (at ")
        found = re.match(r"line (\d+), column (\d+)", rest)
        place = f"{found[1]}:{found[2]}" if found else str(max(len(text.splitlines()), 1))
        raise UsageError(f"{shown}:{place}: not valid TOML: {reason[:1].lower()}{reason[1:]}") from error
    except RecursionError as error:
        raise UsageError(f"{shown}: not valid TOML: nested too deeply") from error


def _checked(file: _File) -> _File:
    try:
        msgspec.convert(file.table, Settings)
    except msgspec.ValidationError as error:
        from recipe_lint.config.explain import first_fault  # noqa: PLC0415 - only to tell a mistake

        fault = first_fault(file.table, file.section)
        if fault is None:
            raise UsageError(f"{display_path(file.path)}: {error}") from error
        raise UsageError(f"{_place(file, fault.keys[len(file.section) :], fault.value)}: {fault.text}") from error
    for key in ("exclude", "extend-exclude", "per-file-ignores"):
        for glob in file.table.get(key, ()):
            _check_glob(glob, key, file)
    return file


def _check_glob(glob: str, key: str, file: _File) -> None:
    if "[" not in glob and "\\" not in glob:
        return  # nothing else can be wrong, and without a look at it the run may need no pathspec
    try:
        compile_globs([glob], file.path.parent)
    except UsageError as error:
        below = (glob,) if key == "per-file-ignores" else ()
        raise UsageError(f"{_place(file, (key, *below), glob)}: {key}: {error}") from error


def _place(file: _File, keys: Keys, value: object = None) -> str:
    """``file:line`` of a key, or of a value in it."""
    line = line_of(file.text, (*file.section, *keys), value)
    return f"{display_path(file.path)}:{line}" if line else display_path(file.path)


def _merge(base: dict[str, Any], child: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in child.items():
        old = base.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = _merge(old, value)
        elif key.startswith("extend-") and isinstance(old, list) and isinstance(value, list):
            merged[key] = [*old, *value]
        else:
            merged[key] = value
    return merged


def _rebased(table: dict[str, Any], base: Path, root: Path) -> dict[str, Any]:
    """The table with globs that mean below ``root`` what they meant below ``base``."""
    moved = dict(table)
    for key in ("exclude", "extend-exclude"):
        if key in table:
            moved[key] = [rebase(glob, base, root) for glob in table[key]]
    if "per-file-ignores" in table:
        moved["per-file-ignores"] = {rebase(glob, base, root): v for glob, v in table["per-file-ignores"].items()}
    return moved


def _override(settings: Settings, cli: CliOverrides, cwd: Path, root: Path) -> Settings:
    """The settings with the command line on top of them."""
    changes: dict[str, Any] = {
        key: value
        for key in ("respect_gitignore", "fail_on", "require_recipes", "show_unknown", "preview", "output_format")
        if (value := getattr(cli, key)) is not None
    }
    if cli.exclude is not None:
        changes["exclude"] = tuple(rebase(glob, cwd, root) for glob in cli.exclude)
    if cli.extend_exclude:
        more = (rebase(glob, cwd, root) for glob in cli.extend_exclude)
        changes["extend_exclude"] = (*settings.extend_exclude, *more)
    if cli.per_file_ignores:
        ignores = dict(settings.per_file_ignores)
        for glob, selectors in cli.per_file_ignores.items():
            glob = rebase(glob, cwd, root)  # noqa: PLW2901
            ignores[glob] = (*ignores.get(glob, ()), *selectors)
        changes["per_file_ignores"] = ignores
    return msgspec.structs.replace(settings, **changes, **_override_rules(settings, cli))


def _override_rules(settings: Settings, cli: CliOverrides) -> dict[str, Any]:
    """A ``--select`` starts afresh; ``--ignore`` and ``--extend-select`` beat what the file says about their rules."""
    fresh = cli.select is not None
    select = cli.select if cli.select is not None else _without(settings.select, cli.ignore)
    extend_select = () if fresh else _without(settings.extend_select, cli.ignore)
    return {
        "select": select,
        "extend_select": (*extend_select, *cli.extend_select),
        "ignore": (*(() if fresh else _without(settings.ignore, cli.extend_select)), *cli.ignore),
        "extend_ignore": () if fresh else _without(settings.extend_ignore, cli.extend_select),
    }


def _without(selectors: tuple[str, ...], prefixes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(item for item in selectors if not any(p == "ALL" or item.startswith(p) for p in prefixes))
