"""Optimizers: whose parameters they hold, and how an accelerator prepares them together with models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recipe_lint.protocol.model import CallSpec
from recipe_lint.trace.events import Site
from recipe_lint.trace.state import State
from recipe_lint.trace.values import (
    Boolean,
    Const,
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
    from recipe_lint.trace.machine import Machine


class Optimizers:
    """Builds optimizers and prepares them."""

    def __init__(self, machine: Machine) -> None:
        """Part of ``machine``."""
        self.machine = machine

    def build(self, form: str, target: Value | None, site: Site, state: State) -> Value:
        """``torch.optim.X(params)``: one event for each object whose parameters it holds."""
        machine = self.machine
        optimizer = machine.new("optimizer", site.code.split("(")[0])
        if target is None:
            return optimizer
        held = self._held(target, state)
        owners: dict[int, tuple[Obj, set[str], set[tuple[str, ...]]]] = {}
        for owner, holds in held:
            known = owners.setdefault(owner.id, (owner, set(), set()))
            known[1].add(holds)
            known[2].add(owner.path)
        for owner, kinds, paths in owners.values():
            kind = "all" if kinds == {"all"} else "mixed"
            if form == "kit" or kinds == {"trainable"}:
                kind = "trainable"
            machine.steps.emit(
                "optimizer",
                form,
                Obj(owner.id, (), owner.view, owner.may),
                site,
                state,
                call=site.code,
                traits={"holds": kind, "optimizer": optimizer.id, "paths": tuple(sorted(paths))},
            )
        return optimizer

    def _held(self, value: Value, state: State) -> list[tuple[Obj, str]]:
        """The objects whose parameters a parameter argument holds, and whether it was filtered."""
        found: list[tuple[Obj, str]] = []
        for _, option in self.machine.options(value, state):
            match option:
                case Parameters(owner=owner, trainable=trainable):
                    found.append((owner, "trainable" if trainable else "all"))
                case Parameter(owner=owner) | Modules(owner=owner):
                    found.append((owner, "mixed"))
                case Obj():
                    found.append((self._source(option), "all"))
                case Sequence(items=items):
                    for _, item in items:
                        found += self._held(item, state)
                case ListRef():
                    found += self._held(Sequence(self.machine.expressions.content(option, state).items), state)
                case Table(items=items):
                    for key, item in items:
                        if key in ("params", "*"):
                            found += self._held(item, state)
                case _:
                    pass
        return found

    def _source(self, value: Obj) -> Obj:
        """The model behind the result of an unresolved call on it (parameter groups built by a helper)."""
        info = self.machine.info(value)
        if info.origin == "call" and info.parent is not None:
            return Obj(info.parent, (), 0, True)
        return value

    def ids(self, value: Value, state: State) -> list[int]:
        """The optimizers among the possible values."""
        return [
            option.id
            for _, option in self.machine.options(value, state)
            if isinstance(option, Obj) and self.machine.info(option).origin == "optimizer"
        ]

    def prepare(
        self,
        receiver: Value,
        name: str,
        args: list[Value],
        keywords: Mapping[str, Value],
        site: Site,
        state: State,
    ) -> Value | None:
        """``accelerator.prepare(model, optimizer)``: wraps every model it is given and remaps the optimizers."""
        machine = self.machine
        step = machine.protocol.steps["parallelize"]
        if name not in step.prepare or not isinstance(receiver, Obj):
            return None
        label = machine.names.label(receiver).lower()
        kinds = [CallSpec(name=p) for p in step.prepare_on]
        known = any(k.matches(machine.info(receiver).label) for k in kinds)
        if not known and not label.rsplit(".", 1)[-1].startswith(("accelerator", "fabric")):
            return None
        values = [*args, *keywords.values()]
        optimizers = tuple(n for v in values for n in self.ids(v, state))
        results: list[Value] = []
        for value in values:
            options = [o for _, o in machine.options(value, state)]
            is_model = all(machine.is_model_like(o) for o in options) and not isinstance(value, Const | Boolean)
            if is_model:
                result, views = machine.steps.wrapped(value, state)
                traits = {"backend": "unknown", "wraps": True, "prepares": optimizers, "prepared": True, "views": views}
                machine.steps.emit("parallelize", "direct", value, site, state, call=site.code, traits=traits)
                results.append(result)
            else:
                results.append(value)
        return results[0] if len(results) == 1 else machine.expressions.sequence(results)
