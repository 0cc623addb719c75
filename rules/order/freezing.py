"""Order of the freeze policy against the steps that change or hold parameters."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from ..samples import engine, script
from .edge import EdgeRule
from .relations import (
    alternates,
    overlaps,
    rebuilt,
)


class FreezeAfterOptimizer(EdgeRule):
    """The freeze policy runs after the optimizer was built.

    ## What it does
    Reports a freeze of parameters (`apply_freeze_policy`, `requires_grad_(False)`, a loop that clears `requires_grad`)
    that runs after an optimizer took those parameters in.

    ## Why it is bad
    On every backend the optimizer still holds the frozen tensors (51 of them in the measured run). They stay still as
    long as their gradients are None. Frozen in mid-run with gradients zeroed instead of set to None, all 51 moved. A
    state saved from the right order no longer loads: "parameter group that doesn't match".

    ## Known limits
    Which parameters the optimizer holds is known by submodule, not by name. A late unfreeze counts too, except where
    the optimizer was given every parameter. Not reported: a freeze that the same function or the training step lifts
    again, as adversarial training does, the unfreeze that follows such a freeze, and anything before the optimizer is
    built again.

    ## Example
    ```python
    def setup(cfg):
        model = AutoModelForImageTextToText.from_pretrained(cfg.path)
        optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=cfg.lr)
        model.visual.requires_grad_(False)
        return model, optimizer
    ```

    ## Use instead
    ```python
    def setup(cfg):
        model = AutoModelForImageTextToText.from_pretrained(cfg.path)
        model.visual.requires_grad_(False)
        optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=cfg.lr)
        return model, optimizer
    ```

    ## Fix safety
    Shown only: an optimizer with fewer parameters no longer loads the states saved so far. Move the freeze above the
    line that builds the optimizer.

    ## Source
    Measured with torch 2.13 and transformers 5.24 on a tiny Qwen3-VL: freeze after optimizer, before the first step
    and in mid-run. Reports: neuralmagic/sparseml#965, KellerJordan/Muon#54, NVIDIA-NeMo/Speech#5086.
    """

    code = "RL102"
    name = "freeze-after-optimizer"
    severity = Severity.error
    bad = (
        script(
            """
            def setup(cfg):
                model = AutoModelForImageTextToText.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=cfg.lr)
                model.visual.requires_grad_(False)  # expect: RL102
                return model, optimizer
            """
        ),
        # The base engine builds the optimizer before a training step runs.
        engine(
            "model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)",
            hooks="""
            def train_pre_step(self, ctx):
                if self.step == self.config.optim.freeze_at:
                    self.model.lm_head.requires_grad_(False)  # expect: RL102
            """,
        ),
    )
    good = (
        script(
            """
            def setup(cfg):
                model = AutoModelForImageTextToText.from_pretrained(cfg.path)
                model.visual.requires_grad_(False)
                optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=cfg.lr)
                return model, optimizer
            """
        ),
        # The optimizer is built again behind the freeze.
        script(
            """
            def setup(cfg, warm_up):
                model = AutoModelForImageTextToText.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                warm_up(model, optimizer, cfg.warm_up_steps)
                model.visual.requires_grad_(False)
                optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=cfg.lr)
                return model, optimizer
            """
        ),
        # The optimizer never held what is frozen.
        script(
            """
            def setup(cfg):
                model = AutoModelForImageTextToText.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.lm_head.parameters(), lr=cfg.lr)
                model.visual.requires_grad_(False)
                return model, optimizer
            """
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where the optimizer is built again later, holds other parts, or every parameter anyway."""
        if late.trait("kind") == "unfreeze" and early.trait("holds") == "all":
            return False
        if rebuilt(early, late, subject) or alternates(late, subject, early.index):
            return False
        paths = early.trait("paths")
        return not isinstance(paths, tuple) or any(overlaps(path, late.path) for path in paths)


class FreezeAfterParallelize(EdgeRule):
    """The freeze policy runs after the wrapping for distributed training.

    ## What it does
    Reports a freeze of a model's parameters that runs after that model was wrapped or sharded.

    ## Why it is bad
    - DDP and FSDP1 (error): behind DDP every name begins with `module.`, so a policy by prefixes froze 0 of 64
      tensors. What is frozen through `.module` raised RuntimeError on the second step ("Expected to have finished
      reduction"); with two ranks the weights diverged before that. With `find_unused_parameters` it runs.
    - FSDP2 and tensor parallel (warning): names stay, 51 of 51 tensors were frozen and the losses agreed. There it is
      a convention.

    ## Known limits
    A policy by submodule on `model.module` matches, but DDP has registered the parameters by then; it is reported all
    the same, whatever `find_unused_parameters` says. A freeze that the same function or the training step lifts again
    is not reported.

    ## Example
    ```python
    model = DistributedDataParallel(model, device_ids=[self.local_rank])
    for name, parameter in model.named_parameters():
        if name.startswith("model.visual.blocks."):
            parameter.requires_grad = False
    ```

    ## Use instead
    ```python
    for name, parameter in model.named_parameters():
        if name.startswith("model.visual.blocks."):
            parameter.requires_grad = False
    model = DistributedDataParallel(model, device_ids=[self.local_rank])
    ```

    ## Fix safety
    Shown only: what trains will change. Move the whole policy above the wrapping and compare the list of trainable
    names.

    ## Source
    Measured with torch 2.13 and transformers 5.24 on a tiny Qwen3-VL, one and two gloo ranks: freeze after
    parallelize. Reports: espnet/espnet#1983, JDAI-CV/fast-reid#178.
    """

    code = "RL103"
    name = "freeze-after-parallelize"
    severity = Severity.error
    bad = (
        engine(
            """
            model = DistributedDataParallel(model, device_ids=[self.local_rank])
            for name, parameter in model.named_parameters():
                if name.startswith("model.visual.blocks."):
                    parameter.requires_grad = False  # expect: RL103
            """
        ),
        engine(
            """
            model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
            model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)  # expect: RL103
            """,
            shard=8,
        ),
    )
    good = (
        engine(
            """
            for name, parameter in model.named_parameters():
                if name.startswith("model.visual.blocks."):
                    parameter.requires_grad = False
            model = DistributedDataParallel(model, device_ids=[self.local_rank])
            """
        ),
        # A teacher that is never wrapped.
        engine(
            """
            teacher = copy.deepcopy(model)
            model = DistributedDataParallel(model, device_ids=[self.local_rank])
            teacher.requires_grad_(False)
            self.teacher = teacher
            """
        ),
        # Reads requires_grad, freezes nothing.
        engine(
            """
            model = DistributedDataParallel(model, device_ids=[self.local_rank])
            self.trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
            """
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where a training step switches gradients off and on again, as adversarial training does."""
        return overlaps(early.path, late.path) and not alternates(late, subject, early.index)


class FreezeAfterCompile(EdgeRule):
    """The freeze policy runs after the model was compiled.

    ## What it does
    Reports a freeze that runs after a compile of the same model. It is an error where compile returned a wrapper and
    the freeze goes by names; otherwise a note.

    ## Why it is bad
    - `torch.compile(model)`: the wrapper's names begin with `_orig_mod.`; a policy by prefixes matched nothing, so
      everything trained.
    - `model.compile()`: names stay and all prefixes matched. Harmless, a convention of the protocol.

    The backend makes no difference.

    ## Known limits
    Only a freeze through the wrapper is an error; one through the variable that still holds the inner model is a note.
    The rule does not compare prefixes with real names.

    ## Example
    ```python
    model = torch.compile(model)
    model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)
    ```

    ## Use instead
    ```python
    model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)
    model = torch.compile(model)
    ```

    ## Fix safety
    Shown only: what trains will change. Move the policy above the compile call, or compile in place with
    `model.compile()`.

    ## Source
    Measured with torch 2.13 and transformers 5.24 on a tiny Qwen3-VL: freeze after `torch.compile(m)` and after
    `m.compile()`. The PyTorch documentation of `torch.compile` for the wrapper and its `_orig_mod`.
    """

    code = "RL104"
    name = "freeze-after-compile"
    severity = Severity.info
    bad = (
        engine(
            """
            model = torch.compile(model)
            model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)  # expect: RL104
            """
        ),
        engine(
            """
            model = self.model_kit.apply_model_compile(model, backend="inductor")
            model.visual.requires_grad_(False)  # expect: RL104
            """
        ),
    )
    good = (
        engine(
            """
            model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)
            model = torch.compile(model)
            """
        ),
        # Another model is compiled.
        engine(
            """
            teacher = torch.compile(copy.deepcopy(model))
            model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)
            self.teacher = teacher
            """
        ),
        # Only the language model is compiled, only the tower frozen.
        engine(
            """
            model.language_model.compile()
            model.visual.requires_grad_(False)
            """
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where a training step switches gradients off and on again."""
        return overlaps(early.path, late.path) and not alternates(late, subject, early.index)

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """Names change only behind a wrapper, and only a freeze by names minds."""
        return ("wraps",) if early.trait("wraps") and late.trait("by_name") and late.trait("on_view") else ()
