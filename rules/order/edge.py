"""How an edge of the protocol is checked; every order rule is one edge with its page and its own exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Draft, Rule, Subject
from recipe_lint.protocol.model import BACKENDS, Edge, Protocol
from recipe_lint.trace.events import Event, Site
from recipe_lint.trace.guards import Guard

from .relations import same_part

CHAIN = (
    "load",
    "patch",
    "token_loss",
    "freeze",
    "upcast",
    "checkpointing",
    "compile",
    "parallelize",
    "optimizer",
)
# Steps that most recipes do not take, and what follows each.
_BETWEEN = {"adapter": "freeze", "tensor_parallel": "parallelize"}
MAX_COUNTERPARTS = 8


class EdgeRule(Rule):
    """One edge: an event of its after-steps (early) must not stand before one of its before-steps (late)."""

    same_object = True

    def check(self, subject: Subject) -> Iterator[Draft]:
        """One draft for each misplaced call, against the first step that it is out of order with."""
        edge = subject.protocol.edges[self.name]
        if not edge.enabled:
            return
        misplaced_is_late = edge.primary == "before"
        firsts = list(subject.trace.of(*edge.after))
        seconds = list(subject.trace.of(*edge.before))
        outer, inner = (seconds, firsts) if misplaced_is_late else (firsts, seconds)
        by_site: dict[Site, list[Draft]] = {}
        for event in outer:
            found = 0
            for other in inner:
                early, late = (other, event) if misplaced_is_late else (event, other)
                draft = self._pair(subject, edge, early, late) if early.index < late.index else None
                if draft is not None:
                    by_site.setdefault(draft.site, []).append(draft)
                    found += 1
                if found == MAX_COUNTERPARTS:
                    break
        yield from (_merged(drafts) for drafts in by_site.values())

    # -- what a rule may narrow

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:  # noqa: ARG002
        """Whether this pair breaks the edge; a rule narrows it by what the field does on purpose."""
        return True

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """Traits of the pair that choose a severity of the edge, most specific first."""
        return ()

    def unsure(self, early: Event, late: Event) -> bool:  # noqa: ARG002
        """Whether what the pair does rests on something unresolved."""
        return False

    # -- the check

    def _pair(self, subject: Subject, edge: Edge, early: Event, late: Event) -> Draft | None:
        if self.same_object and early.object != late.object:
            return None
        if nested(early, late) or (self.same_object and not same_part(early, late)):
            return None
        guard = early.guard & late.guard
        if guard.impossible or not self.applies(early, late, subject):
            return None
        severity, stages = self._judge(subject, edge, early, late, guard)
        if severity is None:
            return None
        # What an accelerator wraps with is decided by its own configuration.
        prepared = bool(early.trait("prepared") or late.trait("prepared"))
        may = early.may or late.may or prepared or guard.approximate or self.unsure(early, late)
        return self._draft(subject.protocol, edge, early, late, guard, severity, stages, may)

    def _judge(
        self, subject: Subject, edge: Edge, early: Event, late: Event, guard: Guard
    ) -> tuple[Severity | None, tuple[str, ...]]:
        """The worst severity over the stages at which the pair happens, and those stages."""
        open_stages = [s for s in subject.stages if guard.decide(s.values) is not False]
        wrapper = next((e for e in (early, late) if e.step == "parallelize"), None)
        own = self.traits(early, late, subject)
        found: list[tuple[Severity, str]] = []
        for stage in open_stages or subject.stages or (None,):
            backend = backend_of(wrapper, stage.backend if stage is not None else "unknown")
            severity = pick(edge, (*(f"{backend}-{t}" for t in own), backend, *own) if own else (backend,))
            if severity is not None:
                found.append((severity, stage.name if stage is not None and stage in open_stages else ""))
        if not found:
            return None, ()
        worst = max(severity for severity, _ in found)
        least = min(worst, Severity.warning)
        return worst, tuple(name for severity, name in found if name and severity >= least)

    def _draft(
        self,
        protocol: Protocol,
        edge: Edge,
        early: Event,
        late: Event,
        guard: Guard,
        severity: Severity,
        stages: tuple[str, ...],
        may: bool,
    ) -> Draft:
        first, second = diverge(early, late)
        before, after = protocol.title(late.step), protocol.title(early.step)
        if edge.primary == "before":
            site, other, event, counter = second, first, late, early
            message = f"{before} must come before {after}, but runs after it"
            help_text = f"move it above the {after} step{_line(other, site)}"
            expected = _next_step(protocol, early.step)
        else:
            site, other, event, counter = first, second, early, late
            message = f"{after} must come after {before}, but runs before it"
            help_text = f"move it below the {before} step{_line(other, site)}"
            expected = before
        message = f"{message}; expected next: {expected}"
        label = before if edge.primary == "before" else after
        return Draft(
            self.code,
            self.name,
            severity,
            site,
            message,
            f"{label} here",
            edge.harm,
            help_text,
            guard,
            may,
            stages,
            related_sites(site, other, event, counter, after if edge.primary == "before" else before),
            early.site,
            late.site,
            (counter.step,),
            (site, event.site),
        )


def _merged(drafts: list[Draft]) -> Draft:
    """One misplaced call against several counterparts: told by the first, and holding whenever one of them runs."""
    first = drafts[0]
    guard = first.guard
    for other in drafts[1:]:
        guard |= other.guard
    worst = max(drafts, key=lambda draft: (draft.severity, not draft.may))
    stages = tuple(dict.fromkeys(name for draft in drafts for name in draft.stages))
    return replace(first, guard=guard, severity=worst.severity, may=worst.may, harm=worst.harm, stages=stages)


def nested(early: Event, late: Event) -> bool:
    """Whether one event happens inside the call that makes the other: a single step in two parts."""
    return _leads_to(early, late) or _leads_to(late, early)


def _leads_to(outer: Event, inner: Event) -> bool:
    """Whether the call of ``outer`` is on the way to ``inner``, in the same rounds of the loops around it."""
    rounds, below = outer.trait("rounds"), inner.trait("rounds")
    same = isinstance(rounds, tuple) and isinstance(below, tuple) and below[: len(rounds)] == rounds
    return same and inner.places[: len(outer.places)] == outer.places


def diverge(early: Event, late: Event) -> tuple[Site, Site]:
    """The calls at which the ways to two events part: there their order is decided."""
    index = 0
    first, second = early.places, late.places
    while index < min(len(first), len(second)) - 1 and first[index] == second[index]:
        index += 1
    return first[index], second[index]


def related_sites(site: Site, other: Site, event: Event, counter: Event, title: str) -> tuple[tuple[Site, str], ...]:
    """The other call first, then the ways from both calls down to what they do, then the calls that lead here."""
    found: list[tuple[Site, str]] = [(other, f"{title} here")]
    for start, target in ((site, event), (other, counter)):
        places = target.places
        at = places.index(start)
        for inner in places[at + 1 :]:
            last = inner == places[-1]
            found.append((inner, "which does it here" if last else "which calls this"))
    places = event.places
    found += [(outer, "called from here") for outer in places[: places.index(site)]]
    return tuple(dict.fromkeys(found))


def backend_of(wrapper: Event | None, stage_backend: str) -> str:
    """The parallel backend of a pair: what the wrapping call says, or what the stage's mesh says."""
    if wrapper is None:
        return "unknown"
    backend = wrapper.trait("backend")
    return stage_backend if backend in (None, "stage") else str(backend)


def pick(edge: Edge, keys: tuple[str, ...]) -> Severity | None:
    """The severity of the first key that the edge lists, else its default; None where it is off."""
    for key in (*keys, "default"):
        if key in edge.severity:
            text = edge.severity[key]
            return None if text == "off" else Severity[text]
    return None


def _line(site: Site, own: Site) -> str:
    """Where the other call stands, unless both stand on one line (the rounds of a loop)."""
    return "" if site.span.line == own.span.line else f" (line {site.span.line})"


def _next_step(protocol: Protocol, step: str) -> str:
    if step in _BETWEEN:
        return protocol.title(_BETWEEN[step])
    if step in CHAIN and CHAIN.index(step) + 1 < len(CHAIN):
        return protocol.title(CHAIN[CHAIN.index(step) + 1])
    return "the training step"


__all__ = ["BACKENDS", "CHAIN", "EdgeRule", "backend_of", "diverge", "nested", "pick", "related_sites"]
