"""A progress line for long runs at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from recipe_lint.report.stream import is_terminal
from recipe_lint.report.text import one_line

_THRESHOLD = 25
_DELAY_SECONDS = 0.5


@contextmanager
def progress(total: int, stream: TextIO, enabled: bool) -> Iterator[Callable[[str], None]]:
    """Give a function to call with the name of each step that is done.

    A line is shown only when ``enabled``, on a terminal, for more steps than a person would wait for unasked, and only
    once the run has taken a moment. It is wiped at the end.
    """
    if not enabled or total <= _THRESHOLD or not is_terminal(stream):
        yield _ignore
        return
    # Most runs show no line; they need not pay for the import.
    from tqdm import tqdm  # noqa: PLC0415

    class Bar(tqdm):  # type: ignore[type-arg]
        # A monitor thread would be alive while worker processes are forked.
        monitor_interval = 0

    bar = Bar(total=total, file=stream, leave=False, dynamic_ncols=True, unit="engine", delay=_DELAY_SECONDS)

    def step(name: str) -> None:
        # A terminal that went away must not end the run.
        with suppress(OSError):
            bar.set_postfix_str(one_line(name), refresh=False)
            bar.update(1)

    try:
        yield step
    finally:
        with suppress(OSError):
            bar.close()


def _ignore(_name: str) -> None:
    pass
