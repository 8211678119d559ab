"""The seam between the screen and whatever it shows."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from tui_tuner.session.events import Event
from tui_tuner.session.instructions import Instruction
from tui_tuner.strategies.steps import Approver
from tui_tuner.subjects import Subject


class EventSource(Protocol):
    """A live session, a resumed one, or the replay of a finished one.

    Attributes:
        title: a few words for the terminal's title.
    """

    title: str

    @property
    def subject(self) -> Subject:
        """What it is about."""
        ...

    def events(self, approver: Approver) -> AsyncGenerator[Event, None]:
        """Run the session while it is iterated.

        Closing the iterator, or cancelling the task that iterates, interrupts the session and
        leaves it resumable.
        """
        ...

    def tell(self, instruction: Instruction) -> bool:
        """Take what the user says at any time; False if nobody can change the run, as in a replay."""
        ...
