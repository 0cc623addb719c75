"""Stages: which YAML files they are, their composed values, and the backend they mean."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recipe_lint.read.flags import MISSING, SECTION, UNKNOWN
from recipe_lint.read.imports import Definition, Project
from recipe_lint.read.schema import Schema, read_schema
from recipe_lint.read.stages import Stage, StageSet, load_stages

SCHEMA = """
from pydantic import BaseModel, Field
class Mesh(BaseModel):
    replicate: int = 1
    shard: int = 8
    tensor: int = 1
class Parallel(BaseModel):
    mesh: Mesh = Field(default_factory=Mesh)
class Compile(BaseModel):
    enabled: bool = False
    mode: str = "default"
class Model(BaseModel):
    freeze: bool = True
    path: str
    compile: Compile = Compile(enabled=True)
    extra: Compile | None = None
class Config(BaseModel):
    parallel: Parallel = Field(default_factory=Parallel)
    model: Model = Field(default_factory=Model)
"""


def write(tmp_path: Path, files: dict[str, str], folder: str = "configs") -> Path:
    for name, text in files.items():
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def load(tmp_path: Path, files: dict[str, str], engine: str | None = "E", schema: str | None = None) -> StageSet:
    write(tmp_path, files)
    project = Project(tmp_path, tmp_path)
    return load_stages(tmp_path, project, engine, read(tmp_path, project, schema) if schema else None)


def read(tmp_path: Path, project: Project, text: str) -> Schema:
    path = tmp_path / "schema.py"
    path.write_text(text)
    module = project.load(path)
    assert module is not None
    return read_schema(project, Definition(module, "Config", module.classes["Config"]))


def one(found: StageSet) -> Stage:
    (stage,) = found.stages
    return stage


def names(found: StageSet) -> list[str]:
    return [stage.name for stage in found.stages]


def test_a_flat_stage_over_its_schema(tmp_path: Path) -> None:
    text = "engine: E\nmodel:\n  freeze: false\n  compile:\n    mode: max\n  own: [1, {a: b}]\n"
    found = load(tmp_path, {"train.yaml": text}, schema=SCHEMA)
    stage = one(found)
    assert (stage.name, stage.display, found.problems) == ("train.yaml", "configs/train.yaml", ())
    assert stage.get("model.freeze") is False
    assert stage.get("model.compile.mode") == "max"
    assert stage.get("model.compile.enabled") is False
    assert stage.get("model.compile") is SECTION
    assert stage.get("model.own") == [1, {"a": "b"}]
    assert stage.get("model.path") is MISSING
    assert stage.get("model.extra") is None
    assert stage.get("model.extra.enabled") is MISSING
    assert stage.get("nothing.at.all") is MISSING
    assert stage.get("parallel.mesh.shard") == 8
    assert {"model", "model.compile", "parallel.mesh"} <= stage.sections
    assert stage.backend == "fsdp2"
    assert (stage.origins["model.compile.mode"].line, stage.origins["model.compile.mode"].column) == (5, 5)
    assert "parallel.mesh.shard" not in stage.origins


def test_defaults_of_a_section_that_the_yaml_does_not_give(tmp_path: Path) -> None:
    stage = one(load(tmp_path, {"a.yaml": "engine: E\nmodel: {path: x, extra: {}}\n"}, schema=SCHEMA))
    assert stage.get("model.compile.enabled") is True
    assert stage.get("model.extra") is SECTION
    assert stage.get("model.extra.enabled") is False


def test_bool_fields_read_words_as_pydantic_does(tmp_path: Path) -> None:
    stage = one(load(tmp_path, {"a.yaml": "engine: E\nmodel: {freeze: 'False', path: 'false'}\n"}, schema=SCHEMA))
    assert stage.get("model.freeze") is False
    assert stage.get("model.path") == "false"


@pytest.mark.parametrize(
    ("text", "backend"),
    [
        ("parallel: {mesh: {shard: 1}}", "ddp"),
        ("parallel: {mesh: {shard: 1, tensor: 1}}", "ddp"),
        ("parallel: {mesh: {shard: 4}}", "fsdp2"),
        ("parallel: {mesh: {shard: -1, tensor: 1}}", "fsdp2"),
        ("parallel: {mesh: {shard: 1, tensor: 2}}", "tp"),
        ("parallel: {mesh: {tensor: 2}}", "tp"),
        ("parallel: {mesh: {shard: '${oc.env:N}'}}", "unknown"),
        ("parallel: {mesh: {shard: 1, tensor: '${oc.env:N}'}}", "unknown"),
        ("parallel: {mesh: {shard: true}}", "unknown"),
        ("parallel: {backend: DDP}", "ddp"),
        ("parallel: {type: fsdp}", "fsdp1"),
        ("parallel: {strategy: fsdp2}", "fsdp2"),
        ("parallel: {type: fsdp1}", "fsdp1"),
        ("parallel: {type: horovod}", "unknown"),
        ("model: {}", "unknown"),
    ],
)
def test_backend(tmp_path: Path, text: str, backend: str) -> None:
    assert one(load(tmp_path, {"a.yaml": f"engine: E\n{text}\n"})).backend == backend


def test_only_this_engine_s_files_are_stages(tmp_path: Path) -> None:
    files = {
        "a.yaml": "engine: E\n",
        "b.yml": "engine: {name: pkg.E}\n",
        "c.yaml": "engine: Other\nmodel: {}\n",
        "d.yaml": "engine: {type: Other}\nmodel: {}\n",
        "e.yaml": "model: {a: 1}\n",
        "f.txt": "engine: E\n",
        "sub/g.yaml": "engine: E\n",
    }
    assert names(load(tmp_path, files)) == ["a.yaml", "b.yml"]
    project = Project(tmp_path, tmp_path)
    assert names(load_stages(tmp_path, project, None, None)) == ["a.yaml", "b.yml", "c.yaml", "d.yaml", "e.yaml"]


def test_without_engine_names_a_model_section_makes_a_stage(tmp_path: Path) -> None:
    files = {"a.yaml": "model: {a: 1}\n", "b.yaml": "data: {}\n", "c.yaml": "optim: {lr: 1}\n", "d.yaml": "- 1\n"}
    assert names(load(tmp_path, files)) == ["a.yaml", "c.yaml"]


@pytest.mark.parametrize("folder", ["configs", "config", "conf", ""])
def test_folders(tmp_path: Path, folder: str) -> None:
    write(tmp_path, {"a.yaml": "engine: E\n"}, folder)
    assert names(load_stages(tmp_path, Project(tmp_path, tmp_path), "E", None)) == ["a.yaml"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert load_stages(tmp_path / "no", Project(tmp_path, tmp_path), "E", None) == StageSet((), (), ())


GROUPS = {
    "base.yaml": "# @package _global_\nengine: E\nseed: 1\nlog: {interval: 1}\n",
    "data/s1.yaml": "# @package data\npath: one\n",
    "model/big.yaml": "# @package model\ncompile: {enabled: false}\nwidth: 8\n",
    "runtime/align.yaml": "# @package model\nfreeze: true\nwidth: 9\n",
    "parallel/ddp.yaml": "mesh: {shard: 1}\n",
    "parallel/fsdp.yaml": "mesh: {shard: 8}\n",
}


def test_hydra_groups(tmp_path: Path) -> None:
    items = ["base", "data: s1", "model: big", "runtime@model: align", "parallel: ddp", "_self_"]
    main = "defaults:\n" + "".join(f"  - {item}\n" for item in items) + "seed: 7\n"
    found = load(tmp_path, {**GROUPS, "stage1.yaml": main})
    stage = one(found)
    assert stage.name == "stage1.yaml"
    assert stage.values == {
        "engine": "E",
        "seed": 7,
        "log.interval": 1,
        "data.path": "one",
        "model.compile.enabled": False,
        "model.width": 9,
        "model.freeze": True,
        "parallel.mesh.shard": 1,
    }
    assert stage.backend == "ddp"
    assert stage.origins["model.width"].path == "configs/runtime/align.yaml"
    assert stage.origins["seed"].path == "configs/stage1.yaml"
    assert len(found.files) == 6
    assert not stage.holes


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("[base]", {"k": "main", "b": 1}),
        ("[_self_, base]", {"k": "base", "b": 1}),
        ("[base, _self_]", {"k": "main", "b": 1}),
        ("[{g: x}]", {"k": "main", "g.k": "x"}),
        ("[{g@p.q: x}]", {"k": "main", "p.q.k": "x"}),
        ("[{g@_global_: x}, _self_]", {"k": "main"}),
        ("[_self_, {g@_global_: x}]", {"k": "x"}),
        ("[{/g: x}]", {"k": "main", "g.k": "x"}),
        ("[g/x]", {"k": "main", "g.k": "x"}),
        ("[g/x@r]", {"k": "main", "r.k": "x"}),
        ("[{g: [x, y]}]", {"k": "main", "g.k": "y"}),
        ("[{g: null}]", {"k": "main"}),
        ("[{optional g: gone}]", {"k": "main"}),
        ("[{g: x}, {override g: y}]", {"k": "main", "g.k": "y"}),
        ("[{nest: n}]", {"k": "main", "nest.k": "n", "nest.inner.k": "i", "nest.g.k": "x"}),
        ("[{nest: n}, {override nest/inner: j}]", {"k": "main", "nest.k": "n", "nest.inner.k": "j", "nest.g.k": "x"}),
        ("[{g: x}, {h: '${g}'}]", {"k": "main", "g.k": "x", "h.k": "hx"}),
        ("[{head: a}]", {"k": "main", "else.where.k": "a"}),
        ("[{head@p: a}]", {"k": "main", "p.k": "a"}),
    ],
)
def test_defaults_lists(tmp_path: Path, items: str, expected: dict[str, object]) -> None:
    files = {
        "base.yaml": "k: base\nb: 1\n",
        "g/x.yaml": "k: x\n",
        "g/y.yaml": "k: y\n",
        "h/x.yaml": "k: hx\n",
        "nest/n.yaml": "defaults: [{inner: i}, {/g: x}]\nk: n\n",
        "nest/inner/i.yaml": "k: i\n",
        "nest/inner/j.yaml": "k: j\n",
        "head/a.yaml": "# @package else.where\nk: a\n",
        "main.yaml": f"defaults: {items}\nengine: E\nk: main\n",
    }
    stage = one(load(tmp_path, files))
    assert {path: value for path, value in stage.values.items() if path != "engine"} == expected
    assert not stage.holes


def test_a_missing_group_file_leaves_unknown_what_nothing_sets(tmp_path: Path) -> None:
    main = "defaults:\n  - parallel: gone\n  - runtime@model: '???'\n  - _self_\nengine: E\nmodel: {freeze: false}\n"
    found = load(tmp_path, {"main.yaml": main}, schema=SCHEMA)
    stage = one(found)
    assert found.problems == ()
    assert stage.holes == {"parallel", "model"}
    assert stage.get("model.freeze") is False
    assert stage.get("model.compile.enabled") is UNKNOWN
    assert stage.get("model.any.thing") is UNKNOWN
    assert stage.get("parallel.mesh.shard") is UNKNOWN
    assert stage.get("other") is MISSING
    assert stage.backend == "unknown"


def test_files_outside_the_project_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("k: 1\n")
    inside = tmp_path / "project"
    found = load(inside, {"main.yaml": "defaults: [../../secret]\nengine: E\n"})
    assert one(found).get("k") is UNKNOWN
    assert [path.name for path in found.files] == ["main.yaml"]


def test_cycles_and_explosions_in_defaults_end(tmp_path: Path) -> None:
    files = {f"g/f{n}.yaml": f"defaults: [f{n + 1}@a, f{n + 1}@b]\nk: 1\n" for n in range(25)}
    files |= {
        "loop.yaml": "defaults: [other]\nengine: E\nmodel: {a: 1}\n",
        "other.yaml": "defaults: [loop]\nk: 2\n",
        "wide.yaml": "defaults: [{g: f0}]\nengine: E\n",
    }
    started = time.perf_counter()
    found = load(tmp_path, files)
    assert time.perf_counter() - started < 10
    messages = [problem.message for problem in found.problems]
    assert any("inside itself" in message for message in messages)
    assert any("too many files" in message for message in messages)
    assert {problem.kind for problem in found.problems} == {"syntax-error"}
    assert "loop.yaml" in names(found)


def test_a_stage_that_another_stage_builds_on_stays_a_stage(tmp_path: Path) -> None:
    full = "engine: E\nmodel: {a: 1}\n"
    files = {"base.yaml": full, "stage1.yaml": full, "s2.yaml": "defaults: [stage1]\n", "s3.yaml": "defaults: [base]\n"}
    assert names(load(tmp_path, files)) == ["s2.yaml", "s3.yaml", "stage1.yaml"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${a.n}", 3),
        ("${a[n]}", 3),
        ("${ a.n }", 3),
        ("${.peer}", "p"),
        ("${..a.n}", 3),
        ("x-${a.n}-${.peer}", "x-3-p"),
        ("${a.again}", 3),
        ("${oc.env:HOME,x}", UNKNOWN),
        ("x/${oc.env:HOME}", UNKNOWN),
        ("${gone}", UNKNOWN),
        ("${a}", UNKNOWN),
        ("${a.${s.peer}}", UNKNOWN),
        ("\\${a.n}", UNKNOWN),
        ("${unclosed", UNKNOWN),
        ("???", UNKNOWN),
        ("$a {b}", "$a {b}"),
    ],
)
def test_interpolations(tmp_path: Path, text: str, value: object) -> None:
    body = f"engine: E\na: {{n: 3, again: '${{a.n}}'}}\ns:\n  peer: p\n  v: '{text}'\n  l: [1, '{text}']\n"
    found = load(tmp_path, {"a.yaml": body})
    assert found.problems == ()
    assert one(found).get("s.v") == value
    assert one(found).get("s.l") == (UNKNOWN if value is UNKNOWN else [1, value])


def test_an_interpolation_cycle_is_unknown_and_told_once(tmp_path: Path) -> None:
    found = load(tmp_path, {"a.yaml": "engine: E\nb: ${c}\nc: ${d}\nd: x${b}\ne: ${b}\n"})
    stage = one(found)
    assert [stage.get(path) for path in "bcde"] == [UNKNOWN] * 4
    (problem,) = found.problems
    assert (problem.kind, problem.line) == ("syntax-error", 2)
    assert "cycle" in problem.message


def test_interpolation_bombs_are_bounded(tmp_path: Path) -> None:
    texts = "t0: 'xxxxxxxxxx'\n" + "".join(f"t{n}: '${{t{n - 1}}}${{t{n - 1}}}'\n" for n in range(1, 60))
    lists = "l0: ['${gone}']\n" + "".join(f"l{n}: ['${{l{n - 1}}}', '${{l{n - 1}}}']\n" for n in range(1, 60))
    chain = "c0: 1\n" + "".join(f"c{n}: ${{c{n - 1}}}\n" for n in range(1, 3000))
    backwards = "".join(f"d{n}: ${{d{n + 1}}}\n" for n in range(3000)) + "d3000: 1\n"
    started = time.perf_counter()
    stage = one(load(tmp_path, {"a.yaml": f"engine: E\n{texts}{lists}{chain}{backwards}"}))
    assert time.perf_counter() - started < 10
    assert stage.get("t59") is UNKNOWN
    assert stage.get("c2999") == 1
    assert stage.get("d2999") == 1


def test_a_section_that_is_an_interpolation_is_unknown_below(tmp_path: Path) -> None:
    stage = one(load(tmp_path, {"a.yaml": "engine: E\nmodel: ${other}\nother: {freeze: true}\n"}, schema=SCHEMA))
    assert stage.get("model") is UNKNOWN
    assert stage.get("model.freeze") is UNKNOWN
    assert stage.get("model.compile.enabled") is UNKNOWN


def test_broken_files_are_problems_and_no_stages(tmp_path: Path) -> None:
    found = load(tmp_path, {"a.yaml": "engine: E\n", "b.yaml": "engine: [\n", "c.yaml": "engine: E\nengine: E\n"})
    assert names(found) == ["a.yaml", "c.yaml"]
    assert [problem.display for problem in found.problems] == ["configs/b.yaml", "configs/c.yaml"]


WORDS = st.sampled_from(
    ["base", "g", "/g", "g/x", "x", "_self_", "null", "[x, y]", "???", "${g}", "a@b", "", "../x", "{}", "1"]
)
KEYS = st.sampled_from(["g", "/g", "override g", "optional g@_global_", "g@_here_", "@", "override", "x y z", "_self_"])
ITEM = st.one_of(
    WORDS.map(lambda word: f"- {word}\n"), st.builds(lambda key, word: f"- '{key}': {word}\n", KEYS, WORDS)
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    st.lists(ITEM, max_size=5),
    st.lists(ITEM, max_size=3),
    st.sampled_from(["", "# @package _group_\n", "# @package a.b\n"]),
)
def test_arbitrary_defaults_lists_never_raise(tmp_path: Path, main: list[str], inner: list[str], header: str) -> None:
    files = {
        "main.yaml": "defaults:\n" + "".join(main) + "k: ${.m}\n",
        "base.yaml": "k: 1\n",
        "g/x.yaml": header + "defaults:\n" + "".join(inner) + "m: ${..k}\n",
        "g/y.yaml": header + "k: 3\n",
    }
    found = load(tmp_path, files, schema=SCHEMA)
    for stage in found.stages:
        for path in (*stage.values, *stage.sections):
            assert stage.get(path) is not MISSING
