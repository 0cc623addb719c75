"""Every setting, its type and its default: the one description behind loading, error texts and the JSON Schema."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

SeverityName = Literal["error", "warning", "info", "off"]
FailOn = Literal["error", "warning", "info", "never"]
OutputFormat = Literal["full", "concise", "json"]
Backend = Literal["ddp", "fsdp1", "fsdp2", "tp", "unknown"]

DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".hg",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pyenv",
    ".pytest_cache",
    ".recipe_lint_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    "__pycache__",
    "__pypackages__",
    "_build",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)


class StepOverride(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """More names for one step of the protocol."""

    kit: Annotated[tuple[str, ...], Meta(description="Kit methods that make this step.")] = ()
    direct: Annotated[tuple[str, ...], Meta(description="Dotted calls that make this step without the kit.")] = ()


class EdgeOverride(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Changes to one edge (one order rule) of the protocol; what is not given stays as it is."""

    severity: Annotated[
        SeverityName | dict[Backend, SeverityName] | None,
        Meta(description="One severity for all backends, or one for each backend that is named."),
    ] = None
    enabled: Annotated[bool, Meta(description="False switches the edge off.")] = True
    harm: Annotated[str | None, Meta(description="What breaking the edge does, in one sentence.")] = None


class ProtocolOverrides(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Changes to the built-in set-up protocol."""

    kits: Annotated[tuple[str, ...], Meta(description="More classes that are kits.")] = ()
    steps: Annotated[dict[str, StepOverride], Meta(description="More names for a step, by step.")] = {}
    edges: Annotated[dict[str, EdgeOverride], Meta(description="Changes to an edge, by edge.")] = {}


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Settings of recipe-lint."""

    extend: Annotated[
        str | None, Meta(description="Another configuration file, relative to this one, that this one refines.")
    ] = None
    select: Annotated[tuple[str, ...], Meta(description='Rules to run: codes, prefixes, names or "ALL".')] = ("ALL",)
    ignore: Annotated[tuple[str, ...], Meta(description="Rules to leave out: codes, prefixes or names.")] = ()
    extend_select: Annotated[tuple[str, ...], Meta(description="Rules to run on top of those selected.")] = ()
    extend_ignore: Annotated[tuple[str, ...], Meta(description="Rules to leave out on top of those ignored.")] = ()
    severity: Annotated[
        dict[str, SeverityName], Meta(description='Severity by code, prefix or name; "off" switches a rule off.')
    ] = {}
    per_file_ignores: Annotated[
        dict[str, tuple[str, ...]],
        Meta(description="Rules to leave out by file glob; a glob that begins with ! means all other files."),
    ] = {}
    exclude: Annotated[tuple[str, ...], Meta(description="Files and folders to leave out, as in .gitignore.")] = (
        DEFAULT_EXCLUDE
    )
    extend_exclude: Annotated[tuple[str, ...], Meta(description="Files and folders to leave out on top.")] = ()
    respect_gitignore: Annotated[bool, Meta(description="Leave out what .gitignore leaves out.")] = True
    fail_on: Annotated[FailOn, Meta(description="The least severity that makes the exit code 1.")] = "warning"
    require_recipes: Annotated[bool, Meta(description="Fail where there is no recipe to check.")] = False
    show_unknown: Annotated[bool, Meta(description="Show the calls that could not be resolved.")] = False
    preview: Annotated[bool, Meta(description="Run rules that are still in preview.")] = False
    output_format: Annotated[OutputFormat, Meta(description="How findings are written.")] = "full"
    hooks: Annotated[
        tuple[str, ...], Meta(description="More engine hooks, run after the standard life, in this order.")
    ] = ()
    roots: Annotated[
        tuple[str, ...], Meta(description="Functions that are traced even where they do one step alone.")
    ] = ()
    protocol: Annotated[ProtocolOverrides, Meta(description="Changes to the built-in set-up protocol.")] = (
        ProtocolOverrides()
    )


class CliOverrides(msgspec.Struct, frozen=True):
    """What the command line says; None and empty mean it says nothing. Globs are relative to the working directory."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    per_file_ignores: dict[str, tuple[str, ...]] = {}
    respect_gitignore: bool | None = None
    fail_on: FailOn | None = None
    require_recipes: bool | None = None
    show_unknown: bool | None = None
    preview: bool | None = None
    output_format: OutputFormat | None = None
