"""Programs that were measured: machine code, kernel and launches, whatever source and tunables they came from.

Compilers write neither paths nor names of variables into what they build here, so that the same machine code is the
same file. Two evaluations of one program would differ by chance alone, and a search would follow the chance.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from weakref import WeakValueDictionary

from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.runner.protocol import EvaluationAnswer, Executable
from tui_tuner.problem.model import Configuration

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
