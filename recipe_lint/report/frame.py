"""Source frames: the lines a finding speaks of, with marks and labels under them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from recipe_lint.lint.finding import Finding, Span
from recipe_lint.report.summary import place
from recipe_lint.report.text import Style, cell, display_width, one_line, paint, severity_style, wrap

SourceLookup = Callable[[str], Sequence[str] | None]

# How many times the visible columns of a line are looked at; a line of megabytes then costs no more than a long one.
_REACH = 4


@dataclass(frozen=True, slots=True)
class Frames:
    """The rows of all frames of a finding, and how wide the line numbers in them are."""

    rows: tuple[str, ...]
    gutter: int


@dataclass(frozen=True, slots=True)
class _Mark:
    span: Span
    label: str
    primary: bool
    style: Style


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A mark as a range of code points in its line."""

    start: int
    end: int
    mark: _Mark


@dataclass(frozen=True, slots=True)
class _Page:
    """What the frames of one finding share."""

    gutter: int
    columns: int
    color: bool

    def bar(self, number: str, body: str = "", style: Style | None = None) -> str:
        """One row: a line number or nothing, the bar, then the body."""
        body = body.rstrip()
        head = paint(f"{number:>{self.gutter}} |", "gutter", self.color)
        return f"{head} {paint(body, style, self.color) if style else body}" if body else head

    def location(self, arrow: str, span: Span, label: str = "") -> str:
        """One row that says where a frame lies."""
        head = f"{' ' * self.gutter}{paint(arrow, 'gutter', self.color)} {place(span)}"
        return f"{head}: {one_line(label)}".rstrip() if label else head


def frames(finding: Finding, sources: SourceLookup, *, width: int, color: bool) -> Frames:
    """Draw the frame of the primary span, then one for each other file that takes part.

    A span whose line cannot be shown, because the file is gone or has become shorter, is told by its location alone.
    """
    marks = [_Mark(finding.span, finding.label, True, severity_style(finding.severity))]
    marks += [_Mark(related.span, related.label, False, "gutter") for related in finding.related]
    files = {mark.span.path: sources(mark.span.path) or () for mark in marks}
    shown = [mark for mark in marks if 1 <= mark.span.line <= len(files[mark.span.path])]
    gutter = max((len(str(mark.span.line)) for mark in shown), default=1)
    page = _Page(gutter, max(width - gutter - 3, 20), color)

    rows = [page.location("-->", finding.span)]
    for path, lines in files.items():
        here = [mark for mark in shown if mark.span.path == path]
        if here:
            if path != finding.span.path:
                rows += [page.bar(""), page.location(":::", here[0].span)]
            rows += [page.bar(""), *_file_rows(here, lines, page)]
    told = [page.location(":::", mark.span, mark.label) for mark in marks if not mark.primary and mark not in shown]
    bar = [page.bar("")] if shown else []
    rows += [*bar, *told, *bar] if told else bar
    return Frames(tuple(rows), gutter)


def _file_rows(marks: Sequence[_Mark], lines: Sequence[str], page: _Page) -> list[str]:
    rows: list[str] = []
    previous: int | None = None
    for number in sorted({mark.span.line for mark in marks}):
        if previous is not None and number - previous == 2:
            # Three dots would take as much room as the line they stand for.
            text, _ = _view(_content(lines[number - 2]), [], page.columns)
            rows.append(page.bar(str(number - 1), text))
        elif previous is not None and number - previous > 2:
            rows.append(paint("...", "gutter", page.color))
        line = _content(lines[number - 1])
        here = [_stretch(mark, line) for mark in marks if mark.span.line == number]
        for group in _groups(line, here, page.columns):
            rows += _line_rows(number, line, group, page)
        previous = number
    return rows


def _content(line: str) -> str:
    return line.rstrip("\r\n")


def _stretch(mark: _Mark, line: str) -> _Stretch:
    span = mark.span
    start = min(max(span.column - 1, 0), len(line))
    end = len(line.rstrip()) if span.end_line > span.line else min(span.end_column - 1, len(line))
    return _Stretch(start, max(end, start), mark)


def _groups(line: str, stretches: list[_Stretch], columns: int) -> list[list[_Stretch]]:
    """The marks of a line in groups that can be seen together; a line that is cut is shown once for each group."""
    groups: list[list[_Stretch]] = []
    for stretch in sorted(stretches, key=lambda one: (one.start, one.end, not one.mark.primary)):
        if groups and _fits(line, groups[-1][0].start, max(one.end for one in [*groups[-1], stretch]), columns):
            groups[-1].append(stretch)
        else:
            groups.append([stretch])
    return groups


def _fits(line: str, start: int, end: int, columns: int) -> bool:
    if len(line) <= _REACH * columns and _width(line) <= columns:
        return True
    return end - start <= _REACH * columns and _width(line[start:end]) <= columns - 2


def _width(text: str) -> int:
    return display_width("".join(map(cell, text)))


def _line_rows(number: int, line: str, group: Sequence[_Stretch], page: _Page) -> list[str]:
    text, spots = _view(line, group, page.columns)
    rows = [page.bar(str(number), text)]
    for stretch, (start, width) in zip(group, spots, strict=True):
        rows += [page.bar("", row, stretch.mark.style) for row in _label_rows(stretch.mark, start, width, page.columns)]
    return rows


def _label_rows(mark: _Mark, start: int, width: int, columns: int) -> list[str]:
    underline = " " * start + ("^" if mark.primary else "-") * width
    label = one_line(mark.label)
    needed = display_width(label)
    if start + width + 1 + needed <= columns:
        return [f"{underline} {label}"]
    indent = min(start, max(columns - needed, 0))
    return [underline, *(" " * indent + row for row in wrap(label, columns - indent, break_words=True))]


def _view(line: str, stretches: Sequence[_Stretch], columns: int) -> tuple[str, list[tuple[int, int]]]:
    """The part of a line that fits around its marks, and the start column and width of each mark in that part."""
    low = min((stretch.start for stretch in stretches), default=0)
    base = max(low - _REACH * columns, 0)
    cells = [cell(char) for char in line[base : low + _REACH * columns]]
    offsets = [0, *accumulate(map(display_width, cells))]

    def offset(index: int) -> int:
        return offsets[min(max(index - base, 0), len(cells))]

    ranges = [(offset(one.start), max(offset(one.end), offset(one.start) + 1)) for one in stretches]
    far = max((end for _, end in ranges), default=0)
    near = min((start for start, _ in ranges), default=0)
    partial = base > 0 or base + len(cells) < len(line)
    if not partial and max(offsets[-1], far) <= columns:
        return "".join(cells), [(start, end - start) for start, end in ranges]

    room = columns - 2
    first = _first_cell(offsets, near, far, room) if far > room or base else 0
    last = bisect_right(offsets, offsets[first] + room) - 1
    cut_before = first > 0 or base > 0
    cut_after = base + last < len(line)
    shift = offsets[first] - cut_before
    spots = [
        (max(start, offsets[first]) - shift, max(min(end, offsets[last]) - max(start, offsets[first]), 1))
        for start, end in ranges
    ]
    return f"{'…' * cut_before}{''.join(cells[first:last])}{'…' * cut_after}", spots


def _first_cell(offsets: Sequence[int], near: int, far: int, room: int) -> int:
    """The cell at which a cut line starts, so that the marks stand in the middle of what is shown."""
    context = (room - min(far - near, room)) // 2
    start = max(min(near - context, offsets[-1] - room), 0)
    first = bisect_left(offsets, start)
    # A combining mark belongs to the character before it, which is cut away.
    while 0 < first < len(offsets) - 1 and offsets[first + 1] == offsets[first]:
        first += 1
    return first
