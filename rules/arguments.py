"""What a call was given: plain values, by name, at each stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from recipe_lint.lint.rule import Subject
from recipe_lint.read.flags import MISSING, UNKNOWN
from recipe_lint.read.stages import Stage
from recipe_lint.trace.events import Event
from recipe_lint.trace.values import Const, Obj, Sequence, Value


def argument(event: Event, name: str) -> Value | None:
    """An argument by name, None where the call does not give it."""
    arguments = event.trait("arguments")
    return arguments.get(name) if isinstance(arguments, Mapping) else None


def plain(value: Value | None, subject: Subject, stage: Stage | None) -> object:
    """The plain value of an argument at a stage: MISSING where it was not given, UNKNOWN where it cannot be told."""
    match value:
        case None:
            return MISSING
        case Const(value=constant):
            return constant
        case Sequence(items=items, open=False):
            parts = [plain(item, subject, stage) for _, item in items]
            return UNKNOWN if any(part is UNKNOWN for part in parts) else tuple(parts)
        case Obj():
            path = subject.trace.paths.get(value.id)
            if path is not None and stage is not None:
                return stage.get(".".join((*path, *value.path)))
    return UNKNOWN


def stages_of(event: Event, subject: Subject) -> Iterator[Stage | None]:
    """The stages at which an event happens; one None where there are no stages to ask."""
    found = [stage for stage in subject.stages if event.guard.decide(stage.values) is not False]
    if subject.stages:
        yield from found
    else:
        yield None


def at_stages(event: Event, name: str, subject: Subject) -> Iterator[tuple[Stage | None, object]]:
    """An argument's plain value at each stage at which the event happens."""
    for stage in stages_of(event, subject):
        yield stage, plain(argument(event, name), subject, stage)
