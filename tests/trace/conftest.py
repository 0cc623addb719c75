"""A recipe in a folder of its own, which is the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from .project import Recipe, Write


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write the files of a recipe: ``write({"engine.py": source})``, or ``write(source)`` for that one file."""
    monkeypatch.chdir(tmp_path)
    recipe = Recipe(tmp_path)
    return lambda files: recipe.write({"engine.py": files} if isinstance(files, str) else files)
