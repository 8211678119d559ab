"""Asks the installed Tensile itself whether it takes a configuration."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from asyncio.subprocess import PIPE
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from tui_tuner.processes.child import Program, running
from tui_tuner.tensile.running.program import Tensile, environment
from tui_tuner.text import clean

_LONGEST = 600
LIMIT_S = 60.0
_CHILD = Path(__file__).with_name("installed_child.py")
_SHEBANG = re.compile(rb"#!\s*(\S+)(?:[ \t]+(\S+))?")
_FIRST_BYTES = 512


class Acceptance(StrEnum):
    """Whether it takes it."""

    TAKEN = "taken"
    REFUSED = "refused"
    NOT_ASKED = "not asked"


class Verdict(BaseModel):
    """The answer.

    Attributes:
        message: Tensile's words where it refuses; why it could not be asked where it was not; else empty.
        permutations: of each size group, in the order of the file, as Tensile counts them before it tries them.
        parameters: names that it takes; empty where it does not tell.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    standing: Acceptance
    message: str = ""
    permutations: tuple[int, ...] = ()
    parameters: tuple[str, ...] = ()

    @field_validator("message")
    @classmethod
    def _printable(cls, message: str) -> str:
        message = clean(message).strip()
        return message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…"


async def check_installed(
    tensile: Tensile, text: str, sizes_text: str | None = None, *, limit_s: float = LIMIT_S
) -> Verdict:
    """Ask Tensile whether it takes a configuration, and how many permutations it counts.

    What only the assembler can tell, whether a permutation makes a kernel, is not asked.

    Args:
        text: the configuration.
        sizes_text: the list of problem sizes where the configuration is in the alternate format.
        limit_s: seconds for the answer.
    """
    python = _python_of(tensile.program)
    if python is None:
        return _not_asked(f"{tensile.program} is no Python script, so its modules cannot be found")
    request = {"text": text, "sizes": sizes_text, "directories": [str(place) for place in _places(tensile.program)]}
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


def _python_of(program: Path) -> str | None:
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
