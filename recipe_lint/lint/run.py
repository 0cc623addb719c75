"""One run: paths in, a result out. Discover, read, trace, judge, suppress; nothing is printed and nothing written."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from recipe_lint.config.load import Loaded, Resolver, check_codes
from recipe_lint.config.select import RuleSelector
from recipe_lint.discover.walk import find_python_files, project_root
from recipe_lint.lint.causes import attach_consequences
from recipe_lint.lint.engine import Judge, Judged, Scope
from recipe_lint.lint.finding import Finding, Severity, Span
from recipe_lint.lint.pack import Pack
from recipe_lint.lint.result import Result
from recipe_lint.protocol.load import override
from recipe_lint.read.source import Problem

Progress = Callable[[int], AbstractContextManager[Callable[[str], None]]]
_RECURSION_LIMIT = 20_000
_PROBLEM_CODES = {"syntax-error": "RL001", "unreadable-file": "RL002"}


def lint(
    paths: Sequence[Path],
    resolver: Resolver,
    pack: Pack,
    *,
    force_exclude: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Judge everything below ``paths``.

    Raises UsageError for a path that does not exist and for wrong configuration.
    """
    walk = find_python_files(paths, resolver, force_exclude=force_exclude)
    scopes = _Scopes(resolver, pack)
    by_root: dict[Path, list[Path]] = {}
    explicit: set[Path] = set()
    for file in walk.files:
        by_root.setdefault(project_root(file.path), []).append(file.path)
        if file.explicit:
            explicit.add(file.path)
    results: list[Judged] = []
    with _room():
        judges = [Judge(root, files, explicit, scopes.of) for root, files in sorted(by_root.items())]
        total = sum(judge.count for judge in judges)
        with progress(total) if progress is not None else nullcontext(_no_tick) as tick:
            for judge in judges:
                results.append(judge.run(tick))
    return _result(results, walk.problems, scopes)


class _Scopes:
    """Settings, rules and protocol for each path, built once for each configuration file."""

    def __init__(self, resolver: Resolver, pack: Pack) -> None:
        self.resolver = resolver
        self.pack = pack
        self._known: dict[int, Scope] = {}
        self._loaded: list[Loaded] = []

    def of(self, path: Path) -> Scope:
        loaded = self.resolver.for_path(path)
        if id(loaded) not in self._known:
            check_codes(loaded.settings, self.pack.codes, loaded.file)
            selector = RuleSelector(loaded.settings, self.pack.codes, loaded.root)
            protocol = override(self.pack.protocol, loaded.settings.protocol)
            self._known[id(loaded)] = Scope(loaded.settings, selector, protocol, self.pack)
            self._loaded.append(loaded)
        return self._known[id(loaded)]


@contextmanager
def _room() -> Iterator[None]:
    """Deep code needs a deep stack, and a parse makes many objects that live on: collect less often meanwhile."""
    limit, thresholds = sys.getrecursionlimit(), gc.get_threshold()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
        gc.set_threshold(*thresholds)


def _no_tick(_: str) -> None:
    return None


def _result(results: list[Judged], walked: Sequence[Problem], scopes: _Scopes) -> Result:
    findings: list[Finding] = []
    for judged in results:
        for group in judged.groups:
            findings += attach_consequences(group)
        findings += judged.loose
        findings += [f for p in judged.problems if (f := problem_finding(p, scopes.of(judged.root))) is not None]
    findings += [f for p in walked if (f := problem_finding(p, scopes.of(Path(p.display)))) is not None]
    unique: dict[tuple[object, ...], Finding] = {}
    for finding in sorted(findings, key=lambda f: (f.sort_key, f.engine, f.recipe)):
        key = (finding.code, finding.span)
        known = unique.get(key)
        unique[key] = finding if known is None else _same_fault(known, finding)
    return Result(
        tuple(sorted(unique.values(), key=lambda f: f.sort_key)),
        tuple(sorted({recipe for judged in results for recipe in judged.recipes})),
        sum(judged.engines for judged in results),
        sum(judged.files for judged in results),
        sum(judged.model_calls for judged in results),
        tuple(sorted((u for judged in results for u in judged.unknown), key=lambda u: (u.span, u.engine))),
        tuple(error for judged in results for error in judged.errors),
    )


def _same_fault(first: Finding, second: Finding) -> Finding:
    """One place seen from two engines that share it: told once, at its worst, with the stages of both."""
    worst = max(first, second, key=lambda f: (f.severity, f.certainty == "certain", bool(f.consequences)))
    stages = tuple(dict.fromkeys((*first.stages, *second.stages)))
    conditions = first.conditions if set(first.conditions) <= set(second.conditions) else second.conditions
    return replace(worst, stages=stages, conditions=conditions if worst.conditions else ())


def problem_finding(problem: Problem, scope: Scope) -> Finding | None:
    """A file that cannot be judged, as a finding of RL0; None where that rule is off."""
    code = _PROBLEM_CODES[problem.kind]
    if not scope.selector.enabled(code) or scope.selector.ignored_in_file(code, problem.display):
        return None
    severity = scope.selector.severity(code)
    span = Span(problem.display, problem.line, problem.column, problem.line, problem.column + 1)
    return Finding(
        code,
        problem.kind,
        severity if isinstance(severity, Severity) else Severity.error,
        "certain",
        "",
        "",
        span,
        problem.message,
        label="here",
    )
