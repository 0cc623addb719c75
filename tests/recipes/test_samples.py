"""The sample recipes are found to have exactly the faults that they say they have."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.pack import load_pack

from .expectations import SAMPLES, expected, found, run

CLEAN = ("alder", "fern", "heron")
RECIPES = tuple(sorted(folder.name for folder in SAMPLES.iterdir() if (folder / "engine").is_dir()))
FAULTY = tuple(name for name in RECIPES if name not in CLEAN)


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES.parent)


@pytest.mark.parametrize("name", RECIPES)
def test_findings_are_the_expected_ones(name: str) -> None:
    result = run(SAMPLES / name)
    assert found(result) == expected(_sources(SAMPLES / name))
    assert not result.internal_errors


@pytest.mark.parametrize("name", CLEAN)
def test_clean_recipes_do_not_fail(name: str) -> None:
    assert all(finding.severity <= Severity.info for finding in run(SAMPLES / name).findings)


@pytest.mark.parametrize("name", FAULTY)
def test_faulty_recipes_fail(name: str) -> None:
    findings = run(SAMPLES / name).findings
    assert findings
    assert all(finding.severity >= Severity.warning for finding in findings)
    assert all(finding.certainty == "certain" for finding in findings)


def test_the_accepted_reason_is_shown() -> None:
    (finding,) = run(SAMPLES / "heron").findings
    assert finding.reason is not None
    assert "on purpose" in finding.reason


def test_all_at_once_is_the_sum_of_each() -> None:
    result = run(SAMPLES)
    assert found(result) == sorted(place for name in RECIPES for place in found(run(SAMPLES / name)))
    assert len(result.recipes) == len(RECIPES)


def test_names_belong_to_their_codes() -> None:
    codes = load_pack().codes
    for _, _, code, name in expected(_sources(SAMPLES)):
        assert codes[code] == name


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_are_whole(name: str) -> None:
    folder = SAMPLES / name
    assert (folder / "README.md").read_text(encoding="utf-8").startswith("# ")
    engines = {node.name for file in (folder / "engine").glob("*_engine.py") for node in _classes(file)}
    for stage in ("stage1", "stage2"):
        values = yaml.safe_load((folder / "configs" / f"{stage}.yaml").read_text(encoding="utf-8"))
        assert values["engine"] in engines
        assert {"data", "parallel", "model", "optim", "loop"} <= values.keys()


def test_the_table_names_every_recipe() -> None:
    text = (SAMPLES / "README.md").read_text(encoding="utf-8")
    for name in RECIPES:
        (row,) = (line for line in text.splitlines() if line.startswith(f"| [{name}]({name})"))
        assert all(code in row for _, _, code, _ in expected(_sources(SAMPLES / name)))


def _sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def _classes(file: Path) -> list[ast.ClassDef]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [node for node in tree.body if isinstance(node, ast.ClassDef)]
