"""Each fault in a small file of its own, beside its nearest right twin."""

from __future__ import annotations

from pathlib import Path

import pytest

from recipe_lint.lint.pack import load_pack

from .expectations import CASES, expected, found, run

PAIRS = tuple(sorted(folder for folder in CASES.iterdir() if folder.is_dir()))


@pytest.mark.parametrize("folder", PAIRS, ids=lambda folder: folder.name)
@pytest.mark.parametrize("twin", ["bad.py", "good.py"])
def test_findings_are_the_expected_ones(folder: Path, twin: str) -> None:
    result = run(folder / twin)
    assert found(result) == expected([folder / twin])
    assert not result.internal_errors


@pytest.mark.parametrize("folder", PAIRS, ids=lambda folder: folder.name)
def test_every_pair_expects_something(folder: Path) -> None:
    codes = load_pack().codes
    marks = expected([folder / "bad.py"])
    assert marks
    assert all(codes[code] == name for _, _, code, name in marks)


def test_the_order_rules_are_covered() -> None:
    covered = {code for folder in PAIRS for _, _, code, _ in expected([folder / "bad.py"])}
    assert len(PAIRS) >= 20
    assert len(covered) >= 15
