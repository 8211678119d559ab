"""What a journal's lines are, and the one way in which they are read.

One JSON object a line. The first line is the header; every other line holds an effect's kind, key,
result and the seconds since the session began.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_tuner.errors import JournalError

VERSION = 1
FILE = "journal.jsonl"
RUNS = Path("tuner-runs")
"""Where runs go, in the current directory, unless the user names another place."""
_WAY_OUT = "`tuner-tui runs` lists the runs"
_UNDONE = frozenset({"failed", "stopped"})


def key_of(kind: str, content: Mapping[str, Any]) -> str:
    """Name of an effect by all that determines its result."""
    text = json.dumps([kind, content], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True)
class Record:
    """One effect with its result.

    Attributes:
        elapsed: seconds since the session began.
        content: the question, where people want to read it beside the result.
        line: of the journal, counted from 1; 0 for a record that was not read from a file.
    """

    kind: str
    key: str
    elapsed: float
    result: dict[str, Any]
    content: dict[str, Any] | None = None
    line: int = field(default=0, compare=False)

    @property
    def is_done(self) -> bool:
        """Whether the effect has a result; else there was no budget for it, or no model."""
        return self.kind != "stopped" and _UNDONE.isdisjoint(self.result)

    def fields(self) -> dict[str, Any]:
        """What its line says."""
        said = {"kind": self.kind, "key": self.key, "elapsed": self.elapsed, "result": self.result}
        return said if self.content is None else {**said, "content": self.content}


@dataclass(frozen=True)
class JournalContent:
    """All that a journal says.

    Attributes:
        length: bytes of the sound part; behind it is at most a line that a crash cut.
        torn: what stands behind the sound part.
    """

    header: dict[str, Any]
    records: list[Record]
    length: int
    torn: bytes = b""

    @property
    def last_elapsed(self) -> float:
        """Seconds of the last record; 0 where there is none."""
        return max((record.elapsed for record in self.records), default=0.0)


def read_journal(path: Path) -> JournalContent:
    """Header and records of a journal, in their order; a last line that was cut is left out.

    Raises:
        JournalError: there is none, it is no journal, or a line of it is damaged; file and line are named.
    """
    with file_faults(path):
        content = path.read_bytes()
    return parse_journal(content, path)


def parse_journal(content: bytes, path: Path) -> JournalContent:
    """The same from what the file at `path` holds."""
    lines = content.splitlines(keepends=True)
    objects: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        parsed = _object(line)
        if parsed is None:
            if not objects:
                raise _no_journal(path)
            if number < len(lines):
                raise JournalError("is damaged here", hint="restore the file from a copy", file=path, line=number)
            break
        objects.append(parsed)
    header = _checked(objects[0] if objects else {}, path)
    records = [_record(parsed, path, number) for number, parsed in enumerate(objects[1:], start=2)]
    length = sum(map(len, lines[: len(objects)]))
    return JournalContent(header, records, length, content[length:])


def journal_of(path: Path) -> Path:
    """The journal of a run, named by its directory or itself."""
    return path / FILE if path.is_dir() else path


def header_of(path: Path) -> dict[str, Any]:
    """The header of a run's journal, without what came after it.

    Raises:
        JournalError: there is none, or it is no journal.
    """
    file = journal_of(path)
    with file_faults(file), file.open("rb") as stream:
        header = _object(stream.readline())
    if header is None:
        raise _no_journal(file)
    return _checked(header, file)


@contextmanager
def file_faults(path: Path) -> Iterator[None]:
    """What goes wrong while a journal is opened and read, in words."""
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
        record = Record(**content, line=line)
        sound = isinstance(record.result, dict) and isinstance(record.elapsed, int | float)
    except TypeError:
        sound = False
    if not sound:
        raise JournalError("is no record of an effect", file=path, line=line)
    return record
