"""The curve of the best so far, drawn with eighths of a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content

from tui_tuner.format import milliseconds

_EIGHTHS = "▁▂▃▄▅▆▇█"


def sampled(values: Sequence[float], width: int) -> list[float]:
    """The values as `width` steps: repeated where there are few, the last of each group where there are many."""
    if not values:
        return []
    return [values[((index + 1) * len(values) + width - 1) // width - 1] for index in range(width)]


def chart_rows(values: Sequence[float], width: int, height: int) -> list[str]:
    """The curve as `height` rows of `width` cells, top first; the smallest value is one eighth high."""
    steps = sampled(values, width)
    if not steps:
        return [""] * height
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    levels = [1 + round((value - low) / span * (8 * height - 1)) for value in steps]
    return ["".join(_cell(level - 8 * row) for level in levels) for row in reversed(range(height))]


def _cell(eighths: int) -> str:
    return " " if eighths <= 0 else _EIGHTHS[min(eighths, 8) - 1]


def best_chart(
    values: Sequence[float],
    unit: str,
    width: int,
    height: int,
    *,
    title: str = "best so far",
    words: Callable[[float], str] = milliseconds,
) -> Content:
    """The curve with its title and with the first and the best value, in `height` lines of at most `width` cells.

    Args:
        words: a value as it is written, without its unit.
    """
    if not values:
        return Content.styled(f"{title}: nothing measured yet", "$foreground-muted")
    first, best = f"{words(values[0])} {unit}", f"{words(values[-1])} {unit}"
    if height == 1:
        label = f"{title} {words(values[0])} → {best} "
        rows = chart_rows(values, max(1, width - len(label)), 1)
        return Content.assemble((label, "$foreground-muted"), (rows[0], "$accent"))
    size = max(len(title), len(first), len(best)) + 1
    labels = [title, *[""] * (height - 3), first, best] if height > 2 else [first, best]
    rows = chart_rows(values, max(1, width - size), height)
    pairs = zip(labels, rows, strict=True)
    return Content("\n").join(
        Content.assemble((f"{label:<{size}}", "$foreground-muted"), (row, "$accent")) for label, row in pairs
    )
