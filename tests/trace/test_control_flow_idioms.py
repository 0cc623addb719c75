"""Paths: branches, early returns, raise, try, loops, match, with, chained calls."""

from __future__ import annotations

import pytest

from .project import Write, engine, said, unknown, when

BUILD = 'model = self.model_kit.build_model("path")\n'


def test_an_early_return_for_evaluation(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    if self.config.workflow == "eval":
        return parallelize_model(model)
    self.model_kit.apply_freeze_policy(model, freeze_vit=True)
    return parallelize_model(model)
    """
    recipe = write(engine(body))
    assert when(recipe.trace()) == [
        ("load", ()),
        ("parallelize", ("workflow == 'eval'",)),
        ("freeze", ("workflow != 'eval'",)),
        ("parallelize", ("workflow != 'eval'",)),
        ("optimizer", ()),
    ]
    assert recipe.found == []


def test_the_same_without_the_return(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    if self.config.workflow == "eval":
        model = parallelize_model(model)
    self.model_kit.apply_freeze_policy(model, freeze_vit=True)  #! RL103
    return model
    """
    recipe = write(engine(body))
    assert recipe.found == recipe.marks
    assert recipe.finding("RL103").conditions == ("workflow == 'eval'",)


def test_exclusive_branches_with_one_step_each(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    if self.config.a:
        model = parallelize_model(model)
    elif self.config.b:
        model = self.model_kit.apply_model_compile(model)
    else:
        model.requires_grad_(False)
    return model
    """
    recipe = write(engine(body))
    assert when(recipe.trace())[1:4] == [
        ("parallelize", ("a",)),
        ("compile", ("b", "not a")),
        ("freeze", ("not a", "not b")),
    ]
    assert recipe.found == []


def test_independent_ifs_in_the_wrong_order(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    if self.config.a:
        model = parallelize_model(model)
    if self.config.b:
        model.requires_grad_(False)  #! RL103
    return model
    """
    recipe = write(engine(body))
    assert recipe.found == recipe.marks
    assert recipe.finding("RL103").conditions == ("a", "b")


def test_a_raise_ends_the_path(write: Write) -> None:
    body = """
    model = parallelize_model(self.model_kit.build_model("path"))
    if self.config.model.freeze_vit:
        raise ValueError("freeze before")
        model.requires_grad_(False)
    return model
    """
    recipe = write(engine(body))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


def test_what_stands_in_a_guarded_raise_does_not_reach_what_follows(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    if self.config.model.broken:
        model = parallelize_model(model)
        raise ValueError("no")
    model.requires_grad_(False)
    return parallelize_model(model)
    """
    assert write(engine(body)).found == []


def test_a_raise_in_the_else_of_a_helper(write: Write) -> None:
    methods = """
    def _wrap(self, model):
        if self.config.parallel.type == "ddp":
            return DistributedDataParallel(model)
        else:
            raise NotImplementedError(self.config.parallel.type)
    """
    body = BUILD + "model = self._wrap(model)\nmodel.requires_grad_(False)  #! RL103\nreturn model"
    recipe = write(engine(body, methods=methods))
    assert recipe.found == recipe.marks
    assert recipe.finding("RL103").certainty == "certain"
    assert recipe.finding("RL103").conditions == ()


def test_what_a_raise_rests_on_is_granted_in_its_own_branch_only(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    if self.config.a:
        if self.config.b:
            model.compile()
        else:
            raise ValueError("b is needed")
    if self.config.b:
        model.gradient_checkpointing_enable()  #! RL113
    return model
    """
    recipe = write(engine(body))
    assert when(recipe.trace())[1:3] == [("compile", ("a",)), ("checkpointing", ("b",))]
    assert recipe.found == recipe.marks
    assert recipe.finding("RL113").conditions == ("a",)


def test_an_assert_is_assumed(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    assert self.config.model.freeze_vit
    model = parallelize_model(model)
    if self.config.model.freeze_vit:
        model.requires_grad_(False)  #! RL103
    return model
    """
    recipe = write(engine(body))
    assert recipe.found == recipe.marks
    assert recipe.finding("RL103").conditions == ()


def test_try_else_and_finally(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    try:
        model = self.model_kit.apply_model_compile(model)
    except RuntimeError:
        self.logger.warning("eager")
    else:
        model.gradient_checkpointing_enable()  #! RL113
    finally:
        model.eval()
    return parallelize_model(model)
    """
    recipe = write(engine(body))
    assert recipe.steps() == [
        "load kit model",
        "compile kit model",
        "checkpointing direct model",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert recipe.found == recipe.marks


def test_a_fallback_in_the_handler_is_exclusive_with_the_body(write: Write) -> None:
    body = """
    try:
        model = AutoModelForImageTextToText.from_pretrained("path")
    except OSError:
        model = AutoModelForImageTextToText.from_config(self.hf_config)
    return parallelize_model(model)
    """
    recipe = write(engine(body))
    assert recipe.steps()[:2] == ["load direct model", "load direct model"]
    assert recipe.found == []


def test_a_step_in_finally_after_a_return_in_the_body(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    try:
        model = parallelize_model(model)
        return model
    finally:
        model.requires_grad_(False)  #! RL103
    """
    assert (recipe := write(engine(body))).found == recipe.marks


# -- loops


def test_a_loop_over_bound_methods(write: Write) -> None:
    methods = """
    def _freeze(self, model):
        return self.model_kit.apply_freeze_policy(model, freeze_vit=True)

    def _compile(self, model):
        return self.model_kit.apply_model_compile(model)
    """
    body = (
        BUILD + "for step in (self._freeze, self._compile, parallelize_model):\n    model = step(model)\nreturn model"
    )
    recipe = write(engine(body, methods=methods))
    assert recipe.steps() == [
        "load kit model",
        "freeze kit model",
        "compile kit model",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert recipe.found == []


def test_a_loop_over_bound_methods_in_the_wrong_order(write: Write) -> None:
    methods = """
    def _freeze(self, model):
        return self.model_kit.apply_freeze_policy(model, freeze_vit=True)  #! RL103
    """
    body = BUILD + "for step in (parallelize_model, self._freeze):\n    model = step(model)\nreturn model"
    recipe = write(engine(body, methods=methods))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "freeze kit model", "optimizer kit model"]
    assert [f.code for f in recipe.findings] == ["RL103"]


def test_kit_methods_by_name(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    for name in ("apply_model_compile", "apply_gradient_checkpointing"):
        model = getattr(self.model_kit, name)(model)  #! RL113
    return parallelize_model(model)
    """
    recipe = write(engine(body))
    assert recipe.steps() == [
        "load kit model",
        "compile kit model",
        "checkpointing kit model",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert recipe.found == recipe.marks


def test_a_loop_over_models_in_a_dict(write: Write) -> None:
    body = """
    models = {"student": AutoModel.from_pretrained("a"), "teacher": AutoModel.from_pretrained("b")}
    for name, one in models.items():
        if name == "teacher":
            one.requires_grad_(False)
    student = parallelize_model(models["student"])
    self.teacher = parallelize_model(models["teacher"])
    return student
    """
    recipe = write(engine(body))
    assert recipe.steps() == [
        "load direct model",
        "load direct one",
        "freeze direct one",
        "parallelize kit model",
        "parallelize kit one",
        "optimizer kit model",
    ]
    assert recipe.found == []


def test_a_while_loop_runs_its_body(write: Write) -> None:
    body = """
    model = None
    while model is None:
        model = self.model_kit.build_model("path")
    model = parallelize_model(model)
    model.requires_grad_(False)  #! RL103
    return model
    """
    assert (recipe := write(engine(body))).found == recipe.marks


def test_break_and_continue(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    for name, parameter in model.named_parameters():
        if "visual" not in name:
            continue
        parameter.requires_grad = False
        if name.endswith("last"):
            break
    return parallelize_model(model)
    """
    recipe = write(engine(body))
    assert recipe.steps() == ["load kit model", "freeze direct model", "parallelize kit model", "optimizer kit model"]
    assert when(recipe.trace())[1] == ("freeze", ())
    assert recipe.found == []


def test_a_step_after_a_break_on_a_config_value(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    for wrap in (parallelize_model, torch.compile):
        model = wrap(model)
        if self.config.once:
            break
    return model
    """
    trace = write(engine(body)).trace()
    assert when(trace)[1:3] == [("parallelize", ()), ("compile", ("not once",))]


def test_a_long_tuple_of_steps_is_walked_to_its_end(write: Write) -> None:
    methods = """
    def keep(self, model):
        return model

    def freeze(self, model):
        model.requires_grad_(False)
        return model
    """
    steps = "self.keep, " * 60 + "self.freeze"
    body = BUILD + f"model = parallelize_model(model)\nfor step in ({steps}):\n    model = step(model)\nreturn model"
    recipe = write(engine(body, methods=methods))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "freeze direct model", "optimizer kit model"]


def test_a_list_that_doubles_again_and_again_ends(write: Write) -> None:
    body = "steps = [parallelize_model]\n" + "steps = steps + steps\n" * 40 + BUILD + "return model"
    assert write(engine(body)).steps() == ["load kit model", "optimizer kit model"]


def test_steps_in_enumerate_and_zip(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    flags = (self.config.a, self.config.b)
    steps = [self.model_kit.apply_model_compile, parallelize_model]
    for number, (flag, step) in enumerate(zip(flags, steps)):
        if flag:
            model = step(model)
    return model
    """
    assert when(write(engine(body)).trace())[1:3] == [("compile", ("a",)), ("parallelize", ("b",))]


# -- match, with, expressions


MATCH = """
model = self.model_kit.build_model("path")
match self.config.parallel.type:
    case "ddp":
        model = DistributedDataParallel(model)
    case "fsdp" | "fsdp2":
        model = parallelize_model(model)
    case None:
        model.requires_grad_(False)
    case other:
        raise ValueError(other)
"""


def test_match_arms_are_exclusive(write: Write) -> None:
    recipe = write(engine(MATCH + "return model"))
    trace = recipe.trace()
    assert said(trace) == [
        "load kit model",
        "parallelize direct model",
        "parallelize kit model",
        "freeze direct model",
        "optimizer kit model",
    ]
    events = list(trace.events)
    assert not any(a.guard.meets(b.guard) for i, a in enumerate(events[1:4]) for b in events[i + 2 : 4])
    assert events[1].guard.decide({"parallel.type": "ddp"}) is True
    assert events[2].guard.decide({"parallel.type": "fsdp2"}) is True
    assert events[2].guard.decide({"parallel.type": "ddp"}) is False
    assert events[3].guard.decide({"parallel.type": None}) is True
    assert recipe.found == []


def test_a_step_behind_a_match(write: Write) -> None:
    recipe = write(engine(MATCH + "self.model_kit.apply_model_compile(model)  #! RL101\nreturn model"))
    assert (recipe.found) == recipe.marks


def test_a_with_block_is_walked(write: Write) -> None:
    body = """
    with torch.device("cuda"), init_empty() as context:
        model = self.model_kit.build_model("path")
        model = parallelize_model(model)
    with torch.no_grad():
        model.requires_grad_(False)  #! RL103
    return model
    """
    assert (recipe := write(engine(body, head="from accelerate import init_empty"))).found == recipe.marks


def test_a_conditional_expression_forks(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    model = parallelize_model(model) if self.config.distributed else model
    model.requires_grad_(False)  #! RL103
    return model
    """
    recipe = write(engine(body))
    assert when(recipe.trace())[1] == ("parallelize", ("distributed",))
    assert recipe.found == recipe.marks
    assert recipe.finding("RL103").conditions == ("distributed",)


def test_a_short_circuit_forks(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    self.config.freeze and model.requires_grad_(False)
    self.config.no_freeze or model.gradient_checkpointing_enable()
    return model
    """
    assert when(write(engine(body)).trace())[1:3] == [("freeze", ("freeze",)), ("checkpointing", ("not no_freeze",))]


def test_a_walrus_binds_the_model(write: Write) -> None:
    body = """
    if (model := self.model_kit.build_model("path")) is not None:
        wrapped = parallelize_model(model)
    model.requires_grad_(False)  #! RL103
    return wrapped
    """
    assert (recipe := write(engine(body))).found == recipe.marks


def test_chained_kit_calls_run_inside_out(write: Write) -> None:
    body = """
    model = self.model_kit.apply_freeze_policy(
        self.model_kit.apply_model_patches(self.model_kit.build_model("path"), []), freeze_vit=True
    )
    return parallelize_model(self.model_kit.apply_model_compile(model))
    """
    recipe = write(engine(body))
    assert recipe.steps() == [
        "load kit model",
        "freeze kit model",
        "compile kit model",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert recipe.found == []


def test_chained_kit_calls_in_the_wrong_order(write: Write) -> None:
    body = """
    return self.model_kit.apply_model_compile(  #! RL101
        parallelize_model(self.model_kit.build_model("path"))
    )
    """
    assert (recipe := write(engine(body))).found == recipe.marks


def test_arguments_run_before_the_call_and_the_receiver_before_them(write: Write) -> None:
    body = """
    self.first(parallelize_model(self.build())).requires_grad_(self.flag(AutoModel.from_pretrained("b")))
    """
    methods = """
    def build(self):
        return self.model_kit.build_model("a")

    def first(self, model):
        self.model = model
        return model

    def flag(self, other):
        return False
    """
    recipe = write(engine(body, methods=methods))
    assert [event.step for event in recipe.trace().events][:4] == ["load", "parallelize", "load", "freeze"]


def test_a_nested_function_is_walked_where_it_is_called(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")

    def finish(model):
        model.requires_grad_(False)
        return model

    model = finish(model)
    return parallelize_model(model)
    """
    recipe = write(engine(body))
    assert recipe.steps() == ["load kit model", "freeze direct model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


def test_a_nested_function_that_is_called_late(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")

    def finish():
        model.requires_grad_(False)  #! RL103

    wrapped = parallelize_model(model)
    finish()
    return wrapped
    """
    recipe = write(engine(body))
    assert [(f.code, f.span.line) for f in recipe.findings] == [("RL103", recipe.marks[0][1] + 3)]


def test_a_nested_function_that_rebinds_the_model(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")

    def wrap():
        nonlocal model
        model = parallelize_model(model)

    wrap()
    return model
    """
    assert write(engine(body)).found == []


def test_a_partial_and_a_lambda_are_called(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    wrap = partial(parallelize_model, parallel_mesh=self.parallel_mesh)
    freeze = lambda m: m.requires_grad_(False)
    model = wrap(model)
    freeze(model)  #! RL103
    return model
    """
    assert [f.code for f in write(engine(body)).findings] == ["RL103"]


def test_a_helper_that_returns_the_model_or_something_else(write: Write) -> None:
    methods = """
    def _wrap(self, model):
        if not self.config.distributed:
            return model
        return parallelize_model(model)
    """
    body = BUILD + "model = self._wrap(model)\nmodel.requires_grad_(False)  #! RL103\nreturn model"
    recipe = write(engine(body, methods=methods))
    assert recipe.found == recipe.marks
    assert recipe.finding("RL103").conditions == ("distributed",)


def test_recursion_ends(write: Write) -> None:
    methods = """
    def _walk(self, module):
        for child in module.children():
            self._walk(child)
        module.requires_grad_(False)
    """
    body = BUILD + "self._walk(model)\nreturn parallelize_model(model)"
    recipe = write(engine(body, methods=methods))
    assert recipe.steps() == ["load kit model", "freeze direct model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


@pytest.mark.parametrize("count", [3, 20, 60])
def test_many_branches_are_joined_and_nothing_is_cut(write: Write, count: int) -> None:
    gates = "\n".join(f"if self.config.f{i}:\n    model = self._step{i % 2}(model)" for i in range(count))
    methods = """
    def _step0(self, model):
        model.requires_grad_(False)
        return model

    def _step1(self, model):
        return self.model_kit.apply_freeze_policy(model, freeze_vit=True)
    """
    right = BUILD + gates + "\nmodel = parallelize_model(model)\nreturn model"
    recipe = write(engine(right, methods=methods))
    trace = recipe.trace()
    assert len(list(trace.of("freeze"))) == count
    assert said(trace)[-2:] == ["parallelize kit model", "optimizer kit model"]
    assert recipe.found == []
    assert unknown(trace) == []


@pytest.mark.parametrize("count", [3, 20, 60])
def test_a_fault_behind_many_branches(write: Write, count: int) -> None:
    gates = "\n".join(f"if self.config.f{i}:\n    model.requires_grad_(False)" for i in range(count))
    returns = "\n".join(f"if self.config.g{i}:\n    self.n = {i}\n    return model" for i in range(count))
    body = BUILD + gates + "\nmodel = parallelize_model(model)\n" + returns + "\nmodel.compile()\nreturn model"
    recipe = write(engine(body))
    assert [f.code for f in recipe.findings] == ["RL101"]
