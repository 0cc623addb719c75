"""Classes of the project: method resolution order, attributes, instances, kits."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from recipe_lint.read import imports
from recipe_lint.trace.events import Site
from recipe_lint.trace.state import State
from recipe_lint.trace.values import ClassRef, Const, External, Function, Kit, Obj, Value

if TYPE_CHECKING:
    from recipe_lint.trace.machine import Machine


class Classes:
    """Looks up methods and class attributes through bases, in the project and at its edge."""

    def __init__(self, machine: Machine) -> None:
        """Part of ``machine``."""
        self.machine = machine
        self._orders: dict[int, tuple[ClassRef | External, ...]] = {}

    def order(self, cls: ClassRef) -> tuple[ClassRef | External, ...]:
        """The method resolution order; bases that are not in the project stand as external names."""
        key = id(cls.node)
        if key not in self._orders:
            self._orders[key] = (cls,)
            found: list[ClassRef | External] = [cls]
            for base in self._bases(cls):
                line = self.order(base) if isinstance(base, ClassRef) else (base,)
                # A base shared by two parents comes after both, as in C3.
                found = [item for item in found if item not in line] + list(line)
            self._orders[key] = tuple(found)
        return self._orders[key]

    def _bases(self, cls: ClassRef) -> list[ClassRef | External]:
        bases: list[ClassRef | External] = []
        for node in cls.node.bases:
            target = node.value if isinstance(node, ast.Subscript) else node
            if not isinstance(target, ast.Name | ast.Attribute):
                continue
            dotted = ast.unparse(target)
            found = self.machine.project.resolve(cls.module, dotted)
            if isinstance(found, imports.Definition) and isinstance(found.node, ast.ClassDef):
                if not self.in_library(found):
                    bases.append(ClassRef(found.module, found.node))
                else:
                    bases.append(External(self.dotted(found)))
            elif isinstance(found, imports.External):
                bases.append(External(found.name))
            else:
                bases.append(External(dotted))
        return bases

    def dotted(self, definition: imports.Definition) -> str:
        """Dotted name of a project definition."""
        return self.machine.project.dotted(definition)

    def in_library(self, definition: imports.Definition) -> bool:
        """Whether a definition belongs to a package that is known from the protocol instead of being opened."""
        return self.dotted(definition).split(".")[0] in self.machine.protocol.library.packages

    def kit_name(self, value: Value) -> str | None:
        """The kit class that a class value is or derives from, by name."""
        kits = self.machine.protocol.kits
        if isinstance(value, External):
            last = value.name.rsplit(".", 1)[-1]
            return last if last in kits else None
        if isinstance(value, ClassRef):
            for base in self.order(value):
                name = base.name.rsplit(".", 1)[-1]
                if name in kits:
                    return name
        return None

    def is_module_class(self, cls: ClassRef) -> bool:
        """Whether a class is a ``torch.nn.Module``, as far as its bases tell."""
        return any(
            isinstance(base, External) and base.name.rsplit(".", 1)[-1].endswith(("Module", "Model", "PreTrainedModel"))
            for base in self.order(cls)
        )

    def lookup(self, receiver: Obj, name: str, after: ClassRef | None = None) -> Function | None:
        """The method ``name`` of an instance, searched after ``after`` for ``super()``."""
        cls = self.machine.record.classes.get(receiver.id)
        if cls is None:
            return None
        return self.method(cls, name, receiver, after)

    def method(self, cls: ClassRef, name: str, receiver: Obj, after: ClassRef | None = None) -> Function | None:
        """The method ``name`` along the resolution order of ``cls``, bound to ``receiver``."""
        order = self.order(cls)
        if after is not None and after in order:
            order = order[order.index(after) + 1 :]
        for base in order:
            if not isinstance(base, ClassRef):
                continue
            for node in base.node.body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
                    definition = imports.Definition(base.module, f"{base.name}.{name}", node)
                    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
                    return Function(definition, base, None if static else receiver)
        return None

    def class_attribute(self, cls: ClassRef, name: str) -> Value | None:
        """A class-level assignment, or a function taken from the class itself."""
        for base in self.order(cls):
            if not isinstance(base, ClassRef):
                continue
            for node in base.node.body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
                    return Function(imports.Definition(base.module, f"{base.name}.{name}", node), base, None)
                value = _class_value(node, name)
                if value is not None:
                    return self.machine.names.resolved(imports.Definition(base.module, f"{base.name}.{name}", value))
        return None

    def annotation(self, cls: ClassRef, name: str) -> str | None:
        """The last part of the annotation of ``name`` in the class bodies."""
        for base in self.order(cls):
            if not isinstance(base, ClassRef):
                continue
            for node in base.node.body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
                    text = node.annotation.value if isinstance(node.annotation, ast.Constant) else None
                    written = text if isinstance(text, str) else ast.unparse(node.annotation)
                    return written.split("|")[0].strip().rsplit(".", 1)[-1]
        return None

    def instance_attribute(self, receiver: Obj, name: str, state: State, site: Site) -> Value | None:
        """A method, property, class attribute or annotated kit of an instance; None where the class has none."""
        cls = self.machine.record.classes[receiver.id]
        method = self.method(cls, name, receiver)
        if method is not None:
            if self._is_property(method):
                return self.machine.functions.call(method, [], {}, site, state)
            return method
        value = self.class_attribute(cls, name)
        if value is not None:
            return value
        annotated = self.annotation(cls, name)
        if annotated in self.machine.protocol.kits:
            return Kit(annotated)
        return None

    def _is_property(self, method: Function) -> bool:
        node = method.definition.node
        if not isinstance(node, ast.FunctionDef):
            return False
        names = (ast.unparse(d).rsplit(".", 1)[-1] for d in node.decorator_list)
        return any(name in ("property", "cached_property") for name in names)

    def instantiate(
        self, cls: ClassRef, args: list[Value], keywords: dict[str, Value], site: Site, state: State
    ) -> Value:
        """``cls(...)``: a kit, or an instance whose ``__init__`` is walked when it matters to the protocol."""
        machine = self.machine
        kit = self.kit_name(cls)
        definition = imports.Definition(cls.module, cls.name, cls.node)
        if self.in_library(definition):
            if kit is not None:
                return Kit(kit)
            return machine.calls.external(self.dotted(definition), args, keywords, site, state)
        instance = machine.new("kit" if kit else "instance", kit or cls.name)
        machine.record.classes[instance.id] = cls
        init = self.method(cls, "__init__", instance)
        handed = any(machine.calls.carries_model(value) for value in (*args, *keywords.values()))
        if init is not None and (handed or machine.relevance.of_class(cls.module, cls.node)):
            machine.functions.call(init, args, keywords, site, state)
        return instance

    def constant(self, cls: ClassRef, name: str) -> object:
        """A constant class attribute, None where it is something else."""
        value = self.class_attribute(cls, name)
        return value.value if isinstance(value, Const) else None


def _class_value(node: ast.stmt, name: str) -> ast.expr | None:
    match node:
        case ast.Assign(targets=targets, value=value):
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                return value
        case ast.AnnAssign(target=ast.Name(id=found), value=ast.expr() as value) if found == name:
            return value
        case _:
            pass
    return None


def call_node(site: Site) -> cst.Call | None:
    """The call at a site, if it is one."""
    return site.node if isinstance(site.node, cst.Call) else None
