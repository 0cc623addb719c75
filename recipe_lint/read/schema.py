"""A recipe's config schema as a table of dotted paths, read from ``ast`` and never imported."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from recipe_lint.read.config_class import Built, ClassReader, ConfigClass, FieldDecl, Shape, parse_annotation
from recipe_lint.read.flags import MISSING, SECTION, UNKNOWN
from recipe_lint.read.imports import Definition, Project
from recipe_lint.read.modules import Module
from recipe_lint.read.span import Span

MAX_FIELDS = 5_000
MAX_DEPTH = 12


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One path that the schema declares.

    ``default`` holds where the YAML gives nothing above the path: a plain value, ``SECTION``, ``MISSING`` for a
    required field, or ``UNKNOWN``. ``annotation`` is its source text. ``choices`` are the values of a ``Literal``
    (None among them where that is allowed), None for any other type. ``span`` is the field's name, ``comment`` the
    comment lines directly above it and behind it, ``holder`` the name of the class that declares it. ``by_given`` has
    the default for each number of enclosing sections that the YAML gives; see ``default_below``.
    """

    path: str
    default: object
    annotation: str
    section: bool
    choices: tuple[object, ...] | None
    span: Span
    comment: str
    holder: str
    by_given: tuple[object, ...] = field(default=(), repr=False)

    def default_below(self, given: int) -> object:
        """The default where the YAML gives the ``given`` outermost sections that enclose the path.

        A given section is built by its own class, so a value that an enclosing default would have passed is lost.
        """
        return self.by_given[min(given, len(self.by_given) - 1)] if self.by_given else self.default


@dataclass(frozen=True)
class Schema:
    """The fields of a config class by dotted path, sections included.

    ``sections`` are the paths that hold nested config classes, and "" for the root. ``open_sections`` are those of
    them that may declare more than is listed here, since a base or a nested class could not be read.
    """

    name: str
    fields: Mapping[str, SchemaField]
    sections: frozenset[str]
    open_sections: frozenset[str]
    forbidding: frozenset[str] = field(default=frozenset(), repr=False)

    def forbids_extra(self, section_path: str) -> bool:
        """Whether an undeclared key in the section ("" is the root) is an error; False where that is not known."""
        return section_path in self.forbidding


def read_schema(project: Project, definition: Definition) -> Schema:
    """The schema that the class ``definition`` declares. Never raises; it is empty for what is no config class."""
    reader = ClassReader(project)
    cls = reader.config_class(definition)
    if cls is None:
        return Schema(definition.name, {}, frozenset(), frozenset())
    table = _Table(reader)
    table.walk((cls,), "", (Built(cls),), ())
    return Schema(
        definition.name, table.fields, frozenset(table.sections), frozenset(table.open), frozenset(table.forbidding)
    )


@dataclass
class _Table:
    reader: ClassReader
    fields: dict[str, SchemaField] = field(default_factory=dict)
    sections: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)
    forbidding: set[str] = field(default_factory=set)

    def walk(
        self, classes: tuple[ConfigClass, ...], path: str, contexts: tuple[object, ...], trail: tuple[str, ...]
    ) -> None:
        """Add the fields of a section.

        ``contexts`` is what the section itself is when the YAML gives none, one, two ... of the sections around it,
        and last when it gives the section.
        """
        self.sections.add(path)
        if all(cls.extra == "forbid" for cls in classes):
            self.forbidding.add(path)
        if not all(cls.complete for cls in classes):
            self.open.add(path)
        for cls in classes:
            for name, decl in cls.fields.items():
                if len(self.fields) >= MAX_FIELDS:
                    self.open.add(path)
                    return
                below = f"{path}.{name}" if path else name
                self.add(cls, decl, below, tuple(self.inside(context, cls, name) for context in contexts), trail)

    def inside(self, context: object, cls: ConfigClass, name: str) -> object:
        """The value of a field in a section that is ``context``."""
        if isinstance(context, Built):
            if name in context.given:
                return context.given[name]
            source = context.cls if name in context.cls.fields else cls
            known = name in context.cls.fields or not context.cls.complete
            return self.reader.default(source, name) if known else MISSING
        return UNKNOWN if context is UNKNOWN or isinstance(context, dict) else MISSING

    def add(
        self, cls: ConfigClass, decl: FieldDecl, path: str, values: tuple[object, ...], trail: tuple[str, ...]
    ) -> None:
        shape = self.reader.shape(decl.node.annotation, decl.owner)
        classes = shape.classes or tuple(dict.fromkeys(value.cls for value in values if isinstance(value, Built)))
        shown = tuple(SECTION if isinstance(value, Built) else value for value in values)
        entry = SchemaField(
            path,
            shown[0],
            _annotation_text(decl.node.annotation),
            bool(classes),
            _choices(shape),
            _name_span(decl.owner.module, decl.node),
            _comment(decl.owner.module, decl.node),
            decl.owner.name,
            shown,
        )
        earlier = self.fields.get(path)
        self.fields[path] = entry if earlier is None else _either(earlier, entry)
        if not classes:
            return
        keys = tuple(inner.definition.key for inner in classes)
        here = (*trail, cls.definition.key)
        if len(here) >= MAX_DEPTH or any(key in here for key in keys):
            self.sections.add(path)
            self.open.add(path)
            return
        own: object = UNKNOWN if len(classes) > 1 or shape.is_open else Built(classes[0])
        if classes[0].merges and isinstance(values[0], Built):
            own = values[0]
        self.walk(classes, path, (*values, own), here)


def _either(one: SchemaField, other: SchemaField) -> SchemaField:
    """A path that two classes of a union declare."""
    pairs = zip(one.by_given, other.by_given, strict=True)
    values = tuple(b if a is MISSING else a if b is MISSING or _same(a, b) else UNKNOWN for a, b in pairs)
    choices = one.choices if one.choices == other.choices else None
    section = one.section or other.section
    return replace(one, default=values[0], by_given=values, choices=choices, section=section)


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def _choices(shape: Shape) -> tuple[object, ...] | None:
    if not shape.choices or shape.is_open or shape.classes:
        return None
    return tuple(dict.fromkeys((*shape.choices, *((None,) if shape.optional else ()))))


def _annotation_text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = parse_annotation(node.value) or node
    try:
        return ast.unparse(node)
    except RecursionError:
        return ""


def _name_span(module: Module, node: ast.AnnAssign) -> Span:
    target = node.target
    lines = module.source.lines
    end_line, end = target.end_lineno or target.lineno, target.end_col_offset or target.col_offset
    start_column = _column(lines, target.lineno, target.col_offset)
    return Span(module.display, target.lineno, start_column, end_line, _column(lines, end_line, end))


def _column(lines: tuple[str, ...], line: int, offset: int) -> int:
    """The 1-based code-point column of a UTF-8 byte offset."""
    text = lines[line - 1] if line <= len(lines) else ""
    return len(text.encode("utf-8", "replace")[:offset].decode("utf-8", "replace")) + 1


def _comment(module: Module, node: ast.AnnAssign) -> str:
    lines = module.source.lines
    found: list[str] = []
    number = node.lineno - 1
    while 1 <= number <= len(lines) and lines[number - 1].lstrip().startswith("#"):
        found.insert(0, lines[number - 1])
        number -= 1
    line = node.end_lineno or node.lineno
    rest = lines[line - 1][_column(lines, line, node.end_col_offset or 0) - 1 :] if line <= len(lines) else ""
    if rest.lstrip().startswith("#"):
        found.append(rest)
    return "\n".join(text.strip().lstrip("#").strip() for text in found)
