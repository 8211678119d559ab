"""Keys that arrive at once: each acts when what the key before it did is done.

Textual hands keys on as they come: of those that a slow line brings together, or somebody types fast, the first may
open a line to type into, and what was meant for that line would still reach the pane: `/status` would skip a step.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from textual.app import App, ReturnType
from textual.events import Event, Key, Paste
from textual.message_pump import MessagePump

_MOST_S = 1.0
"""So long a widget is waited for at most: one that goes meanwhile never answers."""


class InTurn(App[ReturnType]):
    """An app that hands a key on once the one before it has come all the way, and what that opened has the focus."""

    def __init__(self) -> None:
        super().__init__()
        self._typed: deque[Key | Paste] = deque()
        self._follower: asyncio.Task[None] | None = None

    async def on_event(self, event: Event) -> None:
        """Textual's own; keys and what is pasted wait for their turn."""
        if not isinstance(event, Key | Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        self._typed.append(event)
        if len(self._typed) == 1:
            await self._hand_on()

    async def _hand_on(self) -> None:
        event, way = self._typed[0], (self.focused or self.screen).ancestors_with_self
        await super().on_event(event)
        self._follower = asyncio.create_task(self._follow(way), name="keys")

    async def _follow(self, way: Sequence[MessagePump]) -> None:
        """Wait until a key has gone its way and done what it does, then hand on the next."""
        try:
            for place in way:  # it is handed from each to the next, the app being the last, which acts
                await _heard(place)
            await _heard(self)  # which is when a widget has the focus that was to have it
            await asyncio.sleep(0)  # a worker has begun, and pushed the dialog that it asks with
            await _heard(self.screen)
            await _heard(self)
        finally:
            self._typed.popleft()
            if self._typed:
                self.call_later(self._hand_on)


async def _heard(place: MessagePump) -> None:
    """Until a widget has done all that it was told so far."""
    done = asyncio.Event()
    if place.call_later(done.set):
        with suppress(TimeoutError):
            async with asyncio.timeout(_MOST_S):
                await done.wait()
