"""The append-only record of a session's effects: what is in it is never asked, built or measured again.

One JSON object a line. The first line is the header; every other line holds an effect's kind, key,
result and the seconds since the session began. A line is flushed to the disk before its result is used.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from tui_tuner.errors import JournalError

VERSION = 1
FILE = "journal.jsonl"
_WAY_OUT = "`tuner-tui runs` lists the runs"


def key_of(kind: str, content: Mapping[str, Any]) -> str:
    """Name of an effect by all that determines its result."""
    text = json.dumps([kind, content], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Record:
    """One effect with its result.

    Attributes:
        elapsed: seconds since the session began.
        content: the question, where people want to read it beside the result.
    """

    kind: str
    key: str
    elapsed: float
    result: dict[str, Any]
    content: dict[str, Any] | None = None


def stopped_or_failed(record: Record) -> bool:
    """Whether an effect was not done for want of budget or of a model, so that a resume tries it again."""
    return record.kind == "stopped" or not record.result.keys().isdisjoint({"failed", "stopped"})


class Journal:
    """Effects by key; opened for appending, or read-only for a replay."""

    def __init__(self, path: Path, header: dict[str, Any], records: list[Record], file: IO[bytes] | None) -> None:
        self.path = path
        self.header = header
        self._records = {record.key: record for record in records}
        self._file = file
        self.last_elapsed = max((record.elapsed for record in records), default=0.0)

    @classmethod
    def create(cls, path: Path, header: Mapping[str, Any]) -> Journal:
        """Begin a journal.

        Raises:
            JournalError: the file exists or cannot be written.
        """
        content = {"journal": VERSION, **header}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("xb")
        except FileExistsError as error:
            raise JournalError(
                "a run is there already", hint="resume it, or name another --run-dir", file=path
            ) from error
        except OSError as error:
            raise JournalError(f"cannot be written: {error.strerror}", file=path) from error
        _lock(file, path)
        journal = cls(path, content, [], file)
        journal._write(content)
        return journal

    @classmethod
    def read(cls, path: Path) -> Journal:
        """Read a journal without taking it.

        Raises:
            JournalError: there is none, or it is no journal.
        """
        header, records, _ = _parse(path)
        return cls(path, header, records, None)

    @classmethod
    def reopen(cls, path: Path) -> Journal:
        """Take a journal to go on with; a last line that was cut by a crash is dropped.

        Raises:
            JournalError: there is none, it is no journal, or another process goes on with it.
        """
        header, records, length = _parse(path)
        file = path.open("r+b")
        _lock(file, path)
        file.truncate(length)
        file.seek(length)
        return cls(path, header, records, file)

    def get(self, key: str) -> Record | None:
        """The record of an effect, if it is known."""
        return self._records.get(key)

    @property
    def writable(self) -> bool:
        """Whether new effects can be recorded."""
        return self._file is not None

    def append(self, record: Record) -> None:
        """Record an effect; returns once it is on the disk."""
        self._write({name: value for name, value in asdict(record).items() if value is not None})
        self._records[record.key] = record

    def forget(self, which: Callable[[Record], bool]) -> None:
        """Leave out some effects from now on, so that they are done again; the file keeps them."""
        self._records = {key: record for key, record in self._records.items() if not which(record)}

    def close(self) -> None:
        """Give the journal back."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, content: Mapping[str, Any]) -> None:
        if self._file is None:
            raise JournalError("is open for reading only", file=self.path)
        self._file.write(json.dumps(content, ensure_ascii=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def journal_of(path: Path) -> Path:
    """The journal of a run, named by its directory or itself."""
    return path / FILE if path.is_dir() else path


def header_of(path: Path) -> dict[str, Any]:
    """The header of a run's journal, without what came after it.

    Raises:
        JournalError: there is none, or it is no journal.
    """
    file = journal_of(path)
    with _told(file), file.open("rb") as stream:
        content = _object(stream.readline())
    if content is None:
        raise _no_journal(file)
    return _checked(content, file)


def _lock(file: IO[bytes], path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise JournalError(
            "another process is at work on this run", hint="wait for it, or end it", file=path
        ) from error


def _parse(path: Path) -> tuple[dict[str, Any], list[Record], int]:
    """Header, records and the length of the sound part, bytes."""
    with _told(path):
        lines = path.read_bytes().splitlines(keepends=True)
    contents: list[dict[str, Any]] = []
    length = 0
    for number, line in enumerate(lines, start=1):
        content = _object(line)
        if content is None:
            if number == len(lines) and contents:
                break
            if not contents:
                raise _no_journal(path)
            raise JournalError("is damaged here", hint="restore the file from a copy", file=path, line=number)
        contents.append(content)
        length += len(line)
    header = _checked(contents[0] if contents else {}, path)
    return header, [_record(content, path, i) for i, content in enumerate(contents[1:], start=2)], length


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What goes wrong while a journal is read, in words."""
    try:
        yield
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        message = "no run is there" if missing else f"cannot be read: {error.strerror}"
        raise JournalError(message, hint=_WAY_OUT, file=path) from error


def _no_journal(path: Path) -> JournalError:
    return JournalError("is no journal", hint=_WAY_OUT, file=path, line=1)


def _checked(header: dict[str, Any], path: Path) -> dict[str, Any]:
    if header.get("journal") != VERSION:
        raise JournalError(f"is no journal of version {VERSION}", file=path, line=1)
    return header


def _object(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        content = json.loads(line)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _record(content: dict[str, Any], path: Path, line: int) -> Record:
    try:
        return Record(**content)
    except TypeError as error:
        raise JournalError("is no record of an effect", file=path, line=line) from error
