"""Config classes (pydantic models, dataclasses) read from ``ast``: their fields, bases, and what defaults come to."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass, field

from recipe_lint.read.flags import MISSING, UNKNOWN
from recipe_lint.read.imports import Definition, External, Project, Resolved

MAX_DEPTH = 24
MAX_STEPS = 20_000
MAX_BASES = 40
MAX_NUMBER = 10**12

_KNOWN_BASES = frozenset(
    {"BaseModel", "BaseSettings", "RootModel", "SQLModel", "object", "ABC", "Generic", "Protocol", "TypedDict"}
)
_NO_SECTION = ("Enum", "StrEnum", "IntEnum", "Flag", "IntFlag", "NamedTuple", "Exception")
_EMPTY: dict[str, Callable[[], object]] = {
    make.__name__: make for make in (list, dict, set, tuple, frozenset, str, int, float, bool)
}
_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


@dataclass(frozen=True)
class FieldDecl:
    """One annotated name in the body of ``owner``."""

    name: str
    owner: Definition
    node: ast.AnnAssign


@dataclass(frozen=True, eq=False)
class ConfigClass:
    """A class whose instances are configuration sections.

    ``fields`` has the inherited ones too. ``extra`` is pydantic's policy for unknown keys where one is set.
    ``complete`` is False where a base could not be read. ``merges`` says that a partly given section starts from the
    default instance (dataclasses under OmegaConf) and not from the class's own defaults (pydantic).
    """

    definition: Definition
    fields: dict[str, FieldDecl]
    extra: str | None
    complete: bool
    merges: bool


@dataclass(frozen=True)
class Built:
    """An instance of a config class, with the fields that were given to its constructor."""

    cls: ConfigClass
    given: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Shape:
    """What an annotation allows: nested config classes, None, literal choices; ``is_open`` for anything else too."""

    classes: tuple[ConfigClass, ...] = ()
    optional: bool = False
    choices: tuple[object, ...] = ()
    is_open: bool = False

    def __or__(self, other: Shape) -> Shape:
        return Shape(
            tuple(dict.fromkeys((*self.classes, *other.classes))),
            self.optional or other.optional,
            (*self.choices, *other.choices),
            self.is_open or other.is_open,
        )


_OPEN = Shape(is_open=True)


def dotted_name(node: ast.expr) -> str | None:
    """``a.b.c`` for a name or an attribute chain, looking through ``Generic[T]``; None for anything else."""
    if isinstance(node, ast.Subscript):
        return dotted_name(node.value)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted_name(node.value) if not isinstance(node.value, ast.Subscript) else None
        return f"{inner}.{node.attr}" if inner else None
    return None


def _last(node: ast.expr) -> str:
    return (dotted_name(node) or "").rpartition(".")[2]


class ClassReader:
    """Reads config classes of one project, each once. Nothing is imported or executed."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._classes: dict[tuple[str, int], ConfigClass | None] = {}
        self._defaults: dict[tuple[ConfigClass, str], object] = {}
        self._steps = MAX_STEPS
        self._bases = 0

    def resolve(self, node: ast.expr, owner: Definition) -> Resolved | None:
        """What a name means in the body of ``owner``: a class nested there, or a name of its module."""
        name = dotted_name(node)
        if name is None:
            return None
        head, _, rest = name.partition(".")
        inner = _nested(owner.node, head)
        if inner is not None and not rest:
            return Definition(owner.module, f"{owner.name}.{head}", inner)
        found = self._project.resolve(owner.module, name)
        outer = self._project.resolve(owner.module, head) if found is None and rest else None
        if isinstance(outer, Definition) and (inner := _nested(outer.node, rest)) is not None:
            return Definition(outer.module, f"{outer.name}.{rest}", inner)
        return found

    def config_class(self, definition: Definition) -> ConfigClass | None:
        """The class as a section, or None where it is no such class (an enum, a plain class, a function)."""
        key = (definition.key, getattr(definition.node, "lineno", 0))
        if key not in self._classes:
            # None stands for a class that is its own base, until the reading is done.
            self._classes[key] = None
            self._bases += 1
            self._classes[key] = self._read(definition) if self._bases <= MAX_BASES else None
            self._bases -= 1
        return self._classes[key]

    def _read(self, definition: Definition) -> ConfigClass | None:
        node = definition.node
        if not isinstance(node, ast.ClassDef):
            return None
        fields: dict[str, FieldDecl] = {}
        extra: str | None = None
        complete = True
        is_section = merges = False
        for decorator in node.decorator_list:
            name = decorator.func if isinstance(decorator, ast.Call) else decorator
            if _last(name) in {"dataclass", "define", "attrs", "frozen"}:
                is_section = True
                found = self.resolve(name, definition)
                merges = not (isinstance(found, External) and found.name.startswith("pydantic"))
        inherited: list[ConfigClass] = []
        for base in node.bases:
            last = _last(base)
            if last in _NO_SECTION or last.endswith(("Enum", "Error")):
                return None
            found = self.resolve(base, definition)
            parent = self.config_class(found) if isinstance(found, Definition) else None
            if parent is not None:
                inherited.append(parent)
            elif last not in _KNOWN_BASES:
                complete = False
            is_section = is_section or parent is not None or last not in {"object", "ABC", "Generic", "Protocol"}
        for parent in reversed(inherited):
            fields.update(parent.fields)
            merges = merges or parent.merges
            complete = complete and parent.complete
        for parent in inherited:
            extra = parent.extra or extra
        fields.update(_own_fields(node, definition))
        if not is_section or (not complete and not fields):
            return None
        return ConfigClass(definition, fields, _own_extra(node) or extra, complete, merges)

    def default(self, cls: ConfigClass, name: str) -> object:
        """The default of a field: a plain value, a ``Built`` section, ``UNKNOWN``, or ``MISSING`` where required."""
        key = (cls, name)
        if key not in self._defaults:
            self._steps = MAX_STEPS
            self._defaults[key] = self._default(cls, name)
        return self._defaults[key]

    def _default(self, cls: ConfigClass, name: str) -> object:
        decl = cls.fields[name]
        value = decl.node.value
        if value is None:
            return self._annotated_default(decl)
        if isinstance(value, ast.Constant) and value.value is ...:
            return MISSING
        if isinstance(value, ast.Call) and self._is_field(value.func, decl.owner):
            return self._field_default(value, decl.owner)
        return self.evaluate(value, decl.owner, 0)

    def _is_field(self, func: ast.expr, owner: Definition) -> bool:
        if _last(func) in {"Field", "field", "ib"}:
            return not isinstance(self.resolve(func, owner), Definition)
        found = self.resolve(func, owner) if isinstance(func, ast.Name) else None
        return isinstance(found, External) and found.name in {"pydantic.Field", "dataclasses.field"}

    def _annotated_default(self, decl: FieldDecl) -> object:
        annotation = decl.node.annotation
        if isinstance(annotation, ast.Subscript) and _last(annotation.value) == "Annotated":
            parts = annotation.slice.elts[1:] if isinstance(annotation.slice, ast.Tuple) else []
            for part in parts:
                if isinstance(part, ast.Call) and self._is_field(part.func, decl.owner):
                    found = self._field_default(part, decl.owner)
                    if found is not MISSING:
                        return found
        return MISSING

    def _field_default(self, call: ast.Call, owner: Definition) -> object:
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        # Under an alias the YAML key is another one than the attribute; what it sets is not told here.
        if None in keywords or {"alias", "validation_alias"} & keywords.keys():
            return UNKNOWN
        factory = keywords.get("default_factory", keywords.get("factory"))
        if factory is not None:
            return self._made(factory, owner)
        value = keywords.get("default", call.args[0] if call.args else None)
        if value is None or (isinstance(value, ast.Constant) and value.value is ...):
            return MISSING
        return self.evaluate(value, owner, 0)

    def _made(self, factory: ast.expr, owner: Definition) -> object:
        if isinstance(factory, ast.Lambda):
            return self.evaluate(factory.body, owner, 0) if not factory.args.args else UNKNOWN
        if isinstance(factory, ast.Call) and _last(factory.func) == "partial" and factory.args:
            inner = ast.Call(factory.args[0], factory.args[1:], factory.keywords)
            return self._call(inner, owner, 0)
        found = self.resolve(factory, owner)
        if isinstance(found, Definition) and isinstance(found.node, ast.FunctionDef):
            body = [statement for statement in found.node.body if not isinstance(statement, ast.Expr)]
            if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
                return self.evaluate(body[0].value, found, 0)
        return self._call(ast.Call(factory, [], []), owner, 0)

    def evaluate(self, node: ast.expr, owner: Definition, depth: int) -> object:
        """The value of an expression without running anything; ``UNKNOWN`` where that takes more than literals."""
        self._steps -= 1
        if depth > MAX_DEPTH or self._steps < 0:
            return UNKNOWN
        match node:
            case ast.Constant(value=value):
                return UNKNOWN if value is ... else value
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                number = self.evaluate(operand, owner, depth + 1)
                return -number if isinstance(number, int | float) else UNKNOWN
            case ast.BinOp():
                return self._arithmetic(node, owner, depth)
            case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
                items = [self.evaluate(item, owner, depth + 1) for item in elts]
                if any(item is UNKNOWN or isinstance(item, Built) for item in items):
                    return UNKNOWN
                return items if isinstance(node, ast.List | ast.Set) else tuple(items)
            case ast.Dict(keys=keys, values=values):
                names = [UNKNOWN if key is None else self.evaluate(key, owner, depth + 1) for key in keys]
                items = [self.evaluate(item, owner, depth + 1) for item in values]
                known = not any(item is UNKNOWN or isinstance(item, Built) for item in items)
                known = known and all(isinstance(name, str | int) for name in names)
                return dict(zip(names, items, strict=True)) if known else UNKNOWN
            case ast.Call():
                return self._call(node, owner, depth)
            case ast.Name() | ast.Attribute():
                found = self.resolve(node, owner)
                if isinstance(found, Definition) and isinstance(found.node, ast.expr):
                    return self.evaluate(found.node, found, depth + 4)
        return UNKNOWN

    def _arithmetic(self, node: ast.BinOp, owner: Definition, depth: int) -> object:
        left = self.evaluate(node.left, owner, depth + 1)
        right = self.evaluate(node.right, owner, depth + 1)
        apply = _ARITHMETIC.get(type(node.op))
        if apply is None or not isinstance(left, int | float) or not isinstance(right, int | float):
            return UNKNOWN
        if abs(left) > MAX_NUMBER or abs(right) > MAX_NUMBER:
            return UNKNOWN
        try:
            return apply(left, right)
        except (ArithmeticError, ValueError):
            return UNKNOWN

    def _call(self, call: ast.Call, owner: Definition, depth: int) -> object:
        found = self.resolve(call.func, owner)
        if found is None and not call.args and not call.keywords:
            make = _EMPTY.get(dotted_name(call.func) or "")
            return make() if make is not None else UNKNOWN
        cls = self.config_class(found) if isinstance(found, Definition) else None
        if cls is None or call.args or any(keyword.arg is None for keyword in call.keywords):
            return UNKNOWN
        values = {keyword.arg: self.evaluate(keyword.value, owner, depth + 4) for keyword in call.keywords}
        return Built(cls, {name: value for name, value in values.items() if name is not None})

    def shape(self, node: ast.expr, owner: Definition, depth: int = 0) -> Shape:
        """What an annotation in the body of ``owner`` allows. String annotations and aliases are looked through."""
        self._steps = MAX_STEPS if depth == 0 else self._steps - 1
        if depth > MAX_DEPTH or self._steps < 0:
            return _OPEN
        match node:
            case ast.Constant(value=None):
                return Shape(optional=True)
            case ast.Constant(value=str() as text):
                parsed = parse_annotation(text)
                return _OPEN if parsed is None else self.shape(parsed, owner, depth + 1)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                return self.shape(left, owner, depth + 1) | self.shape(right, owner, depth + 1)
            case ast.Subscript():
                return self._subscript(node, owner, depth)
            case ast.Name() | ast.Attribute():
                found = self.resolve(node, owner)
                if isinstance(found, Definition):
                    if isinstance(found.node, ast.expr):
                        return self.shape(found.node, found, depth + 4)
                    cls = self.config_class(found)
                    return _OPEN if cls is None else Shape((cls,))
        return _OPEN

    def _subscript(self, node: ast.Subscript, owner: Definition, depth: int) -> Shape:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        match _last(node.value):
            case "Optional":
                return self.shape(parts[0], owner, depth + 1) | Shape(optional=True)
            case "Union":
                shape = Shape()
                for part in parts:
                    shape |= self.shape(part, owner, depth + 1)
                return shape
            case "Annotated" | "Final" | "Required" | "NotRequired" | "ReadOnly":
                return self.shape(parts[0], owner, depth + 1)
            case "Literal":
                values = [part.value for part in parts if isinstance(part, ast.Constant)]
                return Shape(choices=tuple(values), is_open=len(values) < len(parts))
        found = self.resolve(node.value, owner)
        cls = self.config_class(found) if isinstance(found, Definition) else None
        return _OPEN if cls is None else Shape((cls,))


def parse_annotation(text: str) -> ast.expr | None:
    """A string annotation as an expression; None where it is not one."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _nested(node: ast.AST, name: str) -> ast.ClassDef | None:
    body = node.body if isinstance(node, ast.ClassDef) else []
    return next((inner for inner in body if isinstance(inner, ast.ClassDef) and inner.name == name), None)


def _own_fields(node: ast.ClassDef, owner: Definition) -> dict[str, FieldDecl]:
    fields: dict[str, FieldDecl] = {}
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
            marker = statement.annotation
            if not name.startswith("_") and name != "model_config" and _last(marker) != "ClassVar":
                fields[name] = FieldDecl(name, owner, statement)
    return fields


def _own_extra(node: ast.ClassDef) -> str | None:
    """The policy for unknown keys that the class itself sets, in any of pydantic's spellings."""
    found = _policy(node.keywords)
    for statement in node.body:
        if isinstance(statement, ast.ClassDef) and statement.name == "Config":
            for inner in statement.body:
                if isinstance(inner, ast.Assign) and _last(inner.targets[0]) == "extra":
                    found = _policy_value(inner.value)
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        target = statement.target if isinstance(statement, ast.AnnAssign) else targets[0] if targets else None
        if target is None or _last(target) != "model_config":
            continue
        if isinstance(value, ast.Call):
            found = _policy(value.keywords) or found
        elif isinstance(value, ast.Dict):
            for key, item in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "extra":
                    found = _policy_value(item)
    return found


def _policy(keywords: list[ast.keyword]) -> str | None:
    values = [_policy_value(keyword.value) for keyword in keywords if keyword.arg == "extra"]
    return values[0] if values else None


def _policy_value(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    name = _last(node)
    return name if name in {"forbid", "allow", "ignore"} else "unknown"
