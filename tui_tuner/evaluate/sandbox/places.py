"""Places on this machine that confined processes of Python's read."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path


def python_places() -> tuple[Path, ...]:
    """This Python, its standard library and its installed packages."""
    places = (sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))
    executable = Path(sys.executable)
    return tuple(dict.fromkeys([executable, executable.resolve(), *(Path(place) for place in places)]))


def existing(patterns: Sequence[str]) -> tuple[Path, ...]:
    """What there is of some absolute paths, which may hold wildcards."""
    return tuple(path for pattern in patterns for path in sorted(Path("/").glob(pattern[1:])))
