"""Family RL2, builds: the model is built once, and outside the training step."""

from __future__ import annotations

from collections.abc import Iterator

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Draft, Rule, Subject
from recipe_lint.trace.events import Event, Note

from .order.edge import diverge
from .samples import engine, script


class ModelBuiltTwice(Rule):
    """The model is built twice on one path.

    ## What it does
    Reports a model load whose result takes the place, under the same name or attribute, of a model that was loaded
    before. It is an error where an optimizer holds the first one.

    ## Why it is bad
    Both models are in memory while the second is built: 479 MB at the peak instead of 375 MB for the tiny model. Every
    step taken on the first is lost. Where the optimizer holds the first, nothing that is used changed in three steps,
    and no error was raised. The backend makes no difference.

    ## Known limits
    A second model under another name (a teacher, a judge) is another role and not reported. Nor is a conversion, where
    the first model's weights are read before the second comes. Reloading on purpose between two phases looks like the
    fault.

    ## Example
    ```python
    def setup(cfg):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        if cfg.dtype:
            model = AutoModelForCausalLM.from_pretrained(cfg.path, dtype=cfg.dtype)
        return model, optimizer
    ```

    ## Use instead
    ```python
    def setup(cfg):
        dtype = cfg.dtype or "auto"
        model = AutoModelForCausalLM.from_pretrained(cfg.path, dtype=dtype)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        return model, optimizer
    ```

    ## Fix safety
    Shown only: another model would be trained. Build it once, where both builds' arguments are known, and pass it on.

    ## Source
    Measured with torch 2.13 and transformers 5.24 on a tiny Qwen3-VL: built twice, rebound, and with the first one
    kept by the optimizer.
    """

    code = "RL201"
    name = "model-built-twice"
    severity = Severity.warning
    bad = (
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                if cfg.dtype:
                    model = AutoModelForCausalLM.from_pretrained(cfg.path, dtype=cfg.dtype)  # expect: RL201
                return model, optimizer
            """
        ),
    )
    good = (
        script(
            """
            def setup(cfg):
                dtype = cfg.dtype or "auto"
                model = AutoModelForCausalLM.from_pretrained(cfg.path, dtype=dtype)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                return model, optimizer
            """
        ),
        # One or the other, never both.
        script(
            """
            def setup(cfg):
                if cfg.path:
                    model = AutoModelForCausalLM.from_pretrained(cfg.path)
                else:
                    model = AutoModelForCausalLM.from_config(cfg.architecture)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                return model, optimizer
            """
        ),
        # Two roles.
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                teacher = AutoModelForCausalLM.from_pretrained(cfg.teacher)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                return model, teacher, optimizer
            """
        ),
    )

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A load whose result takes the place of an earlier load's result."""
        trace = subject.trace
        loads = {event.object: event for event in trace.of("load") if not event.path}
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


class ModelBuiltInStep(Rule):
    """A model is built inside the training step.

    ## What it does
    Reports a model load in a hook that runs for every batch, such as `forward_step`, or in a function that it calls.

    ## Why it is bad
    Weights are read again for every batch, and nothing that `prepare_model` and `prepare_optimizer` did applies to the
    new model: it is neither frozen, wrapped nor held by the optimizer. The backend makes no difference.

    ## Known limits
    A load behind `if self.judge is None`, which happens once, is told with "may". Caches in other forms are not
    recognised. Hooks that run now and then, such as validation, are not looked at.

    ## Example
    ```python
    def forward_step(self, ctx):
        judge = AutoModelForCausalLM.from_pretrained(self.config.model.judge)
        ctx.outputs = {"loss": judge(self.model(**ctx.data))}
    ```

    ## Use instead
    ```python
    self.judge = AutoModelForCausalLM.from_pretrained(self.config.model.judge)

    def forward_step(self, ctx):
        ctx.outputs = {"loss": self.judge(self.model(**ctx.data))}
    ```

    ## Fix safety
    Shown only: the moment of the load, and memory with it, changes. Build the model in `prepare_model` and keep it on
    the engine.

    ## Source
    The engine's contract: models are built in `prepare_model`, before the optimizer and the first step.
    """

    code = "RL205"
    name = "model-built-in-step"
    severity = Severity.warning
    bad = (
        engine(
            "model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)",
            hooks="""
            def forward_step(self, ctx):
                judge = AutoModelForCausalLM.from_pretrained(self.config.model.judge)  # expect: RL205
                ctx.outputs = {"loss": judge(self.model(**ctx.data))}
            """,
        ),
    )
    good = (
        engine(
            "self.judge = AutoModelForCausalLM.from_pretrained(self.config.model.judge)",
            hooks="""
            def forward_step(self, ctx):
                ctx.outputs = {"loss": self.judge(self.model(**ctx.data))}
            """,
        ),
        # A hook that runs once.
        engine(
            "model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)",
            hooks="""
            def before_train(self):
                super().before_train()
                self.judge = AutoModelForCausalLM.from_pretrained(self.config.model.judge)
            """,
        ),
    )

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
