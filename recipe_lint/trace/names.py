"""What a name or an attribute stands for, and how objects are called in reports."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, TypeGuard

import libcst as cst

from recipe_lint.read import imports
from recipe_lint.read.modules import ImportTarget, Module
from recipe_lint.trace.events import Site
from recipe_lint.trace.state import State
from recipe_lint.trace.values import (
    NONE,
    Boolean,
    ClassRef,
    Const,
    Element,
    External,
    Function,
    Kit,
    Method,
    ModuleRef,
    Modules,
    Obj,
    Parameter,
    Parameters,
    Partial,
    Super,
    Table,
    Value,
)

if TYPE_CHECKING:
    from recipe_lint.trace.frames import Frame
    from recipe_lint.trace.machine import Machine

_BUILTINS = frozenset(dir(builtins))


class Names:
    """Looks names up: local, enclosing, module, builtin; and attributes of values."""

    def __init__(self, machine: Machine) -> None:
        """Part of ``machine``."""
        self.machine = machine
        self._globals: dict[tuple[str, str], Value] = {}

    def name(self, node: cst.Name, state: State, frame: Frame) -> Value:
        """The value of a name. A local that is read before it is bound is noted."""
        text = node.value
        if text in state.env:
            return self.machine.single(state.env[text], state)
        if text in frame.local_names:
            self.machine.note("unbound", -1, Site(frame.segment, node), state, name=text)
            return self.machine.unknown(text)
        for scope in frame.scopes:
            if text in scope:
                return self.machine.single(scope[text], state)
        if text in frame.local_imports:
            return frame.local_imports[text]
        return self.module_name(frame.module, text)

    def module_name(self, module: Module, text: str) -> Value:
        """The value of a name at the top level of a module."""
        key = (module.display, text)
        if key not in self._globals:
            self._globals[key] = External(text) if text in _BUILTINS else self.machine.unknown(text)
            found = self.machine.project.resolve(module, text)
            if found is not None:
                self._globals[key] = self.resolved(found)
        return self._globals[key]

    def imported(self, module: Module, target: ImportTarget) -> Value:
        """The value that an import statement inside a function binds."""
        found = self.machine.project.resolve_import(module, target)
        return self.resolved(found) if found is not None else External(target.attribute or target.module)

    def resolved(self, found: imports.Resolved) -> Value:
        """The value of a resolved name."""
        if isinstance(found, imports.External):
            return External(found.name)
        if isinstance(found, Module):
            return ModuleRef(found)
        if isinstance(found.node, ast.ClassDef):
            return ClassRef(found.module, found.node)
        if isinstance(found.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return Function(found)
        return self._global_value(found)

    def _global_value(self, found: imports.Definition) -> Value:
        try:
            return self._literal(ast.literal_eval(found.node))
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            pass
        value = self._written(found.module, found.node) if isinstance(found.node, ast.expr) else None
        return value if value is not None else self.machine.new("unknown", found.name)

    def _written(self, module: Module, node: ast.expr) -> Value | None:
        """The value of an expression at the top level of a module: names, kits, and lists and tables of them."""
        match node:
            case ast.Constant(value=value):
                return Const(value)
            case ast.Name() | ast.Attribute() if _is_dotted(node):
                target = self.machine.project.resolve(module, ast.unparse(node))
                return self.resolved(target) if target is not None else None
            case ast.List(elts=items) | ast.Tuple(elts=items):
                values = [self._written(module, item) for item in items]
                return self.machine.expressions.sequence([self._or_unknown(value) for value in values])
            case ast.Dict(keys=keys, values=values):
                pairs = [(key.value, value) for key, value in zip(keys, values, strict=True) if _is_constant(key)]
                return Table(tuple((key, self._or_unknown(self._written(module, value))) for key, value in pairs))
            case ast.Call():
                return self._written_call(module, node)
        return None

    def _or_unknown(self, value: Value | None) -> Value:
        return value if value is not None else self.machine.unknown("item")

    def _written_call(self, module: Module, node: ast.Call) -> Value | None:
        called = self._written(module, node.func)
        if called is None:
            return None
        kit = self.machine.classes.kit_name(called)
        if kit is not None:
            return Kit(kit)
        if called == External("functools.partial") and node.args:
            first, *rest = (self._or_unknown(self._written(module, arg)) for arg in node.args)
            named = [(k.arg, self._or_unknown(self._written(module, k.value))) for k in node.keywords if k.arg]
            return Partial(first, tuple(rest), tuple(named))
        return None

    def _literal(self, value: object) -> Value:
        if isinstance(value, list | tuple):
            return self.machine.expressions.sequence([self._literal(item) for item in value])
        if isinstance(value, dict | set):
            return self.machine.new("plain", "literal")
        return Const(value)

    def attribute(self, receiver: Value, name: str, state: State, site: Site) -> Value:
        """``receiver.name`` for a single value."""
        machine = self.machine
        match receiver:
            case External(name=dotted):
                return External(f"{dotted}.{name}")
            case ModuleRef(module=module):
                found = machine.project.resolve(module, name)
                if found is None and module.path.name == "__init__.py":
                    found = machine.project.resolve_import(module, ImportTarget("", 1, name))
                return self.resolved(found) if found is not None else machine.unknown(name)
            case ClassRef():
                return machine.classes.class_attribute(receiver, name) or Method(receiver, name)
            case Super(receiver=instance, after=after):
                return machine.classes.lookup(instance, name, after) or Method(receiver, name)
            case Obj():
                return self._part(receiver, name, state, site)
            case Parameter(owner=owner):
                if name == "data":
                    return Parameter(owner, data=True)
                return Element(owner, f"parameter.{name}")
            case Element(owner=owner, label=label):
                return Element(owner, f"{label}.{name}")
        return Method(receiver, name)

    def _part(self, receiver: Obj, name: str, state: State, site: Site) -> Value:
        machine = self.machine
        held = self.held(receiver, name, state)
        if held is not None:
            return held
        if receiver.id in machine.record.classes and not receiver.path:
            found = machine.classes.instance_attribute(receiver, name, state, site)
            if found is not None:
                return found
            self._note_early_read(receiver, name, state, site)
        if name == "module" and receiver.view and not receiver.path:
            return Obj(receiver.id, (), 0, receiver.may)
        if name in ("module", "_orig_mod") and machine.info(receiver).origin not in ("self", "config"):
            return Obj(receiver.id, receiver.path, 0, receiver.may)
        return receiver.part(name)

    def _note_early_read(self, receiver: Obj, name: str, state: State, site: Site) -> None:
        """The engine's own model, read while no hook has kept one yet."""
        hooks = self.machine.protocol.library.hooks
        if any(hook.attribute == name for hook in hooks) and self.machine.info(receiver).origin == "self":
            self.machine.note("early-read", receiver.id, site, state, name=name)

    def held(self, receiver: Obj, name: str, state: State) -> Value | None:
        """What was stored at ``receiver.name``, if anything."""
        key = (receiver.id, ".".join((*receiver.path, name)))
        value = state.heap.get(key)
        return None if value is None else self.machine.single(value, state)

    def label(self, obj: Obj) -> str:
        """How reports call an object: ``model.compile.enabled`` for configuration, ``cfg.freeze`` for a parameter."""
        info = self.machine.info(obj)
        _, prefix = self.origin(obj)
        parts = [*prefix, *obj.path]
        if info.origin == "config" and parts:
            return ".".join(parts)
        return ".".join(["self" if info.origin == "self" else info.name or info.label, *obj.path])

    def origin(self, obj: Obj) -> tuple[int, tuple[str, ...]]:
        """The configuration root and path that an object is a copy of; itself where it is no copy."""
        return self.machine.record.prefixes.get(obj.id, (obj.id, ()))

    def subject(self, value: Value) -> tuple[str, str, str | None] | None:
        """Key, label and configuration path of a value that can be tested; None where it has no identity."""
        match value:
            case Obj():
                root, prefix = self.origin(value)
                dotted = ".".join((*prefix, *value.path))
                path = dotted if self.machine.info(root).origin == "config" else None
                return f"o{root}.{dotted}", self.label(value), path
            case External(name=name):
                return f"x.{name}", name, None
            case Method(receiver=receiver, name=name):
                inner = self.subject(receiver)
                return None if inner is None else (f"{inner[0]}.{name}", f"{inner[1]}.{name}", None)
            case Const(value=constant):
                return f"c.{constant!r}", repr(constant), None
        return None

    def elementwise(self, value: Value) -> bool:
        """Whether a value differs for each round of a loop over a model."""
        if isinstance(value, Element | Parameter):
            return True
        return isinstance(value, Obj) and "*" in value.path

    def describe(self, value: Value) -> str | None:
        """A stable text for a value that is used as an argument; None for values with effects behind them."""
        match value:
            case Obj():
                found = self.subject(value)
                return None if found is None or self.machine.is_model_like(value) else found[0]
            case Const() | External():
                found = self.subject(value)
                return None if found is None else found[0]
            case Boolean(guard=guard):
                return "b." + str(sorted(str(sorted(map(str, cube))) for cube in guard.cubes))
            case Parameters() | Modules() | Parameter():
                return None
        return None


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _is_constant(node: ast.expr | None) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant)


__all__ = ["NONE", "Names"]
