"""Loops: a literal sequence is unrolled, anything else runs one symbolic round."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from recipe_lint.trace.events import Site
from recipe_lint.trace.frames import Frame, Loop
from recipe_lint.trace.guards import ALWAYS, Guard
from recipe_lint.trace.state import State, alternatives
from recipe_lint.trace.values import (
    Alternatives,
    Const,
    Element,
    External,
    ListRef,
    Modules,
    Obj,
    Parameter,
    Parameters,
    Table,
    Value,
)
from recipe_lint.trace.values import Sequence as Items

if TYPE_CHECKING:
    from recipe_lint.trace.machine import Machine

MAX_ROUNDS = 1024


class Loops:
    """Executes loops."""

    def __init__(self, machine: Machine) -> None:
        """Part of ``machine``."""
        self.machine = machine

    def rounds(self, iterated: Value, state: State) -> list[tuple[Guard, Value]]:
        """What the loop variable holds in each round; one symbolic round where the rounds are not known."""
        found = []
        for guard, option in self.machine.options(iterated, state):
            condition = ALWAYS if guard is state.guard else guard
            found += [(condition & g, v) for g, v in self._rounds_of(option, state)]
        return found if len(found) <= MAX_ROUNDS else [(ALWAYS, alternatives(found, self.machine.collapse))]

    def _bounded(self, rounds: list[tuple[Guard, Value]]) -> list[tuple[Guard, Value]]:
        """Loops inside loops multiply their rounds: past the bound one round stands for all, with any of the items."""
        product = len(rounds)
        for count in self.machine.unrolled:
            product *= max(count, 1)
        if product <= MAX_ROUNDS or len(rounds) <= 1:
            return rounds
        return [(ALWAYS, alternatives(rounds, self.machine.collapse))]

    def _rounds_of(self, value: Value, state: State) -> list[tuple[Guard, Value]]:
        match value:
            case Parameters(owner=owner, named=True):
                return [(ALWAYS, self.machine.expressions.sequence([Element(owner, "name"), Parameter(owner)]))]
            case Parameters(owner=owner):
                return [(ALWAYS, Parameter(owner))]
            case Modules(owner=owner, named=named):
                part = owner.part("*")
                pair = self.machine.expressions.sequence([Element(owner, "name"), part])
                return [(ALWAYS, pair if named else part)]
            case Items() | ListRef():
                content = self.machine.expressions.content(value, state)
                if content.open and len(content.items) == 1:
                    inner = content.items[0][1]
                    return [(ALWAYS, inner)] if inner != value else [(ALWAYS, self.machine.unknown("item"))]
                return list(content.items)
            case Obj():
                return [(ALWAYS, value.part("*"))]
            case Element() | Parameter():
                return [(ALWAYS, value)]
            case Table(items=items):
                return [(ALWAYS, Const(key)) for key, _ in items]
            case Alternatives():
                return self.rounds(value, state)
        return [(ALWAYS, self.machine.unknown("item"))]

    def for_loop(self, node: cst.For, state: State, frame: Frame) -> None:
        """Run the body once for each round that is known, once symbolically where the rounds are not."""
        iterated = self.machine.expressions.value(node.iter, state, frame)
        rounds = self._bounded(self.rounds(iterated, state))
        loop = Loop(node, iterated)
        frame.loops.append(loop)
        outer = self.machine.rounds
        self.machine.unrolled.append(len(rounds))
        for number, (guard, item) in enumerate(rounds):
            self.machine.rounds = (*outer, number)
            before = state.fork(state.guard)
            inside = state.fork(state.guard & guard)
            if inside.dead:
                continue
            self.machine.assignments.assign(node.target, item, Site(frame.segment, node), inside, frame)
            self.machine.statements.block(node.body, inside, frame)
            outcomes = [inside, *loop.continues]
            loop.continues.clear()
            if not guard.always:
                outcomes.append(before.fork(before.guard & ~guard))
            elif all(o.dead for o in outcomes) and not _known(iterated):
                outcomes.append(before)
            state.become(self.machine.join(outcomes))
            if state.dead:
                break
        self.machine.rounds = outer
        self.machine.unrolled.pop()
        frame.loops.pop()
        if node.orelse is not None and not state.dead:
            self.machine.statements.block(node.orelse.body, state, frame)
        state.become(self.machine.join([state, *loop.breaks]))

    def while_loop(self, node: cst.While, state: State, frame: Frame) -> None:
        """Run the body once; a loop is taken to run."""
        self.machine.expressions.value(node.test, state, frame)
        before = state.fork(state.guard)
        loop = Loop(node, None)
        frame.loops.append(loop)
        self.machine.statements.block(node.body, state, frame)
        frame.loops.pop()
        ends = [state, *loop.continues, *loop.breaks]
        if all(o.dead for o in ends):
            ends.append(before)
        joined = self.machine.join(ends)
        if node.orelse is not None and not joined.dead:
            self.machine.statements.block(node.orelse.body, joined, frame)
        state.become(joined)

    def break_out(self, _node: cst.Break, state: State, frame: Frame) -> None:
        """The path waits at the end of the loop."""
        if frame.loops:
            frame.loops[-1].breaks.append(state.fork(state.guard))
        state.end()

    def next_round(self, _node: cst.Continue, state: State, frame: Frame) -> None:
        """The path waits at the end of the round."""
        if frame.loops:
            frame.loops[-1].continues.append(state.fork(state.guard))
        state.end()


def _known(value: Value) -> bool:
    return isinstance(value, Items | ListRef | External)
