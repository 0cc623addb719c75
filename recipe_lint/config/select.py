"""Which rules run, how bad their findings are, and in which files they stay silent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from recipe_lint.config.paths import compile_globs
from recipe_lint.config.settings import Settings
from recipe_lint.config.severity import Severity

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

ALL = "ALL"


def rank(selector: str, code: str, name: str) -> int:
    """How precisely a selector means a rule: -1 not at all, 0 for ``ALL``, else the length of the matched code."""
    if selector == ALL:
        return 0
    if selector == name:
        return len(code)
    return len(selector) if selector and code.startswith(selector) else -1


class RuleSelector:
    """The settings as answers about single rules. ``root`` is the folder that globs are relative to."""

    def __init__(self, settings: Settings, codes: Mapping[str, str], root: Path, preview: Collection[str] = ()) -> None:
        """``codes`` maps every known code to its name; ``preview`` are the codes that need ``preview = true``."""
        self._settings = settings
        self._codes = codes
        self._root = root
        self._preview = frozenset(preview)
        self._enabled: dict[str, bool] = {}
        self._ignored: dict[str, frozenset[int]] = {}

    def enabled(self, code: str) -> bool:
        """Whether the rule runs: the more precise selector wins, ``ignore`` wins between equals, "off" always."""
        if code not in self._enabled:
            self._enabled[code] = self._decide(code)
        return self._enabled[code]

    def severity(self, code: str) -> Severity | Literal["off"] | None:
        """The configured severity of a rule; None where nothing is configured."""
        best, chosen = -1, None
        # Sorted, so that two equally precise entries (a code and a name) decide alike in every order: the code wins.
        for selector, severity in sorted(self._settings.severity.items()):
            precision = self._rank(selector, code)
            if precision > best:
                best, chosen = precision, severity
        if chosen is None or chosen == "off":
            return chosen
        return Severity[chosen]

    def ignored_in_file(self, code: str, path: str | Path) -> bool:
        """Whether ``per-file-ignores`` silences the rule in a file, given absolute or from the working directory."""
        if not self._settings.per_file_ignores:
            return False
        key = str(path)
        if key not in self._ignored:
            absolute = str(Path(path).absolute())
            matching = (spec.match_file(absolute) != negated for negated, spec, _ in self._files)
            self._ignored[key] = frozenset(index for index, matches in enumerate(matching) if matches)
        return any(self._best(self._files[index][2], code) >= 0 for index in self._ignored[key])

    @cached_property
    def _files(self) -> tuple[tuple[bool, GitIgnoreSpec, tuple[str, ...]], ...]:
        return tuple(
            (glob.startswith("!"), compile_globs([glob.removeprefix("!")], self._root), selectors)
            for glob, selectors in self._settings.per_file_ignores.items()
        )

    def _decide(self, code: str) -> bool:
        settings = self._settings
        if code in self._preview and not settings.preview:
            return False
        wanted = self._best((*settings.select, *settings.extend_select), code)
        unwanted = self._best((*settings.ignore, *settings.extend_ignore), code)
        return wanted > unwanted and self.severity(code) != "off"

    def _best(self, selectors: Iterable[str], code: str) -> int:
        return max((self._rank(selector, code) for selector in selectors), default=-1)

    def _rank(self, selector: str, code: str) -> int:
        return rank(selector, code, self._codes.get(code, ""))
