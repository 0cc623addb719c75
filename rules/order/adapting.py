"""Order of adapters."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from ..samples import script
from .edge import EdgeRule
from .relations import (
    rebuilt,
)


class AdapterAfterCompile(EdgeRule):
    """The adapter is added after the model was compiled.

    ## What it does
    Reports `get_peft_model`, `add_adapter`, `load_adapter` or the like that runs after a compile of the same model.

    ## Why it is bad
    The adapter replaces modules. After an in-place compile that has not run yet this is harmless; where it has run,
    the graph is compiled again. After `torch.compile(model)` the wrapper is adapted instead of the model, and every
    name and key of the adapter carries `_orig_mod`. The backend makes no difference.

    ## Known limits
    Switching between adapters for inference on a compiled model is done on purpose, and looks the same. Whether the
    model has run is not known.

    ## Example
    ```python
    def setup(cfg, lora):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        model = torch.compile(model)
        model = get_peft_model(model, lora)
        return model
    ```

    ## Use instead
    ```python
    def setup(cfg, lora):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        model = get_peft_model(model, lora)
        model = torch.compile(model)
        return model
    ```

    ## Fix safety
    Shown only: names and keys may change. Move the adapter above the compile call.

    ## Source
    The peft documentation on `torch.compile`, which warns that adapters loaded or switched later can trouble it; the
    PyTorch documentation of `torch.compile` on recompilation.
    """

    code = "RL121"
    name = "adapter-after-compile"
    severity = Severity.warning
    bad = (
        script(
            """
            def setup(cfg, lora):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                model = torch.compile(model)
                model = get_peft_model(model, lora)  # expect: RL121
                return model
            """
        ),
    )
    good = (
        script(
            """
            def setup(cfg, lora):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                model = get_peft_model(model, lora)
                model = torch.compile(model)
                return model
            """
        ),
        # The reference model is compiled, the trained one adapted.
        script(
            """
            def setup(cfg, lora):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                reference = torch.compile(copy.deepcopy(model))
                model = get_peft_model(model, lora)
                return model, reference
            """
        ),
    )


class AdapterAfterParallelize(EdgeRule):
    """The adapter is added after the wrapping for distributed training.

    ## What it does
    Reports an adapter that is added after the same model was wrapped or sharded.

    ## Why it is bad
    - DDP: the adapter's parameters are made behind the wrapper and are never reduced. A module swapped in that way
      raised RuntimeError on step two; with two ranks and the rest frozen there was no error, and the ranks diverged.
    - FSDP2: plain tensors stand among DTensors; clipping or a foreach update raises, or the ranks
      diverge.

    ## Known limits
    The figures come from swapping a module in, not from peft itself. Adapters that are merged or switched, rather than
    added, look the same.

    ## Example
    ```python
    def setup(cfg, lora):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        model = DistributedDataParallel(model)
        model = get_peft_model(model, lora)
        return model
    ```

    ## Use instead
    ```python
    def setup(cfg, lora):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        model = get_peft_model(model, lora)
        model = DistributedDataParallel(model)
        return model
    ```

    ## Fix safety
    Shown only: what the ranks reduce will change. Move the adapter above the wrapping.

    ## Source
    Measured with torch 2.13 on a tiny Qwen3-VL, one and two gloo ranks: a module put in after parallelize. The peft
    documentation on FSDP, whose script adds the adapter before the model is wrapped.
    """

    code = "RL122"
    name = "adapter-after-parallelize"
    severity = Severity.error
    bad = (
        script(
            """
            def setup(cfg, lora):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                model = DistributedDataParallel(model)
                model = get_peft_model(model, lora)  # expect: RL122
                return model
            """
        ),
    )
    good = (
        script(
            """
            def setup(cfg, lora):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                model = get_peft_model(model, lora)
                model = DistributedDataParallel(model)
                return model
            """
        ),
        # The frozen reference is wrapped, the trained model adapted.
        script(
            """
            def setup(cfg, lora, mesh):
                reference = AutoModelForCausalLM.from_pretrained(cfg.path)
                fully_shard(reference, mesh=mesh)
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                model = get_peft_model(model, lora)
                return model, reference
            """
        ),
    )


class AdapterAfterOptimizer(EdgeRule):
    """The adapter is added after the optimizer was built.

    ## What it does
    Reports an adapter that is added after an optimizer was built over the same model.

    ## Why it is bad
    On every backend the adapter's parameters are not in the optimizer and never move, while the adapter has frozen the
    base model: nothing trains, and no error says so.

    ## Known limits
    Where the new parameters are handed over with `add_param_group`, the rule still reports the adapter. An optimizer
    that is built again afterwards settles the matter.

    ## Example
    ```python
    def setup(cfg, lora):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        model = get_peft_model(model, lora)
        return model, optimizer
    ```

    ## Use instead
    ```python
    def setup(cfg, lora):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        model = get_peft_model(model, lora)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        return model, optimizer
    ```

    ## Fix safety
    Shown only: training begins to have an effect. Move the adapter above the line that builds the optimizer.

    ## Source
    Measured with torch 2.13 on a tiny Qwen3-VL: a module put in after the optimizer, by ids of parameters. The peft
    documentation of `get_peft_model`, which freezes the base model.
    """

    code = "RL123"
    name = "adapter-after-optimizer"
    severity = Severity.error
    bad = (
        script(
            """
            def setup(cfg, lora):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                model = get_peft_model(model, lora)  # expect: RL123
                return model, optimizer
            """
        ),
    )
    good = (
        script(
            """
            def setup(cfg, lora):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                model = get_peft_model(model, lora)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                return model, optimizer
            """
        ),
        # Full tuning first, then adapters with an optimizer of their own.
        script(
            """
            def setup(cfg, lora, warm_up):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                warm_up(model, optimizer, cfg.warm_up_steps)
                model = get_peft_model(model, lora)
                optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=cfg.lr)
                return model, optimizer
            """
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where the optimizer is built again afterwards."""
        return not rebuilt(early, late, subject)
