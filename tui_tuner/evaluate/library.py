"""What a library needs for what the kernel does: the user's function with torch, checked and timed as kernels are.

It runs in a process of its own, `python -m tui_tuner.evaluate.library`, since torch takes seconds to load and keeps
memory of the device: the problem comes as JSON on standard input, the answer leaves as JSON on standard output.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from tui_tuner.errors import DeviceError, ProblemError
from tui_tuner.evaluate.device_lock import DeviceLock
from tui_tuner.evaluate.devices.base import ALL, DeviceChoice
from tui_tuner.evaluate.devices.choose import device_named
from tui_tuner.evaluate.devices.cuda.driver import Driver
from tui_tuner.evaluate.measure import median_interval
from tui_tuner.evaluate.results import Evaluation, ResultModel
from tui_tuner.evaluate.tolerance import bound, compare
from tui_tuner.format import time_words
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.inputs import call_reference, label_of, make_arguments
from tui_tuner.problem.model import Problem
from tui_tuner.problem.reference import find_library, load_function, outputs_of
from tui_tuner.processes import driver_environment
from tui_tuner.processes.child import Program, running
from tui_tuner.processes.parent import die_with_parent

LIMIT_S = 120.0
_WARM_UP, _SAMPLES = 5, 30
_FLUSH_BYTES = 2**28
"""More than any L2 cache: what is in it when a call begins is none of its arrays."""


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
        """Its name and its time."""
        return f"{self.name} {time_words(self.median)}{'' if self.checked else ', not checked against a reference'}"

    def against(self, best: Evaluation) -> str:
        """Its name and its time, and how the best compares; they are not timed side by side."""
        if best.timing is None:
            return self.in_words
        return f"{self.in_words}; the best is {self.median / best.timing.median:.3g} times as fast"


async def named_library(problem: Problem, place: str, log: Path, run: str = "") -> tuple[LibraryTime | None, str]:
    """Check and time the library that a problem names, if it names one.

    Args:
        place: the device by the name that surely finds it.
        log: where what the library prints goes.
        run: what others are told that wait for the device.

    Returns:
        Its time, or None and why it cannot be had; nothing is said where none is named.
    """
    if problem.library is None:
        return None, ""
    try:
        return await _timed(problem, place, log, run), ""
    except DeviceError as error:
        return None, error.message


async def _timed(problem: Problem, place: str, log: Path, run: str) -> LibraryTime:
    command = (sys.executable, "-P", "-m", "tui_tuner.evaluate.library", place, run)
    with log.open("ab") as errors:
        program = Program(command, environment=driver_environment(), has_input=True, output=PIPE, errors=errors)
        async with running(program) as child:
            try:
                async with asyncio.timeout(LIMIT_S):
                    said = await child.talk(problem.model_dump_json().encode())
            except TimeoutError:
                raise DeviceError(f"the library took longer than {LIMIT_S:g} s") from None
    try:
        answer = json.loads(said)
        return LibraryTime.model_validate(answer["found"])
    except (ValueError, KeyError, TypeError, ValidationError):
        reason = _reason(said) or "its process ended; its words are in the run's log"
        raise DeviceError(f"the library cannot be timed: {reason}") from None


def _reason(said: bytes) -> str:
    try:
        return str(json.loads(said)["failed"])
    except (ValueError, KeyError, TypeError):
        return ""


class _Torch:
    """The library in this process."""

    def __init__(self, problem: Problem) -> None:
        import torch

        self._torch = torch
        self._problem = problem
        self._place = find_library(problem)
        self._function: Callable[..., Any] = load_function(self._place)

    @property
    def name(self) -> str:
        return f"torch {self._torch.__version__}"

    @contextmanager
    def on(self, choice: DeviceChoice, run: str) -> Iterator[None]:
        """Use a device, which no other run works on meanwhile."""
        driver = Driver()
        ordinal = driver.ordinal(choice.unit) if choice.unit not in ("", ALL) else choice.index
        self._torch.cuda.set_device(ordinal)
        with DeviceLock(driver.uuid(driver.device(ordinal)), run).held(lambda _: None):
            yield

    def check(self) -> bool:
        """Whether there is a reference that it was compared with, at the first test.

        Raises:
            ProblemError: it fails, or computes something else.
        """
        problem = self._problem
        if problem.reference is None or not problem.tests:
            return False
        at = problem.at(problem.tests[0])
        arguments = make_arguments(at, {}, seed=1)
        named = self._on_device(arguments)
        shapes = {a.name: np.shape(value) for a, value in zip(at.arguments, arguments, strict=True) if a.output}
        found = outputs_of(self._place, lambda: self._on_host(self._function(**named), named), shapes)
        for name, expected in call_reference(at, arguments).items():
            dtype = found[name].dtype
            operations = 1024.0 if at.work is None else float(evaluate(at.work.flops, at.sizes)) / max(1, expected.size)
            allowed = bound(expected, dtype, operations, at.tolerance, None)
            mismatch = compare(found[name], expected, allowed)[1]
            if mismatch is not None:
                raise ProblemError(f"it computes something else at {label_of(at.sizes)}: {name}{mismatch}")
        return True

    def times(self) -> list[float]:
        """Of so many calls at the timed size, ms, each with a cold cache."""
        cuda = self._torch.cuda
        named = self._on_device(make_arguments(self._problem, {}, seed=1))
        flush = self._torch.empty(_FLUSH_BYTES, dtype=self._torch.uint8, device="cuda")
        events = [(cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)) for _ in range(_SAMPLES)]
        for _ in range(_WARM_UP):
            self._function(**named)
        for begin, end in events:
            flush.zero_()
            begin.record()
            self._function(**named)
            end.record()
        cuda.synchronize()
        return [float(begin.elapsed_time(end)) for begin, end in events]

    def _on_device(self, arguments: list[np.ndarray | np.generic]) -> dict[str, Any]:
        return {
            a.name: self._torch.from_numpy(value).cuda() if isinstance(value, np.ndarray) else value.item()
            for a, value in zip(self._problem.arguments, arguments, strict=True)
        }

    def _on_host(self, returned: object, named: Mapping[str, Any]) -> object:
        if returned is None:
            return {a.name: self._on_host(named[a.name], named) for a in self._problem.arguments if a.output}
        if isinstance(returned, Mapping):
            return {name: self._on_host(value, named) for name, value in returned.items()}
        if isinstance(returned, tuple):
            return tuple(self._on_host(value, named) for value in returned)
        return returned.cpu().numpy() if isinstance(returned, self._torch.Tensor) else returned


def _measured(problem: Problem, place: str, run: str) -> LibraryTime:
    library = _Torch(problem)
    with library.on(device_named(place), run):
        checked = library.check()
        median, low, high = median_interval(library.times())
    function = "" if problem.library is None else problem.library.python
    return LibraryTime(name=library.name, function=function, median=median, low=low, high=high, checked=checked)


def main() -> None:
    """Entry point of the process."""
    die_with_parent()
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    place, run = sys.argv[1:3]
    problem = Problem.model_validate_json(sys.stdin.buffer.read())
    try:
        found = _measured(problem, place, run)
        said: dict[str, Any] = {"found": found.model_dump(mode="json")}
    except ImportError as error:
        said = {"failed": f"{error.name or error} is not installed"}
    except Exception as error:
        said = {"failed": str(error).splitlines()[0] if str(error) else type(error).__name__}
    json.dump(said, answer)
    answer.close()


if __name__ == "__main__":
    main()
