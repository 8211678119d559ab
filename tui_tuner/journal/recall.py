"""Effects by their keys: what the journal knows is answered from it, what it does not know is done and recorded."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from tui_tuner.journal import Journal
from tui_tuner.journal.reading import Record, key_of

Result = TypeVar("Result")
Model = TypeVar("Model", bound=BaseModel)
_READABLE = ("ask", "approve")
"""Effects whose question stands in the journal beside its hash."""
_TURNS = 20
"""Turns of the event loop in which what is on record is told if anything is."""


class RecordEnds(Exception):
    """A replay has come to the end of what was recorded."""


def system_clock() -> float:
    """Seconds of a clock that only goes forward."""
    return time.monotonic()


class SessionClock:
    """Seconds since a session began, the pauses between a stop and its resume left out.

    It shows the recorded time while known effects are gone through, and runs on from there.

    Args:
        last: seconds of the last record; the clock runs on from it.
        now: tells the seconds that go by.
    """

    def __init__(self, last: float, now: Callable[[], float] = system_clock) -> None:
        self._base = last
        self._now = now
        self._started: float | None = None
        self._held: float | None = None
        self._shown = 0.0

    def hold(self, held: bool) -> None:
        """Stand still, or run on from there."""
        now = self._now()
        if held and self._held is None:
            self._held = now
        elif not held and self._held is not None:
            if self._started is not None:
                self._started += now - max(self._held, self._started)
            self._held = None

    def show(self, elapsed: float) -> None:
        """Show the time of a record."""
        self._shown = max(self._shown, elapsed)

    def go_on(self) -> None:
        """Start to run, at the first effect that is not known."""
        if self._started is None:
            self._started = self._now()

    @property
    def runs(self) -> bool:
        """Whether the clock runs on from the last record."""
        return self._started is not None

    @property
    def elapsed(self) -> float:
        """Seconds since the session began."""
        if self._started is None:
            return self._shown
        now = self._now() if self._held is None else max(self._held, self._started)
        return self._base + now - self._started


class Recall:
    """The journal and the clock of a session, as its effects use them.

    Args:
        is_reworded: whether this version of the program may put a question in other words than the session did.
    """

    def __init__(self, journal: Journal, clock: SessionClock, *, is_reworded: bool = False) -> None:
        self._journal = journal
        self._clock = clock
        self._is_reworded = is_reworded
        self._asked: Counter[str] = Counter()
        self._told: set[str] = set()
        self._may_go_on = asyncio.Event()
        self._may_go_on.set()

    def hold(self, held: bool) -> None:
        """Begin nothing new and let the clock stand still, or go on."""
        self._clock.hold(held)
        if held:
            self._may_go_on.clear()
        else:
            self._may_go_on.set()

    async def may_begin(self) -> None:
        """Return once nothing holds the session."""
        await self._may_go_on.wait()

    @property
    def elapsed(self) -> float:
        """Seconds since the session began."""
        return self._clock.elapsed

    @property
    def writable(self) -> bool:
        """Whether this is no replay."""
        return self._journal.writable

    @property
    def is_live(self) -> bool:
        """Whether all that was recorded is gone through and something new happens."""
        return self._clock.runs

    def recorded(self, kind: str, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """The recorded result, whenever it came about; the clock stays where it is."""
        record = self._journal.get(key_of(kind, content))
        return None if record is None else record.result

    def numbered(self, kind: str) -> list[dict[str, Any]]:
        """The recorded results of effects that are numbered from 1, in their order."""
        found: list[dict[str, Any]] = []
        while (result := self.recorded(kind, {"number": len(found) + 1})) is not None:
            found.append(result)
        return found

    def nth(self, kind: str, content: Mapping[str, Any], limit: str = "") -> dict[str, Any]:
        """The content with a count of how often it was asked before: the same question may be put twice.

        Args:
            limit: a part of the content that makes no other question of it. What was asked with another value of it,
                the last such value first, is what is asked now: it comes back with that value.
        """
        plain = key_of(kind, {name: value for name, value in content.items() if name != limit})
        self._asked[plain] += 1
        numbered = {**content, "occurrence": self._asked[plain]}
        asked = [numbered] if self.writable else []
        asked += [{**numbered, limit: value} for value in self._values(kind, limit)] if limit else []
        return next((one for one in asked if self._journal.get(key_of(kind, one)) is not None), numbered)

    def _values(self, kind: str, name: str) -> list[Any]:
        """What a part of a question was in the records of its kind, each once, the last one first."""
        asked = [record.content or {} for record in self._journal.records if record.kind == kind]
        return list(dict.fromkeys(content[name] for content in reversed(asked) if name in content))

    def known(self, kind: str, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """The recorded result, if there is one."""
        record = self._journal.get(key_of(kind, content))
        if record is None:
            return None
        self._clock.show(record.elapsed)
        self._told.add(record.key)
        return record.result

    def in_other_words(
        self, kind: str, content: Mapping[str, Any], likeness: Callable[[Mapping[str, Any], Mapping[str, Any]], float]
    ) -> Mapping[str, Any] | None:
        """The recorded question that stands for one that is not known: the likest that was not told yet.

        In a replay nothing else can be meant; a session that goes on has it so only where words have changed.

        Args:
            likeness: of two questions; 0 where one cannot stand for the other.
        """
        if self._journal.writable and not self._is_reworded:
            return None
        records = [one for one in self._journal.records if one.kind == kind and one.key not in self._told]
        left = [(likeness(content, one.content), one.content) for one in records if one.content is not None]
        like, found = max(left, key=lambda one: one[0], default=(0.0, None))
        return found if like > 0 else None

    async def _others_told(self) -> None:
        """In a replay that is at its end, let what else is on record be told, as what ran while a model was asked."""
        told = -1
        while not self._journal.writable and told != len(self._told):
            told = len(self._told)
            for _ in range(_TURNS):
                await asyncio.sleep(0)

    async def once(
        self, kind: str, content: Mapping[str, Any], do: Callable[[], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """The recorded result, or that of `do`, recorded before it is returned.

        Raises:
            RecordEnds: it is not known, and this is a replay.
        """
        result = self.known(kind, content)
        if result is not None:
            return result
        await self._others_told()
        self.must_be_live()
        await self.may_begin()
        result = await do()
        self.record(kind, content, result)
        return result

    async def once_as(
        self, model: type[Model], kind: str, content: Mapping[str, Any], do: Callable[[], Awaitable[Model]]
    ) -> Model:
        """As `once`, with a result that is a model."""

        async def as_recorded() -> dict[str, Any]:
            return (await do()).model_dump(mode="json")

        return model.model_validate(await self.once(kind, content, as_recorded))

    async def in_time(self, work: Coroutine[Any, Any, Result], ends_s: Callable[[], float]) -> Result | None:
        """The result of `work`; None where the session's time came to an end first, and `work` was cancelled.

        Args:
            ends_s: when that is, in seconds of the session; it may become later meanwhile.
        """
        tasks = working, _ = asyncio.ensure_future(work), asyncio.ensure_future(self._is_at(ends_s))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else None
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _is_at(self, seconds: Callable[[], float]) -> None:
        while (left := seconds() - self.elapsed) > 0:
            await asyncio.sleep(left)
            await self.may_begin()  # the clock stands still in a pause

    def record(self, kind: str, content: Mapping[str, Any], result: dict[str, Any]) -> None:
        """Record a result."""
        shown = dict(content) if kind in _READABLE else None
        key = key_of(kind, content)
        self._told.add(key)
        self._journal.append(Record(kind, key, round(self._clock.elapsed, 3), result, shown))

    def must_be_live(self) -> None:
        """Hold that from here on something new happens.

        Raises:
            RecordEnds: this is a replay.
        """
        if not self._journal.writable:
            raise RecordEnds
        self._clock.go_on()
