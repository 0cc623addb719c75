"""Config schemas read from source, never imported."""

from __future__ import annotations

import time
from pathlib import Path

from recipe_lint.lint.finding import Span
from recipe_lint.read.flags import MISSING, SECTION, UNKNOWN
from recipe_lint.read.imports import Definition, Project
from recipe_lint.read.schema import Schema, read_schema


def read(tmp_path: Path, text: str, name: str = "Config", **others: str) -> Schema:
    for other, content in others.items():
        (tmp_path / f"{other}.py").write_text(content)
    path = tmp_path / "schema.py"
    path.write_text(text)
    project = Project(tmp_path, tmp_path)
    module = project.load(path)
    assert module is not None
    definition = project.resolve(module, name)
    assert isinstance(definition, Definition)
    return read_schema(project, definition)


def defaults(schema: Schema) -> dict[str, object]:
    return {path: found.default for path, found in schema.fields.items()}


HEAD = "from typing import *\nfrom pydantic import BaseModel, ConfigDict, Field\n"


def test_every_way_to_write_a_default(tmp_path: Path) -> None:
    text = HEAD + (
        "LIMIT = 4 * 1024\n"
        "def made(): \n    '''Doc.'''\n    return ['x']\n"
        "def computed():\n    value = 1\n    return value\n"
        "class Config(BaseModel):\n"
        "    plain: int = -3\n"
        "    positional: int = Field(8, ge=1)\n"
        "    keyword: str = Field(default='a', description='d')\n"
        "    listed: list[str] = Field(default_factory=lambda: ['a', 'b'])\n"
        "    empty: list[str] = Field(default_factory=list)\n"
        "    function: list[str] = Field(default_factory=made)\n"
        "    named: int = LIMIT\n"
        "    noted: Annotated[int, Field(default=5)]\n"
        "    nothing: int\n"
        "    dots: int = ...\n"
        "    required: int = Field(..., gt=0)\n"
        "    bare: int = Field(gt=0)\n"
        "    opaque: int = int(os.environ['X'])\n"
        "    made_by: int = Field(default_factory=computed)\n"
        "    aliased: int = Field(1, alias='other')\n"
        "    table: dict[str, int] = {'a': 1}\n"
        "    star: list[int] = [*range(3)]\n"
        "    kind: ClassVar[str] = 'x'\n"
        "    _private: int = 1\n"
        "    unannotated = 3\n"
    )
    assert defaults(read(tmp_path, text)) == {
        "plain": -3,
        "positional": 8,
        "keyword": "a",
        "listed": ["a", "b"],
        "empty": [],
        "function": ["x"],
        "named": 4096,
        "noted": 5,
        "nothing": MISSING,
        "dots": MISSING,
        "required": MISSING,
        "bare": MISSING,
        "opaque": UNKNOWN,
        "made_by": UNKNOWN,
        "aliased": UNKNOWN,
        "table": {"a": 1},
        "star": UNKNOWN,
    }


def test_sections_are_flattened_through_every_annotation(tmp_path: Path) -> None:
    text = HEAD + (
        "from functools import partial\n"
        "class Compile(BaseModel):\n    enabled: bool = False\n"
        "class Config(BaseModel):\n"
        "    class Inner(BaseModel):\n        deep: int = 1\n"
        "    a: Compile = Field(default_factory=Compile)\n"
        "    b: Compile = Compile()\n"
        "    c: Compile = Compile(enabled=True)\n"
        "    d: Optional[Compile] = None\n"
        "    e: 'Compile | None' = Field(default_factory=partial(Compile, enabled=True))\n"
        "    f: Annotated[Compile, 'note'] = Field(default_factory=lambda: Compile(enabled=True))\n"
        "    g: Compile\n"
        "    h: Compile = build()\n"
        "    i: Any = Compile()\n"
        "    j: Inner = Inner()\n"
        "    k: Config.Inner = Inner(deep=2)\n"
    )
    schema = read(tmp_path, text)
    found = defaults(schema)
    assert [found[name] for name in "abcdefghijk"] == [
        *(SECTION, SECTION, SECTION, None, SECTION, SECTION, MISSING, UNKNOWN, SECTION, SECTION, SECTION)
    ]
    enabled = {name: found[f"{name}.enabled"] for name in "abcdefghi"}
    assert enabled == {
        "a": False,
        "b": False,
        "c": True,
        "d": MISSING,
        "e": True,
        "f": True,
        "g": MISSING,
        "h": UNKNOWN,
        "i": False,
    }
    assert (found["j.deep"], found["k.deep"]) == (1, 2)
    assert schema.sections == {"", *"abcdefghijk"}


def test_a_given_section_starts_from_its_own_class_in_pydantic(tmp_path: Path) -> None:
    text = HEAD + (
        "class Compile(BaseModel):\n    enabled: bool = False\n    mode: str = 'default'\n"
        "class Model(BaseModel):\n    compile: Compile = Compile(enabled=True)\n"
        "class Config(BaseModel):\n    model: Model = Model(compile=Compile(mode='max'))\n"
    )
    schema = read(tmp_path, text)
    enabled, mode = schema.fields["model.compile.enabled"], schema.fields["model.compile.mode"]
    assert [enabled.default_below(given) for given in (0, 1, 2)] == [False, True, False]
    assert [mode.default_below(given) for given in (0, 1, 2)] == ["max", "default", "default"]


def test_dataclasses_keep_the_default_instance(tmp_path: Path) -> None:
    text = (
        "from dataclasses import dataclass, field\n"
        "@dataclass\nclass Compile:\n    enabled: bool = False\n    mode: str = 'default'\n"
        "@dataclass\nclass Config:\n"
        "    compile: Compile = field(default_factory=lambda: Compile(enabled=True))\n"
        "    names: list = field(default_factory=list)\n"
    )
    schema = read(tmp_path, text)
    assert schema.fields["names"].default == []
    assert [schema.fields["compile.enabled"].default_below(given) for given in (0, 1)] == [True, True]


def test_inheritance_across_modules(tmp_path: Path) -> None:
    base = HEAD + (
        "class Optim(BaseModel):\n    lr: float = 1e-3\n    decay: float = 0.1\n"
        "class Base(BaseModel):\n"
        "    model_config = ConfigDict(extra='forbid')\n"
        "    seed: int = 1\n    name: str = 'base'\n    optim: Optim = Field(default_factory=Optim)\n"
    )
    text = (
        "import base as kit\nfrom base import Optim\nfrom pydantic import Field\n"
        "class Mine(Optim):\n    lr: float = 5e-4\n    extra_key: int = 2\n"
        "class Config(kit.Base):\n    name: str = 'mine'\n    optim: Mine = Field(default_factory=Mine)\n"
    )
    schema = read(tmp_path, text, base=base)
    assert defaults(schema) == {
        "seed": 1,
        "name": "mine",
        "optim": SECTION,
        "optim.lr": 5e-4,
        "optim.decay": 0.1,
        "optim.extra_key": 2,
    }
    assert schema.fields["seed"].holder == "Base"
    assert schema.fields["seed"].span.path == "base.py"
    assert schema.fields["name"].holder == "Config"
    assert schema.forbids_extra("")
    assert not schema.forbids_extra("optim")
    assert not schema.open_sections


def test_a_base_that_cannot_be_read_leaves_the_section_open(tmp_path: Path) -> None:
    schema = read(tmp_path, "from elsewhere import Base\nclass Config(Base):\n    a: int = 1\n")
    assert defaults(schema) == {"a": 1}
    assert schema.open_sections == {""}
    assert not schema.forbids_extra("")


def test_the_policy_for_unknown_keys_in_every_spelling(tmp_path: Path) -> None:
    text = HEAD + (
        "class A(BaseModel):\n    model_config = {'extra': 'forbid'}\n    x: int = 1\n"
        "class B(BaseModel):\n    class Config:\n        extra = Extra.forbid\n    x: int = 1\n"
        "class C(BaseModel, extra='forbid'):\n    x: int = 1\n"
        "class D(A):\n    model_config = ConfigDict(extra='allow')\n"
        "class E(A):\n    model_config = ConfigDict(frozen=False)\n"
        "class F(A):\n    model_config = ConfigDict(extra=POLICY)\n"
        "class Config(BaseModel):\n"
        "    a: A = A()\n    b: B = B()\n    c: C = C()\n    d: D = D()\n    e: E = E()\n    f: F = F()\n"
    )
    schema = read(tmp_path, text)
    assert [name for name in "abcdef" if schema.forbids_extra(name)] == ["a", "b", "c", "e"]
    assert not schema.forbids_extra("")


def test_choices_come_from_closed_literals_only(tmp_path: Path) -> None:
    text = HEAD + (
        "Mode = Literal['x', 'y']\n"
        "class Config(BaseModel):\n"
        "    a: Literal['eager', 'sdpa'] = 'sdpa'\n"
        "    b: Optional[Literal[1, 2]] = None\n"
        "    c: bool | None | Literal['non-empty'] = None\n"
        "    d: Mode = 'x'\n"
        "    e: list[Literal['q']] = []\n"
        "    f: 'Literal[True]' = True\n"
        "    g: str = ''\n"
    )
    schema = read(tmp_path, text)
    assert {path: found.choices for path, found in schema.fields.items()} == {
        "a": ("eager", "sdpa"),
        "b": (1, 2, None),
        "c": None,
        "d": ("x", "y"),
        "e": None,
        "f": (True,),
        "g": None,
    }
    assert schema.fields["f"].annotation == "Literal[True]"


def test_spans_and_comments(tmp_path: Path) -> None:
    text = HEAD + (
        "class Config(BaseModel):\n"
        "    first: int = 1\n"
        "\n"
        "    # Freeze flags: the tower\n"
        "    # is frozen.\n"
        "    größe: bool = True  # trains nothing\n"
        "    last: list[str] = Field(\n        default_factory=list,\n    )  # many lines\n"
    )
    schema = read(tmp_path, text)
    assert schema.fields["größe"].span == Span("schema.py", 8, 5, 8, 10)
    assert schema.fields["größe"].comment == "Freeze flags: the tower\nis frozen.\ntrains nothing"
    assert schema.fields["last"].comment == "many lines"
    assert schema.fields["first"].comment == ""


def test_a_union_of_sections_tells_only_what_the_default_builds(tmp_path: Path) -> None:
    text = HEAD + (
        "class Adam(BaseModel):\n    kind: Literal['adam'] = 'adam'\n    lr: float = 1.0\n"
        "class Muon(BaseModel):\n    kind: Literal['muon'] = 'muon'\n    ns: int = 5\n"
        "class Config(BaseModel):\n    optim: Adam | Muon = Field(default_factory=Adam, discriminator='kind')\n"
    )
    schema = read(tmp_path, text)
    assert schema.fields["optim.kind"].default == "adam"
    assert schema.fields["optim.kind"].choices is None
    assert schema.fields["optim.lr"].default == 1.0
    assert schema.fields["optim.ns"].default is MISSING
    assert schema.fields["optim.lr"].default_below(1) is UNKNOWN


def test_recursion_between_classes_and_bases_ends(tmp_path: Path) -> None:
    text = HEAD + (
        "class A(BaseModel):\n    x: int = 1\n    b: 'B | None' = None\n"
        "class B(BaseModel):\n    a: A = Field(default_factory=A)\n"
        "class Loop(Loop2):\n    y: int = 1\nclass Loop2(Loop):\n    z: int = LATER\n"
        "LATER = SOONER\nSOONER = LATER\n"
        "class Config(BaseModel):\n    a: A = A()\n    loop: Loop = Loop()\n    n: int = LATER\n"
    )
    schema = read(tmp_path, text)
    assert schema.fields["a.b"].default is None
    assert "a.b.a" in schema.fields
    assert "a.b.a.x" not in schema.fields
    assert "a.b.a" in schema.open_sections
    assert schema.fields["n"].default is UNKNOWN


def test_wide_and_deep_schemas_are_bounded(tmp_path: Path) -> None:
    classes = ["class C0(BaseModel):\n    x: int = 1\n"]
    classes += [
        f"class C{n}(BaseModel):\n    a: C{n - 1} = C{n - 1}()\n    b: C{n - 1} = C{n - 1}()\n" for n in range(1, 40)
    ]
    values = ["V0 = [1, 1]\n", *(f"V{n} = [{', '.join([f'V{n - 1}'] * 50)}]\n" for n in range(1, 9))]
    bases = ["class B0(BaseModel):\n    q: int = 1\n", *(f"class B{n}(B{n - 1}):\n    pass\n" for n in range(1, 900))]
    fields = "class Config(BaseModel):\n    c: C39 = C39()\n    v: list = V8\n    w: B899 = B899()\n"
    started = time.perf_counter()
    schema = read(
        tmp_path, HEAD + "".join([*classes, *values, *bases]) + fields + f"    u: {'|'.join(['int'] * 900)} = 1\n"
    )
    assert time.perf_counter() - started < 10
    assert len(schema.fields) <= 5_000


def test_what_is_no_config_class_gives_an_empty_schema(tmp_path: Path) -> None:
    text = "from enum import Enum\nclass Mode(Enum):\n    a: str = 'a'\ndef Config(): ...\nX = 3\n"
    text += "class Bare:\n    a: int = 1\n"
    for name in ("Mode", "Config", "X", "Bare"):
        schema = read(tmp_path, text, name)
        assert not schema.fields
        assert not schema.sections
