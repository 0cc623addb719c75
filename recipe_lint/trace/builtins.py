"""Builtins and library calls whose meaning the tracer knows: partial, deepcopy, getattr, list methods, parameters()."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from recipe_lint.trace.events import Site
from recipe_lint.trace.guards import ALWAYS, Atom, literal
from recipe_lint.trace.known import READING_METHODS, TRANSPARENT_METHODS
from recipe_lint.trace.state import State, alternatives, concatenated
from recipe_lint.trace.values import (
    NONE,
    Alternatives,
    Boolean,
    ClosureRef,
    Const,
    Element,
    External,
    Function,
    ListRef,
    Modules,
    Obj,
    Parameter,
    Parameters,
    Partial,
    Sequence,
    Table,
    Value,
)

if TYPE_CHECKING:
    from recipe_lint.trace.frames import Frame
    from recipe_lint.trace.machine import Machine

_COPIES = ("copy.deepcopy", "copy.copy")
_SAME = ("bool", "list", "tuple", "set", "sorted", "reversed", "iter", "int", "str", "float", "typing.cast")
_CONFIG_COPIES = ("model_copy", "copy", "deepcopy", "model_dump", "to_container", "dict")


class Builtins:
    """Evaluates calls of known meaning; None where the meaning is not known here."""

    def __init__(self, machine: Machine) -> None:
        """Part of ``machine``."""
        self.machine = machine
        self._table: dict[str, Callable[..., Value | None]] = {
            "functools.partial": self._partial,
            "getattr": self._getattr,
            "setattr": self._setattr,
            "hasattr": self._hasattr,
            "enumerate": self._enumerate,
            "zip": self._zip,
            "filter": self._filter,
            "map": self._map,
            "isinstance": self._isinstance,
            "itertools.chain": self._chain,
            "types.MethodType": self._method_type,
            "omegaconf.OmegaConf.select": self._select,
            "OmegaConf.select": self._select,
            "torch.compiler.disable": self._disable,
            "torch._dynamo.disable": self._disable,
            "torch.nn.Parameter": self._same_owner,
        }

    def call(
        self,
        dotted: str,
        args: list[Value],
        keywords: Mapping[str, Value],
        site: Site,
        state: State,
        frame: Frame | None,
    ) -> Value | None:
        """The result of a known function."""
        if dotted in _COPIES and args:
            return self._copy(args[0], site, state)
        if dotted in _SAME and args:
            value = args[-1] if dotted == "typing.cast" else args[0]
            if isinstance(value, ListRef) and dotted in ("list", "sorted", "reversed"):
                return self.machine.expressions.new_list(self.machine.expressions.content(value, state), state)
            return value
        handler = self._table.get(dotted)
        return handler(args, keywords, site, state, frame) if handler is not None else None

    def method(
        self,
        receiver: Value,
        name: str,
        args: list[Value],
        site: Site,
        state: State,
    ) -> Value | None:
        """The result of a known method."""
        single = self.machine.single(receiver, state)
        match single:
            case ListRef():
                return self._list_method(single, name, args, state)
            case Parameter():
                return self._parameter_method(single, name, args, site, state)
            case Parameters():
                return single
            case Modules():
                return single
            case Element(owner=owner, label=label):
                return Element(owner, label if label.startswith("name") else f"{label}.{name}")
            case Table():
                return self._table_method(single, name, args, state)
            case Const(value=text) if isinstance(text, str):
                return self._text_method(text, name)
            case Obj() if "*" in single.path and name in ("split", "startswith", "endswith"):
                return Element(single, name)
            case Obj():
                return self._object_method(single, receiver, name, args, site, state)
            case Alternatives(options=options) if all(isinstance(o, Obj) for _, o in options):
                first = options[0][1]
                if isinstance(first, Obj) and all(isinstance(o, Obj) and o.id == first.id for _, o in options):
                    return self._object_method(first, receiver, name, args, site, state)
        return None

    def _text_method(self, text: str, name: str) -> Value:
        changed = {"lower": text.lower, "upper": text.upper, "strip": text.strip}.get(name)
        return Const(changed()) if changed else self.machine.new("plain", "text")

    def _object_method(
        self,
        receiver: Obj,
        written: Value,
        name: str,
        args: list[Value],
        site: Site,
        state: State,
    ) -> Value | None:
        machine = self.machine
        origin = machine.info(receiver).origin
        if origin == "config" or (origin == "parameter" and name in ("get", "model_copy", "model_dump")):
            return self._config_method(receiver, name, args, state)
        if origin == "self" and not receiver.path:
            return None
        if name in ("parameters", "named_parameters", "get_parameters"):
            machine.note("call", receiver.id, site, state, resolved=True)
            return Parameters(receiver, named=name == "named_parameters")
        if name in ("modules", "children", "named_modules", "named_children"):
            machine.note("call", receiver.id, site, state, resolved=True)
            return Modules(receiver, named=name.startswith("named"))
        if name in ("get_input_embeddings", "get_decoder", "get_encoder", "get_base_model"):
            machine.note("call", receiver.id, site, state, resolved=True)
            return receiver if name == "get_base_model" else receiver.part(name)
        if name in TRANSPARENT_METHODS:
            machine.note("call", receiver.id, site, state, resolved=True)
            if name == "to_empty" or (name == "to" and Const("meta") in args):
                machine.note("new-parameters", receiver.id, site, state, method=name)
            return written
        if name in READING_METHODS:
            machine.note("call", receiver.id, site, state, resolved=True, method=name)
            if name == "resize_token_embeddings":
                machine.note("new-parameters", receiver.id, site, state, method=name)
            return machine.new("plain", name)
        if name in ("add_module", "register_module", "set_submodule") and len(args) >= 2:
            return self._add_module(receiver, args, site, state)
        if name == "apply" and args and isinstance(args[0], Function | ClosureRef):
            machine.note("call", receiver.id, site, state, resolved=True)
            machine.calls.dispatch(args[0], [receiver.part("*")], {}, site, state, None)
            return written
        return None

    def _config_method(self, receiver: Obj, name: str, args: list[Value], state: State) -> Value:
        machine = self.machine
        if name in _CONFIG_COPIES:
            root, prefix = machine.names.origin(receiver)
            copy = machine.new("config", machine.info(root).label, root)
            machine.record.prefixes[copy.id] = (root, (*prefix, *receiver.path))
            return copy
        if name == "get" and args and isinstance(args[0], Const):
            key = str(args[0].value)
            held = machine.names.held(receiver, key, state)
            return held if held is not None else receiver.part(key)
        return machine.remembered(f"{machine.names.label(receiver)}.{name}()", "plain", f"{name}()")

    def _add_module(self, receiver: Obj, args: list[Value], site: Site, state: State) -> Value:
        name = str(args[0].value) if isinstance(args[0], Const) else "*"
        effect = self.machine.assignments.effect(name, args[1], receiver, site)
        if effect:
            self.machine.assignments.patched(receiver, name, effect, site, state)
        return NONE

    def _parameter_method(self, receiver: Parameter, name: str, args: list[Value], site: Site, state: State) -> Value:
        if name == "requires_grad_":
            value = args[0] if args else Const(True)
            self.machine.assignments.freeze(receiver.owner, value, site, state)
        return receiver

    def _list_method(self, receiver: ListRef, name: str, args: list[Value], state: State) -> Value | None:
        key = (receiver.id, "[]")
        content = self.machine.expressions.content(receiver, state)
        if name == "append" and args:
            content = Sequence((*content.items, (ALWAYS, args[0])), content.open)
        elif name == "insert" and len(args) == 2:
            at = args[0].value if isinstance(args[0], Const) and isinstance(args[0].value, int) else len(content.items)
            items = list(content.items)
            items.insert(at, (ALWAYS, args[1]))
            content = Sequence(tuple(items), content.open)
        elif name == "extend" and args:
            more = self.machine.expressions.content(args[0], state)
            content = concatenated(content, more)
        elif name == "clear":
            content = Sequence(())
        else:
            return self.machine.new("plain", name)
        state.heap[key] = content
        return NONE

    def _table_method(self, receiver: Table, name: str, args: list[Value], state: State) -> Value:
        if name == "get" and args:
            if not isinstance(args[0], Const):
                return self.machine.expressions.chosen(receiver, args[0], state)
            for key, value in receiver.items:
                if key == args[0].value:
                    return value
            return args[1] if len(args) > 1 else NONE
        if name == "items":
            pairs = (self.machine.expressions.sequence([Const(key), value]) for key, value in receiver.items)
            return self.machine.expressions.sequence(list(pairs))
        if name == "values":
            return self.machine.expressions.sequence([value for _, value in receiver.items])
        return self.machine.new("plain", name)

    def _copy(self, value: Value, site: Site, state: State) -> Value:
        machine = self.machine
        found = []
        for guard, option in machine.options(value, state):
            copied = option
            if isinstance(option, Obj):
                origin = machine.info(option).origin
                if origin == "config":
                    copied = self._config_method(option, "copy", [], state)
                elif machine.is_model_like(option):
                    machine.note("call", option.id, site, state, resolved=True)
                    copied = machine.new("copy", site.code, option.id)
                    if option.id in machine.record.classes:
                        machine.record.classes[copied.id] = machine.record.classes[option.id]
            found.append((guard, copied))
        return alternatives(found, machine.collapse)

    # -- functions

    def _partial(self, args: list[Value], keywords: Mapping[str, Value], *_: object) -> Value | None:
        return Partial(args[0], tuple(args[1:]), tuple(keywords.items())) if args else None

    def _getattr(self, args: list[Value], _k: object, site: Site, state: State, *_: object) -> Value | None:
        if len(args) < 2 or not isinstance(args[1], Const):
            return None
        name = str(args[1].value)
        found: list[tuple[object, Value]] = []
        for guard, option in self.machine.options(args[0], state):
            if len(args) > 2 and isinstance(option, Obj) and not option.path and self._lacks(option, name, state):
                found.append((guard, args[2]))
            else:
                found.append((guard, self.machine.names.attribute(option, name, state, site)))
        return alternatives(found, self.machine.collapse)  # type: ignore[arg-type]

    def _lacks(self, option: Obj, name: str, state: State) -> bool:
        """Whether an engine is known not to hold its own model yet, so that getattr gives its default."""
        if self.machine.info(option).origin != "self":
            return False
        hooks = self.machine.protocol.library.hooks
        return any(h.attribute == name for h in hooks) and self.machine.names.held(option, name, state) is None

    def _setattr(self, args: list[Value], _k: object, site: Site, state: State, frame: Frame | None) -> Value | None:
        if len(args) == 3 and frame is not None:
            name = str(args[1].value) if isinstance(args[1], Const) else "*"
            for guard, option in self.machine.options(args[0], state):
                held, state.guard = state.guard, guard
                self.machine.assignments.store(option, name, args[2], site, state, frame)
                state.guard = held
        return NONE

    def _hasattr(self, args: list[Value], _k: object, site: Site, state: State, *_: object) -> Value:
        if len(args) == 2 and isinstance(args[1], Const):
            value = self.machine.single(args[0], state)
            if isinstance(value, Obj) and self.machine.names.held(value, str(args[1].value), state) is not None:
                return Const(True)
            if self.machine.names.elementwise(value):
                return self._element(value, "hasattr")
            subject = self.machine.names.subject(value)
            if subject is not None:
                return Boolean(literal(Atom(f"has.{subject[0]}.{args[1].value}", "opaque", None, site.code)))
        return self.machine.unknown(site.code)

    def _element(self, value: Value, label: str) -> Value:
        owner = value.owner if isinstance(value, Element | Parameter) else value
        return Element(owner, label) if isinstance(owner, Obj) else self.machine.unknown(label)

    def _isinstance(self, args: list[Value], _k: object, site: Site, state: State, *_: object) -> Value:
        value = self.machine.single(args[0], state) if args else NONE
        if self.machine.names.elementwise(value):
            return self._element(value, "isinstance")
        subject = self.machine.names.subject(value)
        key = f"is.{subject[0] if subject else ''}.{site.code}"
        return Boolean(literal(Atom(key, "opaque", None, site.code)))

    def _enumerate(self, args: list[Value], _k: object, _s: object, state: State, *_: object) -> Value | None:
        if not args:
            return None
        rounds = self.machine.loops.rounds(args[0], state)
        pairs = [
            (
                guard,
                self.machine.expressions.sequence(
                    [Const(number) if len(rounds) > 1 else self.machine.new("plain", "index"), item]
                ),
            )
            for number, (guard, item) in enumerate(rounds)
        ]
        return Sequence(tuple(pairs), open=len(rounds) == 1)

    def _zip(self, args: list[Value], _k: object, _s: object, state: State, *_: object) -> Value:
        columns = [self.machine.loops.rounds(arg, state) for arg in args]
        length = min((len(column) for column in columns), default=0)
        rows = [self.machine.expressions.sequence([column[i][1] for column in columns]) for i in range(length)]
        return Sequence(tuple((ALWAYS, row) for row in rows), open=length == 1)

    def _filter(self, args: list[Value], _k: object, site: Site, state: State, frame: Frame | None) -> Value | None:
        if len(args) != 2:
            return None
        value = self.machine.single(args[1], state)
        if isinstance(value, Parameters):
            rounds = self.machine.loops.rounds(value, state)
            result = self.machine.calls.dispatch(args[0], [rounds[0][1]], {}, site, state, frame)
            trainable = isinstance(result, Element) and result.label.endswith("requires_grad")
            return Parameters(value.owner, value.named, trainable or value.trainable)
        return value

    def _map(self, args: list[Value], _k: object, site: Site, state: State, frame: Frame | None) -> Value | None:
        if len(args) != 2:
            return None
        rounds = self.machine.loops.rounds(args[1], state)
        results = [
            (guard, self.machine.calls.dispatch(args[0], [item], {}, site, state, frame)) for guard, item in rounds
        ]
        return Sequence(tuple(results), open=len(rounds) == 1)

    def _chain(self, args: list[Value], *_: object) -> Value:
        return self.machine.expressions.sequence(args)

    def _method_type(self, args: list[Value], *_: object) -> Value | None:
        return args[0] if args else None

    def _select(self, args: list[Value], *_: object) -> Value | None:
        if len(args) < 2 or not isinstance(args[1], Const) or not isinstance(args[0], Obj):
            return None
        value = args[0]
        for name in str(args[1].value).split("."):
            value = value.part(name)
        return value

    def _disable(self, args: list[Value], *_: object) -> Value | None:
        # The marker is no patch: it keeps the method it is given.
        return External("torch.compiler.Disabled") if args else None

    def _same_owner(self, args: list[Value], *_: object) -> Value | None:
        return args[0] if args and isinstance(args[0], Parameter) else None
