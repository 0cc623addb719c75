"""``recipe-lint rules``: the list of all rules."""

from __future__ import annotations

import argparse
import os
import sys

from recipe_lint.cli import output
from recipe_lint.lint.pack import load_pack
from recipe_lint.lint.rule import HEADINGS, Example, Rule
from recipe_lint.report.json import dump
from recipe_lint.report.stream import want_color
from recipe_lint.report.text import paint, severity_style

VERSION = 1


def run(options: argparse.Namespace) -> int:
    """Write the list and return the exit code."""
    rules = load_pack().rules
    if options.format == "json":
        document = {"version": VERSION, "rules": [rule_object(rule) for rule in rules]}
        output.emit(dump(document, indent=2) + "\n", data=True)
    elif options.format == "markdown":
        output.emit(_markdown(rules), data=True)
    else:
        output.emit(_text(rules, want_color(sys.stdout, options.color, os.environ)))
    return 0


def rule_object(rule: type[Rule]) -> dict[str, object]:
    """A rule as a JSON object: its page by section, and its examples."""
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.name,
        "summary": rule.summary(),
        "page": rule.page(),
        "sections": {heading: text for heading in HEADINGS if (text := rule.section(heading))},
        "good": [_example(example) for example in rule.good],
        "bad": [_example(example) for example in rule.bad],
    }


def _example(example: Example) -> dict[str, object]:
    return {"code": example.code, "files": dict(example.files)}


def _text(rules: tuple[type[Rule], ...], color: bool) -> str:
    names = max(len(rule.name) for rule in rules)
    severities = max(len(rule.severity.name) for rule in rules)
    rows = []
    for rule in rules:
        level = paint(f"{rule.severity.name:<{severities}}", severity_style(rule.severity), color)
        rows.append(f"{paint(rule.code, 'strong', color)}  {rule.name:<{names}}  {level}  {rule.summary()}")
    return "\n".join(rows) + "\n"


def _markdown(rules: tuple[type[Rule], ...]) -> str:
    rows = ["| Code | Name | Severity | What it finds |", "| --- | --- | --- | --- |"]
    for rule in rules:
        summary = rule.summary().replace("|", "\\|")
        rows.append(f"| {rule.code} | {rule.name} | {rule.severity.name} | {summary} |")
    return "\n".join(rows) + "\n"
