"""Calls: to a protocol step, to project code that is walked, to a known builtin, or noted as unresolved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import libcst as cst

from recipe_lint.trace.events import Site
from recipe_lint.trace.guards import Guard
from recipe_lint.trace.known import IGNORED_ROOTS, READING_FUNCTIONS
from recipe_lint.trace.state import State, alternatives
from recipe_lint.trace.values import (
    Alternatives,
    ClassRef,
    ClosureRef,
    Const,
    Element,
    External,
    Function,
    Kit,
    ListRef,
    Method,
    ModuleRef,
    Modules,
    Obj,
    Parameter,
    Parameters,
    Partial,
    Sequence,
    Super,
    Table,
    Value,
)

if TYPE_CHECKING:
    from recipe_lint.trace.frames import Frame
    from recipe_lint.trace.machine import Machine


class Calls:
    """Evaluates calls."""

    def __init__(self, machine: Machine) -> None:
        """Part of ``machine``."""
        self.machine = machine

    def call(self, node: cst.Call, state: State, frame: Frame) -> Value:
        """The result of a call expression."""
        site = Site(frame.segment, node)
        if isinstance(node.func, cst.Name) and node.func.value == "super":
            return self._super(node, state, frame)
        if isinstance(node.func, cst.Attribute):
            receiver = self.machine.expressions.value(node.func.value, state, frame)
            args, keywords = self._arguments(node, state, frame)
            targets = self._methods(receiver, node.func.attr.value, state, site)
        else:
            callee = self.machine.expressions.value(node.func, state, frame)
            args, keywords = self._arguments(node, state, frame)
            targets = self.machine.options(callee, state)
        if len(targets) == 1:
            return self.dispatch(targets[0][1], args, keywords, site, state, frame)
        return self._each(targets, args, keywords, site, state, frame)

    def _each(
        self,
        targets: list[tuple[Guard, Value]],
        args: list[Value],
        keywords: dict[str, Value],
        site: Site,
        state: State,
        frame: Frame | None,
    ) -> Value:
        results = []
        base = state.guard
        for guard, target in targets:
            inner = state.fork(guard)
            value = self.dispatch(target, args, keywords, site, inner, frame)
            state.heap = inner.heap
            results.append((guard, value))
        state.guard = base
        return alternatives(results, self.machine.collapse) if results else self.machine.unknown("call")

    def _methods(self, receiver: Value, name: str, state: State, site: Site) -> list[tuple[Guard, Value]]:
        """What ``receiver.name`` may call; alternatives that are views of one object count as one."""
        merged: dict[object, tuple[Guard, Value]] = {}
        for guard, option in self.machine.options(receiver, state):
            key: object = (option.id, option.path) if isinstance(option, Obj) else option
            if key in merged:
                known_guard, known = merged[key]
                merged[key] = (known_guard | guard, known)
            else:
                merged[key] = (guard, option)
        if len(merged) == 1 and isinstance(receiver, Alternatives):
            first = next(iter(merged.values()))[1]
            if isinstance(first, Obj):
                return [(state.guard, self._bound(first, name, state, site, receiver))]
        return [(guard, self._bound(option, name, state, site, option)) for guard, option in merged.values()]

    def _bound(self, option: Value, name: str, state: State, site: Site, written: Value) -> Value:
        if isinstance(option, Obj):
            held = self.machine.names.held(option, name, state)
            # A step stays a step where the recipe puts its own version on the instance.
            own_step = self.machine.is_model_like(option) and self.machine.protocol.method_step(name) is not None
            if held is not None and not isinstance(held, Obj) and not own_step:
                return held
            if option.id in self.machine.record.classes and not option.path:
                found = self.machine.classes.lookup(option, name)
                if found is not None:
                    return found
            return Method(written, name)
        if isinstance(option, External | ModuleRef | ClassRef | Super):
            return self.machine.names.attribute(option, name, state, site)
        return Method(option, name)

    def _super(self, node: cst.Call, state: State, frame: Frame) -> Value:
        for arg in node.args:
            self.machine.expressions.value(arg.value, state, frame)
        if frame.receiver is not None and frame.owner is not None:
            return Super(frame.receiver, frame.owner)
        return self.machine.unknown("super()")

    def _arguments(self, node: cst.Call, state: State, frame: Frame) -> tuple[list[Value], dict[str, Value]]:
        args: list[Value] = []
        keywords: dict[str, Value] = {}
        for arg in node.args:
            value = self.machine.expressions.value(arg.value, state, frame)
            if arg.star == "*":
                args.extend(item for _, item in self.machine.expressions.content(value, state).items)
            elif arg.star == "**":
                if isinstance(value, Table):
                    keywords.update({key: item for key, item in value.items if isinstance(key, str)})
            elif arg.keyword is not None:
                keywords[arg.keyword.value] = value
            else:
                args.append(value)
        return args, keywords

    def dispatch(
        self,
        target: Value,
        args: list[Value],
        keywords: Mapping[str, Value],
        site: Site,
        state: State,
        frame: Frame | None,
    ) -> Value:
        """Call a single value."""
        machine = self.machine
        match target:
            case Function():
                return self._function(target, args, keywords, site, state)
            case External(name=dotted):
                return self.external(dotted, args, keywords, site, state, frame)
            case ClassRef():
                return self._class(target, args, keywords, site, state)
            case ClosureRef():
                return machine.functions.call_closure(target, args, keywords, site, state)
            case Partial(function=inner, args=first, keywords=named):
                return self.dispatch(inner, [*first, *args], {**dict(named), **keywords}, site, state, frame)
            case Method(receiver=receiver, name=name):
                return self._method(receiver, name, args, keywords, site, state)
            case Alternatives(options=options):
                return self._each(list(options), args, dict(keywords), site, state, frame)
            case Obj(path=path) if path:
                held = Obj(target.id, path[:-1], 0, target.may)
                return self._method(held, path[-1], args, keywords, site, state)
            case Obj():
                machine.note("call", target.id, site, state, resolved=True)
                return self.unresolved(site, args, keywords, state, "what it calls is not known")
            case Element(owner=owner):
                return Element(owner, site.code.split("(")[0])
        return self.unresolved(site, args, keywords, state, "what it calls is not known")

    def _function(
        self, target: Function, args: list[Value], keywords: Mapping[str, Value], site: Site, state: State
    ) -> Value:
        machine = self.machine
        dotted = machine.classes.dotted(target.definition)
        found = machine.protocol.call_step(dotted, outside=False)
        if found is not None:
            step, spec = found
            return machine.steps.perform(step, spec, "kit" if spec.kit else "direct", args, keywords, site, state)
        if machine.classes.in_library(target.definition):
            return self.external(dotted, args, keywords, site, state)
        if self._worth_opening(target, args, keywords):
            return machine.functions.call(target, args, keywords, site, state)
        return self._plain_result(target.definition.key, args, keywords, site)

    def _worth_opening(self, target: Function, args: list[Value], keywords: Mapping[str, Value]) -> bool:
        """Whether a callee can matter: it may take a step, or it is handed a model, an engine or a callable."""
        definition = target.definition
        if self.machine.relevance.of(definition.module, definition.node, target.owner):
            return True
        if target.receiver is not None and isinstance(target.receiver, Obj):
            return True
        handed = (*args, *keywords.values())
        return any(self.carries_model(value) or isinstance(value, Function | ClosureRef) for value in handed)

    def carries_model(self, value: Value) -> bool:
        """Whether a value is, or holds, something that may be a model."""
        match value:
            case Obj():
                return self.machine.info(value).origin in ("load", "instance", "copy", "call", "self", "unknown")
            case Parameters() | Parameter() | Modules() | Kit() | ListRef():
                return True
            case Alternatives(options=options):
                return any(self.carries_model(option) for _, option in options)
            case Sequence(items=items):
                return any(self.carries_model(item) for _, item in items)
        return False

    def _plain_result(self, key: str, args: list[Value], keywords: Mapping[str, Value], site: Site) -> Value:
        """The result of a call without effects on a model: equal for equal arguments, so that tests of it correlate."""
        element = self._element_among((*args, *keywords.values()))
        if element is not None:
            return element
        parts = [self.machine.names.describe(value) for value in (*args, *keywords.values())]
        label = site.code if len(site.code) <= 60 else site.code.split("(")[0] + "(...)"
        if any(part is None for part in parts):
            return self.machine.new("call", label)
        return self.machine.remembered(f"{key}({','.join(map(str, parts))})", "call", label)

    def external(
        self,
        dotted: str,
        args: list[Value],
        keywords: Mapping[str, Value],
        site: Site,
        state: State,
        frame: Frame | None = None,
    ) -> Value:
        """A call of a name outside the project."""
        machine = self.machine
        handled = machine.builtins.call(dotted, args, keywords, site, state, frame)
        if handled is not None:
            return handled
        found = machine.protocol.call_step(dotted, outside=True)
        if found is not None:
            step, spec = found
            return machine.steps.perform(step, spec, "kit" if spec.kit else "direct", args, keywords, site, state)
        last = dotted.rsplit(".", 1)[-1]
        if last in machine.protocol.kits:
            return Kit(last)
        if "." not in dotted and last in READING_FUNCTIONS:
            return self._read(dotted, args, keywords, site, state)
        if dotted.split(".", maxsplit=1)[0] in IGNORED_ROOTS or last in READING_FUNCTIONS:
            self.note_models(site, args, keywords, state, resolved=True)
            return self._plain_result(dotted, args, keywords, site)
        if not any(self.carries_model(value) for value in (*args, *keywords.values())):
            return self._labelled(dotted, args, keywords, site)
        return self.unresolved(site, args, keywords, state, f"{dotted} is outside the project")

    def _element_among(self, values: tuple[Value, ...]) -> Element | None:
        """What a test of a loop's element gives differs for each round too; a name stays a name."""
        for value in values:
            if isinstance(value, Element):
                return Element(value.owner, "name test" if value.label.startswith("name") else value.label)
            if isinstance(value, Parameter):
                return Element(value.owner, "parameter test")
            if isinstance(value, Obj) and "*" in value.path:
                return Element(value, "part test")
        return None

    def _labelled(self, dotted: str, args: list[Value], keywords: Mapping[str, Value], site: Site) -> Value:
        element = self._element_among((*args, *keywords.values()))
        if element is not None:
            return element
        parts = [self.machine.names.describe(value) for value in (*args, *keywords.values())]
        last = dotted.rsplit(".", 1)[-1]
        if last[:1].isupper() or any(part is None for part in parts):
            return self.machine.new("call", dotted)
        return self.machine.remembered(f"{dotted}({','.join(map(str, parts))})", "call", site.code)

    def _read(self, name: str, args: list[Value], keywords: Mapping[str, Value], site: Site, state: State) -> Value:
        """A builtin that reads: of a loop's element, or of a sequence of tests of one, it differs for each round."""
        inner = [item for value in args for _, item in self.machine.expressions.content(value, state).items]
        found = self._element_among((*args, *inner))
        if found is not None:
            return found
        return self._plain_result(name, args, keywords, site)

    def _class(
        self, target: ClassRef, args: list[Value], keywords: Mapping[str, Value], site: Site, state: State
    ) -> Value:
        return self.machine.classes.instantiate(target, args, dict(keywords), site, state)

    def _method(
        self,
        receiver: Value,
        name: str,
        args: list[Value],
        keywords: Mapping[str, Value],
        site: Site,
        state: State,
    ) -> Value:
        machine = self.machine
        if isinstance(receiver, Super):
            return machine.steps.base_call(name, receiver, site, state, args, keywords)
        if isinstance(receiver, ClassRef):
            if name in ("from_pretrained", "from_config", "_from_config") and machine.classes.is_module_class(receiver):
                return machine.steps.load("direct", args, keywords, site, state, receiver.name)
            return self.unresolved(site, args, keywords, state, f"{receiver.name}.{name} is not defined in the project")
        handled = machine.builtins.method(receiver, name, args, site, state)
        if handled is not None:
            return handled
        kit = receiver.name if isinstance(receiver, Kit) else None
        step = machine.protocol.kit_step(name, kit)
        if step is not None and (kit is not None or isinstance(receiver, Obj | Kit | Alternatives)):
            return machine.steps.perform_kit(step, name, receiver, args, keywords, site, state)
        return machine.steps.on_model(receiver, name, args, keywords, site, state)

    def unresolved(self, site: Site, args: list[Value], keywords: Mapping[str, Value], state: State, why: str) -> Value:
        """An unknown call: noted for every model it is handed; its result may be that model again."""
        models = self.note_models(site, args, keywords, state, resolved=False, why=why)
        label = site.code.split("(")[0]
        if len(models) == 1 and (not label.rsplit(".", 1)[-1][:1].isupper() or self._is_known_model(models[0])):
            first = models[0]
            return Obj(self.machine.new("call", label, first.id).id, (), first.view, True)
        return self.machine.new("call", label)

    def _is_known_model(self, value: Obj) -> bool:
        """Whether a step has already happened to an object; a class that is handed anything else makes a new one."""
        return any(event.object == value.id for event in self.machine.record.events)

    def note_models(
        self,
        site: Site,
        args: list[Value],
        keywords: Mapping[str, Value],
        state: State,
        *,
        resolved: bool,
        why: str = "",
    ) -> list[Obj]:
        """Note a call for every model that it is handed; the models that it is handed whole."""
        models: dict[int, Obj] = {}
        for value in (*args, *keywords.values()):
            for _, option in self.machine.options(value, state):
                owner = option.owner if isinstance(option, Parameters | Parameter) else option
                if isinstance(owner, Obj) and self.machine.is_model_like(owner) and "config" not in owner.path:
                    models.setdefault(owner.id, owner)
        for number in models:
            self.machine.note("call", number, site, state, resolved=resolved, why=why)
        return [model for model in models.values() if not model.path]


def constant(value: Value | None) -> object:
    """The plain value of a constant, None where it is none."""
    return value.value if isinstance(value, Const) else None
