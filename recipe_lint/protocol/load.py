"""Read the pack's protocol file and apply a user's overrides to it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, TypeVar

import msgspec

from recipe_lint.errors import UsageError
from recipe_lint.protocol.model import CallSpec, Edge, Protocol, Step

_T = TypeVar("_T")

if TYPE_CHECKING:
    from recipe_lint.config.settings import EdgeOverride, ProtocolOverrides, StepOverride


def load_protocol(package: str = "recipe_lint.rules") -> Protocol:
    """The built-in protocol: ``protocol.toml`` of the rule pack."""
    text = (files(package) / "protocol.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Protocol)


def override(protocol: Protocol, changes: ProtocolOverrides) -> Protocol:
    """The protocol with a user's kits, step names and edges applied.

    Raises UsageError for a step or an edge that does not exist.
    """
    steps = dict(protocol.steps)
    for name, step in changes.steps.items():
        steps[name] = _override_step(_known(steps, name, "step"), step)
    edges = dict(protocol.edges)
    for name, edge in changes.edges.items():
        edges[name] = _override_edge(_known(edges, name, "edge"), edge)
    kits = {**protocol.kits, **dict.fromkeys(changes.kits, "mllm")}
    return Protocol(kits=kits, library=protocol.library, steps=steps, edges=edges)


def _known(table: Mapping[str, _T], name: str, kind: str) -> _T:
    if name not in table:
        known = ", ".join(sorted(table))
        raise UsageError(f'the protocol has no {kind} "{name}"; it has: {known}')
    return table[name]


def _override_step(step: Step, change: StepOverride) -> Step:
    calls = tuple(CallSpec(name=name) for name in change.direct)
    return msgspec.structs.replace(step, kit=(*step.kit, *change.kit), calls=(*calls, *step.calls))


def _override_edge(edge: Edge, change: EdgeOverride) -> Edge:
    severity = edge.severity
    if isinstance(change.severity, str):
        severity = {"default": change.severity}
    elif change.severity is not None:
        severity = {**severity, **{str(backend): str(level) for backend, level in change.severity.items()}}
    return msgspec.structs.replace(edge, severity=severity, enabled=change.enabled, harm=change.harm or edge.harm)
