"""The same steps in the same order, written in the many ways in which recipes write them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from recipe_lint.config.load import Resolver
from recipe_lint.lint.finding import Finding
from recipe_lint.lint.pack import Pack, load_pack
from recipe_lint.lint.result import Result
from recipe_lint.lint.run import lint


@dataclass(frozen=True)
class Step:
    """One step. ``result`` says what its call gives back: the model, an optimizer, or nothing where it is a loop."""

    name: str
    function: str
    arguments: str = ""
    result: str = "model"


STEPS = {
    step.name: step
    for step in (
        Step("patch", "{engine}.model_kit.apply_model_patches", "patch_fns=[put_tower_in, replace_forward]"),
        Step("token_loss", "{engine}.loss_kit.apply_chunked_token_loss_patch"),
        Step("freeze", "{engine}.model_kit.apply_freeze_policy", "freeze_vit=True, freeze_llm=False"),
        Step("upcast", "keep_in_float32", "", "nothing"),
        Step("checkpointing", "{engine}.model_kit.apply_gradient_checkpointing", "use_reentrant=False"),
        Step("compile", "{engine}.model_kit.apply_model_compile", 'backend="inductor"'),
        Step("parallelize", "DDP", "device_ids=[0]"),
        Step("optimizer", "{engine}.optim_kit.build_optimizer", "lr=1e-4", "optimizer"),
    )
}

# A line of a recipe and the step whose call begins on it, "" for none.
Line = tuple[str, str]

_HEADER = """\
import logging
from functools import partial
from types import MethodType

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from mvp_engine.engine import Engine
from mvp_engine.kit import MLLMModelKit, OptimKit, TokenNormedLossKit
"""

_HELPERS = """\
class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 8)


def forward(self, *args, **kwargs):
    return self.model(*args, **kwargs)


def put_tower_in(model):
    model.model.visual = Tower()


def replace_forward(model):
    model.forward = MethodType(forward, model)


def keep_in_float32(model):
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    return model


def keep_optimizer(model, engine):
    engine.optimizer_ = engine.optim_kit.build_optimizer(model, lr=1e-4)
    return model
"""

_IN_HELPERS = {
    "    for parameter in model.parameters():": "upcast",
    "    engine.optimizer_ = engine.optim_kit.build_optimizer(model, lr=1e-4)": "optimizer",
}

_INIT = """\
def __init__(self, config):
    super().__init__(config)
    self.model_kit = MLLMModelKit()
    self.loss_kit = TokenNormedLossKit()
    self.optim_kit = OptimKit()
"""

_LOAD = "model = self.model_kit.build_model(self.config.model.path)"


@dataclass
class Recipe:
    """Files of a recipe by path, each with the steps that its lines begin. ``conditions`` are what a finding names."""

    files: dict[str, list[Line]] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Write it below ``folder``."""
        for name, lines in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{text}\n" for text, _ in lines), encoding="utf-8")

    def place(self, step: str) -> tuple[str, int]:
        """File and line at which the call of a step begins."""
        found = [
            (name, number)
            for name, lines in self.files.items()
            for number, (_, mark) in enumerate(lines, 1)
            if step in mark.split()
        ]
        assert len(found) == 1, (step, found)
        return found[0]


# ------------------------------------------------------------------------------------------------------- small parts


def plain(text: str) -> list[Line]:
    """Lines that begin no step."""
    return [(line, "") for line in text.splitlines()]


def indent(lines: Iterable[Line], levels: int = 1) -> list[Line]:
    """The same lines further in."""
    return [(textwrap.indent(text, "    " * levels), mark) for text, mark in lines]


def function(step: Step, engine: str = "self") -> str:
    """The callee of a step."""
    return step.function.format(engine=engine)


def expression(step: Step, model: str, engine: str = "self") -> str:
    """The call of a step on ``model``."""
    more = f", {step.arguments}" if step.arguments else ""
    return f"{function(step, engine)}({model}{more})"


def statements(step: Step, model: str = "model", engine: str = "self") -> list[Line]:
    """A step as statements: most assign the model again, the upcast is a loop, the optimizer goes to the engine."""
    if step.name == "upcast":
        return [
            (f"for parameter in {model}.parameters():", step.name),
            ("    if parameter.requires_grad:", ""),
            ("        parameter.data = parameter.data.float()", ""),
        ]
    target = f"{engine}.optimizer_" if step.result == "optimizer" else model
    return [(f"{target} = {expression(step, model, engine)}", step.name)]


def body(steps: Sequence[Step], model: str = "model", engine: str = "self") -> list[Line]:
    """Steps one after the other."""
    return [line for step in steps for line in statements(step, model, engine)]


def as_function(step: Step) -> str:
    """A callable that takes the model, does the step and gives the model back."""
    if step.result == "optimizer":
        return "partial(keep_optimizer, engine=self)"
    return f"partial({function(step)}, {step.arguments})" if step.arguments else function(step)


def module(*parts: list[Line]) -> list[Line]:
    """A module of parts that two blank lines keep apart."""
    lines: list[Line] = []
    for part in parts:
        lines += ([("", ""), ("", "")] if lines else []) + part
    return lines


def engine_class(prepare: list[Line], methods: list[Line] | None = None, name: str = "GeneratedEngine") -> list[Line]:
    """An engine whose ``prepare_model`` loads a model, does ``prepare`` and returns ``model``."""
    hook = [("def prepare_model(self):", ""), *indent([(_LOAD, ""), *prepare, ("return model", "")])]
    more = [("", ""), *indent(methods)] if methods else []
    return [(f"class {name}(Engine):", ""), *indent(plain(_INIT)), ("", ""), *indent(hook), *more]


def one_file(prepare: list[Line], methods: list[Line] | None = None, **more: object) -> Recipe:
    """A recipe with all in its engine file."""
    lines = module(plain(_HEADER), plain(_HELPERS), engine_class(prepare, methods))
    return Recipe({"engine/engine.py": lines}, **more)  # type: ignore[arg-type]


def gated(gate: str, lines: list[Line]) -> list[Line]:
    """Lines behind a gate of the configuration."""
    return [(f"if self.config.model.{gate}.enabled:", ""), *indent(lines)]


# ------------------------------------------------------------------------------------------------------------ dresses

Dress = Callable[[Sequence[Step]], Recipe]


def straight(steps: Sequence[Step]) -> Recipe:
    return one_file(body(steps))


def _some_gated(steps: Sequence[Step], gates: Mapping[int, str]) -> Recipe:
    """Every other step behind a gate, ``gates`` by the remainder of its number."""
    lines: list[Line] = []
    for number, step in enumerate(steps):
        gate = gates.get(number % 2)
        lines += statements(step) if gate is None else gated(gate, statements(step))
    return one_file(lines, conditions=tuple(sorted({f"model.{gate}.enabled" for gate in gates.values()})))


def gate_first(steps: Sequence[Step]) -> Recipe:
    return _some_gated(steps, {0: "x"})


def gate_second(steps: Sequence[Step]) -> Recipe:
    return _some_gated(steps, {1: "x"})


def gate_each(steps: Sequence[Step]) -> Recipe:
    return _some_gated(steps, {0: "x", 1: "x"})


def gates_differ(steps: Sequence[Step]) -> Recipe:
    return _some_gated(steps, {0: "x", 1: "y"})


def gate_around(steps: Sequence[Step]) -> Recipe:
    return one_file(gated("x", body(steps)), conditions=("model.x.enabled",))


def gate_early_return(steps: Sequence[Step]) -> Recipe:
    lines: list[Line] = [("if not self.config.model.x.enabled:", ""), ("    return model", ""), *body(steps)]
    return one_file(lines, conditions=("model.x.enabled",))


def methods_of_class(steps: Sequence[Step]) -> Recipe:
    calls: list[Line] = []
    methods: list[Line] = []
    for step in steps:
        calls.append((f"model = self._{step.name}(model)", step.name))
        inner = [(text, "") for text, _ in statements(step)]
        methods += [(f"def _{step.name}(self, model):", ""), *indent([*inner, ("return model", "")]), ("", "")]
    return one_file(calls, methods[:-1])


def imported_builder(steps: Sequence[Step]) -> Recipe:
    head: list[Line] = [
        ("def build(engine, config):", ""),
        ("    model = engine.model_kit.build_model(config.model.path)", ""),
    ]
    builder = [*head, *indent([*body(steps, engine="engine"), ("return model", "")])]
    engine: list[Line] = [
        ("class GeneratedEngine(Engine):", ""),
        *indent(plain(_INIT)),
        ("", ""),
        ("    def prepare_model(self):", ""),
        ("        return build(self, self.config)", ""),
    ]
    imports = plain(_HEADER + "\nfrom ..model.builder import build\n")
    return Recipe(
        {
            "engine/engine.py": module(imports, engine),
            "model/builder.py": module(plain(_HEADER), plain(_HELPERS), builder),
        }
    )


def kits_of_the_builder(steps: Sequence[Step]) -> Recipe:
    """The builder makes its own kits, and hands the optimizer back beside the model."""
    kits = {
        "{engine}.model_kit": "MLLMModelKit()",
        "{engine}.loss_kit": "TokenNormedLossKit()",
        "{engine}.optim_kit": "OptimKit()",
    }
    own = []
    for step in steps:
        callee = step.function
        for kit, made in kits.items():
            callee = callee.replace(kit, made)
        lines = statements(Step(step.name, callee, step.arguments, step.result))
        own += [(text.replace("self.optimizer_", "optimizer"), mark) for text, mark in lines]
    builder: list[Line] = [
        ("def build(config):", ""),
        ("    optimizer = None", ""),
        ("    model = MLLMModelKit().build_model(config.model.path)", ""),
        *indent([*own, ("return model, optimizer", "")]),
    ]
    engine: list[Line] = [
        ("class GeneratedEngine(Engine):", ""),
        ("    def prepare_model(self):", ""),
        ("        model, self.optimizer_ = build(self.config)", ""),
        ("        return model", ""),
    ]
    return Recipe(
        {
            "engine/engine.py": module(plain(_HEADER + "\nfrom ..model import build\n"), engine),
            "model/__init__.py": plain("from .builder import build\n"),
            "model/builder.py": module(plain(_HEADER), plain(_HELPERS), builder),
        }
    )


def base_in_another_file(steps: Sequence[Step]) -> Recipe:
    engine = plain("class GeneratedEngine(BaseEngine):\n    pass\n")
    return Recipe(
        {
            "engine/base.py": module(plain(_HEADER), plain(_HELPERS), engine_class(body(steps), name="BaseEngine")),
            "engine/engine.py": module(plain(_HEADER + "\nfrom .base import BaseEngine\n"), engine),
        }
    )


def half_in_the_base(steps: Sequence[Step]) -> Recipe:
    """The base does the first steps, the recipe the rest after ``super()``."""
    half = len(steps) // 2
    base = [(text, "") for text, _ in body(steps[:half])]
    first = " ".join(step.name for step in steps[:half])
    prepare = [("model = super().prepare_model()", first), *body(steps[half:]), ("return model", "")]
    engine = [("class GeneratedEngine(BaseEngine):", ""), ("    def prepare_model(self):", ""), *indent(prepare, 2)]
    imports = plain(
        _HEADER + "\nfrom .base import BaseEngine, keep_in_float32, keep_optimizer, put_tower_in, replace_forward\n"
    )
    return Recipe(
        {
            "engine/base.py": module(plain(_HEADER), plain(_HELPERS), engine_class(base, name="BaseEngine")),
            "engine/engine.py": module(imports, engine),
        }
    )


def nested_calls(steps: Sequence[Step]) -> Recipe:
    """One expression, evaluated from the inside out; the optimizer is built by a helper that gives the model back."""
    lines: list[Line] = [("model", "")]
    for step in steps:
        callee = "keep_optimizer" if step.result == "optimizer" else function(step)
        arguments = "engine=self" if step.result == "optimizer" else step.arguments
        lines = [(f"{callee}(", step.name), *indent([*lines[:-1], (lines[-1][0] + ",", lines[-1][1])])]
        lines += [(f"    {arguments},", "")] if arguments else []
        lines += [(")", "")]
    lines[0] = (f"model = {lines[0][0]}", lines[0][1])
    return one_file(lines)


def nested_on_one_line(steps: Sequence[Step]) -> Recipe:
    text = "model"
    for step in steps:
        text = f"keep_optimizer({text}, engine=self)" if step.result == "optimizer" else expression(step, text)
    return one_file([(f"model = {text}", " ".join(step.name for step in steps))])


def aliases(steps: Sequence[Step]) -> Recipe:
    """Half of the steps under other names for the model and the kits."""
    half = len(steps) // 2
    late = [
        (text.replace("self.model_kit", "self.kit2").replace("self.loss_kit", "losses"), mark)
        for text, mark in body(steps[half:], "m")
    ]
    names = plain("m = model\nself.kit2 = self.model_kit\nlosses = self.loss_kit\n")
    return one_file([*body(steps[:half]), *names, *late, ("model = m", "")])


def in_try(steps: Sequence[Step]) -> Recipe:
    handler = plain('except RuntimeError:\n    logging.exception("set-up failed")\n    raise\n')
    return one_file([("try:", ""), *indent(body(steps)), *handler])


def try_each(steps: Sequence[Step]) -> Recipe:
    lines: list[Line] = []
    for step in steps:
        handler = plain(f'except RuntimeError:\n    logging.exception("no {step.name}")\n    raise\n')
        lines += [("try:", ""), *indent(statements(step)), *handler]
    return one_file(lines)


def try_and_finally(steps: Sequence[Step]) -> Recipe:
    half = len(steps) // 2
    return one_file([("try:", ""), *indent(body(steps[:half])), ("finally:", ""), *indent(body(steps[half:]))])


def in_with(steps: Sequence[Step]) -> Recipe:
    lines: list[Line] = []
    for step in steps:
        lines += [('with self.timer("set-up"):', ""), *indent(statements(step))]
    return one_file(lines)


def in_match(steps: Sequence[Step]) -> Recipe:
    other = plain('    case "debug":\n        pass\n    case _:\n        raise ValueError(self.config.model.mode)\n')
    lines = [("match self.config.model.mode:", ""), ('    case "train":', ""), *indent(body(steps), 2), *other]
    return one_file(lines, conditions=("model.mode == 'train'",))


def match_each(steps: Sequence[Step]) -> Recipe:
    lines: list[Line] = []
    for step in steps:
        arms = [
            ('    case "train" | "tune":', ""),
            *indent(statements(step), 2),
            ("    case _:", ""),
            ("        pass", ""),
        ]
        lines += [("match self.config.model.mode:", ""), *arms]
    return one_file(lines, conditions=("model.mode in ('train', 'tune')",))


def partials_in_a_loop(steps: Sequence[Step]) -> Recipe:
    names = " ".join(step.name for step in steps)
    parts = [(f"    {as_function(step)},", "") for step in steps]
    loop: list[Line] = [("for step in steps:", ""), ("    model = step(model)", names)]
    recipe = one_file([("steps = (", ""), *parts, (")", ""), *loop])
    if all(step.result != "model" for step in steps):
        # Only functions of the recipe are called here: the calls part inside of them.
        lines = [(text, "") for text, _ in recipe.files["engine/engine.py"]]
        recipe.files["engine/engine.py"] = [(text, _IN_HELPERS.get(text, "")) for text, _ in lines]
    return recipe


def methods_in_a_loop(steps: Sequence[Step]) -> Recipe:
    """A loop over bound methods: the calls part inside of them."""
    methods: list[Line] = []
    for step in steps:
        inner = [*statements(step), ("return model", "")]
        methods += [(f"def _{step.name}(self, model):", ""), *indent(inner), ("", "")]
    names = ", ".join(f"self._{step.name}" for step in steps)
    return one_file([(f"for step in ({names}):", ""), ("    model = step(model)", "")], methods[:-1])


def through_a_runner(steps: Sequence[Step]) -> Recipe:
    """One helper that calls what it is handed: the calls part where it is called."""
    runner = plain("def _run(self, step, model):\n    return step(model)\n")
    return one_file([(f"model = self._run({as_function(step)}, model)", step.name) for step in steps], runner)


DRESSES: Mapping[str, Dress] = {
    dress.__name__.replace("_", "-"): dress
    for dress in (
        straight,
        gate_first,
        gate_second,
        gate_each,
        gates_differ,
        gate_around,
        gate_early_return,
        methods_of_class,
        imported_builder,
        kits_of_the_builder,
        base_in_another_file,
        half_in_the_base,
        nested_calls,
        nested_on_one_line,
        aliases,
        in_try,
        try_each,
        try_and_finally,
        in_with,
        in_match,
        match_each,
        partials_in_a_loop,
        methods_in_a_loop,
        through_a_runner,
    )
}


# ------------------------------------------------------------------------------------------------------------- linting

# The families that judge order and building; the others judge what these recipes leave open.
_FAMILIES = ("RL0", "RL1", "RL2")


@cache
def pack() -> Pack:
    """The built-in pack, loaded once."""
    return load_pack()


def run(*paths: Path) -> Result:
    """Lint paths with the defaults."""
    return lint(list(paths), Resolver(isolated=True), pack())


def lint_many(root: Path, recipes: Mapping[str, Recipe]) -> dict[str, list[Finding]]:
    """Write recipes below one project root, judge them in one run, and sort the findings by recipe."""
    (root / ".git").mkdir(parents=True)
    for name, recipe in recipes.items():
        recipe.write(root / "recipes" / name)
    result = run(root)
    assert not result.internal_errors
    found: dict[str, list[Finding]] = {name: [] for name in recipes}
    for finding in result.findings:
        if finding.code.startswith(_FAMILIES):
            path = Path(finding.span.path).relative_to(root / "recipes")
            found[path.parts[0]].append(finding)
    return found
