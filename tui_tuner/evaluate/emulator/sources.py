"""Where the emulator's own C++ lies, and what identifies it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_HERE = Path(__file__).resolve().parent
INCLUDE = _HERE / "include"
RUNTIME = _HERE / "runtime"
FAULTS = RUNTIME / "faults.c"
"""Compiled into every native artifact: tells the parent process where a fault happened."""


def runtime_sources() -> tuple[Path, ...]:
    """The files to compile beside a kernel."""
    return (*sorted(RUNTIME.glob("*.cpp")), FAULTS)


@cache
def fingerprint() -> str:
    """Eight hexadecimal digits that change with the emulator's C++."""
    digest = hashlib.sha256()
    for path in sorted([*INCLUDE.rglob("*.h"), *RUNTIME.iterdir()]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]
