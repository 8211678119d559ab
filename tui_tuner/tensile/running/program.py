"""Tensile's program: where it is, what its processes are told, and how they are ended."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.errors import SettingsError

_SECRETS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "COOKIE", "AUTH")
GRACE_S = 5.0
"""Between being asked to end and being made to."""
_LOOK_S = 0.05
NAMES = ("Tensile", "tensile", "Tensile.sh")
"""What Tensile is called when it is installed; `Tensile.sh` is what a build of TensileLite writes."""
_IN_CHECKOUT = (
    "bin/Tensile",
    "Tensile/bin/Tensile",
    "tensilelite/Tensile/bin/Tensile",
    "projects/hipblaslt/tensilelite/Tensile/bin/Tensile",
)
_VERSION = re.compile(r"\b(\d+\.\d+(?:\.\d+)?\S*)")
_VERSION_LIMIT_S = 30.0
_WAY_OUT = (
    "Name the program or a checkout with --tensile PATH, or write advice and the edited file without measuring: "
    "--advice FILE."
)


def environment() -> dict[str, str]:
    """All but what could be a key: Tensile's toolchain is steered by too many variables to name them.

    PYTHONUNBUFFERED makes its lines arrive as they are printed.
    """
    kept = {name: value for name, value in os.environ.items() if not any(word in name.upper() for word in _SECRETS)}
    return kept | {"PYTHONUNBUFFERED": "1"}


async def end_group(process: asyncio.subprocess.Process, grace_s: float = GRACE_S) -> None:
    """TERM, and KILL for what is still there after the grace. Cancelled meanwhile, it kills at once."""
    try:
        if _signalled(process.pid, signal.SIGTERM):
            await _gone(process.pid, grace_s)
    finally:
        _signalled(process.pid, signal.SIGKILL)
    await process.wait()


def _signalled(group: int, number: int) -> bool:
    """Whether there was anyone to signal."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
        return True
    return False


async def _gone(group: int, limit_s: float) -> None:
    end = time.monotonic() + limit_s
    while _signalled(group, 0) and time.monotonic() < end:
        await asyncio.sleep(_LOOK_S)


@dataclass(frozen=True)
class Tensile:
    """An installed Tensile.

    Attributes:
        command: how it is started.
        version: that it tells; empty where it tells none.
    """

    command: tuple[str, ...]
    version: str

    @property
    def program(self) -> Path:
        """The program itself."""
        return Path(self.command[0])


def find_tensile(path: Path | None) -> Tensile:
    """Find Tensile and ask for its version.

    Args:
        path: the program, or a checkout of Tensile, TensileLite, hipBLASLt or rocm-libraries; None looks on PATH.

    Raises:
        SettingsError: there is none.
    """
    program = _on_path() if path is None else _at(path.expanduser())
    command = (str(program.absolute()),)
    return Tensile(command, _version(command))


def _on_path() -> Path:
    for name in NAMES:
        if found := shutil.which(name):
            return Path(found)
    raise SettingsError(f"there is no Tensile on PATH ({', '.join(NAMES)})", hint=_WAY_OUT)


def _at(path: Path) -> Path:
    if path.is_dir():
        candidates = [path / inside for inside in _IN_CHECKOUT]
        found = next((candidate for candidate in candidates if candidate.is_file()), None)
        if found is None:
            raise SettingsError(f"{path} is no checkout of Tensile: it has no Tensile/bin/Tensile", hint=_WAY_OUT)
        path = found
    if not path.is_file():
        raise SettingsError(f"there is no {path}", hint=_WAY_OUT)
    if not os.access(path, os.X_OK):
        raise SettingsError(f"{path} cannot be executed", hint="Make it executable (chmod +x), or name another.")
    return path


def _version(command: tuple[str, ...]) -> str:
    try:
        told = _told([*command, "--version"])
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = told.decode(errors="replace").strip().splitlines()  # a banner, then the program's name and the version
    match = _VERSION.search(lines[-1]) if lines else None
    return match[1] if match else ""


def _told(command: list[str]) -> bytes:
    with subprocess.Popen(  # noqa: S603 - the user named it
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    ) as process:
        try:
            return process.communicate(timeout=_VERSION_LIMIT_S)[0]
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
