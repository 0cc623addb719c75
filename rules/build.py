"""Family RL2: the model is built once, before it is read, outside the training step, and the prepared one is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Draft, Rule, Subject
from recipe_lint.read.stages import Stage
from recipe_lint.trace.events import Event, Note, Site
from recipe_lint.trace.guards import Guard
from recipe_lint.trace.values import Alternatives, Const, Obj, Value

from .order.edge import backend_of, diverge


class ModelBuiltTwice(Rule):
    """The model is built twice on one path, for one role."""

    code = "RL201"
    name = "model-built-twice"
    severity = Severity.warning

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A load whose result takes the place of an earlier load's result."""
        trace = subject.trace
        loads = {event.object: event for event in trace.of("load")}
        seen: set[int] = set()
        for note in trace.noted("bind"):
            second = loads.get(note.object)
            previous = note.traits.get("previous")
            if second is None or second.index in seen or not isinstance(previous, tuple):
                continue
            for number in previous:
                first = loads.get(number)
                if first is None or first is second or not self._twice(first, second, note, subject):
                    continue
                seen.add(second.index)
                yield self._draft(first, second, note, subject)
                break

    def _twice(self, first: Event, second: Event, note: Note, subject: Subject) -> bool:
        if first.places == second.places or not first.guard.meets(second.guard & note.guard):
            return False
        uses = second.trait("uses")
        if isinstance(uses, tuple) and first.object in uses:
            return False
        # A first model whose weights were read before the second came is a conversion, not a double build.
        reads = ("state_dict", "save_pretrained")
        return not any(
            n.object == first.object and n.traits.get("method") in reads and n.index < note.index
            for n in subject.trace.noted("call")
        )

    def _draft(self, first: Event, second: Event, note: Note, subject: Subject) -> Draft:
        site, other = diverge(second, first)
        held = next((e for e in subject.trace.of("optimizer") if e.object == first.object), None)
        kept = held is not None and held.index < second.index
        harm = (
            "The optimizer holds the first model's parameters: nothing that is trained changes, and no error is raised."
            if kept
            else "Both models are in memory while the second is built (479 MB against 375 MB on the tiny model), "
            "and every step taken on the first is lost."
        )
        name = str(note.traits.get("name", "")).lstrip(".")
        return Draft(
            self.code,
            self.name,
            Severity.error if kept else self.severity,
            site,
            f"the model in '{name}' is built a second time",
            "built again here",
            harm,
            "build it once and pass it on",
            first.guard & second.guard,
            first.may or second.may,
            (),
            ((other, "first built here"),),
            None,
            None,
            (),
            (site,),
        )


class ModelReadBeforeBuilt(Rule):
    """The model is read before it is built."""

    code = "RL202"
    name = "model-read-before-built"
    severity = Severity.error

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A local that a later statement binds to a model, or the engine's attribute before its hook has returned."""
        trace = subject.trace
        models = {event.object for event in trace.events}
        seen: set[Site] = set()
        for note in trace.noted("unbound"):
            name = note.traits.get("name")
            bound = next(
                (
                    n
                    for n in trace.noted("bind")
                    if n.traits.get("name") == name
                    and n.index > note.index
                    and n.object in models
                    and n.site.segment is note.site.segment
                    and n.guard.meets(note.guard)
                ),
                None,
            )
            if bound is not None and note.site not in seen:
                seen.add(note.site)
                yield self._draft(note, str(name), bound.site, "NameError when this line runs.")
        yield from self._early(subject, seen)

    def _early(self, subject: Subject, seen: set[Site]) -> Iterator[Draft]:
        """The reads of one hook share their cause: told once, at the first."""
        trace = subject.trace
        kept = {str(n.traits.get("attribute")): n for n in trace.noted("result")}
        by_hook: dict[tuple[str, str], list[Note]] = {}
        for note in trace.noted("early-read"):
            name = str(note.traits.get("name"))
            result = kept.get(name)
            if name != "model" or result is None or result.index < note.index or note.site in seen:
                continue
            seen.add(note.site)
            by_hook.setdefault((name, note.hook), []).append(note)
        for (name, _), notes in by_hook.items():
            harm = "The engine keeps the model only after this hook has returned: AttributeError when this line runs."
            first = self._draft(notes[0], f"self.{name}", kept[name].site, harm)
            guard = first.guard
            for note in notes[1:]:
                guard |= note.guard
            also = tuple((note.site, "and read here") for note in notes[1:4])
            yield replace(first, guard=guard, related=(*first.related, *also))

    def _draft(self, note: Note, name: str, later: Site, harm: str) -> Draft:
        places = (*note.chain, note.site)
        return Draft(
            self.code,
            self.name,
            self.severity,
            note.site,
            f"'{name}' is read before it is built",
            "read here",
            harm,
            "build the model first and use the local name until the hook returns it",
            note.guard,
            note.may,
            (),
            ((later, "only bound here"), *((place, "called from here") for place in places[:-1])),
            None,
            None,
            (),
            (note.site,),
        )


class ReturnsUnpreparedModel(Rule):
    """The wrapped model is not the one that is returned or kept."""

    code = "RL203"
    name = "returns-unprepared-model"
    severity = Severity.error

    def check(self, subject: Subject) -> Iterator[Draft]:
        """Compare what each hook or root returns with the last wrapper around it."""
        trace = subject.trace
        discarded = {n.traits.get("event") for n in trace.noted("discard")}
        wraps = [e for e in trace.of("parallelize", "compile") if e.trait("wraps") and e.index not in discarded]
        parents = {
            (event.object, new): old
            for event in trace.of("parallelize", "compile", "checkpointing")
            for new, old in _pairs(event)
        }
        seen: set[int] = set()
        for note in trace.noted("result"):
            if note.traits.get("attribute") not in ("model", ""):
                continue
            for guard, value in _values(note.traits.get("value"), note.guard):
                for event in wraps:
                    missing = event.index < note.index and self._missing(event, value, guard, parents)
                    if missing and event.index not in seen:
                        seen.add(event.index)
                        yield from self._draft(event, note, guard, subject)

    def _missing(self, event: Event, value: Obj, guard: Guard, parents: dict[tuple[int, int], int]) -> bool:
        if event.object != value.id or event.path or value.path or value.may:
            return False
        view: int | None = value.view
        inside = set()
        while view is not None:
            inside.add(view)
            view = parents.get((value.id, view))
        fresh = [new for new, _ in _pairs(event)]
        return bool(fresh) and not inside.intersection(fresh) and guard.meets(event.guard)

    def _draft(self, event: Event, note: Note, guard: Guard, subject: Subject) -> Iterator[Draft]:
        stages = [s for s in subject.stages if (event.guard & guard).decide(s.values) is not False]
        severity, names = self._severity(event, stages)
        if severity is None:
            return
        title = subject.protocol.title(event.step)
        in_place = "Under DDP the ranks then train without reducing gradients and diverge; no error is raised."
        site = event.chain[0] if event.chain else event.site
        yield Draft(
            self.code,
            self.name,
            severity,
            site,
            f"the result of {title} is not the model that {note.site.function} returns",
            "wrapped here",
            in_place if event.step == "parallelize" else "The compiled wrapper is never called: training runs eagerly.",
            "return the wrapped model",
            event.guard & guard,
            event.may,
            names,
            ((note.site, "returns the inner model"),),
            None,
            None,
            (),
            (site, event.site),
        )

    def _severity(self, event: Event, stages: list[Stage]) -> tuple[Severity | None, tuple[str, ...]]:
        if event.step == "compile":
            return Severity.warning, ()
        backends = [(s.name, backend_of(event, s.backend)) for s in stages]
        if not backends:
            own = backend_of(event, "unknown")
            return (None if own == "fsdp2" else self.severity), ()
        # fully_shard returns the module it was given, so there the inner model is the prepared one.
        bad = tuple(name for name, backend in backends if backend != "fsdp2")
        return (self.severity if bad else None), bad


class PreparedResultDiscarded(Rule):
    """The result of a preparing call is thrown away."""

    code = "RL204"
    name = "prepared-result-discarded"
    severity = Severity.error

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A bare expression statement whose call returns a wrapper or another model."""
        by_index = {event.index: event for event in subject.trace.events}
        for note in subject.trace.noted("discard"):
            index = note.traits.get("event")
            event = by_index.get(index) if isinstance(index, int) else None
            if event is None or event.step not in ("parallelize", "patch", "adapter"):
                continue
            stages = [s for s in subject.stages if event.guard.decide(s.values) is not False]
            backends = [(s.name, backend_of(event, s.backend)) for s in stages]
            bad = tuple(name for name, backend in backends if backend != "fsdp2")
            if event.step == "parallelize" and ((backends and not bad) or event.trait("backend") == "fsdp2"):
                continue
            harm = "The wrapper is gone: the inner model trains without reducing gradients, and the ranks diverge."
            if event.step == "patch":
                harm = "The patch returned another model, which is thrown away: the unpatched one trains."
            yield Draft(
                self.code,
                self.name,
                self.severity,
                note.site,
                f"the result of {subject.protocol.title(event.step)} is discarded",
                "its result is used nowhere",
                harm,
                "assign the result and return it",
                note.guard,
                event.may or note.may,
                bad,
                excuses=(note.site,),
            )


class ModelBuiltInStep(Rule):
    """A model is built inside the training step."""

    code = "RL205"
    name = "model-built-in-step"
    severity = Severity.warning

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A load in a hook that runs for every batch."""
        for event in subject.trace.of("load"):
            if event.hook not in subject.protocol.library.steps:
                continue
            places = event.places
            yield Draft(
                self.code,
                self.name,
                self.severity,
                places[0],
                f"a model is built in {event.hook}, which runs for every batch",
                "built in the training step",
                "Weights are loaded again for every batch, and nothing that was prepared applies to them.",
                "build it in prepare_model and keep it on the engine",
                event.guard,
                event.may or not _unguarded(event),
                (),
                tuple((place, "which builds it here") for place in places[1:]),
                excuses=(places[0],),
            )


def _unguarded(event: Event) -> bool:
    """A build behind ``if self.x is None`` may run once only."""
    return not any(atom.op == "is" and atom.operand is None for atom, _ in event.guard.common)


def _pairs(event: Event) -> tuple[tuple[int, int], ...]:
    views = event.trait("views")
    return views if isinstance(views, tuple) else ()


def _values(value: object, guard: Guard) -> Iterator[tuple[Guard, Obj]]:
    options: tuple[tuple[Guard, Value], ...] = ()
    if isinstance(value, Alternatives):
        options = value.options
    elif isinstance(value, Obj | Const):
        options = ((guard, value),)
    for condition, option in options:
        if isinstance(option, Obj) and guard.meets(condition):
            yield guard & condition, option
