"""Hydra composition of one YAML file: its defaults list, packages and overrides."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path

from recipe_lint.read.imports import Project
from recipe_lint.read.source import Problem
from recipe_lint.read.span import Span
from recipe_lint.read.yaml_tree import YamlDocument, YamlMapping, YamlNode, YamlScalar, YamlSequence, load_yaml

MAX_INCLUDES = 256
MAX_DEPTH = 32

_REFERENCE = re.compile(r"\$\{([^${}]*)\}")


@dataclass(slots=True)
class Entry:
    """One key after composition. ``children`` is a dict for a section; else ``value`` is plain."""

    span: Span
    value: object
    children: dict[str, Entry] | None


@dataclass(frozen=True)
class Composition:
    """A YAML file with everything its defaults list pulls in.

    ``holes`` are the packages ("" is the root) into which something is put that is not known here. ``included`` are
    the files that it pulls in; ``files`` has the file itself too.
    """

    entries: dict[str, Entry]
    holes: frozenset[str]
    included: frozenset[Path]
    files: frozenset[Path]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class _Default:
    """One item of a defaults list. ``path`` is a group, or for ``- base`` the file; ``options`` are its choices."""

    span: Span
    path: str
    package: str | None
    options: tuple[str, ...] | None
    override: bool = False
    optional: bool = False
    unknown: bool = False

    @property
    def is_self(self) -> bool:
        return self.path == "_self_" and self.options is None

    @property
    def absolute(self) -> bool:
        return self.path.startswith("/")


@dataclass(frozen=True, slots=True)
class _Target:
    """Where a file lands: ``group`` is the base of the paths in its own defaults list."""

    group: str
    package: str


@dataclass
class _State:
    layers: list[tuple[str, YamlMapping]] = field(default_factory=list)
    overrides: dict[str, tuple[str, ...]] = field(default_factory=dict)
    choices: dict[str, str] = field(default_factory=dict)
    holes: set[str] = field(default_factory=set)
    files: list[Path] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    count: int = 0


class Composer:
    """Composes the YAML files of one configuration folder, reading each file once."""

    def __init__(self, folder: Path, project: Project) -> None:
        """``folder`` is where groups are looked up; nothing outside it and the project root is read."""
        self._folder = folder
        self._project = project
        self._roots = (project.root.resolve(), folder.resolve())
        self._documents: dict[Path, YamlDocument] = {}

    def document(self, path: Path) -> YamlDocument:
        """The parsed file at ``path``."""
        if path not in self._documents:
            self._documents[path] = load_yaml(path, self._project.display(path))
        return self._documents[path]

    def compose(self, path: Path) -> Composition:
        """Compose the file at ``path``. Never raises: what is wrong stands in ``problems``."""
        state = _State()
        package = _joined(_absolute_package(self.document(path).package) or "")
        self._expand(state, path, _Target("", "" if _too_deep(package) else package), ())
        entries: dict[str, Entry] = {}
        for package, mapping in reversed(state.layers):
            _merge_at(entries, package, mapping)
        files = dict.fromkeys(state.files)
        problems = [problem for file in files for problem in self.document(file).problems] + state.problems
        included = frozenset(file for file in files if file != path)
        return Composition(entries, frozenset(state.holes), included, frozenset(files), tuple(dict.fromkeys(problems)))

    def _expand(self, state: _State, path: Path, target: _Target, stack: tuple[Path, ...]) -> None:
        """Append what ``path`` gives to the layers, the strongest first.

        The list is walked from its end, as Hydra does: so an override stands before the choice that it overrides.
        """
        state.files.append(path)
        root = self.document(path).root
        if not isinstance(root, YamlMapping):
            return
        defaults = _defaults_of(root)
        for default in defaults:
            if default.override:
                key = self._choice_key(default, target)
                state.overrides.setdefault(key, default.options or ())
        listed = [default for default in defaults if not default.override]
        if not any(default.is_self for default in listed):
            state.layers.append((target.package, root))
        for default in listed:
            if default.options is not None:
                key = self._choice_key(default, target)
                state.choices.update((key, name) for name in state.overrides.get(key, default.options)[:1])
        for default in reversed(listed):
            if default.is_self:
                state.layers.append((target.package, root))
            else:
                self._include(state, default, target, (*stack, path))

    def _include(self, state: _State, default: _Default, parent: _Target, stack: tuple[Path, ...]) -> None:
        if default.unknown:
            state.holes.add(_package(parent, default.package, default))
            return
        names = default.options
        names = ("",) if names is None else state.overrides.get(self._choice_key(default, parent), names)
        for name in reversed(names):
            self._include_one(state, default, name, parent, stack)

    def _include_one(
        self, state: _State, default: _Default, name: str, parent: _Target, stack: tuple[Path, ...]
    ) -> None:
        name = _REFERENCE.sub(lambda match: state.choices.get(match[1], match[0]), name)
        written = f"{default.path}/{name}" if name else default.path
        config = written.lstrip("/") if default.absolute else posixpath.join(parent.group, written)
        group = _group(parent, default)
        path = self._find(config) if "${" not in config and not config.endswith("???") else None
        chosen = default.package
        if chosen is None and path is not None:
            chosen = _absolute_package(self.document(path).package)
        package = _package(parent, chosen, default)
        if path is None:
            if not default.optional:
                state.holes.add(package)
            return
        state.count += 1
        too_many = len(stack) > MAX_DEPTH or state.count > MAX_INCLUDES or _too_deep(package)
        if path in stack:
            self._note(state, default.span, f"the defaults list includes `{written}` inside itself; it is left out")
        elif too_many:
            self._note(state, default.span, "the defaults list pulls in too many files; the rest is left out")
            state.holes.add("")
        else:
            self._expand(state, path, _Target(group, package), stack)

    def _note(self, state: _State, span: Span, message: str) -> None:
        problem = Problem("syntax-error", span.path, span.line, span.column, message)
        if not any(known.message == message and known.display == span.path for known in state.problems):
            state.problems.append(problem)

    def _choice_key(self, default: _Default, parent: _Target) -> str:
        """Names a choice across files: its group, and its package where that is not the group's own."""
        group = _group(parent, default)
        package = _package(parent, default.package, default)
        return group if package == group.replace("/", ".") else f"{group}@{package}"

    def _find(self, config: str) -> Path | None:
        names = [config] if config.endswith((".yaml", ".yml")) else [f"{config}.yaml", f"{config}.yml"]
        for name in names:
            path = self._folder / posixpath.normpath(name)
            try:
                real = path.resolve()
                if path.is_file() and any(real.is_relative_to(root) for root in self._roots):
                    return path
            except (OSError, ValueError, RuntimeError):
                continue
        return None


def has_defaults(document: YamlDocument) -> bool:
    """Whether the file has a Hydra defaults list."""
    root = document.root
    return isinstance(root, YamlMapping) and any(_is_defaults(item.key, item.value) for item in root.items)


def plain(node: YamlNode) -> object:
    """The node as Python values, lists and dicts."""
    if isinstance(node, YamlScalar):
        return node.value
    if isinstance(node, YamlSequence):
        return [plain(item) for item in node.items]
    return {item.key: plain(item.value) for item in node.items}


def _is_defaults(key: str, value: YamlNode) -> bool:
    return key == "defaults" and isinstance(value, YamlSequence)


def _defaults_of(root: YamlMapping) -> list[_Default]:
    nodes = [item.value for item in root.items if _is_defaults(item.key, item.value)]
    sequence = nodes[-1] if nodes else None
    if not isinstance(sequence, YamlSequence):
        return []
    return [default for node in sequence.items for default in [_default(node)] if default is not None]


def _default(node: YamlNode) -> _Default | None:
    if isinstance(node, YamlScalar):
        if not isinstance(node.value, str) or not node.value:
            return None
        path, _, package = node.value.partition("@")
        return _Default(node.span, path, package or None, None)
    if not isinstance(node, YamlMapping):
        return None
    # ``optional: true`` beside the group is how Hydra before 1.1 marked it.
    named = [item for item in node.items if item.key != "optional"]
    if len(named) != 1:
        return None
    item = named[0]
    *keywords, path = item.key.split(" ")
    path, _, package = path.partition("@")
    options: tuple[str, ...] = ()
    unknown = False
    value = plain(item.value)
    choices = value if isinstance(value, list) else [] if value is None else [value]
    for choice in choices:
        if isinstance(choice, str | int | float) and not isinstance(choice, bool):
            options += (str(choice),)
        else:
            unknown = True
    optional = "optional" in keywords or len(node.items) > 1
    return _Default(item.key_span, path, package or None, options, "override" in keywords, optional, unknown)


def _relative_group(default: _Default) -> str:
    written = default.path.lstrip("/")
    return written if default.options is not None else posixpath.dirname(written)


def _absolute_package(header: str | None) -> str | None:
    """A ``# @package`` header counts from the root, whoever includes the file."""
    if header is None or header == "_group_" or header.split(".")[0] == "_global_":
        return None if header == "_group_" else header
    return f"_global_.{header}"


def _package(parent: _Target, package: str | None, default: _Default) -> str:
    """The package a file lands in: ``package`` or else its group, below the package of the file that includes it."""
    if package is None:
        own = _relative_group(default).replace("/", ".")
    elif package == "_here_":
        own = ""
    else:
        own = package
        if "_group_" in package:
            own = "_global_." + package.replace("_group_", _group(parent, default).replace("/", "."))
    return _joined(f"{parent.package}.{own}")


def _group(parent: _Target, default: _Default) -> str:
    return posixpath.join("" if default.absolute else parent.group, _relative_group(default))


def _joined(package: str) -> str:
    """A package as a path from the root: what stands before the last ``_global_`` does not count."""
    parts = [part for part in package.split(".") if part]
    if "_global_" in parts:
        parts = parts[len(parts) - parts[::-1].index("_global_") :]
    return ".".join(parts)


def _too_deep(package: str) -> bool:
    return package.count(".") >= MAX_DEPTH


def _merge_at(entries: dict[str, Entry], package: str, mapping: YamlMapping) -> None:
    content = [item for item in mapping.items if not _is_defaults(item.key, item.value)]
    for part in package.split(".") if package else ():
        if not content:
            return
        entries = _section(entries, part, content[0].key_span)
    _merge(entries, YamlMapping(tuple(content), mapping.span))


def _section(entries: dict[str, Entry], key: str, span: Span) -> dict[str, Entry]:
    entry = entries.get(key)
    if entry is None or entry.children is None:
        entry = entries[key] = Entry(span, None, {})
    entry.span = span
    assert entry.children is not None
    return entry.children


def _merge(entries: dict[str, Entry], mapping: YamlMapping) -> None:
    for item in mapping.items:
        if isinstance(item.value, YamlMapping):
            _merge(_section(entries, item.key, item.key_span), item.value)
        else:
            entries[item.key] = Entry(item.key_span, plain(item.value), None)
