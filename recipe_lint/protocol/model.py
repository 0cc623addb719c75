"""Types of the protocol: steps, the calls that make them, edges between them."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

BACKENDS = ("ddp", "fsdp1", "fsdp2", "tp", "unknown")


class CallSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call that makes a step: a dotted pattern and its traits (see the head of protocol.toml)."""

    name: str
    backend: str = ""
    wraps: bool = False
    covers: str = ""
    kit: bool = False
    prepares: bool = False
    may: bool = False

    def matches(self, dotted: str) -> bool:
        """Whether a dotted name fits the pattern."""
        return _pattern(self.name).fullmatch(dotted) is not None


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of the protocol and how it is recognised."""

    title: str
    kit: tuple[str, ...] = ()
    kit_of: dict[str, tuple[str, ...]] = {}
    calls: tuple[CallSpec, ...] = ()
    methods: tuple[CallSpec, ...] = ()
    parameters: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()
    prepare_on: tuple[str, ...] = ()


class Edge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``before`` steps come first; ``severity`` goes by backend or trait, ``default`` for the rest."""

    code: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    primary: str
    severity: dict[str, str]
    harm: str
    source: str
    enabled: bool = True


class Hook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A hook of the engine's life and the attribute that keeps its result ("" for none)."""

    name: str
    attribute: str


class Library(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the base engine and which packages are never opened."""

    packages: tuple[str, ...]
    hooks: tuple[Hook, ...]
    life: str
    steps: tuple[str, ...]


class Protocol(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole protocol."""

    kits: dict[str, str]
    library: Library
    steps: dict[str, Step]
    edges: dict[str, Edge]

    def title(self, step: str) -> str:
        """How a step is called in messages."""
        return self.steps[step].title

    def kit_step(self, method: str, kit: str | None) -> str | None:
        """The step that ``kit.method(...)`` makes; ``kit`` is the class name where it is known."""
        for name, step in self.steps.items():
            if kit is not None and method in step.kit_of.get(kit, ()):
                return name
            if method in step.kit:
                return name
        return None

    def call_step(self, dotted: str, *, outside: bool) -> tuple[str, CallSpec] | None:
        """The step that a call of ``dotted`` makes.

        Patterns that begin with ``**.`` are for names that come from ``outside`` the project: a recipe's own function
        of the same name is opened instead.
        """
        for name, step in self.steps.items():
            for spec in step.calls:
                if (outside or not spec.name.startswith("**.")) and spec.matches(dotted):
                    return name, spec
        return None

    def method_step(self, method: str) -> tuple[str, CallSpec] | None:
        """The step that ``model.method(...)`` makes."""
        for name, step in self.steps.items():
            for spec in step.methods:
                if spec.name == method:
                    return name, spec
        return None


@lru_cache(maxsize=512)
def _pattern(text: str) -> re.Pattern[str]:
    parts = []
    for part in text.split("."):
        if part == "**":
            parts.append(r"(?:[\w.]+\.)?")
        else:
            parts.append(r"[\w]*".join(re.escape(piece) for piece in part.split("*")) + r"\.")
    pattern = "".join(parts)
    return re.compile(pattern.removesuffix(r"\."))
