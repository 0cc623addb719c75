"""Family RL6, what needs no parameter names: prefixes that are no tuples, freezes that do nothing or are undone."""

from __future__ import annotations

from collections.abc import Iterator

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Draft, Rule, Subject
from recipe_lint.read.stages import Stage
from recipe_lint.trace.events import Event
from recipe_lint.trace.guards import Guard

from .arguments import argument, at_stages, plain, stages_of
from .order.relations import alternates, in_training_step

GROUPS = ("vit_prefixes", "projector_prefixes", "llm_prefixes")
# The kit's own groups; a group that is not given falls back to them.
DEFAULTS = {
    "vit_prefixes": ("model.visual.patch_embed.", "model.visual.blocks."),
    "projector_prefixes": ("model.visual.merger.", "model.visual.deepstack_merger_list."),
    "llm_prefixes": ("model.language_model.", "lm_head."),
}


class PrefixIsString(Rule):
    """A group of prefixes is one string, which is walked by its characters."""

    code = "RL601"
    name = "prefix-is-string"
    severity = Severity.error

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A string where the kit expects a tuple or a list of prefixes."""
        for event in _policies(subject):
            for group in GROUPS:
                bad = [stage for stage, value in at_stages(event, group, subject) if isinstance(value, str)]
                if bad:
                    yield _draft(
                        self,
                        event,
                        f"{group} is one string; the kit walks it by its characters",
                        "needs a comma: a tuple of one prefix",
                        'startswith("m") matches every name under model., so nearly everything is frozen and the '
                        'optimizer raises "No trainable parameters found.", or nothing that was meant is.',
                        f'{group}=("...",): the comma makes it a tuple',
                        bad,
                    )


class PrefixWithoutDot(Rule):
    """A prefix ends in a number without a dot and matches longer numbers too."""

    code = "RL602"
    name = "prefix-without-dot"
    severity = Severity.warning

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A prefix such as ``layers.1`` in a group of the kit call."""
        for event in _policies(subject):
            for group in GROUPS:
                bad: dict[str, list[Stage | None]] = {}
                for stage, value in at_stages(event, group, subject):
                    for prefix in value if isinstance(value, list | tuple) else ():
                        if isinstance(prefix, str) and prefix[-1:].isdigit():
                            bad.setdefault(prefix, []).append(stage)
                for prefix, stages in bad.items():
                    yield _draft(
                        self,
                        event,
                        f'prefix "{prefix}" has no trailing dot and also matches "{prefix}0" and on',
                        "matches longer numbers too",
                        "layers.1 freezes layers 10 to 19 as well.",
                        f'write "{prefix}."',
                        stages,
                    )


class PrefixOverlap(Rule):
    """One group's prefix covers another group's."""

    code = "RL603"
    name = "prefix-overlap"
    severity = Severity.warning

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A prefix of an earlier group that a prefix of a later group lies below; the first match wins."""
        for event in _policies(subject):
            if not any(argument(event, group) is not None for group in GROUPS):
                continue
            found: dict[tuple[str, str, str, str], list[Stage | None]] = {}
            for stage in stages_of(event, subject):
                for pair in _overlaps(event, subject, stage):
                    found.setdefault(pair, []).append(stage)
            for (first, wide, second, narrow), stages in found.items():
                yield _draft(
                    self,
                    event,
                    f'"{wide}" of {first} covers "{narrow}" of {second}',
                    f"swallows {second}",
                    f"The first matching group wins, so these parameters follow the flag of {first} whatever the "
                    f"flag of {second} says.",
                    f"list the parts of {first} one by one, without {narrow}",
                    stages,
                )


class FreezeUndone(Rule):
    """A later loop gives every parameter its gradient back."""

    code = "RL606"
    name = "freeze-undone"
    severity = Severity.error

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A freeze, then ``requires_grad = True`` for all of the same part, before training."""
        for event in subject.trace.of("freeze"):
            if event.trait("kind") != "unfreeze" or event.trait("name_tests") or event.trait("selective"):
                continue
            if in_training_step(event, subject):
                continue
            for early in subject.trace.of("freeze"):
                if not self._undoes(event, early, subject):
                    continue
                yield Draft(
                    self.code,
                    self.name,
                    self.severity,
                    event.places[-1] if not event.chain else event.chain[0],
                    "every parameter gets its gradient back, so the freeze before it has no effect",
                    "sets requires_grad to True for all",
                    "What the policy froze is trained, kept in the optimizer and in full precision.",
                    "drop this line, or name the parameters that are meant to train",
                    event.guard & early.guard,
                    event.may or early.may,
                    related=((early.site, "frozen here"),),
                    excuses=(event.site,),
                )
                break

    def _undoes(self, late: Event, early: Event, subject: Subject) -> bool:
        if early.index > late.index or early.object != late.object or early.trait("kind") == "unfreeze":
            return False
        if early.path[: len(late.path)] != late.path or not early.guard.meets(late.guard):
            return False
        # A freeze that is lifted after steps in between was meant to hold for those steps.
        between = (e for e in subject.trace.events if early.index < e.index < late.index)
        return not any(e.step in ("optimizer", "parallelize") for e in between)


class FreezeNoop(Rule):
    """An assignment that looks like a freeze and freezes nothing."""

    code = "RL607"
    name = "freeze-noop"
    severity = Severity.error

    def check(self, subject: Subject) -> Iterator[Draft]:
        """``module.requires_grad = False`` and ``parameter.data.requires_grad = False``."""
        models = {event.object for event in subject.trace.events}
        for kind, what in (("attribute-freeze", "a module"), ("data-freeze", "a parameter's .data")):
            for note in subject.trace.noted(kind):
                if note.object not in models:
                    continue
                yield Draft(
                    self.code,
                    self.name,
                    self.severity,
                    note.site,
                    f"requires_grad is set on {what}, which freezes nothing",
                    "sets an attribute that nothing reads",
                    "nn.Module has no requires_grad and .data is a view outside autograd: 0 parameters are frozen.",
                    "call module.requires_grad_(False)",
                    note.guard,
                    note.may,
                    excuses=(note.site,),
                )


class FreezeSilentSkip(Rule):
    """A guard turns a wrong module name into no freeze at all."""

    code = "RL608"
    name = "freeze-silent-skip"
    severity = Severity.warning

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A freeze under ``hasattr`` or ``getattr(..., None)`` of the model, with no other arm that speaks."""
        for event in subject.trace.of("freeze"):
            if event.trait("kind") == "unfreeze":
                continue
            test = next((text for text in _guards_on_model(event, subject)), None)
            if test is None:
                continue
            yield Draft(
                self.code,
                self.name,
                self.severity,
                event.site,
                f"nothing is frozen, without a word, where this does not hold: {test}",
                "skipped when the name is wrong",
                "Names change between versions of a model family; the guard then turns the freeze off and the part "
                "trains.",
                "raise where the attribute is missing",
                event.guard,
                event.may,
                excuses=(event.site,),
            )


class MixedRequiresGrad(Rule):
    """FSDP1 flattens frozen and trainable parameters together."""

    code = "RL609"
    name = "mixed-requires-grad"
    severity = Severity.error

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A part is frozen, and FSDP1 wraps the whole without ``use_orig_params=True``."""
        for event in subject.trace.of("parallelize"):
            if event.trait("backend") != "fsdp1" or event.path:
                continue
            if plain(argument(event, "use_orig_params"), subject, None) is True:
                continue
            unknown = argument(event, "use_orig_params") is not None and not isinstance(
                plain(argument(event, "use_orig_params"), subject, None), bool
            )
            frozen = next((f for f in subject.trace.of("freeze") if _freezes_part(f, event)), None)
            if frozen is None or unknown:
                continue
            yield Draft(
                self.code,
                self.name,
                self.severity,
                event.site,
                "FSDP1 flattens frozen and trainable parameters of one unit together",
                "use_orig_params is not True",
                "Without use_orig_params FSDP1 raises when one unit holds both.",
                "use_orig_params=True, or units that are frozen as a whole",
                event.guard & frozen.guard,
                event.may or frozen.may,
                related=((frozen.site, "a part is frozen here"),),
                excuses=(event.site,),
            )


class NothingTrainable(Rule):
    """Every parameter is frozen and nothing is made trainable again."""

    code = "RL611"
    name = "nothing-trainable"
    severity = Severity.error

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A freeze of the whole model that an optimizer is then built for."""
        trace = subject.trace
        trained = {event.object for event in trace.of("optimizer")}
        frozen = {event.object for event in trace.of("freeze") if event.trait("covers") == "all"}
        if trained - frozen:
            return
        for event in trace.of("freeze"):
            if event.trait("covers") != "all" or event.object not in trained or alternates(event, subject):
                continue
            later = (
                e
                for e in trace.events
                if e.object == event.object and e.index > event.index and e.guard.meets(event.guard)
            )
            freed = any(
                (e.step == "freeze" and e.trait("kind") != "freeze")
                or e.step == "adapter"
                or (e.step == "patch" and e.trait("effect") in ("structural", "unknown"))
                for e in later
            )
            unsure = any(
                n.object == event.object and n.index > event.index and not n.traits.get("resolved")
                for n in trace.noted("call")
            )
            if freed:
                continue
            yield Draft(
                self.code,
                self.name,
                self.severity,
                event.site,
                "every parameter is frozen and nothing is made trainable again",
                "freezes the whole model",
                "backward raises, or runs under checkpointing without any gradient; nothing is trained.",
                "leave the part that is meant to train out of the freeze",
                event.guard,
                event.may or unsure,
                excuses=(event.site,),
            )


def _policies(subject: Subject) -> Iterator[Event]:
    return (event for event in subject.trace.of("freeze") if event.form == "kit")


def _overlaps(event: Event, subject: Subject, stage: Stage | None) -> Iterator[tuple[str, str, str, str]]:
    groups: list[tuple[str, tuple[str, ...]]] = []
    for group in GROUPS:
        value = plain(argument(event, group), subject, stage)
        given = tuple(p for p in value if isinstance(p, str)) if isinstance(value, list | tuple) else ()
        groups.append((group, given or DEFAULTS[group]))
    for place, (first, wides) in enumerate(groups):
        for second, narrows in groups[place + 1 :]:
            for wide in wides:
                for narrow in narrows:
                    if narrow.startswith(wide):
                        yield first, wide, second, narrow


def _guards_on_model(event: Event, subject: Subject) -> Iterator[str]:
    assumed = {literal for _, literal in subject.trace.assumed}
    for atom, positive in event.guard.common:
        if (atom, positive) in assumed:
            continue
        is_missing = atom.op == "is" and atom.operand is None and not positive and f"o{event.object}." in atom.subject
        has = positive and atom.op == "opaque" and atom.subject.startswith(f"has.o{event.object}.")
        if is_missing or has:
            yield atom.show(positive)


def _freezes_part(freeze: Event, wrapper: Event) -> bool:
    if freeze.object != wrapper.object or freeze.index > wrapper.index or freeze.trait("kind") == "unfreeze":
        return False
    return freeze.trait("covers") != "all" and freeze.guard.meets(wrapper.guard)


def _draft(
    rule: Rule,
    event: Event,
    message: str,
    label: str,
    harm: str,
    help_text: str,
    stages: list[Stage | None],
    guard: Guard | None = None,
) -> Draft:
    return Draft(
        rule.code,
        rule.name,
        rule.severity,
        event.site,
        message,
        label,
        harm,
        help_text,
        guard or event.guard,
        event.may,
        tuple(stage.name for stage in stages if stage is not None),
        excuses=(event.site,),
    )
