"""The first line of the screen: what is tuned, where and by whom, and what came of it so far."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from tui_tuner.format import clock, cost, factor
from tui_tuner.tui.plain import one_line
from tui_tuner.tui.subject import SubjectView
from tui_tuner.tui.view_model import ViewModel, time_label

_SEPARATOR = Content.styled(" │ ", "$foreground-muted")


def header_parts(view_model: ViewModel, view: SubjectView, elapsed: float) -> list[tuple[int, str, str]]:
    """The parts of the header as (rank, side, text): of too many the highest rank goes first."""
    started = view_model.started
    if started is None:
        return [(0, "left", "starting")]
    device, speedup = view_model.device, view.gain(view_model)
    if view_model.finished is not None and view_model.finished.speedup is not None:
        speedup = view_model.finished.speedup[0]
    unit = time_label(device)
    return [
        (0, "left", started.kernel),
        (4, "left", "" if device is None else device.name),
        (0, "left", "" if unit == "ms" else unit),
        (6, "left", started.model or "no model"),
        (7, "left", started.strategy),
        (0, "right", "" if speedup is None else factor(speedup)),
        (1, "right", "" if view_model.finished is None else view_model.finished.status.replace("_", " ")),
        (2, "right", clock(elapsed)),
        *((rank, "right", text) for rank, text in view.effort(view_model)),
        (5, "right", cost(view_model.cost)),
    ]


def header_line(view_model: ViewModel, view: SubjectView, elapsed: float, width: int) -> Content:
    """The header in exactly `width` cells, with as many parts as fit."""
    parts = [part for part in header_parts(view_model, view, elapsed) if part[2]]
    while True:
        left, right = (
            _SEPARATOR.join(one_line(text, "bold" if rank == 0 else "") for rank, place, text in parts if place == side)
            for side in ("left", "right")
        )
        space = width - left.cell_length - right.cell_length
        worst = max(rank for rank, _, _ in parts)
        if space >= 2 or worst == 0:
            break
        parts = [part for part in parts if part[0] != worst]
    return (left + " " * max(1, space) + right).truncate(width, ellipsis=True)


class HeaderLine(Widget):
    """Kernel, device, model and strategy; speed-up, time, evaluations and cost."""

    def __init__(self, view: SubjectView) -> None:
        super().__init__(id="header")
        self._view = view
        self._view_model = ViewModel()
        self._elapsed = 0.0

    def show(self, view_model: ViewModel, elapsed: float) -> None:
        """Draw the view model at so many seconds."""
        self._view_model, self._elapsed = view_model, elapsed
        self.refresh()

    def render(self) -> Content:
        """One line."""
        return header_line(self._view_model, self._view, self._elapsed, self.content_size.width)
