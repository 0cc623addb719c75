"""Where names come from: re-exports, TYPE_CHECKING, lazy packages, stars, local and cyclic imports, scripts."""

from __future__ import annotations

import pytest

from .project import Write, engine, lines, role, said, unknown, when

FREEZE = """
def freeze_tower(model):
    model.visual.requires_grad_(False)
    return model
"""
BODY = """
model = self.model_kit.build_model("path")
model = parallelize_model(model)
model = {call}(model)  #! RL103
return model
"""
EXPECTED = ["load kit model", "parallelize kit model", "freeze direct model.visual", "optimizer kit model"]

PACKAGES = {
    "re-export": "from .freeze import freeze_tower\n",
    "re-export under another path": "from .other import freeze_tower\n",
    "star": "from .freeze import *\n",
    "TYPE_CHECKING and a lazy table": """
        from typing import TYPE_CHECKING

        if TYPE_CHECKING:
            from .freeze import freeze_tower

        _TABLE = {"freeze_tower": ".freeze"}

        def __getattr__(name):
            import importlib
            if name in _TABLE:
                return getattr(importlib.import_module(_TABLE[name], __name__), name)
            raise AttributeError(name)
        """,
    "a lazy table alone": """
        import importlib

        _TABLE = {"freeze_tower": ("freeze", "freeze_tower")}

        def __getattr__(name):
            module, attribute = _TABLE[name]
            return getattr(importlib.import_module(f".{module}", __name__), attribute)
        """,
    "a lazy import in __getattr__": """
        def __getattr__(name):
            if name == "freeze_tower":
                from .freeze import freeze_tower
                return freeze_tower
            raise AttributeError(name)
        """,
    "try and except ImportError": """
        try:
            from .freeze import freeze_tower
        except ImportError:
            freeze_tower = None
        """,
    "an alias": "from .freeze import freeze_tower as _inner\n\nfreeze_tower = _inner\n",
}


@pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES)
def test_helpers_of_a_package(write: Write, package: str) -> None:
    recipe = write(
        {
            "engine/rook_engine.py": engine(BODY.format(call="freeze_tower"), head="from ..model import freeze_tower"),
            "engine/__init__.py": "",
            "model/__init__.py": package,
            "model/freeze.py": FREEZE,
            "model/other.py": "from .freeze import freeze_tower\n",
            "__init__.py": "",
        }
    )
    assert recipe.steps("engine/rook_engine.py") == EXPECTED
    assert unknown(recipe.trace("engine/rook_engine.py")) == []
    assert recipe.found == recipe.marks


IMPORTS = {
    "from": ("from recipes.rook.model.freeze import freeze_tower", "freeze_tower"),
    "as": ("from recipes.rook.model.freeze import freeze_tower as fr", "fr"),
    "package": ("from recipes.rook import model", "model_.freeze.freeze_tower"),
    "module": ("from recipes.rook.model import freeze", "freeze.freeze_tower"),
    "module as": ("import recipes.rook.model.freeze as fr", "fr.freeze_tower"),
    "dotted": ("import recipes.rook.model.freeze", "recipes.rook.model.freeze.freeze_tower"),
    "relative": ("from ..model.freeze import freeze_tower", "freeze_tower"),
    "relative module": ("from ..model import freeze", "freeze.freeze_tower"),
    "star": ("from ..model.freeze import *", "freeze_tower"),
    "TYPE_CHECKING": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..model.freeze import freeze_tower",
        "freeze_tower",
    ),
}


@pytest.mark.parametrize(("line", "call"), IMPORTS.values(), ids=IMPORTS)
@pytest.mark.parametrize("source", ["", "src/"])
def test_ways_to_import(write: Write, line: str, call: str, source: str) -> None:
    head = line.replace("import model", "import model as model_")
    recipe = write(
        {
            f"{source}recipes/rook/engine/rook_engine.py": engine(BODY.format(call=call), head=head),
            f"{source}recipes/rook/model/freeze.py": FREEZE,
            f"{source}recipes/rook/model/__init__.py": "",
            f"{source}recipes/rook/engine/__init__.py": "",
            f"{source}recipes/rook/__init__.py": "",
            f"{source}recipes/__init__.py": "",
        }
    )
    assert recipe.steps(f"{source}recipes/rook/engine/rook_engine.py") == EXPECTED
    assert recipe.found == recipe.marks


def test_absolute_imports_from_the_root_without_init_files(write: Write) -> None:
    head = "from recipes.rook.model.freeze import freeze_tower"
    recipe = write(
        {
            "recipes/rook/engine/rook_engine.py": engine(BODY.format(call="freeze_tower"), head=head),
            "recipes/rook/model/freeze.py": FREEZE,
            "recipes/__init__.py": "",
            "recipes/rook/__init__.py": "",
        }
    )
    assert recipe.found == recipe.marks


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("from helper import freeze_tower", "freeze_tower"),
        ("from helper import freeze_tower as fr", "fr"),
        ("import helper", "helper.freeze_tower"),
        ("import helper as h", "h.freeze_tower"),
        ("from .helper import freeze_tower", "freeze_tower"),
    ],
)
def test_imports_inside_a_function(write: Write, line: str, call: str) -> None:
    body = line + "\n" + BODY.format(call=call)
    recipe = write({"engine.py": engine(body), "helper.py": FREEZE})
    assert recipe.steps() == EXPECTED
    assert recipe.found == recipe.marks


def test_an_import_inside_a_branch_of_a_function(write: Write) -> None:
    body = """
    model = self.model_kit.build_model("path")
    if self.config.model.freeze:
        from helper import freeze_tower
        model = freeze_tower(model)
    return parallelize_model(model)
    """
    recipe = write({"engine.py": engine(body), "helper.py": FREEZE})
    assert when(recipe.trace())[1] == ("freeze", ("model.freeze",))
    assert recipe.found == []


def test_cyclic_imports_end(write: Write) -> None:
    recipe = write(
        {
            "engine.py": engine(BODY.format(call="freeze_tower"), head="from one import freeze_tower"),
            "one.py": "from two import freeze_tower\nfrom two import missing\n",
            "two.py": "from one import missing\nfrom three import *\n",
            "three.py": "from two import *\n" + FREEZE,
        }
    )
    assert recipe.steps() == EXPECTED
    assert recipe.found == recipe.marks


def test_a_name_that_only_goes_round_in_a_circle_is_unknown(write: Write) -> None:
    recipe = write(
        {
            "engine.py": engine(
                'model = self.model_kit.build_model("path")\nmodel = missing(model)\nreturn model',
                head="from one import missing",
            ),
            "one.py": "from two import missing\n",
            "two.py": "from one import missing\n",
        }
    )
    assert unknown(recipe.trace()) == [("model", "missing(model)")]


def test_functions_that_call_each_other_end(write: Write) -> None:
    helper = """
    def ping(model, n):
        model.requires_grad_(False)
        if n:
            return pong(model, n - 1)
        return model

    def pong(model, n):
        return ping(model, n)
    """
    body = 'model = ping(self.model_kit.build_model("path"), self.config.n)\nreturn parallelize_model(model)'
    recipe = write({"engine.py": engine(body, head="from helper import ping"), "helper.py": helper})
    trace = recipe.trace()
    assert said(trace)[:2] == ["load kit model", "freeze direct model"]
    wraps = {role(trace, e): trace.conditions(e.guard) for e in trace.of("parallelize") if not e.may}
    assert wraps == {"model": ("not n",)}
    assert unknown(trace)[0] == ("model", "ping(model, n)")
    assert recipe.found == []


def test_a_constant_of_another_module_gates(write: Write) -> None:
    body = BODY.replace("model = {call}(model)  #! RL103", "if FREEZE_LATE:\n    model.requires_grad_(False)")
    recipe = write(
        {"engine.py": engine(body, head="from settings import FREEZE_LATE"), "settings.py": "FREEZE_LATE = False\n"}
    )
    assert recipe.steps() == ["load kit model", "parallelize kit model", "optimizer kit model"]


def test_the_library_is_not_opened_even_where_its_source_is_there(write: Write) -> None:
    recipe = write(
        {
            "recipes/rook_engine.py": engine('return parallelize_model(self.model_kit.build_model("path"))', head=""),
            "mvp_engine/__init__.py": "",
            "mvp_engine/distributed/__init__.py": "",
            "mvp_engine/distributed/parallelize.py": """
            from torch.nn.parallel import DistributedDataParallel

            def parallelize_model(model, parallel_mesh=None):
                model.requires_grad_(False)
                return DistributedDataParallel(model)
            """,
            "mvp_engine/kit/__init__.py": """
            from transformers import AutoModel

            class MLLMModelKit:
                def build_model(self, path):
                    return AutoModel.from_pretrained(path)

            class OptimKit:
                def build_optimizer(self, model):
                    return None
            """,
        }
    )
    assert recipe.steps("recipes/rook_engine.py") == ["load kit model", "parallelize kit model", "optimizer kit model"]
    assert recipe.found == []


# -- scripts


def test_a_function_is_a_root_of_its_own(write: Write) -> None:
    source = """
    import torch
    from torch.nn.parallel import DistributedDataParallel as DDP
    from transformers import AutoModelForCausalLM

    def set_up(args):
        model = AutoModelForCausalLM.from_pretrained(args.path)
        model = DDP(model)
        if args.freeze:
            model.requires_grad_(False)  #! RL103
        optimizer = torch.optim.AdamW(model.parameters())
        return model, optimizer
    """
    recipe = write(source)
    trace = recipe.trace(name="set_up")
    assert said(trace) == [
        "load direct model",
        "parallelize direct model",
        "freeze direct model",
        "optimizer direct model",
    ]
    assert when(trace)[2] == ("freeze", ("args.freeze",))
    assert recipe.found == recipe.marks


def test_a_script_s_module_body(write: Write) -> None:
    source = """
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained("path")
    optimizer = torch.optim.AdamW(model.parameters())
    model = torch.nn.parallel.DistributedDataParallel(model)
    model.requires_grad_(False)  #! RL102
    """
    recipe = write(source)
    trace = recipe.trace(name="<module>")
    assert said(trace) == [
        "load direct model",
        "optimizer direct model",
        "parallelize direct model",
        "freeze direct model",
    ]
    assert recipe.found == recipe.marks


def test_the_sites_stand_in_the_files_where_the_code_is(write: Write) -> None:
    recipe = write(
        {
            "engine.py": engine(BODY.format(call="freeze_tower"), head="from helper import freeze_tower"),
            "helper.py": FREEZE,
        }
    )
    assert lines(recipe.trace(), "freeze") == [("helper.py", "model.visual.requires_grad_(False)")]
