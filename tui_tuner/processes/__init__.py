"""Every child process is started here; what it inherits is one of a few named policies.

Every program that is started is started here. A part that is native code of a candidate forks by itself, see
`evaluate.devices.native` and `evaluate.sandbox`.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SECRETS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "COOKIE", "AUTH")
_KEPT_FOR_DRIVERS = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONPATH")
_KEPT_PREFIXES = ("CUDA_", "NVIDIA_", "OCL_", "POCL_", "OMP_", "LC_")
_CALM = {"OPENBLAS_THREAD_TIMEOUT": "4"}
"""Threads of NumPy's BLAS that have nothing to do sleep at once, and take no time from kernels that are timed."""


def confined_environment(program: str, directory: Path | str) -> dict[str, str]:
    """For what is confined: nothing of the user's, no keys, no flags, no library paths.

    Args:
        program: the program to run; its directory is searched first.
        directory: the work directory, which is home and holds temporary files.
    """
    work = os.fspath(directory)
    return {
        "PATH": f"{os.path.dirname(program)}:/usr/local/bin:/usr/bin:/bin",  # noqa: PTH120 - pathlib loads slowly
        "HOME": work,
        "TMPDIR": work,
        "LANG": "C.UTF-8",
    }


def driver_environment() -> dict[str, str]:
    """For what loads a driver of a device: what steers drivers and finds libraries, and nothing else."""
    kept = {
        name: value
        for name, value in environment_without_keys().items()
        if name in _KEPT_FOR_DRIVERS or name.startswith(_KEPT_PREFIXES)
    }
    return kept | _CALM


def environment_without_keys() -> dict[str, str]:
    """For toolchains and libraries, which too many variables steer to name them: all but what could be a key."""
    return {name: value for name, value in os.environ.items() if not any(word in name.upper() for word in _SECRETS)}


def secrets_of_environment() -> tuple[str, ...]:
    """The values of variables that could be a key."""
    return tuple(value for name, value in os.environ.items() if any(word in name.upper() for word in _SECRETS))


def whole_environment() -> dict[str, str]:
    """For the user's own programs, as an editor or a command-line assistant, which needs its keys: everything."""
    return dict(os.environ)


def signal_name(number: int) -> str:
    """A signal's name, as `SIGSEGV`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def end_in_words(code: int | None) -> str:
    """How a process ended: an exit status, negative for a signal, None where it does not go away."""
    if code is None:
        return "and does not go away"
    return signal_name(-code) if code < 0 else f"exit status {code}"


UNUSED_BY_KERNEL_TUNER = ("torch", "cupy", "hip")
"""What kernel_tuner imports wherever it is installed: seconds, for arrays of theirs that it is never given here."""


@contextmanager
def without_packages(names: Iterable[str]) -> Iterator[None]:
    """Let imports go as if these packages were not installed, unless they are imported already."""
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None makes an import fail
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
