"""Recipe patches: the list is opened, each patch is called on the model, and what it does to it is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recipe_lint.trace.events import Site
from recipe_lint.trace.guards import Guard
from recipe_lint.trace.state import State
from recipe_lint.trace.values import (
    Alternatives,
    ClosureRef,
    Const,
    Function,
    ListRef,
    Obj,
    Partial,
    Sequence,
    Value,
)

if TYPE_CHECKING:
    from recipe_lint.trace.machine import Machine

# Worst first: the effect of a patch is the worst of what it does.
_EFFECTS = ("structural", "unknown", "forward", "method", "")


class Patches:
    """Opens patches."""

    def __init__(self, machine: Machine) -> None:
        """Part of ``machine``."""
        self.machine = machine

    def apply(
        self,
        form: str,
        target: Value,
        args: list[Value],
        keywords: Mapping[str, Value],
        site: Site,
        state: State,
    ) -> Value:
        """Apply a patch or a list of them to ``target``; the model that comes out."""
        machine = self.machine
        if form != "kit":
            # A library function that is called a patch by name alone: what it does is not known.
            machine.steps.emit(
                "patch", form, target, site, state, call=site.code, may=True, traits={"effect": "unknown"}
            )
            machine.calls.unresolved(site, args, keywords, state, "its source is not in the project")
            return target
        functions = keywords.get("patch_fns") or keywords.get("patches") or (args[1] if len(args) > 1 else None)
        if functions is None:
            machine.steps.emit("patch", form, target, site, state, call=site.code, traits={"effect": "unknown"})
            return target
        result = target
        outer = machine.rounds
        for number, (guard, function) in enumerate(self._patch_list(functions, state)):
            inner = state.fork(state.guard & guard)
            if inner.dead:
                continue
            # The patches of one list are steps of their own, one after the other, at one call.
            machine.rounds = (*outer, number)
            effect, paths, returned = self._open_patch(function, result, site, inner)
            machine.steps.emit(
                "patch", form, target, site, inner, call=site.code, traits={"effect": effect, "paths": tuple(paths)}
            )
            state.heap = inner.heap
            if not isinstance(returned, Const):
                result = returned
        machine.rounds = outer
        return result

    def _patch_list(self, functions: Value, state: State) -> list[tuple[Guard, Value]]:
        found: list[tuple[Guard, Value]] = []
        for guard, option in self.machine.options(functions, state):
            if isinstance(option, ListRef | Sequence):
                content = self.machine.expressions.content(option, state)
                found += [(guard & g, value) for g, value in content.items]
            else:
                found.append((guard, option))
        return found

    def _open_patch(
        self, function: Value, model: Value, site: Site, state: State
    ) -> tuple[str, list[tuple[tuple[str, ...], str]], Value]:
        """Call one patch on the model. Effect "unknown" where its source is not in the project."""
        machine = self.machine
        if not isinstance(function, Function | ClosureRef | Partial | Alternatives):
            label = machine.names.subject(function)
            machine.calls.unresolved(
                site, [model], {}, state, f"patch {label[1] if label else ''} is not in the project"
            )
            return "unknown", [], model
        if isinstance(function, Partial) and not isinstance(function.function, Function | ClosureRef):
            return "unknown", [], model
        outer, machine.patch_sink = machine.patch_sink, []
        calls = len(machine.record.notes)
        returned = machine.calls.dispatch(function, [model], {}, site, state, None)
        paths, machine.patch_sink = machine.patch_sink, outer
        found = {effect for _, effect in paths}
        opaque = any(n.kind == "call" and not n.traits.get("resolved") for n in machine.record.notes[calls:])
        if opaque and "structural" not in found:
            found.add("unknown")
        effect = next((e for e in _EFFECTS if e in found), "")
        same = isinstance(returned, Const) or self._same(returned, model, state)
        return effect, paths, model if same else returned

    def _same(self, value: Value, model: Value, state: State) -> bool:
        ids = {o.id for _, o in self.machine.options(model, state) if isinstance(o, Obj)}
        infos = [o for _, o in self.machine.options(value, state) if isinstance(o, Obj)]
        return any(o.id in ids or self.machine.info(o).parent in ids for o in infos)
