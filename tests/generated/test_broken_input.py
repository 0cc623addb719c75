"""A file that cannot be judged is one clear finding, and the recipes beside it are judged all the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from recipe_lint.lint.finding import Finding
from recipe_lint.lint.result import Result

from .dresses import STEPS, run, straight

WRONG = straight((STEPS["parallelize"], STEPS["freeze"]))
WRONG_TEXT = "\n".join(text for text, _ in WRONG.files["engine/engine.py"]) + "\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project with one faulty recipe, ``recipes/sound``."""
    (tmp_path / ".git").mkdir()
    WRONG.write(tmp_path / "recipes" / "sound")
    return tmp_path


def put(root: Path, name: str, data: bytes | str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def judge(root: Path) -> tuple[Result, list[Finding]]:
    """The result, and the findings of the tool's own family; the sound recipe must have its finding in any case."""
    result = run(root)
    assert result.internal_errors == ()
    sound = [f for f in result.findings if "sound" in f.span.path]
    assert [f.code for f in sound] == ["RL103"]
    return result, [f for f in result.findings if f.code.startswith("RL0")]


def one_problem(root: Path, code: str, file: str, line: int) -> Finding:
    """The only problem, told once, in one line, at its file and line."""
    _, own = judge(root)
    assert [(f.code, f.span.line) for f in own] == [(code, line)]
    assert own[0].span.path.endswith(file)
    assert own[0].message.strip()
    assert "\n" not in own[0].message
    return own[0]


ENGINE = "recipes/broken/engine/engine.py"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("class E:\n    def prepare_model(self):\n        model = (\n", 3),
        ("class E:\n    def prepare_model(self):\n        model = 'open\n", 3),
        ("class E:\n  def prepare_model(self):\n      pass\n     pass\n", 4),
        ("class E:\n\tdef prepare_model(self):\n        return 1\n", 3),
        ("def prepare_model(self):\n    x = 1 +\n", 2),
        ("def prepare_model(self):\n    print 'x'\n", 2),
        ("def prepare_model(self):\n    f'{'\n", 2),
    ],
)
def test_a_syntax_error(tree: Path, text: str, line: int) -> None:
    put(tree, ENGINE, text)
    one_problem(tree, "RL001", ENGINE, line)


def test_bad_utf8(tree: Path) -> None:
    put(tree, ENGINE, b"class E:\n    # caf\xe9\n    def prepare_model(self):\n        pass\n")
    assert "0xe9" in one_problem(tree, "RL002", ENGINE, 2).message


def test_an_unknown_encoding(tree: Path) -> None:
    put(tree, ENGINE, b"# -*- coding: klingon -*-\nclass E:\n    def prepare_model(self):\n        pass\n")
    assert "klingon" in one_problem(tree, "RL002", ENGINE, 1).message


def test_null_bytes(tree: Path) -> None:
    put(tree, ENGINE, b"class E:\n    def prepare_model(self):\n        return '\0'\n")
    _, own = judge(tree)
    assert [f.code for f in own] == ["RL001"]
    assert own[0].span.path.endswith(ENGINE)


def test_deep_parentheses(tree: Path) -> None:
    put(tree, ENGINE, f"class E:\n    def prepare_model(self):\n        return {'(' * 5_000}1{')' * 5_000}\n")
    _, own = judge(tree)
    assert [f.code for f in own] == ["RL001"]
    assert own[0].span.path.endswith(ENGINE)


def test_parentheses_that_python_accepts(tree: Path) -> None:
    text = WRONG_TEXT.replace("return model", f"return {'(' * 90}model{')' * 90}")
    put(tree, "recipes/deep/engine/engine.py", text)
    result, own = judge(tree)
    assert own == []
    assert [f.code for f in result.findings] == ["RL103", "RL103"]


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf", b"#", b"\\\n", b"\x0c"])
def test_a_file_without_statements(tree: Path, data: bytes) -> None:
    put(tree, ENGINE, data)
    _, own = judge(tree)
    assert own == []


def test_a_folder_with_the_name_of_a_module(tree: Path) -> None:
    (tree / "recipes" / "broken" / "x.py").mkdir(parents=True)
    put(tree, "recipes/broken/x.py/engine.py", WRONG_TEXT)
    result, own = judge(tree)
    assert own == []
    assert [f.code for f in result.findings] == ["RL103", "RL103"]


def test_an_unreadable_file(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tree, ENGINE, WRONG_TEXT)
    read = Path.read_bytes

    def refuse(self: Path) -> bytes:
        if self == path:
            raise PermissionError(13, "Permission denied")
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert "permission denied" in one_problem(tree, "RL002", ENGINE, 1).message


def test_a_file_that_vanishes(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tree, ENGINE, WRONG_TEXT)
    read = Path.read_bytes

    def vanish(self: Path) -> bytes:
        if self == path:
            raise FileNotFoundError(2, "No such file or directory")
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", vanish)
    one_problem(tree, "RL002", ENGINE, 1)


def test_a_broken_builder_of_a_good_engine(tree: Path) -> None:
    put(tree, "recipes/half/model/builder.py", "def build(config):\n    return (\n")
    text = WRONG_TEXT.replace("from mvp_engine.engine", "from ..model.builder import build\nfrom mvp_engine.engine")
    text = text.replace("self.model_kit.build_model(self.config.model.path)", "build(self.config)")
    put(tree, "recipes/half/engine/engine.py", text)
    one_problem(tree, "RL001", "recipes/half/model/builder.py", 2)
    result, _ = judge(tree)
    assert "RL103" in {f.code for f in result.findings if "half" in f.span.path}


def test_a_broken_schema(tree: Path) -> None:
    put(tree, "recipes/half/config/schema.py", "class Config:\n    x: int = \n")
    text = WRONG_TEXT.replace("from mvp_engine.engine", "from ..config.schema import Config\nfrom mvp_engine.engine")
    text = text.replace("(Engine):\n", "(Engine):\n    ConfigClass = Config\n\n")
    put(tree, "recipes/half/engine/engine.py", text)
    one_problem(tree, "RL001", "recipes/half/config/schema.py", 2)
    result, _ = judge(tree)
    assert "RL103" in {f.code for f in result.findings if "half" in f.span.path}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("engine: GeneratedEngine\nmodel:\n\tpath: x\n", 3),
        ("engine: GeneratedEngine\nmodel: [1, 2\n", 3),
        ("engine: GeneratedEngine\nmodel: 'open\n", 3),
    ],
)
def test_a_broken_stage(tree: Path, text: str, line: int) -> None:
    put(tree, "recipes/half/engine/engine.py", WRONG_TEXT)
    put(tree, "recipes/half/configs/stage1.yaml", text)
    result, own = judge(tree)
    assert [(f.code, Path(f.span.path).name) for f in own] == [("RL001", "stage1.yaml")]
    assert own[0].span.line in (line - 1, line)
    assert [f.code for f in result.findings if f.span.path.endswith("half/engine/engine.py")] == ["RL103"]


def test_modules_that_import_each_other(tree: Path) -> None:
    head = "from torch.nn.parallel import DistributedDataParallel as DDP\n"
    put(
        tree,
        "recipes/ring/a.py",
        f"from .b import *\nfrom .b import second, no\n{head}\n\ndef first(model):\n    return second(DDP(model))\n",
    )
    put(
        tree,
        "recipes/ring/b.py",
        "from . import a\nfrom .a import *\nfrom .a import first, nowhere\n\n\n"
        "def second(model):\n    model.requires_grad_(False)\n    return first(model) if model.again else model\n",
    )
    put(tree, "recipes/ring/__init__.py", "from .a import first\nfrom .b import second\nfrom . import *\n")
    put(
        tree,
        "recipes/ring/engine.py",
        "from transformers import AutoModel\nfrom . import first, nowhere\n\n\n"
        "class RingEngine(nowhere):\n    def prepare_model(self):\n        model = AutoModel.from_pretrained('x')\n"
        "        return first(model)\n",
    )
    result, own = judge(tree)
    assert own == []
    assert {f.code for f in result.findings if "ring" in f.span.path} == {"RL103"}


def test_classes_that_inherit_from_each_other(tree: Path) -> None:
    put(
        tree,
        "recipes/ring/a.py",
        "from .b import B\n\n\nclass A(B):\n    def prepare_model(self):\n        return super().prepare_model()\n",
    )
    put(
        tree,
        "recipes/ring/b.py",
        "from .a import A\n\n\nclass B(A):\n    def prepare_model(self):\n        return super().prepare_model()\n",
    )
    put(
        tree, "recipes/ring/c.py", "class C(C):\n    def prepare_model(self):\n        return super().prepare_model()\n"
    )
    _, own = judge(tree)
    assert own == []


def test_helpers_that_call_each_other(tree: Path) -> None:
    text = WRONG_TEXT.replace("        return model\n", "        return ping(model)\n")
    text += "\n\ndef ping(model):\n    return pong(model)\n\n\ndef pong(model):\n    return ping(model)\n"
    put(tree, "recipes/ring/engine.py", text)
    result, own = judge(tree)
    assert own == []
    assert [f.code for f in result.findings if "ring" in f.span.path] == ["RL103"]
    assert "ping calls itself" in {call.why for call in result.unknown}


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"\n", b"\r"),
        lambda data: data.replace(b"\n    def prepare_model", b"\n\x0c\n    def prepare_model"),
        lambda data: data.replace(b"    ", b"\t"),
        lambda data: data.rstrip(b"\n"),
        lambda data: data.replace(
            b"model = DDP(model, device_ids=[0])", b"model = \\\n            DDP(model, device_ids=[0])"
        ),
    ],
    ids=["byte-order-mark", "crlf", "cr", "form-feed", "tabs", "no-last-newline", "continued-line"],
)
def test_unusual_bytes_of_good_code(tree: Path, change: object) -> None:
    data = change(WRONG_TEXT.encode())  # type: ignore[operator]
    put(tree, "recipes/odd/engine.py", data)
    result, own = judge(tree)
    assert own == []
    found = [f for f in result.findings if "odd" in f.span.path]
    assert [f.code for f in found] == ["RL103"]
    lines = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    line = lines[found[0].span.line - 1]
    start, end = found[0].span.column - 1, found[0].span.end_column - 1
    assert line[start:end].startswith("self.model_kit.apply_freeze_policy(")
    assert line[start:end].endswith(")")


def test_the_limits_of_the_process_are_left_as_they_were(tree: Path) -> None:
    before = sys.getrecursionlimit()
    judge(tree)
    assert sys.getrecursionlimit() == before
