"""Which functions can matter: found on ``ast``, by the protocol's words, through calls that resolve in the project.

A function is opened by the tracer only when it can take a protocol step, or is handed a model.
"""

from __future__ import annotations

import ast

from recipe_lint.protocol.model import Protocol
from recipe_lint.read.imports import Definition, Project
from recipe_lint.read.modules import FunctionNode, Module
from recipe_lint.read.segments import Segment
from recipe_lint.trace.values import ClassRef

_STATE_WORDS = {"requires_grad": "freeze", "requires_grad_": "freeze"}


class Relevance:
    """Answers for one run; each function is looked at once."""

    def __init__(self, project: Project, protocol: Protocol) -> None:
        """``project`` resolves callees, ``protocol`` gives the words."""
        self.project = project
        self.words = _words(protocol)
        self._found: dict[int, frozenset[str]] = {}
        self._segments: dict[int, Segment] = {}
        self._names: dict[int, frozenset[str]] = {}
        self._called: dict[int, list[tuple[Module, ast.AST, ast.ClassDef | None]]] = {}

    def segment(self, module: Module, node: FunctionNode | None, qualname: str) -> Segment:
        """The segment of a definition, shared by all traces of the run."""
        key = id(node) if node is not None else id(module)
        if key not in self._segments:
            self._segments[key] = Segment(module, node, qualname)
        return self._segments[key]

    def of(self, module: Module, node: ast.AST, owner: ClassRef | None = None) -> frozenset[str]:
        """The protocol steps whose words stand in a function or in what it calls."""
        return self._closure(module, node, owner.node if owner is not None else None, frozenset())

    def of_class(self, module: Module, node: ast.ClassDef) -> frozenset[str]:
        """The same for constructing a class."""
        found: frozenset[str] = frozenset()
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                found |= self._closure(module, item, node, frozenset())
        return found

    def of_function(self, module: Module, node: FunctionNode, owner: ast.ClassDef | None) -> frozenset[str]:
        """The same for a function or method by its syntax nodes."""
        return self._closure(module, node, owner, frozenset())

    def of_body(self, module: Module) -> frozenset[str]:
        """The same for the statements at the top level of a module, definitions and imports left out."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
        body: list[ast.stmt] = [node for node in module.tree.body if not isinstance(node, kinds)]
        found: frozenset[str] = frozenset()
        for node in body:
            if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
                continue
            found |= self.own(node)
        return found

    def reached(self, module: Module, node: ast.AST, owner: ast.ClassDef | None) -> frozenset[int]:
        """Identities of all function nodes that a node calls, directly or not, itself left out."""
        found: set[int] = set()
        pending = list(self._callees(module, node, owner))
        while pending:
            callee_module, callee, cls = pending.pop()
            if id(callee) in found or callee is node:
                continue
            found.add(id(callee))
            pending += self._callees(callee_module, callee, cls)
        return frozenset(found)

    def own(self, node: ast.AST) -> frozenset[str]:
        """The steps whose words stand in the node itself."""
        found = set()
        for item in ast.walk(node):
            name = _name(item)
            if name is not None and name in self.words:
                found.add(self.words[name])
        return frozenset(found)

    def _closure(
        self, module: Module, node: ast.AST, owner: ast.ClassDef | None, seen: frozenset[int]
    ) -> frozenset[str]:
        if id(node) in self._found:
            return self._found[id(node)]
        if id(node) in seen or len(seen) > 400:
            return frozenset()
        seen |= {id(node)}
        found = set(self.own(node))
        for callee_module, callee, cls in self._callees(module, node, owner):
            found |= self._closure(callee_module, callee, cls, seen)
        result = frozenset(found)
        if len(seen) == 1:
            self._found[id(node)] = result
        return result

    def _callees(
        self, module: Module, node: ast.AST, owner: ast.ClassDef | None
    ) -> list[tuple[Module, ast.AST, ast.ClassDef | None]]:
        key = id(node)
        if key not in self._called:
            self._called[key] = self._find_callees(module, node, owner)
        return self._called[key]

    def _find_callees(
        self, module: Module, node: ast.AST, owner: ast.ClassDef | None
    ) -> list[tuple[Module, ast.AST, ast.ClassDef | None]]:
        found: dict[int, tuple[Module, ast.AST, ast.ClassDef | None]] = {}
        if id(module) not in self._names:
            self._names[id(module)] = _bound(module)
        bound = self._names[id(module)]
        for item in ast.walk(node):
            dotted = _dotted(item)
            if dotted is None:
                continue
            if dotted.startswith(("self.", "super().")) and owner is not None:
                name = dotted.split(".")[1]
                for method in owner.body:
                    if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.name == name:
                        found[id(method)] = (module, method, owner)
                continue
            target = self.project.resolve(module, dotted) if dotted.split(".")[0] in bound else None
            if isinstance(target, Definition) and not _library(target):
                inner = target.node
                if isinstance(inner, ast.ClassDef):
                    for method in inner.body:
                        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                            found[id(method)] = (target.module, method, inner)
                elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    found[id(inner)] = (target.module, inner, None)
        return list(found.values())


def _bound(module: Module) -> frozenset[str]:
    return frozenset((*module.imports, *module.functions, *module.classes, *module.assigns))


def _library(target: Definition) -> bool:
    return "mvp_engine" in target.module.path.parts and "recipes" not in target.module.path.parts


def _name(item: ast.AST) -> str | None:
    if isinstance(item, ast.Attribute):
        return item.attr
    if isinstance(item, ast.Name):
        return item.id
    return item.name.rsplit(".", 1)[-1] if isinstance(item, ast.alias) else None


def _dotted(item: ast.AST) -> str | None:
    """The dotted name of a reference: a call's function, or a function passed by name."""
    parts: list[str] = []
    while isinstance(item, ast.Attribute):
        parts.append(item.attr)
        item = item.value
    if isinstance(item, ast.Name):
        parts.append(item.id)
    elif isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id == "super":
        parts.append("super()")
    else:
        return None
    return ".".join(reversed(parts))


def _words(protocol: Protocol) -> dict[str, str]:
    words = dict(_STATE_WORDS)
    for name, step in protocol.steps.items():
        for method in step.kit:
            words[method] = name
        for spec in (*step.calls, *step.methods):
            last = spec.name.rsplit(".", 1)[-1]
            if "*" not in last:
                words[last] = name
    words |= {"from_pretrained": "load", "from_config": "load"}
    words |= dict.fromkeys(protocol.kits, "kit")
    for optimizer in ("AdamW", "Adam", "SGD", "Adafactor", "Lion", "Muon"):
        words[optimizer] = "optimizer"
    words |= {"prepare": "parallelize", "deepcopy": "copy"}
    return words
