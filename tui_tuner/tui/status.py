"""Two lines that are always there: the header says what is tuned, the status line where the session stands.

And the words in which it ends.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.getters import query_one

from tui_tuner.format import brief_duration, cost_behind, counted, factor, thousands, timer
from tui_tuner.journal.runs import STOPPED
from tui_tuner.session.events import SessionFinished, SessionStarted
from tui_tuner.text import in_line
from tui_tuner.tui.subject import SubjectView
from tui_tuner.tui.text import ChangingLine, fitting, one_line
from tui_tuner.tui.view_model import ViewModel, time_label

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_A_SECOND = 2
"""Steps of the spinner; over a slow line each is a packet."""
_CHARACTERS = 4
"""Of a token, about."""
_BETWEEN = " · "

_SEPARATOR = Content.styled(" │ ", "$foreground-muted")
_LEAST_GAP = 2
"""Cells between what stands on the left and on the right of the header."""


def header_parts(
    view_model: ViewModel, view: SubjectView, seen_as: Sequence[str] = (), *, label: str = ""
) -> list[tuple[int, str, str]]:
    """The parts of the header as (rank, side, text): of too many the highest rank goes first.

    Args:
        seen_as: see `tui_tuner.tui.subject.EventSource`.
        label: stands before the speed-up.
    """
    started = view_model.started
    if started is None:
        return [(0, "left", "starting")]
    speedup, finished = view.gain(view_model), view_model.finished
    unit = time_label(view_model.device)
    return [
        (0, "left", started.kernel),
        *((0, "left", kind) for kind in seen_as[:1]),
        (3, "left", Path(started.run).name if seen_as else ""),
        *((1, "left", place) for place in seen_as[1:]),
        (4, "left", view_model.device_title.partition(";")[0]),  # what is behind it stands in the chat
        (0, "left", "" if unit == "ms" else f"times in {unit}"),
        (5, "left", started.model or "no model"),
        (6, "left", started.strategy),
        (0, "right", "" if speedup is None else f"{label}{factor(speedup)}"),
        (2, "right", "" if finished is None else finished.status.replace("_", " ")),
    ]


def header_line(view_model: ViewModel, view: SubjectView, width: int, seen_as: Sequence[str] = ()) -> Content:
    """The header in exactly `width` cells, with as many parts as fit, none beyond its half; see `header_parts`."""

    def parts_with(label: str) -> list[tuple[int, str, Content]]:
        return [
            (rank, side, one_line(text, "bold" if rank == 0 else "").truncate(width // 2, ellipsis=True))
            for rank, side, text in header_parts(view_model, view, seen_as, label=label)
            if text
        ]

    parts = parts_with("speed-up ")
    left, right = _sides(parts)
    if width - left.cell_length - right.cell_length < _LEAST_GAP:
        parts = parts_with("")
        left, right = _sides(parts)
    while width - left.cell_length - right.cell_length < _LEAST_GAP and (worst := max(rank for rank, _, _ in parts)):
        parts = [part for part in parts if part[0] != worst]
        left, right = _sides(parts)
    space = max(1, width - left.cell_length - right.cell_length)
    return (left + " " * space + right).truncate(width, ellipsis=True)


def _sides(parts: Sequence[tuple[int, str, Content]]) -> tuple[Content, Content]:
    left, right = (
        _SEPARATOR.join(content for _, place, content in parts if place == side) for side in ("left", "right")
    )
    return left, right


class HeaderLine(ChangingLine):
    """Kernel, device, model and strategy, and whether the run is driven elsewhere or replayed; the speed-up."""

    def __init__(self, view: SubjectView) -> None:
        super().__init__(id="header")
        self._view = view
        self._view_model = ViewModel()
        self._seen_as: Sequence[str] = ()

    def show(self, view_model: ViewModel, seen_as: Sequence[str]) -> None:
        """Draw the view model; see `header_parts`."""
        self._view_model, self._seen_as = view_model, seen_as
        self.follow()

    def line(self, width: int) -> Content:
        """The parts that fit."""
        return header_line(self._view_model, self._view, width, self._seen_as)


Part = tuple[int, Content]
"""A rank and what it says: of too many parts the highest rank goes first."""


def status_parts(view_model: ViewModel, view: SubjectView, elapsed: float, spin: float | None) -> list[Part]:
    """What the line says, from left to right.

    Args:
        elapsed: seconds since the session began.
        spin: seconds that move the spinner, None where nothing is to move.
    """
    if view_model.started is None:
        return [(0, Content("starting"))]
    doing = [] if view_model.finished is not None else _doing(view_model, elapsed, spin)
    effort = [(rank, one_line(text)) for rank, text in view.effort(view_model)]
    return [*doing, *effort, *_spent(view_model)]


def _doing(view_model: ViewModel, elapsed: float, spin: float | None) -> list[Part]:
    parts: list[Part] = []
    if view_model.paused:
        parts.append((0, Content.styled("paused", "bold $text-warning")))
    under_way = view_model.under_way
    for asked in filter(None, (under_way.asked, *under_way.questions.values())):
        sign = "…" if spin is None else _SPINNER[int(spin * _A_SECOND) % len(_SPINNER)]
        tokens = f"{thousands(asked.characters // _CHARACTERS)} tokens" if asked.characters else "no word yet"
        words = f"model: {asked.purpose} {timer(elapsed - asked.since)}, {tokens}"
        parts.append((0, Content.styled(f"{sign} ", "bold $text-primary") + one_line(words)))
    step = view_model.current_step
    if step is not None:
        parts.append((1, Content(f"step {view_model.order.index(step.id) + 1}/{len(view_model.order)}")))
    if under_way.work:
        parts.append((3, Content(under_way.work)))
    return parts


def _spent(view_model: ViewModel) -> list[Part]:
    started = view_model.started
    if started is None or started.model is None:
        return []
    limit = "" if started.max_calls is None else f"/{started.max_calls}"
    made = view_model.under_way.calls
    calls = f"call {made}{limit}" if limit else counted(made, "call")
    of = "" if started.max_cost is None else f" of {started.max_cost:.2f}"
    if view_model.cost is None:  # many models run on the user's own machine, and have none
        return [(5, Content(calls)), *([(6, Content("price unknown"))] if of else [])]
    return [(5, Content(calls)), *([(6, Content(f"${view_model.cost:.2f}{of}"))] if view_model.cost or of else [])]


def clock_words(view_model: ViewModel, elapsed: float) -> str:
    """The time since the session began, and how long it may take."""
    started = view_model.started
    limit = None if started is None else started.max_seconds
    return timer(elapsed) + ("" if limit is None else f" of {brief_duration(limit)}")


def bar(done: int, most: int, cells: int = 5) -> str:
    """How much of something is done, in so many cells."""
    full = cells if most <= 0 else min(cells, round(done * cells / most))
    return "▓" * full + "░" * (cells - full)


class _Words(ChangingLine):
    """All of the line but its clock."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[Part] = [(0, Content("starting"))]

    def line(self, width: int) -> Content:
        """The parts that fit."""
        return fitting(self.parts, Content.styled(_BETWEEN, "$foreground-muted"), width)


class _Clock(ChangingLine):
    """A widget of its own, so that a second that passes costs a few bytes of the terminal's line."""

    text = ""

    def show(self, text: str) -> None:
        """Show the time."""
        if len(text) != len(self.text):
            self.styles.width = len(text)
        self.text = text
        self.follow()

    def line(self, width: int) -> Content:
        """The time."""
        return Content(self.text)


class StatusLine(Horizontal):
    """Always there, between the panes and the keys."""

    _words = query_one(_Words)
    _clock = query_one(_Clock)

    def __init__(self) -> None:
        super().__init__(id="status")

    def compose(self) -> ComposeResult:
        """Words at the left, the clock at the right."""
        yield _Words()
        yield _Clock()

    def show(self, view_model: ViewModel, view: SubjectView, elapsed: float, spin: float | None) -> None:
        """Show where the session stands; see `status_parts`."""
        self._words.parts = status_parts(view_model, view, elapsed, spin)
        self._words.follow()
        self._clock.show("" if view_model.started is None else clock_words(view_model, elapsed))


_HEADLINES = {
    "finished": ("✓ finished", "bold $text-success"),
    "no_improvement": ("· finished without an improvement", "bold $text-warning"),
    "failed": ("✗ failed", "bold $text-error"),
    "interrupted": ("· interrupted", "bold $text-warning"),
}


def result_title(finished: SessionFinished) -> Content:
    """The status with its sign."""
    return Content.styled(*_HEADLINES[finished.status])


def model_effort(finished: SessionFinished) -> str:
    """Calls of the model and their price."""
    fault = f"; was of no use: {in_line(finished.model_fault)}" if finished.model_fault else ""
    return f"{counted(finished.model_calls, 'call')}{cost_behind(finished.cost)}{fault}"


def resume_command(started: SessionStarted | None) -> str:
    """What goes on with the run, as far as one is known."""
    return "tuner-tui resume" if started is None else f"tuner-tui resume {shlex.quote(started.run)}"


def way_on(finished: SessionFinished, started: SessionStarted) -> tuple[str, str]:
    """The command that goes on with the session, or shows it again where it is over, after what it does."""
    if finished.status == "interrupted" or finished.reason == STOPPED:
        return "go on", resume_command(started)
    return "see it again", f"tuner-tui replay {shlex.quote(started.run)}"
