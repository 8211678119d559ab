"""The file of the memory: SQLite, safe for sessions that run at once, its schema numbered.

Every use opens the file, does one transaction and closes it again, so that no session holds it while it tunes.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from tui_tuner.errors import UserError

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
        """One transaction; what is deleted in it is overwritten on the disk.

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
