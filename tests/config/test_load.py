from __future__ import annotations

from pathlib import Path

import jsonschema
import msgspec
import pytest

from recipe_lint.config.load import Loaded, Resolver, check_codes, load_for
from recipe_lint.config.schema import json_schema
from recipe_lint.config.settings import DEFAULT_EXCLUDE, CliOverrides, EdgeOverride, Settings
from recipe_lint.errors import UsageError

KNOWN = {"RL101": "compile-after-parallelize", "RL102": "freeze-after-optimizer", "RL201": "model-built-twice"}


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def message(path: Path, **options: object) -> str:
    with pytest.raises(UsageError) as caught:
        load_for(path, **options)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_defaults_without_a_file(tmp_path: Path) -> None:
    assert load_for(tmp_path) == Loaded(Settings(), tmp_path, None)
    assert Settings().exclude == DEFAULT_EXCLUDE


def test_closest_file_wins_and_is_not_merged_with_outer_ones(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", '[tool.recipe-lint]\nfail-on = "error"\npreview = true\n')
    inner = write(tmp_path / "recipes" / "recipe-lint.toml", 'fail-on = "info"\n')
    source = write(tmp_path / "recipes" / "a" / "engine.py", "")
    loaded = load_for(source)
    assert (loaded.file, loaded.root) == (inner, inner.parent)
    assert loaded.settings == Settings(fail_on="info")
    assert load_for(tmp_path / "x.py").settings == Settings(fail_on="error", preview=True)


def test_order_of_names_in_one_folder(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "[tool.recipe-lint]\n")
    assert load_for(tmp_path).file == tmp_path / "pyproject.toml"
    write(tmp_path / ".recipe-lint.toml", "")
    assert load_for(tmp_path).file == tmp_path / ".recipe-lint.toml"
    write(tmp_path / "recipe-lint.toml", "")
    assert load_for(tmp_path).file == tmp_path / "recipe-lint.toml"


def test_pyproject_without_the_section_is_passed_over(tmp_path: Path) -> None:
    outer = write(tmp_path / "recipe-lint.toml", "")
    write(tmp_path / "a" / "pyproject.toml", '[project]\ndependencies = ["recipe-lint"]\n')
    write(tmp_path / "b" / "pyproject.toml", "this is not toml")
    assert load_for(tmp_path / "a").file == outer
    assert load_for(tmp_path / "b").file == outer


def test_each_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "recipe-lint.toml", "preview = true")
    (tmp_path / "a" / "b").mkdir(parents=True)
    resolver = Resolver()
    first = resolver.for_path(tmp_path / "a" / "b")
    (tmp_path / "recipe-lint.toml").write_text("preview = false")
    assert resolver.for_path(tmp_path / "a" / "b") is first
    assert resolver.for_path(tmp_path / "a" / "x.py") is first
    assert Resolver().for_path(tmp_path / "a").settings.preview is False


def test_explicit_and_isolated(tmp_path: Path) -> None:
    write(tmp_path / "a" / "recipe-lint.toml", "preview = true")
    other = write(tmp_path / "other.toml", "show-unknown = true")
    assert load_for(tmp_path / "a", explicit=other).settings == Settings(show_unknown=True)
    assert load_for(tmp_path / "a", isolated=True).settings == Settings()
    assert message(tmp_path, explicit=tmp_path / "gone.toml") == "--config: no such file: gone.toml"
    assert "--isolated" in message(tmp_path, explicit=other, isolated=True)
    project = write(tmp_path / "pyproject.toml", "[project]\n")
    assert message(tmp_path, explicit=project) == "--config: pyproject.toml has no [tool.recipe-lint] section; add one"
    assert "not a regular file" in message(tmp_path, explicit=tmp_path / "a")


def test_all_settings_round_trip(tmp_path: Path) -> None:
    text = """
select = ["RL1", "model-built-twice"]
output-format = "json"
require-recipes = true
respect-gitignore = false
hooks = ["after_build"]
roots = ["setup"]
severity = { RL101 = "info", model-built-twice = "off" }

[per-file-ignores]
"tests/**" = ["ALL"]

[protocol]
kits = ["OurKit"]

[protocol.steps.compile]
kit = ["compile_it"]
direct = ["ours.compile"]

[protocol.edges.compile-after-parallelize]
severity = { fsdp2 = "off", ddp = "error" }
harm = "It recompiles."

[protocol.edges.freeze-after-optimizer]
enabled = false
severity = "info"
"""
    write(tmp_path / "recipe-lint.toml", text)
    settings = load_for(tmp_path).settings
    assert settings.severity == {"RL101": "info", "model-built-twice": "off"}
    assert settings.per_file_ignores == {"tests/**": ("ALL",)}
    assert settings.protocol.steps["compile"].direct == ("ours.compile",)
    edges = settings.protocol.edges
    assert edges["compile-after-parallelize"] == EdgeOverride({"fsdp2": "off", "ddp": "error"}, harm="It recompiles.")
    assert edges["freeze-after-optimizer"] == EdgeOverride("info", enabled=False)
    jsonschema.Draft202012Validator(json_schema()).validate(msgspec.json.decode(msgspec.json.encode(settings)))


def test_schema_refuses_what_loading_refuses() -> None:
    validator = jsonschema.Draft202012Validator(json_schema())
    validator.check_schema(json_schema())
    for wrong in ({"selct": []}, {"select": "RL1"}, {"fail-on": "bad"}, {"severity": {"RL1": "bad"}}):
        assert list(validator.iter_errors(wrong)), wrong


FAULTS = {
    'preview = true\nselct = ["RL1"]': '2: unknown key "selct"; did you mean "select"?',
    "per_file_ignores = {}": '1: unknown key "per_file_ignores"; did you mean "per-file-ignores"?',
    "\n\n[zebra.crossing]\nx = 1": '3: unknown key "zebra"',
    '# c\nfail-on = "warn"': '2: fail-on: expected one of "error", "info", "never", "warning", got "warn"; '
    'did you mean "warning"?',
    'select = "RL1"': '1: select: expected a list of strings, got "RL1"',
    'select = [\n  "RL1",\n  3,\n]': "3: select: expected a string, got 3",
    "preview = 1": "1: preview: expected true or false, got 1",
    "preview = 1979-05-27": "1: preview: expected true or false, got a date",
    "extend = []": "1: extend: expected a string, got a list",
    "severity = []": "1: severity: expected a table, got a list",
    '[severity]\nRL1 = "info"\n"RL2" = "fatal"': '3: severity.RL2: expected one of "error", "info", "off", "warning", '
    'got "fatal"',
    '[per-file-ignores]\n"a b/*.py" = true': '2: per-file-ignores."a b/*.py": expected a list of strings, got true',
    '[protocol.edges.x]\nenabled = false\n[protocol.edges.y]\nseverty = "off"': '4: unknown key "severty" in '
    '[protocol.edges.y]; did you mean "severity"?',
    '[protocol.edges.x]\nseverity = { fsdp3 = "off" }': '2: unknown key "fsdp3" in [protocol.edges.x.severity]; '
    'did you mean "fsdp2"?',
    "[protocol.edges.x]\nseverity = 3": "2: protocol.edges.x.severity: expected one of",
    "protocol.steps.load.kit = 'x'": "1: protocol.steps.load.kit: expected a list of strings",
    "[tool.recipe-lint]\npreview = true": '1: unknown key "tool"; in a file of its own the settings stand at the top',
    'exclude = [\n  "a",\n  "b[",\n]': '3: exclude: "b[" is not a valid glob; write it as in .gitignore',
    '[per-file-ignores]\n"x" = []\n"y[" = []': '3: per-file-ignores: "y[" is not a valid glob',
    "a = [1,\nb = 2": "2:1: not valid TOML: ",
    'a = """\n\n': "2: not valid TOML: ",
}


@pytest.mark.parametrize("text", FAULTS)
def test_faults_name_file_line_and_reason(tmp_path: Path, text: str) -> None:
    write(tmp_path / "recipe-lint.toml", text)
    assert message(tmp_path).startswith("recipe-lint.toml:" + FAULTS[text])


def test_fault_in_pyproject(tmp_path: Path) -> None:
    text = '[project]\nname = "x"\nselct = 1\ndescription = """\n[tool.recipe-lint]\nselct = 2\n"""\n\n'
    write(tmp_path / "pyproject.toml", text + "[tool.recipe-lint]\r\npreview = true\r\nselct = []\r\n")
    expected = 'pyproject.toml:11: unknown key "selct" in [tool.recipe-lint]; did you mean "select"?'
    assert message(tmp_path) == expected
    write(tmp_path / "pyproject.toml", '[tool]\nrecipe-lint = "x"')
    assert message(tmp_path) == "pyproject.toml: tool.recipe-lint is not a table; write [tool.recipe-lint]"
    write(tmp_path / "pyproject.toml", "[tool.recipe-lint]\nfail-on = 3")
    assert message(tmp_path).startswith("pyproject.toml:2: fail-on: expected one of")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "recipe-lint.toml").write_bytes(b"preview = true\nx = '\xff'\n")
    assert message(tmp_path) == "recipe-lint.toml:2: byte 0xff is not UTF-8; save it as UTF-8"
    (tmp_path / "recipe-lint.toml").write_bytes(b"\xef\xbb\xbfpreview = true\n")
    assert load_for(tmp_path).settings.preview
    (tmp_path / "recipe-lint.toml").write_bytes(b"x = " + b"[" * 20_000)
    assert message(tmp_path).startswith("recipe-lint.toml")


def test_extend_merges(tmp_path: Path) -> None:
    write(
        tmp_path / "shared" / "base.toml",
        'select = ["RL1"]\nextend-ignore = ["RL101"]\nfail-on = "error"\nseverity = { RL1 = "info", RL2 = "off" }\n'
        '[protocol.edges.x.severity]\nddp = "info"\ntp = "off"\n',
    )
    write(tmp_path / "middle.toml", 'extend = "shared/base.toml"\npreview = true\nextend-ignore = ["RL102"]\n')
    write(
        tmp_path / "a" / "recipe-lint.toml",
        'extend = "../middle.toml"\nselect = ["RL2"]\nextend-ignore = ["RL3"]\nseverity = { RL2 = "error" }\n'
        '[protocol.edges.x.severity]\ntp = "error"\n',
    )
    settings = load_for(tmp_path / "a").settings
    assert settings.select == ("RL2",)
    assert settings.extend_ignore == ("RL101", "RL102", "RL3")
    assert (settings.fail_on, settings.preview) == ("error", True)
    assert settings.severity == {"RL1": "info", "RL2": "error"}
    assert settings.protocol.edges["x"].severity == {"ddp": "info", "tp": "error"}


def test_extend_faults(tmp_path: Path) -> None:
    write(tmp_path / "recipe-lint.toml", '\nextend = "gone.toml"')
    assert message(tmp_path) == "recipe-lint.toml:2: extend: no such file: gone.toml"
    write(tmp_path / "recipe-lint.toml", 'extend = "b.toml"')
    write(tmp_path / "b.toml", 'preview = true\nextend = "./recipe-lint.toml"')
    assert message(tmp_path) == (
        "b.toml:2: extend: the files extend each other in a circle: recipe-lint.toml -> b.toml -> recipe-lint.toml"
    )
    write(tmp_path / "recipe-lint.toml", 'extend = "recipe-lint.toml"')
    assert "in a circle" in message(tmp_path)
    write(tmp_path / "recipe-lint.toml", 'extend = "a\\u0000b"')
    assert "no such file" in message(tmp_path)
    write(tmp_path / "recipe-lint.toml", 'extend = "b.toml"')
    write(tmp_path / "b.toml", "preview = 3")
    assert message(tmp_path) == "b.toml:1: preview: expected true or false, got 3"


def test_globs_of_an_extended_file_keep_their_meaning(tmp_path: Path) -> None:
    write(tmp_path / "recipe-lint.toml", 'exclude = ["gen", "a/old/*.py"]\n[per-file-ignores]\n"!a/new.py" = ["ALL"]\n')
    write(tmp_path / "a" / "recipe-lint.toml", 'extend = "../recipe-lint.toml"\nextend-exclude = ["b/c"]\n')
    settings = load_for(tmp_path / "a").settings
    assert settings.exclude == ("gen", "../a/old/*.py")
    assert settings.extend_exclude == ("b/c",)
    assert settings.per_file_ignores == {"!../a/new.py": ("ALL",)}


def test_command_line_overrides(tmp_path: Path) -> None:
    write(tmp_path / "a" / "recipe-lint.toml", 'select = ["RL101"]\nignore = ["RL201"]\nextend-exclude = ["x"]\n')
    cli = CliOverrides(fail_on="never", show_unknown=True, ignore=("RL1",), extend_exclude=("y/z.py", "n"))
    settings = load_for(tmp_path / "a", overrides=cli).settings
    assert (settings.fail_on, settings.show_unknown, settings.preview) == ("never", True, False)
    assert (settings.select, settings.ignore) == ((), ("RL201", "RL1"))
    assert settings.extend_exclude == ("x", "../y/z.py", "n")
    fresh = load_for(tmp_path / "a", overrides=CliOverrides(select=("RL201",))).settings
    assert (fresh.select, fresh.ignore) == (("RL201",), ())
    alone = load_for(tmp_path, isolated=True, overrides=CliOverrides(output_format="json")).settings
    assert alone.output_format == "json"


def test_check_codes_accepts_codes_prefixes_names_and_all() -> None:
    settings = Settings(
        select=("ALL", "RL1"),
        ignore=("RL102",),
        severity={"model-built-twice": "off"},
        per_file_ignores={"x": ("RL2",)},
    )
    check_codes(settings, KNOWN, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('select = [\n  "RL1",\n  "RL901",\n]', 'recipe-lint.toml:3: unknown rule "RL901" in select'),
        ('ignore = ["rl101"]', 'recipe-lint.toml:1: unknown rule "rl101" in ignore; did you mean "RL101"?'),
        ('extend-ignore = [""]', 'recipe-lint.toml:1: unknown rule "" in extend-ignore'),
        (
            '[severity]\ncompile-after-paralelize = "off"',
            'recipe-lint.toml:2: unknown rule "compile-after-paralelize" in severity; '
            'did you mean "compile-after-parallelize"?',
        ),
        (
            '[per-file-ignores]\n"x.py" = ["RL1"]\n"y.py" = ["Q1"]',
            'recipe-lint.toml:3: unknown rule "Q1" in per-file-ignores."y.py"; give a code',
        ),
    ],
)
def test_check_codes_says_where(tmp_path: Path, text: str, expected: str) -> None:
    file = write(tmp_path / "recipe-lint.toml", text)
    with pytest.raises(UsageError) as caught:
        check_codes(load_for(tmp_path).settings, KNOWN, file)
    assert str(caught.value).startswith(expected)


def test_check_codes_looks_in_extended_files_and_on_the_command_line(tmp_path: Path) -> None:
    write(tmp_path / "base.toml", '\nextend-select = ["Q1"]')
    file = write(tmp_path / "a" / "recipe-lint.toml", 'extend = "../base.toml"')
    with pytest.raises(UsageError, match=r'^base.toml:2: unknown rule "Q1" in extend-select'):
        check_codes(load_for(tmp_path / "a").settings, KNOWN, file)
    settings = load_for(tmp_path, overrides=CliOverrides(select=("Q2",))).settings
    with pytest.raises(UsageError, match=r'^--select: unknown rule "Q2"'):
        check_codes(settings, KNOWN, None)
