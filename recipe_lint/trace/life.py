"""The life of an engine: the order in which the base engine calls the hooks, and what it keeps of their results."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from recipe_lint.trace.events import Site
from recipe_lint.trace.guards import ALWAYS
from recipe_lint.trace.state import State
from recipe_lint.trace.values import ClassRef, Function, Obj, Value

if TYPE_CHECKING:
    from recipe_lint.trace.machine import Machine


class Life:
    """Runs an engine's hooks in the order of its life."""

    def __init__(self, machine: Machine, cls: ClassRef, extra_hooks: tuple[str, ...]) -> None:
        """``extra_hooks`` run after the standard life, before the training step."""
        self.machine = machine
        self.cls = cls
        self.extra_hooks = extra_hooks
        self.ran: list[str] = []
        self.ended = ALWAYS

    def run(self) -> None:
        """Trace the whole life."""
        machine = self.machine
        engine = machine.new("self", self.cls.name)
        machine.record.classes[engine.id] = self.cls
        state = State(ALWAYS)
        state.heap[(engine.id, "config")] = machine.new("config", "config")
        self._hook("__init__", engine, state)
        library = machine.protocol.library
        own = machine.classes.method(self.cls, library.life, engine)
        if own is not None:
            self._hook(library.life, engine, state)
        else:
            self.standard(engine, state, None)
        for name in self.extra_hooks:
            self._hook(name, engine, state)
        for name in library.steps:
            self._hook(name, engine, state)

    def standard(self, engine: Obj, state: State, site: Site | None) -> None:
        """The base engine's own order of the hooks."""
        for hook in self.machine.protocol.library.hooks:
            value = self._hook(hook.name, engine, state, site)
            if value is not None and hook.attribute:
                self._keep(engine, hook.attribute, value, hook.name, state)

    def _keep(self, engine: Obj, attribute: str, value: Value, hook: str, state: State) -> None:
        state.heap[(engine.id, attribute)] = value
        site = self._site(hook, engine)
        if site is None:
            return
        held = self.machine.hook
        self.machine.hook = hook
        ended = state.fork(self.ended)
        self.machine.note("result", engine.id, site, ended, attribute=attribute, value=value)
        self.machine.hook = held

    def _site(self, hook: str, engine: Obj) -> Site | None:
        method = self.machine.classes.method(self.cls, hook, engine)
        if method is None or not isinstance(method.definition.node, ast.FunctionDef):
            return None
        segment = self.machine.segment(method.definition.module, method.definition.node, method.definition.name)
        return Site(segment, segment.function.name) if segment.function is not None else None

    def _hook(self, name: str, engine: Obj, state: State, site: Site | None = None) -> Value | None:
        machine = self.machine
        method = machine.classes.method(self.cls, name, engine)
        if method is None or not self._matters(method, name):
            return None
        outer, machine.hook = machine.hook, name
        if name not in self.ran:
            self.ran.append(name)
        segment = machine.segment(method.definition.module, method.definition.node, method.definition.name)  # type: ignore[arg-type]
        value = self._enter(method, Site(segment, segment.function), state, site)  # type: ignore[arg-type]
        machine.hook = outer
        return value

    def _enter(self, method: Function, own: Site, state: State, site: Site | None) -> Value:
        machine = self.machine
        chain = list(machine.chain)
        if site is None:
            machine.chain = []
        value = machine.functions.call(method, [], {}, site or own, state)
        machine.chain = chain
        self.ended = state.guard
        # The next hook runs only where this one returned, so what it ended on is no condition of the next.
        state.guard, state.exit = ALWAYS, ""
        return value

    def _matters(self, method: Function, name: str) -> bool:
        if name in ("__init__", "prepare_model", "prepare_optimizer", self.machine.protocol.library.life):
            return True
        definition = method.definition
        return bool(self.machine.relevance.of(definition.module, definition.node, self.cls) - {"kit"})
