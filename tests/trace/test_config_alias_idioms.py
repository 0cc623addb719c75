"""Configuration paths through aliases, copies, defaults and gates in helpers."""

from __future__ import annotations

import pytest

from .project import Write, engine, traits, when

BUILD = 'model = self.model_kit.build_model("path")\n'
GATED = "if {test}:\n    model = self.model_kit.apply_model_compile(model)\nreturn parallelize_model(model)"
ENABLED = ("model.compile.enabled",)

ALIASES = {
    "plain": ("", "self.config.model.compile.enabled"),
    "section": ("cfg = self.config.model", "cfg.compile.enabled"),
    "section of a section": ("cfg = self.config.model\nc = cfg.compile", "c.enabled"),
    "value": ("on = self.config.model.compile.enabled", "on"),
    "bool of the value": ("on = bool(self.config.model.compile.enabled)", "on"),
    "walrus": ("cfg = self.config.model", "(c := cfg.compile).enabled"),
    "walrus of the value": ("", "(on := self.config.model.compile.enabled)"),
    "whole config": ("config = self.config", "config.model.compile.enabled"),
    "tuple": ("cfg, other = self.config.model, self.config.optim", "cfg.compile.enabled"),
    "getattr": ("", 'getattr(self.config.model.compile, "enabled", False)'),
    "getattr of a section": ('c = getattr(self.config.model, "compile", None)', "c.enabled"),
    "item": ("", 'self.config["model"]["compile"]["enabled"]'),
    "get": ("", 'self.config.model.compile.get("enabled", False)'),
    "select": ("", 'OmegaConf.select(self.config, "model.compile.enabled", default=False)'),
    "model_copy": ("cfg = self.config.model.model_copy(deep=True)", "cfg.compile.enabled"),
    "deepcopy": ("cfg = deepcopy(self.config).model", "cfg.compile.enabled"),
    "model_dump": ("cfg = self.config.model.compile.model_dump()", 'cfg["enabled"]'),
    "is True": ("", "self.config.model.compile.enabled is True"),
    "== True": ("", "self.config.model.compile.enabled == True"),
    "not not": ("", "not not self.config.model.compile.enabled"),
    "!= False": ("", "self.config.model.compile.enabled != False"),
    "kept on self": ("self.cfg = self.config.model", "self.cfg.compile.enabled"),
    "conditional expression": ("on = True if self.config.model.compile.enabled else False", "on"),
}


@pytest.mark.parametrize(("lines", "test"), ALIASES.values(), ids=ALIASES)
def test_an_alias_is_the_path_it_stands_for(write: Write, lines: str, test: str) -> None:
    body = lines + "\n" + BUILD + GATED.format(test=test)
    trace = write(engine(body, head="from omegaconf import OmegaConf")).trace()
    assert when(trace) == [("load", ()), ("compile", ENABLED), ("parallelize", ()), ("optimizer", ())]
    (event,) = trace.of("compile")
    assert event.guard.decide({"model.compile.enabled": True}) is True
    assert event.guard.decide({"model.compile.enabled": False}) is False


@pytest.mark.parametrize(("lines", "test"), ALIASES.values(), ids=ALIASES)
def test_two_tests_of_one_path_are_correlated_through_an_alias(write: Write, lines: str, test: str) -> None:
    body = f"""
    {{lines}}
    model = self.model_kit.build_model("path")
    if not self.config.model.compile.enabled:
        model = parallelize_model(model)
    if {test}:
        model = self.model_kit.apply_model_compile(model)
        model = parallelize_model(model)
    return model
    """
    source = engine(body.replace("{lines}", lines.replace("\n", "\n    ")), head="from omegaconf import OmegaConf")
    assert write(source).found == []


def test_what_is_not_correlated_meets(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    if not self.config.model.compile.enabled:
        model = parallelize_model(model)
    if self.config.model.compile.other:
        model = self.model_kit.apply_model_compile(model)  #! RL101
    return model
    """
    recipe = write(engine(body))
    assert recipe.found == recipe.marks
    assert recipe.finding("RL101").conditions == ("model.compile.other", "not model.compile.enabled")


def test_the_alias_is_kept_in_init(write: Write) -> None:
    init = """
    def __init__(self, config):
        super().__init__(config)
        self.model_kit = MLLMModelKit()
        self.optim_kit = OptimKit()
        self.settings = self.config.model
    """
    body = BUILD + GATED.format(test="self.settings.compile.enabled")
    assert when(write(engine(body, init=init)).trace())[1] == ("compile", ENABLED)


def test_the_alias_is_a_parameter_of_a_helper_method(write: Write) -> None:
    methods = """
    def _compile(self, model, settings, *, enabled=False):
        if not enabled or settings.skip:
            return model
        return self.model_kit.apply_model_compile(model)
    """
    body = """
    model = self.model_kit.build_model("path")
    c = self.config.model.compile
    model = self._compile(model, c, enabled=c.enabled)
    return parallelize_model(model)
    """
    recipe = write(engine(body, methods=methods))
    assert when(recipe.trace())[1:3] == [
        ("compile", ("model.compile.enabled", "not model.compile.skip")),
        ("parallelize", ()),
    ]
    assert recipe.found == []


def test_a_gate_with_and_or_and_not(write: Write) -> None:
    body = BUILD + GATED.format(test="self.config.model.a and (self.config.model.b or not self.config.model.c)")
    (event,) = write(engine(body)).trace().of("compile")
    for a in (False, True):
        for b in (False, True):
            for c in (False, True):
                values = {"model.a": a, "model.b": b, "model.c": c}
                assert event.guard.decide(values) is (a and (b or not c))


@pytest.mark.parametrize(
    ("test", "shown"),
    [
        ('self.config.parallel.type == "ddp"', "parallel.type == 'ddp'"),
        ('self.config.parallel.type != "ddp"', "parallel.type != 'ddp'"),
        ('self.config.parallel.type in ("ddp", "fsdp")', "parallel.type in ('ddp', 'fsdp')"),
        ('self.config.parallel.type not in ["ddp", "fsdp"]', "parallel.type not in ('ddp', 'fsdp')"),
        ("self.config.parallel.mesh is None", "parallel.mesh is None"),
        ("self.config.parallel.mesh is not None", "parallel.mesh is not None"),
        ("self.config.parallel.mesh.shard > 1", "parallel.mesh.shard > 1"),
        ("1 < self.config.parallel.mesh.shard", "parallel.mesh.shard > 1"),
        ("not self.config.parallel.mesh.shard > 1", "parallel.mesh.shard <= 1"),
    ],
)
def test_comparisons_are_shown_as_they_are_meant(write: Write, test: str, shown: str) -> None:
    assert when(write(engine(BUILD + GATED.format(test=test))).trace())[1] == ("compile", (shown,))


def test_a_test_of_a_constant_alternative(write: Write) -> None:
    body = """
    kind = "wrap" if self.config.model.wrap else "plain"
    model = self.model_kit.build_model("path")
    if kind == "wrap":
        model = parallelize_model(model)
    if kind == "plain":
        model.requires_grad_(False)
    return model
    """
    recipe = write(engine(body))
    assert when(recipe.trace())[1:3] == [("parallelize", ("model.wrap",)), ("freeze", ("not model.wrap",))]
    assert recipe.found == []


def test_a_value_that_the_recipe_assigns_itself(write: Write) -> None:
    body = """
    self.config.model.compile.enabled = False
    model = parallelize_model(self.model_kit.build_model("path"))
    if self.config.model.compile.enabled:
        model = self.model_kit.apply_model_compile(model)
    return model
    """
    recipe = write(engine(body))
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]


def test_a_section_as_keyword_arguments(write: Write) -> None:
    body = BUILD + "model = self.model_kit.apply_freeze_policy(model, **self.config.model.freeze)\nreturn model"
    assert write(engine(body)).steps() == ["load kit model", "freeze kit model", "optimizer kit model"]


def test_a_nested_section_as_gate_is_recorded_as_the_section(write: Write) -> None:
    body = BUILD + GATED.format(test="self.config.model.compile")
    (event,) = write(engine(body)).trace().of("compile")
    (literal,) = event.guard.common
    assert (literal[0].path, literal[0].op, literal[1]) == ("model.compile", "truthy", True)


def test_stages_settle_the_gates_of_a_finding(write: Write) -> None:
    body = """
    model = parallelize_model(self.model_kit.build_model("path"))
    if self.config.model.compile.enabled:
        model = self.model_kit.apply_model_compile(model)  #! RL101
    return model
    """
    stage = "engine: RookEngine\nmodel:\n  compile:\n    enabled: {}\nparallel:\n  mesh:\n    shard: {}\n"
    recipe = write(
        {
            "engine/rook_engine.py": engine(body),
            "configs/one.yaml": stage.format("true", 1),
            "configs/two.yaml": stage.format("false", 1),
            "configs/three.yaml": stage.format("true", 8),
        }
    )
    assert recipe.found == recipe.marks
    finding = recipe.finding("RL101")
    assert sorted(finding.stages) == ["one.yaml", "three.yaml"]
    assert finding.severity.name == "error"


def test_prefix_arguments_from_the_configuration_do_not_gate(write: Write) -> None:
    body = BUILD + "return self.model_kit.apply_freeze_policy(model, freeze_vit=self.config.model.freeze_vit)"
    trace = write(engine(body)).trace()
    assert traits(trace, "freeze", "kind") == ["freeze"]
    assert when(trace)[1] == ("freeze", ())
