"""``recipe-lint explain CODE``: the page of a rule."""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
from collections.abc import Iterator

from recipe_lint.cli import output
from recipe_lint.cli.rules import VERSION, rule_object
from recipe_lint.config.explain import hint
from recipe_lint.errors import UsageError
from recipe_lint.lint.pack import Pack, load_pack
from recipe_lint.lint.rule import HEADINGS, Example, Rule
from recipe_lint.protocol.model import Edge
from recipe_lint.report.json import dump
from recipe_lint.report.stream import want_color
from recipe_lint.report.text import paint, severity_style

_WIDTH = 100
_EXPECT = re.compile(r"[ \t]*# expect: *(.*?)[ \t]*$", re.MULTILINE)


def run(options: argparse.Namespace) -> int:
    """Write the pages and return the exit code."""
    if not options.words:
        raise UsageError("explain needs the code of a rule, such as RL101; recipe-lint rules lists them")
    pack = load_pack()
    rules = list(dict.fromkeys(_find(pack, word) for word in options.words))
    if options.format == "json":
        document = {"version": VERSION, "rules": [rule_object(rule) for rule in rules]}
        output.emit(dump(document, indent=2) + "\n", data=True)
        return 0
    color = want_color(sys.stdout, options.color, os.environ)
    output.emit("\n\n".join(_page(rule, pack.protocol.edges.get(rule.name), color) for rule in rules) + "\n")
    return 0


def _find(pack: Pack, word: str) -> type[Rule]:
    rule = pack.find(word)
    if rule is None:
        close = hint(word, [*pack.codes, *pack.codes.values()])
        raise UsageError(f'no rule is called "{word}"{close or "; recipe-lint rules lists them"}')
    return rule


def _page(rule: type[Rule], edge: Edge | None, color: bool) -> str:
    level = paint(rule.severity.name, severity_style(rule.severity), color)
    blocks = [f"{paint(f'{rule.code} {rule.name}', 'strong', color)} ({level})", rule.summary()]
    if edge is not None:
        blocks.append(_by_case(edge))
    for heading in HEADINGS:
        text = "\n\n".join(_section(rule, edge, heading))
        if text:
            blocks.append(f"{paint(heading, 'strong', color)}\n\n{textwrap.indent(text, '    ')}")
    return "\n\n".join(blocks)


def _by_case(edge: Edge) -> str:
    other = [f"{key}: {severity}" for key, severity in edge.severity.items() if key != "default"]
    return f"Severity: {', '.join([edge.severity.get('default', 'off'), *other])}"


def _section(rule: type[Rule], edge: Edge | None, heading: str) -> Iterator[str]:
    """What stands under a heading: the page's own text, else what the protocol says, and the first example."""
    text = rule.section(heading)
    if not text and edge is not None:
        known = {"Why it is bad": edge.harm, "Source": edge.source}
        text = textwrap.fill(known.get(heading, ""), _WIDTH)
    if text:
        yield text
    examples = {"Example": rule.bad, "Use instead": rule.good}.get(heading, ())
    if examples and "```" not in text:
        yield _code(examples[0])


def _code(example: Example) -> str:
    """The files of an example, its marks for the tests turned into marks for a reader."""
    parts = [example.code, *(f"# {path}\n{text.lstrip()}" for path, text in example.files.items())]
    return "\n\n".join(_EXPECT.sub(r"  # <-- \1", part.strip("\n")) for part in parts)
