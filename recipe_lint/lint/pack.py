"""The rule pack, loaded by name: its rules and its protocol."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module

from recipe_lint.lint.rule import Rule
from recipe_lint.protocol.load import load_protocol
from recipe_lint.protocol.model import Protocol

BUILT_IN = "recipe_lint.rules"


@dataclass(frozen=True)
class Pack:
    """Rules in the order of their codes, and the protocol that they judge by."""

    rules: tuple[type[Rule], ...]
    protocol: Protocol

    @cached_property
    def codes(self) -> dict[str, str]:
        """Names of the rules by code."""
        return {rule.code: rule.name for rule in self.rules}

    def find(self, text: str) -> type[Rule] | None:
        """A rule by code or name, upper or lower case."""
        wanted = text.lower()
        return next((rule for rule in self.rules if wanted in (rule.code.lower(), rule.name)), None)


def load_pack(package: str = BUILT_IN) -> Pack:
    """Load a pack: a package that has a function ``rules()`` and a file ``protocol.toml``."""
    found = import_module(package).rules()
    return Pack(tuple(sorted(found, key=lambda rule: rule.code)), load_protocol(package))
