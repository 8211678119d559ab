"""Find gcc and g++ and name their versions."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tui_tuner.errors import DeviceError
from tui_tuner.processes.child import run_program
from tui_tuner.processes.environment import environment_without_keys

_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")
_OLDEST = 11


class Gnu(NamedTuple):
    """A compiler of the GNU collection.

    Attributes:
        program: its absolute path.
        name: name and version in short, as in "g++ 12.2".
        line: the first line of what it prints about its version.
    """

    program: Path
    name: str
    line: str


@cache
def find_gnu(command: str) -> Gnu:
    """The compiler `gcc` or `g++` of the search path.

    Raises:
        DeviceError: there is none, or it is too old.
    """
    program = shutil.which(command)
    if program is None:
        raise DeviceError(f"no {command} in PATH", hint=f"apt install {command}")
    line = _first_line(program)
    found = _VERSION.search(line.split(")")[-1])
    version = found[0] if found else "0.0"
    if int(version.split(".")[0]) < _OLDEST:
        raise DeviceError(f"{program} is {line!r}: version {_OLDEST} is needed", hint=f"apt install {command}")
    return Gnu(Path(program), f"{command} {'.'.join(version.split('.')[:2])}", line)


def definitions(options: Iterable[str]) -> str:
    """The options `-Dname=value` as lines of source, so that they hold from there on and not in other headers."""
    pairs = [option.removeprefix("-D").partition("=") for option in options]
    return "".join(f"#define {name} {value if equals else 1}\n" for name, equals, value in pairs)


def _first_line(program: str) -> str:
    command = [program, "--version"]
    environment = {**environment_without_keys(), "LC_ALL": "C"}
    try:
        done = run_program(command, environment=environment, limit_s=30)
        done.check_returncode()
    except (OSError, subprocess.SubprocessError) as error:
        raise DeviceError(f"{program} cannot be run: {error}", hint="apt install g++") from error
    return done.stdout.partition("\n")[0].strip()
