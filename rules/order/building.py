"""Order of the optimizer, kernel patches, adapters, tensor parallelism and EMA copies."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from .edge import EdgeRule
from .relations import rebuilt


class OptimizerBeforeParallelize(EdgeRule):
    """The optimizer is built before the wrapping for distributed training."""

    code = "RL118"
    name = "optimizer-before-parallelize"
    severity = Severity.error

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where both then go through one ``prepare``, nor where the optimizer is built again afterwards."""
        prepared = late.trait("prepares")
        if isinstance(prepared, tuple) and early.trait("optimizer") in prepared:
            return False
        return not rebuilt(early, late, subject)

    def unsure(self, early: Event, late: Event) -> bool:  # noqa: ARG002
        """What an accelerator wraps with is decided by its own configuration."""
        return bool(late.trait("prepared"))


class KernelPatchAfterBuild(EdgeRule):
    """Kernels are patched after the model was built."""

    code = "RL119"
    name = "kernel-patch-after-build"
    severity = Severity.warning
    same_object = False

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where a model is built afterwards: the patch is for that one."""
        return not any(
            load.index > late.index and late.guard.meets(load.guard) for load in subject.trace.of(early.step)
        )


class AdapterAfterCompile(EdgeRule):
    """The adapter is added after compile."""

    code = "RL121"
    name = "adapter-after-compile"
    severity = Severity.warning


class AdapterAfterParallelize(EdgeRule):
    """The adapter is added after the wrapping for distributed training."""

    code = "RL122"
    name = "adapter-after-parallelize"
    severity = Severity.error


class AdapterAfterOptimizer(EdgeRule):
    """The adapter is added after the optimizer was built."""

    code = "RL123"
    name = "adapter-after-optimizer"
    severity = Severity.error

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where the optimizer is built again afterwards."""
        return not rebuilt(early, late, subject)


class TensorParallelAfterFsdp(EdgeRule):
    """Tensor parallelism is applied after sharding."""

    code = "RL124"
    name = "tensor-parallel-after-fsdp"
    severity = Severity.error

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:  # noqa: ARG002
        """Only sharding changes the parameters' type."""
        return early.trait("backend") in ("fsdp1", "fsdp2")


class EmaCopyBeforeWrap(EdgeRule):
    """The EMA copy is made before the model is wrapped."""

    code = "RL125"
    name = "ema-copy-before-wrap"
    severity = Severity.warning

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where the copy is wrapped the same way, nor for a compile that keeps names."""
        if late.step == "compile" and not late.trait("wraps"):
            return False
        copy = early.trait("copy")
        return not any(event.object == copy for event in subject.trace.of(late.step))
