"""Relations between events that several order rules ask about."""

from __future__ import annotations

from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

HARMLESS_EFFECTS = ("method", "")


def overlaps(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Whether one path is the other or lies below it; ``*`` stands for any part."""
    return all(a == b or "*" in (a, b) for a, b in zip(first, second, strict=False))


def touched(event: Event) -> tuple[tuple[str, ...], ...]:
    """The parts of its model that an event acts on: what an optimizer holds, what a patch replaces, else its path."""
    paths = event.trait("paths")
    if not isinstance(paths, tuple) or not paths:
        return (event.path,)
    if event.step == "optimizer":
        return paths
    return tuple(path for path, _ in paths)


def same_part(first: Event, second: Event) -> bool:
    """Whether two events act on parts of a model that overlap."""
    return any(overlaps(a, b) for a in touched(first) for b in touched(second))


def rebuilt(early: Event, late: Event, subject: Subject) -> bool:
    """Whether the early step is taken again after the late one, on the same object, wherever the late one runs."""
    return any(
        again.object == early.object and again.index > late.index and late.guard.implies(again.guard)
        for again in subject.trace.of(early.step)
    )


def in_training_step(event: Event, subject: Subject) -> bool:
    """Whether an event happens in a hook of the training step."""
    return event.hook in subject.protocol.library.steps


def alternates(event: Event, subject: Subject, since: int = -1) -> bool:
    """Whether gradients of the same part are switched off and on again, as adversarial training does.

    The other switch stands in the training step too, or in the same function: after a freeze, before an unfreeze. Only
    switches after the event with index ``since`` count.
    """
    counterpart = {"freeze": "unfreeze", "unfreeze": "freeze"}.get(str(event.trait("kind")), "")
    for other in subject.trace.of_kind("freeze", counterpart):
        if other.object != event.object or other.index <= since or not overlaps(other.path, event.path):
            continue
        if in_training_step(event, subject) and in_training_step(other, subject):
            return True
        in_order = (other.index > event.index) == (event.trait("kind") == "freeze")
        if in_order and other.site.segment is event.site.segment:
            return True
    return False


def is_harmless_patch(event: Event) -> bool:
    """Whether an opened patch adds no parameter and replaces no forward: a method, or nothing at all."""
    return event.trait("effect") in HARMLESS_EFFECTS


def replaces_top_forward(event: Event) -> bool:
    """Whether a patch replaces the forward of the whole model and nothing below it."""
    paths = event.trait("paths")
    return isinstance(paths, tuple) and bool(paths) and all(path == ("forward",) for path, _ in paths)


def touches_visual(event: Event) -> bool:
    """Whether a patch replaces something of the visual tower."""
    paths = event.trait("paths")
    return isinstance(paths, tuple) and any("visual" in path for path, _ in paths)


def inside_layers(event: Event) -> bool:
    """Whether a patch reaches into the repeated layers of a model, which is where checkpointing lives."""
    paths = event.trait("paths")
    if not isinstance(paths, tuple) or not paths:
        return True
    return any(_is_layer(part) for path, _ in paths for part in path)


def _is_layer(part: str) -> bool:
    return part == "*" or part.startswith("[") or part in ("layers", "blocks", "layer", "block", "h")
