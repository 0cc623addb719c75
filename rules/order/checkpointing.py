"""Order of gradient checkpointing."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from ..samples import engine, script
from .edge import EdgeRule


class CheckpointingAfterCompile(EdgeRule):
    """Gradient checkpointing is switched on after the model was compiled.

    ## What it does
    Reports `apply_gradient_checkpointing`, `gradient_checkpointing_enable` or a checkpoint wrapper that runs after a
    compile of the same model.

    ## Why it is bad
    It is harmless, or nearly so, on every backend. After an in-place compile that has not run yet the graph was
    measured to hold the checkpoint op as it should; where the model had already run, one more graph is compiled.

    ## Known limits
    torchtune, and open_clip with FSDP, compile before they checkpoint, on purpose. The rule does not know whether the
    compiled model has run in between.

    ## Example
    ```python
    model = self.model_kit.apply_model_compile(model, backend="inductor")
    model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
    ```

    ## Use instead
    ```python
    model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
    model = self.model_kit.apply_model_compile(model, backend="inductor")
    ```

    ## Fix safety
    Shown only: the compiled graph may change. Move the checkpointing call above the compile call.

    ## Source
    Measured with torch 2.13 and transformers 5.24 on a tiny Qwen3-VL: checkpointing after an in-place compile.
    """

    code = "RL113"
    name = "checkpointing-after-compile"
    severity = Severity.info
    bad = (
        engine(
            """
            model = self.model_kit.apply_model_compile(model, backend="inductor")
            model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)  # expect: RL113
            """
        ),
    )
    good = (
        engine(
            """
            model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
            model = self.model_kit.apply_model_compile(model, backend="inductor")
            """
        ),
        # One or the other, never both.
        engine(
            """
            if self.config.model.compile.enabled:
                model = self.model_kit.apply_model_compile(model, backend="inductor")
            else:
                model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
            """
        ),
    )


class CheckpointingAfterParallelize(EdgeRule):
    """Gradient checkpointing is switched on after the wrapping for distributed training.

    ## What it does
    Reports a checkpointing call that runs after the same model went through DDP, FSDP, `fully_shard`,
    `parallelize_model` or a tensor-parallel call.

    ## Why it is bad
    - DDP (error): the wrapper has no `gradient_checkpointing_enable`, so the kit raises AttributeError. Through
      `model.module` it works, and is told as a note.
    - FSDP2 with `mode="custom"` (error): it wraps nothing, because `fully_shard` changes the class names it goes by.
    - FSDP2 with the Hugging Face mode (warning): measured harmless; the order is a convention.

    ## Known limits
    PyTorch's own FSDP1 recipe shards first and then calls `apply_activation_checkpointing`; that pair is not reported.
    A mode that comes from the configuration counts as the Hugging Face mode.

    ## Example
    ```python
    model = DistributedDataParallel(model, device_ids=[self.local_rank])
    model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
    ```

    ## Use instead
    ```python
    model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
    model = DistributedDataParallel(model, device_ids=[self.local_rank])
    ```

    ## Fix safety
    Shown only: memory and speed change where checkpointing begins to work. Move the checkpointing call, with its gate,
    above the wrapping.

    ## Source
    Measured with torch 2.13 and transformers 5.24 on a tiny Qwen3-VL: checkpointing after parallelize, counted by
    calls of a block in backward. Reports: bghira/SimpleTuner#972, huggingface/accelerate#1732.
    """

    code = "RL114"
    name = "checkpointing-after-parallelize"
    severity = Severity.error
    bad = (
        engine(
            """
            model = DistributedDataParallel(model, device_ids=[self.local_rank])
            model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)  # expect: RL114
            """
        ),
        engine(
            """
            model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
            model = self.model_kit.apply_gradient_checkpointing(  # expect: RL114
                model, mode="custom", target_modules=["Qwen3VLTextModel:layers"]
            )
            """,
            shard=8,
        ),
    )
    good = (
        engine(
            """
            model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
            model = DistributedDataParallel(model, device_ids=[self.local_rank])
            """
        ),
        # The order that PyTorch documents for FSDP1.
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                model = FullyShardedDataParallel(model, use_orig_params=True)
                apply_activation_checkpointing(model)
                return model
            """
        ),
        # Another model, which is not wrapped.
        engine(
            """
            encoder = AutoModelForCausalLM.from_pretrained(self.config.model.encoder)
            model = DistributedDataParallel(model, device_ids=[self.local_rank])
            encoder.gradient_checkpointing_enable()
            self.encoder = encoder
            """
        ),
    )

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
    """Gradient checkpointing is switched on after the optimizer was built.

    ## What it does
    Reports a checkpointing call that runs after an optimizer was built over the same model's parameters.

    ## Why it is bad
    It is harmless on every backend: checkpointing keeps the parameter tensors that the optimizer holds. The protocol
    builds the optimizer last.

    ## Known limits
    The Hugging Face Trainer and accelerate with FSDP2 do it in this order on purpose. Checkpoint wrappers change
    parameter names, which matters to parameter groups that are chosen by name; the rule does not look at those.

    ## Example
    ```python
    def setup(cfg):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        model.gradient_checkpointing_enable()
        return model, optimizer
    ```

    ## Use instead
    ```python
    def setup(cfg):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        model.gradient_checkpointing_enable()
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        return model, optimizer
    ```

    ## Fix safety
    Shown only: it changes nothing at run time. Move the checkpointing call above the line that builds the optimizer.

    ## Source
    The kit's contract: checkpoint, compile, wrap, then build the optimizer. The transformers documentation of
    `gradient_checkpointing_enable`, which sets flags on modules and leaves parameters alone.
    """

    code = "RL127"
    name = "checkpointing-after-optimizer"
    severity = Severity.info
    bad = (
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                model.gradient_checkpointing_enable()  # expect: RL127
                return model, optimizer
            """
        ),
    )
    good = (
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                model.gradient_checkpointing_enable()
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                return model, optimizer
            """
        ),
        # The optimizer holds the head alone, which is another module.
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                head = torch.nn.Linear(cfg.width, cfg.classes)
                optimizer = torch.optim.AdamW(head.parameters(), lr=cfg.lr)
                model.gradient_checkpointing_enable()
                return model, head, optimizer
            """
        ),
    )
