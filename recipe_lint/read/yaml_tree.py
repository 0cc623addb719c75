"""YAML as a tree of plain values, each with its place in the file.

The tree is built from the parser's events instead of ``yaml.compose``: so depth, aliases and merges are bounded while
they are read, and an aliased node is one shared object.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from recipe_lint.read.flags import UNKNOWN
from recipe_lint.read.source import Problem, read_bytes
from recipe_lint.read.span import Span

MAX_DEPTH = 100
MAX_REPEATED = 100_000

_STR = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
# YAML 1.1 wants a dot in a float; OmegaConf reads 1e-5 as one too.
_EXPONENT_FLOAT = re.compile(r"[-+]?(?:[0-9]+(?:_[0-9]+)*\.[0-9_]*|\.?[0-9]+(?:_[0-9]+)*)(?:[eE][-+]?[0-9]+)")
_HEADER_LINE = re.compile(r"\s*#+\s*@(\w+)\s+(\S+)\s*$")


@dataclass(frozen=True, slots=True)
class YamlScalar:
    """A bool, int, float, string or None; ``UNKNOWN`` where a custom tag decides the value."""

    value: object
    span: Span


@dataclass(frozen=True, slots=True)
class YamlItem:
    """One key of a mapping and its value. ``key`` is the key as written, without quotes."""

    key: str
    key_span: Span
    value: YamlNode


@dataclass(frozen=True, slots=True)
class YamlMapping:
    """A mapping with merge keys applied and each key once."""

    items: tuple[YamlItem, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class YamlSequence:
    """A list."""

    items: tuple[YamlNode, ...]
    span: Span


YamlNode = YamlScalar | YamlMapping | YamlSequence


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """The first document of a file. ``root`` is None where the file is empty or cannot be read.

    ``package`` is the value of a Hydra ``# @package`` header.
    """

    display: str
    root: YamlNode | None
    problems: tuple[Problem, ...]
    package: str | None = None


def load_yaml(path: Path, display: str) -> YamlDocument:
    """Read the YAML file at ``path``, shown as ``display``. Never raises: what is wrong stands in ``problems``."""
    data = read_bytes(path, display)
    if isinstance(data, Problem):
        return YamlDocument(display, None, (data,))
    text = _decode(data, display)
    if isinstance(text, Problem):
        return YamlDocument(display, None, (text,))
    return parse_yaml(text, display)


def parse_yaml(text: str, display: str) -> YamlDocument:
    """Parse YAML text, shown as ``display``. Never raises."""
    builder = _Builder(display)
    try:
        builder.read(text)
    except _RefusedError as error:
        builder.problems.append(error.problem)
    except yaml.YAMLError as error:
        builder.problems.append(_parse_problem(error, text, display))
    except (ValueError, RecursionError, MemoryError) as error:
        builder.problems.append(Problem("syntax-error", display, 1, 1, f"cannot be parsed ({_one_line(str(error))})"))
    return YamlDocument(display, builder.root, tuple(builder.problems), _package_header(text))


class _RefusedError(Exception):
    """Ends the reading of a document."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(slots=True)
class _Sized:
    """A node and the number of nodes it would have if every alias were written out."""

    node: YamlNode
    size: int


@dataclass
class _Builder:
    display: str
    root: YamlNode | None = None
    problems: list[Problem] = field(default_factory=list)
    anchors: dict[str, _Sized] = field(default_factory=dict)
    unfinished: set[str] = field(default_factory=set)
    repeated: int = 0

    def read(self, text: str) -> None:
        # The stubs do not tell that both loaders give events and resolve tags.
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        self.loader = loader
        self.construct: Any = yaml.constructor.SafeConstructor()
        try:
            loader.get_event()
            if isinstance(loader.get_event(), yaml.StreamEndEvent):
                return
            self.root = self.node(loader.get_event(), 0).node
            loader.get_event()
            following = loader.get_event()
            if not isinstance(following, yaml.StreamEndEvent):
                message = "a second document starts here; only the first one of the file is used"
                self.problems.append(self.problem(following.start_mark, message))
        finally:
            loader.dispose()

    def problem(self, mark: Any, message: str) -> Problem:
        return Problem("syntax-error", self.display, mark.line + 1, mark.column + 1, message)

    def refuse(self, event: Any, message: str) -> _RefusedError:
        return _RefusedError(self.problem(event.start_mark, message))

    def span(self, start: Any, end: Any) -> Span:
        return Span(self.display, start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    def node(self, event: Any, depth: int) -> _Sized:
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event)
        if depth > MAX_DEPTH:
            raise self.refuse(event, f"nested more than {MAX_DEPTH} levels deep; the file is not read")
        name = event.anchor
        if name is not None:
            self.unfinished.add(name)
        if isinstance(event, yaml.ScalarEvent):
            span = self.span(event.start_mark, event.end_mark)
            found = _Sized(YamlScalar(self.scalar(event, self.tag(event)), span), 1)
        elif isinstance(event, yaml.SequenceStartEvent):
            found = self.sequence(event, depth)
        else:
            found = self.mapping(event, depth)
        if name is not None:
            self.unfinished.discard(name)
            self.anchors[name] = found
        return found

    def alias(self, event: Any) -> _Sized:
        name = str(event.anchor)
        if name in self.unfinished:
            raise self.refuse(event, f"alias *{name} stands inside the value it names; remove the recursion")
        found = self.anchors.get(name)
        if found is None:
            raise self.refuse(event, f"alias *{name} has no anchor &{name} above it")
        self.count(event, found.size)
        return found

    def count(self, event: Any, size: int) -> None:
        """Add nodes that stand in the tree once more than they are written."""
        self.repeated += size
        if self.repeated > MAX_REPEATED:
            raise self.refuse(event, f"aliases repeat more than {MAX_REPEATED} values; the file is not read")

    def sequence(self, event: Any, depth: int) -> _Sized:
        items: list[YamlNode] = []
        size = 1
        last: Span | None = None
        while not isinstance(inner := self.loader.get_event(), yaml.SequenceEndEvent):
            sized = self.node(inner, depth + 1)
            items.append(sized.node)
            size += sized.size
            last = self.place(inner, sized)
        return _Sized(YamlSequence(tuple(items), self.outer(event, inner, last)), size)

    def mapping(self, event: Any, depth: int) -> _Sized:
        own: dict[str, YamlItem] = {}
        merged: dict[str, YamlItem] = {}
        size = 1
        last: Span | None = None
        while not isinstance(key_event := self.loader.get_event(), yaml.MappingEndEvent):
            key = self.node(key_event, depth + 1)
            value_event = self.loader.get_event()
            value = self.node(value_event, depth + 1)
            size += key.size + value.size
            last = self.place(value_event, value)
            if not isinstance(key_event, yaml.ScalarEvent):
                message = "a key must be one plain value, not a list, a mapping or an alias; it is left out"
                self.problems.append(self.problem(key_event.start_mark, message))
            elif not key_event.style and self.tag(key_event) == _MERGE:
                merged.update(self.merge(value_event, value))
            else:
                self.add(own, YamlItem(key_event.value, key.node.span, value.node))
        return _Sized(YamlMapping(tuple({**merged, **own}.values()), self.outer(event, key_event, last)), size)

    def add(self, own: dict[str, YamlItem], item: YamlItem) -> None:
        earlier = own.get(item.key)
        if earlier is not None:
            line = earlier.key_span.line
            message = f"key `{_one_line(item.key)}` is given twice, first on line {line}; the last one is used"
            self.problems.append(
                Problem("syntax-error", self.display, item.key_span.line, item.key_span.column, message)
            )
        own[item.key] = item

    def merge(self, event: Any, value: _Sized) -> dict[str, YamlItem]:
        """What ``<<: value`` adds; in a list of mappings the earlier one wins."""
        sources = value.node.items if isinstance(value.node, YamlSequence) else (value.node,)
        merged: dict[str, YamlItem] = {}
        self.count(event, value.size)
        for source in reversed(sources):
            if not isinstance(source, YamlMapping):
                raise self.refuse(event, "`<<` needs a mapping or a list of mappings")
            # Merged items are in no node's size yet, and a chain of merges copies them again at every link.
            self.count(event, len(source.items))
            merged.update((item.key, item) for item in source.items)
        return merged

    def place(self, event: Any, sized: _Sized) -> Span:
        alias = isinstance(event, yaml.AliasEvent)
        return self.span(event.start_mark, event.end_mark) if alias else sized.node.span

    def outer(self, start: Any, end: Any, last: Span | None) -> Span:
        """The span of a collection. A block one ends with its last value; the parser sees its end at the next token."""
        if start.flow_style or last is None:
            return self.span(start.start_mark, end.end_mark)
        first = start.start_mark
        return Span(self.display, first.line + 1, first.column + 1, last.end_line, last.end_column)

    def tag(self, event: Any) -> str:
        if event.tag is not None and event.tag != "!":
            return str(event.tag)
        tag = str(self.loader.resolve(yaml.ScalarNode, event.value, event.implicit))
        if tag.endswith(":timestamp"):
            tag = _STR
        if tag == _STR and not event.style and event.implicit[0] and _EXPONENT_FLOAT.fullmatch(event.value):
            return "tag:yaml.org,2002:float"
        return tag

    def scalar(self, event: Any, tag: str) -> object:
        node = yaml.ScalarNode(tag, event.value)
        try:
            match tag.rpartition(":")[2] if tag.startswith("tag:yaml.org,2002:") else "":
                case "str" | "merge" | "value":
                    return str(event.value)
                case "null":
                    return None
                case "bool":
                    return bool(self.construct.construct_yaml_bool(node))
                case "int":
                    return int(self.construct.construct_yaml_int(node))
                case "float":
                    return float(self.construct.construct_yaml_float(node))
        except (ValueError, KeyError, IndexError, OverflowError):
            return UNKNOWN
        return UNKNOWN


def _decode(data: bytes, display: str) -> str | Problem:
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not valid UTF-8; save the file as UTF-8"
        return Problem("unreadable-file", display, line, 1, message)


def _parse_problem(error: yaml.YAMLError, text: str, display: str) -> Problem:
    if not isinstance(error, yaml.MarkedYAMLError):
        offset = next((index for index, char in enumerate(text) if not _printable(char)), 0)
        line = text.count("\n", 0, offset) + 1
        column = offset - (text.rfind("\n", 0, offset) + 1) + 1
        return Problem("syntax-error", display, line, column, "a control character stands here; YAML allows none")
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark is not None else (0, 0)
    lines = text.splitlines()
    if lines and line >= len(lines):
        line, column = len(lines) - 1, len(lines[-1])
    if line < len(lines) and lines[line][column : column + 1] == "\t":
        message = "a tab stands where YAML allows only spaces; indent with spaces"
    else:
        message = f"{_one_line(error.problem or error.context or 'not valid YAML')}; the file is not read"
    return Problem("syntax-error", display, line + 1, column + 1, message)


def _printable(char: str) -> bool:
    return char in "\t\n\r\x85" or " " <= char <= "~" or (char >= "\xa0" and char not in "\ufeff\ufffe\uffff")


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 80 else flat[:77] + "..."


def _package_header(text: str) -> str | None:
    package: str | None = None
    for line in text[:512].splitlines():
        if line.strip():
            match = _HEADER_LINE.match(line)
            if match is None:
                break
            if match[1] == "package":
                package = match[2]
    return package
