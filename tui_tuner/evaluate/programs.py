"""A configuration as a program: its launches, or why there can be none, and what was measured of the same before.

Compilers write neither paths nor names of variables into what they build here, so that the same machine code, kernel
and launches are the same program, whatever source and tunables they came from. Two evaluations of one would differ by
chance alone, and a search would follow the chance.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from weakref import WeakValueDictionary

from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.results import DeviceInfo, Failure, FailureKind
from tui_tuner.evaluate.runner.protocol import EvaluationAnswer, Executable, LaunchShape
from tui_tuner.problem.candidate import Candidate, Geometry, geometry, local_memory
from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.inputs import test_sizes
from tui_tuner.problem.model import Configuration, Launch, Problem


def launch_shapes(
    candidate: Candidate, configuration: Configuration, problem: Problem, device: DeviceInfo
) -> list[LaunchShape] | Failure:
    """One launch for each test and, last, the timed size; a failure where the configuration is invalid."""
    try:
        for restriction in candidate.restrictions:
            if not evaluate(restriction, {**problem.sizes, **configuration}):
                return _invalid(f"breaks the restriction {restriction}")
        launches = [_launch(candidate.launch, problem, sizes, configuration) for sizes in test_sizes(problem)]
    except ExpressionError as error:
        return _invalid(str(error))
    return _beyond_limits(launches[-1], device) or [
        LaunchShape(grid=one.grid, block=one.block, shared_bytes=one.shared_bytes, local=one.local) for one in launches
    ]


def _launch(launch: Launch, problem: Problem, sizes: Mapping[str, int], configuration: Configuration) -> Geometry:
    shape = geometry(launch, sizes, configuration)
    return replace(shape, local=local_memory(problem.arguments, sizes, configuration, shape.block))


def _beyond_limits(launch: Geometry, device: DeviceInfo) -> Failure | None:
    if not kind_named(device.kind).has_blocks:
        return None
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    if device.max_threads_per_block is not None and threads > device.max_threads_per_block:
        return _invalid(f"{threads} threads a block, the device has {device.max_threads_per_block}")
    limit = device.shared_bytes_optin
    asked = launch.shared_bytes + sum(nbytes for _, nbytes in launch.local)
    if limit is not None and asked > limit:
        return _invalid(f"{asked} bytes of shared memory a block, the device has {limit}")
    return None


def _invalid(message: str) -> Failure:
    return Failure(kind=FailureKind.INVALID, message=message)


Evaluated = tuple[str, Configuration]
"""Which evaluation: candidate and configuration."""
_LASTING = (FailureKind.WRONG_RESULT, FailureKind.LAUNCH, FailureKind.ILLEGAL_ACCESS)
"""Failures that are the program's own; a time-out or a crash may come from elsewhere."""


class MeasuredPrograms:
    """What the runner answered for each program of a session."""

    def __init__(self) -> None:
        self._answers: dict[str, tuple[Evaluated, EvaluationAnswer]] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def answer(
        self, executable: Executable, asked: Evaluated, ask: Callable[[], Awaitable[EvaluationAnswer]]
    ) -> tuple[EvaluationAnswer, Evaluated | None]:
        """The answer for a program, and for which evaluation it was given, None where that is this one.

        Args:
            asked: which evaluation this is; asked for again, it is measured again.
            ask: has the runner verify and measure.
        """
        program = await _program(executable)
        async with self._locks.setdefault(program, asyncio.Lock()):
            first, known = self._answers.get(program, (asked, None))
            if known is not None and first != asked:
                return known.model_copy(update={"verify_ms": 0.0, "measure_ms": 0.0}), first
            answer = await ask()
            if answer.failure is None or answer.failure.kind in _LASTING:
                self._answers.setdefault(program, (asked, answer))
            return answer, None

    async def know(self, executable: Executable, asked: Evaluated, answer: EvaluationAnswer) -> None:
        """Take an answer that the runner gave to something else, as it does for the kernel as given."""
        self._answers.setdefault(await _program(executable), (asked, answer))


async def _program(executable: Executable) -> str:
    return await asyncio.to_thread(_hash, executable)


def _hash(executable: Executable) -> str:
    digest = hashlib.sha256(Path(executable.artifact).read_bytes())
    digest.update(executable.model_dump_json(exclude={"artifact"}).encode())
    return digest.hexdigest()
