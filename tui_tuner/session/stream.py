"""A session as one stream of events: what drives it runs in a task of its own, and ends with whoever listens."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator

from tui_tuner.session.events import Event
from tui_tuner.session.instructions import Instruction
from tui_tuner.strategies.steps import Approver


class EventStream(ABC):
    """What every kind of session has in common with the front ends.

    Attributes:
        title: a few words for the terminal's title.
    """

    title: str

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()

    async def events(self, approver: Approver) -> AsyncGenerator[Event, None]:
        """Run while iterated; closing the iterator interrupts the session and leaves it resumable.

        Raises:
            UserError: something that the user must mend; what was found stays in the journal.
        """
        task = asyncio.create_task(self._drive(approver))
        task.add_done_callback(lambda _: self._queue.put_nowait(None))
        try:
            while (event := await self._queue.get()) is not None:
                yield event
            await task
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task
            await self._close()

    @abstractmethod
    def tell(self, instruction: Instruction) -> bool:
        """Take what the user says at any time; False if the session is a replay, which nobody can change."""

    @property
    @abstractmethod
    def _elapsed(self) -> float:
        """Seconds since the session began."""

    def _emit(self, event: Event) -> None:
        self._queue.put_nowait(event.model_copy(update={"elapsed": round(self._elapsed, 3)}))

    @abstractmethod
    async def _drive(self, approver: Approver) -> None:
        """Run the session to its end."""

    @abstractmethod
    async def _close(self) -> None:
        """Give back what the session holds."""
