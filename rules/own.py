"""Family RL0: what the tool says of files and suppressions; the engine reports these, no trace is needed."""

from __future__ import annotations

from collections.abc import Iterator

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Draft, Rule, Subject


class OwnRule(Rule):
    """Base of the rules that the engine itself reports while it reads files and comments."""

    def check(self, subject: Subject) -> Iterator[Draft]:  # noqa: ARG002
        """No trace shows these faults: they are found before there is one."""
        return iter(())


class SyntaxFault(OwnRule):
    """A file cannot be parsed."""

    code = "RL001"
    name = "syntax-error"
    severity = Severity.error


class UnreadableFile(OwnRule):
    """A file cannot be read."""

    code = "RL002"
    name = "unreadable-file"
    severity = Severity.error


class SuppressionWithoutReason(OwnRule):
    """A suppression gives no reason."""

    code = "RL003"
    name = "suppression-without-reason"
    severity = Severity.warning


class UnusedSuppression(OwnRule):
    """A suppression suppresses nothing."""

    code = "RL004"
    name = "unused-suppression"
    severity = Severity.warning


class UnknownCode(OwnRule):
    """A suppression names a code that no rule has."""

    code = "RL005"
    name = "unknown-code"
    severity = Severity.warning
