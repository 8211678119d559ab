"""A session that is ready to run."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from tui_tuner.errors import JournalError
from tui_tuner.journal.journal import Journal
from tui_tuner.session.stream import EventStream, KeptRun


@dataclass(frozen=True)
class Ready:
    """A session that is ready to run, and what the user should know before.

    Attributes:
        is_new: whether the run begins with it.
    """

    session: EventStream
    run: KeptRun
    notes: list[str]
    is_new: bool = False

    def forget_if_empty(self) -> None:
        """A new run that failed before its first result is none: its place is free for the next try."""
        journal = self.run.journal.path
        with suppress(JournalError):
            if self.is_new and Journal.read(journal).last_elapsed == 0:
                journal.unlink()
