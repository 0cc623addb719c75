"""The tracer's front: one engine class or one script root in, one trace out."""

from __future__ import annotations

import ast
from dataclasses import replace

import libcst as cst

from recipe_lint.protocol.model import Protocol
from recipe_lint.read.imports import Definition, Project
from recipe_lint.read.modules import FunctionNode, Module
from recipe_lint.read.segments import SegmentError
from recipe_lint.trace.events import Event, Site, Trace
from recipe_lint.trace.frames import Frame
from recipe_lint.trace.functions import _locals
from recipe_lint.trace.guards import ALWAYS
from recipe_lint.trace.life import Life
from recipe_lint.trace.machine import Machine
from recipe_lint.trace.relevance import Relevance
from recipe_lint.trace.state import State
from recipe_lint.trace.values import ClassRef, Obj


def trace_engine(
    project: Project,
    protocol: Protocol,
    relevance: Relevance,
    module: Module,
    node: ast.ClassDef,
    extra_hooks: tuple[str, ...] = (),
) -> Trace:
    """Trace an engine class through its life.

    Raises SegmentError where a hook cannot be parsed by LibCST.
    """
    machine = Machine(project, protocol, relevance)
    cls = ClassRef(module, node)
    life = Life(machine, cls, extra_hooks)
    machine.life = life
    life.run()
    return _trace(machine, node.name, tuple(life.ran))


def trace_function(
    project: Project,
    protocol: Protocol,
    relevance: Relevance,
    module: Module,
    node: FunctionNode,
    owner: ast.ClassDef | None,
) -> Trace:
    """Trace a script root: a function or method that nothing in the project calls, with unknown arguments."""
    machine = Machine(project, protocol, relevance)
    name = f"{owner.name}.{node.name}" if owner is not None else node.name
    machine.hook = node.name
    segment = relevance.segment(module, node, name)
    function = segment.function
    if function is None:
        raise SegmentError("it has no definition")
    cls = ClassRef(module, owner) if owner is not None else None
    receiver = None
    if cls is not None:
        receiver = machine.new("self", cls.name)
        machine.record.classes[receiver.id] = cls
    frame = Frame(segment, module, cls, receiver, (), _locals(node))
    state = State(ALWAYS)
    parameters = function.params
    for parameter in (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params):
        text = parameter.name.value
        is_first = receiver is not None and not state.env
        state.env[text] = receiver if is_first and receiver is not None else machine.new("parameter", text)
    machine.record.entered.add(Definition(module, name, node).key)
    machine.stack.append(id(node))
    machine.statements.block(function.body, state, frame)
    for ended, value in frame.returns:
        machine.note("result", -1, Site(segment, function.name), ended, attribute="", value=value)
    return _trace(machine, name, (node.name,))


def trace_module(project: Project, protocol: Protocol, relevance: Relevance, module: Module) -> Trace:
    """Trace a script whose steps stand at the top level of the file."""
    machine = Machine(project, protocol, relevance)
    machine.hook = "<module>"
    segment = relevance.segment(module, None, "<module>")
    tree = segment.body
    frame = Frame(segment, module)
    state = State(ALWAYS)
    body = [item for item in tree.body if not isinstance(item, cst.FunctionDef | cst.ClassDef)]
    machine.statements.block(cst.IndentedBlock(body=body), state, frame)  # type: ignore[arg-type]
    return _trace(machine, "<module>", ("<module>",))


def _trace(machine: Machine, root: str, hooks: tuple[str, ...]) -> Trace:
    record = machine.record
    families = record.families
    family = "mllm" if "mllm" in families else "llm" if "llm" in families else ""
    return Trace(
        root,
        hooks,
        tuple(_placed(event, machine) for event in record.events),
        tuple(record.notes),
        dict(record.objects),
        frozenset(record.assumed),
        family,
        frozenset(record.entered),
        _config_paths(machine),
    )


def _placed(event: Event, machine: Machine) -> Event:
    """An event on a module that ended up inside another is one on a part of that other."""
    whole = machine.whole(Obj(event.object, event.path))
    if whole.id == event.object:
        return event
    traits = dict(event.traits)
    paths = traits.get("paths")
    if event.step == "optimizer" and isinstance(paths, tuple):
        traits["paths"] = tuple((*whole.path, *path) for path in paths)
    return replace(event, object=whole.id, path=whole.path, traits=traits)


def _config_paths(machine: Machine) -> dict[int, tuple[str, ...]]:
    """The configuration path of each object that is the configuration or a copy of a section of it."""
    return {
        number: machine.names.origin(Obj(number))[1]
        for number, info in machine.record.objects.items()
        if info.origin == "config"
    }
