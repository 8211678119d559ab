"""The sessions that are remembered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from tui_tuner.memory.database import Database, MemoryUnusable
from tui_tuner.memory.entry import MemoryEntry

_LARGEST = 2**17  # characters of an entry
_MOST = 2000  # sessions looked through, the newest first


@dataclass(frozen=True)
class StoredEntry:
    """An entry with the number by which it can be forgotten; None for one that cannot be read."""

    id: int
    entry: MemoryEntry | None


class RememberedSessions:
    """Entries in the memory's file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, run: str, entry: MemoryEntry) -> None:
        """Keep what a run found, instead of what was kept of the same run before.

        Args:
            run: the name of the run.

        Raises:
            MemoryUnusable: the file cannot be written.
        """
        row = (run, entry.features.kernel, entry.times, entry.model_dump_json())
        with self._database.writing() as connection:
            connection.execute(
                "INSERT INTO sessions (run, kernel, times, content) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (run) DO UPDATE SET kernel = excluded.kernel, times = excluded.times,"
                " content = excluded.content",
                row,
            )

    def all(self, times: str | None = None) -> list[StoredEntry]:
        """What is remembered, the newest first.

        Args:
            times: only of these, see `tui_tuner.memory.similarity.times_of`; None for all.

        Raises:
            MemoryUnusable: the file cannot be read.
        """
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT id, substr(content, 1, ?) FROM sessions WHERE ?2 IS NULL OR times = ?2"
                " ORDER BY id DESC LIMIT ?",
                (_LARGEST, times, _MOST),
            ).fetchall()
        return [StoredEntry(id_, _read(content)) for id_, content in rows]

    def forget(self, ids: Sequence[int] = (), *, kernel: str | None = None, everything: bool = False) -> int:
        """Forget some sessions, all of those named or none; returns how many they were.

        Args:
            kernel: also those of kernels of this name.

        Raises:
            MemoryUnusable: one of them is not there, or the file cannot be written.
        """
        if not self._database.file.exists():
            self._refuse(ids)
            return 0
        with self._database.writing() as connection:
            known = dict(connection.execute("SELECT id, kernel FROM sessions"))
            self._refuse([id_ for id_ in ids if id_ not in known])
            gone = [id_ for id_, name in known.items() if everything or id_ in ids or name == kernel]
            connection.executemany("DELETE FROM sessions WHERE id = ?", [(id_,) for id_ in gone])
        return len(gone)

    def _refuse(self, unknown: Sequence[int]) -> None:
        if unknown:
            numbers = ", ".join(map(str, unknown))
            hint = "nothing was forgotten; `tuner-tui memory list` shows the numbers"
            raise MemoryUnusable(f"nothing is remembered under {numbers}", hint=hint)


def _read(content: Any) -> MemoryEntry | None:  # noqa: ANN401  # a column of SQLite holds whatever was put there
    try:
        return MemoryEntry.model_validate_json(content)
    except (ValidationError, TypeError):
        return None


def readable(remembered: Sequence[StoredEntry]) -> Iterator[MemoryEntry]:
    """The entries that can be read."""
    yield from (found.entry for found in remembered if found.entry is not None)
