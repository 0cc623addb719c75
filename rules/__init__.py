"""The rule pack: the protocol as data, and one small module a rule family."""

from __future__ import annotations

from recipe_lint.lint.rule import Rule

from .build import (
    ModelBuiltInStep,
    ModelBuiltTwice,
    ModelReadBeforeBuilt,
    PreparedResultDiscarded,
    ReturnsUnpreparedModel,
)
from .order.building import (
    AdapterAfterCompile,
    AdapterAfterOptimizer,
    AdapterAfterParallelize,
    EmaCopyBeforeWrap,
    KernelPatchAfterBuild,
    OptimizerBeforeParallelize,
    TensorParallelAfterFsdp,
)
from .order.checkpointing import (
    CheckpointingAfterCompile,
    CheckpointingAfterOptimizer,
    CheckpointingAfterParallelize,
)
from .order.compiling import CompileAfterOptimizer, CompileAfterParallelize
from .order.freezing import (
    FreezeAfterAdapter,
    FreezeAfterCheckpointing,
    FreezeAfterCompile,
    FreezeAfterOptimizer,
    FreezeAfterParallelize,
)
from .order.patching import (
    PatchAfterCheckpointing,
    PatchAfterCompile,
    PatchAfterFreeze,
    PatchAfterOptimizer,
    PatchAfterParallelize,
    PatchAfterTokenLoss,
    PatchAfterUpcast,
    PatchLost,
)
from .order.upcasting import (
    UpcastAfterCheckpointing,
    UpcastAfterCompile,
    UpcastAfterOptimizer,
    UpcastAfterParallelize,
    UpcastBeforeFreeze,
)
from .own import SuppressionWithoutReason, SyntaxFault, UnknownCode, UnreadableFile, UnusedSuppression


def rules() -> tuple[type[Rule], ...]:
    """Every rule of the pack, by code."""
    return (
        SyntaxFault,
        UnreadableFile,
        SuppressionWithoutReason,
        UnusedSuppression,
        UnknownCode,
        CompileAfterParallelize,
        FreezeAfterOptimizer,
        FreezeAfterParallelize,
        FreezeAfterCompile,
        UpcastBeforeFreeze,
        UpcastAfterOptimizer,
        UpcastAfterParallelize,
        PatchAfterFreeze,
        PatchAfterCheckpointing,
        PatchAfterCompile,
        PatchAfterParallelize,
        PatchAfterOptimizer,
        CheckpointingAfterCompile,
        CheckpointingAfterParallelize,
        FreezeAfterCheckpointing,
        UpcastAfterCheckpointing,
        PatchLost,
        OptimizerBeforeParallelize,
        KernelPatchAfterBuild,
        FreezeAfterAdapter,
        AdapterAfterCompile,
        AdapterAfterParallelize,
        AdapterAfterOptimizer,
        TensorParallelAfterFsdp,
        EmaCopyBeforeWrap,
        CompileAfterOptimizer,
        CheckpointingAfterOptimizer,
        UpcastAfterCompile,
        PatchAfterUpcast,
        PatchAfterTokenLoss,
        ModelBuiltTwice,
        ModelReadBeforeBuilt,
        ReturnsUnpreparedModel,
        PreparedResultDiscarded,
        ModelBuiltInStep,
    )
