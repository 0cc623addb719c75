"""What the program imports: a start that loads too much is felt in every editor and every commit."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.cli.program import WARNING, start, write_recipe

PROBE = """\
import json, sys
before = set(sys.modules)
sys.argv = ["recipe-lint", *sys.argv[1:]]
from recipe_lint.__main__ import run
code = run()
print("\\n" + json.dumps([code, sorted(set(sys.modules) - before)]))
"""


def imported(*arguments: str, cwd: Path) -> tuple[int, set[str]]:
    ran = start([sys.executable, "-c", PROBE, *arguments], cwd=cwd)
    assert ran.err == ""
    code, modules = json.loads(ran.out.splitlines()[-1])
    return code, set(modules)


def test_version_imports_next_to_nothing(tmp_path: Path) -> None:
    code, modules = imported("--version", cwd=tmp_path)
    assert code == 0
    assert not modules & {"libcst", "msgspec", "yaml", "pathspec", "termcolor", "tqdm", "ast", "tomllib", "argparse"}
    assert len([name for name in modules if name.startswith("recipe_lint")]) < 10


def test_help_imports_no_rules(tmp_path: Path) -> None:
    code, modules = imported("--help", cwd=tmp_path)
    assert code == 0
    assert not modules & {"libcst", "msgspec", "yaml", "pathspec", "recipe_lint.rules", "recipe_lint.config.load"}


def test_check_imports_no_heavy_library(tmp_path: Path) -> None:
    write_recipe(tmp_path, WARNING)
    code, modules = imported("check", "--output-format", "concise", cwd=tmp_path)
    assert code == 1
    heavy = {"torch", "transformers", "numpy", "pygls", "lsprotocol", "libcst.matchers", "tqdm"}
    assert not modules & heavy
    assert "recipe_lint.runtime_shim" not in modules


def test_check_never_imports_what_it_reads(tmp_path: Path) -> None:
    path = write_recipe(tmp_path, f"raise SystemExit('imported')\n{WARNING}")
    code, modules = imported("check", str(path), "--output-format", "concise", cwd=tmp_path)
    assert code in {0, 1}
    assert "mvp_engine" not in modules
