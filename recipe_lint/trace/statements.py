"""Statements: branches fork the state, joins merge it, loops run one symbolic round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from recipe_lint.read.modules import ImportTarget
from recipe_lint.trace.conditions import elements, strip_elements
from recipe_lint.trace.events import Site
from recipe_lint.trace.guards import ALWAYS, NEVER, Atom, Guard, literal
from recipe_lint.trace.state import State, concatenated
from recipe_lint.trace.values import (
    Closure,
    ClosureRef,
    Const,
    Element,
    ListRef,
    Parameter,
    Value,
)
from recipe_lint.trace.values import Sequence as Items

if TYPE_CHECKING:
    from recipe_lint.trace.frames import Frame
    from recipe_lint.trace.machine import Machine


class Statements:
    """Executes LibCST statements."""

    def __init__(self, machine: Machine) -> None:
        """Part of ``machine``."""
        self.machine = machine
        self.try_depth = 0
        self._handlers: dict[type[cst.CSTNode], Callable[..., None]] = {
            cst.If: self._if,
            cst.For: machine.loops.for_loop,
            cst.While: machine.loops.while_loop,
            cst.Try: self._try,
            cst.TryStar: self._try,
            cst.With: self._with,
            cst.Match: self._match,
            cst.FunctionDef: self._function,
            cst.ClassDef: self._class,
            cst.Expr: self._expression,
            cst.Assign: self._assign,
            cst.AnnAssign: self._annotated,
            cst.AugAssign: self._augmented,
            cst.Return: self._return,
            cst.Raise: self._raise,
            cst.Assert: self._assert,
            cst.Break: machine.loops.break_out,
            cst.Continue: machine.loops.next_round,
            cst.Del: self._delete,
            cst.Import: self._import,
            cst.ImportFrom: self._import,
        }

    def block(self, suite: cst.BaseSuite | cst.Module, state: State, frame: Frame) -> None:
        """Execute the statements of a block while the path is alive."""
        body: Sequence[cst.CSTNode] = suite.body
        for statement in body:
            if state.dead or not self.machine.spend():
                return
            small = statement.body if isinstance(statement, cst.SimpleStatementLine) else (statement,)
            for node in small:
                handler = self._handlers.get(type(node))
                if handler is not None and not state.dead:
                    handler(node, state, frame)

    # -- branches

    def _if(self, node: cst.If, state: State, frame: Frame) -> None:
        outcomes: list[State] = []
        entries: list[Guard] = []
        base = state.guard
        current: cst.If = node
        rest = state
        while True:
            value = self.machine.expressions.value(current.test, rest, frame)
            code = frame.segment.code(current.test)
            guard = self.machine.conditions.truth(value, rest, code)
            tests = elements(guard)
            positive, negative = self._split(guard)
            then = rest.fork(rest.guard & positive)
            otherwise = rest.fork(rest.guard & negative)
            entries.append(then.guard)
            self._branch(current.body, then, frame, tests)
            outcomes.append(then)
            if isinstance(current.orelse, cst.If) and not otherwise.dead:
                current, rest = current.orelse, otherwise
                continue
            entries.append(otherwise.guard)
            if isinstance(current.orelse, cst.Else):
                self._branch(current.orelse.body, otherwise, frame, tests)
            outcomes.append(otherwise)
            break
        self._meet(outcomes, entries, base, state)
        if all(o.guard == entry for o, entry in zip(outcomes, entries, strict=True)):
            state.guard = base

    def _split(self, guard: Guard) -> tuple[Guard, Guard]:
        if not elements(guard):
            return guard, ~guard
        return strip_elements(guard), strip_elements(~guard)

    def _branch(self, suite: cst.BaseSuite, state: State, frame: Frame, tests: list[Atom]) -> None:
        """Run one arm. ``tests`` are the per-round tests of the branch: they select parameters, they gate nothing."""
        if state.dead:
            return
        selective = any(not str(atom.operand).endswith("requires_grad") for atom in tests)
        named = [atom.label for atom in tests if str(atom.operand).startswith("name")]
        outer = self.machine.name_tests
        self.machine.element_depth += selective
        self.machine.name_tests = [*outer, *named]
        self.block(suite, state, frame)
        self.machine.element_depth -= selective
        self.machine.name_tests = outer

    def _meet(self, outcomes: list[State], entries: list[Guard], base: Guard, state: State) -> None:
        """Go on after the arms of a branch, of which some may only raise."""
        self._assume(outcomes, entries, base)
        state.become(self.machine.join(outcomes))
        if state.dead or base.always or self.try_depth:
            return
        # Inside another branch, what an arm that raises rules out would tell that branch from its siblings for good.
        for outcome, entry in zip(outcomes, entries, strict=True):
            if outcome.dead and outcome.exit == "raise":
                state.guard |= entry

    def _assume(self, outcomes: list[State], entries: list[Guard], base: Guard) -> None:
        """Where some arms only raise, what the others rest on must hold for the run to go on at all."""
        if self.try_depth or not any(o.dead and o.exit == "raise" for o in outcomes):
            return
        after = NEVER
        for outcome, entry in zip(outcomes, entries, strict=True):
            # An arm that returns goes on elsewhere.
            if not (outcome.dead and outcome.exit == "raise"):
                after |= entry if outcome.dead else outcome.guard
        if not after.impossible:
            self._must_hold(after, base)

    def _must_hold(self, after: Guard, base: Guard) -> None:
        """Note that a run which satisfies ``base`` goes on under ``after`` only."""
        if len(base.cubes) == 1:
            self.machine.record.assumed.update((base.common, item) for item in after.common - base.common)

    def _match(self, node: cst.Match, state: State, frame: Frame) -> None:
        subject = self.machine.expressions.value(node.subject, state, frame)
        outcomes: list[State] = []
        entries: list[Guard] = []
        rest = state
        base = state.guard
        for case in node.cases:
            guard = self._pattern(case.pattern, subject, rest, frame)
            then = rest.fork(rest.guard & guard)
            self._bind_pattern(case.pattern, subject, then)
            if case.guard is not None and not then.dead:
                value = self.machine.expressions.value(case.guard, then, frame)
                extra = self.machine.conditions.truth(value, then, frame.segment.code(case.guard))
                guard &= extra
                then.guard &= extra
            rest = rest.fork(rest.guard & ~guard)
            entries.append(then.guard)
            if not then.dead:
                self.block(case.body, then, frame)
            outcomes.append(then)
        outcomes.append(rest)
        entries.append(rest.guard)
        self._meet(outcomes, entries, base, state)

    def _pattern(self, pattern: cst.MatchPattern, subject: Value, state: State, frame: Frame) -> Guard:
        code = frame.segment.code(pattern)
        match pattern:
            case cst.MatchValue(value=value) | cst.MatchSingleton(value=value):
                constant = self.machine.expressions.value(value, state, frame)
                return self.machine.conditions.compare(subject, cst.Equal(), constant, state, f"match {code}")
            case cst.MatchOr(patterns=options):
                result = NEVER
                for option in options:
                    result |= self._pattern(option.pattern, subject, state, frame)
                return result
            case cst.MatchAs(pattern=None):
                return ALWAYS
            case cst.MatchAs(pattern=inner) if inner is not None:
                return self._pattern(inner, subject, state, frame)
        return self.machine.conditions.opaque(f"match {code}", f"m{self.machine.next_number()}")

    def _bind_pattern(self, pattern: cst.MatchPattern, subject: Value, state: State) -> None:
        if isinstance(pattern, cst.MatchAs) and pattern.name is not None:
            state.env[pattern.name.value] = subject

    # -- exceptions and contexts

    def _try(self, node: cst.Try | cst.TryStar, state: State, frame: Frame) -> None:
        before = state.fork(state.guard)
        number = self.machine.next_number()
        raises = literal(Atom(f"r{number}", "opaque", None, "an exception in the try block"))
        returns = len(frame.returns)
        if node.handlers:
            state.guard &= ~raises
            self.try_depth += 1
        self.block(node.body, state, frame)
        if node.handlers:
            self.try_depth -= 1
        if node.orelse is not None and not state.dead:
            self.block(node.orelse.body, state, frame)
        outcomes = [state.fork(state.guard)]
        outcomes[0].exit = state.exit
        handlers: list[cst.ExceptHandler | cst.ExceptStarHandler] = list(node.handlers)
        for place, handler in enumerate(handlers):
            entered = before.fork(before.guard & raises)
            if len(node.handlers) > 1:
                kind = frame.segment.code(handler.type) if handler.type else "any exception"
                entered.guard &= literal(Atom(f"h{number}", "==", f"{place}:{kind}", "the exception"))
            if handler.name is not None and isinstance(handler.name.name, cst.Name):
                entered.env[handler.name.name.value] = self.machine.new("plain", "exception")
            self.block(handler.body, entered, frame)
            outcomes.append(entered)
        state.become(self.machine.join(outcomes))
        if node.finalbody is not None:
            self._finally(node.finalbody, state, frame, returns)

    def _finally(self, final: cst.Finally, state: State, frame: Frame, returns: int) -> None:
        if not state.dead:
            self.block(final.body, state, frame)
        elif len(frame.returns) > returns:
            left = self.machine.join([s for s, _ in frame.returns[returns:]])
            self.block(final.body, left, frame)

    def _with(self, node: cst.With, state: State, frame: Frame) -> None:
        for item in node.items:
            value = self.machine.expressions.value(item.item, state, frame)
            if item.asname is not None:
                target = item.asname.name
                self.machine.assignments.assign(target, value, Site(frame.segment, item), state, frame)
        self.block(node.body, state, frame)

    # -- simple statements

    def _function(self, node: cst.FunctionDef, state: State, frame: Frame) -> None:
        state.env[node.name.value] = ClosureRef(Closure(frame.segment, node, state.env))

    def _class(self, node: cst.ClassDef, state: State, _frame: Frame) -> None:
        state.env[node.name.value] = self.machine.unknown(node.name.value)

    def _expression(self, node: cst.Expr, state: State, frame: Frame) -> None:
        known = len(self.machine.record.events)
        inner = node.value.expression if isinstance(node.value, cst.Await) else node.value
        self.machine.bare_call = inner
        value = self.machine.expressions.value(node.value, state, frame)
        if isinstance(inner, cst.Call):
            self.machine.steps.note_discard(value, known, Site(frame.segment, inner), state)

    def _assign(self, node: cst.Assign, state: State, frame: Frame) -> None:
        value = self.machine.expressions.value(node.value, state, frame)
        for target in node.targets:
            self.machine.assignments.assign(target.target, value, Site(frame.segment, node), state, frame)

    def _annotated(self, node: cst.AnnAssign, state: State, frame: Frame) -> None:
        if node.value is not None:
            value = self.machine.expressions.value(node.value, state, frame)
            self.machine.assignments.assign(node.target, value, Site(frame.segment, node), state, frame)

    def _augmented(self, node: cst.AugAssign, state: State, frame: Frame) -> None:
        left = self.machine.expressions.value(node.target, state, frame)
        right = self.machine.expressions.value(node.value, state, frame)
        expressions = self.machine.expressions
        if isinstance(left, ListRef | Items) and isinstance(node.operator, cst.AddAssign):
            first, second = expressions.content(left, state), expressions.content(right, state)
            joined = concatenated(first, second)
            if isinstance(left, ListRef):
                state.heap[(left.id, "[]")] = joined
            else:
                self.machine.assignments.assign(node.target, joined, Site(frame.segment, node), state, frame)
            return
        if isinstance(left, Parameter | Element):
            return
        value = self.machine.new("plain", frame.segment.code(node.target))
        self.machine.assignments.assign(node.target, value, Site(frame.segment, node), state, frame)

    def _return(self, node: cst.Return, state: State, frame: Frame) -> None:
        value = Const(None) if node.value is None else self.machine.expressions.value(node.value, state, frame)
        if state.dead:
            return
        frame.returns.append((state.fork(state.guard), value))
        state.end()

    def _raise(self, node: cst.Raise, state: State, frame: Frame) -> None:
        if node.exc is not None:
            self.machine.expressions.value(node.exc, state, frame)
        state.end("raise")

    def _assert(self, node: cst.Assert, state: State, frame: Frame) -> None:
        value = self.machine.expressions.value(node.test, state, frame)
        guard, _ = self._split(self.machine.conditions.truth(value, state, frame.segment.code(node.test)))
        after = state.guard & guard
        if not after.impossible:
            if not self.try_depth:
                self._must_hold(after, state.guard)
            if self.try_depth or state.guard.always:
                state.guard = after

    def _delete(self, node: cst.Del, state: State, _frame: Frame) -> None:
        targets = [e.value for e in node.target.elements] if isinstance(node.target, cst.Tuple) else [node.target]
        for target in targets:
            if isinstance(target, cst.Name):
                state.env.pop(target.value, None)

    def _import(self, node: cst.Import | cst.ImportFrom, state: State, frame: Frame) -> None:
        if isinstance(node.names, cst.ImportStar):
            return
        for alias in node.names:
            dotted = frame.segment.code(alias.name)
            bound = alias.asname.name if alias.asname is not None else None
            local = bound.value if isinstance(bound, cst.Name) else dotted.split(".")[0]
            if isinstance(node, cst.ImportFrom):
                module = frame.segment.code(node.module) if node.module is not None else ""
                target = ImportTarget(module, len(node.relative), dotted)
            else:
                target = ImportTarget(dotted if bound else local, 0, None)
            state.env[local] = self.machine.names.imported(frame.module, target)
