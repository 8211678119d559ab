"""What pane 3 draws over its table: the curve of the best, and a tunable's values against the times."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

from textual.content import Content

from tui_tuner.format import milliseconds, tunable_value
from tui_tuner.problem.model import Value
from tui_tuner.tui.text import cut

_EIGHTHS = "▁▂▃▄▅▆▇█"
_FULL = 1.1
"""The least factor between the smallest value and one that fills the height."""


def sampled(values: Sequence[float], width: int) -> list[float]:
    """The values as `width` steps: repeated where there are few, the last of each group where there are many."""
    if not values:
        return []
    return [values[((index + 1) * len(values) + width - 1) // width - 1] for index in range(width)]


def chart_rows(values: Sequence[float], width: int, height: int) -> list[str]:
    """The curve as `height` rows of `width` cells, top first: steps are factors, so that a first value far above the
    rest leaves these room, and a gain of a few percent does not look like a large one. The smallest is one eighth high,
    and whatever is larger is higher than it.
    """
    steps = sampled(values, width)
    if not steps:
        return [""] * height
    low, high = min(values), max(*values, _FULL * min(values))
    levels = [1 + math.ceil(_share(value, low, high) * (8 * height - 1)) for value in steps]
    return ["".join(_cell(level - 8 * row) for level in levels) for row in reversed(range(height))]


def _share(value: float, low: float, high: float) -> float:
    """How far a value is from the low end to the high one, in factors; by its size where there are none."""
    if high <= low:
        return 0.0
    return math.log(value / low) / math.log(high / low) if low > 0 else (value - low) / (high - low)


def _cell(eighths: int) -> str:
    return " " if eighths <= 0 else _EIGHTHS[min(eighths, 8) - 1]


def best_chart(
    values: Sequence[float],
    unit: str,
    width: int,
    height: int,
    *,
    title: str = "best so far",
    note: str = "",
    words: Callable[[float], str] = milliseconds,
) -> Content:
    """The curve with its title, and the first and the best value at their heights, in so many lines and cells.

    Args:
        note: stands below the title.
        words: a value as it is written, without its unit.
    """
    if not values:
        return Content.styled(f"{title}: nothing measured yet", "$foreground-muted")
    if height < _WITH_AXIS:
        told = f"{words(values[0])} → {words(values[-1])} {unit} "
        whole = f"{title}, {note} {told}" if note else f"{title} {told}"
        fits = len(whole) + _LEAST_CURVE <= width
        labels = [whole if fits else f"{note or title} {told}", *[""] * (height - 1)]
    else:
        ends = [f"first {words(values[0])}", f"best {words(values[-1])}"]
        top, bottom = ends if values[0] >= values[-1] else ends[::-1]
        blank = [""] * (height - 2)
        lefts, rights = [title, note, *blank[1:], unit], [top, *blank, bottom]
        left, right = max(map(len, lefts)), max(map(len, rights))
        labels = [f"{one:<{left}}  {other:>{right}} " for one, other in zip(lefts, rights, strict=True)]
    size = len(labels[0])
    rows = chart_rows(values, max(1, width - size), height)
    return Content("\n").join(
        Content.assemble((f"{label:<{size}}", "$foreground-muted"), (row, "$chart"))
        for label, row in zip(labels, rows, strict=True)
    )


_TALLEST = 14
"""Lines of a chart that is no curve, at most."""
_TABLE = 7
"""Lines of a table that it leaves at the least: the heading and six rows."""


def chart_lines(height: int, below: int, pinned: int, *, is_curve: bool) -> int:
    """Lines of a chart in a pane of so many; one where there is room for none.

    Args:
        below: lines below the table.
        pinned: lines of rows that are pinned above it.
    """
    if is_curve:
        return _WITH_AXIS if height >= 2 * _TABLE and height - below >= 12 else 1
    lines = min(_TALLEST, height // 3 + 2, height - below - pinned - _TABLE)
    return lines if lines >= _WITH_AXIS else 1


_WITH_AXIS = 3
"""From so many lines on the ends of the values stand at their heights, those of a small gain above each other."""
_LEAST_CURVE = 16
"""Cells of a curve of one line for which the title gives way to its note."""


def over_time(values: Sequence[float], moments: Sequence[float], steps: int) -> list[float]:
    """The values as equal steps of the time from the first to the last moment.

    Args:
        moments: of the values, in seconds, ascending.
    """
    if not values:
        return []
    first, span = moments[0], moments[-1] - moments[0]
    ends = (first + span * (step + 1) / steps for step in range(steps))
    return [values[max(0, bisect_right(moments, end) - 1)] for end in ends]


@dataclass
class Scatter:
    """Times over the values of a tunable: each value has a strip of its own, its times lie in it side by side.

    Attributes:
        times: of each value, ms.
        failed: how many configurations with a value failed.
        best: value and time of the best; None before there is one.
    """

    times: dict[Value, list[float]] = field(default_factory=lambda: defaultdict(list))
    failed: dict[Value, int] = field(default_factory=lambda: defaultdict(int))
    best: tuple[Value, float] | None = None

    def draw(self, title: str, unit: str, width: int, height: int) -> Content:
        """The strips with their values below, between the slowest and the fastest time, whose steps are factors.

        Values that stand side by side share a strip where there is no room for one each.
        """
        measured = [time for times in self.times.values() for time in times]
        if not measured:
            return Content.styled(f"{title}: nothing measured yet", "$foreground-muted")
        if height < _WITH_AXIS:
            return Content.styled(f"{title}: its chart needs a higher pane", "$foreground-muted")
        low, high = min(measured), max(measured)
        slowest, fastest = (f"{milliseconds(time)} {unit}" for time in (high, low))
        ends = "" if slowest == fastest else slowest, fastest
        side = max(len(ends[0]), len(ends[1]), min(len(title), width // 3)) + 1
        strips = self._strips(width - side)
        cells, rows = (width - side) // len(strips), height - 1
        labels = [ends[0], *[""] * (rows - 2), ends[1]] if rows > 1 else [ends[1]]
        size = 2 if len(measured) <= _FEW else 1
        drawn = [_dots(self._times(strip), (low, high), cells - 1, rows, size) for strip in strips]
        lines: list[Content] = []
        for row, label in enumerate(labels):
            parts = [Content.styled(label.ljust(side), "$foreground-muted")]
            for strip, dots in zip(strips, drawn, strict=True):
                parts.append(self._cells(dots[row], starred=self._is_best(strip, row, (low, high), rows)))
            lines.append(Content("").join(parts))
        names = "".join(cut(self._name(strip), cells - 1).ljust(cells) for strip in strips)
        lines.append(Content.styled(f"{cut(title, side - 1):<{side}}{names}", "$foreground-muted"))
        return Content("\n").join(lines)

    def _strips(self, room: int) -> list[list[Value]]:
        """The values in their order, alone where they fit into so many cells."""
        values = sorted({*self.times, *self.failed}, key=_in_order)
        fits = len(values) * _NARROWEST <= room
        together = 1 if fits else -(-len(values) // max(1, room // _OF_SEVERAL))
        return [values[first : first + together] for first in range(0, len(values), together)]

    def _times(self, strip: Sequence[Value]) -> list[float]:
        return [time for value in strip for time in self.times.get(value, [])]

    def _name(self, strip: Sequence[Value]) -> str:
        ends = dict.fromkeys((tunable_value(strip[0]), tunable_value(strip[-1])))
        failed = sum(self.failed.get(value, 0) for value in strip)
        return "..".join(ends) + (f" ✗{failed}" if failed else "")

    def _is_best(self, strip: Sequence[Value], row: int, ends: tuple[float, float], rows: int) -> bool:
        return self.best is not None and self.best[0] in strip and _level(self.best[1], *ends, rows) == row

    @staticmethod
    def _cells(text: str, *, starred: bool) -> Content:
        if starred:
            return Content.assemble(("★", "bold $text-success"), (text[1:] + " ", "$chart"))
        return Content.styled(text + " ", "$chart")


_NARROWEST, _OF_SEVERAL = 4, 8
"""Cells of a strip at least, of one that several values share too, the gap behind it included."""
_FEW = 150
"""So many times, and fewer, are drawn larger."""
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bits of a sign of Braille, its rows from the top, each from the left; Unicode 2800 and what follows."""


def _level(time: float, low: float, high: float, levels: int) -> int:
    """Which of so many levels from the top; equal steps are equal factors."""
    return levels - 1 - min(levels - 1, int(_share(time, low, high) * levels))


def _dots(times: Sequence[float], ends: tuple[float, float], width: int, rows: int, size: int) -> list[str]:
    """Times as dots in `rows` lines of `width` cells; those that come later lie further to the right.

    Args:
        size: of a dot, 1 or 2 of those of Braille in each direction.
    """
    cells = [[0] * width for _ in range(rows)]
    for place, time in enumerate(times):
        across = place * 2 * width // len(times) // size * size
        down = _level(time, *ends, 4 * rows) // size * size
        for row, column in product(range(down, down + size), range(across, across + size)):
            cells[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
    return ["".join(chr(0x2800 + bits) if bits else " " for bits in line) for line in cells]


def _in_order(value: Value) -> tuple[int, float, str]:
    """Numbers by their size, then words."""
    return (1, 0.0, value) if isinstance(value, str) else (0, float(value), "")
