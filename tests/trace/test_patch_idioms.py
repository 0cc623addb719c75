"""Recipe patches, token-loss and FLOPs patches: what they are, what they do, and what only looks like one."""

from __future__ import annotations

import pytest

from .project import Write, engine, said, traits, unknown, when

BUILD = 'model = self.model_kit.build_model("path")\n'
FREEZE = "model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)\n"

PATCHES = """
import torch
from transformers import AutoModel

class Tower(torch.nn.Module):
    def __init__(self, path=None):
        super().__init__()
        self.blocks = torch.nn.ModuleList()

def swap_tower(model, path="tower"):
    model.model.visual = Tower(path)
    return model

def fast_patch_embed(model):
    model.model.visual.patch_embed.forward = fast_forward
    return model

def add_flops(model):
    model.calculate_model_flops = count_flops

def set_attention(model, config):
    if not config.context_parallel:
        return model
    for layer in model.model.layers:
        layer.attention_interface = long_attention
    return model

def global_patch():
    import some_library
    some_library.attention = fast_forward

def fast_forward(x):
    return x

def count_flops(tokens):
    return 6 * tokens

def long_attention(q, k, v):
    return q
"""
NAMES = "swap_tower, fast_patch_embed, add_flops, set_attention, global_patch"
HEAD = f"from patches import {NAMES}"


def patched(body: str, **more: str) -> dict[str, str]:
    return {"engine.py": engine(body, head=HEAD, **more), "patches.py": PATCHES}


# -- lists of patches


def test_a_literal_list(write: Write) -> None:
    body = BUILD + "model = self.model_kit.apply_model_patches(model, [swap_tower, fast_patch_embed])\nreturn model"
    recipe = write(patched(body))
    trace = recipe.trace()
    assert said(trace) == ["load kit model", "patch kit model", "patch kit model", "optimizer kit model"]
    assert traits(trace, "patch", "effect") == ["structural", "forward"]
    assert traits(trace, "patch", "paths") == [
        ((("model", "visual"), "structural"),),
        ((("model", "visual", "patch_embed", "forward"), "forward"),),
    ]
    assert recipe.found == []


def test_a_single_patch_without_a_list(write: Write) -> None:
    recipe = write(patched(BUILD + "return self.model_kit.apply_model_patches(model, add_flops)"))
    assert traits(recipe.trace(), "patch", "effect") == ["method"]


def test_a_patch_after_the_freeze(write: Write) -> None:
    body = BUILD + FREEZE + "model = self.model_kit.apply_model_patches(model, [swap_tower])  #! RL108\nreturn model"
    assert (recipe := write(patched(body))).found == recipe.marks


def test_a_list_in_a_variable_that_grows_under_an_if(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    patches = [fast_patch_embed]
    if self.config.model.swap:
        patches.append(partial(swap_tower, path=self.config.model.tower))
    model = self.model_kit.apply_model_patches(model, patches)
    return model
    """
    recipe = write(patched(body))
    trace = recipe.trace()
    assert traits(trace, "patch", "effect") == ["forward", "structural"]
    assert when(trace)[1:3] == [("patch", ()), ("patch", ("model.swap",))]
    # Below the same tower: what the first put in is gone with it.
    assert [f.code for f in recipe.findings] == ["RL117"]


def test_a_list_built_in_exclusive_branches(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    if self.config.model.swap:
        patches = [swap_tower, add_flops]
    else:
        patches = [fast_patch_embed, add_flops]
    return self.model_kit.apply_model_patches(model, patches)
    """
    recipe = write(patched(body))
    trace = recipe.trace()
    assert traits(trace, "patch", "effect") == ["structural", "method", "forward", "method"]
    assert [gate for _, gate in when(trace)[1:5]] == [("model.swap",)] * 2 + [("not model.swap",)] * 2
    assert recipe.found == []


def test_insert_at_the_front_in_the_else_arm(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    patches = [fast_patch_embed]
    if self.config.model.plain:
        pass
    else:
        patches.insert(0, swap_tower)
    return self.model_kit.apply_model_patches(model, patches)
    """
    recipe = write(patched(body))
    trace = recipe.trace()
    assert traits(trace, "patch", "effect") == ["structural", "forward"]
    assert when(trace)[1:3] == [("patch", ("not model.plain",)), ("patch", ())]
    assert recipe.found == []


@pytest.mark.parametrize(
    "grow",
    [
        "patches += [swap_tower]",
        "patches.extend([swap_tower])",
        "patches = patches + [swap_tower]",
        "patches = [*patches, swap_tower]",
        "patches = list(patches)\npatches.append(swap_tower)",
    ],
)
def test_list_order_is_patch_order(write: Write, grow: str) -> None:
    body = f"patches = [add_flops]\n{grow}\n" + BUILD + "return self.model_kit.apply_model_patches(model, patches)"
    assert traits(write(patched(body)).trace(), "patch", "effect") == ["method", "structural"]


def test_a_partial_that_swaps_the_tower(write: Write) -> None:
    swap = "model = self.model_kit.apply_model_patches(model, [partial(swap_tower, path='x')])"
    recipe = write(patched(BUILD + FREEZE + swap + "  #! RL108\nreturn model"))
    assert traits(recipe.trace(), "patch", "paths") == [((("model", "visual"), "structural"),)]
    assert recipe.found == recipe.marks


def test_a_list_at_the_top_of_the_module(write: Write) -> None:
    body = BUILD + FREEZE + "model = self.model_kit.apply_model_patches(model, PATCHES)  #! RL108\nreturn model"
    files = patched(body)
    files["engine.py"] = files["engine.py"].replace(
        HEAD, HEAD + "\n\nPATCHES = [add_flops, partial(swap_tower, path='x')]"
    )
    recipe = write(files)
    assert traits(recipe.trace(), "patch", "effect") == ["method", "structural"]
    assert recipe.found == recipe.marks


def test_a_lambda_in_the_list(write: Write) -> None:
    body = BUILD + FREEZE + "model = self.model_kit.apply_model_patches(model, [lambda m: swap_tower(m)])  #! RL108\n"
    assert (recipe := write(patched(body + "return model"))).found == recipe.marks


def test_a_method_of_the_engine_as_a_patch(write: Write) -> None:
    own = "def _swap(self, model):\n    model.model.visual = torch.nn.Linear(4, 4)\n    return model\n"
    body = BUILD + "model = self.model_kit.apply_model_patches(model, [self._swap])\nreturn model"
    assert traits(write(patched(body, methods=own)).trace(), "patch", "effect") == ["structural"]


def test_a_patch_that_is_not_in_the_project_may_do_anything(write: Write) -> None:
    head = "from elsewhere.patches import mystery"
    body = BUILD + FREEZE + "model = self.model_kit.apply_model_patches(model, [mystery])  #! RL108?\nreturn model"
    recipe = write({"engine.py": engine(body, head=head)})
    assert traits(recipe.trace(), "patch", "effect") == ["unknown"]
    assert recipe.found == recipe.marks
    assert len(unknown(recipe.trace())) == 1


# -- patches called one by one


def test_patches_called_one_by_one_in_a_builder(write: Write) -> None:
    build = """
    from transformers import AutoModelForImageTextToText
    from patches import swap_tower, fast_patch_embed

    def build(path):
        model = AutoModelForImageTextToText.from_pretrained(path)
        swap_tower(model)
        fast_patch_embed(model)
        return model
    """
    files = patched("return build('path')") | {"builder.py": build}
    files["engine.py"] = engine("return build('path')", head="from builder import build")
    recipe = write(files)
    assert recipe.steps() == [
        "load direct model",
        "patch recipe model.model",
        "patch recipe model.model.visual.patch_embed",
        "optimizer kit model",
    ]
    assert recipe.found == []


def test_a_tower_that_was_swapped_in_is_a_part_of_the_model(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    swap_tower(model)
    wrapped = parallelize_model(model)
    for parameter in model.model.visual.parameters():
        parameter.requires_grad = False  #! RL103
    return wrapped
    """
    recipe = write(patched(body))
    assert recipe.steps() == [
        "load kit model",
        "patch recipe model.model",
        "parallelize kit model",
        "freeze direct model.model.visual",
        "optimizer kit model",
    ]
    assert recipe.found == recipe.marks


def test_a_swapped_tower_s_forward_is_not_the_model_s(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    swap_tower(model)
    model = self.token_loss_kit.apply_chunked_token_loss_patch(model)
    model = self.model_kit.apply_model_patches(model, [fast_tower])
    return model
    """
    fast = "\ndef fast_tower(model):\n    model.model.visual.forward = fast_forward\n    return model\n"
    files = patched(body)
    files["engine.py"] = files["engine.py"].replace(HEAD, HEAD + ", fast_tower")
    files["patches.py"] = PATCHES + fast
    recipe = write(files)
    assert traits(recipe.trace(), "patch", "paths")[1] == ((("model", "visual", "forward"), "forward"),)
    assert recipe.found == []


def test_a_patch_that_a_later_replacement_throws_away(write: Write) -> None:
    body = BUILD + "fast_patch_embed(model)  #! RL117\nswap_tower(model)\nreturn model"
    assert (recipe := write(patched(body))).found == recipe.marks


def test_a_patch_thrown_away_within_a_kit_list(write: Write) -> None:
    body = BUILD + "model = self.model_kit.apply_model_patches(model, [fast_patch_embed, swap_tower])  #! RL117\n"
    assert (recipe := write(patched(body + "return model"))).found == recipe.marks


def test_a_zero_argument_global_patch_is_harmless_anywhere(write: Write) -> None:
    body = BUILD + FREEZE + "global_patch()\nwrapped = parallelize_model(model)\nglobal_patch()\nreturn wrapped"
    recipe = write(patched(body))
    assert recipe.steps() == ["load kit model", "freeze kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


def test_a_patch_that_walks_sys_modules(write: Write) -> None:
    patch = """
    import sys

    def apply_fast_patch():
        for name, module in list(sys.modules.items()):
            if module is not None and hasattr(module, "flash_attn_func"):
                module.flash_attn_func = replacement
                setattr(module, "flash_attn_varlen_func", replacement)

    def replacement(*args):
        return None
    """
    body = BUILD + FREEZE + "apply_fast_patch()\nreturn parallelize_model(model)"
    recipe = write({"engine.py": engine(body, head="from fast import apply_fast_patch"), "fast.py": patch})
    assert recipe.steps() == ["load kit model", "freeze kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


def test_a_patch_that_returns_early_when_its_feature_is_off(write: Write) -> None:
    body = BUILD + "model = set_attention(model, self.config.model)\nreturn model"
    recipe = write(patched(body))
    trace = recipe.trace()
    assert said(trace) == ["load kit model", "patch recipe model.model.layers.*", "optimizer kit model"]
    assert when(trace)[1] == ("patch", ("model.context_parallel",))
    assert recipe.found == []


def test_a_patch_of_class_attributes_is_no_step_on_the_model(write: Write) -> None:
    patch = """
    from transformers.models.qwen3_vl import modeling_qwen3_vl

    def use_long_attention(model):
        modeling_qwen3_vl.Qwen3VLTextAttention.forward = forward
        return model

    def forward(self, x):
        return x
    """
    body = BUILD + FREEZE + "model = use_long_attention(model)\nreturn model"
    recipe = write({"engine.py": engine(body, head="from long import use_long_attention"), "long.py": patch})
    assert recipe.steps() == ["load kit model", "freeze kit model", "optimizer kit model"]
    assert recipe.found == []


def test_a_plain_attribute_of_the_model_is_no_patch(write: Write) -> None:
    body = BUILD + FREEZE + "model.mask_embedding = None\nmodel.context_parallel_size = 4\nreturn model"
    recipe = write(patched(body))
    assert recipe.steps() == ["load kit model", "freeze kit model", "optimizer kit model"]
    assert recipe.found == []


def test_a_helper_shaped_like_a_patch_that_switches_the_cache_off(write: Write) -> None:
    helper = """
    def disable_cache(model):
        model.config.use_cache = False
        if hasattr(model, "generation_config"):
            model.generation_config.use_cache = False
        return model
    """
    body = """
    model = self.model_kit.build_model("path")
    model = disable_cache(model)
    model.gradient_checkpointing_enable()
    model = disable_cache(model)
    return model
    """
    recipe = write({"engine.py": engine(body, head="from helper import disable_cache"), "helper.py": helper})
    assert recipe.steps() == ["load kit model", "checkpointing direct model", "optimizer kit model"]
    assert recipe.found == []


def test_hooks_installed_after_parallelization_on_purpose(write: Write) -> None:
    helper = """
    def install_grad_hooks(model, group):
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(lambda p: reduce(p, group))
    """
    body = BUILD + "wrapped = parallelize_model(model)\ninstall_grad_hooks(wrapped, self.group)\nreturn wrapped"
    recipe = write({"engine.py": engine(body, head="from helper import install_grad_hooks"), "helper.py": helper})
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


# -- token loss and FLOPs


def test_the_token_loss_kit_is_another_attribute(write: Write) -> None:
    body = BUILD + "model = self.token_loss_kit.apply_chunked_token_loss_patch(model)\n" + FREEZE + "return model"
    recipe = write(engine(body))
    assert recipe.steps() == ["load kit model", "token_loss kit model", "freeze kit model", "optimizer kit model"]
    assert recipe.found == []


INJECT = """
import types

def inject_sum_loss_forward(model):
    def forward(self, input_ids, labels):
        return sum_loss(self.inner(input_ids), labels)

    model.forward = types.MethodType(forward, model)
    return model
"""


def test_a_local_token_loss_before_checkpointing(write: Write) -> None:
    body = BUILD + "inject_sum_loss_forward(model)\nmodel.gradient_checkpointing_enable()\nreturn model"
    recipe = write({"engine.py": engine(body, head="from loss import inject_sum_loss_forward"), "loss.py": INJECT})
    assert recipe.steps() == [
        "load kit model",
        "token_loss recipe model",
        "checkpointing direct model",
        "optimizer kit model",
    ]
    assert recipe.found == []


def test_a_local_token_loss_after_checkpointing(write: Write) -> None:
    body = BUILD + "model.gradient_checkpointing_enable()\ninject_sum_loss_forward(model)  #! RL109\nreturn model"
    recipe = write({"engine.py": engine(body, head="from loss import inject_sum_loss_forward"), "loss.py": INJECT})
    assert recipe.found == recipe.marks


def test_flops_as_an_element_of_the_list_and_as_a_call(write: Write) -> None:
    body = BUILD + "model = self.model_kit.apply_model_patches(model, [add_flops])\nadd_flops(model)\nreturn model"
    recipe = write(patched(body))
    assert recipe.steps() == ["load kit model", "patch kit model", "patch recipe model", "optimizer kit model"]
    assert traits(recipe.trace(), "patch", "effect") == ["method", "method"]
    assert recipe.found == []


def test_freeze_flags_that_are_passed_to_a_flops_count_freeze_nothing(write: Write) -> None:
    recipe = write(
        engine(
            BUILD + FREEZE + "return parallelize_model(model)",
            methods="""
            def forward_step(self, ctx):
                flops = self.model.calculate_model_flops(
                    ctx.tokens, freeze_vit=self.config.model.freeze_vit, freeze_llm=self.config.model.freeze_llm
                )
                ctx.logs["flops"] = flops
            """,
        )
    )
    assert recipe.steps() == ["load kit model", "freeze kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


# -- where the helpers come from


def test_helpers_behind_a_lazy_package_getattr(write: Write) -> None:
    package = """
    from typing import TYPE_CHECKING

    if TYPE_CHECKING:
        from .swap import swap_tower

    def __getattr__(name):
        if name == "swap_tower":
            from .swap import swap_tower
            return swap_tower
        raise AttributeError(name)
    """
    body = BUILD + FREEZE + "model = self.model_kit.apply_model_patches(model, [swap_tower])  #! RL108\nreturn model"
    recipe = write(
        {
            "engine/rook_engine.py": engine(body, head="from ..model import swap_tower"),
            "engine/__init__.py": "",
            "model/__init__.py": package,
            "model/swap.py": PATCHES,
            "__init__.py": "",
        }
    )
    assert recipe.found == recipe.marks


# -- the result of a patch


def test_a_kit_result_that_is_discarded_still_patches_in_place(write: Write) -> None:
    recipe = write(patched(BUILD + "self.model_kit.apply_model_patches(model, [swap_tower, add_flops])\nreturn model"))
    assert recipe.steps() == ["load kit model", "patch kit model", "patch kit model", "optimizer kit model"]
    assert recipe.found == []


def test_a_discarded_patch_that_returns_another_model(write: Write) -> None:
    recipe = write(
        engine(
            BUILD + "self.model_kit.apply_model_patches(model, [rebuild])  #! RL204\nreturn model",
            head="def rebuild(model):\n    return AutoModel.from_pretrained('other')\n",
        )
    )
    assert recipe.found == recipe.marks
