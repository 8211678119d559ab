"""Tensile's program: where it is, what its processes are told, and how they are ended."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.errors import SettingsError
from tui_tuner.processes.child import run_program
from tui_tuner.processes.environment import environment_without_keys

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
    return environment_without_keys() | {"PYTHONUNBUFFERED": "1"}


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
        told = run_program([*command, "--version"], environment=environment(), limit_s=_VERSION_LIMIT_S).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = told.strip().splitlines()  # a banner, then the program's name and the version
    match = _VERSION.search(lines[-1]) if lines else None
    return match[1] if match else ""
