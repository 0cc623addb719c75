"""Order of the freeze policy."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from .edge import EdgeRule
from .relations import alternates, overlaps, rebuilt


class FreezeAfterOptimizer(EdgeRule):
    """The freeze policy stands after the optimizer was built."""

    code = "RL102"
    name = "freeze-after-optimizer"
    severity = Severity.error

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where the optimizer is built again later, holds other parts, or every parameter anyway."""
        if late.trait("kind") == "unfreeze" and early.trait("holds") == "all":
            return False
        if rebuilt(early, late, subject) or alternates(late, subject):
            return False
        paths = early.trait("paths")
        return not isinstance(paths, tuple) or any(overlaps(path, late.path) for path in paths)


class FreezeAfterParallelize(EdgeRule):
    """The freeze policy stands after the wrapping for distributed training."""

    code = "RL103"
    name = "freeze-after-parallelize"
    severity = Severity.error

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where a training step switches gradients off and on again, as adversarial training does."""
        return overlaps(early.path, late.path) and not alternates(late, subject)


class FreezeAfterCompile(EdgeRule):
    """The freeze policy stands after compile."""

    code = "RL104"
    name = "freeze-after-compile"
    severity = Severity.info

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where a training step switches gradients off and on again."""
        return overlaps(early.path, late.path) and not alternates(late, subject)

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """Names change only behind a wrapper, and only a freeze by names minds."""
        return ("wraps",) if early.trait("wraps") and late.trait("by_name") and late.trait("on_view") else ()


class FreezeAfterCheckpointing(EdgeRule):
    """The freeze policy stands after gradient checkpointing."""

    code = "RL115"
    name = "freeze-after-checkpointing"
    severity = Severity.info

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where a training step switches gradients off and on again."""
        return overlaps(early.path, late.path) and not alternates(late, subject)


class FreezeAfterAdapter(EdgeRule):
    """A freeze of everything, or one by names, stands after the adapter."""

    code = "RL120"
    name = "freeze-after-adapter"
    severity = Severity.error

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:  # noqa: ARG002
        """Only a freeze that takes the adapters with it, or whose names no longer match."""
        if late.trait("kind") != "freeze":
            return False
        if any(
            e.trait("kind") == "unfreeze" and e.object == late.object and e.index > late.index
            for e in subject.trace.of("freeze")
        ):
            return False
        tests = late.trait("name_tests")
        by_prefix = late.form == "kit" or (
            isinstance(tests, tuple) and any("startswith" in str(t) and "lora" not in str(t).lower() for t in tests)
        )
        return late.trait("covers") == "all" or (bool(late.trait("by_name")) and by_prefix)
