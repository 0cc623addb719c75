"""Protocol steps: what each does to the objects it is given, and the event that records it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recipe_lint.protocol.model import BACKENDS, CallSpec
from recipe_lint.trace.events import GLOBAL_OBJECT, Event, Site
from recipe_lint.trace.guards import Guard
from recipe_lint.trace.known import READING_METHODS
from recipe_lint.trace.state import State, alternatives
from recipe_lint.trace.values import (
    Const,
    Element,
    External,
    Kit,
    ListRef,
    Method,
    Modules,
    Obj,
    Parameter,
    Parameters,
    Super,
    Value,
)

if TYPE_CHECKING:
    from recipe_lint.trace.machine import Machine

_MODEL_KEYWORDS = ("model", "module", "params", "parameters", "model_parameters")
_EFFECTS = ("structural", "unknown", "forward", "method", "")
_LOADS = {"mllm": ("ImageTextToText", "Vision2Seq", "VL", "Llava"), "llm": ("CausalLM",)}


class Steps:
    """Performs protocol steps."""

    def __init__(self, machine: Machine) -> None:
        """Part of ``machine``."""
        self.machine = machine

    # -- recording

    def emit(
        self,
        step: str,
        form: str,
        target: Value,
        site: Site,
        state: State,
        *,
        call: str,
        may: bool = False,
        traits: Mapping[str, object] | None = None,
    ) -> None:
        """Record one event for each object that ``target`` may be; views of one object count as one."""
        machine = self.machine
        grouped: dict[tuple[int, tuple[str, ...]], tuple[Guard, bool, int]] = {}
        for guard, option in machine.options(target, state):
            owner = option.owner if isinstance(option, Parameters | Parameter | Modules) else option
            if not isinstance(owner, Obj):
                continue
            key = (owner.id, owner.path)
            known = grouped.get(key)
            if known is None:
                grouped[key] = (guard, owner.may, owner.view)
            else:
                grouped[key] = (known[0] | guard, known[1] and owner.may, max(known[2], owner.view))
        for (number, path), (guard, unsure, view) in grouped.items():
            event = Event(
                len(machine.record.events) + len(machine.record.notes),
                step,
                form,
                call,
                number,
                path,
                site,
                tuple(machine.chain),
                guard,
                machine.hook,
                may or unsure or guard.approximate,
                {**(traits or {}), "on_view": view, "rounds": machine.rounds},
            )
            machine.record.events.append(event)

    def wrapped(self, target: Value, state: State) -> tuple[Value, tuple[tuple[int, int], ...]]:
        """The wrapper that a step returned, another view of the same object; and pairs (view, view that it wraps)."""
        machine = self.machine
        found = []
        pairs = []
        for guard, option in machine.options(target, state):
            value = option
            if isinstance(option, Obj):
                number = machine.record.views.get(option.id, 0) + 1
                machine.record.views[option.id] = number
                value = Obj(option.id, option.path, number, option.may)
                pairs.append((number, option.view))
            found.append((guard, value))
        return (alternatives(found, machine.collapse) if found else target), tuple(pairs)

    def note_discard(self, value: Value, known: int, site: Site, state: State) -> None:
        """An expression statement threw a result away: noted when the result is a wrapper or another object."""
        machine = self.machine
        fresh = machine.record.events[known:]
        event = next((e for e in reversed(fresh) if e.site.node is site.node), None)
        if event is None:
            return
        for _, option in machine.options(value, state):
            views = event.trait("views")
            fresh_views = [new for new, _ in views] if isinstance(views, tuple) else []
            replaced = isinstance(option, Obj) and option.id == event.object and option.view in fresh_views
            other = isinstance(option, Obj) and option.id != event.object and event.step == "patch"
            if replaced or other:
                machine.note("discard", event.object, site, state, event=event.index, step=event.step)
                return

    # -- entry points

    def model_argument(self, args: list[Value], keywords: Mapping[str, Value]) -> Value | None:
        """The model among the arguments: the usual keyword, else the first position, else any object."""
        for name in _MODEL_KEYWORDS:
            if name in keywords:
                return keywords[name]
        if args:
            return args[0]
        return next((v for v in keywords.values() if self.machine.is_model_like(v)), None)

    def perform_kit(
        self,
        step: str,
        name: str,
        receiver: Value,
        args: list[Value],
        keywords: Mapping[str, Value],
        site: Site,
        state: State,
    ) -> Value:
        """A kit method; called on the model itself where it is handed none."""
        if step == "load":
            kit = receiver.name if isinstance(receiver, Kit) else "MLLMModelKit"
            self.machine.record.families.add(self.machine.protocol.kits.get(kit, ""))
            return self.load("kit", args, keywords, site, state, name)
        if self.model_argument(args, keywords) is None and isinstance(receiver, Obj) and step != "kernel_patch":
            args = [receiver]
        return self.perform(step, CallSpec(name=name, kit=True), "kit", args, keywords, site, state)

    def perform(
        self,
        step: str,
        spec: CallSpec,
        form: str,
        args: list[Value],
        keywords: Mapping[str, Value],
        site: Site,
        state: State,
    ) -> Value:
        """A call that the protocol names."""
        if step == "load":
            return self.load(form, args, keywords, site, state, spec.name)
        if step == "kernel_patch":
            return self._kernel_patch(form, args, keywords, site, state)
        target = self.model_argument(args, keywords)
        if step == "optimizer":
            return self.machine.optimizers.build(form, target, site, state)
        if target is None:
            return self.machine.new("call", site.code.split("(")[0])
        if step == "patch":
            return self.machine.patches.apply(form, target, args, keywords, site, state)
        if step == "ema_copy":
            copy = self.machine.new("copy", site.code)
            self.emit(step, form, target, site, state, call=site.code, traits={"copy": copy.id})
            return copy
        traits = self._traits(step, spec, args, keywords, state)
        result = target
        if spec.wraps:
            result, traits["views"] = self.wrapped(target, state)
        self.emit(step, form, target, site, state, call=site.code, may=spec.may, traits=traits)
        return result

    def _traits(
        self, step: str, spec: CallSpec, args: list[Value], keywords: Mapping[str, Value], state: State
    ) -> dict[str, object]:
        traits: dict[str, object] = {"wraps": spec.wraps, "arguments": self._named(step, spec, args, keywords, state)}
        if spec.backend:
            traits["backend"] = spec.backend
        if step == "freeze":
            traits |= {"kind": "freeze", "by_name": spec.kit, "covers": spec.covers}
        if step == "token_loss":
            traits |= {"effect": "forward", "paths": ((("forward",), "forward"),)}
        if step == "checkpointing":
            mode = keywords.get("mode")
            traits["mode"] = mode.value if isinstance(mode, Const) else None
        if spec.prepares:
            values = (*args, *keywords.values())
            traits["prepares"] = tuple(n for v in values for n in self.machine.optimizers.ids(v, state))
        if step == "parallelize" and spec.kit:
            backend = keywords.get("backend")
            if isinstance(backend, Const) and backend.value in BACKENDS:
                traits["backend"] = backend.value
        return traits

    def _named(
        self, step: str, spec: CallSpec, args: list[Value], keywords: Mapping[str, Value], state: State
    ) -> dict[str, Value]:
        """The arguments by name, lists as what they hold; positions are named where the protocol knows them."""
        names = self.machine.protocol.steps[step].parameters if spec.kit else ()
        named = dict(zip(names, args[1:], strict=False)) | dict(keywords)
        return {name: self._frozen(value, state) for name, value in named.items()}

    def _frozen(self, value: Value, state: State) -> Value:
        value = self.machine.single(value, state)
        return self.machine.expressions.content(value, state) if isinstance(value, ListRef) else value

    # -- single steps

    def load(
        self, form: str, args: list[Value], keywords: Mapping[str, Value], site: Site, state: State, name: str
    ) -> Value:
        """A model comes into being. The objects that go into it are kept, so that a conversion is no double build."""
        machine = self.machine
        code = site.code
        for family, words in _LOADS.items():
            if any(word in code for word in words):
                machine.record.families.add(family)
        model = machine.new("load", name)
        used = [o.id for v in (*args, *keywords.values()) for _, o in machine.options(v, state) if isinstance(o, Obj)]
        arguments = {name: self._frozen(value, state) for name, value in keywords.items()}
        self.emit("load", form, model, site, state, call=code, traits={"uses": tuple(used), "arguments": arguments})
        return model

    def _kernel_patch(
        self, form: str, args: list[Value], keywords: Mapping[str, Value], site: Site, state: State
    ) -> Value:
        machine = self.machine
        model = keywords.get("model")
        if model is not None and not isinstance(model, Const):
            machine.calls.unresolved(site, args, keywords, state, "it patches one instance")
            return machine.new("plain", "report")
        if GLOBAL_OBJECT not in machine.record.objects:
            machine.record.objects[GLOBAL_OBJECT] = machine.info(machine.new("plain", "process"))
        self.emit("kernel_patch", form, Obj(GLOBAL_OBJECT), site, state, call=site.code)
        return machine.new("plain", "report")

    # -- methods of a model

    def on_model(
        self,
        receiver: Value,
        name: str,
        args: list[Value],
        keywords: Mapping[str, Value],
        site: Site,
        state: State,
    ) -> Value:
        """``model.name(...)``: a step, a preparation by an accelerator, or an unresolved method."""
        machine = self.machine
        prepared = self.machine.optimizers.prepare(receiver, name, args, keywords, site, state)
        if prepared is not None:
            return prepared
        found = machine.protocol.method_step(name)
        options = [o for _, o in machine.options(receiver, state) if isinstance(o, Obj)]
        if found is not None and options and all(machine.is_model_like(o) for o in options):
            step = found[0]
            if step == "freeze":
                machine.assignments.freeze(options[0], args[0] if args else Const(True), site, state)
                return receiver
            arguments = {key: self._frozen(value, state) for key, value in keywords.items()}
            traits = {"wraps": False, "mode": None, "arguments": arguments}
            if name == "compile" and site.node is not machine.bare_call:
                machine.note("none-result", options[0].id, site, state)
            self.emit(step, "direct", receiver, site, state, call=site.code, traits=traits)
            # compile() returns None; the model goes on under its name so that what follows is still seen.
            return receiver
        for option in options:
            if machine.is_model_like(option):
                known = name in READING_METHODS
                why = "" if known else f"method {name} is not known"
                machine.note("call", option.id, site, state, resolved=known, why=why)
        if isinstance(receiver, External | Method):
            return machine.calls.unresolved(site, args, keywords, state, f"{name} is not known")
        result = machine.calls.unresolved(site, args, keywords, state, f"method {name} is not known")
        if isinstance(receiver, Obj) and machine.names.elementwise(receiver):
            return Element(receiver, name)
        if isinstance(result, Obj) and machine.info(result).parent is not None:
            return result
        return self._method_result(receiver, name, args, keywords, site)

    def _method_result(
        self, receiver: Value, name: str, args: list[Value], keywords: Mapping[str, Value], site: Site
    ) -> Value:
        machine = self.machine
        parts = [machine.names.describe(v) for v in (receiver, *args, *keywords.values())]
        label = site.code if len(site.code) <= 60 else f"{name}()"
        if any(part is None for part in parts):
            return machine.new("call", label)
        return machine.remembered(f"{name}({','.join(map(str, parts))})", "call", label)

    def base_call(
        self,
        name: str,
        receiver: Super,
        site: Site,
        state: State,
        args: list[Value],
        keywords: Mapping[str, Value],
    ) -> Value:
        """``super().name(...)`` where no base in the project has the method: the base engine's own life, or nothing."""
        machine = self.machine
        if name == machine.protocol.library.life and machine.life is not None:
            machine.life.standard(receiver.receiver, state, site)
            return Const(None)
        if name == "__init__":
            return Const(None)
        cls = machine.record.classes.get(receiver.receiver.id)
        kit = machine.classes.kit_name(cls) if cls is not None else None
        step = machine.protocol.kit_step(name, kit) if kit is not None else None
        if kit is not None and step is not None:
            return self.perform_kit(step, name, Kit(kit), args, keywords, site, state)
        return machine.calls.unresolved(site, args, keywords, state, f"super().{name} is outside the project")
