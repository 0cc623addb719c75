from __future__ import annotations

from pathlib import Path

import pytest

from recipe_lint.config.select import RuleSelector
from recipe_lint.config.settings import Settings
from recipe_lint.errors import UsageError
from recipe_lint.lint.finding import Severity

CODES = {"RL101": "compile-after-parallelize", "RL102": "freeze-after-optimizer", "RL201": "model-built-twice"}
ROOT = Path("/project").absolute()


def chosen(settings: Settings, preview: tuple[str, ...] = ()) -> list[str]:
    selector = RuleSelector(settings, CODES, ROOT, preview)
    return [code for code in CODES if selector.enabled(code)]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(), ["RL101", "RL102", "RL201"]),
        (Settings(select=()), []),
        (Settings(select=("RL1",)), ["RL101", "RL102"]),
        (Settings(select=("RL1",), ignore=("RL101",)), ["RL102"]),
        (Settings(select=("RL101",), ignore=("RL1",)), ["RL101"]),
        (Settings(select=("RL1",), ignore=("RL1",)), []),
        (Settings(select=("RL101",), ignore=("RL101",)), []),
        (Settings(ignore=("ALL",)), []),
        (Settings(select=("RL2",), ignore=("ALL",)), ["RL201"]),
        (Settings(select=("RL2",), extend_select=("RL102",)), ["RL102", "RL201"]),
        (Settings(extend_ignore=("RL1",), extend_select=("freeze-after-optimizer",)), ["RL102", "RL201"]),
        (Settings(select=("model-built-twice",)), ["RL201"]),
        (Settings(select=("RL201",), ignore=("model-built-twice",)), []),
        (Settings(select=("model",)), []),
        (Settings(severity={"RL101": "off"}), ["RL102", "RL201"]),
        (Settings(select=("RL101",), severity={"compile-after-parallelize": "off"}), []),
        (Settings(severity={"RL1": "off", "RL102": "info"}), ["RL102", "RL201"]),
    ],
)
def test_enabled(settings: Settings, expected: list[str]) -> None:
    assert chosen(settings) == expected


def test_preview_rules_wait_for_the_setting() -> None:
    assert chosen(Settings(select=("RL101",)), ("RL101",)) == []
    assert chosen(Settings(select=("RL101",), preview=True), ("RL101",)) == ["RL101"]


def test_severity() -> None:
    given = {
        "ALL": "info",
        "RL1": "warning",
        "freeze-after-optimizer": "error",
        "RL201": "off",
        "model-built-twice": "info",
    }
    selector = RuleSelector(Settings(severity=given), CODES, ROOT)  # type: ignore[arg-type]
    assert selector.severity("RL101") is Severity.warning
    assert selector.severity("RL102") is Severity.error
    assert selector.severity("RL201") == "off"
    assert RuleSelector(Settings(), CODES, ROOT).severity("RL101") is None


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("tests/**", "tests/a/x.py", True),
        ("tests/", "tests/a/x.py", True),
        ("tests/", "src/tests/x.py", True),
        ("/tests/", "src/tests/x.py", False),
        ("tests/*.py", "tests/x.py", True),
        ("tests/*.py", "src/tests/x.py", False),
        ("./tests/x.py", "tests/x.py", True),
        ("__init__.py", "a/b/__init__.py", True),
        ("a/**/x.py", "a/x.py", True),
        ("!src/**", "src/x.py", False),
        ("!src/**", "tests/x.py", True),
        ("x [[]1].py", "x [1].py", True),
        ("", "x.py", False),
    ],
)
def test_per_file_ignores(glob: str, path: str, expected: bool) -> None:
    selector = RuleSelector(Settings(per_file_ignores={glob: ("RL1", "model-built-twice")}), CODES, ROOT)
    assert selector.ignored_in_file("RL101", ROOT / path) is expected
    assert selector.ignored_in_file("RL201", ROOT / path) is expected


def test_per_file_ignores_hang_on_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "a [1] *"
    settings = Settings(per_file_ignores={"x.py": ("RL101",), "../b/*.py": ("RL102",), "tmp*": ("RL201",)})
    selector = RuleSelector(settings, CODES, root)
    assert selector.ignored_in_file("RL101", "a [1] */sub/x.py")
    assert not selector.ignored_in_file("RL101", "x.py")
    assert not selector.ignored_in_file("RL102", "a [1] */x.py")
    assert selector.ignored_in_file("RL102", "b/x.py")
    assert not selector.ignored_in_file("RL201", root / "x.py")


def test_a_glob_that_cannot_be_read_is_a_usage_error() -> None:
    selector = RuleSelector(Settings(per_file_ignores={"a/[": ("RL101",)}), CODES, ROOT)
    with pytest.raises(UsageError, match="not a valid glob"):
        selector.ignored_in_file("RL101", ROOT / "x.py")
