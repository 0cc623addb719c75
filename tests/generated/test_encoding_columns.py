"""Columns count code points: after emoji and CJK, after tabs, and in files of another encoding."""

from __future__ import annotations

from pathlib import Path

import pytest

from recipe_lint.lint.finding import Finding

from .dresses import run

_TEXT = """\
# -*- coding: {encoding} -*-
from torch.nn.parallel import DistributedDataParallel as DDP

from mvp_engine.engine import Engine
from mvp_engine.kit import MLLMModelKit


class WordyEngine(Engine):
    def prepare_model(self):
        kit = MLLMModelKit()
        model = kit.build_model(self.config.model.path)
        {name} = "{text}"; model = DDP(model)
        print("{text}", kit.apply_freeze_policy(model, freeze_vit=True), "{text}")
        return model
"""
_CALL = "kit.apply_freeze_policy(model, freeze_vit=True)"
_WRAP = "DDP(model)"


def judge(root: Path, data: bytes) -> Finding:
    (root / ".git").mkdir()
    path = root / "engine.py"
    path.write_bytes(data)
    result = run(path)
    assert result.internal_errors == ()
    assert [finding.code for finding in result.findings] == ["RL103"]
    return result.findings[0]


def check(finding: Finding, text: str) -> None:
    """The spans cut the two calls out of the decoded lines."""
    lines = text.split("\n")
    span = finding.span
    assert lines[span.line - 1][span.column - 1 : span.end_column - 1] == _CALL
    assert finding.span.end_line == finding.span.line
    other = finding.related[0].span
    assert lines[other.line - 1][other.column - 1 : other.end_column - 1] == _WRAP


@pytest.mark.parametrize(
    "text",
    ["plain", "🤖", "👩‍👩‍👧‍👦 family", "模型加载", "e\u0301 combined", "\U0001f1eb\U0001f1f7", "שלום", "\u200b", "ﬁ"],
    ids=["ascii", "emoji", "joined-emoji", "cjk", "combining", "flag", "right-to-left", "zero-width", "ligature"],
)
@pytest.mark.parametrize("name", ["note", "größe", "变量"])
def test_after_wide_text(tmp_path: Path, text: str, name: str) -> None:
    source = _TEXT.format(encoding="utf-8", name=name, text=text)
    check(judge(tmp_path, source.encode()), source)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("latin-1", "café à la carte"),
        ("iso-8859-15", "100 €"),
        ("cp1252", "“quoted”"),
        ("koi8-r", "модель"),
        ("shift_jis", "模型"),
        ("euc-jp", "モデル"),
        ("gb18030", "🤖 模型"),
        ("big5", "模型"),
    ],
)
def test_by_the_declared_encoding(tmp_path: Path, encoding: str, text: str) -> None:
    source = _TEXT.format(encoding=encoding, name="note", text=text)
    check(judge(tmp_path, source.encode(encoding)), source)


def test_a_tab_is_one_column(tmp_path: Path) -> None:
    source = (
        _TEXT.format(encoding="utf-8", name="note", text="a\tb").replace("    ", "\t").replace(" = DDP", "\t=\tDDP")
    )
    finding = judge(tmp_path, source.encode())
    check(finding, source)
    assert finding.span.column == len('\t\tprint("a\tb", ') + 1


def test_after_a_byte_order_mark(tmp_path: Path) -> None:
    source = _TEXT.format(encoding="utf-8", name="note", text="模型")
    check(judge(tmp_path, source.encode("utf-8-sig")), source)


def test_windows_line_endings(tmp_path: Path) -> None:
    source = _TEXT.format(encoding="utf-8", name="note", text="模型")
    check(judge(tmp_path, source.replace("\n", "\r\n").encode()), source)


def test_a_call_over_many_lines_is_cut_to_its_first(tmp_path: Path) -> None:
    source = _TEXT.format(encoding="utf-8", name="note", text="🤖").replace(
        "(model, freeze_vit=True)", "(  # 模型\n            model,\n            freeze_vit=True,\n        )"
    )
    finding = judge(tmp_path, source.encode())
    line = source.split("\n")[finding.span.line - 1]
    assert line[finding.span.column - 1 :].startswith("kit.apply_freeze_policy(")
    assert finding.span.end_line == finding.span.line
    assert finding.span.end_column <= len(line) + 1


def test_separators_that_end_no_line(tmp_path: Path) -> None:
    """A form feed, a line separator or a next-line character ends a line for ``str.splitlines``, not for Python."""
    source = _TEXT.format(encoding="utf-8", name="note", text="a\u2028b\u0085c\x0cd\x1ce")
    check(judge(tmp_path, source.encode()), source)
