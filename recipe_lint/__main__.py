"""The console script: one line on standard error and the right exit code, whatever happens."""

from __future__ import annotations

import os
import sys

from recipe_lint import __version__
from recipe_lint.errors import UsageError

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130


def run() -> int:
    """Run the command line in ``sys.argv`` and return the exit code."""
    try:
        return _run(sys.argv[1:])
    except KeyboardInterrupt:
        _drop_output()
        return EXIT_INTERRUPTED


def _run(arguments: list[str]) -> int:
    from recipe_lint.cli import output  # noqa: PLC0415 - inside, so that an interrupted import ends quietly too

    output.open_missing_streams()
    try:
        if arguments in (["--version"], ["-V"]):
            output.emit(f"recipe-lint {__version__}\n")
            return 0
        from recipe_lint.cli.parser import main  # noqa: PLC0415 - a version needs no parser

        return main(arguments)
    except UsageError as error:
        output.complain(f"error: {error}")
    except Exception as error:
        if os.environ.get("RECIPE_LINT_TRACEBACK") == "1":
            from traceback import print_exc  # noqa: PLC0415 - only to tell a mistake

            print_exc()
        output.complain(f"internal error: {_describe(error)}; please report it")
    return EXIT_ERROR


def _describe(error: Exception) -> str:
    """Type, text and place of an error on one line."""
    text = " ".join(str(error).split())
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = ""
    if trace is not None:
        folder, file = os.path.split(trace.tb_frame.f_code.co_filename)
        place = f" ({os.path.basename(folder)}/{file}:{trace.tb_lineno})"  # noqa: PTH119
    return f"{type(error).__name__}: {text or 'no text'}{place}"


def _drop_output() -> None:
    """Let what is still buffered go nowhere, so that the interpreter's last flush says nothing."""
    from recipe_lint.cli import output  # noqa: PLC0415 - as above

    output.discard(sys.stdout)


if __name__ == "__main__":
    sys.exit(run())
