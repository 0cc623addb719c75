"""The arguments of every command, and the way from them to the command's module."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from recipe_lint import __version__
from recipe_lint.cli import output
from recipe_lint.errors import UsageError

SEVERITIES = ("error", "warning", "info", "never")
FORMATS = ("full", "concise", "json")
COLORS = ("auto", "always", "never")
CONFIG_ACTIONS = ("show", "schema", "path")

EXIT_CODES = """\
exit codes:
  0  nothing at or above --fail-on (default: warning)
  1  findings at or above --fail-on, or no recipes with --require-recipes
  2  wrong arguments or configuration, or an internal error"""

TOP_HELP = f"""\
usage: recipe-lint [check] [OPTIONS] [PATH ...]
       recipe-lint COMMAND [OPTIONS] ...

Reads the model set-up code of training recipes and says where it breaks the set-up protocol.
It never imports or runs the code it reads. Without PATH it checks the current folder.

commands:
  check PATH ...     check recipes (the default command)
  explain CODE ...   say what a rule means, why it matters and what to do
  rules              list all rules
  protocol           show the set-up protocol: its steps and the order between them
  config             show the settings for a path, their JSON Schema, or the file they come from

options:
  -h, --help         show this help; "recipe-lint COMMAND --help" shows that of a command
  -V, --version      show the version

examples:
  recipe-lint recipes/
  recipe-lint recipes/ --select RL1 --fail-on error
  recipe-lint recipes/ --output-format json > findings.json
  recipe-lint explain RL101
  recipe-lint check rules      a path that is named like a command

{EXIT_CODES}
"""

CHECK_EXAMPLES = f"""\
Lists are separated by commas, and an option may be repeated. A rule is meant by its code (RL101), its name
(compile-after-parallelize), a prefix of codes (RL1), or ALL.

examples:
  recipe-lint check recipes/openbee
  recipe-lint check recipes/ --ignore RL126,RL127 --per-file-ignores "recipes/old/**:RL1"

{EXIT_CODES}
"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, and whose help survives a closed pipe."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage."""
        unknown = re.search(r"unrecognized arguments:.*?(--[\w-]+)", message)
        close = suggest(unknown[1], self._option_string_actions) if unknown else ""
        raise UsageError(f"{message}{close}; see {self.prog} --help")

    def _print_message(self, message: str, file: object = None) -> None:  # noqa: ARG002 - always stdout
        output.emit(message)


def main(arguments: Sequence[str]) -> int:
    """Run the command that ``arguments`` name, ``check`` where they name none."""
    words = list(arguments)
    if words[:1] in (["-h"], ["--help"]):
        output.emit(TOP_HELP)
        return 0
    name = words.pop(0) if words and words[0] in COMMANDS else "check"
    describe, run = COMMANDS[name]
    parser = describe()
    # What stands behind "--" is never an option; argparse would drop the mark of an interleaved line too early.
    cut = words.index("--") if "--" in words else len(words)
    options = parser.parse_intermixed_args(words[:cut])
    rest = words[cut + 1 :]
    if rest and options.words is None:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    options.words = [*(options.words or ()), *rest]
    return run(options)


def suggest(word: str, known: Sequence[str] | dict[str, Any]) -> str:
    """``; did you mean ...?`` where a known word is close, else nothing."""
    from difflib import get_close_matches  # noqa: PLC0415 - only to tell a mistake

    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


# ------------------------------------------------------------------------------------------------- parsers


def _parser(name: str, description: str, epilog: str = "") -> Parser:
    parser = Parser(
        prog=f"recipe-lint {name}",
        description=description,
        epilog=epilog,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    version = f"recipe-lint {__version__}"
    parser.add_argument("-V", "--version", action="version", version=version, help="show the version and exit")
    return parser


def _check_parser() -> Parser:
    parser = _parser("check", "Check how training recipes set up their models.", CHECK_EXAMPLES)
    parser.usage = "recipe-lint [check] [OPTIONS] [PATH ...]"
    parser.add_argument("words", nargs="*", metavar="PATH", help="files and folders (default: the current folder)")
    _add_rule_options(parser)
    _add_file_options(parser)
    _add_output_options(parser)
    return parser


def _add_rule_options(parser: Parser) -> None:
    group = parser.add_argument_group("rules")
    _add_list(group, "--select", "RULE", "run these rules alone", default=None)
    _add_list(group, "--ignore", "RULE", "leave these rules out")
    _add_list(group, "--extend-select", "RULE", "run these rules too")
    group.add_argument(
        "--per-file-ignores",
        metavar="GLOB:RULE,...",
        action="extend",
        type=_file_ignores,
        default=[],
        help="leave rules out in the files that a glob matches",
    )
    _add_switch(group, "--preview", "run rules that are still in preview")


def _add_file_options(parser: Parser) -> None:
    group = parser.add_argument_group("files and configuration")
    _add_list(
        group, "--exclude", "GLOB", "leave these files and folders out, instead of the default ones", default=None
    )
    _add_list(group, "--extend-exclude", "GLOB", "leave these files and folders out too")
    group.add_argument(
        "--force-exclude", action="store_true", help="leave out excluded files even where PATH names them"
    )
    _add_switch(group, "--respect-gitignore", "leave out what .gitignore leaves out (default: yes)")
    _add_switch(group, "--require-recipes", "fail where there is no recipe to check")
    _add_config_options(group)


def _add_output_options(parser: Parser) -> None:
    group = parser.add_argument_group("output")
    _add_choice(group, "--output-format", FORMATS, "how findings are written (default: full)")
    _add_color(group)
    _add_choice(group, "--fail-on", SEVERITIES, "the least severity that makes the exit code 1")
    group.add_argument("--exit-zero", action="store_true", help="exit with 0 where there are findings")
    _add_switch(group, "--show-unknown", "list the calls on a model that could not be resolved")
    group.add_argument("-q", "--quiet", action="store_true", help="write findings alone, no summary")
    group.add_argument("--no-progress", action="store_true", help="show no progress line")


def _explain_parser() -> Parser:
    parser = _parser("explain", "Say what rules mean: what they find, why it is bad, and what to do instead.")
    parser.add_argument("words", nargs="*", metavar="CODE", help="codes or names of rules, such as RL101")
    _add_format(parser, "text", "json")
    _add_color(parser)
    return parser


def _rules_parser() -> Parser:
    parser = _parser("rules", "List all rules: code, name, severity and what they find.")
    parser.set_defaults(words=None)
    _add_format(parser, "text", "json", "markdown")
    _add_color(parser)
    return parser


def _protocol_parser() -> Parser:
    text = "Show the set-up protocol: its steps, the calls that make them, and the order between them.\n\n"
    parser = _parser("protocol", text + "The changes that the configuration of the current folder makes are applied.")
    parser.set_defaults(words=None)
    _add_format(parser, "text", "json")
    _add_color(parser)
    _add_config_options(parser)
    return parser


def _config_parser() -> Parser:
    parser = _parser(
        "config",
        "Show the settings for a path.\n\n"
        "  show    the settings that hold for PATH (the default)\n"
        "  path    the file that they come from\n"
        "  schema  the JSON Schema of a configuration file",
    )
    parser.usage = "recipe-lint config [show | path | schema] [OPTIONS] [PATH]"
    parser.add_argument("words", nargs="*", metavar="PATH", help="a file or a folder (default: the current folder)")
    _add_format(parser, "toml", "json")
    _add_config_options(parser)
    return parser


# ------------------------------------------------------------------------------------------------- options

_Group = argparse._ActionsContainer  # the one common type of parsers and their groups


def _add_list(group: _Group, flag: str, metavar: str, text: str, **default: Any) -> None:
    settings = {"default": [], **default}
    group.add_argument(flag, metavar=metavar, action="extend", type=_listed, help=text, **settings)


def _add_choice(group: _Group, flag: str, choices: tuple[str, ...], text: str, default: str | None = None) -> None:
    shown = ", ".join(choices)
    metavar = {"--fail-on": "SEVERITY", "--color": "WHEN"}.get(flag, "FORMAT")
    group.add_argument(flag, choices=choices, default=default, metavar=metavar, help=f"{text}: {shown}")


def _add_switch(group: _Group, flag: str, text: str) -> None:
    group.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=text)


def _add_format(parser: Parser, *choices: str) -> None:
    _add_choice(parser, "--format", choices, f"output format (default: {choices[0]})", choices[0])


def _add_color(group: _Group) -> None:
    _add_choice(group, "--color", COLORS, "when to use colour (default: auto)", "auto")


def _add_config_options(group: _Group) -> None:
    group.add_argument("--config", metavar="FILE", help="use this configuration file for all paths")
    group.add_argument("--isolated", action="store_true", help="use no configuration file")


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _file_ignores(text: str) -> list[tuple[str, tuple[str, ...]]]:
    glob, _, rules = text.rpartition(":")
    if not glob or not _listed(rules):
        raise argparse.ArgumentTypeError(f'"{text}" is not GLOB:RULE,...; write "recipes/old/**:RL101,RL102"')
    return [(glob, tuple(_listed(rules)))]


# ------------------------------------------------------------------------------------------------- commands


def _check(options: argparse.Namespace) -> int:
    from recipe_lint.cli.check import run  # noqa: PLC0415 - each command pays for its own imports

    return run(options)


def _explain(options: argparse.Namespace) -> int:
    from recipe_lint.cli.explain import run  # noqa: PLC0415

    return run(options)


def _rules(options: argparse.Namespace) -> int:
    from recipe_lint.cli.rules import run  # noqa: PLC0415

    return run(options)


def _protocol(options: argparse.Namespace) -> int:
    from recipe_lint.cli.protocol import run  # noqa: PLC0415

    return run(options)


def _config(options: argparse.Namespace) -> int:
    from recipe_lint.cli.config import run  # noqa: PLC0415

    return run(options)


COMMANDS: dict[str, tuple[Callable[[], Parser], Callable[[argparse.Namespace], int]]] = {
    "check": (_check_parser, _check),
    "explain": (_explain_parser, _explain),
    "rules": (_rules_parser, _rules),
    "protocol": (_protocol_parser, _protocol),
    "config": (_config_parser, _config),
}
