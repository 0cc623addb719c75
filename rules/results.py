"""Family RL2, results: the prepared model is the one that is kept."""

from __future__ import annotations

from collections.abc import Iterator

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Draft, Rule, Subject
from recipe_lint.read.stages import Stage
from recipe_lint.trace.events import Event, Note
from recipe_lint.trace.guards import Guard
from recipe_lint.trace.values import Alternatives, Const, Obj, Value

from .order.edge import backend_of
from .samples import engine, script


class ReturnsUnpreparedModel(Rule):
    """The wrapped model is not the one that is returned or kept.

    ## What it does
    Compares the model that `prepare_model`, or a set-up function, returns with the last wrapper around it, and reports
    a wrapping or compile whose result is left behind.

    ## Why it is bad
    - DDP and FSDP1 (error): the inner model trains without reducing gradients. With two ranks the weights diverged,
      and no error was raised.
    - FSDP2: `fully_shard` returns the module it was given, so the inner model is the prepared one. Harmless, not
      reported.
    - `torch.compile(model)` (warning): the compiled wrapper is never called and training runs eagerly.

    ## Known limits
    A wrapper that is kept on another attribute and used from there is reported. What a training step then calls is not
    compared.

    ## Example
    ```python
    wrapped = parallelize_model(model, parallel_mesh=self.parallel_mesh)
    ```

    ## Use instead
    ```python
    model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
    ```

    ## Fix safety
    Shown only: gradients begin to be reduced. Bind the result to the name that is returned.

    ## Source
    Measured with torch 2.13 on a tiny Qwen3-VL, two gloo ranks: the DDP result discarded and the inner module trained.
    """

    code = "RL203"
    name = "returns-unprepared-model"
    severity = Severity.error
    bad = (
        engine(
            "wrapped = parallelize_model(model, parallel_mesh=self.parallel_mesh)  # expect: RL203",
            shard=1,
        ),
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                compiled = torch.compile(model)  # expect: RL203
                return model
            """
        ),
    )
    good = (
        engine(
            "model = parallelize_model(model, parallel_mesh=self.parallel_mesh)",
            shard=1,
        ),
        # FSDP2 shards in place.
        engine(
            "sharded = parallelize_model(model, parallel_mesh=self.parallel_mesh)",
            shard=8,
        ),
        # Both are returned.
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                wrapped = DistributedDataParallel(model)
                return wrapped, wrapped.module
            """
        ),
    )

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
            event.may or (event.guard & guard).approximate,
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
    """The result of a preparing call is thrown away.

    ## What it does
    Reports a statement that calls `parallelize_model`, DDP, FSDP or a patch that returns another model, and does
    nothing with the result.

    ## Why it is bad
    - DDP and FSDP1: the wrapper is gone, the inner model trains without reducing gradients. Two ranks diverged,
      without an error.
    - A patch that returns another model: the unpatched one trains.
    - FSDP2, freeze, checkpointing and in-place compile return the object they were given. Harmless, not reported.

    ## Known limits
    A patch whose source is not in the project is taken to work in place, and so is `get_peft_model`, which puts its
    layers into the model that it is given. `torch.compile(model)` as a statement is another fault and is not reported
    here.

    ## Example
    ```python
    parallelize_model(model, parallel_mesh=self.parallel_mesh)
    ```

    ## Use instead
    ```python
    model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
    ```

    ## Fix safety
    Shown only: gradients begin to be reduced. Assign the result and return it.

    ## Source
    Measured with torch 2.13 and transformers 5.24 on a tiny Qwen3-VL: which calls return the object they were given,
    and two gloo ranks with the DDP result discarded.
    """

    code = "RL204"
    name = "prepared-result-discarded"
    severity = Severity.error
    bad = (
        engine(
            "parallelize_model(model, parallel_mesh=self.parallel_mesh)  # expect: RL204",
            shard=1,
        ),
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                DistributedDataParallel(model)  # expect: RL204
                return model
            """
        ),
    )
    good = (
        engine(
            "model = parallelize_model(model, parallel_mesh=self.parallel_mesh)",
            shard=1,
        ),
        # FSDP2 shards in place.
        engine(
            "parallelize_model(model, parallel_mesh=self.parallel_mesh)",
            shard=8,
        ),
        # The kit's freeze works in place.
        engine("self.model_kit.apply_freeze_policy(model, freeze_vit=True)"),
    )

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
