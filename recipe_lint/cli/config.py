"""``recipe-lint config``: the settings for a path, where they come from, and their JSON Schema."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from recipe_lint.cli import output
from recipe_lint.cli.parser import CONFIG_ACTIONS
from recipe_lint.config.load import Loaded, Resolver, check_codes
from recipe_lint.config.paths import display_path
from recipe_lint.config.schema import json_schema
from recipe_lint.errors import UsageError
from recipe_lint.report.json import dump

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def run(options: argparse.Namespace) -> int:
    """Do what the first word says and return the exit code."""
    words = list(options.words)
    action = words.pop(0) if words and words[0] in CONFIG_ACTIONS else "show"
    if action == "schema":
        output.emit(dump(json_schema(), indent=2) + "\n", data=True)
        return 0
    if len(words) > 1:
        raise UsageError(f"config {action} takes one path, not {len(words)}")
    path = Path(words[0] if words else ".")
    if not path.exists():
        raise UsageError(f"no such file or folder: {path}")
    resolver = Resolver(Path(options.config) if options.config else None, options.isolated)
    loaded = resolver.for_path(path)
    if action == "path":
        _show_path(path, loaded)
    else:
        _check(loaded)
        _show(path, loaded, options.format)
    return 0


def _show_path(path: Path, loaded: Loaded) -> None:
    if loaded.file is None:
        output.note(f"No configuration file for {path}; the defaults hold")
    else:
        output.emit(f"{display_path(loaded.file)}\n")


def _check(loaded: Loaded) -> None:
    """Refuse what the run would refuse: settings are more than their types."""
    from recipe_lint.lint.pack import load_pack  # noqa: PLC0415 - the path and the schema need no rules
    from recipe_lint.protocol.load import override  # noqa: PLC0415

    pack = load_pack()
    check_codes(loaded.settings, pack.codes, loaded.file)
    override(pack.protocol, loaded.settings.protocol)


def _show(path: Path, loaded: Loaded, style: str) -> None:
    settings: dict[str, Any] = msgspec.to_builtins(loaded.settings)
    settings.pop("extend", None)  # already merged; written out it would be merged a second time
    file = None if loaded.file is None else display_path(loaded.file)
    if style == "json":
        document = {"path": path.as_posix(), "file": file, "settings": settings}
        output.emit(dump(document, indent=2) + "\n", data=True)
        return
    source = f"from {file}" if file else "the defaults; there is no configuration file"
    output.emit("\n".join([f"# Settings for {path.as_posix()}: {source}", *toml_lines(settings)]) + "\n")


def toml_lines(table: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """TOML of a table of plain values: its own keys first, then its tables; what is None or empty is left out."""
    inner = {key: value for key, value in table.items() if isinstance(value, dict)}
    for key, value in table.items():
        if value is not None and key not in inner:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in inner.items():
        name = f"{prefix}{_key(key)}"
        lines = list(toml_lines(value, f"{name}."))
        if any(item is not None and not isinstance(item, dict) for item in value.values()):
            yield ""
            yield f"[{name}]"
        yield from lines


def _key(text: str) -> str:
    return text if _BARE_KEY.fullmatch(text) else _string(text)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        items = [_value(item) for item in value]
        one_line = f"[{', '.join(items)}]"
        return one_line if len(one_line) <= 100 else "[\n" + "".join(f"    {item},\n" for item in items) + "]"
    return _string(str(value))


def _string(text: str) -> str:
    # JSON's escapes are also TOML's, but for surrogate pairs and the delete character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
