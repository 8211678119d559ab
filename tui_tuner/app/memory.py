"""`tuner-tui memory`: what is remembered of earlier sessions, and forgetting it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.errors import SettingsError
from tui_tuner.format import configuration_words, counted_in_lines, factor_in_prompts
from tui_tuner.memory.database import Database
from tui_tuner.memory.replies import KeptReplies
from tui_tuner.memory.sessions import RememberedSessions, StoredEntry

_HEAD = ("id", "date", "kernel", "device", "speed-up", "best configuration")


@dataclass(frozen=True)
class Forgetting:
    """What is to be forgotten.

    Attributes:
        ids: sessions by their numbers.
        kernel: the sessions of kernels of this name.
        everything: all sessions and all cached replies.
        replies: all cached replies.
    """

    ids: Sequence[int] = ()
    kernel: str | None = None
    everything: bool = False
    replies: bool = False

    def check(self) -> None:
        """Whether it names something.

        Raises:
            SettingsError: it does not.
        """
        if not (self.ids or self.kernel or self.everything or self.replies):
            hint = "name ids of `tuner-tui memory list`, --kernel NAME, --replies or --all"
            raise SettingsError("nothing is named that is to be forgotten", hint=hint)


def session_lines(file: Path) -> Iterator[str]:
    """A table of the sessions that are remembered, the newest first; nothing where there are none.

    Raises:
        MemoryUnusable: the file cannot be read.
    """
    rows = [_row(remembered) for remembered in RememberedSessions(Database(file)).all()]
    if rows:
        widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
        for row in (_HEAD, *rows):
            yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def reply_line(file: Path) -> str:
    """How many replies are cached, and their size.

    Raises:
        MemoryUnusable: the file cannot be read.
    """
    count, size = KeptReplies(Database(file)).count()
    return f"{counted_in_lines(count, 'cached reply', 'cached replies')}, {size / 1024:.0f} KiB, in {file}"


def forget(file: Path, what: Forgetting) -> str:
    """Forget, and say what was forgotten.

    Raises:
        SettingsError: nothing is named.
        MemoryUnusable: a session that is named is not there, or the file cannot be written.
    """
    what.check()
    told = []
    if what.ids or what.kernel or what.everything:
        sessions = RememberedSessions(Database(file))
        count = sessions.forget(what.ids, kernel=what.kernel, everything=what.everything)
        told.append(counted_in_lines(count, "session"))
    if what.replies or what.everything:
        told.append(counted_in_lines(KeptReplies(Database(file)).forget(), "cached reply", "cached replies"))
    return f"forgot {' and '.join(told)}"


def _row(remembered: StoredEntry) -> tuple[str, ...]:
    entry = remembered.entry
    if entry is None:
        return (str(remembered.id), "?", "?", "?", "?", "cannot be read: forget it")
    unit = " (CPU)" if entry.is_cpu else ""
    best, factor = configuration_words(entry.best.configuration, between=" "), factor_in_prompts(entry.speedup)
    return (str(remembered.id), entry.created[:10], entry.features.kernel, f"{entry.device}{unit}", factor, best)
