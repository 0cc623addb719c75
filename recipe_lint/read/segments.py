"""One function, or one module body, as LibCST: parsed when it is walked, positions asked only when they are shown."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from recipe_lint.read.modules import FunctionNode, Module
from recipe_lint.read.span import Span


class SegmentError(Exception):
    """LibCST cannot parse text that ``ast`` accepted; the message is one line."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Source text of one definition. ``node`` is its ``ast`` node; None stands for the module's own statements.

    ``qualname`` is how reports call it: ``QwenEngine.prepare_model``.
    """

    module: Module
    node: FunctionNode | None
    qualname: str

    @cached_property
    def _tree(self) -> cst.Module:
        lines = self.module.source.lines
        if self.node is None:
            text = "\n".join(lines)
        else:
            # An indented definition stays as it stands, under a header of its own, so that columns need no shift.
            header = "if 1:\n" if self._indented else ""
            text = header + "\n".join(lines[self._first - 1 : self.node.end_lineno]) + "\n"
        try:
            return cst.parse_module(text)
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise SegmentError(f"LibCST cannot parse it ({str(error).splitlines()[0]})") from None

    @property
    def _indented(self) -> bool:
        return self.node is not None and self.node.col_offset > 0

    @property
    def _first(self) -> int:
        if self.node is None:
            return 1
        return min([self.node.lineno, *(d.lineno for d in self.node.decorator_list)])

    @cached_property
    def function(self) -> cst.FunctionDef | None:
        """The parsed definition, or None for a module body.

        Raises SegmentError where LibCST cannot parse it.
        """
        if self.node is None:
            return None
        body = self._tree.body
        if self._indented:
            header = body[0]
            if not isinstance(header, cst.If):
                raise SegmentError("it does not stand on lines of its own")
            body = header.body.body  # type: ignore[assignment]
        found = body[0] if body else None
        if not isinstance(found, cst.FunctionDef):
            raise SegmentError("it does not stand on lines of its own")
        return found

    @cached_property
    def body(self) -> cst.BaseSuite | cst.Module:
        """The statements to walk."""
        return self._tree if self.function is None else self.function.body

    @cached_property
    def _positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        return MetadataWrapper(self._tree, unsafe_skip_copy=True).resolve(PositionProvider)

    def span(self, node: cst.CSTNode) -> Span:
        """Where ``node`` stands, cut to its first line."""
        found = self._positions[node]
        shift = self._first - (2 if self._indented else 1)
        line, column = found.start.line + shift, found.start.column + 1
        whole = found.end.line == found.start.line
        end = found.end.column + 1 if whole else _code_end(self.line(line)) + 1
        return Span(self.module.display, line, column, line, max(end, column))

    def last_line(self, node: cst.CSTNode) -> int:
        """The 1-based line on which ``node`` ends."""
        return self._positions[node].end.line + self._first - (2 if self._indented else 1)

    def line(self, number: int) -> str:
        """One line of the file, 1-based; empty past the end."""
        lines = self.module.source.lines
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def code(self, node: cst.CSTNode) -> str:
        """The source text of ``node`` on one line."""
        return " ".join(self._tree.code_for_node(node).split())


def _code_end(line: str) -> int:
    """Where the code of a line ends, its comment left out; a line alone need not be whole, so errors end the search."""
    end = len(line.rstrip())
    if "#" not in line:
        return end
    try:
        for token in tokenize.generate_tokens(io.StringIO(line).readline):
            if token.type == tokenize.COMMENT:
                return len(line[: token.start[1]].rstrip())
    except (tokenize.TokenError, SyntaxError):
        pass
    return end
