"""Tests: from a condition in the source to the guard under which it is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from recipe_lint.trace.guards import ALWAYS, NEVER, Atom, Guard, literal
from recipe_lint.trace.state import State
from recipe_lint.trace.values import (
    Alternatives,
    Boolean,
    Const,
    Element,
    External,
    ListRef,
    Method,
    Obj,
    Parameter,
    Sequence,
    Table,
    Value,
)

if TYPE_CHECKING:
    from recipe_lint.trace.frames import Frame
    from recipe_lint.trace.machine import Machine

_ORDER_OPS: dict[type[cst.BaseCompOp], str] = {
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
}
_NEGATIVE = (cst.NotEqual, cst.IsNot, cst.NotIn)
_BUILT = ("load", "instance", "copy", "optimizer", "kit")


class Conditions:
    """Evaluates tests to guards."""

    def __init__(self, machine: Machine) -> None:
        """Part of ``machine``."""
        self.machine = machine

    def truth(self, value: Value, state: State, code: str) -> Guard:
        """The guard under which ``value`` is true."""
        match value:
            case Const(value=constant):
                return ALWAYS if constant else NEVER
            case Boolean(guard=guard):
                return guard
            case Alternatives(options=options):
                result = NEVER
                for guard, option in options:
                    result |= guard & self.truth(option, state, code)
                return result
            case Sequence(open=True):
                return self.opaque(code)
            case Sequence(items=items):
                result = NEVER
                for guard, _ in items:
                    result |= guard
                return result
            case ListRef(id=number):
                held = state.heap.get((number, "[]"))
                return self.truth(held, state, code) if held is not None else self.opaque(code)
            case Element() | Parameter():
                return self.element(value, code)
            case Table(items=items):
                rounds = any(key == "*" for key, _ in items)
                return self.opaque(code) if rounds else ALWAYS if items else NEVER
            case Obj() | Method() | External():
                return self._object_truth(value, code)
        return ALWAYS

    def _object_truth(self, value: Obj | Method | External, code: str) -> Guard:
        if self.machine.names.elementwise(value):
            return self.element(value, code)
        if isinstance(value, Obj) and not value.path and self.machine.info(value).origin in _BUILT:
            return ALWAYS
        subject = self.machine.names.subject(value)
        if subject is None:
            return self.opaque(code)
        key, label, path = subject
        return literal(Atom(key, "truthy", None, label, path))

    def opaque(self, code: str, key: str | None = None) -> Guard:
        """A test of which nothing is known but its text."""
        return literal(Atom(key or f"t.{code}", "opaque", None, code))

    def element(self, value: Value, code: str) -> Guard:
        """A test that differs for each round of a loop over a model."""
        label = value.label if isinstance(value, Element) else ""
        return literal(Atom(f"e.{code}", "element", label, code))

    def comparison(self, node: cst.Comparison, state: State, frame: Frame) -> Value:
        """``a < b``, ``a is None``, ``a in (...)``; a chain is the conjunction of its links."""
        left = self.machine.expressions.value(node.left, state, frame)
        result = ALWAYS
        code = frame.segment.code(node)
        for target in node.comparisons:
            right = self.machine.expressions.value(target.comparator, state, frame)
            test = self.compare(left, target.operator, right, state, code)
            result &= ~test if isinstance(target.operator, _NEGATIVE) else test
            left = right
        return Boolean(result)

    def compare(self, left: Value, operator: cst.BaseCompOp, right: Value, state: State, code: str) -> Guard:
        """The guard of one positive test: for ``!=``, ``is not`` and ``not in`` that of their opposite."""
        for side, other, flipped in ((left, right, False), (right, left, True)):
            if isinstance(side, Alternatives):
                result = NEVER
                for guard, option in side.options:
                    pair = (other, option) if flipped else (option, other)
                    result |= guard & self.compare(pair[0], operator, pair[1], state, code)
                return result
        if self.machine.names.elementwise(left) or self.machine.names.elementwise(right):
            return self.element(left if isinstance(left, Element) else right, code)
        if isinstance(operator, cst.In | cst.NotIn):
            return self._membership(left, right, state, code)
        if isinstance(left, Const) and not isinstance(right, Const):
            left, right = right, left
            operator = _mirrored(operator)
        if not isinstance(right, Const):
            return self.opaque(_positive(code, operator))
        op = self._op(operator)
        if isinstance(left, Const):
            decided = Atom("", op, right.value).decide(left.value)
            return self.opaque(code) if decided is None else (ALWAYS if decided else NEVER)
        if isinstance(left, Boolean) and isinstance(right.value, bool):
            return left.guard if right.value else ~left.guard
        if right.value is None and isinstance(left, Obj) and not left.path:
            if self.machine.info(left).origin in _BUILT:
                return NEVER
        elif right.value is None and not isinstance(left, Obj | Method):
            return NEVER
        return self._atom(left, op, right.value, code)

    def _atom(self, left: Value, op: str, operand: object, code: str) -> Guard:
        subject = self.machine.names.subject(left)
        if subject is None:
            return self.opaque(code)
        key, label, path = subject
        if op in ("==", "is") and operand is True:
            return literal(Atom(key, "truthy", None, label, path))
        if op in ("==", "is") and operand is False:
            return literal(Atom(key, "truthy", None, label, path), False)
        return literal(Atom(key, op, operand, label, path))

    def _op(self, operator: cst.BaseCompOp) -> str:
        if isinstance(operator, cst.Is | cst.IsNot):
            return "is"
        return _ORDER_OPS.get(type(operator), "==")

    def _membership(self, left: Value, right: Value, state: State, code: str) -> Guard:
        if isinstance(right, ListRef):
            right = state.heap.get((right.id, "[]"), right)
        if isinstance(right, Sequence) and not right.open:
            items = [item for _, item in right.items]
            if items and all(isinstance(item, Const) for item in items):
                operand = tuple(item.value for item in items if isinstance(item, Const))
                if isinstance(left, Const):
                    return ALWAYS if left.value in operand else NEVER
                subject = self.machine.names.subject(left)
                if subject is not None:
                    return literal(Atom(subject[0], "in", operand, subject[1], subject[2]))
        return self.opaque(code.replace(" not in ", " in "))


def strip_elements(guard: Guard) -> Guard:
    """``guard`` without the tests that differ for each round of a loop over a model."""
    cubes = frozenset(frozenset(item for item in cube if item[0].op != "element") for cube in guard.cubes)
    return guard if cubes == guard.cubes else Guard(cubes, guard.approximate)


def elements(guard: Guard) -> list[Atom]:
    """The per-round tests in a guard."""
    return [atom for cube in guard.cubes for atom, _ in cube if atom.op == "element"]


def _positive(code: str, operator: cst.BaseCompOp) -> str:
    if isinstance(operator, cst.NotEqual):
        return code.replace("!=", "==")
    return code.replace(" is not ", " is ") if isinstance(operator, cst.IsNot) else code


def _mirrored(operator: cst.BaseCompOp) -> cst.BaseCompOp:
    if isinstance(operator, cst.LessThan):
        return cst.GreaterThan()
    if isinstance(operator, cst.LessThanEqual):
        return cst.GreaterThanEqual()
    if isinstance(operator, cst.GreaterThan):
        return cst.LessThan()
    if isinstance(operator, cst.GreaterThanEqual):
        return cst.LessThanEqual()
    return operator
