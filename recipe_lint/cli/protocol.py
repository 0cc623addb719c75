"""``recipe-lint protocol``: the set-up protocol as it holds for the current folder."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from recipe_lint.cli import output
from recipe_lint.config.load import Loaded, Resolver, check_codes
from recipe_lint.config.paths import display_path
from recipe_lint.config.select import RuleSelector
from recipe_lint.lint.pack import Pack, load_pack
from recipe_lint.protocol.load import override
from recipe_lint.protocol.model import BACKENDS, CallSpec, Edge, Protocol, Step
from recipe_lint.report.json import dump
from recipe_lint.report.stream import terminal_width, want_color
from recipe_lint.report.text import paint, wrap

VERSION = 1


def run(options: argparse.Namespace) -> int:
    """Write the protocol and return the exit code."""
    resolver = Resolver(Path(options.config) if options.config else None, options.isolated)
    loaded = resolver.for_path(Path())
    pack = load_pack()
    check_codes(loaded.settings, pack.codes, loaded.file)
    protocol = override(pack.protocol, loaded.settings.protocol)
    severities = {name: _severities(edge, loaded, pack) for name, edge in protocol.edges.items()}
    if options.format == "json":
        output.emit(dump(_document(protocol, severities, loaded), indent=2) + "\n", data=True)
        return 0
    color = want_color(sys.stdout, options.color, os.environ)
    page = _Page(color, terminal_width(sys.stdout))
    output.emit("\n".join(_text(protocol, severities, loaded, page)) + "\n")
    return 0


def _severities(edge: Edge, loaded: Loaded, pack: Pack) -> dict[str, str]:
    """Severity by backend, then by the finer cases of the edge, as the settings leave them."""
    default = edge.severity.get("default", "off")
    found = {backend: edge.severity.get(backend, default) for backend in BACKENDS}
    found |= {case: level for case, level in edge.severity.items() if case not in found and case != "default"}
    selector = RuleSelector(loaded.settings, pack.codes, loaded.root)
    if not edge.enabled or not selector.enabled(edge.code):
        return dict.fromkeys(found, "off")
    configured = selector.severity(edge.code)
    if configured is None:
        return found
    return {case: level if level == "off" else str(getattr(configured, "name", "off")) for case, level in found.items()}


# ------------------------------------------------------------------------------------------------- JSON


def _document(protocol: Protocol, severities: dict[str, dict[str, str]], loaded: Loaded) -> dict[str, object]:
    return {
        "version": VERSION,
        "file": None if loaded.file is None else display_path(loaded.file),
        "kits": sorted(protocol.kits),
        "steps": [_step(name, step) for name, step in protocol.steps.items()],
        "edges": [
            {
                "code": edge.code,
                "name": name,
                "before": list(edge.before),
                "after": list(edge.after),
                "severity": severities[name],
                "harm": edge.harm,
                "source": edge.source,
            }
            for name, edge in protocol.edges.items()
        ],
    }


def _step(name: str, step: Step) -> dict[str, object]:
    return {"name": name, "title": step.title, "kit": _kit_calls(step), "direct": _direct_calls(step)}


def _kit_calls(step: Step) -> list[str]:
    own = [f"{kit}.{method}" for kit, methods in step.kit_of.items() for method in methods]
    return [*step.kit, *own, *_unique(spec for spec in step.calls if spec.kit)]


def _direct_calls(step: Step) -> list[str]:
    methods = [f"model.{spec.name}" for spec in step.methods]
    prepared = [f"{owner}.{method}" for owner in step.prepare_on for method in step.prepare]
    return [*_unique(spec for spec in step.calls if not spec.kit), *methods, *prepared]


def _unique(specs: Iterator[CallSpec]) -> list[str]:
    return list(dict.fromkeys(spec.name for spec in specs))


# ------------------------------------------------------------------------------------------------- text


class _Page:
    """How text is laid out."""

    def __init__(self, color: bool, width: int) -> None:
        self.color = color
        self.width = width

    def strong(self, text: str) -> str:
        """Text that stands out."""
        return paint(text, "strong", self.color)

    def note(self, key: str, text: str) -> Iterator[str]:
        """A key and its text, wrapped behind it."""
        margin = " " * 14
        first, *rest = wrap(text, self.width - len(margin)) or [""]
        yield f"    {key:<10}{first}".rstrip()
        yield from (f"{margin}{row}" for row in rest)


def _text(protocol: Protocol, severities: dict[str, dict[str, str]], loaded: Loaded, page: _Page) -> Iterator[str]:
    source = "the built-in protocol" if loaded.file is None else f"with the settings of {display_path(loaded.file)}"
    yield f"{page.strong('The set-up protocol')} ({source})"
    yield ""
    yield f"{page.strong('Kits')}: {', '.join(sorted(protocol.kits))}"
    yield ""
    yield page.strong("Steps, in the order of the protocol")
    for name, step in protocol.steps.items():
        yield ""
        yield f"  {page.strong(name)}: {step.title}"
        for key, calls in (("kit", _kit_calls(step)), ("direct", _direct_calls(step))):
            if calls:
                yield from page.note(key, ", ".join(calls))
    yield ""
    yield page.strong("Order: what must come before what")
    for name, edge in protocol.edges.items():
        yield ""
        yield f"  {page.strong(f'{edge.code} {name}')}: {_or(edge.before)} before {_or(edge.after)}"
        yield from page.note("severity", _levels(severities[name]))
        yield from page.note("harm", edge.harm)
        yield from page.note("source", edge.source)


def _or(steps: tuple[str, ...]) -> str:
    return " or ".join(steps)


def _levels(by_case: dict[str, str]) -> str:
    """``warning; error: ddp, fsdp1``: the level of an unknown backend, then what differs from it."""
    usual = by_case["unknown"]
    others: dict[str, list[str]] = {}
    for case, level in by_case.items():
        if level != usual:
            others.setdefault(level, []).append(case)
    return "; ".join([usual, *(f"{level}: {', '.join(cases)}" for level, cases in others.items())])
