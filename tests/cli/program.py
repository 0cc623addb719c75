"""The program as a user starts it, and small recipes for it to read."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HEAD = """\
from mvp_engine.distributed import parallelize_model
from mvp_engine.engine import Engine
from mvp_engine.kits import MLLMModelKit


class DemoEngine(Engine):
    def prepare_model(self):
        self.model_kit = MLLMModelKit()
        model = self.model_kit.build_model(self.config.model.path)
"""
COMPILE = "        self.model_kit.apply_model_compile(model)\n"
PARALLELIZE = "        model = parallelize_model(model, parallel_mesh=self.mesh)\n"
FREEZE = '        self.model_kit.apply_freeze_policy(model, freeze_vit=True, vit_prefixes=("visual.",))\n'
TAIL = "        return model\n"

CLEAN = HEAD + FREEZE + COMPILE + PARALLELIZE + TAIL
WARNING = HEAD + FREEZE + PARALLELIZE + COMPILE + TAIL
ERROR = HEAD + COMPILE + PARALLELIZE + FREEZE + TAIL


@dataclass(frozen=True)
class Ran:
    """What one run of the program left behind."""

    code: int
    out: str
    err: str

    @property
    def err_line(self) -> str:
        """Standard error, which must be one line."""
        assert self.err.count("\n") == 1, self.err
        return self.err.rstrip("\n")


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without what changes colours and tracebacks."""
    unwanted = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "RECIPE_LINT_TRACEBACK")
    kept = {key: value for key, value in os.environ.items() if key not in unwanted}
    return {**kept, "PYTHONIOENCODING": "utf-8", **(extra or {})}


def recipe_lint(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> Ran:
    """Run ``python -m recipe_lint`` in a folder."""
    return start([sys.executable, "-m", "recipe_lint", *arguments], cwd=cwd, env=env)


def start(command: list[str], *, cwd: Path, env: Mapping[str, str] | None = None) -> Ran:
    """Run a command in a folder."""
    done = subprocess.run(command, cwd=cwd, env=environment(env), capture_output=True, check=False, encoding="utf-8")
    return Ran(done.returncode, done.stdout, done.stderr)


def write_recipe(folder: Path, text: str, name: str = "demo") -> Path:
    """A recipe with one engine module; gives the module's path."""
    path = folder / "recipes" / name / "engine" / f"{name}_engine.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
