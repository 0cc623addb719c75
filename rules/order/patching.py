"""Order of recipe patches and the token-loss patch."""

from __future__ import annotations

from collections.abc import Iterator

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Draft, Rule, Subject
from recipe_lint.trace.events import Event

from .edge import EdgeRule, diverge, nested, related_sites
from .relations import inside_layers, is_harmless_patch, rebuilt, replaces_top_forward, touches_visual


class PatchRule(EdgeRule):
    """Base of the patch rules: a patch without effect is no step, one whose source is not there may do anything."""

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:  # noqa: ARG002
        """A patch that touches nothing of the model is no step."""
        return late.trait("effect") != ""

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """What the patch was seen to do."""
        return ("harmless",) if is_harmless_patch(late) else ()

    def unsure(self, early: Event, late: Event) -> bool:  # noqa: ARG002
        """A patch whose source is not in the project."""
        return late.trait("effect") == "unknown"


class PatchAfterFreeze(PatchRule):
    """A recipe patch stands after the freeze policy."""

    code = "RL108"
    name = "patch-after-freeze"
    severity = Severity.error

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where the freeze runs again afterwards."""
        return late.trait("effect") != "" and early.trait("kind") != "unfreeze" and not rebuilt(early, late, subject)

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """Only new modules bring parameters."""
        return () if late.trait("effect") in ("structural", "unknown") else ("harmless",)


class PatchAfterCheckpointing(PatchRule):
    """A patch stands after gradient checkpointing."""

    code = "RL109"
    name = "patch-after-checkpointing"
    severity = Severity.warning

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """Checkpointing lives in the layers; a forward outside them is not what it recomputes."""
        mild = late.trait("effect") == "forward" and not inside_layers(late)
        return ("harmless",) if is_harmless_patch(late) or mild else ()


class PatchAfterCompile(PatchRule):
    """A patch stands after compile."""

    code = "RL110"
    name = "patch-after-compile"
    severity = Severity.warning

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """In-place compile runs later and sees the patch, unless the patch drops the visual tower's graph break."""
        in_place = not early.trait("wraps")
        mild = late.trait("effect") in ("method", "forward") and not touches_visual(late)
        return ("harmless",) if in_place and mild else ()


class PatchAfterParallelize(PatchRule):
    """A patch stands after the wrapping for distributed training."""

    code = "RL111"
    name = "patch-after-parallelize"
    severity = Severity.error

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """On FSDP2, and on the module inside a wrapper, a replaced method is called as before."""
        if late.trait("effect") not in ("method", "forward"):
            return ()
        return ("harmless",) if late.trait("on_view") else ("inner-harmless", "harmless")


class PatchAfterOptimizer(PatchRule):
    """A recipe patch stands after the optimizer was built."""

    code = "RL112"
    name = "patch-after-optimizer"
    severity = Severity.error

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where the optimizer is built again afterwards."""
        return late.trait("effect") != "" and not rebuilt(early, late, subject)

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """Only new modules bring parameters."""
        return () if late.trait("effect") in ("structural", "unknown") else ("harmless",)


class PatchAfterUpcast(PatchRule):
    """A recipe patch stands after the upcast."""

    code = "RL129"
    name = "patch-after-upcast"
    severity = Severity.info

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:  # noqa: ARG002
        """Only new modules bring parameters."""
        return late.trait("effect") in ("structural", "unknown")


class PatchAfterTokenLoss(PatchRule):
    """A recipe patch stands after the token-loss patch."""

    code = "RL130"
    name = "patch-after-token-loss"
    severity = Severity.info

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:  # noqa: ARG002
        """Only what may take the place of the model's forward."""
        return late.trait("effect") in ("unknown", "structural") or replaces_top_forward(late)


class PatchLost(Rule):
    """A patch is thrown away by a later replacement of the module that it patched."""

    code = "RL117"
    name = "patch-lost"
    severity = Severity.error

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A method replaced below a path, then the module at that path replaced."""
        patches = list(subject.trace.of("patch", "token_loss"))
        patches.sort(key=lambda event: event.index)
        for late in patches:
            for early in patches:
                if early.index >= late.index or early.object != late.object or _one_step(early, late):
                    continue
                lost = _lost(early, late)
                guard = early.guard & late.guard
                if lost is None or guard.impossible:
                    continue
                site, other = diverge(early, late)
                what = ".".join(lost[0])
                yield Draft(
                    self.code,
                    self.name,
                    self.severity,
                    site,
                    f"the patch of {what} is lost: {'.'.join(lost[1])} is replaced afterwards",
                    f"patches {what}",
                    "The new module does not have the patch: training runs without it, and no error says so.",
                    f"patch after the replacement (line {other.span.line}), or drop the patch",
                    guard,
                    early.may or late.may,
                    (),
                    related_sites(site, other, early, late, "the replacement"),
                    None,
                    None,
                    (),
                    (site,),
                )
                break


def _one_step(early: Event, late: Event) -> bool:
    """Whether one patch happens inside the other; two patches of one list are two steps of one call."""
    return early.site != late.site and nested(early, late)


def _lost(early: Event, late: Event) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The patched path and the later replaced path above it, if there are such."""
    first, second = early.trait("paths"), late.trait("paths")
    if not isinstance(first, tuple) or not isinstance(second, tuple):
        return None
    for patched, _ in first:
        for replaced, effect in second:
            above = len(replaced) < len(patched) and patched[: len(replaced)] == replaced
            if above and effect in ("structural", "unknown"):
                return patched, replaced
    return None
