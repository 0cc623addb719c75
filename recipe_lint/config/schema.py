"""The JSON Schema of a configuration file, for editors and validators."""

from __future__ import annotations

from typing import Any

import msgspec

from recipe_lint.config.settings import Settings


def json_schema() -> dict[str, Any]:
    """Schema of ``recipe-lint.toml`` and of ``[tool.recipe-lint]``, made from the types of the settings."""
    schema: dict[str, Any] = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "recipe-lint"}
    schema |= msgspec.json.schema(Settings)
    # Once through JSON, so that tuples become the lists that a validator expects.
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(schema))
    return plain
