"""Which functions can matter: found on ``ast``, by the protocol's words, through calls that resolve in the project.

A function is opened by the tracer only when it can take a protocol step, or is handed a model.
"""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from recipe_lint.protocol.model import Protocol
from recipe_lint.read.imports import Definition, Project
from recipe_lint.read.modules import FunctionNode, Module
from recipe_lint.read.segments import Segment
from recipe_lint.trace.values import ClassRef

MAX_DEPTH = 400

DATA_CAST = "p.data = cast"

_STATE_WORDS = {DATA_CAST: "upcast", "requires_grad": "freeze", "requires_grad_": "freeze"}


_Owner = tuple[Module, ast.ClassDef]
_Callee = tuple[Module, ast.AST, _Owner | None]


class _Words(NamedTuple):
    names: frozenset[str]
    dotted: frozenset[str]


class Relevance:
    """Answers for one run; each function is looked at once."""

    def __init__(self, project: Project, protocol: Protocol) -> None:
        """``project`` resolves callees, ``protocol`` gives the words."""
        self.project = project
        self.words = _words(protocol)
        self.patterns = _patterns(protocol)
        self._plain: set[str] = set()
        self._found: dict[tuple[int, int], frozenset[str]] = {}
        self._scanned: dict[int, _Words] = {}
        self._segments: dict[int, Segment] = {}
        self._names: dict[int, frozenset[str]] = {}
        self._called: dict[tuple[int, int], list[_Callee]] = {}

    def segment(self, module: Module, node: FunctionNode | None, qualname: str) -> Segment:
        """The segment of a definition, shared by all traces of the run."""
        key = id(node) if node is not None else id(module)
        if key not in self._segments:
            self._segments[key] = Segment(module, node, qualname)
        return self._segments[key]

    def of(self, module: Module, node: ast.AST, owner: ClassRef | None = None) -> frozenset[str]:
        """The protocol steps whose words stand in a function or in what it calls."""
        return self._closure(module, node, (owner.module, owner.node) if owner is not None else None, frozenset())

    def of_class(self, module: Module, node: ast.ClassDef) -> frozenset[str]:
        """The same for constructing a class."""
        method = self._method((module, node), "__init__", frozenset())
        return self._closure(*method, (module, node), frozenset()) if method is not None else frozenset()

    def of_function(self, module: Module, node: FunctionNode, owner: ast.ClassDef | None) -> frozenset[str]:
        """The same for a function or method by its syntax nodes."""
        return self._closure(module, node, (module, owner) if owner is not None else None, frozenset())

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
        pending = list(self._callees(module, node, (module, owner) if owner is not None else None))
        while pending:
            callee_module, callee, cls = pending.pop()
            if id(callee) in found or callee is node:
                continue
            found.add(id(callee))
            pending += self._callees(callee_module, callee, cls)
        return frozenset(found)

    def step_of(self, name: str) -> str | None:
        """The step that a bare name may stand for."""
        if name not in self.words and name not in self._plain:
            step = next((step for pattern, step in self.patterns if pattern.fullmatch(name)), None)
            if step is None:
                self._plain.add(name)
            else:
                self.words[name] = step
        return self.words.get(name)

    def own(self, node: ast.AST) -> frozenset[str]:
        """The steps whose words stand in the node itself."""
        steps = (self.step_of(name) for name in self._scan(node).names)
        return frozenset(step for step in steps if step is not None)

    def _scan(self, node: ast.AST) -> _Words:
        if id(node) not in self._scanned:
            self._scanned[id(node)] = _scan(node)
        return self._scanned[id(node)]

    def _closure(self, module: Module, node: ast.AST, owner: _Owner | None, seen: frozenset[int]) -> frozenset[str]:
        key = (id(node), id(owner[1]) if owner is not None else 0)
        if key in self._found:
            return self._found[key]
        if id(node) in seen or len(seen) > MAX_DEPTH:
            return frozenset()
        seen |= {id(node)}
        found = set(self.own(node))
        for callee_module, callee, cls in self._callees(module, node, owner):
            found |= self._closure(callee_module, callee, cls, seen)
        result = frozenset(found)
        if len(seen) == 1:
            self._found[key] = result
        return result

    def _callees(self, module: Module, node: ast.AST, owner: _Owner | None) -> list[_Callee]:
        key = (id(node), id(owner[1]) if owner is not None else 0)
        if key not in self._called:
            self._called[key] = self._find_callees(module, node, owner)
        return self._called[key]

    def _find_callees(self, module: Module, node: ast.AST, owner: _Owner | None) -> list[_Callee]:
        found: dict[int, _Callee] = {}
        if id(module) not in self._names:
            self._names[id(module)] = _bound(module)
        bound = self._names[id(module)]
        for dotted in self._scan(node).dotted:
            head, _, rest = dotted.partition(".")
            if head in ("self", "super()") and owner is not None:
                method = self._method(owner, rest.split(".")[0], frozenset())
                if method is not None:
                    found[id(method[1])] = (*method, owner)
                continue
            target = self.project.resolve(module, dotted) if head in bound else None
            if isinstance(target, Definition) and not _library(target):
                callee = self._opened(target)
                if callee is not None:
                    found[id(callee[1])] = callee
        return list(found.values())

    def _opened(self, target: Definition) -> _Callee | None:
        """The function that calling a definition runs."""
        if isinstance(target.node, ast.ClassDef):
            owner = (target.module, target.node)
            method = self._method(owner, "__init__", frozenset())
            return None if method is None else (*method, owner)
        if isinstance(target.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return target.module, target.node, None
        return None

    def _method(self, owner: _Owner, name: str, seen: frozenset[int]) -> tuple[Module, ast.AST] | None:
        """A method by name, in the class or its bases."""
        module, cls = owner
        if id(cls) in seen:
            return None
        for item in cls.body:
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and item.name == name:
                return module, item
        for base in cls.bases:
            if isinstance(base, ast.Name | ast.Attribute):
                target = self.project.resolve(module, ast.unparse(base))
                if isinstance(target, Definition) and isinstance(target.node, ast.ClassDef) and not _library(target):
                    found = self._method((target.module, target.node), name, seen | {id(cls)})
                    if found is not None:
                        return found
        return None


def _bound(module: Module) -> frozenset[str]:
    return frozenset((*module.imports, *module.functions, *module.classes, *module.assigns))


def _library(target: Definition) -> bool:
    return "mvp_engine" in target.module.path.parts and "recipes" not in target.module.path.parts


def _scan(node: ast.AST) -> _Words:
    """All names and dotted references in a node, each chain of attributes taken once."""
    names: set[str] = set()
    dotted: set[str] = set()
    pending: list[ast.AST] = [node]
    while pending:
        item = pending.pop()
        parts: list[str] = []
        while isinstance(item, ast.Attribute):
            parts.append(item.attr)
            item = item.value
        names.update(parts)
        if isinstance(item, ast.Name):
            names.add(item.id)
            dotted.add(".".join([item.id, *reversed(parts)]))
        elif parts and isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id == "super":
            dotted.add(".".join(["super()", *reversed(parts)]))
        elif isinstance(item, ast.Assign) and _casts_data(item):
            names.add(DATA_CAST)
            pending.extend(ast.iter_child_nodes(item))
        elif isinstance(item, ast.alias):
            names.add(item.name.rsplit(".", 1)[-1])
        else:
            pending.extend(ast.iter_child_nodes(item))
    return _Words(frozenset(names), frozenset(dotted))


def _casts_data(item: ast.Assign) -> bool:
    """``parameter.data = parameter.data.float()``: an upcast that no word of the protocol names."""
    to_data = any(isinstance(target, ast.Attribute) and target.attr == "data" for target in item.targets)
    return to_data and isinstance(item.value, ast.Call) and isinstance(item.value.func, ast.Attribute)


def _patterns(protocol: Protocol) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Steps whose calls are named by a pattern: ``apply_liger_kernel_to_*``."""
    found: list[tuple[re.Pattern[str], str]] = []
    for name, step in protocol.steps.items():
        for spec in step.calls:
            last = spec.name.rsplit(".", 1)[-1]
            if "*" in last and last != "*":
                found.append((re.compile(r"\w*".join(re.escape(piece) for piece in last.split("*"))), name))
    return tuple(found)


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
