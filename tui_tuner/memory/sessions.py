"""The sessions that are remembered, in one SQLite file that is safe for sessions that run at once.

Every use opens the file, does one transaction and closes it again, so that no session holds it while it tunes.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tui_tuner.errors import UserError
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
            times: only of these, see `tui_tuner.memory.entry.times_of`; None for all.

        Raises:
            MemoryUnusable: the file cannot be read.
        """
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT id, substr(content, 1, :largest) FROM sessions WHERE :times IS NULL OR times = :times"
                " ORDER BY id DESC LIMIT :most",
                {"largest": _LARGEST, "times": times, "most": _MOST},
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


VERSION = 1
WAIT_S = 5.0
"""How long to wait for another process that writes."""
_NOWHERE = ":memory:"
_SCHEMA = (
    "CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL UNIQUE, kernel TEXT NOT NULL,"
    " times TEXT NOT NULL, content TEXT NOT NULL)",
    "CREATE TABLE replies (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, tunables TEXT, content TEXT NOT NULL)",
    "CREATE INDEX replies_by_tunables ON replies (tunables)",
)


class MemoryUnusable(UserError):
    """The memory's file cannot be read or written; a session goes on without it."""


class Database:
    """The file of the memory; it comes into being with the first thing that is written.

    Args:
        wait_s: how long to wait for another process that writes, seconds.
    """

    def __init__(self, file: Path, wait_s: float = WAIT_S) -> None:
        self.file = file
        self._wait_s = wait_s

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with; to empty tables where there is no file.

        Raises:
            MemoryUnusable: the file is broken, locked, of a newer version, or another program's.
        """
        with self._translated(), self._open(self.file if self.file.exists() else _NOWHERE) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction; what is deleted in it is overwritten on the disk.

        Raises:
            MemoryUnusable: as `reading`, or it cannot be written.
        """
        with self._translated():
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.file, os.O_RDWR | os.O_CREAT, 0o600))  # before SQLite makes it readable for all
            with self._open(self.file) as connection:
                connection.execute("PRAGMA secure_delete = ON")
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    yield connection
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise MemoryUnusable(
                f"the memory cannot be used: {reason}",
                hint="wait for what holds it, or move the file away: a new one is begun then",
                file=self.file,
            ) from error

    @contextmanager
    def _open(self, place: Path | str) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(place, timeout=self._wait_s, isolation_level=None)) as connection:
            version = _version(connection)
            if version > VERSION:
                message = f"the memory is of version {version}, and this program knows version {VERSION}"
                hint = "update tuner-tui, or name another file under [memory] in the settings"
                raise MemoryUnusable(message, hint=hint, file=self.file)
            if version == 0:
                self._create(connection)
            yield connection

    def _create(self, connection: sqlite3.Connection) -> None:
        self._refuse_other_tables(connection)
        with suppress(sqlite3.OperationalError):  # another process is just about it, or the file system has no way
            connection.execute("PRAGMA journal_mode = WAL")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if _version(connection) == 0:
                for statement in _SCHEMA:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {VERSION}")

    def _refuse_other_tables(self, connection: sqlite3.Connection) -> None:
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and _version(connection) == 0:  # else another process began the file just now
            hint = "name another file under [memory] in the settings"
            raise MemoryUnusable("this is another program's database", hint=hint, file=self.file)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
