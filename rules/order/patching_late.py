"""Order of patches against the wrapping and the optimizer."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from ..samples import engine, script
from .patching import PatchRule
from .relations import (
    rebuilt,
)


class PatchAfterParallelize(PatchRule):
    """A patch runs after the wrapping for distributed training.

    ## What it does
    Reports a recipe patch or token-loss patch that runs after the same model was wrapped or sharded.

    ## Why it is bad
    - DDP: a kit patch on the wrapper raises AttributeError or ValueError, or the attribute lands on the wrapper and
      the inner model lacks it. A `forward` replaced on the wrapper skips the reduction: two ranks diverge without an
      error. A module that is put in raises on step two, or is never reduced.
    - FSDP2: a module that is put in mixes plain tensors with DTensors; clipping raises or the ranks diverge. A
      replaced method or token loss is harmless, and a note.
    - A method replaced on the module inside the wrapper is harmless, and a note.

    ## Known limits
    Hooks that must see the wrapped parameters are installed after wrapping on purpose; they are no patch unless they
    replace something. Patches whose source is not in the project count as replacing anything, with "may".

    ## Example
    ```python
    model = DistributedDataParallel(model, device_ids=[self.local_rank])
    model = self.loss_kit.apply_chunked_token_loss_patch(model)
    ```

    ## Use instead
    ```python
    model = self.loss_kit.apply_chunked_token_loss_patch(model)
    model = DistributedDataParallel(model, device_ids=[self.local_rank])
    ```

    ## Fix safety
    Shown only: what the ranks reduce will change. Move the patch above the wrapping.

    ## Source
    Measured with torch 2.13 and transformers 5.24 on a tiny Qwen3-VL, one and two gloo ranks: kit patches, replaced
    forwards and module swaps after parallelize.
    """

    code = "RL111"
    name = "patch-after-parallelize"
    severity = Severity.error
    bad = (
        engine(
            """
            model = DistributedDataParallel(model, device_ids=[self.local_rank])
            model = self.loss_kit.apply_chunked_token_loss_patch(model)  # expect: RL111
            """
        ),
        engine(
            """
            model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
            model.visual.merger = torch.nn.Linear(64, 32)  # expect: RL111
            """,
            shard=8,
        ),
    )
    good = (
        engine(
            """
            model = self.loss_kit.apply_chunked_token_loss_patch(model)
            model = DistributedDataParallel(model, device_ids=[self.local_rank])
            """
        ),
        # A hook on gradients replaces nothing.
        engine(
            """
            model = DistributedDataParallel(model, device_ids=[self.local_rank])
            model.register_comm_hook(None, default_hooks.bf16_compress_hook)
            """,
            above="from torch.distributed.algorithms.ddp_comm_hooks import default_hooks",
        ),
        # The teacher is patched, the student wrapped.
        engine(
            """
            teacher = copy.deepcopy(model)
            model = DistributedDataParallel(model, device_ids=[self.local_rank])
            teacher.visual.merger = torch.nn.Linear(64, 32)
            self.teacher = teacher
            """
        ),
    )

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """On FSDP2, and on the module inside a wrapper, a replaced method is called as before."""
        if late.trait("effect") not in ("method", "forward"):
            return ()
        return ("harmless",) if late.trait("on_view") else ("inner-harmless", "harmless")


class PatchAfterOptimizer(PatchRule):
    """A recipe patch runs after the optimizer was built.

    ## What it does
    Reports a patch of the model that runs after an optimizer was built over it. It is an error where the patch puts in
    new modules, otherwise a note.

    ## Why it is bad
    On every backend the parameters that the patch adds are not in the optimizer and never move; the ones that it
    throws away are still there. A replaced method or forward is harmless.

    ## Known limits
    Where the new parameters are handed over with `add_param_group`, the rule still reports the patch. An optimizer
    that is built again afterwards settles the matter.

    ## Example
    ```python
    def setup(cfg):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        model.lm_head = torch.nn.Linear(cfg.width, cfg.classes)
        return model, optimizer
    ```

    ## Use instead
    ```python
    def setup(cfg):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        model.lm_head = torch.nn.Linear(cfg.width, cfg.classes)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        return model, optimizer
    ```

    ## Fix safety
    Shown only: an optimizer with other parameters no longer loads the states saved so far. Move the patch above the
    line that builds the optimizer.

    ## Source
    Measured with torch 2.13 and transformers 5.24 on a tiny Qwen3-VL: a module swap after the optimizer, by ids of
    parameters.
    """

    code = "RL112"
    name = "patch-after-optimizer"
    severity = Severity.error
    bad = (
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                model.lm_head = torch.nn.Linear(cfg.width, cfg.classes)  # expect: RL112
                return model, optimizer
            """
        ),
    )
    good = (
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                model.lm_head = torch.nn.Linear(cfg.width, cfg.classes)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                return model, optimizer
            """
        ),
        # The optimizer is built again behind the patch.
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                model.lm_head = torch.nn.Linear(cfg.width, cfg.classes)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                return model, optimizer
            """
        ),
        # A flag is no module.
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                model.config.use_cache = False
                return model, optimizer
            """
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where the optimizer is built again afterwards."""
        return late.trait("effect") != "" and not rebuilt(early, late, subject)

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """Only new modules bring parameters."""
        return () if late.trait("effect") in ("structural", "unknown") else ("harmless",)
