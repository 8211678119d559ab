"""What a library needs for what the kernel does: the user's function with torch, checked and timed as kernels are.

It runs in a process of its own (`library_child.py`), since torch takes seconds to load and keeps memory of the device.
"""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE
from pathlib import Path

from pydantic import ValidationError

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.results import Evaluation, ResultModel
from tui_tuner.format import time_words
from tui_tuner.problem.model import Problem
from tui_tuner.processes import driver_environment
from tui_tuner.processes.child import Child, Program, start
from tui_tuner.processes.server import own_program

LIMIT_S = 120.0


class LibraryTime(ResultModel):
    """The time of a library for what the kernel does, ms, with cold caches as kernels are timed.

    Attributes:
        name: of the library, with its version.
        function: as the problem file names it.
        checked: whether it was compared with the reference.
    """

    name: str
    function: str
    median: float
    low: float
    high: float
    checked: bool

    @property
    def in_words(self) -> str:
        """The library's name and its time."""
        return f"{self.name} {time_words(self.median)}{'' if self.checked else ', not checked against a reference'}"

    def against(self, best: Evaluation) -> str:
        """The library's name and its time, and how the best compares; they are not timed side by side."""
        if best.timing is None:
            return self.in_words
        return f"{self.in_words}; the best is {self.median / best.timing.median:.3g} times as fast"


class NamedLibrary:
    """The library that a problem names, in a process of its own, which loads it while the kernel as given is checked.

    Args:
        log: where what the library prints goes.
        run: what others are told that wait for the device.
    """

    def __init__(self, log: Path, run: str = "") -> None:
        self._log = log
        self._run = run
        self._child: Child | None = None

    async def begin(self) -> None:
        """Load it."""
        command = own_program("tui_tuner.evaluate.library_child")
        with self._log.open("ab") as errors:
            program = Program(command, environment=driver_environment(), has_input=True, output=PIPE, errors=errors)
            self._child = await start(program)

    async def time(self, problem: Problem, place: str) -> tuple[LibraryTime | None, str]:
        """Check and time it, after which its process has ended.

        Args:
            place: the device by the name that surely finds it.

        Returns:
            Its time, or None and why it cannot be had.
        """
        try:
            return await self._timed(problem, place), ""
        except DeviceError as error:
            return None, error.message
        finally:
            await self.close()

    async def _timed(self, problem: Problem, place: str) -> LibraryTime:
        if self._child is None:
            raise RuntimeError("the library was not loaded")
        job = {"place": place, "run": self._run, "problem": problem.model_dump(mode="json")}
        try:
            async with asyncio.timeout(LIMIT_S):
                said = await self._child.talk(json.dumps(job).encode())
        except TimeoutError:
            raise DeviceError(f"the library took longer than {LIMIT_S:g} s") from None
        try:
            answer = json.loads(said)
            return LibraryTime.model_validate(answer["found"])
        except (ValueError, KeyError, TypeError, ValidationError):
            reason = _reason(said) or "its process ended; its words are in the run's log"
            raise DeviceError(f"the library cannot be timed: {reason}") from None

    async def close(self) -> None:
        """End its process, if it runs."""
        if self._child is not None:
            child, self._child = self._child, None
            await child.dispose()


def _reason(said: bytes) -> str:
    try:
        return str(json.loads(said)["failed"])
    except (ValueError, KeyError, TypeError):
        return ""
