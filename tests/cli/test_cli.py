from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from recipe_lint import __version__
from tests.cli.program import CLEAN, ERROR, WARNING, environment, recipe_lint, start, write_recipe

SHOWN = "recipes/demo/engine/demo_engine.py"


@pytest.fixture
def warned(tmp_path: Path) -> Path:
    write_recipe(tmp_path, WARNING)
    return tmp_path


# --------------------------------------------------------------------------------------------- the program itself


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(tmp_path: Path, flag: str) -> None:
    for arguments in ([flag], ["check", flag], ["-q", flag], ["explain", flag]):
        ran = recipe_lint(*arguments, cwd=tmp_path)
        assert (ran.code, ran.out, ran.err) == (0, f"recipe-lint {__version__}\n", "")


def test_console_script(warned: Path) -> None:
    script = Path(sysconfig.get_path("scripts")) / "recipe-lint"
    assert start([str(script), "--version"], cwd=warned).out == f"recipe-lint {__version__}\n"
    ran = start([str(script), "recipes"], cwd=warned)
    assert (ran.code, ran) == (1, recipe_lint("recipes", cwd=warned))


def test_help_names_every_command_and_the_exit_codes(tmp_path: Path) -> None:
    for flag in ("-h", "--help"):
        ran = recipe_lint(flag, cwd=tmp_path)
        assert (ran.code, ran.err) == (0, "")
        for word in ("check", "explain", "rules", "protocol", "config", "exit codes", "examples"):
            assert word in ran.out
        assert max(map(len, ran.out.splitlines())) <= 100


@pytest.mark.parametrize("command", ["check", "explain", "rules", "protocol", "config"])
def test_help_of_a_command(tmp_path: Path, command: str) -> None:
    ran = recipe_lint(command, "--help", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("usage: recipe-lint ")


# --------------------------------------------------------------------------------------------- check


def test_check_is_the_default_command(warned: Path) -> None:
    ran = recipe_lint("check", "recipes", cwd=warned)
    assert ran.code == 1
    assert f"{SHOWN}:12:9" in ran.out
    assert "warning[RL101]" in ran.out
    assert "self.model_kit.apply_model_compile(model)" in ran.out
    assert ran.err == ""
    assert ran == recipe_lint("recipes", cwd=warned) == recipe_lint(cwd=warned)


def test_options_may_stand_between_paths(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        write_recipe(tmp_path, WARNING, name)
    ran = recipe_lint(
        "recipes/one", "--output-format", "concise", "recipes/two", "--select=RL1", "--", "recipes/three", cwd=tmp_path
    )
    assert ran.code == 1
    assert ran.out.count("RL101") == 3


def test_a_path_named_like_a_command(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    write_recipe(tmp_path / "rules", WARNING)
    assert recipe_lint("rules", cwd=tmp_path).out.startswith("RL001")
    for arguments in (["check", "rules"], ["--", "rules"], ["-q", "rules"], ["./rules"]):
        ran = recipe_lint(*arguments, cwd=tmp_path)
        assert (ran.code, "RL101" in ran.out) == (1, True)


def test_a_path_that_begins_with_a_dash(tmp_path: Path) -> None:
    write_recipe(tmp_path / "-x", WARNING)
    assert recipe_lint("--", "-x", cwd=tmp_path).code == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nowhere"], "no such file or folder: nowhere"),
        (["recipes", "nowhere/x.py"], "no such file or folder: nowhere/x.py"),
        ([""], "no such file or folder: (an empty path)"),
        (["chekc"], "no such file or folder: chekc; did you mean the command check?"),
        (["-q", "explain", "RL101"], "no such file or folder: explain; a command must stand before all options"),
        (["--selekt", "RL1"], "unrecognized arguments: --selekt; did you mean --select?; see recipe-lint check --help"),
        (["--select"], "argument --select: expected one argument; see recipe-lint check --help"),
        (["--select", "RL777"], '--select: unknown rule "RL777"; did you mean "RL'),
        (["--ignore", "model-built-twise"], '--ignore: unknown rule "model-built-twise"; did you mean "model-built-tw'),
        (["--per-file-ignores", "RL101"], 'argument --per-file-ignores: "RL101" is not GLOB:RULE'),
        (["--output-format", "xml"], "argument --output-format: invalid choice: 'xml'"),
        (["--config", "none.toml"], "--config: no such file: none.toml"),
        (["--config", "none.toml", "--isolated"], "--config and --isolated exclude each other"),
        (["explain"], "explain needs the code of a rule"),
        (["explain", "RL1O1"], 'no rule is called "RL1O1"; did you mean "RL1'),
        (["explain", "freeze-after-optimiser"], 'no rule is called "freeze-after-optimiser"; did you mean "freeze-aft'),
        (["rules", "--format", "toml"], "argument --format: invalid choice: 'toml'"),
        (["rules", "--", "x"], "unrecognized arguments: x; see recipe-lint rules --help"),
        (["config", "show", "a", "b"], "config show takes one path, not 2"),
        (["config", "nowhere"], "no such file or folder: nowhere"),
    ],
)
def test_wrong_arguments_are_one_line_and_exit_code_2(warned: Path, arguments: list[str], text: str) -> None:
    ran = recipe_lint(*arguments, cwd=warned)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err_line.startswith(f"recipe-lint: error: {text}")


def test_wrong_configuration_is_one_line_with_its_place(warned: Path) -> None:
    (warned / "recipe-lint.toml").write_text('fail-on = "info"\nselekt = ["RL1"]\n', encoding="utf-8")
    for command in ([], ["protocol"], ["config"]):
        ran = recipe_lint(*command, cwd=warned)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err_line.startswith("recipe-lint: error: recipe-lint.toml:2")
    (warned / "recipe-lint.toml").write_text('select = ["RL999"]\n', encoding="utf-8")
    for command in ([], ["protocol"], ["config"]):
        assert "recipe-lint.toml:1" in recipe_lint(*command, cwd=warned).err_line
    assert recipe_lint("--isolated", cwd=warned).code == 1


def test_an_unknown_rule_is_an_error_where_there_is_no_file(tmp_path: Path) -> None:
    assert recipe_lint("--select", "RL777", cwd=tmp_path).code == 2


def test_nothing_to_check(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = recipe_lint("empty", cwd=tmp_path)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err_line == "No recipes found in empty (no Python files there)"
    (tmp_path / "plain.py").write_text("x = 1\n", encoding="utf-8")
    ran = recipe_lint("empty", "plain.py", "--require-recipes", cwd=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err_line.startswith("No recipes found in empty, plain.py (1 Python file read)")
    assert "require-recipes" in ran.err_line
    assert recipe_lint("plain.py", cwd=tmp_path).code == 0
    (tmp_path / "recipe-lint.toml").write_text("require-recipes = true\n", encoding="utf-8")
    assert recipe_lint("plain.py", cwd=tmp_path).code == 1
    assert recipe_lint("plain.py", "--no-require-recipes", cwd=tmp_path).code == 0


def test_nothing_to_check_as_json_is_still_a_document(tmp_path: Path) -> None:
    ran = recipe_lint("--output-format", "json", cwd=tmp_path)
    assert ran.code == 0
    assert json.loads(ran.out)["findings"] == []


def test_clean(tmp_path: Path) -> None:
    write_recipe(tmp_path, CLEAN)
    ran = recipe_lint(cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("All clear: 1 recipe, 1 engine checked.")
    assert recipe_lint("-q", cwd=tmp_path).out == ""


def test_formats(warned: Path) -> None:
    concise = recipe_lint("--output-format", "concise", cwd=warned).out.splitlines()
    assert concise[0].startswith(f"{SHOWN}:12:9: warning[RL101] ")
    assert concise[-1].startswith("Found 1 warning")
    document = json.loads(recipe_lint("--output-format=json", cwd=warned).out)
    assert [(item["code"], item["path"], item["line"]) for item in document["findings"]] == [("RL101", SHOWN, 12)]
    (warned / "recipe-lint.toml").write_text('output-format = "json"\n', encoding="utf-8")
    assert json.loads(recipe_lint(cwd=warned).out) == document


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], (0, 1, 1)),
        (["--fail-on", "info"], (0, 1, 1)),
        (["--fail-on", "warning"], (0, 1, 1)),
        (["--fail-on", "error"], (0, 0, 1)),
        (["--fail-on", "never"], (0, 0, 0)),
        (["--exit-zero"], (0, 0, 0)),
    ],
)
def test_exit_codes(tmp_path: Path, arguments: list[str], expected: tuple[int, int, int]) -> None:
    codes = []
    for name, text in (("clean", CLEAN), ("warning", WARNING), ("error", ERROR)):
        write_recipe(tmp_path / name, text)
        codes.append(recipe_lint(name, *arguments, cwd=tmp_path).code)
    assert tuple(codes) == expected


def test_fail_on_comes_from_the_configuration_of_the_first_path(warned: Path) -> None:
    (warned / "recipes" / "recipe-lint.toml").write_text('fail-on = "error"\n', encoding="utf-8")
    assert recipe_lint("recipes", cwd=warned).code == 0
    assert recipe_lint("recipes", "--fail-on", "warning", cwd=warned).code == 1


def test_rules_are_chosen(warned: Path) -> None:
    for arguments in (
        ["--select", "RL2"],
        ["--ignore", "RL102,RL101"],
        ["--ignore=RL102", "--ignore=compile-after-parallelize"],
        ["--per-file-ignores", "recipes/demo/**:RL2,RL101"],
        ["--exclude", "demo"],
        ["--extend-exclude", "recipes/"],
    ):
        assert recipe_lint(*arguments, cwd=warned).code == 0, arguments
    for arguments in (
        ["--select", "RL2,RL101"],
        ["--select", "RL2", "--extend-select", "RL1"],
        ["--exclude", "demo", SHOWN],
    ):
        assert recipe_lint(*arguments, cwd=warned).code == 1, arguments
    assert recipe_lint("--exclude", "demo", "--force-exclude", SHOWN, cwd=warned).code == 0


def test_gitignore(warned: Path) -> None:
    (warned / ".git").mkdir()
    (warned / ".gitignore").write_text("demo/\n", encoding="utf-8")
    assert recipe_lint(cwd=warned).code == 0
    assert recipe_lint("--no-respect-gitignore", cwd=warned).code == 1


@pytest.mark.parametrize("style", ["full", "concise"])
def test_quiet_writes_findings_alone(warned: Path, style: str) -> None:
    loud = recipe_lint("--output-format", style, cwd=warned)
    quiet = recipe_lint("--output-format", style, "--quiet", cwd=warned)
    assert (quiet.code, quiet.err) == (1, "")
    assert "Found" not in quiet.out
    assert quiet.out.endswith("\n") and not quiet.out.endswith("\n\n")
    assert loud.out.startswith(quiet.out)


def test_colour(warned: Path) -> None:
    assert "\x1b[" not in recipe_lint(cwd=warned).out
    assert "\x1b[" in recipe_lint("--color", "always", cwd=warned).out
    assert "\x1b[" in recipe_lint(cwd=warned, env={"FORCE_COLOR": "1"}).out
    assert "\x1b[" not in recipe_lint(cwd=warned, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out
    assert "\x1b[" not in recipe_lint("--color", "never", cwd=warned, env={"FORCE_COLOR": "1"}).out


def test_unreadable_syntax_is_a_finding(tmp_path: Path) -> None:
    write_recipe(tmp_path, "class E(Engine:\n    def prepare_model(self):\n        pass\n")
    ran = recipe_lint(cwd=tmp_path)
    assert ran.code == 1
    assert "RL001" in ran.out


def test_output_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    write_recipe(tmp_path, WARNING.replace("(model)\n        return", "(model)  # 冻结\n        return"))
    ran = recipe_lint(cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    assert (ran.code, ran.err) == (1, "")
    assert "\\u51bb" in ran.out


# --------------------------------------------------------------------------------------------- streams


@pytest.mark.parametrize("arguments", [[], ["--version"], ["--help"], ["rules"], ["check", "--help"]])
def test_closed_pipe_ends_quietly(warned: Path, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "recipe_lint", *arguments],
            cwd=warned,
            env=environment(),
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0 if arguments else 1, b"")


# --------------------------------------------------------------------------------------------- other commands


def test_explain(tmp_path: Path) -> None:
    ran = recipe_lint("explain", "RL101", "MODEL-BUILT-TWICE", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("RL101 compile-after-parallelize (warning)\n")
    assert "\nRL201 model-built-twice (warning)\n" in ran.out
    assert "Why it is bad" in ran.out
    assert "# expect:" not in ran.out
    document = json.loads(recipe_lint("explain", "rl101", "--format", "json", cwd=tmp_path).out)
    assert [rule["code"] for rule in document["rules"]] == ["RL101"]


def test_rules(tmp_path: Path) -> None:
    rows = recipe_lint("rules", cwd=tmp_path).out.splitlines()
    document = json.loads(recipe_lint("rules", "--format", "json", cwd=tmp_path).out)
    assert [row.split()[:2] for row in rows] == [[rule["code"], rule["name"]] for rule in document["rules"]]
    assert set(document["rules"][0]) == {"code", "name", "severity", "summary", "page", "sections", "good", "bad"}
    table = recipe_lint("rules", "--format", "markdown", cwd=tmp_path).out.splitlines()
    assert len(table) == len(rows) + 2
    assert all(line.count(" | ") == 3 for line in table)


def test_protocol(tmp_path: Path) -> None:
    ran = recipe_lint("protocol", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "RL101 compile-after-parallelize: compile before parallelize" in ran.out
    assert "apply_freeze_policy" in ran.out
    document = json.loads(recipe_lint("protocol", "--format", "json", cwd=tmp_path).out)
    edge = next(edge for edge in document["edges"] if edge["name"] == "freeze-after-parallelize")
    assert (edge["severity"]["ddp"], edge["severity"]["fsdp2"]) == ("error", "warning")
    assert all(edge["harm"] and edge["source"] for edge in document["edges"])


def test_protocol_follows_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "recipe-lint.toml").write_text(
        'ignore = ["RL103"]\n'
        'severity = { RL105 = "error" }\n'
        'protocol.kits = ["OtherKit"]\n'
        'protocol.steps.freeze = { kit = ["freeze_all"], direct = ["acme.freeze"] }\n'
        "protocol.edges.compile-after-parallelize.enabled = false\n"
        'protocol.edges.freeze-after-optimizer.severity = { ddp = "info" }\n',
        encoding="utf-8",
    )
    document = json.loads(recipe_lint("protocol", "--format", "json", cwd=tmp_path).out)
    assert "OtherKit" in document["kits"]
    freeze = next(step for step in document["steps"] if step["name"] == "freeze")
    assert "freeze_all" in freeze["kit"]
    assert "acme.freeze" in freeze["direct"]
    severity = {edge["code"]: edge["severity"] for edge in document["edges"]}
    assert set(severity["RL101"].values()) == {"off"}
    assert set(severity["RL103"].values()) == {"off"}
    assert set(severity["RL105"].values()) == {"error"}
    assert (severity["RL102"]["ddp"], severity["RL102"]["fsdp1"]) == ("info", "error")
    assert "freeze_all" in recipe_lint("protocol", cwd=tmp_path).out
    assert "freeze_all" not in recipe_lint("protocol", "--isolated", cwd=tmp_path).out


def test_config(warned: Path) -> None:
    assert recipe_lint("config", cwd=warned).out.startswith("# Settings for .: the defaults")
    ran = recipe_lint("config", "path", cwd=warned)
    assert (ran.code, ran.out, ran.err_line) == (0, "", "No configuration file for .; the defaults hold")
    (warned / "recipes" / "recipe-lint.toml").write_text('fail-on = "error"\n', encoding="utf-8")
    assert recipe_lint("config", "path", SHOWN, cwd=warned).out == "recipes/recipe-lint.toml\n"
    document = json.loads(recipe_lint("config", SHOWN, "--format", "json", cwd=warned).out)
    assert (document["file"], document["settings"]["fail-on"]) == ("recipes/recipe-lint.toml", "error")
    schema = json.loads(recipe_lint("config", "schema", cwd=warned).out)
    assert "fail-on" in schema["$defs"]["Settings"]["properties"]


def test_shown_settings_are_a_configuration_file_with_the_same_meaning(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text('extend-ignore = ["RL126"]\n', encoding="utf-8")
    (tmp_path / "recipe-lint.toml").write_text(
        'extend = "base.toml"\n'
        'extend-ignore = ["RL127"]\n'
        'severity = { RL105 = "off", compile-after-parallelize = "error" }\n'
        'per-file-ignores = { "a b/**\\u007f" = ["RL1"], "!x.py" = [] }\n'
        'protocol.steps.freeze = { kit = ["freeze_all"] }\n'
        "protocol.edges.compile-after-parallelize.enabled = false\n",
        encoding="utf-8",
    )
    shown = recipe_lint("config", cwd=tmp_path)
    assert (shown.code, shown.err) == (0, "")
    (tmp_path / "recipe-lint.toml").write_text(shown.out, encoding="utf-8")
    again = recipe_lint("config", cwd=tmp_path)
    assert (again.code, again.out) == (0, shown.out)
