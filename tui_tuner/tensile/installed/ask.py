"""Has an installed Tensile read a configuration, in a child process with a time limit."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import ValidationError

from tui_tuner.processes.child import Program, running
from tui_tuner.tensile.installed.verdict import Standing, Verdict
from tui_tuner.tensile.running.environment import environment
from tui_tuner.tensile.running.find import Tensile

LIMIT_S = 60.0
_CHILD = Path(__file__).with_name("child.py")
_SHEBANG = re.compile(rb"#!\s*(\S+)(?:[ \t]+(\S+))?")
_FIRST_BYTES = 512


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
    return Verdict(standing=Standing.NOT_ASKED, message=why)


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
