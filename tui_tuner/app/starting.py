"""A session that is put together once the screen is there, and a draft that is looked through before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from tui_tuner.subjects import KERNEL, Subject

if TYPE_CHECKING:
    from tui_tuner.problem.load import Written
    from tui_tuner.session.events import Event
    from tui_tuner.session.plan import Instruction
    from tui_tuner.session.stream import EventStream, KeptRun
    from tui_tuner.strategies.steps import Approver

_ENGINE = "tui_tuner.app.sessions"
"""What takes a second to load; on the screen it does so behind the empty panes."""


@dataclass(frozen=True)
class SessionSetup:
    """A session that is ready to run, and what the user should know before.

    Attributes:
        is_new: whether the run begins with it.
    """

    session: EventStream
    run: KeptRun
    notes: list[str]
    is_new: bool = False

    def forget_if_empty(self) -> None:
        """A new run that failed before its first result is none: nothing of it is left behind."""
        if self.is_new and not self.run.journal.records:
            self.run.journal.discard()


Begin = Callable[[], Awaitable[SessionSetup]]
"""Puts the session together; called once, in the loop in which the session then runs."""


class DraftDesk:
    """Where a draft is put to the user before the run begins.

    Attributes:
        put: shows it, and gives it as the user takes it over; None where nobody looks.
        tell: tells in a line what takes long until then.
    """

    put: Callable[[Written], Awaitable[Written]] | None = None
    tell: Callable[[str], None] | None = None

    async def taken_over(self, written: Written) -> Written:
        """The draft as the user lets it be; what they wrote themselves is not put to them."""
        return written if self.put is None or not written.is_drafted else await self.put(written)


class StartingSession:
    """A session for the screen that is put together once the screen is there.

    Args:
        about: what it will be about, as far as that is known.

    Attributes:
        title: a few words for the terminal's title.
        setup: the session; None until it is put together.
    """

    seen_as: ClassVar[tuple[str, ...]] = ()

    def __init__(self, begin: Begin, title: str, about: Subject = KERNEL) -> None:
        self.title = title
        self._about = about
        self.setup: SessionSetup | None = None
        self._begin = begin
        self._told: list[Instruction] = []

    @property
    def subject(self) -> Subject:
        """What the session is about."""
        return self._about if self.setup is None else self.setup.session.subject

    @property
    def keeps_device(self) -> bool:
        """Whether the session is over and its device stays taken for comparisons."""
        return self.setup is not None and self.setup.session.keeps_device

    async def events(self, approver: Approver) -> AsyncGenerator[Event, None]:
        """Put the session together, then run it while iterated.

        Raises:
            UserError: something that the user must mend.
        """
        await asyncio.to_thread(import_module, _ENGINE)
        self.setup = await self._begin()
        self.setup.session.stays = True
        for instruction in self._told:
            self.setup.session.tell(instruction)
        async with aclosing(self.setup.session.events(approver)) as stream:
            yield await anext(stream)
            for note in self._notes():
                yield note
            async for event in stream:
                yield event

    def _notes(self) -> Iterator[Event]:
        """What the user should know, for the screen; the details of a draft, which are indented, were put to them."""
        from tui_tuner.session.events import Note

        for note in [] if self.setup is None else self.setup.notes:
            if not note.startswith(" "):
                yield Note(level="warning", text=note)

    def interrupt(self, reason: str) -> None:
        """End the session where it is, if it is put together."""
        if self.setup is not None:
            self.setup.session.interrupt(reason)

    def tell(self, instruction: Instruction) -> bool:
        """Take what the user says, at first to pass it on later; False if the session cannot be changed."""
        if self.setup is None:
            self._told.append(instruction)
            return True
        return self.setup.session.tell(instruction)
