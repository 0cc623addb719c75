"""A user's own kit, calls, severities and switched-off edges."""

from __future__ import annotations

from pathlib import Path

import pytest

from recipe_lint.config.load import Resolver
from recipe_lint.errors import UsageError
from recipe_lint.lint.pack import load_pack
from recipe_lint.lint.result import Result
from recipe_lint.lint.run import lint
from tests.lint.projects import brief, engine, write

LATE = """
def prepare_model(self):
    model = self.model_kit.build_model("x")
    model = DDP(model)
    model = self.model_kit.apply_gradient_checkpointing(model)
    return model
"""
OWN_NAMES = """\
from ourlib.dist import spread
from ourlib.kit import OurKit


def set_up(cfg):
    kit = OurKit()
    model = kit.open_model(cfg.path)
    model = spread(model)
    model = kit.hold_still(model)
    return model
"""


def configured(folder: Path, code: str, settings: str) -> Result:
    write(folder, {"demo/engine/engine.py": code, "recipe-lint.toml": settings})
    return lint([folder], Resolver(), load_pack())


def test_an_edge_can_be_switched_off(tmp_path: Path) -> None:
    settings = "[protocol.edges.checkpointing-after-parallelize]\nenabled = false\n"
    assert brief(configured(tmp_path, engine(LATE), settings)) == []


@pytest.mark.parametrize(
    ("value", "severity"), [('"info"', "info"), ('{ ddp = "warning" }', "warning"), ('{ fsdp2 = "info" }', "error")]
)
def test_an_edge_takes_another_severity(tmp_path: Path, value: str, severity: str) -> None:
    settings = f"[protocol.edges.checkpointing-after-parallelize]\nseverity = {value}\n"
    assert [s for _, _, s in brief(configured(tmp_path, engine(LATE), settings))] == [severity]


def test_a_severity_of_off_silences_the_edge(tmp_path: Path) -> None:
    settings = '[protocol.edges.checkpointing-after-parallelize]\nseverity = { ddp = "off" }\n'
    assert brief(configured(tmp_path, engine(LATE), settings)) == []


def test_a_rule_takes_another_severity_by_name(tmp_path: Path) -> None:
    settings = '[severity]\ncheckpointing-after-parallelize = "info"\n'
    assert brief(configured(tmp_path, engine(LATE), settings)) == [("RL114", 18, "info")]


def test_another_kit_and_other_calls_can_be_named(tmp_path: Path) -> None:
    assert brief(configured(tmp_path, OWN_NAMES, "")) == []
    settings = """
    [protocol]
    kits = ["OurKit"]
    [protocol.steps.load]
    kit = ["open_model"]
    [protocol.steps.freeze]
    kit = ["hold_still"]
    [protocol.steps.parallelize]
    direct = ["ourlib.dist.spread"]
    """
    assert brief(configured(tmp_path, OWN_NAMES, settings)) == [("RL103", 9, "error")]


@pytest.mark.parametrize("settings", ["[protocol.edges.no-such-edge]\nenabled = false\n", "[protocol.steps.nap]\n"])
def test_an_unknown_step_or_edge_is_an_error(tmp_path: Path, settings: str) -> None:
    with pytest.raises(UsageError, match=r"no-such-edge|nap"):
        configured(tmp_path, engine(LATE), settings)


def test_ignored_rules_do_not_take_part_in_grouping(tmp_path: Path) -> None:
    hook = """
    def prepare_model(self):
        model = self.model_kit.build_model("x")
        model = DDP(model)
        model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)
        model = self.model_kit.apply_gradient_checkpointing(model)
        return model
    """
    assert [c for c, _, _ in brief(configured(tmp_path, engine(hook), ""))] == ["RL103"]
    assert [c for c, _, _ in brief(configured(tmp_path, engine(hook), 'ignore = ["RL103"]\n'))] == ["RL114"]
