"""The rule pack: the protocol as data, and one small module a rule family."""

from __future__ import annotations

from recipe_lint.lint.rule import Rule

from .build import ModelBuiltInStep, ModelBuiltTwice
from .order.adapting import AdapterAfterCompile, AdapterAfterOptimizer, AdapterAfterParallelize
from .order.building import KernelPatchAfterBuild, OptimizerBeforeParallelize
from .order.checkpointing import CheckpointingAfterCompile, CheckpointingAfterOptimizer, CheckpointingAfterParallelize
from .order.compiling import CompileAfterOptimizer, CompileAfterParallelize
from .order.freezing import FreezeAfterCompile, FreezeAfterOptimizer, FreezeAfterParallelize
from .order.freezing_names import FreezeAfterAdapter, FreezeAfterCheckpointing
from .order.patch_lost import PatchLost
from .order.patching import PatchAfterCheckpointing, PatchAfterCompile, PatchAfterFreeze
from .order.patching_convention import PatchAfterTokenLoss, PatchAfterUpcast
from .order.patching_late import PatchAfterOptimizer, PatchAfterParallelize
from .order.upcasting import UpcastAfterOptimizer, UpcastAfterParallelize, UpcastBeforeFreeze
from .order.upcasting_convention import UpcastAfterCheckpointing, UpcastAfterCompile
from .order.wrapping import EmaCopyBeforeWrap, TensorParallelAfterFsdp
from .own import SuppressionWithoutReason, SyntaxFault, UnknownCode, UnreadableFile, UnusedSuppression
from .reading import ModelReadBeforeBuilt
from .results import PreparedResultDiscarded, ReturnsUnpreparedModel


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
