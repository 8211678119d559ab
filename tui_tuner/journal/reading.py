"""What a journal's lines are, and the one way in which they are read.

One JSON object a line. The first line is the header; every other line holds an effect's kind, key,
result and the seconds since the session began. A line ends with a digest over the digest before it and itself, so
that none can be altered, moved, doubled or taken out unnoticed. Journals that were begun without digests are read too.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any

from tui_tuner.errors import JournalError
from tui_tuner.resources import __version__

VERSION = 1
FILE = "journal.jsonl"
RESULT = "result.json"
"""Beside it: what came of the session."""
ELAPSED = "elapsed"
"""Key of the header for the seconds that something before the session took of its time, as a model's draft."""
RUNS = Path("tuner-runs")
"""Where runs go, in the current directory, unless the user names another place."""
_WAY_OUT = "`tuner-tui runs` lists the runs"
_UNDONE = frozenset({"failed", "stopped"})
_SEAL = re.compile(rb', "digest": "([0-9a-f]{32})"\}\n')
_SEAL_BYTES = len(', "digest": ""}\n') + 32
_COPY = "restore the file from a copy"
_MEND = f"{_COPY}, or `tuner-tui resume RUN --from-last-good`: it sets this line and the rest aside"


def key_of(kind: str, content: Mapping[str, Any]) -> str:
    """Name of an effect by all that determines its result."""
    text = json.dumps([kind, content], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
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
        """Whether the effect has a result; else there was no budget for it, or no model, or the user skipped it."""
        return not (self.is_undone or "skipped" in self.result)

    @property
    def is_undone(self) -> bool:
        """Whether there was no budget for the effect, or no model, so that it is to be tried again."""
        return self.kind == "stopped" or not _UNDONE.isdisjoint(self.result)

    def fields(self) -> dict[str, Any]:
        """What the record's line says."""
        said = {"kind": self.kind, "key": self.key, "elapsed": self.elapsed, "result": self.result}
        return said if self.content is None else {**said, "content": self.content}


@dataclass(frozen=True)
class JournalContent:
    """All that a journal says.

    Attributes:
        length: bytes of the sound part; behind it is at most a line that a crash cut.
        digest: over the sound part.
        torn: what stands behind the sound part.
    """

    header: dict[str, Any]
    records: list[Record]
    length: int
    digest: str
    torn: bytes = b""

    @property
    def last_elapsed(self) -> float:
        """Seconds of the last record; where there is none, those that had passed before it was begun."""
        before = self.header.get(ELAPSED, 0.0)
        return max((record.elapsed for record in self.records), default=float(before))


def read_journal(path: Path) -> JournalContent:
    """Header and records of a journal, in their order; a last line that was cut is left out.

    Raises:
        JournalError: there is none, it is no journal, or a line of it is damaged; file and line are named.
    """
    with file_faults(path):
        content = path.read_bytes()
    return parse_journal(content, path)


def parse_journal(content: bytes, path: Path) -> JournalContent:
    """A journal from what the file at `path` holds."""
    read, fault = sound_part(content, path)
    if fault is not None:
        raise fault
    return read


def sound_part(content: bytes, path: Path) -> tuple[JournalContent, JournalError | None]:
    """What a journal says before its first damaged line, and what is wrong there, if there is one.

    Raises:
        JournalError: its header is none, or is damaged.
    """
    lines = content.splitlines(keepends=True)
    header = _header(lines[0] if lines else b"", path)
    records: list[Record] = []
    digest, length, fault = "", 0, None
    for number, line in enumerate(lines, start=1):
        parsed = _object(line)
        if parsed is None and number == len(lines):
            break  # cut by a crash
        try:
            if parsed is None:
                raise JournalError("is damaged here", hint=_MEND, file=path, line=number)
            after = _follow(line, digest, path, number, is_chained=number > 1 and _said(lines[number - 2]) is not None)
            if number > 1:
                records.append(_record(parsed, path, number))
        except JournalError as error:
            if number == 1:
                raise
            fault = error
            break
        digest, length = after, length + len(line)
    return JournalContent(header, records, length, digest, content[length:]), fault


def sealed(line: bytes, before: str) -> tuple[bytes, str]:
    """A line with the digest that it carries, and that digest.

    Args:
        line: a JSON object with something in it, and the line's end.
        before: the digest of the line before; empty for the first.
    """
    digest = _digest(line, before)
    return line.removesuffix(b"}\n") + f', "digest": "{digest}"}}\n'.encode(), digest


def _digest(line: bytes, before: str) -> str:
    """Over a line without the digest that it may carry, and the digest before it."""
    body = line.removesuffix(b"}\n") if _said(line) is None else line[:-_SEAL_BYTES]
    return hashlib.sha256(before.encode() + body).hexdigest()[:32]


def _said(line: bytes) -> str | None:
    """The digest that a line carries; None where it was written before there were any."""
    found = _SEAL.fullmatch(line[-_SEAL_BYTES:])
    return None if found is None else found[1].decode()


def _follow(line: bytes, before: str, path: Path, number: int, *, is_chained: bool) -> str:
    """The digest up to a line.

    Args:
        is_chained: whether the line before carries one.

    Raises:
        JournalError: the line is not what was written behind those before it.
    """
    digest, said = _digest(line, before), _said(line)
    if said is None and not is_chained:
        return digest
    if said != digest:
        message = "is not what was written here: lines were altered, moved, doubled or taken out"
        raise JournalError(message, hint=_MEND if number > 1 else _COPY, file=path, line=number)
    return digest


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
        return _header(stream.readline(), file)


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


def _header(line: bytes, path: Path) -> dict[str, Any]:
    header = _object(line)
    if header is None:
        raise _no_journal(path)
    if line.endswith(b"\r\n"):  # no line carries the digest that was written, and none would be left
        hint = f"what copied it turned its line ends; `sed -i 's/\\r$//' {path}` turns them back"
        raise JournalError("ends with CR LF, which nothing here writes", hint=hint, file=path, line=1)
    if header.get("journal") != VERSION:
        hint = "use the version of the program that wrote it"
        raise JournalError(f"is no journal of version {VERSION}", hint=hint, file=path, line=1)
    program = header.get("program", __version__)
    if not isinstance(program, str) or not (0,) <= _release(program) <= _release(__version__):
        message = f"was written by version {program!r} of the program, and this is {__version__}"
        raise JournalError(message, hint="use that version, or a later one", file=path, line=1)
    return header


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version, in their order; none where it is not one."""
    found = re.match(r"\d+(\.\d+)*", version)
    return () if found is None else tuple(map(int, found[0].split(".")))


def _object(line: bytes) -> dict[str, Any] | None:
    """What a line says, without its digest; None where it is no JSON object."""
    if not line.endswith(b"\n"):
        return None
    try:
        content = _DECODER.decode(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict):
        return None
    if _said(line) is not None:
        del content["digest"]
    return content


def _with_shared_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are the same strings in all lines, which halves what a long journal takes."""
    return {intern(name): value for name, value in pairs}


_DECODER = json.JSONDecoder(object_pairs_hook=_with_shared_names)


def _record(content: dict[str, Any], path: Path, line: int) -> Record:
    try:
        record = Record(**content, line=line)
        sound = isinstance(record.result, dict) and isinstance(record.elapsed, int | float)
    except TypeError:
        sound = False
    if not sound:
        raise JournalError("is no record of an effect", hint=_MEND, file=path, line=line)
    return record
