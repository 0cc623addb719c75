"""What is traced: engine classes, and functions outside engines that take two or more protocol steps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from recipe_lint.protocol.model import Protocol
from recipe_lint.read.imports import Definition, External, Project
from recipe_lint.read.modules import FunctionNode, Module
from recipe_lint.trace.relevance import Relevance

_TEST_FILE = re.compile(r"^(test_.*|.*_test|conftest)\.py$")
_NO_STEPS = frozenset({"kit", "copy"})
_ENGINE_WORDS = rb"prepare_model|Engine\b"


@dataclass(frozen=True)
class EngineRoot:
    """An engine class that has ``prepare_model``, its own or inherited."""

    module: Module
    node: ast.ClassDef


@dataclass(frozen=True)
class FunctionRoot:
    """A function or method that may take two steps, with the class that holds it; ``node`` None is the module body."""

    module: Module
    node: FunctionNode | None
    owner: ast.ClassDef | None
    named: bool = False


class Roots:
    """Finds roots in the files of one project."""

    def __init__(self, project: Project, protocol: Protocol, relevance: Relevance, names: tuple[str, ...]) -> None:
        """``names`` are functions that are roots even with one step."""
        self.project = project
        self.protocol = protocol
        self.relevance = relevance
        self.names = frozenset(names)

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        words = sorted((re.escape(word.encode()) for word in self.relevance.words), key=len, reverse=True)
        words += [pattern.pattern.encode() for pattern, _ in self.relevance.patterns]
        return re.compile(_ENGINE_WORDS + b"|" + rb"\b(?:" + b"|".join(words) + rb")\b")

    def candidates(self, paths: Iterable[Path]) -> list[Module]:
        """The modules that may hold a root, found by their bytes before anything is parsed."""
        found = []
        for path in paths:
            if self.project.mentions(path, self._pattern):
                module = self.project.load(path)
                if module is not None:
                    found.append(module)
        return found

    def engines(self, modules: Iterable[Module]) -> list[EngineRoot]:
        """The engine classes defined in ``modules``."""
        return [
            EngineRoot(module, node)
            for module in modules
            for node in module.classes.values()
            if self._is_engine(module, node, frozenset()) and not self._is_library(module, node.name)
        ]

    def functions(self, modules: Iterable[Module], engines: Iterable[EngineRoot]) -> list[FunctionRoot]:
        """Functions, methods and module bodies with two or more steps that no other such function calls."""
        classes = {id(engine.node) for engine in engines}
        found: list[FunctionRoot] = []
        for module in modules:
            if _TEST_FILE.match(module.path.name) or self._is_library(module, ""):
                continue
            for function, owner in _functions(module):
                if owner is not None and (id(owner) in classes or self._is_engine(module, owner, frozenset())):
                    continue
                steps = self.relevance.of_function(module, function, owner) - _NO_STEPS
                named = function.name in self.names
                if len(steps) >= 2 or named:
                    found.append(FunctionRoot(module, function, owner, named))
            if len(self.relevance.of_body(module) - _NO_STEPS) >= 2:
                found.append(FunctionRoot(module, None, None))
        called = {
            callee
            for root in found
            for callee in self.relevance.reached(root.module, root.node or root.module.tree, root.owner)
        }
        return [root for root in found if root.node is None or root.named or id(root.node) not in called]

    def _is_engine(self, module: Module, node: ast.ClassDef, seen: frozenset[int]) -> bool:
        if id(node) in seen:
            return False
        for item in node.body:
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and item.name == "prepare_model":
                return _is_hook(item)
        for base in node.bases:
            target = self.project.resolve(module, ast.unparse(base)) if _is_name(base) else None
            if isinstance(target, Definition) and isinstance(target.node, ast.ClassDef):
                if self._is_library(target.module, target.name):
                    continue
                if self._is_engine(target.module, target.node, seen | {id(node)}):
                    return True
            elif isinstance(target, External):
                continue
        return False

    def _is_library(self, module: Module, name: str) -> bool:
        return self.project.dotted_name(module, name).split(".")[0] in self.protocol.library.packages


def _is_name(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _is_hook(item: FunctionNode) -> bool:
    """A hook is called with the engine alone: further parameters need defaults; an abstract one builds nothing."""
    arguments = item.args
    required = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    abstract = any(ast.unparse(d).endswith("abstractmethod") for d in item.decorator_list)
    return required <= 1 and not abstract and not any(d is None for d in arguments.kw_defaults)


def _functions(module: Module) -> list[tuple[FunctionNode, ast.ClassDef | None]]:
    found: list[tuple[FunctionNode, ast.ClassDef | None]] = [
        (node, None) for node in module.functions.values() if not node.name.startswith("test_")
    ]
    for cls in module.classes.values():
        found += [
            (item, cls)
            for item in cls.body
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and not item.name.startswith("test_")
        ]
    return found
