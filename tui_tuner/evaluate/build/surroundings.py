"""What a build reads besides its own files, as a hash: toolchain, machine, system headers and the user's headers.

Files are told apart by size and times and are not read, so that it takes milliseconds. A run's own builds need none of
this; what is kept for other runs must not outlive a header that was changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from threading import Lock

from tui_tuner.evaluate.build.compilers import Recipe, include_paths
from tui_tuner.evaluate.build.compilers.gnu import cpu_line
from tui_tuner.resources import __version__

MAX_FILES = 10_000
"""In the directories that the user includes from; where there are more, looking at them takes longer than building."""

_SYSTEM_HEADERS = Path("/usr/include")
_OWN_HEADERS = Path("/usr/local/include")
"""Compilers look there unasked, and people write there."""

_Stamp = tuple[str, *tuple[int, ...]]


class Surroundings:
    """What builds of this session find outside their work directories; safe to use in several threads.

    The toolchain and the system's headers are looked at once, and the user's headers each time.
    """

    def __init__(self) -> None:
        self._toolchains: dict[tuple[Path, ...], list[_Stamp]] = {}
        self._lock = Lock()

    def key(self, build: str, recipe: Recipe, options: Sequence[str]) -> str | None:
        """A key for what a build gives in these surroundings; None where not all that it reads can be told.

        Args:
            build: key of the build, a hash of its own files, its command and the compiler's version.
            options: the user's own compiler options.
        """
        paths = include_paths(options)
        if not all(_is_understood(option, paths) for option in options):
            return None
        headers = [*islice(_all_beneath((*paths, _OWN_HEADERS)), MAX_FILES + 1)]
        if len(headers) > MAX_FILES:
            return None
        toolchain = self._toolchain((Path(recipe.command[0]), *recipe.made_with))
        content = [__version__, build, _machine(), toolchain, sorted(headers)]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def _toolchain(self, paths: tuple[Path, ...]) -> list[_Stamp]:
        with self._lock:
            if paths not in self._toolchains:
                self._toolchains[paths] = sorted(_installed((*paths, _SYSTEM_HEADERS)))
            return self._toolchains[paths]


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
