"""Family RL2, reads: nothing reads the model before it is built."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Draft, Rule, Subject
from recipe_lint.trace.events import Note, Site

from .samples import engine, script


class ModelReadBeforeBuilt(Rule):
    """The model is read before it is built.

    ## What it does
    Reports a local name that is read before the statement that binds it to a model, and `self.model` where
    `prepare_model`, or what it calls, reads it before the engine keeps the hook's result.

    ## Why it is bad
    The line raises NameError or AttributeError when it runs; behind a gate that is seldom open, that is in the middle
    of a cluster job. The backend makes no difference.

    ## Known limits
    Attributes that are set with `setattr` by name, or by code outside the project, are not seen. Other attributes than
    `model` are not followed.

    ## Example
    ```python
    self.count = self.model.num_parameters()
    ```

    ## Use instead
    ```python
    self.count = model.num_parameters()
    ```

    ## Fix safety
    Shown only: it is not known which value was meant. Use the local name until the hook has returned, or move the line
    below the build.

    ## Source
    The engine's contract: `self.model` is assigned from what `prepare_model` returns. Seen in a public recipe, which
    read `self.model` in that hook.
    """

    code = "RL202"
    name = "model-read-before-built"
    severity = Severity.error
    bad = (
        engine("self.count = self.model.num_parameters()  # expect: RL202"),
        script(
            """
            def setup(cfg):
                if cfg.checkpointing:
                    model.gradient_checkpointing_enable()  # expect: RL202
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                return model, optimizer
            """
        ),
    )
    good = (
        engine("self.count = model.num_parameters()"),
        # The hook assigns the attribute itself.
        engine(
            """
            self.model = model
            self.count = self.model.num_parameters()
            """
        ),
        # The optimizer's hook runs after the model's.
        engine(
            "model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)",
            optimizer="""
            self.count = self.model.num_parameters()
            return self.optim_kit.build_optimizer(self.model, lr=self.config.optim.lr)
            """,
        ),
    )

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
