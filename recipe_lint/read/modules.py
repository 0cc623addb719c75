"""An index of one Python module, taken from ``ast``: what it defines, imports and re-exports.

``ast`` costs a tenth of a LibCST parse, so it finds the functions; LibCST then parses just those that are walked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from recipe_lint.read.source import Problem, Source, decode, read_bytes

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """What a local name stands for: ``module`` (dotted, with ``level`` leading dots) and the attribute in it.

    ``attribute`` is None for ``import a.b`` style names, which stand for the module itself.
    """

    module: str
    level: int
    attribute: str | None


@dataclass(frozen=True)
class Module:
    """One parsed file and the names at its top level (``if TYPE_CHECKING:`` and ``try:`` blocks included)."""

    source: Source
    tree: ast.Module
    functions: dict[str, FunctionNode]
    classes: dict[str, ast.ClassDef]
    assigns: dict[str, ast.expr]
    imports: dict[str, ImportTarget]
    stars: tuple[ImportTarget, ...]
    lazy: tuple[str, ...] = field(default=())

    @property
    def path(self) -> Path:
        """The file on disk."""
        return self.source.path

    @property
    def display(self) -> str:
        """The path that reports show."""
        return self.source.display


def parse_module(path: Path, display: str, data: bytes | Problem | None = None) -> Module | Problem:
    """Read (unless ``data`` is given), decode and index one file; the reason where that fails."""
    if data is None:
        data = read_bytes(path, display)
    if isinstance(data, Problem):
        return data
    source = decode(data, path, display)
    if isinstance(source, Problem):
        return source
    return index_module(source)


def index_module(source: Source) -> Module | Problem:
    """Index decoded source."""
    try:
        tree = ast.parse(source.text, type_comments=False)
    except SyntaxError as error:
        message = f"{error.msg or 'invalid syntax'}; the file is not judged until it parses"
        return Problem("syntax-error", source.display, error.lineno or 1, max(error.offset or 1, 1), message)
    except (ValueError, RecursionError, MemoryError) as error:
        reason = str(error) or "nested too deeply"
        return Problem("syntax-error", source.display, 1, 1, f"cannot be parsed ({reason})")
    module = Module(source, tree, {}, {}, {}, {}, (), ())
    stars: list[ImportTarget] = []
    for node in _top_level(tree.body):
        _index_statement(node, module, stars)
    lazy = _lazy_modules(module)
    return Module(source, tree, module.functions, module.classes, module.assigns, module.imports, tuple(stars), lazy)


def imports_of(body: list[ast.stmt]) -> dict[str, ImportTarget]:
    """Names bound by the import statements directly in ``body`` (imports inside a function)."""
    found: dict[str, ImportTarget] = {}
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            _index_import(node, found, [])
    return found


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.If):
            yield from _top_level(node.body)
            yield from _top_level(node.orelse)
        elif isinstance(node, ast.Try):
            yield from _top_level(node.body)
            for handler in node.handlers:
                yield from _top_level(handler.body)
            yield from _top_level(node.orelse)
            yield from _top_level(node.finalbody)
        else:
            yield node


def _index_statement(node: ast.stmt, module: Module, stars: list[ImportTarget]) -> None:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            module.functions[node.name] = node
        case ast.ClassDef():
            module.classes[node.name] = node
        case ast.Import() | ast.ImportFrom():
            _index_import(node, module.imports, stars)
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Name):
                    module.assigns[target.id] = value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            module.assigns[name] = value
        case _:
            pass


def _index_import(
    node: ast.Import | ast.ImportFrom, imports: dict[str, ImportTarget], stars: list[ImportTarget]
) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                imports[alias.asname] = ImportTarget(alias.name, 0, None)
            else:
                top = alias.name.split(".")[0]
                imports[top] = ImportTarget(top, 0, None)
        return
    for alias in node.names:
        target = ImportTarget(node.module or "", node.level, alias.name)
        if alias.name == "*":
            stars.append(ImportTarget(node.module or "", node.level, None))
        else:
            imports.setdefault(alias.asname or alias.name, target)


def _lazy_modules(module: Module) -> tuple[str, ...]:
    """Relative modules that a module-level ``__getattr__`` may take a name from (PEP 562 export tables)."""
    if "__getattr__" not in module.functions:
        return ()
    names: list[str] = []
    for value in module.assigns.values():
        if isinstance(value, ast.Dict):
            for item in value.values:
                text = item.elts[0] if isinstance(item, ast.Tuple) and item.elts else item
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    names.append(text.value if text.value.startswith(".") else "." + text.value)
    for node in ast.walk(module.functions["__getattr__"]):
        if isinstance(node, ast.ImportFrom) and node.level:
            dots = "." * node.level
            names.extend(dots + (node.module or alias.name) for alias in node.names)
    return tuple(dict.fromkeys(names))
