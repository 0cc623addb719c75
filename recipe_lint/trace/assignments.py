"""Assignments: names, attributes and items, and the protocol steps that a plain assignment can be.

``p.requires_grad = False`` freezes, ``p.data = p.data.float()`` upcasts, ``model.forward = f`` patches.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from recipe_lint.trace.events import Site
from recipe_lint.trace.guards import ALWAYS
from recipe_lint.trace.state import State
from recipe_lint.trace.values import (
    Alternatives,
    Boolean,
    ClassRef,
    ClosureRef,
    Const,
    Element,
    External,
    Function,
    Kit,
    ListRef,
    Method,
    Obj,
    Parameter,
    Partial,
    Sequence,
    Value,
)

if TYPE_CHECKING:
    from recipe_lint.trace.frames import Frame
    from recipe_lint.trace.machine import Machine

_EMA = re.compile(r"(^|_)ema(_|$)|(^|_)momentum_(model|encoder)")
# Classes of these kinds hold settings or text; an unresolved class of any other kind may be a module.
_PLAIN_CLASSES = ("Config", "Tokenizer", "Processor", "Cache", "State", "Logger", "Args", "Arguments", "Kit", "Meter")
_FLOAT32 = re.compile(r"torch\.(float32|float)$")
_LOW = re.compile(r"torch\.(bfloat16|float16|half|float8\w*)$")


class Assignments:
    """Stores values and sees the steps that a store makes."""

    def __init__(self, machine: Machine) -> None:
        """Part of ``machine``."""
        self.machine = machine

    def assign(self, target: cst.CSTNode, value: Value, site: Site, state: State, frame: Frame) -> None:
        """Bind ``value`` to an assignment target."""
        match target:
            case cst.Name(value=name):
                self._bind(name, value, site, state)
            case cst.Attribute(value=inner, attr=attr):
                receiver = self.machine.expressions.value(inner, state, frame)
                for guard, option in self.machine.options(receiver, state):
                    held = state.guard
                    state.guard = guard
                    self.store(option, attr.value, value, site, state, frame)
                    state.guard = held
            case cst.Subscript():
                self._store_item(target, value, site, state, frame)
            case cst.Tuple() | cst.List():
                self._unpack(target, value, site, state, frame)
            case cst.StarredElement(value=inner):
                self.assign(inner, value, site, state, frame)
            case _:
                pass

    def _bind(self, name: str, value: Value, site: Site, state: State) -> None:
        # The next round of a loop takes the place of nothing.
        previous = None if isinstance(site.node, cst.For) else state.env.get(name)
        if isinstance(value, Obj) and not value.path:
            origin = self.machine.info(value)
            if origin.origin == "call" and origin.parent is not None and _same_root(previous, origin.parent):
                # `model = f(model)` with an unresolved f: taken as the same model, or every later step is lost.
                value = Obj(origin.parent, (), value.view, False)
            self._see_copy(name, value, site, state)
            self.machine.name_object(value, name)
        self._note_bind(name, value, previous, site, state)
        state.env[name] = value

    def _note_bind(self, name: str, value: Value, previous: Value | None, site: Site, state: State) -> None:
        for guard, option in self.machine.options(value, state):
            if isinstance(option, Obj) and not option.path:
                here = state if guard is state.guard else state.fork(guard)
                self.machine.note("bind", option.id, site, here, name=name, previous=_objects(previous))

    def _see_copy(self, name: str, value: Obj, site: Site, state: State) -> None:
        info = self.machine.info(value)
        if info.origin == "copy" and info.parent is not None and _EMA.search(name.lower()):
            self.machine.steps.emit(
                "ema_copy", "direct", Obj(info.parent), site, state, call=site.code, traits={"copy": value.id}
            )

    def _unpack(self, target: cst.Tuple | cst.List, value: Value, site: Site, state: State, frame: Frame) -> None:
        value = self.machine.single(value, state)
        if isinstance(value, ListRef):
            value = self.machine.expressions.content(value, state)
        nodes = [element.value for element in target.elements]
        if isinstance(value, Sequence) and not value.open and len(value.items) == len(nodes):
            for node, (_, item) in zip(nodes, value.items, strict=True):
                self.assign(node, item, site, state, frame)
            return
        for number, node in enumerate(nodes):
            self.assign(node, self._unpacked(value, number), site, state, frame)

    def _unpacked(self, value: Value, number: int) -> Value:
        """One item of a result whose length is not known: a loader gives the model first."""
        if isinstance(value, Obj) and number == 0 and self.machine.info(value).origin in ("load", "call", "unknown"):
            return value
        if isinstance(value, Element | Parameter):
            return value
        if isinstance(value, Obj):
            label = f"{self.machine.info(value).label}[{number}]"
            return self.machine.new("unknown", label)
        return self.machine.unknown("item")

    def _store_item(self, target: cst.Subscript, value: Value, site: Site, state: State, frame: Frame) -> None:
        receiver = self.machine.single(self.machine.expressions.value(target.value, state, frame), state)
        keys = [
            self.machine.expressions.value(e.slice.value, state, frame)
            for e in target.slice
            if isinstance(e.slice, cst.Index)
        ]
        if isinstance(receiver, ListRef):
            content = self.machine.expressions.content(receiver, state)
            state.heap[(receiver.id, "[]")] = Sequence((*content.items, (ALWAYS, value)), True)
        elif isinstance(receiver, Obj) and keys:
            key = keys[0].value if isinstance(keys[0], Const) else "*"
            name = f"[{key}]" if isinstance(key, int) else str(key)
            self.store(receiver, name, value, site, state, frame)

    def store(self, receiver: Value, name: str, value: Value, site: Site, state: State, frame: Frame) -> None:
        """``receiver.name = value`` for a single receiver."""
        if isinstance(receiver, Parameter):
            self._store_on_parameter(receiver, name, value, site, state, frame)
            return
        if not isinstance(receiver, Obj):
            return
        if name in ("data", "requires_grad") and (name == "data" or "*" not in receiver.path):
            if name == "requires_grad":
                self.machine.note("attribute-freeze", receiver.id, site, state, value=_constant(value))
            else:
                self._store_on_parameter(Parameter(receiver), name, value, site, state, frame)
            return
        built = site.function.endswith(".__init__") and receiver == frame.receiver
        if self.machine.is_model_like(receiver) and "config" not in receiver.path and not built:
            effect = self.effect(name, value, receiver, site)
            if effect:
                self.patched(receiver, name, effect, site, state)
        if name == "use_cache" and "config" in receiver.path:
            self.machine.note("cache", receiver.id, site, state, value=_constant(value))
        if isinstance(value, Obj) and not value.path and self._is_module(receiver) and self._is_module(value):
            self._put_inside(receiver, name, value)
        if isinstance(value, Obj) and not value.path and not receiver.path:
            self._see_copy(name, value, site, state)
        if not receiver.path:
            self._note_bind(f".{name}", value, state.heap.get((receiver.id, name)), site, state)
        state.heap[(receiver.id, ".".join((*receiver.path, name)))] = value

    def _put_inside(self, receiver: Obj, name: str, value: Obj) -> None:
        if receiver.id != value.id:
            self.machine.record.inside[value.id] = receiver.part(name)

    def _is_module(self, obj: Obj) -> bool:
        """Whether an object is known to be a module: loaded, copied, or of a module class."""
        cls = self.machine.record.classes.get(obj.id)
        if cls is not None:
            return self.machine.info(obj).origin != "self" and self.machine.classes.is_module_class(cls)
        return self.machine.info(obj).origin in ("load", "copy")

    def patched(self, receiver: Obj, name: str, effect: str, site: Site, state: State) -> None:
        """A model's attribute was replaced: a step of its own, or part of the patch that is being opened."""
        machine = self.machine
        path = (*machine.whole(receiver).path, name)
        if machine.patch_sink is not None:
            machine.patch_sink.append((path, effect))
            return
        names = " ".join([site.function, *(s.code.split("(")[0] for s in machine.chain[-1:])])
        step = "token_loss" if effect == "forward" and path == ("forward",) and "loss" in names else "patch"
        machine.steps.emit(
            step, "recipe", receiver, site, state, call=site.code, traits={"effect": effect, "paths": ((path, effect),)}
        )

    def effect(self, name: str, value: Value, receiver: Obj, site: Site) -> str:
        """What replacing ``name`` by ``value`` does: structural, forward, method, or "" for nothing of weight."""
        match value:
            case Alternatives(options=options):
                found = {self.effect(name, option, receiver, site) for _, option in options}
                return next((e for e in ("structural", "unknown", "forward", "method") if e in found), "")
            case Function() | ClosureRef() | Method() | Partial() | External():
                if isinstance(value, External) and ("." not in value.name or not value.name.split(".")[-1].islower()):
                    return ""
                return "forward" if name == "forward" or name.endswith("_forward") else "method"
            case Obj() if not value.path and value.view == 0:
                return self._object_effect(value, receiver)
        return ""

    def _object_effect(self, value: Obj, receiver: Obj) -> str:
        if value.id == receiver.id:
            return ""
        info = self.machine.info(value)
        cls = self.machine.record.classes.get(value.id)
        if isinstance(cls, ClassRef):
            return "structural" if self.machine.classes.is_module_class(cls) else ""
        if info.origin == "load":
            return "structural"
        last = info.label.rsplit(".", 1)[-1]
        if info.origin != "call" or not last[:1].isupper():
            return ""
        if info.label.startswith(("torch.nn.", "nn.")):
            return "structural"
        return "" if last.endswith(_PLAIN_CLASSES) else "unknown"

    def _store_on_parameter(
        self, receiver: Parameter, name: str, value: Value, site: Site, state: State, frame: Frame
    ) -> None:
        machine = self.machine
        if name == "requires_grad" and receiver.data:
            machine.note("data-freeze", receiver.owner.id, site, state)
        elif name == "requires_grad":
            self.freeze(receiver.owner, value, site, state)
        elif name == "data":
            dtype = self._cast(site.node, frame)
            if dtype in ("float32", "unknown"):
                loop = next((lp for lp in reversed(frame.loops) if machine.statements and lp.over is not None), None)
                where = Site(frame.segment, loop.node) if loop is not None else site
                machine.steps.emit(
                    "upcast",
                    "recipe",
                    receiver.owner,
                    where,
                    state,
                    call=site.code,
                    may=dtype == "unknown",
                    traits={"dtype": dtype},
                )

    def freeze(self, owner: Obj, value: Value, site: Site, state: State, form: str = "direct") -> None:
        """``requires_grad`` of parameters of ``owner`` is set to ``value``."""
        constant = _constant(value)
        kind = {True: "unfreeze", False: "freeze"}.get(constant, "policy") if isinstance(constant, bool) else "policy"
        self.machine.steps.emit(
            "freeze",
            form,
            owner,
            site,
            state,
            call=site.code,
            traits={
                "kind": kind,
                "by_name": bool(self.machine.name_tests),
                "name_tests": tuple(self.machine.name_tests),
                "selective": self.machine.element_depth > 0,
                "covers": "all" if not owner.path and not self.machine.element_depth and kind == "freeze" else "",
            },
        )

    def _cast(self, node: cst.CSTNode, frame: Frame) -> str:
        """The dtype that an assigned ``.data`` expression casts to: float32, low, unknown, or "" for no cast."""
        value = node.value if isinstance(node, cst.Assign | cst.AnnAssign) else None
        if not isinstance(value, cst.Call) or not isinstance(value.func, cst.Attribute):
            return ""
        method = value.func.attr.value
        if method == "float":
            return "float32"
        if method in ("half", "bfloat16"):
            return "low"
        if method not in ("to", "type"):
            return ""
        found = ""
        for arg in value.args:
            if arg.keyword is not None and arg.keyword.value != "dtype":
                continue
            code = frame.segment.code(arg.value)
            if _FLOAT32.search(code):
                return "float32"
            if _LOW.search(code):
                return "low"
            if arg.keyword is not None or "dtype" in code:
                found = "unknown"
        return found


def _constant(value: Value) -> object:
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Boolean) and (value.guard.always or value.guard.impossible):
        return value.guard.always
    return None


def _objects(value: Value | None) -> tuple[int, ...]:
    match value:
        case Obj(id=number, path=()):
            return (number,)
        case Alternatives(options=options):
            return tuple(dict.fromkeys(n for _, option in options for n in _objects(option)))
    return ()


def _same_root(value: Value | None, number: int) -> bool:
    return number in _objects(value)


__all__ = ["Assignments", "Kit"]
