"""Order of the upcast of trainable parameters against the steps that need it done."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from ..samples import engine, script
from .edge import EdgeRule
from .relations import (
    in_training_step,
    overlaps,
    rebuilt,
)


class UpcastBeforeFreeze(EdgeRule):
    """Parameters are cast to float32 before the freeze policy runs.

    ## What it does
    Reports an upcast of parameters to float32 that runs before a freeze of the same part of the model. The loop, or
    the cast, is the place that is flagged.

    ## Why it is bad
    It costs memory on every backend; the losses agree. Everything still requires a gradient at this point, so a loop
    that asks for `requires_grad` casts the whole model: 182,848 bytes instead of 117,216 on the tiny model, 32.7 GiB
    instead of 16.6 GiB for one of 8.77 B parameters.

    ## Known limits
    A model that is meant to be float32 throughout is reported too, where the cast goes through `.data`;
    `model.float()` is not seen. A dtype that comes from the configuration makes it a "may". An unfreeze, and a freeze
    during training, are not counted as the policy.

    ## Example
    ```python
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.to(torch.float32)
    model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)
    ```

    ## Use instead
    ```python
    model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.to(torch.float32)
    ```

    ## Fix safety
    Shown only: the frozen part changes its dtype. Move the loop below the freeze policy.

    ## Source
    Measured with torch 2.13 and transformers 5.24 on a tiny Qwen3-VL, bytes by dtype; the large figures are for the
    full architecture. Reports: Lorenzo-Mazza/VersatIL#5, huggingface/diffusers#6119, huggingface/diffusers#6553.
    """

    code = "RL105"
    name = "upcast-before-freeze"
    severity = Severity.warning
    bad = (
        engine(
            """
            for parameter in model.parameters():  # expect: RL105
                if parameter.requires_grad:
                    parameter.data = parameter.data.to(torch.float32)
            model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)
            """
        ),
    )
    good = (
        engine(
            """
            model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.data = parameter.data.to(torch.float32)
            """
        ),
        # A cast to bfloat16 is no upcast.
        engine(
            """
            for parameter in model.parameters():
                parameter.data = parameter.data.to(torch.bfloat16)
            model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)
            """
        ),
        # One part is cast, another frozen.
        engine(
            """
            for parameter in model.lm_head.parameters():
                parameter.data = parameter.data.float()
            model.visual.requires_grad_(False)
            """
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not for an unfreeze, nor for a freeze during training."""
        if late.trait("kind") == "unfreeze" or in_training_step(late, subject):
            return False
        return overlaps(early.path, late.path)


class UpcastAfterOptimizer(EdgeRule):
    """Parameters are cast to float32 after the optimizer was built.

    ## What it does
    Reports an upcast of parameters that runs after an optimizer was built over the same model. In a hook of the
    training step it is an error, before it a warning.

    ## Why it is bad
    The backend makes no difference. Swapping `p.data` before the first step works. After the first step the
    optimizer's state has the old dtype, and the next step raises RuntimeError (bfloat16 against float32). A new
    `Parameter` in the place of the old one is never updated, without a word.

    ## Known limits
    The rule does not know whether a step has run in between, other than by the hook. It sees casts through `.data`,
    not `model.float()` nor those that a library function makes. An optimizer over another part of the model, or one
    that is built again afterwards, makes no difference to it.

    ## Example
    ```python
    def setup(cfg):
        model = AutoModelForCausalLM.from_pretrained(cfg.path, torch_dtype=torch.bfloat16)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        for parameter in model.parameters():
            parameter.data = parameter.data.float()
        return model, optimizer
    ```

    ## Use instead
    ```python
    def setup(cfg):
        model = AutoModelForCausalLM.from_pretrained(cfg.path, torch_dtype=torch.bfloat16)
        for parameter in model.parameters():
            parameter.data = parameter.data.float()
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        return model, optimizer
    ```

    ## Fix safety
    Shown only: the numerics of the optimizer change. Move the loop above the line that builds the optimizer.

    ## Source
    Measured with torch 2.13 and transformers 5.24 on a tiny Qwen3-VL: upcast after optimizer, before and after the
    first step.
    """

    code = "RL106"
    name = "upcast-after-optimizer"
    severity = Severity.warning
    bad = (
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path, torch_dtype=torch.bfloat16)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                for parameter in model.parameters():  # expect: RL106
                    parameter.data = parameter.data.float()
                return model, optimizer
            """
        ),
        engine(
            "model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)",
            hooks="""
            def train_pre_step(self, ctx):
                if self.step == self.config.optim.float32_at:
                    for parameter in self.model.parameters():  # expect: RL106
                        if parameter.requires_grad:
                            parameter.data = parameter.data.float()
            """,
        ),
    )
    good = (
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path, torch_dtype=torch.bfloat16)
                for parameter in model.parameters():
                    parameter.data = parameter.data.float()
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                return model, optimizer
            """
        ),
        # A copy is cast, the optimizer holds the original.
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path, torch_dtype=torch.bfloat16)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                average = copy.deepcopy(model)
                for parameter in average.parameters():
                    parameter.data = parameter.data.float()
                return model, average, optimizer
            """
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where the optimizer is built again afterwards."""
        return not rebuilt(early, late, subject)

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """In a training step the optimizer has state of the old dtype."""
        return ("step",) if in_training_step(late, subject) else ()


class UpcastAfterParallelize(EdgeRule):
    """Parameters are cast to float32 after the wrapping for distributed training.

    ## What it does
    Reports an upcast of parameters that runs after the same part of the model was wrapped or sharded.

    ## Why it is bad
    - DDP: every gradient was representable in bfloat16, so precision is lost without a word. Of 12,896 gradient values
      none needed float32; in the right order 7,369 did.
    - FSDP2: the optimizer's step raises RuntimeError over mismatched dtypes.

    ## Known limits
    FSDP's own mixed precision makes the loop needless; the rule does not read that policy. Casts that a library makes
    are not seen. accelerate with FSDP2 casts before it shards, which is the right order.

    ## Example
    ```python
    model = DistributedDataParallel(model, device_ids=[self.local_rank])
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    ```

    ## Use instead
    ```python
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    model = DistributedDataParallel(model, device_ids=[self.local_rank])
    ```

    ## Fix safety
    Shown only: gradients change their precision. Move the loop above the wrapping, below the freeze policy.

    ## Source
    Measured with torch 2.13 and transformers 5.24 on a tiny Qwen3-VL, gloo: dtype of the gradients after one step.
    """

    code = "RL107"
    name = "upcast-after-parallelize"
    severity = Severity.error
    bad = (
        engine(
            """
            model = DistributedDataParallel(model, device_ids=[self.local_rank])
            for parameter in model.parameters():  # expect: RL107
                if parameter.requires_grad:
                    parameter.data = parameter.data.float()
            """
        ),
        engine(
            """
            model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
            for parameter in model.parameters():  # expect: RL107
                if parameter.requires_grad:
                    parameter.data = parameter.data.float()
            """,
            shard=8,
        ),
    )
    good = (
        engine(
            """
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.data = parameter.data.float()
            model = DistributedDataParallel(model, device_ids=[self.local_rank])
            """
        ),
        # A head that is not wrapped.
        engine(
            """
            head = copy.deepcopy(model.lm_head)
            model = DistributedDataParallel(model, device_ids=[self.local_rank])
            for parameter in head.parameters():
                parameter.data = parameter.data.float()
            self.head = head
            """
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:  # noqa: ARG002
        """Only where both touch the same part."""
        return overlaps(early.path, late.path)
