"""Findings that fixtures expect: a trailing comment on the flagged line, as in ``# expect: RL101 some-name``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from recipe_lint.config.load import Resolver
from recipe_lint.lint.pack import load_pack
from recipe_lint.lint.result import Result
from recipe_lint.lint.run import lint

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_recipes"
CASES = ROOT / "tests" / "fixtures" / "cases"

_MARK = re.compile(r"#\s*expect:\s*(?P<code>RL\d{3})\s+(?P<name>[a-z-]+)\s*$")

Place = tuple[str, int, str, str]


def run(path: Path) -> Result:
    """Lint one path with the built-in pack and no configuration but the defaults."""
    return lint([path], Resolver(isolated=True), load_pack())


def found(result: Result) -> list[Place]:
    """Path, line, code and name of each finding; consequences are part of their finding and do not count."""
    places = ((_relative(Path(f.span.path)), f.span.line, f.code, f.name) for f in result.findings)
    return sorted(places)


def expected(files: Iterable[Path]) -> list[Place]:
    """Path, line, code and name of each ``# expect`` comment."""
    places: list[Place] = []
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = _MARK.search(line)
            if match is not None:
                places.append((_relative(file), number, match["code"], match["name"]))
    return sorted(places)


def _relative(path: Path) -> str:
    return path.resolve().relative_to(ROOT).as_posix()
