"""How much room the kernels, the fields beside or below them and the runs have on the start screen."""

from __future__ import annotations

from typing import Any

from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget

from tui_tuner.tui.start.how import How

_SIDE_BY_SIDE = 70
"""From so many cells on there is room for the fields beside the kernels."""
_FEW_KERNELS = 6
"""Lines of their list above the fields at most."""
_ALL_LISTS = 21
"""From so many lines on there is room for kernels, fields and runs below each other."""
_ALL_FIELDS = 14
"""From so many lines on there is room for all fields below a list."""


def lay_out(screen: Screen[Any], choices: Widget, files: int, size: Size, most: int | None) -> None:
    """Have the kernels above how they are tuned where there is no room beside it.

    Where that is too high as well, of kernels and runs those that have not the focus are a line, in the end the fields
    too.

    Args:
        choices: holds kernels and fields.
        files: how many kernels there are.
        size: of the terminal.
        most: lines of `choices` where the fields are beside the kernels; None where nothing else needs them.
    """
    stacked, lines = size.width < _SIDE_BY_SIDE, files + 2  # the frame; the styles say what fits
    low = stacked and size.height < _ALL_LISTS
    lowest = low and size.height < _ALL_FIELDS
    choices.set_class(stacked, "-stacked")
    screen.set_class(low, "-low")
    screen.set_class(lowest, "-lowest")
    if low:
        choices.styles.height = (2 if lowest else How.LINES + 2) if screen.has_class("-at-runs") else "1fr"
    else:
        choices.styles.height = min(lines, _FEW_KERNELS) + How.LINES + 2 if stacked else lines
        choices.styles.max_height = None if stacked else most
