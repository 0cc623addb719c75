"""Small recipes written to disk for one test, and what the tracer and the rules make of them.

A line of a source may end in ``#! RL103``: a finding of that code is expected there (``RL103?`` where it is only a
"may"). The mark is taken out before the file is written, so that it is no comment of the recipe.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from recipe_lint.config.load import Resolver
from recipe_lint.lint.finding import Finding
from recipe_lint.lint.pack import load_pack
from recipe_lint.lint.result import Result
from recipe_lint.lint.run import lint
from recipe_lint.protocol.load import load_protocol
from recipe_lint.read.imports import Project
from recipe_lint.trace.events import Event, Trace
from recipe_lint.trace.relevance import Relevance
from recipe_lint.trace.tracer import trace_engine, trace_function, trace_module
from recipe_lint.trace.values import Alternatives, Obj, Value

_MARK = re.compile(r"[ \t]*#!(?P<codes>(?: RL\d{3}\??)+)[ \t]*$", re.MULTILINE)

HEAD = """\
import copy
from copy import deepcopy
from functools import partial

import torch
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForImageTextToText

from mvp_engine.distributed.parallelize import parallelize_model
from mvp_engine.engine import Engine
from mvp_engine.kit import LigerKernelKit, LLMModelKit, MLLMModelKit, OptimKit, TokenNormedLossKit
"""

INIT = """\
def __init__(self, config):
    super().__init__(config)
    self.model_kit = MLLMModelKit()
    self.optim_kit = OptimKit()
    self.token_loss_kit = TokenNormedLossKit(device=self.device)
"""

OPTIMIZER = """\
def prepare_optimizer(self):
    return self.optim_kit.build_optimizer(self.model, lr=self.config.optim.lr)
"""

UPCAST = """\
for parameter in model.parameters():
    if parameter.requires_grad:
        parameter.data = parameter.data.to(torch.float32)
"""

Place = tuple[str, int, str, str]
Write = Callable[..., "Recipe"]


def dedented(text: str) -> str:
    """Source without its common indentation and without the line break it begins with."""
    return textwrap.dedent(text).strip("\n") + "\n"


def engine(
    body: str,
    *,
    head: str = "",
    methods: str = "",
    init: str = INIT,
    optimizer: str = OPTIMIZER,
    name: str = "RookEngine",
    bases: str = "Engine",
) -> str:
    """An engine file: ``body`` is that of ``prepare_model``, ``head`` stands above the class, ``methods`` in it."""
    prepare = "def prepare_model(self):\n" + textwrap.indent(dedented(body), "    ") if body else ""
    parts = [dedented(part) for part in (init, prepare, optimizer, methods) if part.strip()]
    inside = textwrap.indent("\n".join(parts), "    ")
    return f"{HEAD}{dedented(head)}\nclass {name}({bases}):\n{inside}"


class Recipe:
    """A project in a folder of its own."""

    def __init__(self, root: Path) -> None:
        """``root`` is an empty folder."""
        self.root = root
        self.marks: list[Place] = []
        (root / ".git").mkdir()

    def write(self, files: Mapping[str, str]) -> Recipe:
        """Write files by relative path; expectation marks are kept and taken out."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            source = dedented(text)
            if path.suffix == ".py":
                for number, line in enumerate(source.splitlines(), 1):
                    match = _MARK.search(line)
                    for code in match["codes"].split() if match else ():
                        self.marks.append((name, number, code.rstrip("?"), "may" if "?" in code else "certain"))
                source = _MARK.sub("", source)
            path.write_text(source, encoding="utf-8")
        self.marks.sort()
        return self

    @cached_property
    def result(self) -> Result:
        """A whole run over the project with default settings."""
        result = lint([self.root], Resolver(isolated=True), load_pack())
        assert result.internal_errors == ()
        return result

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What that run found."""
        return self.result.findings

    @property
    def found(self) -> list[Place]:
        """Path, line, code and certainty of each finding."""
        return sorted((f.span.path, f.span.line, f.code, f.certainty) for f in self.findings)

    def finding(self, code: str) -> Finding:
        """The only finding of a code."""
        (found,) = (f for f in self.findings if f.code == code)
        return found

    def trace(self, path: str = "engine.py", name: str | None = None) -> Trace:
        """The trace of an engine class, a function, ``Class.method``, or the module body (``<module>``).

        Without a name: the last class of the file that is an engine.
        """
        protocol = load_protocol()
        project = Project(self.root, self.root)
        relevance = Relevance(project, protocol)
        module = project.load(self.root / path)
        assert module is not None
        if name == "<module>":
            return trace_module(project, protocol, relevance, module)
        if name is None:
            name = next(n.name for n in reversed(module.tree.body) if isinstance(n, ast.ClassDef))
        if name in module.functions:
            return trace_function(project, protocol, relevance, module, module.functions[name], None)
        owner, _, method = name.partition(".")
        cls = module.classes[owner]
        if not method:
            return trace_engine(project, protocol, relevance, module, cls)
        (node,) = (n for n in cls.body if isinstance(n, ast.FunctionDef) and n.name == method)
        return trace_function(project, protocol, relevance, module, node, cls)

    def steps(self, path: str = "engine.py", name: str | None = None) -> list[str]:
        """The events of a trace as text: see ``said``."""
        return said(self.trace(path, name))


def said(trace: Trace) -> list[str]:
    """Each event as ``step form role``; ``?`` behind the step where it is only a "may"."""
    return [f"{e.step}{'?' if e.may else ''} {e.form} {role(trace, e)}" for e in trace.events]


def role(trace: Trace, event: Event) -> str:
    """What an event's object is to the engine: ``model`` if a hook hands it over as that, else the name it is bound to.

    The path of a part follows: ``model.visual``.
    """
    return ".".join((object_role(trace, event.object), *event.path))


def object_role(trace: Trace, number: int) -> str:
    """The same for an object."""
    if number < 0:
        return "process"
    for note in trace.noted("result"):
        if note.traits["attribute"] in ("model", "") and number in _ids(note.traits["value"]):
            return "model"
    names = [str(note.traits["name"]).lstrip(".") for note in trace.noted("bind") if note.object == number]
    return names[0] if names else trace.objects[number].label


def when(trace: Trace) -> list[tuple[str, tuple[str, ...]]]:
    """The step of each event with the conditions under which it happens."""
    return [(e.step, trace.conditions(e.guard)) for e in trace.events]


def traits(trace: Trace, step: str, name: str) -> list[object]:
    """One trait of each event of a step."""
    return [event.trait(name) for event in trace.of(step)]


def lines(trace: Trace, step: str) -> list[tuple[str, str]]:
    """File and code of each event of a step."""
    return [(event.site.span.path, event.site.code) for event in trace.of(step)]


def chain(trace: Trace, step: str) -> list[list[str]]:
    """The calls that lead to each event of a step, as code."""
    return [[site.code for site in event.chain] for event in trace.of(step)]


def unknown(trace: Trace) -> list[tuple[str, str]]:
    """Unresolved calls that take an object with an event: its role and the call's code."""
    models = {event.object for event in trace.events}
    return [
        (object_role(trace, note.object), note.site.code)
        for note in trace.noted("call")
        if not note.traits["resolved"] and note.object in models
    ]


def _ids(value: object) -> set[int]:
    if isinstance(value, Obj) and not value.path:
        return {value.id}
    options: tuple[tuple[object, Value], ...] = value.options if isinstance(value, Alternatives) else ()
    return {number for _, option in options for number in _ids(option)}


def steps_on(trace: Trace, wanted: str) -> list[str]:
    """The steps that happen to one object, whole or in part."""
    return [event.step for event in trace.events if object_role(trace, event.object) == wanted]
