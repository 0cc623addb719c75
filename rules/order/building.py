"""Order of the optimizer and of kernel patches."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from ..samples import engine, script
from .edge import EdgeRule
from .relations import (
    rebuilt,
)


class OptimizerBeforeParallelize(EdgeRule):
    """The optimizer is built before the model is wrapped for distributed training.

    ## What it does
    Reports an optimizer over a model's parameters that is built before that model is wrapped or sharded. The line that
    builds the optimizer is flagged.

    ## Why it is bad
    - FSDP1 and FSDP2 (error): sharding replaces the parameters and the optimizer keeps the old ones. It held 64 dead
      tensors, nothing changed in three steps, with one rank and with two, and no error was raised.
    - DDP (note): it keeps the tensors; measured harmless.

    ## Known limits
    The Hugging Face Trainer and accelerate build the optimizer first and remap it: where model and optimizer go
    through one `prepare`, or the optimizer is built again behind the wrapping, nothing is reported. Where an
    accelerator prepares the model alone, its own configuration decides, and the finding says "may".

    ## Example
    ```python
    def setup(cfg, mesh):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        return model, optimizer
    ```

    ## Use instead
    ```python
    def setup(cfg, mesh):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        return model, optimizer
    ```

    ## Fix safety
    Shown only: training begins to have an effect. Move the line that builds the optimizer below the last sharding
    call.

    ## Source
    Measured with torch 2.13 on a tiny Qwen3-VL, one and two gloo ranks: ids in the parameter groups and changed
    values. Reports: intelligent-machine-learning/dlrover#585, Lightning-Universe/lightning-GPT#17,
    facebookresearch/fairscale#423.
    """

    code = "RL118"
    name = "optimizer-before-parallelize"
    severity = Severity.error
    bad = (
        script(
            """
            def setup(cfg, mesh):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)  # expect: RL118
                for layer in model.layers:
                    fully_shard(layer, mesh=mesh)
                fully_shard(model, mesh=mesh)
                return model, optimizer
            """
        ),
    )
    good = (
        script(
            """
            def setup(cfg, mesh):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                for layer in model.layers:
                    fully_shard(layer, mesh=mesh)
                fully_shard(model, mesh=mesh)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                return model, optimizer
            """
        ),
        # One prepare for both: the accelerator remaps the optimizer.
        script(
            """
            def setup(cfg):
                accelerator = Accelerator()
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                model, optimizer = accelerator.prepare(model, optimizer)
                return model, optimizer
            """
        ),
        # The optimizer is built again behind the sharding.
        script(
            """
            def setup(cfg, mesh):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                fully_shard(model, mesh=mesh)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                return model, optimizer
            """
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where both then go through one ``prepare``, nor where the optimizer is built again afterwards."""
        prepared = late.trait("prepares")
        if isinstance(prepared, tuple) and early.trait("optimizer") in prepared:
            return False
        return not rebuilt(early, late, subject)


class KernelPatchAfterBuild(EdgeRule):
    """Kernels are patched after the model was built.

    ## What it does
    Reports `LigerKernelKit.apply` or an `apply_liger_kernel_to_*` function that runs after a model was built and
    before no other.

    ## Why it is bad
    The patch swaps classes and functions in the modelling module. Layers that exist already keep the old class, so the
    model is patched in part, or not at all: it runs, slower or with more memory than expected. The backend makes no
    difference.

    ## Known limits
    With `model=` the Liger functions patch that one instance, at any time; such a call is not reported. Which model
    class a patch is meant for is not checked, so a patch for another family is reported too.

    ## Example
    ```python
    def setup(cfg):
        model = AutoModelForImageTextToText.from_pretrained(cfg.path)
        apply_liger_kernel_to_qwen2_vl()
        model.gradient_checkpointing_enable()
        return model
    ```

    ## Use instead
    ```python
    def setup(cfg):
        apply_liger_kernel_to_qwen2_vl()
        model = AutoModelForImageTextToText.from_pretrained(cfg.path)
        model.gradient_checkpointing_enable()
        return model
    ```

    ## Fix safety
    Shown only: other kernels will run. Move the patch above the line that builds the model.

    ## Source
    Reports: linkedin/Liger-Kernel#170, linkedin/Liger-Kernel#199, huggingface/transformers#33502.
    """

    code = "RL119"
    name = "kernel-patch-after-build"
    severity = Severity.warning
    same_object = False
    bad = (
        script(
            """
            def setup(cfg):
                model = AutoModelForImageTextToText.from_pretrained(cfg.path)
                apply_liger_kernel_to_qwen2_vl()  # expect: RL119
                model.gradient_checkpointing_enable()
                return model
            """
        ),
        engine('self.kernel_kit.apply("qwen3_vl")  # expect: RL119'),
    )
    good = (
        script(
            """
            def setup(cfg):
                apply_liger_kernel_to_qwen2_vl()
                model = AutoModelForImageTextToText.from_pretrained(cfg.path)
                model.gradient_checkpointing_enable()
                return model
            """
        ),
        # This call patches the instance.
        script(
            """
            def setup(cfg):
                model = AutoModelForImageTextToText.from_pretrained(cfg.path)
                apply_liger_kernel_to_qwen2_vl(model=model)
                model.gradient_checkpointing_enable()
                return model
            """
        ),
        # The patch is for the model that comes next.
        script(
            """
            def setup(cfg):
                judge = AutoModelForCausalLM.from_pretrained(cfg.judge)
                apply_liger_kernel_to_qwen2_vl()
                model = AutoModelForImageTextToText.from_pretrained(cfg.path)
                model.gradient_checkpointing_enable()
                return model, judge
            """
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where a model is built afterwards: the patch is for that one."""
        return not any(
            load.index > late.index and late.guard.meets(load.guard) for load in subject.trace.of(early.step)
        )
