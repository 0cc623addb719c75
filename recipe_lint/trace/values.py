"""Abstract values: what the tracer knows of an expression's result."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from recipe_lint.read.imports import Definition
from recipe_lint.read.modules import Module
from recipe_lint.trace.guards import Guard

if TYPE_CHECKING:
    from recipe_lint.read.segments import Segment


@dataclass(frozen=True, slots=True)
class Const:
    """A known plain value: number, text, None, bool."""

    value: object


@dataclass(frozen=True, slots=True)
class Obj:
    """An object, or a part of one (``path``): a model, a submodule, a configuration section, anything opaque.

    ``view`` counts the wrappers around it in this reference: 0 is the module itself, a larger number the wrapper that
    some event returned. ``may`` marks a reference whose identity rests on an unresolved call.
    """

    id: int
    path: tuple[str, ...] = ()
    view: int = 0
    may: bool = False

    def part(self, name: str) -> Obj:
        """A named part; parts are views of the inner module."""
        return Obj(self.id, (*self.path, name), 0, self.may)


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of an object. ``named``: pairs with names; ``trainable``: filtered on ``requires_grad``."""

    owner: Obj
    named: bool = False
    trainable: bool = False


@dataclass(frozen=True, slots=True)
class Modules:
    """The submodules of an object: ``modules()``, ``children()`` and their named forms."""

    owner: Obj
    named: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an object: a loop variable over ``parameters()``."""

    owner: Obj
    data: bool = False


@dataclass(frozen=True, slots=True)
class Element:
    """Something that differs for each round of a loop over a model: a parameter's name, a module's name."""

    owner: Obj
    label: str


@dataclass(frozen=True, slots=True)
class Boolean:
    """The result of a test."""

    guard: Guard


@dataclass(frozen=True, slots=True)
class External:
    """A name outside the project, dotted."""

    name: str


@dataclass(frozen=True, slots=True)
class Kit:
    """An instance of a kit of the protocol, by class name."""

    name: str


@dataclass(frozen=True, eq=False)
class Closure:
    """A nested function or lambda with the names around it."""

    segment: Segment
    node: cst.FunctionDef | cst.Lambda
    scope: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Function:
    """A project function or method; ``receiver`` is the bound first argument."""

    definition: Definition
    owner: ClassRef | None = None
    receiver: Value | None = None


@dataclass(frozen=True, slots=True)
class ClosureRef:
    """A reference to a closure; compared by identity."""

    closure: Closure


@dataclass(frozen=True, slots=True)
class Method:
    """A bound method that is no project function: ``receiver.name``."""

    receiver: Value
    name: str


@dataclass(frozen=True, slots=True)
class Partial:
    """``functools.partial`` of a callable."""

    function: Value
    args: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class ClassRef:
    """A class of the project."""

    module: Module
    node: ast.ClassDef

    def __hash__(self) -> int:
        return id(self.node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClassRef) and other.node is self.node

    @property
    def name(self) -> str:
        """The class's own name."""
        return self.node.name


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A module of the project."""

    module: Module

    def __hash__(self) -> int:
        return id(self.module)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleRef) and other.module is self.module


@dataclass(frozen=True, slots=True)
class Super:
    """``super()`` in a method of ``after`` for ``receiver``."""

    receiver: Obj
    after: ClassRef


@dataclass(frozen=True, slots=True)
class Sequence:
    """A tuple, or the content of a list; each item with the guard under which it is there."""

    items: tuple[tuple[Guard, Value], ...]
    open: bool = False


@dataclass(frozen=True, slots=True)
class ListRef:
    """A mutable list; its content lives in the state."""

    id: int


@dataclass(frozen=True, slots=True)
class Table:
    """A dict with constant keys."""

    items: tuple[tuple[object, Value], ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of several values, each under its guard."""

    options: tuple[tuple[Guard, Value], ...]


Value = (
    Const
    | Obj
    | Parameters
    | Modules
    | Parameter
    | Element
    | Boolean
    | External
    | Kit
    | Function
    | ClosureRef
    | Method
    | Partial
    | ClassRef
    | ModuleRef
    | Super
    | Sequence
    | ListRef
    | Table
    | Alternatives
)

NONE = Const(None)


def options_of(value: Value) -> tuple[tuple[Guard, Value], ...] | None:
    """The alternatives of ``value``, or None where it is a single one."""
    return value.options if isinstance(value, Alternatives) else None
