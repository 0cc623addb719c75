"""The YAML stages of a recipe: which files they are, and the values that hold in each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from recipe_lint.read.compose import Composer, Composition, has_defaults
from recipe_lint.read.flags import MISSING, SECTION, UNKNOWN
from recipe_lint.read.imports import Project
from recipe_lint.read.interpolate import Resolved, resolve
from recipe_lint.read.schema import Schema, SchemaField
from recipe_lint.read.source import Problem
from recipe_lint.read.span import Span

Backend = Literal["ddp", "fsdp1", "fsdp2", "tp", "unknown"]

_FOLDERS = ("configs", "config", "conf")
_SECTIONS = frozenset({"model", "parallel", "optim"})
_BASE_NAMES = ("base", "default", "common", "shared", "_")
_NAME_KEYS = ("name", "type", "_target_", "cls", "class", "class_name")
_BACKENDS: Mapping[str, Backend] = {
    "ddp": "ddp",
    "fsdp": "fsdp1",
    "fsdp1": "fsdp1",
    "fsdp2": "fsdp2",
    "tp": "tp",
}
# What pydantic reads as a bool where the field's type is bool.
_BOOLS = {
    **dict.fromkeys(("true", "yes", "on", "y", "t", "1"), True),
    **dict.fromkeys(("false", "no", "off", "n", "f", "0"), False),
}


@dataclass(frozen=True)
class Stage:
    """One YAML stage as it runs.

    ``name`` is the file name and ``display`` the shown path. ``values`` has every dotted leaf path with a value, the
    schema's defaults below those of the YAML; an entry may be ``UNKNOWN``. ``sections`` are the paths that are there
    as sections. ``origins`` has the key in a YAML file that sets a path, sections included; a path without an origin
    comes from the schema. ``holes`` are sections ("" is the root) into which a file that is not there, or not known,
    puts more. ``files`` are the YAML files that the stage is made of.
    """

    name: str
    display: str
    values: Mapping[str, object]
    sections: frozenset[str]
    origins: Mapping[str, Span]
    backend: Backend
    holes: frozenset[str] = frozenset()
    files: tuple[Path, ...] = ()

    def get(self, path: str) -> object:
        """The value at a dotted path: plain, ``SECTION``, ``UNKNOWN``, or ``MISSING`` where nothing sets it."""
        if path in self.values:
            return self.values[path]
        if path in self.sections:
            return SECTION
        parts = path.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            above = ".".join(parts[:cut])
            if above in self.values:
                return _descend(self.values[above], parts[cut:])
        return UNKNOWN if _in_hole(path, self.holes) else MISSING


@dataclass(frozen=True)
class StageSet:
    """The stages of one engine in order of their file names, what is wrong with the YAML, and every YAML file read."""

    stages: tuple[Stage, ...]
    problems: tuple[Problem, ...]
    files: tuple[Path, ...]


@dataclass(frozen=True)
class _Candidate:
    path: Path
    composition: Composition
    resolved: Resolved
    hydra: bool
    engines: tuple[str, ...] = field(default=())


def load_stages(recipe_dir: Path, project: Project, engine_name: str | None, schema: Schema | None) -> StageSet:
    """Read the stages of the engine ``engine_name`` in ``recipe_dir``; of any engine where the name is None.

    ``schema`` gives the defaults below the YAML. Never raises: unreadable files are in ``problems``.
    """
    candidates: list[_Candidate] = []
    for folder, paths in _yaml_files(recipe_dir):
        composer = Composer(folder, project)
        candidates += [_candidate(composer, path) for path in paths]
    included = {path for candidate in candidates for path in candidate.composition.included}
    named = any(candidate.engines for candidate in candidates)
    chosen = [
        candidate
        for candidate in candidates
        if _is_stage(candidate, engine_name, named) and (candidate.path not in included or _stands_alone(candidate))
    ]
    stages = tuple(_stage(candidate, project, schema) for candidate in chosen)
    problems = {
        problem: None
        for candidate in candidates
        for problem in (*candidate.composition.problems, *candidate.resolved.problems)
    }
    ordered = sorted(problems, key=lambda problem: (problem.display, problem.line, problem.column, problem.message))
    files = {path for candidate in candidates for path in candidate.composition.files}
    return StageSet(stages, tuple(ordered), tuple(sorted(files)))


def _yaml_files(recipe_dir: Path) -> list[tuple[Path, list[Path]]]:
    found = [(folder, _listed(folder)) for folder in (recipe_dir / name for name in _FOLDERS)]
    found = [(folder, paths) for folder, paths in found if paths]
    return found or [(recipe_dir, _listed(recipe_dir))]


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(
            path
            for path in folder.iterdir()
            if path.suffix in {".yaml", ".yml"} and not path.name.startswith(".") and path.is_file()
        )
    except OSError:
        return []


def _candidate(composer: Composer, path: Path) -> _Candidate:
    composition = composer.compose(path)
    resolved = resolve(composition.entries)
    hydra = has_defaults(composer.document(path))
    return _Candidate(path, composition, resolved, hydra, _engines(resolved))


def _engines(resolved: Resolved) -> tuple[str, ...]:
    """The engine names that the YAML gives, as ``engine: X`` or in a mapping; empty where it gives none."""
    value = resolved.values.get("engine")
    if isinstance(value, str):
        return (value,)
    names = [resolved.values.get(f"engine.{key}") for key in _NAME_KEYS]
    return tuple(name for name in names if isinstance(name, str))


def _is_stage(candidate: _Candidate, engine_name: str | None, named: bool) -> bool:
    if candidate.engines:
        return engine_name is None or any(name.rpartition(".")[2] == engine_name for name in candidate.engines)
    return (not named or engine_name is None) and (candidate.hydra or bool(_top_level(candidate.resolved) & _SECTIONS))


def _stands_alone(candidate: _Candidate) -> bool:
    """Whether a file that others build on is itself a stage: it is complete and not named as a base."""
    if not candidate.engines or candidate.path.stem.lower().startswith(_BASE_NAMES):
        return False
    return "model" in _top_level(candidate.resolved)


def _top_level(resolved: Resolved) -> set[str]:
    return {path.partition(".")[0] for path in (*resolved.sections, *resolved.values)}


def _stage(candidate: _Candidate, project: Project, schema: Schema | None) -> Stage:
    resolved = candidate.resolved
    values = dict(resolved.values)
    sections = set(resolved.sections)
    holes = candidate.composition.holes
    for field_ in schema.fields.values() if schema is not None else ():
        if field_.path in values:
            values[field_.path] = _coerced(values[field_.path], field_)
        elif field_.path not in resolved.sections:
            _add_default(field_, resolved, holes, values, sections)
    backend = _backend(values)
    return Stage(
        candidate.path.name,
        project.display(candidate.path),
        values,
        frozenset(sections),
        resolved.origins,
        backend,
        holes,
        tuple(sorted(candidate.composition.files)),
    )


def _add_default(
    field_: SchemaField, resolved: Resolved, holes: frozenset[str], values: dict[str, object], sections: set[str]
) -> None:
    """Put a schema default where the YAML says nothing of the path or of what encloses it."""
    parts = field_.path.split(".")
    above = [".".join(parts[:cut]) for cut in range(1, len(parts))]
    if any(path in resolved.values for path in above):
        return
    if _in_hole(field_.path, holes):
        values[field_.path] = UNKNOWN
        return
    default = field_.default_below(sum(path in resolved.sections for path in above))
    if default is SECTION:
        sections.add(field_.path)
    elif default is not MISSING:
        values[field_.path] = default


def _coerced(value: object, field_: SchemaField) -> object:
    if field_.annotation != "bool" or isinstance(value, bool) or not isinstance(value, str | int):
        return value
    return _BOOLS.get(str(value).lower(), value)


def _in_hole(path: str, holes: Iterable[str]) -> bool:
    return any(not hole or path == hole or path.startswith(f"{hole}.") for hole in holes)


def _descend(value: object, parts: list[str]) -> object:
    for part in parts:
        if not isinstance(value, dict):
            return UNKNOWN if value is UNKNOWN else MISSING
        value = value.get(part, MISSING)
    return value


def _backend(values: Mapping[str, object]) -> Backend:
    """The parallel backend that the mesh means; a written backend name where there is no mesh."""
    tensor = values.get("parallel.mesh.tensor", 1)
    shard = values.get("parallel.mesh.shard")
    if isinstance(tensor, int) and tensor > 1:
        return "tp"
    if _is_size(tensor) and tensor == 1 and _is_size(shard):
        return "ddp" if shard == 1 else "fsdp2"
    for key in ("backend", "type", "strategy"):
        name = values.get(f"parallel.{key}")
        if isinstance(name, str):
            return _BACKENDS.get(name.lower(), "unknown")
    return "unknown"


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and (value >= 1 or value == -1)
