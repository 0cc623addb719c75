"""Calls into functions of the project: the callee is walked in place, with its arguments bound."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

import libcst as cst

from recipe_lint.read.modules import FunctionNode
from recipe_lint.read.segments import Segment, SegmentError
from recipe_lint.trace.events import Site
from recipe_lint.trace.guards import ALWAYS
from recipe_lint.trace.state import State, alternatives, join
from recipe_lint.trace.values import NONE, ClassRef, ClosureRef, Function, Obj, Sequence, Table, Value

if TYPE_CHECKING:
    from recipe_lint.trace.machine import Machine

MAX_DEPTH = 250


class Functions:
    """Binds arguments and walks callees."""

    def __init__(self, machine: Machine) -> None:
        """Part of ``machine``."""
        self.machine = machine

    def call(
        self, function: Function, args: list[Value], keywords: Mapping[str, Value], site: Site, state: State
    ) -> Value:
        """Walk a project function. A recursion, an unreadable callee or one too deep is an unknown call."""
        machine = self.machine
        definition = function.definition
        node = definition.node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return machine.unknown(definition.name)
        if id(node) in machine.stack:
            return machine.calls.unresolved(site, args, keywords, state, f"{definition.name} calls itself")
        if len(machine.stack) >= MAX_DEPTH:
            return machine.calls.unresolved(site, args, keywords, state, "calls are nested too deeply")
        segment = machine.segment(definition.module, node, definition.name)
        try:
            parsed = segment.function
        except SegmentError as error:
            return machine.calls.unresolved(site, args, keywords, state, str(error))
        if parsed is None:
            return machine.unknown(definition.name)
        bound = [function.receiver, *args] if function.receiver is not None else args
        receiver = function.receiver if isinstance(function.receiver, Obj) else None
        with machine.entered(site, id(node)):
            machine.record.entered.add(definition.key)
            return self._walk(segment, parsed, bound, keywords, state, function.owner, receiver, (), _locals(node))

    def call_closure(
        self,
        reference: ClosureRef,
        args: list[Value],
        keywords: Mapping[str, Value],
        site: Site,
        state: State,
    ) -> Value:
        """Walk a nested function or lambda."""
        closure = reference.closure
        if id(closure.node) in self.machine.stack or len(self.machine.stack) >= MAX_DEPTH:
            return self.machine.calls.unresolved(site, args, keywords, state, "it calls itself")
        scope = {**closure.scope, **state.env} if site.segment is closure.segment else closure.scope
        with self.machine.entered(site, id(closure.node)):
            own = _nonlocals(closure.node) & scope.keys()
            return self._walk(
                closure.segment, closure.node, args, keywords, state, None, None, (scope,), frozenset(), own
            )

    def _walk(
        self,
        segment: Segment,
        node: cst.FunctionDef | cst.Lambda,
        args: list[Value],
        keywords: Mapping[str, Value],
        state: State,
        owner: ClassRef | None,
        receiver: Obj | None,
        scopes: tuple[Mapping[str, Value], ...],
        local_names: frozenset[str],
        shared: frozenset[str] = frozenset(),
    ) -> Value:
        from recipe_lint.trace.frames import Frame  # noqa: PLC0415

        machine = self.machine
        frame = Frame(segment, segment.module, owner, receiver, scopes, local_names)
        inside = State(state.guard, {name: scopes[0][name] for name in shared}, state.heap)
        self._bind(node.params, args, keywords, inside, frame)
        if isinstance(node, cst.Lambda):
            value = machine.expressions.value(node.body, inside, frame)
            state.heap, state.guard = inside.heap, inside.guard
            return value
        outer = machine.element_depth, machine.name_tests
        machine.element_depth, machine.name_tests = 0, []
        machine.statements.block(node.body, inside, frame)
        machine.element_depth, machine.name_tests = outer
        ends = [*frame.returns, (inside, NONE)]
        kept = [
            State(s.guard, {name: s.env[name] for name in shared if name in s.env}, s.heap, s.exit) for s, _ in ends
        ]
        after = join(kept, machine.collapse)
        state.env |= after.env
        # Where only the bound on guards has widened the end of the callee, it is the entry that is known exactly.
        widened = after.guard.approximate and not state.guard.approximate
        state.heap, state.exit = after.heap, after.exit
        state.guard = state.guard if widened else after.guard
        live = [(s.guard, value) for s, value in ends if not s.dead]
        if not live:
            return NONE
        return machine.single(alternatives(live, machine.collapse), state)

    def _bind(
        self,
        parameters: cst.Parameters,
        args: list[Value],
        keywords: Mapping[str, Value],
        state: State,
        frame: object,
    ) -> None:
        left = list(args)
        named = dict(keywords)
        for parameter in (*parameters.posonly_params, *parameters.params):
            name = parameter.name.value
            if left:
                state.env[name] = left.pop(0)
            elif name in named:
                state.env[name] = named.pop(name)
            else:
                state.env[name] = self._default(parameter, state, frame)
        for parameter in parameters.kwonly_params:
            name = parameter.name.value
            state.env[name] = named.pop(name) if name in named else self._default(parameter, state, frame)
        if isinstance(parameters.star_arg, cst.Param):
            state.env[parameters.star_arg.name.value] = Sequence(tuple((ALWAYS, value) for value in left))
        if parameters.star_kwarg is not None:
            state.env[parameters.star_kwarg.name.value] = Table(tuple(named.items()))

    def _default(self, parameter: cst.Param, state: State, frame: object) -> Value:
        if parameter.default is None:
            return self.machine.new("parameter", parameter.name.value)
        return self.machine.expressions.value(parameter.default, State(state.guard, {}, state.heap), frame)  # type: ignore[arg-type]


def _nonlocals(node: cst.FunctionDef | cst.Lambda) -> frozenset[str]:
    """The names that a nested function declares nonlocal at its top level."""
    if isinstance(node, cst.Lambda) or not isinstance(node.body, cst.IndentedBlock):
        return frozenset()
    lines = (line.body for line in node.body.body if isinstance(line, cst.SimpleStatementLine))
    found = (item for line in lines for item in line if isinstance(item, cst.Nonlocal))
    return frozenset(name.name.value for item in found for name in item.names)


def _locals(node: FunctionNode) -> frozenset[str]:
    """Names that the function binds itself and that are no parameters, global or nonlocal."""
    bound: set[str] = set()
    outer: set[str] = set()
    pending: list[ast.AST] = list(node.body)
    while pending:
        item = pending.pop()
        if isinstance(item, ast.Global | ast.Nonlocal):
            outer.update(item.names)
        elif isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            bound.add(item.id)
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(item, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            continue
        pending.extend(ast.iter_child_nodes(item))
    arguments = node.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    return frozenset(bound - outer - names)
