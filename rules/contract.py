"""Family RL7: compile and checkpointing leave names, keys and results alone."""

from __future__ import annotations

from collections.abc import Iterator

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Draft, Rule, Subject
from recipe_lint.read.flags import MISSING
from recipe_lint.trace.events import Event, Note

from .arguments import at_stages


class CompileChangesKeys(Rule):
    """The compiled wrapper takes the model's place, so every state-dict key changes."""

    code = "RL701"
    name = "compile-changes-keys"
    severity = Severity.error

    def check(self, subject: Subject) -> Iterator[Draft]:
        """``torch.compile`` of a model or of a part of one, where its result is kept."""
        discarded = {note.traits.get("event") for note in subject.trace.noted("discard")}
        for event in subject.trace.of("compile"):
            if not event.trait("wraps") or event.index in discarded:
                continue
            if "_orig_mod" in event.site.segment.module.source.text:
                continue
            what = ".".join(event.path) if event.path else "the model"
            yield Draft(
                self.code,
                self.name,
                self.severity,
                event.site,
                f"torch.compile wraps {what}, so its state-dict keys gain '_orig_mod.'",
                "returns a wrapper with other names",
                "A checkpoint written with compile on does not load with compile off, and the other way round; names "
                "that are looked for by prefix no longer match.",
                "compile in place: model.compile(...), or the kit's apply_model_compile",
                event.guard,
                event.may,
                excuses=(event.site,),
            )


class CompileReturnsNone(Rule):
    """The result of an in-place compile is used as if it were the model."""

    code = "RL702"
    name = "compile-returns-none"
    severity = Severity.error

    def check(self, subject: Subject) -> Iterator[Draft]:
        """``model.compile(...)`` anywhere but as a statement of its own."""
        for note in subject.trace.noted("none-result"):
            yield _noted(
                self,
                note,
                "model.compile() compiles in place and returns None",
                "its result is None",
                "The name holds None from here on: AttributeError at its next use.",
                "write model.compile(...) as a statement of its own",
            )


class CompileDiscarded(Rule):
    """The result of ``torch.compile`` is thrown away."""

    code = "RL703"
    name = "compile-discarded"
    severity = Severity.error

    def check(self, subject: Subject) -> Iterator[Draft]:
        """``torch.compile(model)`` as a bare statement."""
        for note in subject.trace.noted("discard"):
            if note.traits.get("step") == "compile":
                yield _noted(
                    self,
                    note,
                    "torch.compile(model) is thrown away: it does not compile in place",
                    "its result is used nowhere",
                    "Training runs eagerly, and no error says so.",
                    "write model.compile(...), which compiles in place",
                )


class UseCacheLeftOn(Rule):
    """Checkpointing is switched on directly and the key-value cache stays on."""

    code = "RL704"
    name = "use-cache-left-on"
    severity = Severity.warning

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A direct checkpointing call, or the kit's custom mode, on a language model whose cache nobody turns off."""
        off = {n.object for n in subject.trace.noted("cache") if n.traits.get("value") is not True}
        loads = {event.object: event for event in subject.trace.of("load") if not event.path}
        seen: set[int] = set()
        for event in subject.trace.of("checkpointing"):
            custom = event.form == "kit" and event.trait("mode") == "custom"
            if event.form == "kit" and not custom:
                continue
            load = loads.get(event.object)
            if load is None or not subject.trace.family or event.object in off or event.object in seen:
                continue
            if any(value is False for _, value in at_stages(load, "use_cache", subject)):
                continue
            seen.add(event.object)
            site = event.chain[-1] if event.chain and event.form != "direct" else event.site
            yield Draft(
                self.code,
                self.name,
                self.severity,
                site,
                "gradient checkpointing is on and the key-value cache stays on",
                "does not turn the cache off",
                "A wrapped attention raises on its second call; models that guard against it warn inside the layer "
                "loop, which breaks the compiled graph.",
                "set model.config.use_cache = False (and that of text_config), as the kit's hf mode does",
                event.guard,
                event.may,
                excuses=(site, event.site),
            )


class CustomCheckpointingWithoutTargets(Rule):
    """Custom checkpointing is asked for without saying which modules."""

    code = "RL705"
    name = "custom-checkpointing-without-targets"
    severity = Severity.error

    def check(self, subject: Subject) -> Iterator[Draft]:
        """``mode="custom"`` or ``"hf_with_custom"`` with no ``target_modules`` at a stage."""
        for event in subject.trace.of("checkpointing"):
            if event.form != "kit":
                continue
            modes = at_stages(event, "mode", subject)
            targets = at_stages(event, "target_modules", subject)
            bad = [
                stage
                for (stage, mode), (_, target) in zip(modes, targets, strict=True)
                if mode in ("custom", "hf_with_custom") and target in (None, (), [], MISSING)
            ]
            if bad:
                yield Draft(
                    self.code,
                    self.name,
                    self.severity,
                    event.site,
                    "custom checkpointing has no target_modules",
                    "wraps nothing",
                    "The multimodal kit then wraps nothing and says nothing; the language-model kit raises.",
                    'name them as "Parent:child", for example ["Qwen3VLTextDecoderLayer:self_attn"]',
                    event.guard,
                    event.may,
                    tuple(stage.name for stage in bad if stage is not None),
                    excuses=(event.site,),
                )


class BadCheckpointTarget(Rule):
    """A checkpointing target is not of the form ``Parent:child``."""

    code = "RL706"
    name = "bad-checkpoint-target"
    severity = Severity.error

    def check(self, subject: Subject) -> Iterator[Draft]:
        """Each target needs exactly one colon with a name on both sides."""
        for event in subject.trace.of("checkpointing"):
            if event.form != "kit":
                continue
            bad: dict[str, list[str]] = {}
            for stage, targets in at_stages(event, "target_modules", subject):
                for target in targets if isinstance(targets, list | tuple) else ():
                    if isinstance(target, str) and not _is_target(target):
                        bad.setdefault(target, []).append(stage.name if stage is not None else "")
            for target, names in bad.items():
                yield Draft(
                    self.code,
                    self.name,
                    self.severity,
                    event.site,
                    f'checkpointing target "{target}" is not of the form "Parent:child"',
                    "raises ValueError",
                    "The kit raises ValueError when it comes to this target.",
                    "name the class of the parent, a colon, and the child's attribute",
                    event.guard,
                    event.may,
                    tuple(name for name in names if name),
                    excuses=(event.site,),
                )


class ReentrantOverFrozenInputs(Rule):
    """Reentrant checkpointing over inputs that need no gradient."""

    code = "RL707"
    name = "reentrant-over-frozen-inputs"
    severity = Severity.warning

    def check(self, subject: Subject) -> Iterator[Draft]:
        """Embeddings frozen, ``use_reentrant`` true, and no hook that gives the inputs a gradient."""
        trace = subject.trace
        hooked = {n.object for n in trace.noted("call") if n.traits.get("method") == "enable_input_require_grads"}
        for event in trace.of("checkpointing"):
            frozen = next((f for f in trace.of("freeze") if _freezes_inputs(f, event)), None)
            if frozen is None or event.object in hooked:
                continue
            bad = [stage for stage, value in at_stages(event, "use_reentrant", subject) if value is True]
            if not bad:
                continue
            yield Draft(
                self.code,
                self.name,
                self.severity,
                event.site,
                "reentrant checkpointing over inputs that need no gradient",
                "use_reentrant is true",
                "None of the inputs of the first checkpointed layer needs a gradient, so the reentrant variant gives "
                "none to its parameters: a warning, then trainable parameters that never move.",
                "use_reentrant=False, or model.enable_input_require_grads() before it",
                event.guard & frozen.guard,
                event.may or frozen.may,
                tuple(stage.name for stage in bad if stage is not None),
                ((frozen.site, "the embeddings are frozen here"),),
                excuses=(event.site,),
            )


class CheckpointWrapperRenames(Rule):
    """Checkpoint wrappers come before a freeze by names."""

    code = "RL708"
    name = "checkpoint-wrapper-renames"
    severity = Severity.warning

    def check(self, subject: Subject) -> Iterator[Draft]:
        """``checkpoint_wrapper`` or a custom mode, then a freeze that goes by parameter names."""
        for event in subject.trace.of("freeze"):
            if not event.trait("by_name"):
                continue
            for wrapper in subject.trace.of("checkpointing"):
                wraps = wrapper.trait("mode") in ("custom", "hf_with_custom") or "wrapper" in wrapper.call
                guard = wrapper.guard & event.guard
                if not wraps or wrapper.object != event.object or wrapper.index > event.index or guard.impossible:
                    continue
                yield Draft(
                    self.code,
                    self.name,
                    self.severity,
                    event.places[-1],
                    "a freeze by names runs after modules were wrapped for checkpointing",
                    "looks for names from before the wrappers",
                    "The wrappers put '_checkpoint_wrapped_module' into parameter names, so a prefix that reaches "
                    "below a wrapped module matches nothing.",
                    "freeze first, then wrap",
                    guard,
                    True,
                    related=((wrapper.site, "modules are wrapped here"),),
                    excuses=(event.site,),
                )
                break


def _freezes_inputs(freeze: Event, checkpointing: Event) -> bool:
    inputs = ("get_input_embeddings", "embed_tokens", "wte", "word_embeddings")
    on_inputs = any(part in inputs for part in freeze.path)
    before = freeze.object == checkpointing.object and freeze.index < checkpointing.index
    return on_inputs and before and freeze.trait("kind") == "freeze" and freeze.guard.meets(checkpointing.guard)


def _is_target(text: str) -> bool:
    parts = text.split(":")
    return len(parts) == 2 and all(part.strip() for part in parts)


def _noted(rule: Rule, note: Note, message: str, label: str, harm: str, help_text: str) -> Draft:
    return Draft(
        rule.code,
        rule.name,
        rule.severity,
        note.site,
        message,
        label,
        harm,
        help_text,
        note.guard,
        note.may,
        excuses=(note.site,),
    )
