"""Where builds are kept: those of one run, and those of all runs in one directory of the user's.

What is kept for other runs must not outlive a header that was changed: its key holds toolchain, machine, system headers
and the user's headers. Files are told apart by size and times and are not read, so that it takes milliseconds.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from pydantic import BaseModel, Field, ValidationError

from tui_tuner.evaluate.build.compilers import Recipe
from tui_tuner.evaluate.build.compilers.gnu import cpu_line
from tui_tuner.evaluate.results import Build, Failure, FailureKind
from tui_tuner.problem.headers import include_paths
from tui_tuner.processes.limits import usable_cores
from tui_tuner.resources import __version__

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
        self._toolchains: dict[tuple[Path, ...], str] = {}
        self._lock = Lock()

    def key(self, build: str, recipe: Recipe, options: Sequence[str]) -> str | None:
        """The key to keep a build by: what it reads besides its own files, and what it is built for, are part of that.

        The toolchain and the system's headers are looked at once, and the user's headers each time.

        Args:
            build: key of the build, a hash of its own files, its command and the compiler's version.
            options: the user's own compiler options.

        Returns:
            None where not all that it reads can be told.
        """
        paths = include_paths(options)
        if not all(_is_understood(option, paths) for option in options):
            return None
        headers = [*islice(_all_beneath((*paths, _OWN_HEADERS)), MAX_FILES + 1)]
        if len(headers) > MAX_FILES:
            return None
        toolchain = self._toolchain((Path(recipe.command[0]), *recipe.made_with))
        return _digest([__version__, build, _machine(), toolchain, sorted(headers)])

    def _toolchain(self, paths: tuple[Path, ...]) -> str:
        with self._lock:
            if paths not in self._toolchains:
                self._toolchains[paths] = _digest(sorted(_installed((*paths, _SYSTEM_HEADERS))))
            return self._toolchains[paths]

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


MAX_FILES = 10_000
"""In the directories that the user includes from; where there are more, looking at them takes longer than building."""

_SYSTEM_HEADERS = Path("/usr/include")
_OWN_HEADERS = Path("/usr/local/include")
"""Compilers look there unasked, and people write there."""

_Stamp = tuple[str, *tuple[int, ...]]


def _digest(content: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _is_understood(option: str, paths: Sequence[Path]) -> bool:
    """Whether an option names no file, or only one of the paths that are looked at."""
    if option.startswith(("-l", "@")):
        return False
    return "/" not in option or ("," not in option and any(option.endswith(str(path)) for path in paths))


def _installed(paths: Iterable[Path]) -> Iterator[_Stamp]:
    """Size and time of each file, and for a directory the times of all directories in it.

    Installers put files in the place of others, which shows in their directory; a toolkit has thousands of files.
    """
    for path in paths:
        yield _stamp(path)
        yield from (_time(directory) for directory, _, _ in os.walk(path))


def _all_beneath(paths: Iterable[Path]) -> Iterator[_Stamp]:
    """Every file and directory, those behind links included; a file that is changed and dated back is seen as well."""
    seen: set[tuple[int, int]] = set()
    for path in paths:
        yield _stamp(path, changed=True)
        for directory, directories, files in os.walk(path, followlinks=True):
            status = _status(directory)
            if status is None or (status.st_dev, status.st_ino) in seen:  # a link may lead back to where it stands
                directories.clear()
                continue
            seen.add((status.st_dev, status.st_ino))
            yield _time(directory)
            yield from (_stamp(Path(directory, file), changed=True) for file in files)


def _time(directory: str) -> _Stamp:
    status = _status(directory)
    return (directory,) if status is None else (directory, status.st_mtime_ns)


def _stamp(path: Path, *, changed: bool = False) -> _Stamp:
    """A file's size and times; nobody can set back the time of the last change, but a new link to a file sets it."""
    if (status := _status(path)) is None:
        return (str(path),)
    more = (status.st_ctime_ns,) if changed else ()
    return (str(path), status.st_size, status.st_mtime_ns, *more)


def _status(path: Path | str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except OSError:
        return None


@cache
def _machine() -> tuple[str, ...]:
    """What code for this very machine depends on; home directories are shared by machines that differ."""
    libc = (os.confstr("CS_GNU_LIBC_VERSION") or "") if "CS_GNU_LIBC_VERSION" in os.confstr_names else ""
    return (platform.machine(), libc, cpu_line("flags", "Features"))


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


_WORK = "work-"
_MOST_BYTES = 2**28
_ALWAYS_KEPT = 8 * max(8, usable_cores())
"""More builds than evaluations are under way at once: what is about to be loaded is not removed."""


class BuildCache:
    """Finished builds, failed ones included; what was not used for longest is removed where they are too much.

    Args:
        directory: made if it is missing, readable by its owner only.
        limit: size of all artifacts, bytes; that of the last builds may be more.
    """

    def __init__(self, directory: Path, limit: int = _MOST_BYTES) -> None:
        self._directory = directory
        self._limit = limit
        self._sizes: dict[str, int] = {}  # the last that was used at the end

    def load(self, key: str) -> Build | None:
        """The build with this key and the time it once took; None if missing, damaged or without its artifact."""
        try:
            build = Build.model_validate_json(self._record(key).read_bytes())
        except (OSError, ValidationError):
            return None
        artifact = build.artifact and self._directory / build.artifact
        if build.key != key or (build.failure is None and not (artifact and artifact.is_file())):
            return None
        self._use(key, artifact.stat().st_size if artifact else 0)
        return build.model_copy(update={"artifact": artifact and str(artifact), "cached": True})

    def store(self, build: Build, content: bytes | None = None, suffix: str = "") -> Build:
        """Keep a build; the record appears last and at once, so a broken write is never read.

        Args:
            build: without an artifact of its own yet.
            content: of the artifact.
            suffix: of its name.

        Returns:
            The build with the kept artifact's path.
        """
        self._make()
        name = None if content is None else f"{build.key}{suffix}"
        if content is not None and name is not None:
            write_once(self._directory / name, content)
        record = build.model_copy(update={"artifact": name})
        write_whole(self._record(build.key), record.model_dump_json().encode())
        self._use(build.key, len(content or b""))
        return build.model_copy(update={"artifact": name and str(self._directory / name)})

    def work_directory(self) -> tempfile.TemporaryDirectory[str]:
        """A new directory to build in, by its absolute path."""
        self._make()
        return tempfile.TemporaryDirectory(dir=self._directory.resolve(), prefix=_WORK, ignore_cleanup_errors=True)

    def remove_leftovers(self) -> None:
        """Remove what a killed process was working on; no other process may be building into this cache."""
        for artifact in sorted(self._directory.glob("*"), key=lambda path: path.stat().st_mtime_ns):
            if artifact.suffix != ".json" and artifact.is_file():
                self._sizes[artifact.stem] = artifact.stat().st_size
        for directory in self._directory.glob(f"{_WORK}*"):
            shutil.rmtree(directory, ignore_errors=True)
        for file in self._directory.glob(f"{NEW}*"):
            file.unlink(missing_ok=True)

    def _use(self, key: str, size: int) -> None:
        self._sizes.pop(key, None)
        self._sizes[key] = size
        total = sum(self._sizes.values())
        for oldest in list(self._sizes)[:-_ALWAYS_KEPT] if total > self._limit else ():
            if total <= self._limit:
                break
            total -= self._sizes.pop(oldest)
            for file in self._directory.glob(f"{oldest}*"):
                file.unlink(missing_ok=True)

    def _make(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _record(self, key: str) -> Path:
        return self._directory / f"{key}.json"
