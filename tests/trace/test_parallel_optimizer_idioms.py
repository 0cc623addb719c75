"""Wrapping for distributed training, the optimizer, several models in one engine, adapters."""

from __future__ import annotations

import pytest

from .project import Write, engine, said, steps_on, traits, unknown, when

BUILD = 'model = self.model_kit.build_model("path")\n'
FREEZE = "self.model_kit.apply_freeze_policy(model, freeze_vit=True)"

# -- parallelize


@pytest.mark.parametrize(
    "end",
    ["parallelized_model = parallelize_model(model)\nreturn parallelized_model", "return parallelize_model(model)"],
)
def test_the_wrapped_model_is_returned(write: Write, end: str) -> None:
    recipe = write(engine(BUILD + end))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


@pytest.mark.parametrize(
    ("name", "head", "backend"),
    [
        ("torch.nn.parallel.DistributedDataParallel", "", "ddp"),
        ("DDP", "from torch.nn.parallel import DistributedDataParallel as DDP", "ddp"),
        ("parallel.DistributedDataParallel", "from torch.nn import parallel", "ddp"),
        ("nn.parallel.DistributedDataParallel", "import torch.nn as nn", "ddp"),
        ("FSDP", "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP", "fsdp1"),
        ("fully_shard", "from torch.distributed._composable.fsdp import fully_shard", "fsdp2"),
        ("parallelize_model", "", "stage"),
    ],
)
def test_each_wrapper_by_its_full_name(write: Write, name: str, head: str, backend: str) -> None:
    body = BUILD + f"model = {name}(model.to(self.device))\nmodel.requires_grad_(False)  #! RL103\nreturn model"
    recipe = write(engine(body, head=head))
    assert traits(recipe.trace(), "parallelize", "backend") == [backend]
    assert recipe.found == recipe.marks


def test_two_wrappers_for_student_and_teacher(write: Write) -> None:
    body = """
    student = AutoModel.from_pretrained("path")
    teacher = AutoModel.from_pretrained("teacher")
    teacher.requires_grad_(False)
    student = parallelize_model(student)
    teacher = parallelize_model(teacher)
    self.teacher = teacher
    return student
    """
    recipe = write(engine(body))
    trace = recipe.trace()
    assert steps_on(trace, "model") == ["load", "parallelize", "optimizer"]
    assert steps_on(trace, "teacher") == ["load", "freeze", "parallelize"]
    assert recipe.found == []


def test_the_fault_on_the_teacher_only(write: Write) -> None:
    body = """
    student = AutoModel.from_pretrained("path")
    teacher = AutoModel.from_pretrained("teacher")
    student = parallelize_model(student)
    teacher = parallelize_model(teacher)
    teacher.requires_grad_(False)  #! RL103
    self.teacher = teacher
    return student
    """
    assert (recipe := write(engine(body))).found == recipe.marks


def test_an_else_that_raises_is_no_path(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    if self.config.parallel.type == "ddp":
        model = DistributedDataParallel(model)
    elif self.config.parallel.type == "fsdp":
        model = parallelize_model(model)
    else:
        raise NotImplementedError(self.config.parallel.type)
    return model
    """
    recipe = write(engine(body))
    assert when(recipe.trace()) == [
        ("load", ()),
        ("parallelize", ("parallel.type == 'ddp'",)),
        ("parallelize", ("parallel.type != 'ddp'", "parallel.type == 'fsdp'")),
        ("optimizer", ()),
    ]
    assert recipe.found == []


def test_a_single_arm_beside_an_else_that_raises_holds_always(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    if self.config.parallel.type == "ddp":
        model = DistributedDataParallel(model)
    else:
        raise NotImplementedError
    model.requires_grad_(False)  #! RL103
    return model
    """
    recipe = write(engine(body))
    assert recipe.found == recipe.marks
    assert recipe.finding("RL103").conditions == ()


@pytest.mark.parametrize(
    "arguments",
    ["device_mesh=self.mesh", "parallel_mesh=self.parallel_mesh", 'parallel_mesh=self.mesh, backend="fsdp2"'],
)
def test_keywords_of_all_ages(write: Write, arguments: str) -> None:
    recipe = write(engine(BUILD + f"return parallelize_model(model=model, {arguments})"))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert traits(recipe.trace(), "parallelize", "backend") == ["fsdp2" if "fsdp2" in arguments else "stage"]


def test_the_inner_model_is_returned(write: Write) -> None:
    body = BUILD + "wrapped = DistributedDataParallel(model)  #! RL203\nself.wrapped = wrapped\nreturn model"
    assert (recipe := write(engine(body))).found == recipe.marks


def test_the_wrapper_is_thrown_away(write: Write) -> None:
    body = BUILD + "DistributedDataParallel(model)  #! RL204\nreturn model"
    assert (recipe := write(engine(body))).found == recipe.marks


def test_layers_sharded_one_by_one_and_then_the_root(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    for layer in model.model.layers:
        fully_shard(layer)
    fully_shard(model)
    return model
    """
    recipe = write(engine(body, head="from torch.distributed.fsdp import fully_shard"))
    assert recipe.steps() == [
        "load kit model",
        "parallelize direct model.model.layers.*",
        "parallelize direct model",
        "optimizer kit model",
    ]
    assert recipe.found == []


def test_steps_on_parts_that_do_not_overlap(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    fully_shard(model.visual)
    model.language_model.compile()
    model.language_model.gradient_checkpointing_enable()  #! RL113
    fully_shard(model.language_model)
    return model
    """
    recipe = write(engine(body, head="from torch.distributed.fsdp import fully_shard"))
    assert recipe.found == recipe.marks


# -- optimizer


def test_the_kit_with_groups_of_name_fragments(write: Write) -> None:
    optimizer = """
    def prepare_optimizer(self):
        groups = {"visual": self.config.optim.vit_lr, "merger": self.config.optim.projector_lr}
        return self.optim_kit.build_optimizer(self.model, lr=self.config.optim.lr, lr_groups=groups)
    """
    recipe = write(engine(BUILD + "return parallelize_model(model)", optimizer=optimizer))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert traits(recipe.trace(), "optimizer", "holds") == ["trainable"]


HOLDS = {
    "comprehension": ("torch.optim.AdamW([p for p in self.model.parameters() if p.requires_grad])", "trainable"),
    "named": ("torch.optim.AdamW([p for n, p in self.model.named_parameters() if p.requires_grad])", "trainable"),
    "filter": ("torch.optim.AdamW(filter(lambda p: p.requires_grad, self.model.parameters()), lr=1.0)", "trainable"),
    "all": ("torch.optim.AdamW(self.model.parameters(), lr=self.config.optim.lr)", "all"),
    "group": ('torch.optim.AdamW([{"params": self.model.parameters(), "lr": 1.0}])', "all"),
    "keyword": ("torch.optim.AdamW(params=self.model.parameters())", "all"),
    "factory": ("create_optimizer_v2(self.model, opt='adamw')", "all"),
}


@pytest.mark.parametrize(("call", "holds"), HOLDS.values(), ids=HOLDS)
def test_what_the_optimizer_holds(write: Write, call: str, holds: str) -> None:
    optimizer = f"def prepare_optimizer(self):\n    return {call}"
    head = "from timm.optim import create_optimizer_v2"
    recipe = write(engine(BUILD + "return parallelize_model(model)", optimizer=optimizer, head=head))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer direct model"]
    assert traits(recipe.trace(), "optimizer", "holds") == [holds]
    assert recipe.found == []


def test_a_list_of_parameters_in_a_variable(write: Write) -> None:
    optimizer = """
    def prepare_optimizer(self):
        decay, plain = [], []
        for name, parameter in self.model.named_parameters():
            if not parameter.requires_grad:
                continue
            (plain if parameter.ndim == 1 else decay).append(parameter)
        groups = [{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups)
    """
    recipe = write(engine(BUILD + "return parallelize_model(model)", optimizer=optimizer))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer direct model"]


def test_extra_optimizers_stored_on_self(write: Write) -> None:
    body = """
    self.head = torch.nn.Linear(4, 4).to(self.device)
    model = self.model_kit.build_model("path")
    return parallelize_model(model)
    """
    optimizer = """
    def prepare_optimizer(self):
        self.head_optimizer = torch.optim.AdamW(self.head.parameters())
        return torch.optim.AdamW(self.model.parameters())
    """
    recipe = write(engine(body, optimizer=optimizer))
    assert recipe.steps() == [
        "load kit model",
        "parallelize kit model",
        "optimizer direct head",
        "optimizer direct model",
    ]
    assert recipe.found == []


def test_unrelated_objects_built_in_prepare_optimizer(write: Write) -> None:
    optimizer = """
    def prepare_optimizer(self):
        self.guard = LossGuard(window=100)
        return self.optim_kit.build_optimizer(self.model)
    """
    recipe = write(engine(BUILD + "return model", optimizer=optimizer, head="from mvp_engine.guard import LossGuard"))
    assert recipe.steps() == ["load kit model", "optimizer kit model"]
    assert recipe.found == []


def test_a_freeze_after_an_optimizer_that_holds_the_trainable_ones(write: Write) -> None:
    body = BUILD + "self.adam = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])\n" + FREEZE
    recipe = write(engine(body + "  #! RL102\nreturn model", optimizer=""))
    assert recipe.found == recipe.marks


def test_an_optimizer_that_is_built_again_after_the_freeze(write: Write) -> None:
    body = f"""
    model = self.model_kit.build_model("path")
    self.adam = torch.optim.AdamW(model.parameters())
    {FREEZE}
    return model
    """
    assert write(engine(body)).found == []


def test_an_optimizer_over_another_part_than_the_freeze(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    self.adam = torch.optim.AdamW(model.lm_head.parameters())
    model.visual.requires_grad_(False)
    return model
    """
    recipe = write(engine(body, optimizer=""))
    assert traits(recipe.trace(), "optimizer", "paths") == [(("lm_head",),)]
    assert recipe.found == []


# -- several models


def test_a_teacher_with_an_ema_schedule_as_a_nested_function(write: Write) -> None:
    body = """
    model = AutoModel.from_pretrained("path")
    self.teacher = copy.deepcopy(model)
    for parameter in self.teacher.parameters():
        parameter.requires_grad = False
    base = self.config.model.momentum

    def momentum(step):
        return 1 - (1 - base) * step / self.total_steps

    self.momentum = momentum
    return DistributedDataParallel(model)
    """
    methods = """
    def train_post_step(self, ctx):
        m = self.momentum(ctx.step)
        with torch.no_grad():
            for student, teacher in zip(self.model.parameters(), self.teacher.parameters()):
                teacher.data.mul_(m).add_(student.data, alpha=1 - m)
    """
    recipe = write(engine(body, methods=methods))
    trace = recipe.trace()
    assert steps_on(trace, "model") == ["load", "parallelize", "optimizer"]
    assert steps_on(trace, "teacher") == ["freeze"]
    assert recipe.found == []


def test_heads_that_are_not_wrapped(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    self.head = torch.nn.Linear(4, 4).to(self.device)
    wrapped = parallelize_model(model)
    for parameter in self.head.parameters():
        parameter.requires_grad = True
    return wrapped
    """
    recipe = write(engine(body))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "freeze direct head", "optimizer kit model"]
    assert recipe.found == []


def test_an_ema_copy_made_before_and_after_the_wrapping(write: Write) -> None:
    before = BUILD + "self.ema = AveragedModel(model)  #! RL125\nreturn parallelize_model(model)"
    head = "from torch.optim.swa_utils import AveragedModel"
    recipe = write(engine(before, head=head))
    assert recipe.steps() == ["load kit model", "ema_copy direct model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == recipe.marks


def test_an_ema_copy_made_after_the_wrapping(write: Write) -> None:
    body = BUILD + "wrapped = parallelize_model(model)\nself.ema = AveragedModel(wrapped)\nreturn wrapped"
    assert write(engine(body, head="from torch.optim.swa_utils import AveragedModel")).found == []


def test_an_ema_copy_by_its_name(write: Write) -> None:
    body = BUILD + "self.ema_model = deepcopy(model)  #! RL125\nreturn parallelize_model(model)"
    assert (recipe := write(engine(body))).found == recipe.marks


@pytest.mark.parametrize(("compile_", "marks"), [("model = torch.compile(model)", 1), ("model.compile()", 0)])
def test_an_ema_copy_before_a_compile_that_wraps_or_not(write: Write, compile_: str, marks: int) -> None:
    recipe = write(engine(BUILD + f"self.ema_model = deepcopy(model)\n{compile_}\nreturn model"))
    assert [f.code for f in recipe.findings] == ["RL125"] * marks


# -- adapters and meta devices


def test_an_adapter_between_patches_and_freeze(write: Write) -> None:
    body = BUILD + "model = get_peft_model(model, self.lora)\nreturn parallelize_model(model)"
    recipe = write(engine(body, head="from peft import get_peft_model"))
    assert recipe.steps() == ["load kit model", "adapter direct model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ("model = parallelize_model(model)", "RL122"),
        ("model = torch.compile(model)", "RL121"),
        ("adam = torch.optim.AdamW(model.parameters())", "RL123"),
    ],
)
def test_an_adapter_behind_each_later_step(write: Write, step: str, code: str) -> None:
    body = BUILD + f"{step}\nmodel = get_peft_model(model, self.lora)  #! {code}\nreturn model"
    recipe = write(engine(body, head="from peft import get_peft_model", optimizer=""))
    assert recipe.found == recipe.marks


def test_a_prefix_freeze_after_the_adapter(write: Write) -> None:
    body = BUILD + f"model = get_peft_model(model, self.lora)\nmodel = {FREEZE}  #! RL120\nreturn model"
    recipe = write(engine(body, head="from peft import get_peft_model"))
    assert recipe.found == recipe.marks


def test_a_stage_that_unfreezes_in_the_training_step_under_an_optimizer_of_trainable_ones(write: Write) -> None:
    methods = """
    def train_pre_step(self, ctx):
        if ctx.step == self.config.model.unfreeze_at:
            self.model.visual.requires_grad_(True)  #! RL102
    """
    recipe = write(engine(BUILD + FREEZE + "\nreturn model", methods=methods))
    assert recipe.found == recipe.marks


def test_a_stage_that_unfreezes_under_an_optimizer_that_holds_everything(write: Write) -> None:
    methods = """
    def train_pre_step(self, ctx):
        if ctx.step == self.config.model.unfreeze_at:
            self.model.visual.requires_grad_(True)
    """
    optimizer = "def prepare_optimizer(self):\n    return torch.optim.AdamW(self.model.parameters())"
    recipe = write(engine(BUILD + FREEZE + "\nreturn model", methods=methods, optimizer=optimizer))
    assert recipe.found == []


def test_an_optimizer_built_in_prepare_model_and_kept(write: Write) -> None:
    body = (
        BUILD
        + "wrapped = parallelize_model(model)\nself.adam = self.optim_kit.build_optimizer(wrapped)\nreturn wrapped"
    )
    recipe = write(engine(body, optimizer="def prepare_optimizer(self):\n    return self.adam"))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


def test_two_engines_for_two_stages_that_share_a_builder(write: Write) -> None:
    builder = """
    from transformers import AutoModelForCausalLM

    def build(path):
        model = AutoModelForCausalLM.from_pretrained(path)
        model.gradient_checkpointing_enable()
        return model
    """
    one = engine("return parallelize_model(build('a'))", head="from builder import build", name="OneEngine")
    body = "model = parallelize_model(build('b'))\nmodel.requires_grad_(False)  #! RL103\nreturn model"
    two = engine(body, head="from builder import build", name="TwoEngine")
    recipe = write({"one.py": one, "two.py": two, "builder.py": builder})
    assert recipe.found == recipe.marks
    assert recipe.finding("RL103").engine == "TwoEngine"


def test_a_project_without_surprises_has_no_unknown_call(write: Write) -> None:
    recipe = write(engine(BUILD + FREEZE + "\nreturn parallelize_model(model)"))
    trace = recipe.trace()
    assert unknown(trace) == []
    assert said(trace) == ["load kit model", "freeze kit model", "parallelize kit model", "optimizer kit model"]


def test_an_unknown_helper_is_told_and_gives_the_model_back(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    model = prepare_something(model)
    model = parallelize_model(model)
    model.requires_grad_(False)  #! RL103
    return model
    """
    recipe = write(engine(body, head="from elsewhere import prepare_something"))
    assert unknown(recipe.trace()) == [("model", "prepare_something(model)")]
    assert recipe.found == recipe.marks
    assert [call.call for call in recipe.result.unknown] == ["prepare_something(model)"]


@pytest.mark.parametrize(
    "call", ["self.helper.finish(model)", "self.finish(model)", "self.steps[self.config.n](model)"]
)
def test_an_unknown_method_is_told_and_gives_the_model_back(write: Write, call: str) -> None:
    body = (
        BUILD + f"model = parallelize_model(model)\nmodel = {call}\nmodel.requires_grad_(False)  #! RL103\nreturn model"
    )
    recipe = write(engine(body))
    assert unknown(recipe.trace()) == [("model", call)]
    assert recipe.found == recipe.marks


TABLE = """{"ddp": DistributedDataParallel, "fsdp": parallelize_model}"""


@pytest.mark.parametrize(
    ("head", "wrap"),
    [
        ("", TABLE + "[self.config.kind]"),
        ("", TABLE + ".get(self.config.kind)"),
        ("WRAPPERS = " + TABLE, "WRAPPERS[self.config.kind]"),
    ],
    ids=["item", "get", "module level"],
)
def test_a_wrapper_from_a_table(write: Write, head: str, wrap: str) -> None:
    body = BUILD + f"wrap = {wrap}\nmodel = wrap(model)\nmodel.requires_grad_(False)  #! RL103\nreturn model"
    recipe = write(engine(body, head=head))
    assert recipe.steps() == [
        "load kit model",
        "parallelize direct model",
        "parallelize kit model",
        "freeze direct model",
        "optimizer kit model",
    ]
    assert recipe.found == recipe.marks
