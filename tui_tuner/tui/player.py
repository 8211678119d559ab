"""A replay that can be paused, stepped, sought through and played at any speed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import ClassVar, Literal

from tui_tuner.format import timer
from tui_tuner.session.events import Event, IncumbentChanged, SessionFinished, StepChanged
from tui_tuner.session.plan import Instruction
from tui_tuner.strategies.steps import Approver
from tui_tuner.subjects import Subject
from tui_tuner.tui.subject import EventSource

Move = Literal["pause", "forward", "back", "next", "previous", "faster", "slower"]
_FASTEST, _SLOWEST = 1024.0, 1 / 8
_LANDMARKS = (StepChanged, IncumbentChanged, SessionFinished)


class Rewound(Event):
    """What was shown is void: the story begins anew."""

    type: Literal["rewound"] = "rewound"
    transient: ClassVar[bool] = True


class Player:
    """A replay as a source of events; without a speed it goes to its end at once.

    Args:
        run: the replay.
        speed: seconds of the session in one; None to show the end.
        at: where to begin, in seconds of the session.
        now: seconds, monotonic.

    Attributes:
        title: a few words for the terminal's title.
        speed: as played, whether or not it is paused.
        paused: whether nothing moves.
    """

    def __init__(
        self, run: EventSource, speed: float | None = None, at: float = 0.0, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.title = run.title
        self.speed = speed or 1.0
        self.paused = speed is None
        self._run = run
        self._at = None if speed is None and at == 0 else at
        self._now = now
        self._events: list[Event] = []
        self._shown = 0
        self._wanted = 0
        self._moved = asyncio.Event()
        self._since = (0.0, 0.0)

    @property
    def seen_as(self) -> tuple[str, str]:
        """That it is a replay, and how far."""
        return "replay", self.where()

    @property
    def plays(self) -> bool:
        """Whether it moves by itself."""
        return not self.paused and self._shown < len(self._events)

    @property
    def subject(self) -> Subject:
        """What it is about."""
        return self._run.subject

    def tell(self, instruction: Instruction) -> bool:
        """Nobody can change a replay."""
        return False

    async def events(self, approver: Approver) -> AsyncGenerator[Event, None]:
        """What is to be shown by now, and what moving brings; ends with whoever listens."""
        async with aclosing(self._run.events(approver)) as stream:
            self._events = [event async for event in stream]
        at, self._at = self._at, None
        self._wanted = len(self._events) if at is None else self._index_at(at)
        self._restart()
        while True:
            if self._wanted < self._shown:
                self._shown = 0
                yield Rewound()
            while self._shown < self._wanted:
                self._shown += 1
                yield self._events[self._shown - 1]
            await self._wait()

    async def _wait(self) -> None:
        """Until the user moves, or the next event is due."""
        self._moved.clear()
        due = None
        if self.plays:
            began, position = self._since
            due = max(0.0, (self._events[self._shown].elapsed - position) / self.speed - (self._now() - began))
        try:
            async with asyncio.timeout(due):
                await self._moved.wait()
        except TimeoutError:
            self._wanted = self._shown + 1

    def move(self, how: Move) -> str:
        """Do what a key says; the words that tell where the replay is now."""
        last = len(self._events)
        match how:
            case "pause" if self._wanted >= last and self.paused:
                self._wanted, self.paused = 0, False
            case "pause":
                self.paused = not self.paused
            case "faster" | "slower":
                factor = 2.0 if how == "faster" else 0.5
                self.speed = min(_FASTEST, max(_SLOWEST, self.speed * factor))
            case "forward" | "back":
                self.paused = True
                self._wanted = min(last, max(1, self._wanted + (1 if how == "forward" else -1)))
            case "next" | "previous":
                self.paused = True
                self._wanted = self._landmark(1 if how == "next" else -1)
        self._restart()
        self._moved.set()
        return self.words()

    def where(self) -> str:
        """How far what is shown is, and how it goes on."""
        last = len(self._events)
        how = "" if self._shown == last else ", paused" if self.paused else f", {self.speed:g}x"
        return f"event {self._shown}/{last}{how}"

    def words(self) -> str:
        """Where the replay is, and whether it moves."""
        state = "paused" if self.paused else f"playing {self.speed:g}x"
        return f"{state}, {timer(self._position())}, event {self._wanted} of {len(self._events)}"

    def _position(self) -> float:
        return self._events[self._wanted - 1].elapsed if 0 < self._wanted <= len(self._events) else 0.0

    def _restart(self) -> None:
        """Let time go by from here on."""
        self._since = (self._now(), self._position())

    def _index_at(self, seconds: float) -> int:
        return max(1, sum(event.elapsed <= seconds for event in self._events))

    def _landmark(self, direction: int) -> int:
        """Behind the next or the previous change of a step, new best or end."""
        places = [number for number, event in enumerate(self._events, start=1) if isinstance(event, _LANDMARKS)]
        if direction > 0:
            return next((place for place in places if place > self._wanted), len(self._events))
        return next((place for place in reversed(places) if place < self._wanted), 1)
