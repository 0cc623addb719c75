"""Upcasts and counts, gradient checkpointing, compile."""

from __future__ import annotations

import pytest

from .project import UPCAST, Write, engine, said, traits, unknown, when

BUILD = 'model = self.model_kit.build_model("path")\n'
FREEZE = "model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)\n"
WRAP = "model = parallelize_model(model)\n"


# -- upcast


def test_the_inline_upcast_loop(write: Write) -> None:
    recipe = write(engine(BUILD + FREEZE + UPCAST + WRAP + "return model"))
    trace = recipe.trace()
    assert said(trace) == [
        "load kit model",
        "freeze kit model",
        "upcast recipe model",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert traits(trace, "upcast", "dtype") == ["float32"]
    assert when(trace)[2] == ("upcast", ())
    assert recipe.found == []


def test_the_inline_upcast_loop_over_parts_that_do_not_train_yet(write: Write) -> None:
    first, *rest = UPCAST.splitlines()
    body = BUILD + "\n".join([first + "  #! RL105", *rest]) + "\n" + FREEZE + "return model"
    assert (recipe := write(engine(body))).found == recipe.marks


@pytest.mark.parametrize(
    ("cast", "dtype"),
    [
        ("parameter.data.float()", ["float32"]),
        ("parameter.data.to(dtype=torch.float32)", ["float32"]),
        ("parameter.to(torch.float32)", ["float32"]),
        ("parameter.data.to(self.device)", []),
        ("parameter.data.to(torch.bfloat16)", []),
        ("parameter.data.half()", []),
        ("parameter.data.clone()", []),
        ("parameter.data.to(dtype)", ["unknown"]),
    ],
)
def test_what_a_parameter_is_cast_to(write: Write, cast: str, dtype: list[str]) -> None:
    body = (
        BUILD + f"dtype = self.dtype\nfor parameter in model.parameters():\n    parameter.data = {cast}\nreturn model"
    )
    assert traits(write(engine(body)).trace(), "upcast", "dtype") == dtype


HELPER = """
import torch

def upcast_trainable_params_to_fp32(model):
    for parameter in model.parameters():
        if not parameter.requires_grad:
            continue
        if parameter.dtype == torch.float32:
            continue
        parameter.data = parameter.data.float()
"""


def test_the_upcast_helper(write: Write) -> None:
    body = BUILD + FREEZE + "upcast_trainable_params_to_fp32(model)\nreturn parallelize_model(model)"
    head = "from helper import upcast_trainable_params_to_fp32"
    recipe = write({"engine.py": engine(body, head=head), "helper.py": HELPER})
    assert recipe.steps() == [
        "load kit model",
        "freeze kit model",
        "upcast recipe model",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert when(recipe.trace())[2] == ("upcast", ())
    assert recipe.found == []


def test_the_upcast_helper_on_the_wrapped_model(write: Write) -> None:
    body = BUILD + FREEZE + "model = parallelize_model(model)\nupcast_trainable_params_to_fp32(model)  #! RL107\n"
    head = "from helper import upcast_trainable_params_to_fp32"
    recipe = write({"engine.py": engine(body + "return model", head=head), "helper.py": HELPER})
    assert recipe.found == recipe.marks


def test_counts_of_the_wrapped_model_are_no_step(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    wrapped = parallelize_model(model)
    total = sum(p.numel() for p in wrapped.parameters())
    trainable = sum(p.numel() for p in wrapped.parameters() if p.requires_grad)
    logger.info(f"{trainable} of {total}")
    return wrapped
    """
    recipe = write(engine(body, head="from mvp_engine.utils.log import logger"))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert unknown(recipe.trace()) == []
    assert recipe.found == []


# -- gradient checkpointing


def test_checkpointing_by_the_kit_under_an_if(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    if self.config.model.gradient_checkpointing.enabled:
        model = self.model_kit.apply_gradient_checkpointing(
            model, use_reentrant=self.config.model.gradient_checkpointing.use_reentrant, mode="hf"
        )
    return parallelize_model(model)
    """
    recipe = write(engine(body))
    trace = recipe.trace()
    assert said(trace) == ["load kit model", "checkpointing kit model", "parallelize kit model", "optimizer kit model"]
    assert when(trace)[1] == ("checkpointing", ("model.gradient_checkpointing.enabled",))
    assert when(trace)[2] == ("parallelize", ())
    assert traits(trace, "checkpointing", "mode") == ["hf"]
    assert recipe.found == []


def test_mode_and_targets_from_the_configuration(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    gc = self.config.model.gradient_checkpointing
    model = self.model_kit.apply_gradient_checkpointing(model, mode=gc.mode, target_modules=gc.target_modules)
    return model
    """
    assert traits(write(engine(body)).trace(), "checkpointing", "mode") == [None]


def test_custom_mode_without_targets(write: Write) -> None:
    body = BUILD + 'return self.model_kit.apply_gradient_checkpointing(model, mode="custom", target_modules=None)'
    trace = write(engine(body)).trace()
    assert traits(trace, "checkpointing", "mode") == ["custom"]
    (event,) = trace.of("checkpointing")
    assert event.call.endswith("target_modules=None)")


GATED = """
def enable_gc(model, *, enabled, use_reentrant=False):
    if not enabled:
        return model
    model.config.use_cache = False
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": use_reentrant})
    return model
"""


def test_a_helper_that_always_runs_and_gates_by_keyword(write: Write) -> None:
    body = BUILD + "model = enable_gc(model, enabled=bool(self.config.model.gradient_checkpointing))\n" + WRAP
    recipe = write({"engine.py": engine(body + "return model", head="from gc_ import enable_gc"), "gc_.py": GATED})
    trace = recipe.trace()
    assert said(trace) == [
        "load kit model",
        "checkpointing direct model",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert when(trace)[1:3] == [("checkpointing", ("model.gradient_checkpointing",)), ("parallelize", ())]
    assert recipe.found == []


def test_the_gated_helper_on_the_wrapped_model(write: Write) -> None:
    body = BUILD + WRAP + "model = enable_gc(model, enabled=self.config.model.gc)  #! RL114\nreturn model"
    recipe = write({"engine.py": engine(body, head="from gc_ import enable_gc"), "gc_.py": GATED})
    assert recipe.found == recipe.marks
    assert recipe.finding("RL114").conditions == ("model.gc",)


def test_a_gate_that_is_a_constant_false_never_runs(write: Write) -> None:
    body = BUILD + WRAP + "model = enable_gc(model, enabled=False)\nreturn model"
    recipe = write({"engine.py": engine(body, head="from gc_ import enable_gc"), "gc_.py": GATED})
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]


def test_a_gate_through_local_aliases(write: Write) -> None:
    body = """
    gc_enabled = self.config.model.gradient_checkpointing.enabled
    gc_use_reentrant = self.config.model.gradient_checkpointing.use_reentrant
    model = self.model_kit.build_model("path")
    if gc_enabled:
        model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=gc_use_reentrant)
    return model
    """
    trace = write(engine(body)).trace()
    assert when(trace)[1] == ("checkpointing", ("model.gradient_checkpointing.enabled",))


def test_a_method_replaced_on_the_instance_and_then_called(write: Write) -> None:
    helper = """
    import types

    def enable(model):
        def gradient_checkpointing_enable(self, **kwargs):
            for layer in self.model.layers:
                layer.gradient_checkpointing = True

        model.gradient_checkpointing_enable = types.MethodType(gradient_checkpointing_enable, model)
        model.gradient_checkpointing_enable()
        return model
    """
    body = BUILD + "model = enable(model)\nreturn parallelize_model(model)"
    recipe = write({"engine.py": engine(body, head="from helper import enable"), "helper.py": helper})
    assert recipe.steps() == [
        "load kit model",
        "patch recipe model",
        "checkpointing direct model",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert recipe.found == []


WRAPPERS = """
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

def wrap_blocks(model):
    wrapped = 0
    for layer in model.model.layers:
        for name, child in layer.named_children():
            if name in ("self_attn", "mlp"):
                setattr(layer, name, checkpoint_wrapper(child))
                wrapped += 1
    return wrapped
"""


def test_checkpoint_wrappers_on_named_children(write: Write) -> None:
    body = BUILD + "count = wrap_blocks(model)\nreturn parallelize_model(model)"
    recipe = write({"engine.py": engine(body, head="from wrappers import wrap_blocks"), "wrappers.py": WRAPPERS})
    trace = recipe.trace()
    assert said(trace) == [
        "load kit model",
        "checkpointing direct model.model.layers.*.*",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert recipe.found == []


def test_checkpoint_wrappers_behind_the_wrapper(write: Write) -> None:
    body = BUILD + "model = parallelize_model(model)\ncount = wrap_blocks(model.module)  #! RL114\nreturn model"
    recipe = write({"engine.py": engine(body, head="from wrappers import wrap_blocks"), "wrappers.py": WRAPPERS})
    assert recipe.found == recipe.marks


def test_a_value_overridden_on_a_deep_copy_of_the_section(write: Write) -> None:
    body = """
    model_config = self.config.model.model_copy(deep=True)
    model_config.use_reentrant = True
    model = build(model_config)
    return model
    """
    builder = """
    from transformers import AutoModelForCausalLM

    def build(settings):
        model = AutoModelForCausalLM.from_pretrained(settings.path)
        if settings.use_reentrant:
            model.gradient_checkpointing_enable()
        if settings.freeze_vit:
            model.visual.requires_grad_(False)
        return model
    """
    recipe = write({"engine.py": engine(body, head="from builder import build"), "builder.py": builder})
    assert when(recipe.trace()) == [
        ("load", ()),
        ("checkpointing", ()),
        ("freeze", ("model.freeze_vit",)),
        ("optimizer", ()),
    ]


# -- compile


def test_compile_by_the_kit_under_an_if(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    if self.config.model.compile.enabled:
        model = self.model_kit.apply_model_compile(
            model, backend=self.config.model.compile.backend, mode=self.config.model.compile.mode
        )
    return parallelize_model(model)
    """
    recipe = write(engine(body))
    assert recipe.steps() == ["load kit model", "compile kit model", "parallelize kit model", "optimizer kit model"]
    assert when(recipe.trace())[1] == ("compile", ("model.compile.enabled",))
    assert traits(recipe.trace(), "compile", "wraps") == [False]
    assert recipe.found == []


def test_compile_by_the_kit_behind_the_wrapper(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    model = parallelize_model(model)
    if self.config.model.compile.enabled:
        model = self.model_kit.apply_model_compile(model)  #! RL101
    return model
    """
    recipe = write(engine(body))
    assert recipe.found == recipe.marks
    assert recipe.finding("RL101").conditions == ("model.compile.enabled",)


def test_compile_in_place_with_a_hand_written_graph_break(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    # The visual tower has data-dependent shapes.
    model.model.visual.forward = torch.compiler.disable(model.model.visual.forward)
    model.compile(backend=self.config.model.compile_backend, mode=self.config.model.compile_mode)
    return parallelize_model(model)
    """
    recipe = write(engine(body))
    assert recipe.steps() == ["load kit model", "compile direct model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


def test_compile_in_place_behind_the_wrapper(write: Write) -> None:
    body = BUILD + "wrapped = parallelize_model(model)\nwrapped.compile()  #! RL101\nreturn wrapped"
    assert (recipe := write(engine(body))).found == recipe.marks


def test_compile_gated_by_a_select_with_a_default(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    if OmegaConf.select(self.config, "model.compile", default=False):
        model.compile(backend=OmegaConf.select(self.config, "model.compile_backend", default="inductor"))
    return model
    """
    recipe = write(engine(body, head="from omegaconf import OmegaConf"))
    assert when(recipe.trace())[1] == ("compile", ("model.compile",))


def test_compile_that_wraps_behind_a_wrapper(write: Write) -> None:
    body = BUILD + "x = DistributedDataParallel(model)\nx = torch.compile(x)  #! RL101\nreturn x"
    recipe = write(engine(body))
    assert recipe.steps() == [
        "load kit model",
        "parallelize direct model",
        "compile direct model",
        "optimizer kit model",
    ]
    assert traits(recipe.trace(), "compile", "wraps") == [True]
    assert recipe.found == recipe.marks


def test_compile_that_wraps_in_front_of_the_wrapper(write: Write) -> None:
    recipe = write(engine(BUILD + "model = torch.compile(model)\nreturn DistributedDataParallel(model)"))
    assert recipe.steps() == [
        "load kit model",
        "compile direct model",
        "parallelize direct model",
        "optimizer kit model",
    ]
    assert recipe.found == []


def test_a_freeze_by_names_on_a_compiled_wrapper_and_on_what_is_inside(write: Write) -> None:
    loop = """
    for name, parameter in {}.named_parameters():
        if name.startswith("model.visual."):
            parameter.requires_grad = False  #! RL104
    """
    body = BUILD + "compiled = torch.compile(model)\n" + loop.replace("\n    ", "\n") + "return compiled"
    outer = write({"outer.py": engine(body.format("compiled"))})
    assert outer.finding("RL104").severity.name == "error"


def test_a_freeze_by_names_on_what_is_inside_a_compiled_wrapper(write: Write) -> None:
    body = BUILD + "compiled = torch.compile(model)\nfor name, parameter in compiled._orig_mod.named_parameters():\n"
    body += (
        "    if name.startswith('model.visual.'):\n        parameter.requires_grad = False  #! RL104\nreturn compiled"
    )
    recipe = write(engine(body))
    assert recipe.found == recipe.marks
    assert recipe.finding("RL104").severity.name == "info"


def test_a_teacher_compiled_separately(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    self.teacher = deepcopy(model)
    wrapped = parallelize_model(model)
    self.teacher = torch.compile(self.teacher)
    return wrapped
    """
    recipe = write(engine(body))
    assert recipe.steps() == [
        "load kit model",
        "parallelize kit model",
        "compile direct teacher",
        "optimizer kit model",
    ]
    assert recipe.found == []


def test_compiler_disable_is_no_compile(write: Write) -> None:
    helper = """
    import torch

    @torch.compiler.disable
    def packed_attention(q, k, v):
        return q

    def apply_fast_attention(model):
        for layer in model.model.layers:
            layer.attn.forward = torch.compiler.disable(layer.attn.forward)
        return model
    """
    body = BUILD + "wrapped = parallelize_model(model)\napply_fast_attention(wrapped)\nreturn wrapped"
    recipe = write({"engine.py": engine(body, head="from fast import apply_fast_attention"), "fast.py": helper})
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


@pytest.mark.parametrize("gate", ["self.config.model.compile", "self.config.model.compile_enabled"])
def test_a_gate_that_is_a_plain_field(write: Write, gate: str) -> None:
    body = BUILD + f"if {gate}:\n    model.compile()\nreturn model"
    trace = write(engine(body)).trace()
    assert when(trace)[1] == ("compile", (gate.removeprefix("self.config."),))


def test_no_compile_at_all(write: Write) -> None:
    recipe = write(engine(BUILD + FREEZE + WRAP + "return model"))
    assert recipe.steps() == ["load kit model", "freeze kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


def test_a_comment_that_gives_the_reason_for_the_place(write: Write) -> None:
    body = """
    model = parallelize_model(self.model_kit.build_model("path"))
    # Compiled after the wrapper on purpose, because its hooks must split the graph.
    model.compile()  #! RL101
    return model
    """
    recipe = write(engine(body))
    assert recipe.found == recipe.marks
    assert recipe.finding("RL101").severity.name == "info"
    assert "on purpose" in (recipe.finding("RL101").reason or "")


def test_a_comment_on_something_else_is_no_reason(write: Write) -> None:
    body = """
    model = parallelize_model(self.model_kit.build_model("path"))
    # The visual tower has data-dependent shapes and is kept out of the graph by hand here.
    model.compile()  #! RL101
    return model
    """
    recipe = write(engine(body))
    assert recipe.found == recipe.marks
    assert recipe.finding("RL101").severity.name == "warning"
    assert recipe.finding("RL101").reason is None


def test_the_result_of_an_in_place_compile_is_none(write: Write) -> None:
    body = BUILD + "model = model.compile()\nmodel = parallelize_model(model)\nreturn model"
    trace = write(engine(body)).trace()
    # The model goes on under its name, so that what follows is still judged; that it is None is noted.
    assert said(trace) == ["load kit model", "compile direct model", "parallelize kit model", "optimizer kit model"]
    assert [note.site.code for note in trace.noted("none-result")] == ["model.compile()"]


def test_an_in_place_compile_whose_result_nobody_takes(write: Write) -> None:
    trace = write(engine(BUILD + "model.compile()\nreturn model")).trace()
    assert list(trace.noted("none-result")) == []


def test_a_try_that_falls_back_to_eager(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    try:
        model = torch.compile(model)
    except RuntimeError:
        logger.warning("eager")
    return parallelize_model(model)
    """
    recipe = write(engine(body, head="from mvp_engine.utils.log import logger"))
    assert recipe.steps() == ["load kit model", "compile direct model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


def test_a_try_that_falls_back_to_eager_behind_the_wrapper(write: Write) -> None:
    body = """
    model = parallelize_model(self.model_kit.build_model("path"))
    try:
        model = torch.compile(model)  #! RL101
    except RuntimeError:
        pass
    return model
    """
    assert (recipe := write(engine(body))).found == recipe.marks
