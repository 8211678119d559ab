"""Builds kept for later runs, in one directory of the user's: one file a build, checked when it is taken."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, Field, ValidationError

from tui_tuner.evaluate.compilers.base import Recipe
from tui_tuner.evaluate.results import Build, Failure, FailureKind
from tui_tuner.evaluate.surroundings import Surroundings

MIB = 2**20

NEW = ".new-"
"""How the name of a file begins that is being written; a killed program leaves it."""
_ENDING = ".build"
_FORGOTTEN_S = 3600.0  # after which nobody is still writing a file
_AT_A_LINE = re.compile(r"\S+:\d+(?::\d+)?: error\b")


class Kept(NamedTuple):
    """A build of an earlier run.

    Attributes:
        build: without the path of its artifact, and with no time, since no compiler ran.
        content: of the artifact; None where the build failed.
        suffix: of the artifact's name.
    """

    build: Build
    content: bytes | None
    suffix: str


class _Record(BaseModel):
    build: Build
    suffix: str = Field(default="", pattern=r"^(\.\w+)?$")


class KeptBuilds:
    """Finished builds of all runs; several programs may use the directory at once, and threads this object.

    A file begins with the checksum of the rest: a line with what is known of the build, and the artifact. It appears
    whole and is never changed. Where the directory cannot be used, nothing is kept and nobody is told.

    Args:
        directory: made when something is kept, readable by its owner only.
        limit: size of all files, bytes.
    """

    def __init__(self, directory: Path, limit: int) -> None:
        self._directory = directory
        self._limit = limit
        self._surroundings = Surroundings()

    def key(self, build: str, recipe: Recipe, options: Sequence[str]) -> str | None:
        """The key to keep a build by; None for one that is not shared, see `Surroundings.key`."""
        return self._surroundings.key(build, recipe, options)

    def take(self, key: str) -> Kept | None:
        """The build that was kept by a key; None if there is none, or its file is damaged or another user's."""
        path = self._path(key)
        try:
            if path.stat().st_uid != os.geteuid():
                return None
            checksum, _, rest = path.read_bytes().partition(b"\n")
            if checksum != _checksum(rest):
                return None
            line, _, content = rest.partition(b"\n")
            record = _Record.model_validate_json(line)
        except (OSError, ValidationError):
            return None
        with suppress(OSError):
            os.utime(path)  # what was not used for longest goes first
        return Kept(record.build, content if record.build.failure is None else None, record.suffix)

    def keep(self, key: str, build: Build) -> None:
        """Keep a build that `is_for_good`."""
        suffix, content = "", b""
        with suppress(OSError):
            if build.artifact is not None:
                suffix, content = Path(build.artifact).suffix, Path(build.artifact).read_bytes()
            bare = build.model_copy(update={"artifact": None, "cached": False, "milliseconds": 0.0})
            rest = _Record(build=bare, suffix=suffix).model_dump_json().encode() + b"\n" + content
            if len(rest) < self._limit:
                self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_whole(self._path(key), _checksum(rest) + b"\n" + rest)

    def shrink(self) -> None:
        """Remove what was not used for longest until the rest is within the limit, and what killed programs left."""
        total, now = 0, time.time()
        for used, size, path in sorted(self._files(), reverse=True):
            total += size
            if total > self._limit or (path.name.startswith(NEW) and now - used > _FORGOTTEN_S):
                with suppress(OSError):
                    path.unlink()

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        with suppress(OSError), os.scandir(self._directory) as entries:
            for entry in entries:
                with suppress(OSError):  # another program removed it
                    if entry.name.endswith(_ENDING) or entry.name.startswith(NEW):
                        status = entry.stat(follow_symlinks=False)
                        yield status.st_mtime, status.st_size, Path(entry.path)

    def _path(self, key: str) -> Path:
        return self._directory / f"{key}{_ENDING}"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file of a directory of builds, which appears whole or not at all."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=NEW)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_once(path: Path, content: bytes) -> None:
    """Write a file of a directory of builds, unless it is there: what its name says determines it.

    Somebody may be about to load it, allowed to read that very file and no other of its name.
    """
    if not path.is_file():
        write_whole(path, content)


def is_for_good(build: Build) -> bool:
    """Whether a build would end the same in any later run.

    A compiler that says no more than that it failed may have run out of memory or disk; an error at a line of the
    source and a limit of the device stay.
    """
    return build.failure is None or _is_about_the_source(build.failure)


def _is_about_the_source(failure: Failure) -> bool:
    if failure.kind is FailureKind.LAUNCH:
        return True
    return failure.kind is FailureKind.COMPILE and _AT_A_LINE.match(failure.message) is not None


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
