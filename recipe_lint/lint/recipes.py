"""Where a recipe begins, and the stages at which its engine runs."""

from __future__ import annotations

import ast
from pathlib import Path

from recipe_lint.read.imports import Definition, Project
from recipe_lint.read.modules import Module
from recipe_lint.read.schema import Schema, read_schema
from recipe_lint.read.stages import StageSet, load_stages

_INNER = ("engine", "engines", "model", "models", "src")


def recipe_dir(path: Path) -> Path:
    """The folder of the recipe that a file belongs to: the one above ``engine/``, else the file's own."""
    folder = path.parent
    return folder.parent if folder.name in _INNER else folder


def recipe_stages(project: Project, module: Module, engine: ast.ClassDef | None, folder: Path) -> StageSet:
    """The YAML stages of an engine, with the schema's defaults below them; none for a script."""
    if engine is None:
        return StageSet((), (), ())
    return load_stages(folder, project, engine.name, _schema(project, module, engine, frozenset()))


def _schema(project: Project, module: Module, engine: ast.ClassDef, seen: frozenset[str]) -> Schema | None:
    """The config class of an engine: ``ConfigClass = X``, or the annotation of ``config``, its own or a base's."""
    key = f"{module.display}:{engine.name}"
    if key in seen:
        return None
    for wanted in ("ConfigClass", "config"):
        for node in engine.body:
            name = _config_name(node, wanted)
            found = project.resolve(module, name) if name is not None else None
            if isinstance(found, Definition) and isinstance(found.node, ast.ClassDef):
                return read_schema(project, found)
    for base in engine.bases:
        if isinstance(base, ast.Name | ast.Attribute):
            found = project.resolve(module, ast.unparse(base))
            if isinstance(found, Definition) and isinstance(found.node, ast.ClassDef):
                schema = _schema(project, found.module, found.node, seen | {key})
                if schema is not None:
                    return schema
    return None


def _config_name(node: ast.stmt, wanted: str) -> str | None:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() | ast.Attribute() as value) if name == wanted:
            return ast.unparse(value)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.Name() | ast.Attribute() as value) if name == wanted:
            return ast.unparse(value)
        case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name() | ast.Attribute() as note) if (
            name == wanted and wanted == "config"
        ):
            return ast.unparse(note)
        case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Constant(value=str() as text)) if (
            name == wanted and wanted == "config"
        ):
            return text
        case _:
            return None
