"""Comments of one module by line, and the prose that stands above a statement."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass
from functools import cached_property

from recipe_lint.read.modules import Module


@dataclass(frozen=True)
class Comment:
    """One comment: its text without ``#``, its 1-based place, and whether it has its line to itself."""

    text: str
    line: int
    column: int
    alone: bool


class Comments:
    """The comments of one module; tokenised once, when somebody asks."""

    def __init__(self, module: Module) -> None:
        """``module`` has parsed, so its tokens can be read."""
        self.module = module

    @cached_property
    def by_line(self) -> dict[int, Comment]:
        """Comments by line number."""
        found: dict[int, Comment] = {}
        text = "\n".join(self.module.source.lines)
        try:
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                if token.type == tokenize.COMMENT:
                    line, column = token.start
                    alone = not token.line[:column].strip()
                    found[line] = Comment(token.string.lstrip("#").strip(), line, column + 1, alone)
        except (tokenize.TokenError, SyntaxError, IndentationError):
            pass
        return found

    def block_above(self, line: int) -> tuple[Comment, ...]:
        """The comment lines directly above a line."""
        block: list[Comment] = []
        number = line - 1
        while (comment := self.by_line.get(number)) is not None and comment.alone:
            block.append(comment)
            number -= 1
        return tuple(reversed(block))

    def about(self, line: int) -> str:
        """Prose directly above the statement on ``line``, above the gates that it opens, or at its end."""
        for start in self._starts(line):
            block = self.block_above(start)
            if block:
                return " ".join(comment.text for comment in block)
        own = self.by_line.get(line)
        return own.text if own is not None and not own.alone else ""

    def _starts(self, line: int) -> list[int]:
        """The first line of the statement on ``line``, then of each block header whose first statement it is."""
        path: list[ast.stmt] = []
        body: list[ast.stmt] = self.module.tree.body
        while body:
            found = next((s for s in body if _first(s) <= line <= (s.end_lineno or s.lineno)), None)
            if found is None:
                break
            path.append(found)
            body = _body_at(found, line)
        starts = [_first(path[-1])] if path else [line]
        for inner, outer in zip(reversed(path), reversed(path[:-1]), strict=False):
            gate = isinstance(outer, ast.If | ast.With | ast.For | ast.Try)
            if not gate or _blocks(outer)[0][0] is not inner:
                break
            starts.append(_first(outer))
        return starts


def _first(statement: ast.stmt) -> int:
    return statement.lineno


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    names = ("body", "orelse", "finalbody")
    blocks = [getattr(statement, name) for name in names if getattr(statement, name, None)]
    for handler in getattr(statement, "handlers", []):
        blocks.append(handler.body)
    for case in getattr(statement, "cases", []):
        blocks.append(case.body)
    return blocks


def _body_at(statement: ast.stmt, line: int) -> list[ast.stmt]:
    for block in _blocks(statement):
        if block and block[0].lineno <= line <= (block[-1].end_lineno or block[-1].lineno):
            return block
    return []
