"""Order of gradient checkpointing."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from .edge import EdgeRule


class CheckpointingAfterCompile(EdgeRule):
    """Gradient checkpointing stands after compile."""

    code = "RL113"
    name = "checkpointing-after-compile"
    severity = Severity.info


class CheckpointingAfterParallelize(EdgeRule):
    """Gradient checkpointing stands after the wrapping for distributed training."""

    code = "RL114"
    name = "checkpointing-after-parallelize"
    severity = Severity.error

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:  # noqa: ARG002
        """PyTorch's own FSDP1 recipe wraps for checkpointing after sharding."""
        wrapper = "gradient_checkpointing_enable" not in late.call and late.form == "direct"
        return not (early.trait("backend") == "fsdp1" and wrapper)

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """Custom mode goes by class names; the module inside a wrapper has the method."""
        if late.trait("mode") in ("custom", "hf_with_custom"):
            return ("custom",)
        inner = early.trait("wraps") and not late.trait("on_view")
        return ("inner",) if inner else ()


class CheckpointingAfterOptimizer(EdgeRule):
    """Gradient checkpointing stands after the optimizer was built."""

    code = "RL127"
    name = "checkpointing-after-optimizer"
    severity = Severity.info
