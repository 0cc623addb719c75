"""Expressions to values, in evaluation order: receivers before arguments, arguments before the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import libcst as cst

from recipe_lint.trace.conditions import elements, strip_elements
from recipe_lint.trace.events import Site
from recipe_lint.trace.guards import ALWAYS, Atom, Guard, literal
from recipe_lint.trace.state import MAX_OPTIONS, State, alternatives, concatenated, join
from recipe_lint.trace.values import (
    NONE,
    Boolean,
    Closure,
    ClosureRef,
    Const,
    Element,
    External,
    ListRef,
    Modules,
    Obj,
    Parameter,
    Parameters,
    Sequence,
    Table,
    Value,
)

if TYPE_CHECKING:
    from recipe_lint.trace.frames import Frame
    from recipe_lint.trace.machine import Machine

_Handler = Callable[[cst.CSTNode, State, "Frame"], Value]
_CONSTANTS = {"None": NONE, "True": Const(True), "False": Const(False)}


class Expressions:
    """Evaluates LibCST expressions."""

    def __init__(self, machine: Machine) -> None:
        """Part of ``machine``."""
        self.machine = machine
        self._handlers: dict[type[cst.CSTNode], Callable[..., Value]] = {
            cst.Name: self._name,
            cst.Attribute: self._attribute,
            cst.Call: self._call,
            cst.SimpleString: self._string,
            cst.ConcatenatedString: self._string,
            cst.FormattedString: self._formatted,
            cst.Integer: self._number,
            cst.Float: self._number,
            cst.Tuple: self._tuple,
            cst.List: self._list,
            cst.Set: self._tuple,
            cst.Dict: self._dict,
            cst.Subscript: self._subscript,
            cst.IfExp: self._conditional,
            cst.BooleanOperation: self._boolean,
            cst.UnaryOperation: self._unary,
            cst.BinaryOperation: self._binary,
            cst.Comparison: self._comparison,
            cst.NamedExpr: self._walrus,
            cst.Lambda: self._lambda,
            cst.ListComp: self._comprehension,
            cst.SetComp: self._comprehension,
            cst.GeneratorExp: self._comprehension,
            cst.DictComp: self._dict_comprehension,
            cst.Await: lambda n, s, f: self.value(n.expression, s, f),
            cst.Yield: self._yield,
        }

    def value(self, node: cst.CSTNode, state: State, frame: Frame) -> Value:
        """The value of an expression; events inside it are recorded on the way."""
        handler = self._handlers.get(type(node))
        if handler is None or not self.machine.spend():
            return self.machine.unknown(type(node).__name__)
        return handler(node, state, frame)

    def sequence(self, values: list[Value]) -> Sequence:
        """A tuple whose items are always there."""
        return Sequence(tuple((ALWAYS, value) for value in values))

    def _name(self, node: cst.Name, state: State, frame: Frame) -> Value:
        return _CONSTANTS.get(node.value) or self.machine.names.name(node, state, frame)

    def _call(self, node: cst.Call, state: State, frame: Frame) -> Value:
        return self.machine.calls.call(node, state, frame)

    def _comparison(self, node: cst.Comparison, state: State, frame: Frame) -> Value:
        return self.machine.conditions.comparison(node, state, frame)

    def _attribute(self, node: cst.Attribute, state: State, frame: Frame) -> Value:
        receiver = self.value(node.value, state, frame)
        site = Site(frame.segment, node)
        found = [
            (guard, self.machine.names.attribute(option, node.attr.value, state, site))
            for guard, option in self.machine.options(receiver, state)
        ]
        return alternatives(found, self.machine.collapse) if found else self.machine.unknown(node.attr.value)

    def _string(self, node: cst.SimpleString | cst.ConcatenatedString, state: State, frame: Frame) -> Value:
        if isinstance(node, cst.ConcatenatedString):
            for part in (node.left, node.right):
                self.value(part, state, frame)
        text = node.evaluated_value
        return Const(text) if isinstance(text, str | bytes) else self.machine.new("plain", "text")

    def _formatted(self, node: cst.FormattedString, state: State, frame: Frame) -> Value:
        for part in node.parts:
            if isinstance(part, cst.FormattedStringExpression):
                self.value(part.expression, state, frame)
        return self.machine.new("plain", "text")

    def _number(self, node: cst.Integer | cst.Float, _state: State, _frame: Frame) -> Value:
        return Const(node.evaluated_value)

    def _items(self, node: cst.Tuple | cst.List | cst.Set, state: State, frame: Frame) -> Sequence:
        items: list[tuple[Guard, Value]] = []
        is_open = False
        for element in node.elements:
            value = self.value(element.value, state, frame)
            if isinstance(element, cst.StarredElement):
                inner = self.content(value, state)
                items.extend(inner.items)
                is_open = is_open or inner.open
            else:
                items.append((ALWAYS, value))
        return Sequence(tuple(items), is_open)

    def content(self, value: Value, state: State) -> Sequence:
        """The items of a list or tuple; an open sequence holding the value itself where they are not known."""
        if isinstance(value, ListRef):
            held = state.heap.get((value.id, "[]"))
            value = self.machine.single(held, state) if held is not None else value
        if isinstance(value, Sequence):
            return value
        return Sequence(((ALWAYS, value),), open=True)

    def _tuple(self, node: cst.Tuple | cst.Set, state: State, frame: Frame) -> Value:
        return self._items(node, state, frame)

    def _list(self, node: cst.List, state: State, frame: Frame) -> Value:
        content = self._items(node, state, frame)
        return self.new_list(content, state)

    def new_list(self, content: Sequence, state: State) -> ListRef:
        """A new mutable list."""
        number = self.machine.new("plain", "list").id
        state.heap[(number, "[]")] = content
        return ListRef(number)

    def _dict(self, node: cst.Dict, state: State, frame: Frame) -> Value:
        items: list[tuple[object, Value]] = []
        for element in node.elements:
            if isinstance(element, cst.DictElement):
                key = self.value(element.key, state, frame)
                value = self.value(element.value, state, frame)
                items.append((key.value if isinstance(key, Const) else key, value))
            else:
                inner = self.value(element.value, state, frame)
                items.extend(inner.items if isinstance(inner, Table) else [(inner, inner)])
        return Table(tuple(items))

    def _subscript(self, node: cst.Subscript, state: State, frame: Frame) -> Value:
        receiver = self.value(node.value, state, frame)
        keys: list[Value] = []
        for element in node.slice:
            if isinstance(element.slice, cst.Index):
                keys.append(self.value(element.slice.value, state, frame))
        key = keys[0] if len(keys) == 1 else None
        found = [(guard, self._item(option, key, state)) for guard, option in self.machine.options(receiver, state)]
        return alternatives(found, self.machine.collapse) if found else self.machine.unknown("item")

    def _item(self, receiver: Value, key: Value | None, state: State) -> Value:
        index = key.value if isinstance(key, Const) else None
        if isinstance(receiver, ListRef):
            receiver = self.content(receiver, state)
        match receiver:
            case Sequence(items=items, open=False) if isinstance(index, int) and -len(items) <= index < len(items):
                return items[index][1]
            case Sequence(items=items) if len(items) == 1:
                return items[0][1]
            case Table(items=items):
                for known, value in items:
                    if known == index:
                        return value
                if key is not None:
                    return self.chosen(receiver, key, state)
            case Obj() if isinstance(index, str):
                held = self.machine.names.held(receiver, index, state)
                return held if held is not None else receiver.part(index)
            case Obj() if isinstance(index, int):
                return receiver.part(f"[{index}]")
            case Obj():
                return receiver.part("*")
            case Element() | Parameters() | Parameter():
                return receiver
            case External():
                return receiver
        return self.machine.unknown("item")

    def chosen(self, table: Table, key: Value, state: State) -> Value:
        """What a table gives for a key that is known at run time only: each entry under its own key."""
        subject = self.machine.names.subject(key)
        entries = [(k, v) for k, v in table.items if isinstance(k, str | int | bool)]
        if subject is None or not entries or len(entries) > MAX_OPTIONS:
            return self.machine.unknown("item")
        name, label, path = subject
        found = [(state.guard & literal(Atom(name, "==", k, label, path)), v) for k, v in entries]
        return alternatives([(g, v) for g, v in found if not g.impossible], self.machine.collapse)

    def _conditional(self, node: cst.IfExp, state: State, frame: Frame) -> Value:
        guard = self.test(node.test, state, frame)
        return self._either(
            guard, state, lambda s: self.value(node.body, s, frame), lambda s: self.value(node.orelse, s, frame)
        )

    def _either(
        self,
        guards: tuple[Guard, Guard],
        state: State,
        then: Callable[[State], Value],
        other: Callable[[State], Value],
    ) -> Value:
        positive, negative = guards
        branches = []
        values = []
        for condition, run in ((positive, then), (negative, other)):
            branch = state.fork(state.guard & condition)
            if branch.dead:
                continue
            value = run(branch)
            branches.append(branch)
            values.append((branch.guard, value))
        if not branches:
            return self.machine.unknown("conditional")
        state.become(join(branches, self.machine.collapse))
        live = [(g, v) for g, v in values if not g.impossible]
        return alternatives(live, self.machine.collapse) if live else self.machine.unknown("conditional")

    def test(self, node: cst.BaseExpression, state: State, frame: Frame) -> tuple[Guard, Guard]:
        """The guards under which an expression is true and false, per-round tests counting as both."""
        value = self.value(node, state, frame)
        guard = self.machine.conditions.truth(value, state, frame.segment.code(node))
        if elements(guard):
            return strip_elements(guard), strip_elements(~guard)
        return guard, ~guard

    def _boolean(self, node: cst.BooleanOperation, state: State, frame: Frame) -> Value:
        left = self.value(node.left, state, frame)
        code = frame.segment.code(node.left)
        truth = self.machine.conditions.truth(left, state, code)
        short = ~truth if isinstance(node.operator, cst.And) else truth
        positive = strip_elements(~short)
        branch = state.fork(state.guard & positive)
        if branch.dead:
            return left
        right = self.value(node.right, branch, frame)
        right_truth = self.machine.conditions.truth(right, branch, frame.segment.code(node.right))
        skipped = state.fork(state.guard & strip_elements(short))
        if branch.heap != state.heap or branch.env != state.env or branch.dead:
            state.become(join([branch, skipped], self.machine.collapse))
        if isinstance(node.operator, cst.And):
            return Boolean(truth & right_truth)
        if isinstance(left, Boolean | Element) or isinstance(right, Boolean | Element):
            return Boolean(truth | right_truth)
        pair: list[tuple[Guard, Value]] = [(skipped.guard, left), (branch.guard, right)]
        live = [(g, v) for g, v in pair if not g.impossible]
        return alternatives(live, self.machine.collapse) if live else Boolean(truth | right_truth)

    def _unary(self, node: cst.UnaryOperation, state: State, frame: Frame) -> Value:
        value = self.value(node.expression, state, frame)
        if isinstance(node.operator, cst.Not):
            return Boolean(~self.machine.conditions.truth(value, state, frame.segment.code(node.expression)))
        if isinstance(node.operator, cst.Minus) and isinstance(value, Const) and isinstance(value.value, int | float):
            return Const(-value.value)
        return self.machine.new("plain", "number")

    def _binary(self, node: cst.BinaryOperation, state: State, frame: Frame) -> Value:
        left = self.value(node.left, state, frame)
        right = self.value(node.right, state, frame)
        if isinstance(node.operator, cst.Add):
            if isinstance(left, ListRef | Sequence) or isinstance(right, ListRef | Sequence):
                first, second = self.content(left, state), self.content(right, state)
                joined = concatenated(first, second)
                return self.new_list(joined, state) if isinstance(left, ListRef) else joined
            if isinstance(left, Parameters):
                return self.sequence([left, right])
        for side in (left, right):
            if isinstance(side, Element | Parameter):
                return Element(side.owner, "computed")
        return self.machine.new("plain", frame.segment.code(node))

    def _walrus(self, node: cst.NamedExpr, state: State, frame: Frame) -> Value:
        value = self.value(node.value, state, frame)
        self.machine.assignments.assign(node.target, value, Site(frame.segment, node), state, frame)
        return value

    def _lambda(self, node: cst.Lambda, state: State, frame: Frame) -> Value:
        return ClosureRef(Closure(frame.segment, node, state.env))

    def _comprehension(self, node: cst.ListComp | cst.SetComp | cst.GeneratorExp, state: State, frame: Frame) -> Value:
        inner = state.fork(state.guard)
        trainable, unrolled = self._rounds(node.for_in, inner, frame)
        if unrolled is not None and len(unrolled) > 1 and node.for_in.inner_for_in is None:
            return self._unrolled(node, unrolled, state, frame)
        value = self.value(node.elt, inner, frame)
        state.heap, state.guard = inner.heap, inner.guard
        if isinstance(value, Parameter):
            return Parameters(value.owner, False, trainable)
        if isinstance(value, Parameters):
            return Parameters(value.owner, value.named, trainable or value.trainable)
        return self.new_list(Sequence(((ALWAYS, value),), open=True), state)

    def _unrolled(
        self,
        node: cst.ListComp | cst.SetComp | cst.GeneratorExp,
        rounds: list[Value],
        state: State,
        frame: Frame,
    ) -> Value:
        items = []
        outer = self.machine.rounds
        for number, item in enumerate(rounds):
            self.machine.rounds = (*outer, number)
            inner = state.fork(state.guard)
            self.machine.assignments.assign(node.for_in.target, item, Site(frame.segment, node.for_in), inner, frame)
            items.append((ALWAYS, self.value(node.elt, inner, frame)))
            state.heap, state.guard = inner.heap, inner.guard
        self.machine.rounds = outer
        return self.new_list(Sequence(tuple(items)), state)

    def _rounds(self, node: cst.CompFor, state: State, frame: Frame) -> tuple[bool, list[Value] | None]:
        """Bind one symbolic round of a comprehension; whether a filter keeps trainable parameters only."""
        iterated = self.value(node.iter, state, frame)
        rounds = self.machine.loops.rounds(iterated, state)
        literal_rounds = [item for _, item in rounds] if len(rounds) > 1 and not node.ifs else None
        value = rounds[0][1] if rounds else self.machine.unknown("item")
        self.machine.assignments.assign(node.target, value, Site(frame.segment, node), state, frame)
        trainable = isinstance(iterated, Parameters) and iterated.trainable
        for condition in node.ifs:
            test = self.value(condition.test, state, frame)
            guard = self.machine.conditions.truth(test, state, "")
            trainable = trainable or any(str(a.operand).endswith("requires_grad") for a in elements(guard))
        if node.inner_for_in is not None:
            inner, _ = self._rounds(node.inner_for_in, state, frame)
            trainable = trainable or inner
            literal_rounds = None
        return trainable, literal_rounds

    def _dict_comprehension(self, node: cst.DictComp, state: State, frame: Frame) -> Value:
        inner = state.fork(state.guard)
        self._rounds(node.for_in, inner, frame)
        self.value(node.key, inner, frame)
        value = self.value(node.value, inner, frame)
        state.heap, state.guard = inner.heap, inner.guard
        return Table((("*", value),))

    def _yield(self, node: cst.Yield, state: State, frame: Frame) -> Value:
        inner = node.value.item if isinstance(node.value, cst.From) else node.value
        if inner is not None:
            self.value(inner, state, frame)
        return self.machine.unknown("yield")


__all__ = ["Expressions", "Modules"]
