"""``recipe-lint check``: find recipes, judge them, write the findings, choose the exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from recipe_lint.cli import output
from recipe_lint.cli.parser import COMMANDS, suggest
from recipe_lint.config.load import Resolver, check_codes
from recipe_lint.config.settings import CliOverrides, Settings
from recipe_lint.errors import UsageError
from recipe_lint.lint.finding import Severity
from recipe_lint.lint.pack import load_pack
from recipe_lint.lint.result import Result
from recipe_lint.lint.run import lint
from recipe_lint.read.source import Problem, decode, read_bytes
from recipe_lint.report.concise import render_concise
from recipe_lint.report.full import render_full
from recipe_lint.report.json import render_json
from recipe_lint.report.progress import progress
from recipe_lint.report.stream import terminal_width, want_color
from recipe_lint.report.summary import plural, summary_line

EXIT_CLEAN, EXIT_FINDINGS, EXIT_ERROR = 0, 1, 2


def run(options: argparse.Namespace) -> int:
    """Check the paths and return the exit code."""
    words = options.words or ["."]
    paths = [_path(word) for word in words]
    resolver = Resolver(Path(options.config) if options.config else None, options.isolated, _overrides(options))
    loaded, pack = resolver.for_path(paths[0]), load_pack()
    settings = loaded.settings
    check_codes(settings, pack.codes, loaded.file)  # a wrong rule is an error, also where there is no file to judge
    result = lint(paths, resolver, pack, force_exclude=options.force_exclude, progress=_progress(options))
    nothing = not result.recipes and not result.engines
    if not nothing or result.findings or settings.output_format == "json":
        _write(result, settings, options)
    if nothing:
        _tell_nothing(words, result, settings)
    for text in result.internal_errors:
        output.complain(f"internal error: {text}")
    code = exit_code(result, settings)
    return EXIT_CLEAN if options.exit_zero and code == EXIT_FINDINGS else code


def exit_code(result: Result, settings: Settings) -> int:
    """What a result means to the shell."""
    if result.internal_errors:
        return EXIT_ERROR
    if settings.require_recipes and not result.recipes and not result.engines:
        return EXIT_FINDINGS
    if settings.fail_on == "never":
        return EXIT_CLEAN
    least = Severity[settings.fail_on]
    return EXIT_FINDINGS if any(finding.severity >= least for finding in result.findings) else EXIT_CLEAN


def _path(word: str) -> Path:
    try:
        os.lstat(word)  # an empty word is no path, but Path("") is the current folder
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"no such file or folder: {word or '(an empty path)'}{_hint(word)}") from error
    except OSError:
        pass  # what cannot be looked at is told by the walk
    return Path(word)


def _hint(word: str) -> str:
    if word in COMMANDS:
        return "; a command must stand before all options"
    return suggest(word, COMMANDS).replace("did you mean", "did you mean the command")


def _overrides(options: argparse.Namespace) -> CliOverrides:
    ignores: dict[str, tuple[str, ...]] = {}
    for glob, rules in options.per_file_ignores:
        ignores[glob] = (*ignores.get(glob, ()), *rules)
    return CliOverrides(
        select=None if options.select is None else tuple(options.select),
        ignore=tuple(options.ignore),
        extend_select=tuple(options.extend_select),
        exclude=None if options.exclude is None else tuple(options.exclude),
        extend_exclude=tuple(options.extend_exclude),
        per_file_ignores=ignores,
        respect_gitignore=options.respect_gitignore,
        fail_on=options.fail_on,
        require_recipes=options.require_recipes,
        show_unknown=options.show_unknown,
        preview=options.preview,
        output_format=options.output_format,
    )


def _progress(options: argparse.Namespace) -> Callable[[int], AbstractContextManager[Callable[[str], None]]]:
    enabled = not (options.quiet or options.no_progress)
    return lambda total: progress(total, sys.stderr, enabled)


# ------------------------------------------------------------------------------------------------- output


def _write(result: Result, settings: Settings, options: argparse.Namespace) -> None:
    if settings.output_format == "json":
        output.emit(render_json(result, show_unknown=settings.show_unknown), data=True)
        return
    color = want_color(sys.stdout, options.color, os.environ)
    shown = result
    if options.quiet and not settings.show_unknown:
        shown = replace(result, unknown=())
    if settings.output_format == "concise":
        text = render_concise(shown, color=color)
    else:
        width = terminal_width(sys.stdout)
        text = render_full(shown, Sources(), color=color, width=width, show_unknown=settings.show_unknown)
    if options.quiet:
        text = text.removesuffix(summary_line(shown, color=color) + "\n").rstrip("\n")
        text += "\n" if text else ""
    output.emit(text)


def _tell_nothing(words: Sequence[str], result: Result, settings: Settings) -> None:
    looked = f"{plural(result.files, 'Python file')} read" if result.files else "no Python files there"
    text = f"No recipes found in {', '.join(words)} ({looked})"
    output.note(f"{text}; require-recipes makes this a failure" if settings.require_recipes else text)


class Sources:
    """The lines of files by the path that findings show, each file read once."""

    def __init__(self) -> None:
        """Nothing is read before it is asked for."""
        self._lines: dict[str, Sequence[str] | None] = {}

    def __call__(self, display: str) -> Sequence[str] | None:
        """The lines of a file, None where it cannot be read any more."""
        if display not in self._lines:
            self._lines[display] = _lines_of(display)
        return self._lines[display]


def _lines_of(display: str) -> Sequence[str] | None:
    path = Path(display)
    data = read_bytes(path, display)
    source = data if isinstance(data, Problem) else decode(data, path, display)
    return None if isinstance(source, Problem) else source.lines
