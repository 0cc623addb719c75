"""YAML trees: values, positions, and that no input raises or explodes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recipe_lint.lint.finding import Span
from recipe_lint.read.flags import UNKNOWN
from recipe_lint.read.yaml_tree import (
    YamlDocument,
    YamlMapping,
    YamlNode,
    YamlScalar,
    YamlSequence,
    load_yaml,
    parse_yaml,
)


def mapping(node: YamlNode | None) -> dict[str, YamlNode]:
    assert isinstance(node, YamlMapping)
    return {item.key: item.value for item in node.items}


def scalars(text: str) -> dict[str, object]:
    found = mapping(parse_yaml(text, "f.yaml").root)
    return {key: value.value for key, value in found.items() if isinstance(value, YamlScalar)}


def only(document: YamlDocument) -> tuple[int, int, str]:
    (problem,) = document.problems
    assert problem.kind == "syntax-error"
    assert "\n" not in problem.message
    return problem.line, problem.column, problem.message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("off", False),
        ("12", 12),
        ("0x10", 16),
        ("-1", -1),
        ("4.0e-5", 4.0e-5),
        ("1e-5", 1e-5),
        ("1E6", 1e6),
        (".5", 0.5),
        ("", None),
        ("~", None),
        ("null", None),
        ("'1e-5'", "1e-5"),
        ('"true"', "true"),
        ("e5", "e5"),
        ("1e", "1e"),
        ("2024-01-01", "2024-01-01"),
        ("!!str 5", "5"),
        ("!!int '7'", 7),
        ("<<", "<<"),
        ("!include x.yaml", UNKNOWN),
        ("!!python/object/apply:os.getcwd x", UNKNOWN),
        ("9" * 5000, UNKNOWN),
    ],
)
def test_scalars_resolve_as_omegaconf_reads_them(text: str, value: object) -> None:
    found = scalars(f"a: {text}\n")["a"]
    assert found == value
    assert type(found) is type(value)


def test_spans_count_code_points_and_end_behind_the_last_character() -> None:
    document = parse_yaml("größe: 'ü'\nb:\n  - 1\n  - two\n\n# end\nc: 3\n", "f.yaml")
    assert isinstance(document.root, YamlMapping)
    size, b, _ = document.root.items
    assert size.key_span == Span("f.yaml", 1, 1, 1, 6)
    assert size.value.span == Span("f.yaml", 1, 8, 1, 11)
    assert b.key_span == Span("f.yaml", 2, 1, 2, 2)
    assert b.value.span == Span("f.yaml", 3, 3, 4, 8)
    assert document.root.span == Span("f.yaml", 1, 1, 7, 5)


def test_aliases_share_one_node_and_merge_keys_yield_to_own_keys() -> None:
    text = "base: &b {x: 1, y: 2}\nother: &o {y: 9, z: 9}\none:\n  <<: [*b, *o]\n  x: 5\ntwo: *b\n"
    root = mapping(parse_yaml(text, "f.yaml").root)
    assert root["two"] is root["base"]
    one = mapping(root["one"])
    values = {key: value.value for key, value in one.items() if isinstance(value, YamlScalar)}
    assert values == {"x": 5, "y": 2, "z": 9}
    assert one["y"].span.line == 1


def test_a_duplicate_key_is_reported_at_the_second_one_and_the_last_one_wins() -> None:
    document = parse_yaml("m:\n  a: 1\n  b: 2\n  a: 3\n", "f.yaml")
    line, column, message = only(document)
    assert (line, column) == (4, 3)
    assert "`a`" in message
    assert "line 2" in message
    inner = mapping(mapping(document.root)["m"])["a"]
    assert isinstance(inner, YamlScalar)
    assert inner.value == 3


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a:\n\tb: 1\n", (2, 1), "tab"),
        ("a: [1", (1, 6), "expected"),
        ("a: b: c\n", (1, 5), "mapping values"),
        ("a: \x01\n", (1, 4), "control character"),
        ("a: *x\n", (1, 4), "no anchor"),
        ("a: &x [*x]\n", (1, 8), "recursion"),
        ("a: &x\n  b: *x\n", (2, 6), "recursion"),
        ("a:\n  <<: 3\n", (2, 7), "<<"),
        ("a: 1\n---\nb: 2\n", (2, 1), "second document"),
        ("? [a]\n: 1\n", (1, 3), "key"),
    ],
)
def test_what_is_wrong_gives_one_clear_problem(text: str, place: tuple[int, int], words: str) -> None:
    line, column, message = only(parse_yaml(text, "f.yaml"))
    assert (line, column) == place
    assert words in message


def test_only_the_first_of_several_documents_is_used() -> None:
    assert scalars("a: 1\n---\nb: 2\n---\n[broken") == {"a": 1}


def test_an_empty_file_is_no_problem(tmp_path: Path) -> None:
    for text in ("", "# only a comment\n", "\n\n"):
        path = tmp_path / "e.yaml"
        path.write_text(text)
        assert load_yaml(path, "e.yaml") == YamlDocument("e.yaml", None, ())


def test_unreadable_files(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_bytes(b"a: 1\nb: \xff\n")
    (problem,) = load_yaml(bad, "bad.yaml").problems
    assert (problem.kind, problem.line) == ("unreadable-file", 2)
    assert "UTF-8" in problem.message
    for path in (tmp_path / "gone.yaml", tmp_path):
        document = load_yaml(path, "x")
        assert document.root is None
        assert [problem.kind for problem in document.problems] == ["unreadable-file"]


def test_byte_order_marks(tmp_path: Path) -> None:
    path = tmp_path / "b.yaml"
    for encoding in ("utf-8-sig", "utf-16"):
        path.write_bytes("a: ü\n".encode(encoding))
        root = load_yaml(path, "b.yaml").root
        assert isinstance(root, YamlMapping)
        assert root.items[0].key_span.column == 1
        assert root.items[0].value.span.column == 4


def test_alias_and_merge_bombs_are_refused_fast() -> None:
    lists = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    lists += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40))
    wide = "a: &a {" + ", ".join(f"k{n}: 1" for n in range(2000)) + "}\n"
    merges = wide + "".join(f"m{n}: {{<<: *a}}\n" for n in range(2000))
    chain = wide + "m0: &m0 {<<: *a}\n" + "".join(f"m{n}: &m{n} {{<<: *m{n - 1}}}\n" for n in range(1, 2000))
    for text in (lists, merges, chain):
        started = time.perf_counter()
        document = parse_yaml(text, "f.yaml")
        assert time.perf_counter() - started < 3
        assert document.root is None
        assert "aliases repeat" in only(document)[2]


@pytest.mark.parametrize(
    "text", ["[" * 50_000, "{a: " * 5_000, "- " * 5_000, "\n".join(" " * n + "a:" for n in range(500))]
)
def test_deep_nesting_is_refused(text: str) -> None:
    document = parse_yaml(text, "f.yaml")
    assert document.root is None
    assert len(document.problems) == 1


def test_ten_thousand_keys_are_read_fast() -> None:
    started = time.perf_counter()
    root = parse_yaml("".join(f"key{n}: {n}\n" for n in range(10_000)), "f.yaml").root
    assert time.perf_counter() - started < 5
    assert isinstance(root, YamlMapping)
    assert len(root.items) == 10_000


def test_the_package_header_is_kept() -> None:
    assert parse_yaml("# @package model\n\na: 1\n", "f.yaml").package == "model"
    assert parse_yaml("# a note\n# @package model\na: 1\n", "f.yaml").package is None


def check(document: YamlDocument) -> None:
    for problem in document.problems:
        assert problem.line >= 1
        assert problem.column >= 1
        assert "\n" not in problem.message
    pending = [document.root] if document.root is not None else []
    while pending:
        node = pending.pop()
        span = node.span
        assert (1, 1) <= (span.line, span.column) <= (span.end_line, span.end_column)
        if isinstance(node, YamlSequence):
            pending += node.items
        elif isinstance(node, YamlMapping):
            assert len({item.key for item in node.items}) == len(node.items)
            pending += [item.value for item in node.items]


@given(st.text(max_size=80))
@example("a: \ud800")
@example("\ufeff\ufeff")
@example("%TAG ! !\n--- !x\n")
def test_arbitrary_text_never_raises(text: str) -> None:
    check(parse_yaml(text, "f.yaml"))


@given(
    st.lists(
        st.sampled_from(
            ["a", ":", " ", "\n", "  ", "- ", "[", "]", "{", "}", "&x ", "*x", "<<: ", "'", "|", "\t", "? "]
        )
    )
)
def test_arbitrary_yaml_pieces_never_raise(pieces: list[str]) -> None:
    check(parse_yaml("".join(pieces), "f.yaml"))


@given(st.binary(max_size=80))
def test_arbitrary_bytes_never_raise(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_bytes(data)
    check(load_yaml(path, "fuzz.yaml"))
