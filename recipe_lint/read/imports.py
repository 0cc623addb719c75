"""Where a name comes from: definitions inside the project, or a dotted name outside it.

Follows relative imports, absolute imports from any folder that holds the package, re-exports through ``__init__``,
``TYPE_CHECKING`` blocks, star imports and lazy ``__getattr__`` tables.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from recipe_lint.read.modules import FunctionNode, ImportTarget, Module, parse_module
from recipe_lint.read.source import Problem, read_bytes


@dataclass(frozen=True, eq=False)
class Definition:
    """A function, class or assigned value of a project module; two are equal when they are the same code."""

    module: Module
    name: str
    node: FunctionNode | ast.ClassDef | ast.expr

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Definition) and other.node is self.node

    def __hash__(self) -> int:
        return id(self.node)

    @property
    def key(self) -> str:
        """Identity of the definition across the run."""
        return f"{self.module.display}::{self.name}"


@dataclass(frozen=True)
class External:
    """A name outside the project, as dotted text: ``torch.compile``."""

    name: str


Resolved = Definition | Module | External


class Project:
    """All modules read so far below one root, each parsed once."""

    def __init__(self, root: Path, base: Path) -> None:
        """``root`` bounds what is read; ``base`` is the folder that shown paths are relative to."""
        self.root = root
        self.base = base
        self.problems: dict[Path, Problem] = {}
        self._modules: dict[Path, Module | None] = {}
        self._exists: dict[Path, Path | None] = {}
        self._bytes: dict[Path, bytes] = {}
        self._packages: dict[Path, str] = {}
        self._paths: dict[tuple[Path, int, tuple[str, ...]], Path | None] = {}
        self._resolved: dict[tuple[Path, str], Resolved | None] = {}

    def mentions(self, path: Path, pattern: re.Pattern[bytes]) -> bool:
        """Whether a file's bytes match ``pattern``; they are kept for ``load``. A file that cannot be read is noted."""
        if path in self._modules:
            module = self._modules[path]
            return module is not None and pattern.search(module.source.text.encode()) is not None
        data = read_bytes(path, self.display(path))
        if isinstance(data, Problem):
            self.problems[path] = data
            return False
        if pattern.search(data) is None:
            return False
        self._bytes[path] = data
        return True

    def dotted(self, definition: Definition) -> str:
        """Dotted name of a definition, from the packages that hold it: ``recipes.openbee.model.build``."""
        return self.dotted_name(definition.module, definition.name)

    def dotted_name(self, module: Module, name: str) -> str:
        """The same for a name in a module."""
        path = module.path
        if path not in self._packages:
            parts = [] if path.stem == "__init__" else [path.stem]
            folder = path.parent
            while folder not in folder.parents and (folder / "__init__.py").exists():
                parts.append(folder.name)
                folder = folder.parent
            self._packages[path] = ".".join(reversed(parts))
        package = self._packages[path]
        return f"{package}.{name}" if package else name

    def display(self, path: Path) -> str:
        """The path as reports show it: relative to the base where it lies below it, with forward slashes."""
        try:
            return path.relative_to(self.base).as_posix()
        except ValueError:
            return path.as_posix()

    def load(self, path: Path) -> Module | None:
        """The module at ``path``, or None with a noted problem."""
        if path not in self._modules:
            parsed = parse_module(path, self.display(path), self._bytes.pop(path, None))
            if isinstance(parsed, Problem):
                self.problems[path] = parsed
                self._modules[path] = None
            else:
                self._modules[path] = parsed
        return self._modules[path]

    def modules(self) -> list[Module]:
        """Every module that was parsed."""
        return [module for module in self._modules.values() if module is not None]

    def files(self) -> tuple[Path, ...]:
        """Every file read so far, sorted."""
        return tuple(sorted(self._modules))

    def resolve(self, module: Module, dotted: str) -> Resolved | None:
        """What ``dotted`` means at the top level of ``module``; None where the module does not define it."""
        key = (module.path, dotted)
        if key not in self._resolved:
            head, *rest = dotted.split(".")
            self._resolved[key] = self._descend(self._lookup(module, head, frozenset()), rest)
        return self._resolved[key]

    def resolve_import(self, module: Module, target: ImportTarget, rest: tuple[str, ...] = ()) -> Resolved | None:
        """What an import statement in ``module`` binds, followed by attributes ``rest``."""
        return self._descend(self._import(module, target, frozenset()), list(rest))

    def _descend(self, found: Resolved | None, rest: list[str]) -> Resolved | None:
        while rest and found is not None:
            if isinstance(found, External):
                return External(".".join([found.name, *rest]))
            if not isinstance(found, Module):
                return None
            name = rest.pop(0)
            inner = self._lookup(found, name, frozenset())
            if inner is None and found.path.name == "__init__.py":
                path = self._find_file(found.path.parent, [name])
                inner = self.load(path) if path else None
            found = inner
        return found

    def _lookup(self, module: Module, name: str, seen: frozenset[tuple[Path, str]]) -> Resolved | None:
        if (module.path, name) in seen:
            return None
        seen |= {(module.path, name)}
        node = module.functions.get(name) or module.classes.get(name)
        if node is not None:
            return Definition(module, name, node)
        if name in module.imports:
            return self._import(module, module.imports[name], seen)
        if name in module.assigns:
            return Definition(module, name, module.assigns[name])
        for star in module.stars:
            starred = self._import(module, star, seen)
            if isinstance(starred, Module):
                found = self._lookup(starred, name, seen)
                if found is not None:
                    return found
        return self._lazy(module, name, seen)

    def _lazy(self, module: Module, name: str, seen: frozenset[tuple[Path, str]]) -> Resolved | None:
        for text in module.lazy:
            dotted = text.lstrip(".")
            target = ImportTarget(dotted, len(text) - len(dotted), None)
            found = self._import(module, target, seen)
            if isinstance(found, Module):
                inner = self._lookup(found, name, seen)
                if inner is not None:
                    return inner
        return None

    def _import(self, module: Module, target: ImportTarget, seen: frozenset[tuple[Path, str]]) -> Resolved | None:
        parts = target.module.split(".") if target.module else []
        path = self._module_path(module, target.level, parts)
        if target.attribute is None:
            if path is not None:
                return self.load(path)
            return External(target.module) if target.level == 0 else None
        if path is not None:
            inner = self.load(path)
            found = self._lookup(inner, target.attribute, seen) if inner else None
            if found is not None:
                return found
        submodule = self._module_path(module, target.level, [*parts, target.attribute])
        if submodule is not None:
            return self.load(submodule)
        dotted = ".".join([*parts, target.attribute])
        return External(dotted) if target.level == 0 or path is None else External("." * target.level + dotted)

    def _module_path(self, module: Module, level: int, parts: list[str]) -> Path | None:
        key = (module.path.parent, level, tuple(parts))
        if key not in self._paths:
            self._paths[key] = self._search(module, level, parts)
        return self._paths[key]

    def _search(self, module: Module, level: int, parts: list[str]) -> Path | None:
        if level:
            folder = module.path.parent
            for _ in range(level - 1):
                folder = folder.parent
            return self._find_file(folder, parts)
        if not parts:
            return None
        for folder in module.path.parents:
            for start in (folder, folder / "src"):
                found = self._find_file(start, parts)
                if found is not None:
                    return found
            if folder == self.root:
                break
        return None

    def _find_file(self, folder: Path, parts: list[str]) -> Path | None:
        base = folder.joinpath(*parts)
        if base not in self._exists:
            self._exists[base] = self._probe(base)
        return self._exists[base]

    def _probe(self, base: Path) -> Path | None:
        for path in (base / "__init__.py", base.with_name(base.name + ".py")):
            try:
                if path.is_file() and path.resolve().is_relative_to(self.root):
                    return path
            except OSError:
                continue
        return None
