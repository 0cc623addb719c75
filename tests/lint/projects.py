"""Small projects on disk, and lint runs over them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

from recipe_lint.config.load import Resolver
from recipe_lint.lint.pack import load_pack
from recipe_lint.lint.result import Result
from recipe_lint.lint.run import lint

HEAD = """\
from torch.nn.parallel import DistributedDataParallel as DDP

from mvp_engine.distributed import parallelize_model
from mvp_engine.engine import Engine
from mvp_engine.kit import MLLMModelKit
from mvp_engine.kit.optim import OptimKit


class Demo(Engine):
    def __init__(self, config):
        super().__init__(config)
        self.model_kit = MLLMModelKit()
        self.optim_kit = OptimKit()

"""


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write the files below ``folder``, which becomes a project root."""
    (folder / ".git").mkdir(exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return folder


def engine(*hooks: str) -> str:
    """An engine module with the given methods, dedented."""
    return HEAD + "\n".join(textwrap.indent(textwrap.dedent(hook).strip("\n") + "\n", "    ") for hook in hooks)


def run(*paths: Path, isolated: bool = True) -> Result:
    """Lint the paths with the built-in rules."""
    return lint(list(paths), Resolver(isolated=isolated), load_pack())


def brief(result: Result) -> list[tuple[str, int, str]]:
    """Code, line and severity of each finding."""
    return [(f.code, f.span.line, f.severity.name) for f in result.findings]
