"""The package as it is built and installed, by wheel and editable, used from another folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from recipe_lint import __version__
from tests.cli.program import WARNING, environment, write_recipe

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("LICENSE", "README.md", "pyproject.toml", "recipe_lint", "rules", "runtime_shim")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is packaged, so that no build leaves its folders in the checkout."""
    folder = tmp_path_factory.mktemp("source")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, folder / part)
    return folder


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the source distribution, as a package index would."""
    folder = tmp_path_factory.mktemp("dist")
    call([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)], folder)
    return next(folder.glob("*.whl"))


def call(command: list[str], cwd: Path, expected: int = 0) -> str:
    """Run a command in a folder where no part of the checkout can be imported by chance."""
    clean = {key: value for key, value in environment().items() if not key.startswith(("PYTHON", "PIP_REQUIRE"))}
    done = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, check=False, encoding="utf-8")
    assert done.returncode == expected, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def new_environment(folder: Path) -> Path:
    """A virtual environment that has the dependencies of this one, but not what is installed editable here."""
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    purelib = call([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder).strip()
    shared = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    (Path(purelib) / "dependencies.pth").write_text("\n".join(shared), encoding="utf-8")
    return python


def install(python: Path, *what: str) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    call([*pip, *what], python.parent)


def use(python: Path, folder: Path) -> None:
    """What a newcomer does first, from a folder that has nothing to do with the package."""
    write_recipe(folder, WARNING)
    script = str(python.parent / "recipe-lint")
    assert call([script, "--version"], folder) == f"recipe-lint {__version__}\n"
    assert call([script, "explain", "RL101"], folder).startswith("RL101 compile-after-parallelize")
    assert "RL101" in call([script, "recipes"], folder, expected=1)


def location(python: Path, module: str, folder: Path) -> Path:
    """The file that a module is imported from."""
    return Path(call([str(python), "-c", f"import {module}; print({module}.__file__)"], folder).strip())


def test_the_wheel_holds_every_module_and_the_data(source: Path, wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"recipe_lint/rules/protocol.toml", "recipe_lint/py.typed"} <= names
    expected = set()
    for folder, package in (("recipe_lint", ""), ("rules", "recipe_lint/"), ("runtime_shim", "recipe_lint/")):
        expected |= {package + path.relative_to(source).as_posix() for path in (source / folder).rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == expected


def test_an_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    python = new_environment(tmp_path / "venv")
    install(python, str(wheel))
    assert location(python, "recipe_lint.rules", tmp_path).is_relative_to(tmp_path / "venv")
    use(python, tmp_path / "elsewhere")


def test_an_editable_install(source: Path, tmp_path: Path) -> None:
    python = new_environment(tmp_path / "venv")
    install(python, "--no-build-isolation", "--editable", str(source))
    assert location(python, "recipe_lint.rules", tmp_path) == source / "rules" / "__init__.py"
    assert location(python, "recipe_lint.runtime_shim", tmp_path) == source / "runtime_shim" / "__init__.py"
    use(python, tmp_path / "elsewhere")
