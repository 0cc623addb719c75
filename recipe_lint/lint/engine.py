"""Judging one project: its roots are traced, the rules run on each trace, suppressions are applied."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from recipe_lint.config.select import RuleSelector
from recipe_lint.config.settings import Settings
from recipe_lint.lint.finding import Finding, Severity
from recipe_lint.lint.findings import CommentIndex, Origin, build, places
from recipe_lint.lint.pack import Pack
from recipe_lint.lint.recipes import recipe_dir, recipe_stages
from recipe_lint.lint.result import UnknownCall
from recipe_lint.lint.rule import Draft, Rule, Subject
from recipe_lint.lint.suppress import Suppressions
from recipe_lint.protocol.model import Protocol
from recipe_lint.read.imports import Project
from recipe_lint.read.modules import Module
from recipe_lint.read.segments import SegmentError
from recipe_lint.read.source import Problem
from recipe_lint.trace.events import GLOBAL_OBJECT, Trace
from recipe_lint.trace.relevance import Relevance
from recipe_lint.trace.roots import EngineRoot, FunctionRoot, Roots
from recipe_lint.trace.tracer import trace_engine, trace_function, trace_module


@dataclass(frozen=True)
class Scope:
    """What holds for the paths under one configuration."""

    settings: Settings
    selector: RuleSelector
    protocol: Protocol
    pack: Pack


@dataclass
class Judged:
    """What came of one project. ``groups`` holds the findings of each trace, which may share root causes."""

    root: Path
    groups: list[list[Finding]] = field(default_factory=list)
    loose: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    recipes: set[str] = field(default_factory=set)
    engines: int = 0
    files: int = 0
    model_calls: int = 0
    unknown: list[UnknownCall] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Judge:
    """Judges the files of one project root."""

    def __init__(self, root: Path, files: Sequence[Path], explicit: set[Path], scopes: Callable[[Path], Scope]) -> None:
        """``files`` are the Python and YAML files to judge, ``explicit`` those that the user named."""
        self.scopes = scopes
        self.project = Project(root.resolve() if root.is_symlink() else root, Path.cwd())
        self.scope = scopes(files[0])
        self.explicit = [f for f in files if f in explicit]
        self.relevance = Relevance(self.project, self.scope.protocol)
        self.roots = Roots(self.project, self.scope.protocol, self.relevance, self.scope.settings.roots)
        self.comments = CommentIndex()
        self.suppressions = Suppressions(self.scope.pack.codes)
        self.result = Judged(root)
        self.judged: dict[str, tuple[str, str]] = {}
        python = [f for f in files if f.suffix not in (".yaml", ".yml")]
        self.modules = self.roots.candidates(python)
        for path in self.explicit:
            if path in python:
                self.project.load(path)
        self.engines = self.roots.engines(self.modules)
        self._add_users()
        self.functions = self.roots.functions(self.modules, self.engines)

    @property
    def count(self) -> int:
        """How many roots there are to trace."""
        return len(self.engines) + len(self.functions)

    def _add_users(self) -> None:
        """A helper or a YAML file that is named alone is judged through the engines of its recipe."""
        known = {engine.module.path for engine in self.engines}
        for path in self.explicit:
            if path in known:
                continue
            for module, engine in self._engines_around(path):
                if all(engine.node is not other.node for other in self.engines):
                    self.engines.append(EngineRoot(module, engine.node))

    def _engines_around(self, path: Path) -> list[tuple[Module, EngineRoot]]:
        """Engines in the closest folder above ``path`` that has any, at most three levels up."""
        folder = path.parent
        for _ in range(3):
            files = sorted(folder.glob("*.py")) + sorted(folder.glob("engine/*.py"))
            modules = self.roots.candidates(files)
            engines = self.roots.engines(modules)
            if engines or folder == self.project.root:
                return [(engine.module, engine) for engine in engines]
            folder = folder.parent
        return []

    def run(self, tick: Callable[[str], None]) -> Judged:
        """Trace and judge every root."""
        entered: set[str] = set()
        for engine in sorted(self.engines, key=lambda e: (e.module.display, e.node.lineno)):
            tick(engine.node.name)
            scope = self.scopes(engine.module.path)
            hooks = tuple(scope.settings.hooks)
            trace = self._traced(engine, lambda e=engine, s=scope, h=hooks: self._trace_engine(e, s, h))  # type: ignore[misc]
            if trace is not None:
                entered |= trace.files
                self._judge(engine.module, engine.node, trace, scope)
        for root in sorted(self.functions, key=lambda r: (r.module.display, r.node.lineno if r.node else 0)):
            name = root.node.name if root.node is not None else "<module>"
            tick(name)
            if self._was_entered(root, entered):
                continue
            scope = self.scopes(root.module.path)
            trace = self._traced(root, lambda r=root, s=scope: self._trace_function(r, s))  # type: ignore[misc]
            if trace is not None and (root.named or _is_set_up(trace)):
                self._judge(root.module, None, trace, scope)
        return self._finish()

    def _was_entered(self, root: FunctionRoot, entered: set[str]) -> bool:
        if root.node is None:
            return False
        name = f"{root.owner.name}.{root.node.name}" if root.owner is not None else root.node.name
        return f"{root.module.display}::{name}" in entered

    def _traced(self, root: EngineRoot | FunctionRoot, trace: Callable[[], Trace]) -> Trace | None:
        """The trace; a definition that LibCST refuses is a problem of its file, any other failure an internal error."""
        node = root.node
        line = node.lineno if node is not None else 1
        try:
            return trace()
        except SegmentError as error:
            self.result.problems.append(Problem("syntax-error", root.module.display, line, 1, str(error)))
        except Exception as error:  # one root that fails must not take the others with it
            name = node.name if node is not None else "<module>"
            self.result.errors.append(
                f"{root.module.display}:{line}: tracing {name} failed ({type(error).__name__}: {error})"
            )
        return None

    def _trace_engine(self, engine: EngineRoot, scope: Scope, hooks: tuple[str, ...]) -> Trace:
        return trace_engine(self.project, scope.protocol, self.relevance, engine.module, engine.node, hooks)

    def _trace_function(self, root: FunctionRoot, scope: Scope) -> Trace:
        if root.node is None:
            return trace_module(self.project, scope.protocol, self.relevance, root.module)
        return trace_function(self.project, scope.protocol, self.relevance, root.module, root.node, root.owner)

    def _judge(self, module: Module, engine: ast.ClassDef | None, trace: Trace, scope: Scope) -> None:
        folder = recipe_dir(module.path)
        origin = Origin(self.project.display(folder) if engine is not None else module.display, trace.root)
        stages = recipe_stages(self.project, module, engine, folder)
        self.result.recipes.add(origin.recipe)
        self.result.engines += 1
        self.result.problems += stages.problems
        reached = {module.display, *(key.split("::")[0] for key in trace.files)}
        for other in self.project.modules():
            if other.display in reached:
                self.judged.setdefault(other.display, (origin.recipe, origin.engine))
                self.suppressions.read(other)
        subject = Subject(trace, scope.protocol, stages.stages)
        findings = [found for rule in scope.pack.rules for found in self._run_rule(rule, subject, scope, origin)]
        self.result.groups.append(findings)
        self._count_calls(trace, origin)

    def _run_rule(self, rule: type[Rule], subject: Subject, scope: Scope, origin: Origin) -> list[Finding]:
        if not scope.selector.enabled(rule.code):
            return []
        try:
            drafts = [draft for draft in rule().check(subject) if not self._is_silenced(draft, scope)]
            level = scope.selector.severity(rule.code)
            override = level if isinstance(level, Severity) else None
            return [build(draft, origin, subject.trace, self.comments, override) for draft in drafts]
        except Exception as error:  # one rule that fails must not take the others with it
            self.result.errors.append(
                f"{origin.recipe}: rule {rule.code} failed on {origin.engine} ({type(error).__name__}: {error})"
            )
            return []

    def _is_silenced(self, draft: Draft, scope: Scope) -> bool:
        """Whether configuration or a suppression keeps a draft from being a finding."""
        if scope.selector.ignored_in_file(draft.code, draft.site.span.path):
            return True
        return self.suppressions.covers(draft.code, places(draft))

    def _count_calls(self, trace: Trace, origin: Origin) -> None:
        models = {event.object for event in trace.events}
        seen: set[tuple[object, ...]] = set()
        for note in trace.noted("call"):
            if note.object not in models or (note.site, note.object) in seen:
                continue
            seen.add((note.site, note.object))
            self.result.model_calls += 1
            if not note.traits.get("resolved"):
                call = UnknownCall(
                    note.site.span, origin.recipe, origin.engine, note.site.code, str(note.traits.get("why", ""))
                )
                self.result.unknown.append(call)
        self.result.model_calls += len({(event.site, event.object) for event in trace.events})

    def _finish(self) -> Judged:
        result = self.result
        result.files = len(self.project.files())
        result.problems += list(self.project.problems.values())
        result.problems = list(dict.fromkeys(result.problems))
        active = [code for code in self.scope.pack.codes if self.scope.selector.enabled(code)]
        for finding in self.suppressions.findings(self.judged, active):
            ignored = self.scope.selector.ignored_in_file(finding.code, finding.span.path)
            if self.scope.selector.enabled(finding.code) and not ignored:
                result.loose.append(finding)
        return result


def _is_set_up(trace: Trace) -> bool:
    """Whether a script root takes two different steps on one model; otherwise it is no set-up code."""
    steps: dict[int, set[str]] = {}
    for event in trace.events:
        steps.setdefault(event.object, set()).add(event.step)
    if any(trace.noted("unbound")):
        # A model that is read before it is built is two objects to the tracer.
        return len(set().union(*steps.values())) >= 2
    everywhere = steps.pop(GLOBAL_OBJECT, set())
    return any(len(found | everywhere) >= 2 for found in steps.values())
