"""Order of compile."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from .edge import EdgeRule


class CompileAfterParallelize(EdgeRule):
    """Compile stands after the wrapping for distributed training."""

    code = "RL101"
    name = "compile-after-parallelize"
    severity = Severity.warning

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """The kit keeps a Qwen-style visual tower out of the graph only where it finds it."""
        return ("visual",) if late.form == "kit" and subject.trace.family == "mllm" else ()


class CompileAfterOptimizer(EdgeRule):
    """Compile stands after the optimizer."""

    code = "RL126"
    name = "compile-after-optimizer"
    severity = Severity.info
