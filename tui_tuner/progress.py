"""How a session is told on standard error: as much as the user wants, above a line that says where it stands."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from enum import IntEnum
from typing import TextIO

from pydantic_core import PydanticSerializationError

from tui_tuner.evaluate.results import Timing
from tui_tuner.format import brief_duration, clock_in_lines, configuration_words, cost, factor, factor_in_lines, timer
from tui_tuner.session import events
from tui_tuner.strategies.steps import StepState
from tui_tuner.text import clean, flattened, say


class Verbosity(IntEnum):
    """How much of the story is told: on a terminal the line of progress stands for what `NORMAL` leaves out."""

    QUIET = -1
    NORMAL = 0
    VERBOSE = 1


_PROGRESS_TELLS = (events.EvaluationFinished, events.PromptSent, events.ReplyReceived)
"""What the line of progress tells in the place of a line of the story."""


class Teller:
    """Prints lines of a story.

    Args:
        err: where to; a terminal shows a line of progress below them.
    """

    def __init__(self, err: TextIO, verbosity: Verbosity = Verbosity.NORMAL) -> None:
        self._err = err
        self._verbosity = verbosity
        quiet = verbosity is Verbosity.QUIET
        self._progress = Progress(err) if not quiet and can_redraw(err) else None

    def hear(self, event: events.Event) -> None:
        """Take what happened into account for the line of progress."""
        if self._progress is not None:
            self._progress.note(event)

    def tell(self, event: events.Event, line: str | None) -> None:
        """Print the line of an event, where it is to be told, and what else there is to say of it."""
        told = [] if line is None or not self._tells(event) else [flattened(line)]
        if self._verbosity is Verbosity.VERBOSE:
            told += [f"    {clean(detail).rstrip()}" for detail in _details(event)]
        if self._progress is not None:
            self._progress.erase()
        for one in told:
            print(f"{clock_in_lines(event.elapsed)} {one}", file=self._err, flush=True)
        if self._progress is not None:
            self._progress.draw()

    def _tells(self, event: events.Event) -> bool:
        """Whether the story has a line for an event at this verbosity."""
        if self._verbosity is Verbosity.QUIET:
            return isinstance(event, events.Note) and event.level == "warning"
        hidden = self._progress is not None and self._progress.is_seen and self._verbosity is Verbosity.NORMAL
        return not (hidden and isinstance(event, _PROGRESS_TELLS))

    @asynccontextmanager
    async def ticking(self) -> AsyncIterator[None]:
        """Keep the line of progress up to date, and leave none behind."""
        if self._progress is None:
            yield
            return
        async with self._progress.ticking():
            yield

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Draw no line of progress into what a user types."""
        if self._progress is None:
            yield
            return
        with self._progress.hidden():
            yield


def _details(event: events.Event) -> list[str]:
    """What else there is to say of an event, for who wants to see everything."""
    match event:
        case events.EvaluationFinished() if event.evaluation.failure is not None:
            return event.evaluation.failure.detail.splitlines()
        case events.Compared():
            comparison = event.comparison
            words = factor_in_lines(comparison.factor)
            return [f"in turns with the best so far: {words}, {comparison.pairs} pairs"]
    return []


def json_line(event: events.Event) -> str:
    """An event as JSON, where a path or a model's words hold what is no text too."""
    try:
        return event.model_dump_json()
    except PydanticSerializationError:
        return json.dumps(event.model_dump())


_ERASE = "\r\x1b[2K"
TICK_S = 1.0


def can_redraw(stream: TextIO) -> bool:
    """Whether it is a terminal whose last line can be written anew."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def say_above(text: str) -> None:
    """Print a line that no event tells, on standard error: a line of progress makes room for it, and is drawn below."""
    if can_redraw(sys.stderr):
        sys.stderr.write(_ERASE)
    say(text)


class Progress:
    """What runs, the best so far, evaluations, time, calls and cost of what is allowed, and how long it may still take.

    Args:
        out: the terminal.
        now: seconds of a clock that only goes forward.
    """

    def __init__(self, out: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._now = now
        self._since = now()
        self._elapsed = 0.0
        self._limits: events.SessionStarted | None = None
        self._doing = ""
        self._searching = ""
        self._awaited = ""
        self._given: Timing | None = None
        self._fastest: float | None = None
        self._best: float | None = None
        self._evaluations = 0
        self._first_at = 0.0
        self._calls = 0
        self._cost: float | None = 0.0
        self._is_drawn = self._is_hidden = False

    def note(self, event: events.Event) -> None:
        """Take what happened into account."""
        self._elapsed, self._since = max(self._elapsed, event.elapsed), self._now()
        match event:
            case events.SessionStarted():
                self._limits, self._doing = event, "taking the device"
            case events.BudgetChanged() if self._limits is not None:
                self._limits = self._limits.model_copy(update=event.limits)
            case events.BaselineMeasured():
                self._given = event.given.timing
                self._first_at = self._first_at or event.elapsed
            case events.StepChanged() if event.step.state is StepState.RUNNING:
                self._doing = f"step {event.step.id} {event.step.title}"
            case events.IncumbentChanged():
                self._best = event.speedup[0]
            case events.ApprovalAsked():
                self._awaited = f"step {event.proposal.step.id} awaits an answer"
            case events.HelpAsked():
                self._awaited = "the model failed, an answer is awaited"
            case events.ApprovalGiven() | events.HelpGiven():
                self._awaited = ""
            case _:
                self._note_work(event)

    def _note_work(self, event: events.Event) -> None:
        """Evaluations and calls of the model."""
        match event:
            case events.EvaluationStarted():
                self._searching = f"#{event.number} {configuration_words(event.configuration, between=' ')}"
            case events.EvaluationFinished():
                self._evaluations += event.evaluation.is_counted
                if event.evaluation.ms is not None:
                    self._fastest = min(self._fastest or event.evaluation.ms, event.evaluation.ms)
            case events.PromptSent():
                self._calls, self._searching = self._calls + 1, f"asking the model ({event.purpose})"
            case events.ComparisonBegun() | events.ProfileBegun():
                self._searching = f"{event.doing} {configuration_words(event.configuration, between=' ')}"
            case events.Compared() | events.Profiled():
                self._searching = ""
            case events.ReplyReceived():
                self._searching = ""
                self._cost = None if self._cost is None or event.cost is None else self._cost + event.cost

    def line(self) -> str:
        """The line as it is now."""
        elapsed = self._elapsed + self._now() - self._since
        doing = [self._awaited] if self._awaited else [self._left(elapsed), self._doing, self._searching]
        parts = [timer(elapsed), self._best_words(), self._spent(), *doing]
        return " | ".join(flattened(part) for part in parts if part)

    def _best_words(self) -> str:
        """The best so far; one that was not yet timed in turns has a tilde."""
        apart = self._given.median / self._fastest if self._given is not None and self._fastest else 1.0
        if apart > (self._best or 1.0) * 1.02:  # noise of times that were taken apart is no news
            return f"best ~{factor(apart)}"
        return "" if self._best is None else f"best {factor(self._best)}"

    def _spent(self) -> str:
        limits = self._limits
        if limits is None:
            return ""
        words = [f"{self._evaluations}/{limits.max_evaluations} evaluations"]
        if self._calls or limits.model is not None:
            words.append(f"{self._calls}/{limits.max_calls} calls" if limits.max_calls else f"{self._calls} calls")
        if limits.max_cost is not None:
            words.append(f"{cost(self._cost)} of {cost(limits.max_cost)}")
        elif self._cost or self._cost is None:
            words.append(cost(self._cost))
        return ", ".join(words)

    def _left(self, elapsed: float) -> str:
        """At most so long, as the evaluations go so far and as the limit of time says."""
        limits, ends = self._limits, []
        if limits is None:
            return ""
        if limits.max_seconds is not None:
            ends.append(limits.max_seconds - elapsed)
        if self._evaluations:
            each = (elapsed - self._first_at) / self._evaluations
            ends.append(each * (limits.max_evaluations - self._evaluations))
        return f"at most {brief_duration(min(ends))} left" if ends and min(ends) >= 1 else ""

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Take the line away for a while."""
        self.erase()
        self._is_hidden = True
        try:
            yield
        finally:
            self._is_hidden = False

    @property
    def is_seen(self) -> bool:
        """Whether there is a terminal still: when that is closed a file takes its place."""
        return self._out.isatty()

    def draw(self) -> None:
        """Write the line, cut to the terminal's width."""
        if self._is_hidden or not self.is_seen:
            return
        width = shutil.get_terminal_size().columns - 1
        self._out.write(f"{_ERASE}{self.line()[:width]}")
        self._out.flush()
        self._is_drawn = True

    def erase(self) -> None:
        """Leave the terminal's last line empty, for what is printed next."""
        if self._is_drawn and self.is_seen:
            self._out.write(_ERASE)
            self._out.flush()
            self._is_drawn = False

    @asynccontextmanager
    async def ticking(self) -> AsyncIterator[None]:
        """Redraw it every second, and erase it at the end."""
        ticks = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticks.cancel()
            with suppress(OSError, ValueError):
                self.erase()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            with suppress(OSError, ValueError):  # a terminal that is gone needs no clock
                self.draw()
