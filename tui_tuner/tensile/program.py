"""Tensile's program: where it is, which version, what its processes are told, and whether it takes a configuration."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from asyncio.subprocess import PIPE
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from tui_tuner.errors import SettingsError
from tui_tuner.processes import environment_without_keys
from tui_tuner.processes.child import Program, running
from tui_tuner.processes.waited import run_program
from tui_tuner.text import clean

NAMES = ("Tensile", "tensile", "Tensile.sh")
"""What Tensile is called when it is installed; `Tensile.sh` is what a build of TensileLite writes."""
_IN_CHECKOUT = (
    "bin/Tensile",
    "Tensile/bin/Tensile",
    "tensilelite/Tensile/bin/Tensile",
    "projects/hipblaslt/tensilelite/Tensile/bin/Tensile",
)
_VERSION = re.compile(r"\b(\d+\.\d+(?:\.\d+)?\S*)")
_VERSION_LIMIT_S = 180.0
"""Time limit of asking for the version: that imports all of Tensile, and may look for compilers and GPUs."""
_WAY_OUT = (
    'Name the program or a checkout with --tensile PATH, or in the settings, as tensile = "PATH" under [tensile]. '
    "--advice FILE writes advice and the edited file without measuring."
)


def environment() -> dict[str, str]:
    """The environment for Tensile: all but what could be a key, as its toolchain reads too many variables to name.

    PYTHONUNBUFFERED makes its lines arrive as they are printed; COLUMNS, that they are not broken.
    """
    return environment_without_keys() | {"PYTHONUNBUFFERED": "1", "COLUMNS": "4000"}


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
    command = (str(located(path).absolute()),)
    return Tensile(command, _version(command))


def located(path: Path | None) -> Path:
    """The program that `find_tensile` asks.

    Raises:
        SettingsError: there is none.
    """
    return _on_path() if path is None else _at(path.expanduser())


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


_LONGEST = 600
LIMIT_S = 60.0
_CHILD = Path(__file__).with_name("installed_child.py")
_SHEBANG = re.compile(rb"#!\s*(\S+)(?:[ \t]+(\S+))?")
_FIRST_BYTES = 512


class Acceptance(StrEnum):
    """Whether Tensile's own parser takes a configuration."""

    TAKEN = "taken"
    REFUSED = "refused"
    NOT_ASKED = "not asked"


class Verdict(BaseModel):
    """The answer.

    Attributes:
        message: Tensile's words where it refuses; why it could not be asked where it was not; else empty.
        permutations: of each size group, in the order of the file, as Tensile counts them before it tries them.
        table: each parameter that it has with the values that it takes, as for a table of valid values; `shape` where
            these are lists and too many to tell. Empty where it was not asked for, or does not tell.
    """

    model_config = ConfigDict(frozen=True)  # journals of earlier versions tell more of it

    standing: Acceptance
    message: str = ""
    permutations: tuple[int, ...] = ()
    table: dict[str, dict[str, Any]] = {}

    @field_validator("message")
    @classmethod
    def _printable(cls, message: str) -> str:
        message = clean(message).strip()
        return message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…"


async def check_installed(
    tensile: Tensile, text: str, sizes_text: str | None = None, *, table: bool = False, limit_s: float = LIMIT_S
) -> Verdict:
    """Ask Tensile whether it takes a configuration, and how many permutations it counts.

    What only the assembler can tell, whether a permutation makes a kernel, is not asked.

    Args:
        text: the configuration.
        sizes_text: the list of problem sizes where the configuration is in the alternate format.
        table: whether its parameters are asked for as well.
        limit_s: seconds for the answer.
    """
    python = python_of(tensile.program)
    if python is None:
        return _not_asked(f"{tensile.program} is no Python script, so its modules cannot be found")
    places = [str(place) for place in _places(tensile.program)]
    request = {"text": text, "sizes": sizes_text, "directories": places, "table": table}
    with TemporaryDirectory(prefix="tuner-tensile-", ignore_cleanup_errors=True) as directory:
        try:
            async with asyncio.timeout(limit_s):
                answer = await _asked([python, "-B", str(_CHILD)], json.dumps(request), directory)
        except TimeoutError:
            return _not_asked(f"it gave no answer within {limit_s:.0f} s")
        except OSError as error:
            return _not_asked(f"{python}: {error.strerror}")
    try:
        return Verdict.model_validate_json(answer)
    except ValidationError:
        return _not_asked("the program that asks it died")


def _not_asked(why: str) -> Verdict:
    return Verdict(standing=Acceptance.NOT_ASKED, message=why)


async def _asked(command: list[str], request: str, directory: str) -> bytes:
    program = Program(command, environment=environment(), output=PIPE, has_input=True, directory=directory)
    async with running(program) as child:
        return await child.talk(request.encode())


def python_of(program: Path) -> str | None:
    """The Python that runs a script, by its first line; None where it is no Python script."""
    try:
        with program.open("rb") as file:
            match = _SHEBANG.match(file.read(_FIRST_BYTES))
    except OSError:
        return None
    if match is None:
        return None
    words = [word.decode(errors="replace") for word in match.groups() if word is not None]
    interpreter = words[1] if Path(words[0]).name == "env" and len(words) > 1 else words[0]
    if not Path(interpreter).name.startswith("python"):
        return None
    return shutil.which(interpreter) or sys.executable


def _places(program: Path) -> list[Path]:
    """Where the package may lie beside what that Python knows: in a checkout it is two levels above the script."""
    above = program.resolve().parent.parent.parent
    return [above] if (above / "Tensile").is_dir() else []
