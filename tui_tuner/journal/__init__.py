"""The append-only record of a session's effects: what is in it is never asked, built or measured again.

A line is flushed to the disk before its result is used. Who goes on with a run holds a lock on its journal.

Effects go through `Recall`: it answers from the journal where it can, and else has them done and recorded.
"""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tui_tuner.errors import JournalError
from tui_tuner.journal.reading import VERSION, JournalContent, Record, file_faults, key_of, parse_journal, read_journal

READABLE = ("ask", "approve")
"""Effects whose question stands in the journal beside its hash."""


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
        self._shown = 0.0

    def show(self, elapsed: float) -> None:
        """Show the time of a record."""
        self._shown = max(self._shown, elapsed)

    def go_on(self) -> None:
        """Start to run, at the first effect that is not known."""
        if self._started is None:
            self._started = self._now()

    @property
    def runs(self) -> bool:
        """Whether it runs on from the last record."""
        return self._started is not None

    @property
    def elapsed(self) -> float:
        """Seconds since the session began."""
        if self._started is None:
            return self._shown
        return self._base + self._now() - self._started


class Recall:
    """The journal and the clock of a session, as its effects use them."""

    def __init__(self, journal: Journal, clock: SessionClock) -> None:
        self._journal = journal
        self._clock = clock
        self._asked: Counter[str] = Counter()

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

    def nth(self, kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """The content with a count of how often it was asked before: the same question may be put twice."""
        plain = key_of(kind, content)
        self._asked[plain] += 1
        return {**content, "occurrence": self._asked[plain]}

    def known(self, kind: str, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """The recorded result, if there is one."""
        record = self._journal.get(key_of(kind, content))
        if record is None:
            return None
        self._clock.show(record.elapsed)
        return record.result

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
        self.must_be_live()
        result = await do()
        self.record(kind, content, result)
        return result

    def record(self, kind: str, content: Mapping[str, Any], result: dict[str, Any]) -> None:
        """Record a result."""
        shown = dict(content) if kind in READABLE else None
        self._journal.append(Record(kind, key_of(kind, content), round(self._clock.elapsed, 3), result, shown))

    def must_be_live(self) -> None:
        """From here on something new happens.

        Raises:
            RecordEnds: this is a replay.
        """
        if not self._journal.writable:
            raise RecordEnds
        self._clock.go_on()


class Journal:
    """Effects by key; opened for appending, or read-only for a replay."""

    def __init__(self, path: Path, content: JournalContent, file: io.FileIO | None, made: Sequence[Path] = ()) -> None:
        self.path = path
        self.header = content.header
        self.last_elapsed = content.last_elapsed
        self._records = {record.key: record for record in content.records}
        self._file = file
        self._made = made

    @classmethod
    def create(cls, path: Path, header: Mapping[str, Any]) -> Journal:
        """Begin a journal.

        Raises:
            JournalError: the file exists or cannot be written.
        """
        content = {"journal": VERSION, **header}
        made = [directory for directory in path.parents if not directory.exists()]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("xb", buffering=0)
        except OSError as error:
            _remove(made)
            raise _no_place(path, error) from error
        _lock(file, path)
        journal = cls(path, JournalContent(content, [], 0), file, made)
        try:
            journal._write(content)
        except JournalError as error:
            journal.discard()
            raise JournalError(error.message, hint="make room, or name another --run-dir", file=path) from error
        return journal

    @classmethod
    def read(cls, path: Path) -> Journal:
        """Read a journal without taking it.

        Raises:
            JournalError: there is none, or it is no journal.
        """
        return cls(path, read_journal(path), None)

    @classmethod
    def reopen(cls, path: Path) -> Journal:
        """Take a journal to go on with; a last line that was cut by a crash is dropped.

        Raises:
            JournalError: there is none, it is no journal, or another process goes on with it.
        """
        with file_faults(path), _write_faults(path):
            file = path.open("r+b", buffering=0)
        _lock(file, path)
        try:
            with file_faults(path):  # read behind the lock: who held it may have gone on until then
                content = parse_journal(file.readall(), path)
                file.truncate(content.length)
                file.seek(content.length)
        except JournalError:
            file.close()
            raise
        return cls(path, content, file)

    @contextmanager
    def header_in_use(self) -> Iterator[dict[str, Any]]:
        """The header, while a session is made from it; where none can be made, the journal is given back.

        Raises:
            JournalError: the header lacks something, or says what this version of the program does not know.
        """
        try:
            yield self.header
        except (KeyError, ValueError) as error:
            self.close()
            raise JournalError(f"its header cannot be used: {error}", file=self.path, line=1) from error
        except BaseException:
            self.close()
            raise

    @property
    def records(self) -> list[Record]:
        """What is known, the last record of each effect, in the order in which the effects were first recorded."""
        return list(self._records.values())

    def get(self, key: str) -> Record | None:
        """The record of an effect, if it is known."""
        return self._records.get(key)

    @property
    def writable(self) -> bool:
        """Whether new effects can be recorded."""
        return self._file is not None

    def append(self, record: Record) -> None:
        """Record an effect; returns once it is on the disk.

        Raises:
            JournalError: it cannot be written; the run can be resumed from what is on the disk.
        """
        self._write(record.fields())
        self._records[record.key] = record

    def forget_undone(self) -> None:
        """Leave out what was not done for want of budget or of a model, so that it is tried again.

        The file keeps it.
        """
        self.forget(lambda record: not record.is_done)

    def forget(self, which: Callable[[Record], bool]) -> None:
        """Leave out some effects, so that they are done again; the file keeps them."""
        self._records = {key: record for key, record in self._records.items() if not which(record)}

    def close(self) -> None:
        """Give the journal back."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def discard(self) -> None:
        """Remove a journal that nothing came of, with the directories that were made for it and all in them."""
        self.close()
        self.path.unlink(missing_ok=True)
        _remove(self._made)

    def _write(self, content: Mapping[str, Any]) -> None:
        if self._file is None:
            raise JournalError("is open for reading only", file=self.path)
        left = memoryview(_line(content))
        try:
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self.close()  # nothing may be written behind a line that is not whole
            hint = "make room or mend what is wrong there, then resume the run"
            raise JournalError(f"cannot be written: {error.strerror}", hint=hint, file=self.path) from error


@contextmanager
def _write_faults(path: Path) -> Iterator[None]:
    """That a journal cannot be gone on with where it is, in words."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        hint = "copy its directory to where you may write and resume it there; `tuner-tui replay` shows it as it is"
        raise JournalError(f"cannot be written: {error.strerror}", hint=hint, file=path) from error


def _no_place(path: Path, error: OSError) -> JournalError:
    """Why a run cannot be begun at a place."""
    if isinstance(error, FileExistsError | NotADirectoryError):
        file = next((place for place in path.parents if place.exists()), path)
        if not file.is_dir():
            return JournalError("is a file: a run needs a directory", hint="name another --run-dir", file=file)
        return JournalError("a run is there already", hint="resume it, or name another --run-dir", file=path)
    return JournalError(f"cannot be written: {error.strerror}", hint="name another --run-dir", file=path)


def _remove(made: Sequence[Path]) -> None:
    """Remove directories that were made, the innermost with all in it, the others where they are empty."""
    for directory in made[:1]:
        shutil.rmtree(directory, ignore_errors=True)
    with suppress(OSError):
        for directory in made[1:]:
            directory.rmdir()


def _line(content: Mapping[str, Any]) -> bytes:
    """A line of the file, which is valid UTF-8 also where a text holds half of a character pair."""
    try:
        text = json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        text = json.dumps(content).encode()
    return text + b"\n"


def _lock(file: io.FileIO, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise JournalError(
            "another process is at work on this run", hint="wait for it, or end it", file=path
        ) from error
