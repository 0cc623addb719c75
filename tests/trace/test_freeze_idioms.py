"""Freezing in all the forms it has, and what reads ``requires_grad`` without freezing."""

from __future__ import annotations

import pytest

from .project import UPCAST, Write, engine, said, traits, when

BUILD = 'model = self.model_kit.build_model("path")\n'


def test_the_kit_with_flags_from_the_configuration(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    model = self.model_kit.apply_freeze_policy(
        model,
        freeze_vit=self.config.model.freeze_vit,
        freeze_projector=self.config.model.freeze_projector,
        freeze_llm=self.config.model.freeze_llm,
    )
    return model
    """
    recipe = write(engine(body))
    assert recipe.steps() == ["load kit model", "freeze kit model", "optimizer kit model"]
    assert when(recipe.trace())[1] == ("freeze", ())
    assert recipe.found == []


LOCAL = """
def apply_freeze_policy(model, freeze_vit, freeze_llm):
    trainable = frozen = 0
    for name, parameter in model.named_parameters():
        if freeze_vit and name.startswith("model.visual."):
            parameter.requires_grad = False
        if freeze_llm and name.startswith("model.language_model."):
            parameter.requires_grad = False
        if parameter.requires_grad:
            trainable += parameter.numel()
        else:
            frozen += parameter.numel()
    return trainable, frozen
"""


def test_a_local_function_of_the_kit_method_s_name_returns_counts(write: Write) -> None:
    body = BUILD + "apply_freeze_policy(model, self.config.model.freeze_vit, True)\nreturn parallelize_model(model)"
    recipe = write({"engine.py": engine(body, head="from policy import apply_freeze_policy"), "policy.py": LOCAL})
    trace = recipe.trace()
    assert said(trace) == [
        "load kit model",
        "freeze direct model",
        "freeze direct model",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert traits(trace, "freeze", "by_name") == [True, True]
    assert when(trace)[1:3] == [("freeze", ("model.freeze_vit",)), ("freeze", ())]
    assert recipe.found == []


def test_the_local_function_after_the_wrapping(write: Write) -> None:
    body = (
        BUILD + "wrapped = parallelize_model(model)\napply_freeze_policy(wrapped, True, True)  #! RL103\nreturn wrapped"
    )
    recipe = write({"engine.py": engine(body, head="from policy import apply_freeze_policy"), "policy.py": LOCAL})
    assert recipe.found == recipe.marks


INLINE = """
if self.config.model.freeze_vision_encoder:
    for parameter in model.visual.parameters():
        parameter.requires_grad = False
if self.config.model.freeze_merger:
    for name, parameter in model.visual.named_parameters():
        if "_a." in name:
            parameter.requires_grad_(False)
if self.config.model.freeze_llm:
    model.language_model.requires_grad_(False)
"""


def test_inline_loops_for_each_submodule_under_one_if_for_each_flag(write: Write) -> None:
    recipe = write(engine(BUILD + INLINE + "return parallelize_model(model)"))
    trace = recipe.trace()
    assert said(trace) == [
        "load kit model",
        "freeze direct model.visual",
        "freeze direct model.visual",
        "freeze direct model.language_model",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert when(trace)[1:4] == [
        ("freeze", ("model.freeze_vision_encoder",)),
        ("freeze", ("model.freeze_merger",)),
        ("freeze", ("model.freeze_llm",)),
    ]
    assert traits(trace, "freeze", "by_name") == [False, True, False]
    assert recipe.found == []


def test_inline_loops_after_the_wrapping(write: Write) -> None:
    recipe = write(
        engine(
            """
            model = self.model_kit.build_model("path")
            wrapped = parallelize_model(model)
            if self.config.model.freeze_vision_encoder:
                for parameter in wrapped.module.visual.parameters():
                    parameter.requires_grad = False  #! RL103
            return wrapped
            """
        )
    )
    assert recipe.found == recipe.marks
    assert recipe.finding("RL103").conditions == ("model.freeze_vision_encoder",)


def test_a_freeze_in_the_constructor_that_a_patch_calls(write: Write) -> None:
    patch = """
    import torch

    class Tower(torch.nn.Module):
        def __init__(self, frozen):
            super().__init__()
            self.encoder = torch.nn.Linear(4, 4)
            if frozen:
                for parameter in self.encoder.parameters():
                    parameter.requires_grad = False

    def swap(model, frozen):
        model.model.visual = Tower(frozen)
        return model
    """
    body = BUILD + "model = self.model_kit.apply_model_patches(model, [partial(swap, frozen=True)])\nreturn model"
    recipe = write({"engine.py": engine(body, head="from patch import swap"), "patch.py": patch})
    assert recipe.steps() == ["load kit model", "freeze direct encoder", "patch kit model", "optimizer kit model"]
    assert recipe.found == []


def test_an_unconditional_freeze_without_a_flag(write: Write) -> None:
    body = BUILD + "for p in model.parameters():\n    p.requires_grad = False\nreturn model"
    trace = write(engine(body)).trace()
    assert said(trace) == ["load kit model", "freeze direct model", "optimizer kit model"]
    assert traits(trace, "freeze", "covers") == ["all"]
    assert when(trace)[1] == ("freeze", ())


def test_a_teacher_s_freeze_is_no_policy_of_the_trained_model(write: Write) -> None:
    recipe = write(
        engine(
            """
            model = self.model_kit.build_model("path")
            self.teacher = deepcopy(model)
            wrapped = parallelize_model(model)
            for parameter in self.teacher.parameters():
                parameter.requires_grad = False
            return wrapped
            """
        )
    )
    assert recipe.steps() == ["load kit model", "parallelize kit model", "freeze direct teacher", "optimizer kit model"]
    assert recipe.found == []


READERS = {
    "upcast": UPCAST,
    "count": "n = sum(p.numel() for p in model.parameters() if p.requires_grad)\n",
    "count in a loop": "n = 0\nfor p in model.parameters():\n    if p.requires_grad:\n        n += p.numel()\n",
    "names": "names = [n for n, p in model.named_parameters() if p.requires_grad]\n",
    "filter": "params = list(filter(lambda p: p.requires_grad, model.parameters()))\n",
    "any": "assert any(p.requires_grad for p in model.parameters())\n",
    "not": "frozen = all(not p.requires_grad for p in model.parameters())\n",
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_reading_requires_grad_freezes_nothing(write: Write, reader: str) -> None:
    trace = write(engine(BUILD + reader + "return model")).trace()
    assert list(trace.of("freeze")) == []


@pytest.mark.parametrize("name", [name for name in READERS if name != "upcast"])
def test_reading_after_the_wrapping_and_the_optimizer_is_no_fault(write: Write, name: str) -> None:
    recipe = write(engine(BUILD + "model = parallelize_model(model)\n" + READERS[name] + "return model"))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


def test_two_flags_over_one_group_are_two_events(write: Write) -> None:
    recipe = write(
        engine(
            """
            model = self.model_kit.build_model("path")
            if self.config.model.freeze_vit or self.config.model.freeze_vision_encoder:
                model.visual.requires_grad_(False)
            if self.config.model.freeze_vit:
                model.visual.requires_grad_(False)
            return model
            """
        )
    )
    trace = recipe.trace()
    assert when(trace)[1:3] == [("freeze", ()), ("freeze", ("model.freeze_vit",))]
    early, late = trace.of("freeze")
    assert late.guard.implies(early.guard)
    assert not early.guard.always


def test_an_overlap_inside_one_condition(write: Write) -> None:
    recipe = write(
        engine(
            """
            model = self.model_kit.build_model("path")
            for name, parameter in model.named_parameters():
                if name.startswith("model.visual.") or any(part in name for part in MERGER):
                    parameter.requires_grad = False
            return model
            """,
            head='MERGER = ("merger", "deepstack")',
        )
    )
    trace = recipe.trace()
    assert said(trace) == ["load kit model", "freeze direct model", "optimizer kit model"]
    assert traits(trace, "freeze", "by_name") == [True]
    assert when(trace)[1] == ("freeze", ())


def test_prefixes_are_walked_to_the_freeze(write: Write) -> None:
    body = BUILD + 'model = self.model_kit.apply_freeze_policy(model, freeze_vit=True, vit_prefixes="model.visual.")\n'
    recipe = write(engine(body + "return model"))
    (event,) = recipe.trace().of("freeze")
    assert event.form == "kit"
    assert 'vit_prefixes="model.visual."' in event.call


@pytest.mark.parametrize(
    ("value", "kind"),
    [("False", "freeze"), ("True", "unfreeze"), ("not self.config.model.freeze", "policy")],
)
def test_what_is_assigned_says_what_kind_of_step_it_is(write: Write, value: str, kind: str) -> None:
    body = BUILD + f"for p in model.parameters():\n    p.requires_grad = {value}\nreturn model"
    assert traits(write(engine(body)).trace(), "freeze", "kind") == [kind]


def test_a_policy_by_a_test_of_the_name(write: Write) -> None:
    body = BUILD + "for n, p in model.named_parameters():\n    p.requires_grad = 'head' in n\nreturn model"
    trace = write(engine(body)).trace()
    assert traits(trace, "freeze", "kind") == ["policy"]


def test_an_attribute_on_a_module_and_one_on_data_freeze_nothing(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    model.visual.requires_grad = False
    for parameter in model.parameters():
        parameter.data.requires_grad = False
    return model
    """
    trace = write(engine(body)).trace()
    assert list(trace.of("freeze")) == []
    assert len(list(trace.noted("attribute-freeze"))) == 1
    assert len(list(trace.noted("data-freeze"))) == 1


def test_modules_that_are_frozen_by_type(write: Write) -> None:
    recipe = write(
        engine(
            """
            model = self.model_kit.build_model("path")
            for module in model.modules():
                if isinstance(module, torch.nn.LayerNorm):
                    module.requires_grad_(False)
            return model
            """
        )
    )
    assert recipe.steps() == ["load kit model", "freeze direct model.*", "optimizer kit model"]
    assert traits(recipe.trace(), "freeze", "covers") == [""]
    assert recipe.found == []


def test_no_grad_and_eval_are_no_freeze(write: Write) -> None:
    body = (
        BUILD + "with torch.no_grad():\n    model.eval()\nmodel = parallelize_model(model)\nmodel.train()\nreturn model"
    )
    recipe = write(engine(body))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


# -- order of the freeze


def test_a_freeze_after_checkpointing_in_custom_mode(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    model = self.model_kit.apply_gradient_checkpointing(model, mode="custom", target_modules=["Block:mlp"])
    model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)  #! RL115
    return model
    """
    recipe = write(engine(body))
    assert recipe.found == recipe.marks
    assert traits(recipe.trace(), "checkpointing", "mode") == ["custom"]
    assert traits(recipe.trace(), "freeze", "by_name") == [True]


KIT = "model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)"
LATE = {
    "upcast": (UPCAST.rstrip(), "RL105"),
    "checkpointing": ("model = self.model_kit.apply_gradient_checkpointing(model)", "RL115"),
    "compile": ("model = self.model_kit.apply_model_compile(model)", "RL104"),
    "parallelize": ("model = parallelize_model(model)", "RL103"),
    "adapter": ("model = get_peft_model(model, lora)", "RL120"),
}


@pytest.mark.parametrize(("step", "code"), LATE.values(), ids=LATE)
def test_the_freeze_in_front_of_each_later_step_and_behind_it(write: Write, step: str, code: str) -> None:
    head = "from peft import get_peft_model"
    right = write({"right.py": engine(BUILD + KIT + "\n" + step + "\nreturn model", head=head)})
    assert right.found == []


@pytest.mark.parametrize(("step", "code"), LATE.values(), ids=LATE)
def test_the_freeze_behind_each_later_step(write: Write, step: str, code: str) -> None:
    if code == "RL105":
        first, *rest = step.splitlines()
        body = BUILD + "\n".join([first + "  #! RL105", *rest, KIT])
    else:
        body = BUILD + step + "\n" + KIT + f"  #! {code}"
    recipe = write(engine(body + "\nreturn model", head="from peft import get_peft_model"))
    assert recipe.found == recipe.marks
