"""Order of the freeze policy against the steps that rename parameters or bring new ones."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from ..samples import engine, script
from .edge import EdgeRule
from .relations import (
    alternates,
    overlaps,
)


class FreezeAfterCheckpointing(EdgeRule):
    """The freeze policy runs after gradient checkpointing was switched on.

    ## What it does
    Reports a freeze that runs after a checkpointing call on the same part of the model.

    ## Why it is bad
    With Hugging Face checkpointing it is harmless on every backend. Checkpoint wrappers, as the kit's `mode="custom"`
    puts in, add `_checkpoint_wrapped_module` to the names of parameters, so a policy by prefixes stops matching.

    ## Known limits
    LLaMA-Factory and axolotl switch checkpointing on first, on purpose. The rule does not tell a wrapping mode from
    the Hugging Face one: both are a note.

    ## Example
    ```python
    model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
    model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)
    ```

    ## Use instead
    ```python
    model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)
    model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
    ```

    ## Fix safety
    Shown only: with wrappers, what trains may change. Move the policy above the checkpointing call.

    ## Source
    Measured with torch 2.13: `checkpoint_wrapper` changes the names in `named_parameters()`, not those in
    `state_dict()`. The kit's contract for the order.
    """

    code = "RL115"
    name = "freeze-after-checkpointing"
    severity = Severity.info
    bad = (
        engine(
            """
            model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
            model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)  # expect: RL115
            """
        ),
    )
    good = (
        engine(
            """
            model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)
            model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
            """
        ),
        # One part is checkpointed, another frozen.
        engine(
            """
            model.language_model.gradient_checkpointing_enable()
            model.visual.requires_grad_(False)
            """
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where a training step switches gradients off and on again."""
        return overlaps(early.path, late.path) and not alternates(late, subject, early.index)


class FreezeAfterAdapter(EdgeRule):
    """A freeze of everything, or one by prefixes, runs after the adapter was added.

    ## What it does
    Reports a freeze that runs after `get_peft_model`, `add_adapter` or the like and either clears `requires_grad` on
    every parameter or chooses parameters by prefixes.

    ## Why it is bad
    The backend makes no difference. A freeze of everything takes the adapter along, and nothing is left to train. A
    freeze by prefixes matches nothing any more, because the adapter puts `base_model.model.` in front of every name.

    ## Known limits
    A policy that spares names with `lora`, and a freeze that a later unfreeze corrects, are not reported. Whether a
    prefix was written for the new names is not checked.

    ## Example
    ```python
    def setup(cfg, lora):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        model = get_peft_model(model, lora)
        model = prepare_model_for_kbit_training(model)
        return model
    ```

    ## Use instead
    ```python
    def setup(cfg, lora):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        model = prepare_model_for_kbit_training(model)
        model = get_peft_model(model, lora)
        return model
    ```

    ## Fix safety
    Shown only: what trains will change. Move the freeze, or `prepare_model_for_kbit_training`, above the adapter.

    ## Source
    The peft documentation of `prepare_model_for_kbit_training` and of `get_peft_model`. Reports: huggingface/trl#4081,
    huggingface/transformers#26098, huggingface/peft#2299.
    """

    code = "RL120"
    name = "freeze-after-adapter"
    severity = Severity.error
    bad = (
        script(
            """
            def setup(cfg, lora):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                model = get_peft_model(model, lora)
                model = prepare_model_for_kbit_training(model)  # expect: RL120
                return model
            """
        ),
        engine(
            """
            model = get_peft_model(model, self.config.model.lora)
            model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)  # expect: RL120
            """
        ),
    )
    good = (
        script(
            """
            def setup(cfg, lora):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                model = prepare_model_for_kbit_training(model)
                model = get_peft_model(model, lora)
                return model
            """
        ),
        # The adapter is spared.
        script(
            """
            def setup(cfg, lora):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                model = get_peft_model(model, lora)
                for name, parameter in model.named_parameters():
                    if "lora_" not in name:
                        parameter.requires_grad = False
                return model
            """
        ),
        # The base model is frozen, the reference model is another one.
        script(
            """
            def setup(cfg, lora):
                reference = AutoModelForCausalLM.from_pretrained(cfg.path)
                model = get_peft_model(AutoModelForCausalLM.from_pretrained(cfg.path), lora)
                reference.requires_grad_(False)
                return model, reference
            """
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:  # noqa: ARG002
        """Only a freeze that takes the adapters with it, or whose names no longer match."""
        if late.trait("kind") != "freeze":
            return False
        if any(
            e.trait("kind") == "unfreeze" and e.object == late.object and e.index > late.index
            for e in subject.trace.of("freeze")
        ):
            return False
        tests = late.trait("name_tests")
        by_prefix = late.form == "kit" or (
            isinstance(tests, tuple) and any("startswith" in str(t) and "lora" not in str(t).lower() for t in tests)
        )
        whole = late.trait("covers") == "all" or late.path in (("base_model",), ("base_model", "model"))
        return whole or (bool(late.trait("by_name")) and by_prefix)
