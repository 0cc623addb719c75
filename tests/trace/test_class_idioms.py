"""Engines with bases and mixins, ``super()``, where the kit is kept, properties."""

from __future__ import annotations

import pytest

from .project import HEAD, INIT, OPTIMIZER, Write, dedented, engine, said, when

BUILD = 'model = self.model_kit.build_model("path")\n'

# -- helper methods and bases


def test_helper_methods_hold_the_order(write: Write) -> None:
    methods = """
    def _setup_features(self, model):
        model = self.model_kit.apply_model_compile(model)
        return self._finish(model)

    def _finish(self, model):
        model.gradient_checkpointing_enable()  #! RL113
        return model
    """
    recipe = write(
        engine(BUILD + "model = self._setup_features(model)\nreturn parallelize_model(model)", methods=methods)
    )
    trace = recipe.trace()
    assert said(trace) == [
        "load kit model",
        "compile kit model",
        "checkpointing direct model",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert [event.site.function for event in trace.events][1:3] == ["RookEngine._setup_features", "RookEngine._finish"]
    assert [(f.code, f.span.line) for f in recipe.findings] == [("RL113", recipe.marks[0][1] - 3)]


BASE = engine(BUILD + "return parallelize_model(model)", name="BaseEngine")


def test_super_returns_a_model_that_is_wrapped_already(write: Write) -> None:
    child = """
    from base import BaseEngine

    class RookEngine(BaseEngine):
        def prepare_model(self):
            model = super().prepare_model()
            model.requires_grad_(False)  #! RL103
            return model
    """
    recipe = write({"engine.py": child, "base.py": BASE})
    assert recipe.steps() == ["load kit model", "parallelize kit model", "freeze direct model", "optimizer kit model"]
    assert recipe.found == recipe.marks


def test_the_parent_is_right_by_itself(write: Write) -> None:
    assert write({"base.py": BASE}).found == []


def test_super_with_arguments_and_a_base_called_by_name(write: Write) -> None:
    child = """
    from base import BaseEngine

    class MiddleEngine(BaseEngine):
        def prepare_model(self):
            return super(MiddleEngine, self).prepare_model()

    class RookEngine(MiddleEngine):
        def prepare_model(self):
            model = BaseEngine.prepare_model(self)
            model.compile()  #! RL101
            return model
    """
    recipe = write({"engine.py": child, "base.py": BASE})
    assert recipe.steps(name="MiddleEngine") == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.steps() == ["load kit model", "parallelize kit model", "compile direct model", "optimizer kit model"]
    assert recipe.found == recipe.marks


def test_the_kit_is_created_in_the_parent_s_init(write: Write) -> None:
    base = f"{HEAD}\nclass BaseEngine(Engine):\n" + "\n".join("    " + line for line in INIT.splitlines())
    base += "\n\n" + "\n".join("    " + line for line in OPTIMIZER.splitlines()) + "\n"
    child = engine(
        BUILD + "model = parallelize_model(model)\nreturn self.model_kit.apply_freeze_policy(model)  #! RL103",
        head="from base import BaseEngine",
        bases="BaseEngine",
        init="",
        optimizer="",
    )
    recipe = write({"engine.py": child, "base.py": base})
    assert recipe.steps() == ["load kit model", "parallelize kit model", "freeze kit model", "optimizer kit model"]
    assert recipe.found == recipe.marks


MIXIN = f"""{HEAD}
class FreezeMixin:
    def prepare_model(self):
        model = super().prepare_model()
        return self.model_kit.apply_freeze_policy(model, freeze_vit=True){{mark}}

class WrapMixin:
    def prepare_model(self):
        return parallelize_model(super().prepare_model())

class PlainEngine(Engine):
    def __init__(self, config):
        super().__init__(config)
        self.model_kit = MLLMModelKit()
        self.optim_kit = OptimKit()

    def prepare_model(self):
        return self.model_kit.build_model("path")

    def prepare_optimizer(self):
        return self.optim_kit.build_optimizer(self.model)

class RookEngine({{bases}}):
    pass
"""


def test_super_follows_the_resolution_order_through_mixins(write: Write) -> None:
    source = MIXIN.format(bases="WrapMixin, FreezeMixin, PlainEngine", mark="")
    recipe = write(source)
    assert recipe.steps() == ["load kit model", "freeze kit model", "parallelize kit model", "optimizer kit model"]
    assert [f for f in recipe.findings if f.engine == "RookEngine"] == []


def test_the_mixins_the_other_way_round(write: Write) -> None:
    source = MIXIN.format(bases="FreezeMixin, WrapMixin, PlainEngine", mark="  #! RL103")
    recipe = write(source)
    assert recipe.steps() == ["load kit model", "parallelize kit model", "freeze kit model", "optimizer kit model"]
    assert recipe.found == recipe.marks


def test_a_shared_base_comes_last(write: Write) -> None:
    source = """
    from mvp_engine.engine import Engine
    from transformers import AutoModel

    class Root(Engine):
        def prepare_model(self):
            return AutoModel.from_pretrained("path")

        def prepare_optimizer(self):
            return None

    class Left(Root):
        pass

    class Right(Root):
        def prepare_model(self):
            model = super().prepare_model()
            model.compile()
            return model

    class RookEngine(Left, Right):
        pass
    """
    assert write(source).steps() == ["load direct model", "compile direct model"]


def test_a_super_call_that_leaves_the_project(write: Write) -> None:
    source = engine("model = super().prepare_model()\nmodel.requires_grad_(False)\nreturn model")
    recipe = write(source)
    assert recipe.steps() == ["freeze direct model", "optimizer kit model"]
    assert recipe.found == []


# -- the kit


KITS = {
    "attribute": ("kit = self.model_kit", "kit"),
    "inline": ("", "MLLMModelKit()"),
    "local": ("kit = MLLMModelKit()", "kit"),
    "other attribute": ("self.kit = MLLMModelKit()", "self.kit"),
    "annotated only": ("", "self.annotated_kit"),
    "class attribute": ("", "self.shared_kit"),
    "module level": ("", "KIT"),
    "getattr": ('kit = getattr(self, "model_kit")', "kit"),
    "property": ("", "self.made_kit"),
    "subclass": ("kit = RookKit()", "kit"),
    "list": ("kits = [self.model_kit]", "kits[0]"),
    "factory": ("", "make_kit()"),
}


@pytest.mark.parametrize(("line", "kit"), KITS.values(), ids=KITS)
def test_the_kit_under_another_name(write: Write, line: str, kit: str) -> None:
    head = """
    KIT = MLLMModelKit()

    class RookKit(MLLMModelKit):
        pass

    def make_kit():
        return MLLMModelKit()
    """
    methods = """
    annotated_kit: MLLMModelKit
    shared_kit = MLLMModelKit()

    @property
    def made_kit(self):
        return self.model_kit
    """
    body = f"""
    {line}
    model = {kit}.build_model("path").to(self.device)
    model = parallelize_model(model)
    model = {kit}.apply_freeze_policy(model, freeze_vit=True)  #! RL103
    return model
    """
    recipe = write(engine(body, head=head, methods=methods))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "freeze kit model", "optimizer kit model"]
    assert recipe.trace().family == "mllm"
    assert recipe.found == recipe.marks


def test_a_kit_method_kept_in_a_name(write: Write) -> None:
    body = (
        "build, freeze = self.model_kit.build_model, self.model_kit.apply_freeze_policy\nreturn freeze(build('path'))"
    )
    assert write(engine(body)).steps() == ["load kit model", "freeze kit model", "optimizer kit model"]


def test_a_subclass_of_the_kit_that_overrides_a_step_is_walked(write: Write) -> None:
    head = """
    class RookKit(MLLMModelKit):
        def apply_freeze_policy(self, model, **flags):
            model = super().apply_freeze_policy(model, **flags)
            model.gradient_checkpointing_enable()
            return model
    """
    body = "kit = RookKit()\nmodel = kit.build_model('path')\nmodel = kit.apply_freeze_policy(model)\nreturn model"
    recipe = write(engine(body, head=head))
    assert recipe.steps() == [
        "load kit model",
        "freeze kit model",
        "checkpointing direct model",
        "optimizer kit model",
    ]
    assert recipe.found == []


def test_a_kit_that_is_assigned_and_left_unused(write: Write) -> None:
    body = 'model = AutoModelForImageTextToText.from_pretrained("path")\nmodel.compile()\nreturn model'
    recipe = write(engine(body))
    assert recipe.steps() == ["load direct model", "compile direct model", "optimizer kit model"]


def test_a_data_kit_from_a_factory_is_no_model_kit(write: Write) -> None:
    init = INIT + "    self.data_kit = make_data_kit(config)\n"
    body = BUILD + "self.data_kit.build_dataset(self.config.data)\nreturn model"
    recipe = write(engine(body, init=init, head="from mvp_engine.kit import make_data_kit"))
    assert recipe.steps() == ["load kit model", "optimizer kit model"]


def test_a_kernel_kit_in_front_of_the_build_and_behind_it(write: Write) -> None:
    recipe = write(engine("LigerKernelKit().apply(self.config.model.liger)\n" + BUILD + "return model"))
    assert recipe.steps() == ["kernel_patch kit process", "load kit model", "optimizer kit model"]
    assert recipe.found == []


def test_a_kernel_kit_behind_the_build(write: Write) -> None:
    recipe = write(engine(BUILD + "LigerKernelKit().apply(self.config.model.liger)  #! RL119\nreturn model"))
    assert recipe.found == recipe.marks


# -- properties and attributes


def test_the_model_behind_a_property(write: Write) -> None:
    methods = """
    @property
    def inner(self):
        return self.model.module

    def train_pre_step(self, ctx):
        self.inner.requires_grad_(False)  #! RL102
    """
    body = 'self.model = DistributedDataParallel(self.model_kit.build_model("path"))\nreturn self.model'
    recipe = write(engine(body, methods=methods))
    assert recipe.steps() == [
        "load kit model",
        "parallelize direct model",
        "optimizer kit model",
        "freeze direct model",
    ]
    assert recipe.found == recipe.marks
    assert [c.code for c in recipe.finding("RL102").consequences] == ["RL103"]


def test_the_model_is_kept_in_an_object_of_the_project(write: Write) -> None:
    head = """
    class Holder:
        def __init__(self, model):
            self.model = model

        def wrap(self):
            self.model = parallelize_model(self.model)
            return self.model
    """
    body = (
        BUILD
        + "holder = Holder(model)\nholder.wrap()\nholder.model.requires_grad_(False)  #! RL103\nreturn holder.model"
    )
    recipe = write(engine(body, head=head))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "freeze direct model", "optimizer kit model"]
    assert recipe.found == recipe.marks


def test_static_and_class_methods(write: Write) -> None:
    methods = """
    @staticmethod
    def _freeze(model):
        model.requires_grad_(False)
        return model

    @classmethod
    def _wrap(cls, model):
        return parallelize_model(model)
    """
    recipe = write(engine(BUILD + "return self._wrap(self._freeze(model))", methods=methods))
    assert recipe.steps() == ["load kit model", "freeze direct model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


def test_a_module_of_the_project_with_the_model_inside(write: Write) -> None:
    head = """
    class Wrapper(torch.nn.Module):
        def __init__(self, path):
            super().__init__()
            self.backbone = AutoModel.from_pretrained(path)
            self.head = torch.nn.Linear(4, 4)

        def freeze(self):
            for parameter in self.backbone.parameters():
                parameter.requires_grad = False
    """
    recipe = write(engine("model = Wrapper('path')\nmodel.freeze()\nreturn parallelize_model(model)", head=head))
    assert recipe.steps() == [
        "load direct model.backbone",
        "freeze direct model.backbone",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert recipe.found == []


def test_a_module_of_the_project_that_is_frozen_inside_after_wrapping(write: Write) -> None:
    head = """
    class Wrapper(torch.nn.Module):
        def __init__(self, path):
            super().__init__()
            self.backbone = AutoModel.from_pretrained(path)

        def freeze(self):
            for parameter in self.backbone.parameters():
                parameter.requires_grad = False
    """
    body = "model = Wrapper('path')\nwrapped = parallelize_model(model)\nmodel.freeze()  #! RL103\nreturn wrapped"
    assert (recipe := write(engine(body, head=head))).found == recipe.marks


def test_an_inherited_prepare_model_under_a_flag_of_the_child(write: Write) -> None:
    base = engine(
        BUILD + "if self.freeze_first:\n    model.requires_grad_(False)\nreturn parallelize_model(model)",
        name="BaseEngine",
        methods="freeze_first = True",
    )
    child = "from base import BaseEngine\n\nclass RookEngine(BaseEngine):\n    freeze_first = False\n"
    recipe = write({"engine.py": child, "base.py": base})
    assert recipe.steps("base.py") == [
        "load kit model",
        "freeze direct model",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]


def test_an_override_of_a_helper_in_the_child_is_what_runs(write: Write) -> None:
    base = engine(
        BUILD + "model = parallelize_model(model)\nself.finish(model)  #! RL103\nreturn model",
        name="BaseEngine",
        methods="def finish(self, model):\n    pass\n",
    )
    child = dedented(
        """
        from base import BaseEngine

        class RookEngine(BaseEngine):
            def finish(self, model):
                model.requires_grad_(False)
        """
    )
    recipe = write({"engine.py": child, "base.py": base})
    assert recipe.steps("base.py") == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.steps() == ["load kit model", "parallelize kit model", "freeze direct model", "optimizer kit model"]
    assert recipe.found == recipe.marks
    assert recipe.finding("RL103").engine == "RookEngine"


def test_two_branches_of_an_attribute(write: Write) -> None:
    body = """
    if self.config.big:
        self.net = AutoModel.from_pretrained("big")
    else:
        self.net = AutoModel.from_pretrained("small")
    self.net = parallelize_model(self.net)
    self.net.requires_grad_(False)  #! RL103
    return self.net
    """
    recipe = write(engine(body))
    assert when(recipe.trace())[:4] == [
        ("load", ("big",)),
        ("load", ("not big",)),
        ("parallelize", ("big",)),
        ("parallelize", ("not big",)),
    ]
    assert recipe.found == recipe.marks
    assert recipe.finding("RL103").conditions == ()
