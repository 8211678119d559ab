"""A kernel's process that is always there: many requests under way, and a fresh process for the rest after a crash."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.python_kernels.messages import (
    ForgetRequest,
    KernelComparisonAnswer,
    KernelComparisonRequest,
    KernelEvaluationAnswer,
    KernelOpenAnswer,
    KernelOpenRequest,
    NumberedAnswer,
    NumberedRequest,
)
from tui_tuner.evaluate.python_kernels.process import KernelProcess, KernelProcessDied
from tui_tuner.evaluate.results import Comparison, Failure

CRASHES = 3
"""So many processes may die in a row without an answer before the device is given up."""
Start = Callable[[], Coroutine[Any, Any, KernelProcess]]


@dataclass(frozen=True)
class _Waiting:
    request: NumberedRequest
    answer: asyncio.Future[NumberedAnswer]


class KernelClient:
    """Asks the process that holds a kernel.

    Args:
        start: begins a process.
        opening: what a fresh process is told first.
    """

    def __init__(self, start: Start, opening: KernelOpenRequest) -> None:
        self._start = start
        self._opening = opening
        self._waiting: dict[int, _Waiting] = {}
        self._numbers = itertools.count(1)
        self._process: KernelProcess | None = None
        self._serving: asyncio.Task[None] | None = None
        self._crashes = 0

    async def open(self) -> KernelOpenAnswer:
        """Take the device; the default configuration's outcome is in the answer, a failure as well.

        Raises:
            UserError: the user must mend something.
            DeviceError: the process dies before it can tell.
        """
        process, opened = await self._opened()
        self._process = process
        return opened

    def next_number(self) -> int:
        """For the next request."""
        return next(self._numbers)

    async def ask(self, request: NumberedRequest) -> NumberedAnswer:
        """The outcome of a request; a crash that it is to be blamed for is its failure.

        Raises:
            UserError: the user must mend something.
            DeviceError: one process after the other dies.
        """
        answer: asyncio.Future[NumberedAnswer] = asyncio.get_running_loop().create_future()
        self._waiting[request.id] = _Waiting(request, answer)
        if self._process is not None:
            self._process.send(request)
        if self._serving is None or self._serving.done() or self._serving.cancelling():
            self._serving = asyncio.create_task(self._serve(self._serving))
        try:
            return await answer
        finally:
            self._forget(request.id)

    def _forget(self, number: int) -> None:
        """Nobody waits for a request any more; where none is left, silence is no sign of a hang."""
        if self._waiting.pop(number, None) is not None and self._process is not None:
            self._process.send(ForgetRequest(id=number))
        if not self._waiting and self._serving is not None and self._process is not None:
            self._serving.cancel()

    async def close(self) -> None:
        """End the process."""
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.gather(self._serving, return_exceptions=True)
        if self._process is not None:
            await self._process.kill()
            self._process = None

    async def _serve(self, before: asyncio.Task[None] | None) -> None:
        """Hand answers on while somebody waits for one, once the task that did so before has ended."""
        try:
            if before is not None:
                await asyncio.wait({before})
            while self._waiting:
                await self._receive()
        except Exception as error:
            for waiting in [*self._waiting.values()]:
                if not waiting.answer.done():
                    waiting.answer.set_exception(error)
            self._waiting.clear()

    async def _receive(self) -> None:
        if self._process is None:
            self._process, _ = await self._opened()
            for waiting in self._waiting.values():
                self._process.send(waiting.request)
        try:
            answer = await self._process.receive()
        except KernelProcessDied as died:
            self._process = None
            self._bury(died)
            return
        if isinstance(answer, KernelEvaluationAnswer | KernelComparisonAnswer):
            self._crashes = 0
            self._hand_on(answer.id, answer)
            if answer.fatal:
                process, self._process = self._process, None
                await process.kill()

    def _bury(self, died: KernelProcessDied) -> None:
        self._crashes += 1
        if died.id in self._waiting:
            self._crashes = 0
            self._hand_on(died.id, _failed(self._waiting[died.id].request, died.failure))
        elif self._crashes >= CRASHES:
            raise _unwell(died)

    def _hand_on(self, number: int, outcome: NumberedAnswer) -> None:
        waiting = self._waiting.pop(number, None)
        if waiting is not None and not waiting.answer.done():
            waiting.answer.set_result(outcome)

    async def _opened(self) -> tuple[KernelProcess, KernelOpenAnswer]:
        process = await self._start()
        process.send(self._opening)
        try:
            opened = await process.receive()
        except KernelProcessDied as died:
            raise _unwell(died) from died
        except BaseException:
            await process.kill()
            raise
        if not isinstance(opened, KernelOpenAnswer):
            raise RuntimeError(f"unexpected answer to open: {opened!r}")
        return process, opened


def _failed(request: NumberedRequest, failure: Failure) -> NumberedAnswer:
    if isinstance(request, KernelComparisonRequest):
        comparison = Comparison(ratio=0.0, low=0.0, high=0.0, pairs=0, failure=failure)
        return KernelComparisonAnswer(id=request.id, comparison=comparison)
    return KernelEvaluationAnswer(id=request.id, failure=failure)


def _unwell(died: KernelProcessDied) -> DeviceError:
    return DeviceError(
        f"the process that holds the kernel does not stay alive: {died.failure.message}",
        hint="runner.log in the run's directory has what it printed; look at nvidia-smi as well",
    )
