"""Say what is wrong with a configuration. Runs only once something is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from msgspec import inspect

from recipe_lint.config.locate import Keys, dotted
from recipe_lint.config.settings import Settings


@dataclass(frozen=True, slots=True)
class Fault:
    """The first fault of a table: where (keys from its top), what, and the value at fault where it is in a list."""

    keys: Keys
    text: str
    value: object = None


def first_fault(table: dict[str, Any], section: Keys) -> Fault | None:
    """The first key or value of ``table`` that the settings do not allow; ``section`` is where the table stands."""
    return _check(table, inspect.type_info(Settings), section)


def hint(word: str, known: Iterable[str]) -> str:
    """``; did you mean "x"?`` where a known word is close, else nothing."""
    by_fold = {name.casefold(): name for name in sorted(known)}
    close = difflib.get_close_matches(word.casefold(), by_fold, n=1, cutoff=0.6)
    return f'; did you mean "{by_fold[close[0]]}"?' if close else ""


def _check(value: Any, kind: inspect.Type, keys: Keys) -> Fault | None:
    match kind:
        case inspect.Metadata(type=inner):
            return _check(value, inner, keys)
        case inspect.StructType() if isinstance(value, dict):
            return _check_struct(value, kind, keys)
        case inspect.DictType() if isinstance(value, dict):
            return _check_dict(value, kind, keys)
        case inspect.VarTupleType(item_type=item) if isinstance(value, list):
            faults = (_check(entry, item, keys) for entry in value)
            return next((Fault(keys, fault.text, fault.value) for fault in faults if fault), None)
        case inspect.UnionType(types=types):
            return _check_union(value, types, kind, keys)
        case inspect.LiteralType(values=values) if isinstance(value, str) and value in values:
            return None
        case inspect.StrType() if isinstance(value, str):
            return None
        case inspect.BoolType() if isinstance(value, bool):
            return None
    return _mismatch(value, kind, keys)


def _check_struct(value: dict[str, Any], kind: inspect.StructType, keys: Keys) -> Fault | None:
    fields = {field.encode_name: field.type for field in kind.fields}
    for key, entry in value.items():
        if key not in fields:
            where = f" in [{dotted(keys)}]" if keys else ""
            return Fault((*keys, key), f'unknown key "{key}"{where}{_key_hint(key, keys, fields)}')
        fault = _check(entry, fields[key], (*keys, key))
        if fault:
            return fault
    return None


def _key_hint(key: str, keys: Keys, fields: dict[str, inspect.Type]) -> str:
    if not keys and key in {"tool", "recipe-lint"}:
        return "; in a file of its own the settings stand at the top level, without a [tool.recipe-lint] header"
    return hint(key, fields)


def _check_dict(value: dict[str, Any], kind: inspect.DictType, keys: Keys) -> Fault | None:
    for key, entry in value.items():
        allowed = kind.key_type
        if isinstance(allowed, inspect.LiteralType) and key not in allowed.values:
            known = [str(name) for name in allowed.values]
            return Fault((*keys, key), f'unknown key "{key}" in [{dotted(keys)}]{hint(key, known)}')
        fault = _check(entry, kind.value_type, (*keys, key))
        if fault:
            return fault
    return None


def _check_union(value: Any, types: tuple[inspect.Type, ...], kind: inspect.UnionType, keys: Keys) -> Fault | None:
    for option in types:
        if isinstance(option, inspect.DictType) and isinstance(value, dict):
            return _check(value, option, keys)
        if _check(value, option, keys) is None:
            return None
    return _mismatch(value, kind, keys)


def _mismatch(value: Any, kind: inspect.Type, keys: Keys) -> Fault:
    words = _words(kind)
    close = hint(value, words) if isinstance(value, str) and words else ""
    where = dotted(keys).removeprefix("tool.recipe-lint.")
    return Fault(keys, f"{where}: expected {_expected(kind)}, got {_got(value)}{close}", value)


def _words(kind: inspect.Type) -> list[str]:
    match kind:
        case inspect.LiteralType(values=values):
            return [str(value) for value in values]
        case inspect.UnionType(types=types):
            return [word for option in types for word in _words(option)]
    return []


def _expected(kind: inspect.Type) -> str:
    match kind:
        case inspect.StrType():
            return "a string"
        case inspect.BoolType():
            return "true or false"
        case inspect.VarTupleType():
            return "a list of strings"
        case inspect.LiteralType(values=values):
            return "one of " + ", ".join(f'"{value}"' for value in values)
        case inspect.UnionType(types=types):
            return " or ".join(_expected(option) for option in types if not isinstance(option, inspect.NoneType))
    return "a table"


def _got(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"' if len(value) <= 60 else "a long string"
        case int() | float():
            return str(value)
        case list():
            return "a list"
        case dict():
            return "a table"
    return f"a {type(value).__name__}"
