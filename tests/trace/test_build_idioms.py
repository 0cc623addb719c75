"""Where the order comes from, and the ways in which a model is built and its weights are loaded."""

from __future__ import annotations

from .project import Write, chain, engine, lines, said, steps_on, unknown, when

# -- the life of an engine


def test_hooks_run_in_life_order_not_in_file_order(write: Write) -> None:
    recipe = write(
        """
        from mvp_engine.distributed.parallelize import parallelize_model
        from mvp_engine.engine import Engine
        from mvp_engine.kit import MLLMModelKit, OptimKit

        class RookEngine(Engine):
            def prepare_optimizer(self):
                return self.optim_kit.build_optimizer(self.model)

            def prepare_model(self):
                model = self.model_kit.build_model("path")
                return parallelize_model(model, parallel_mesh=self.parallel_mesh)

            def __init__(self, config):
                super().__init__(config)
                self.model_kit = MLLMModelKit()
                self.optim_kit = OptimKit()
        """
    )
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.trace().hooks == ("__init__", "prepare_model", "prepare_optimizer")
    assert recipe.found == recipe.marks == []


def test_an_optimizer_of_a_hook_that_runs_later_is_no_fault_on_the_lines_above(write: Write) -> None:
    recipe = write(
        engine(
            """
            model = self.model_kit.build_model("path")
            self.optimizer = self.optim_kit.build_optimizer(model)  #! RL118
            return parallelize_model(model)
            """,
            optimizer="",
        )
    )
    assert recipe.steps() == ["load kit model", "optimizer kit model", "parallelize kit model"]
    assert recipe.found == recipe.marks


def test_a_freeze_in_a_training_step_hook_comes_after_the_optimizer(write: Write) -> None:
    recipe = write(
        engine(
            """
            model = self.model_kit.build_model("path")
            return model
            """,
            methods="""
            def train_pre_step(self, ctx):
                self.model_kit.apply_freeze_policy(self.model, freeze_vit=True)  #! RL102
            """,
        )
    )
    assert recipe.steps() == ["load kit model", "optimizer kit model", "freeze kit model"]
    assert [event.hook for event in recipe.trace().events] == ["prepare_model", "prepare_optimizer", "train_pre_step"]
    assert recipe.found == recipe.marks


def test_an_own_before_train_sets_its_own_order(write: Write) -> None:
    own = """
    def before_train(self):
        self.model = self.prepare_model()
        {first}
        {second}
    """
    wrap = "self.model = parallelize_model(self.model)"
    build = "self.optimizer = self.prepare_optimizer()"
    body = 'return self.model_kit.build_model("path")'
    right = write({"engine.py": engine(body, methods=own.format(first=wrap, second=build))})
    assert right.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert right.found == []


def test_an_own_before_train_in_the_wrong_order(write: Write) -> None:
    own = """
    def before_train(self):
        self.model = self.prepare_model()
        self.optimizer = self.prepare_optimizer()  #! RL118
        self.model = parallelize_model(self.model)
    """
    recipe = write(engine('return self.model_kit.build_model("path")', methods=own))
    assert recipe.found == recipe.marks


def test_before_train_that_calls_the_base_first(write: Write) -> None:
    own = """
    def before_train(self):
        super().before_train()
        self.model.requires_grad_(False)  #! RL102
    """
    recipe = write(engine('return self.model_kit.build_model("path")', methods=own))
    assert recipe.steps() == ["load kit model", "optimizer kit model", "freeze direct model"]
    assert recipe.found == recipe.marks


def test_prepare_model_reads_self_model_before_it_is_assigned(write: Write) -> None:
    recipe = write(
        engine(
            """
            self.model.requires_grad_(False)  #! RL202
            model = self.model_kit.build_model("path")
            return model
            """
        )
    )
    assert recipe.found == recipe.marks


def test_self_model_that_the_hook_assigned_itself_is_read(write: Write) -> None:
    recipe = write(
        engine(
            """
            self.model = self.model_kit.build_model("path")
            self.model.requires_grad_(False)
            return self.model
            """
        )
    )
    assert recipe.steps() == ["load kit model", "freeze direct model", "optimizer kit model"]
    assert recipe.found == []


def test_local_name_and_attribute_are_one_object(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    parallelized_model = parallelize_model(model)
    self.model = parallelized_model
    self.loader.attach(self.model)
    return parallelized_model
    """
    recipe = write(engine(body))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


def test_a_freeze_through_the_alias_of_the_wrapped_model(write: Write) -> None:
    recipe = write(
        engine(
            """
            model = self.model_kit.build_model("path")
            parallelized_model = parallelize_model(model)
            self.model = parallelized_model
            self.model_kit.apply_freeze_policy(self.model, freeze_vit=True)  #! RL103
            return parallelized_model
            """
        )
    )
    assert recipe.found == recipe.marks


def test_a_load_inside_prepare_model_runs_before_the_optimizer_hook(write: Write) -> None:
    recipe = write(
        engine(
            """
            self.model = self.model_kit.build_model("path")
            self.load(self.config.runtime.resume)
            return self.model
            """,
            methods="""
            def load(self, path):
                self.model.load_state_dict(torch.load(path))
                self.optimizer.load_state_dict(torch.load(path))
            """,
        )
    )
    assert recipe.steps() == ["load kit model", "optimizer kit model"]
    assert recipe.found == []


# -- build


def test_to_device_is_chained_on_the_build(write: Write) -> None:
    body = """
    model = self.model_kit.build_model(
        self.config.model.path,
        trust_remote_code=getattr(self.config.model, "trust_remote_code", True),
        torch_dtype=getattr(self.config.model, "torch_dtype", None),
        attn_implementation=self.config.model.attn_implementation,
    ).to(self.device)
    model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)
    return model
    """
    recipe = write(engine(body))
    assert recipe.steps() == ["load kit model", "freeze kit model", "optimizer kit model"]
    assert recipe.trace().family == "mllm"


def test_more_transparent_calls_are_chained(write: Write) -> None:
    recipe = write(
        engine(
            """
            model = AutoModelForCausalLM.from_pretrained("path").to(self.device).train().bfloat16()
            wrapped = DistributedDataParallel(model.cuda())
            wrapped.requires_grad_(False)  #! RL103
            return wrapped
            """
        )
    )
    assert recipe.steps() == [
        "load direct model",
        "parallelize direct model",
        "freeze direct model",
        "optimizer kit model",
    ]
    assert recipe.found == recipe.marks


def test_the_text_kit_is_not_the_multimodal_kit(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    return self.model_kit.apply_freeze_policy(model, freeze_llm=self.config.model.freeze_llm)
    """
    init = "def __init__(self, config):\n    self.model_kit = LLMModelKit()\n    self.optim_kit = OptimKit()\n"
    recipe = write(engine(body, init=init))
    assert recipe.steps() == ["load kit model", "freeze kit model", "optimizer kit model"]
    assert recipe.trace().family == "llm"
    assert recipe.found == []


BUILDER = """
import torch
from transformers import AutoModelForImageTextToText

def patch_rope(model):
    model.model.rotary_emb.forward = fast_rope

def freeze_model(model, settings):
    if settings.freeze_vit:
        for parameter in model.visual.parameters():
            parameter.requires_grad = False

def upcast(model):
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.to(torch.float32)

def build(settings):
    model = AutoModelForImageTextToText.from_pretrained(settings.path)
    {lines}
    return model

def fast_rope(x):
    return x
"""


def test_a_builder_of_the_recipe_s_own_package_holds_the_order(write: Write) -> None:
    calls = (
        "patch_rope(model)",
        "freeze_model(model, settings)",
        "upcast(model)",
        "model.gradient_checkpointing_enable()",
    )
    order = "\n    ".join(calls)
    files = {
        "engine/rook_engine.py": engine(
            "return parallelize_model(build(self.config.model).to(self.device))", head="from ..model import build"
        ),
        "engine/__init__.py": "",
        "model/__init__.py": "from .rook import build\n",
        "model/rook.py": BUILDER.format(lines=order),
        "__init__.py": "",
    }
    recipe = write(files)
    trace = recipe.trace("engine/rook_engine.py")
    assert said(trace) == [
        "load direct model",
        "patch recipe model.model.rotary_emb",
        "freeze direct model.visual",
        "upcast recipe model",
        "checkpointing direct model",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert [event.site.span.path for event in trace.events] == ["model/rook.py"] * 5 + ["engine/rook_engine.py"] * 2
    assert chain(trace, "freeze") == [["build(self.config.model)", "freeze_model(model, settings)"]]
    assert when(trace)[2] == ("freeze", ("model.freeze_vit",))
    assert recipe.found == []


def test_a_builder_with_the_order_wrong(write: Write) -> None:
    order = "upcast(model)  #! RL105\n    freeze_model(model, settings)"
    recipe = write(
        {
            "engine/rook_engine.py": engine("return build(self.config.model)", head="from ..model import build"),
            "engine/__init__.py": "",
            "model/__init__.py": "from .rook import build\n",
            "model/rook.py": BUILDER.format(lines=order),
            "__init__.py": "",
        }
    )
    assert recipe.found == recipe.marks


TWO_WAYS = """
from transformers import AutoModelForImageClassification, ViTForImageClassification

def build_vit(settings):
    if settings.path:
        return AutoModelForImageClassification.from_pretrained(settings.path)
    return AutoModelForImageClassification.from_config(settings.hf_config)
"""


def test_exclusive_builds_are_no_double_build(write: Write) -> None:
    recipe = write(
        {
            "engine.py": engine(
                "model = build_vit(self.config.model)\nreturn model", head="from model import build_vit"
            ),
            "model.py": TWO_WAYS,
        }
    )
    trace = recipe.trace()
    assert said(trace) == ["load direct model", "load direct model", "optimizer kit model", "optimizer kit model"]
    assert when(trace)[:2] == [("load", ("model.path",)), ("load", ("not model.path",))]
    assert recipe.found == []


def test_a_double_build_for_one_role(write: Write) -> None:
    recipe = write(
        engine(
            """
            model = AutoModelForCausalLM.from_pretrained("path")
            model = AutoModelForCausalLM.from_pretrained("other")  #! RL201
            return model
            """
        )
    )
    assert recipe.found == recipe.marks


def test_a_double_build_through_a_builder(write: Write) -> None:
    recipe = write(
        {
            "engine.py": engine(
                """
                self.model = build_vit(self.config.model)
                if self.config.model.retry:
                    self.model = build_vit(self.config.model)  #! RL201
                return self.model
                """,
                head="from model import build_vit",
            ),
            "model.py": TWO_WAYS,
        }
    )
    assert recipe.found == recipe.marks


def test_a_toy_model_from_a_dataclass(write: Write) -> None:
    recipe = write(
        {
            "engine.py": engine(
                "model = build_toy(ToyConfig(width=4))\nreturn parallelize_model(model)",
                head="from model import ToyConfig, build_toy",
                optimizer="def prepare_optimizer(self):\n    return torch.optim.SGD(self.model.parameters())",
            ),
            "model.py": """
            from dataclasses import dataclass
            import torch

            @dataclass
            class ToyConfig:
                width: int = 8

            class Toy(torch.nn.Module):
                def __init__(self, config):
                    super().__init__()
                    self.layer = torch.nn.Linear(config.width, config.width)

            def build_toy(config):
                return Toy(config)
            """,
        }
    )
    assert recipe.steps() == ["parallelize kit model", "optimizer direct model"]
    assert recipe.trace().family == ""
    assert recipe.found == []


def test_from_pretrained_of_a_model_class_of_the_project(write: Write) -> None:
    recipe = write(
        {
            "engine.py": engine(
                """
                model = FinchModel.from_pretrained(self.config.model.path).to(self.device)
                model.mask_embedding = None
                wrapped = DistributedDataParallel(model)
                model.requires_grad_(False)  #! RL103
                return wrapped
                """,
                head="from model import FinchModel",
            ),
            "model.py": """
            from transformers import PreTrainedModel

            class FinchModel(PreTrainedModel):
                pass
            """,
        }
    )
    assert steps_on(recipe.trace(), "model") == ["load", "parallelize", "freeze", "optimizer"]
    assert recipe.found == recipe.marks


def test_a_constructor_from_nested_config_objects(write: Write) -> None:
    recipe = write(
        engine(
            """
            vision = SiglipVisionConfig(**self.config.model.vision)
            text = SiglipTextConfig(**self.config.model.text)
            model = SiglipModel(SiglipConfig(vision_config=vision, text_config=text))
            model = torch.compile(model)
            return DistributedDataParallel(model.to(self.device))
            """,
            head="from transformers import SiglipConfig, SiglipModel, SiglipTextConfig, SiglipVisionConfig",
        )
    )
    assert recipe.steps() == ["compile direct model", "parallelize direct model", "optimizer kit model"]
    assert recipe.found == []


def test_a_tuple_result(write: Write) -> None:
    recipe = write(
        engine(
            """
            model, loading_info = AutoModelForCausalLM.from_pretrained("path", output_loading_info=True)
            model = parallelize_model(model)
            model.requires_grad_(False)  #! RL103
            return model
            """
        )
    )
    assert recipe.steps() == [
        "load direct model",
        "parallelize kit model",
        "freeze direct model",
        "optimizer kit model",
    ]
    assert recipe.found == recipe.marks


TOWER = """
import torch
from transformers import AutoModel

class Tower(torch.nn.Module):
    def __init__(self, path, frozen):
        super().__init__()
        self.encoder = AutoModel.from_pretrained(path)
        if frozen:
            for parameter in self.encoder.parameters():
                parameter.requires_grad = False

def swap_tower(model, path="tower", frozen=True):
    model.model.visual = Tower(path, frozen)
    return model
"""


def test_a_component_loaded_in_the_constructor_that_a_patch_installs(write: Write) -> None:
    recipe = write(
        {
            "engine.py": engine(
                """
                model = self.model_kit.build_model("path")
                model = self.model_kit.apply_model_patches(model, [swap_tower])
                model = self.model_kit.apply_freeze_policy(model, freeze_llm=True)
                return model
                """,
                head="from model import swap_tower",
            ),
            "model.py": TOWER,
        }
    )
    assert recipe.steps() == [
        "load kit model",
        "load direct model.model.visual.encoder",
        "freeze direct model.model.visual.encoder",
        "patch kit model",
        "freeze kit model",
        "optimizer kit model",
    ]
    assert recipe.found == []


def test_a_deepcopied_teacher_is_no_second_build_and_no_student(write: Write) -> None:
    recipe = write(
        engine(
            """
            student = AutoModelForCausalLM.from_pretrained("path")
            teacher = deepcopy(student)
            teacher.requires_grad_(False)
            wrapped = parallelize_model(student)
            teacher.eval().requires_grad_(False)
            self.teacher = teacher
            return wrapped
            """
        )
    )
    assert recipe.steps() == [
        "load direct model",
        "freeze direct teacher",
        "parallelize kit model",
        "freeze direct teacher",
        "optimizer kit model",
    ]
    assert recipe.found == []


def test_the_fault_on_the_student_beside_a_teacher(write: Write) -> None:
    recipe = write(
        engine(
            """
            student = AutoModelForCausalLM.from_pretrained("path")
            teacher = deepcopy(student)
            wrapped = parallelize_model(student)
            teacher.requires_grad_(False)
            wrapped.requires_grad_(False)  #! RL103
            return wrapped
            """
        )
    )
    assert recipe.found == recipe.marks


# -- loading weights


def test_weights_loaded_between_the_steps_are_no_second_build(write: Write) -> None:
    recipe = write(
        engine(
            """
            model = self.model_kit.build_model("path")
            model = self.token_loss_kit.apply_chunked_token_loss_patch(model)
            model.load_state_dict(torch.load("projector.pt"), strict=False)
            model = self.model_kit.apply_freeze_policy(model, freeze_llm=True)
            return parallelize_model(model)
            """
        )
    )
    assert recipe.steps() == [
        "load kit model",
        "token_loss kit model",
        "freeze kit model",
        "parallelize kit model",
        "optimizer kit model",
    ]
    assert unknown(recipe.trace()) == []
    assert recipe.found == []


def test_weights_loaded_into_the_inner_module_after_wrapping(write: Write) -> None:
    recipe = write(
        engine(
            """
            model = self.model_kit.build_model("path")
            self.model = parallelize_model(model)
            state = torch.load("last.pt")
            if hasattr(self.model, "module"):
                self.model.module.load_state_dict(state)
            else:
                self.model.load_state_dict(state)
            return self.model
            """
        )
    )
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert unknown(recipe.trace()) == []
    assert recipe.found == []


def test_meta_device_weights_are_loaded_after_sharding(write: Write) -> None:
    recipe = write(
        engine(
            """
            with torch.device("meta"):
                model = AutoModelForCausalLM.from_config(self.hf_config)
            fully_shard(model)
            model.to_empty(device="cuda")
            model.load_state_dict(torch.load("full.pt"), assign=True)
            return model
            """,
            head="from torch.distributed.fsdp import fully_shard",
        )
    )
    assert recipe.steps() == ["load direct model", "parallelize direct model", "optimizer kit model"]
    assert unknown(recipe.trace()) == []
    assert recipe.found == []


def test_a_build_in_the_training_step(write: Write) -> None:
    recipe = write(
        engine(
            'return self.model_kit.build_model("path")',
            methods="""
            def forward_step(self, ctx):
                judge = AutoModelForCausalLM.from_pretrained("judge")  #! RL205
                return judge(ctx.data)
            """,
        )
    )
    assert recipe.found == recipe.marks
    assert lines(recipe.trace(), "load")[1] == ("engine.py", 'AutoModelForCausalLM.from_pretrained("judge")')
