"""The README is read as a promise, so what it shows is what the program does."""

from __future__ import annotations

import re
from pathlib import Path

from recipe_lint.lint.pack import load_pack
from tests.cli.program import recipe_lint

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_the_shown_output_is_the_real_one() -> None:
    [session] = blocks("console")
    command, _, output = session.partition("\n")
    assert command.startswith("$ recipe-lint ")
    assert recipe_lint(*command.split()[2:], cwd=ROOT).out == output, "paste the new output into README.md"


def test_the_shown_configuration_is_valid(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "recipe-lint.toml").write_text("", encoding="utf-8")
    (tmp_path / "project").mkdir()
    shown = blocks("toml")
    assert len(shown) == 2
    (tmp_path / "project" / "recipe-lint.toml").write_text("\n".join(shown), encoding="utf-8")
    for command in ("config", "protocol"):
        ran = recipe_lint(command, cwd=tmp_path / "project")
        assert (ran.code, ran.err) == (0, "")
    assert "acme.dist.wrap_model" in ran.out


def test_named_rules_and_commands_exist(tmp_path: Path) -> None:
    codes = load_pack().codes
    assert set(re.findall(r"\bRL\d{3}\b", README)) <= set(codes)
    prose = README.replace(blocks("console")[0], "")  # a frame may cut a long line in the middle of a name
    pairs = re.findall(r"\b(RL\d{3}) ([a-z]+(?:-[a-z]+)+)", prose)
    assert pairs
    assert all(codes[code] == name for code, name in pairs)
    for command in set(re.findall(r"`recipe-lint ([a-z]+)", README)):
        assert recipe_lint(command, "--help", cwd=tmp_path).code == 0


def test_suppressions_and_reasons_work_as_shown(tmp_path: Path) -> None:
    suppression, reason = blocks("python")
    folder = tmp_path / "recipes" / "demo" / "engine"
    folder.mkdir(parents=True)
    head = (
        "from mvp_engine.distributed import parallelize_model\n"
        "from mvp_engine.engine import Engine\n\n\n"
        "class DemoEngine(Engine):\n"
        "    def prepare_model(self):\n"
        "        model = self.model_kit.build_model(self.config.model.path)\n"
        "        model = parallelize_model(model)\n"
    )
    for shown, code in ((suppression, 0), (reason, 0), (suppression.partition("\n")[2], 1)):
        body = "".join(f"        {line}\n" for line in shown.splitlines() if line and "ignore-file" not in line)
        (folder / "demo_engine.py").write_text(f"{head}{body}        return model\n", encoding="utf-8")
        ran = recipe_lint("--select", "RL1,RL003,RL004", "--output-format", "concise", cwd=tmp_path)
        assert ran.code == code, ran.out
        assert ("info[RL101]" in ran.out) == (shown is reason)
