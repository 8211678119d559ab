"""The append-only record of a session's effects: what is in it is never asked, built or measured again.

A line is flushed to the disk before its result is used. Who goes on with a run holds a lock on its journal.

Effects go through `recall.Recall`: it answers from the journal where it can, and else has them done and recorded.
"""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tui_tuner.errors import JournalError
from tui_tuner.journal.reading import (
    RESULT,
    VERSION,
    JournalContent,
    Record,
    file_faults,
    parse_journal,
    read_journal,
    sealed,
    sound_part,
)
from tui_tuner.text import is_utf8

_RESULTS = (RESULT, "best.*")
_BESIDE = frozenset({"builds", "kernels", "live", "runner.log"})
"""What a run puts beside its journal before anything came of it."""


class Journal:
    """Effects by key; opened for appending, or read-only for a replay."""

    def __init__(self, path: Path, content: JournalContent, file: io.FileIO | None, made: Sequence[Path] = ()) -> None:
        self.path = path
        self.header = content.header
        self.last_elapsed = content.last_elapsed
        self._records = {record.key: record for record in content.records}
        self._digest = content.digest
        self._file = file
        self._made = made
        self._before = frozenset(one.name for one in path.parent.iterdir()) if file is not None else frozenset()

    @classmethod
    def create(cls, path: Path, header: Mapping[str, Any]) -> Journal:
        """Begin a journal.

        Raises:
            JournalError: the file exists or cannot be written, its path is not UTF-8, or beside it lies what a run
                would write over.
        """
        content = {"journal": VERSION, **header}
        made: list[Path] = []
        if not is_utf8(str(place := path.parent.absolute())):
            raise JournalError("the path is not UTF-8 text", hint="name another --run-dir", file=place)
        try:
            made += [directory for directory in path.parents if not directory.exists()]
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("xb", buffering=0)
        except OSError as error:
            _remove(made)
            raise _no_place(path, error) from error
        if theirs := sorted(one.name for pattern in _RESULTS for one in path.parent.glob(pattern)):
            file.close()
            path.unlink()
            hint = "name another --run-dir: one that is new, or without results"
            raise JournalError(f"holds {theirs[0]}, which a run would write over", hint=hint, file=path.parent)
        _lock(file, path)
        journal = cls(path, JournalContent(content, [], 0, ""), file, made)
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
                if file.tell() != content.length:  # else the file would be younger, and the run the last at work
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
            what = f"lacks {error}" if isinstance(error, KeyError) else f"cannot be used: {error}"
            hint = "restore the file from a copy"
            raise JournalError(f"its header {what}", hint=hint, file=self.path, line=1) from error
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
        self.forget(lambda record: record.is_undone)

    def forget(self, which: Callable[[Record], bool]) -> None:
        """Leave out some effects, so that they are done again; the file keeps them."""
        self._records = {key: record for key, record in self._records.items() if not which(record)}

    def close(self) -> None:
        """Give the journal back."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def discard(self) -> None:
        """Remove a journal that nothing came of, with the directories that were made for it and all in them.

        Of a directory that was there before, what a run puts there and was not there.
        """
        self.close()
        self.path.unlink(missing_ok=True)
        for name in _BESIDE - self._before:
            shutil.rmtree(self.path.parent / name, ignore_errors=True)
            with suppress(OSError):
                (self.path.parent / name).unlink()
        _remove(self._made)

    def _write(self, content: Mapping[str, Any]) -> None:
        if self._file is None:
            raise JournalError("is open for reading only", file=self.path)
        line, self._digest = sealed(_line(content), self._digest)
        left = memoryview(line)
        try:
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self.close()  # nothing may be written behind a line that is not whole
            run = shlex.quote(str(self.path.parent))
            hint = f"make room or mend what is wrong there, then go on with: tuner-tui resume {run}"
            raise JournalError(f"cannot be written: {error.strerror}", hint=hint, file=self.path) from error


def set_rest_aside(path: Path) -> Path | None:
    """Cut a journal before its first damaged line; the rest goes into a file beside it, or None if none is damaged.

    Raises:
        JournalError: there is none, its header is damaged, another process goes on with it, or there is no room.
    """
    with file_faults(path):
        file = path.open("r+b", buffering=0)
    _lock(file, path)
    with file, file_faults(path):
        content = file.readall()
        read, fault = sound_part(content, path)
        if fault is None:
            return None
        aside = _write_aside(path, content[read.length :])
        file.truncate(read.length)  # once the rest is on the disk
        os.fsync(file.fileno())
    return aside


def _write_aside(path: Path, rest: bytes) -> Path:
    """Write what is taken out of a journal into a new file beside it, on the disk when this returns."""
    names = (path.with_name(f"{path.stem}.set-aside-{n}{path.suffix}") for n in range(1, 1000))
    aside = next(name for name in names if not name.exists())
    try:
        with aside.open("xb") as file:
            file.write(rest)
            file.flush()
            os.fsync(file.fileno())
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise JournalError(f"cannot be written: {error.strerror}", file=aside) from error
    return aside


@contextmanager
def _write_faults(path: Path) -> Iterator[None]:
    """Says that a journal cannot be gone on with where it is."""
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
        watch = f"`tuner-tui attach {path.parent}` watches it and answers its questions; else wait for it, or end it"
        raise JournalError("another process is at work on this run", hint=watch, file=path) from error
