"""Order of the upcast of trainable parameters."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from .edge import EdgeRule
from .relations import in_training_step, overlaps


class UpcastBeforeFreeze(EdgeRule):
    """The upcast stands before the freeze policy."""

    code = "RL105"
    name = "upcast-before-freeze"
    severity = Severity.warning

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not for an unfreeze, nor for a freeze during training."""
        if late.trait("kind") == "unfreeze" or in_training_step(late, subject):
            return False
        return overlaps(early.path, late.path)


class UpcastAfterOptimizer(EdgeRule):
    """The upcast stands after the optimizer was built."""

    code = "RL106"
    name = "upcast-after-optimizer"
    severity = Severity.warning

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """In a training step the optimizer has state of the old dtype."""
        return ("step",) if in_training_step(late, subject) else ()


class UpcastAfterParallelize(EdgeRule):
    """The upcast stands after the wrapping for distributed training."""

    code = "RL107"
    name = "upcast-after-parallelize"
    severity = Severity.error

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:  # noqa: ARG002
        """Only where both touch the same part."""
        return overlaps(early.path, late.path)


class UpcastAfterCheckpointing(EdgeRule):
    """The upcast stands after gradient checkpointing."""

    code = "RL116"
    name = "upcast-after-checkpointing"
    severity = Severity.info


class UpcastAfterCompile(EdgeRule):
    """The upcast stands after compile."""

    code = "RL128"
    name = "upcast-after-compile"
    severity = Severity.info
