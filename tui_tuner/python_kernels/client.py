"""The process that holds a Python kernel: started, spoken to, many requests under way, replaced after a crash."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from tui_tuner.errors import DeviceError, UserError
from tui_tuner.evaluate.results import Comparison, Failure, FailureKind
from tui_tuner.evaluate.runner.protocol import ChannelClosed, UserErrorAnswer, encode, receive_async
from tui_tuner.processes import end_in_words, environment_without_keys
from tui_tuner.processes.child import Child, Program, start
from tui_tuner.processes.server import own_program
from tui_tuner.processes.time_limit import time_limit
from tui_tuner.python_kernels import (
    ForgetRequest,
    KernelAnswer,
    KernelComparisonAnswer,
    KernelComparisonRequest,
    KernelEvaluationAnswer,
    KernelOpenAnswer,
    KernelOpenRequest,
    KernelPhase,
    KernelRequest,
    MachineCodeAnswer,
    MachineCodeRequest,
    NumberedAnswer,
    NumberedRequest,
)

GRACE_S = 2.0
"""How long after its own limit it may still answer before it is killed."""
START_LIMIT_S = 120.0
EXIT_S = 0.2
"""One that ends by itself has so long until it is killed, and keeps its exit status."""
MODULE = "tui_tuner.python_kernels.child"


class KernelProcessDied(Exception):
    """It crashed, or hung and was killed.

    Args:
        id: of the request that is to be blamed; None where none is.
    """

    def __init__(self, failure: Failure, id: int | None) -> None:  # noqa: A002 (as the frames call it)
        super().__init__(failure.message)
        self.failure = failure
        self.id = id


@dataclass(frozen=True)
class ProcessOptions:
    """How the process is started.

    Attributes:
        variables: of its environment, beside those that it inherits.
        command: what to run, with the numbers of two sockets behind it: for requests and for answers.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] = own_program(MODULE)


DEFAULT = ProcessOptions()


class KernelProcess:
    """A running process; one reader at a time."""

    def __init__(
        self,
        child: Child,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answering: asyncio.StreamWriter,
    ) -> None:
        self._child = child
        self._answering = answering  # the transport of the reader, never written to
        self._reader = reader
        self._writer = writer
        self._answers: TypeAdapter[KernelAnswer] = TypeAdapter(KernelAnswer)
        self._doing = KernelPhase(text="starting", limit_s=START_LIMIT_S)
        self._reading: asyncio.Task[dict[str, Any]] | None = None
        self._end: FailureKind | None = None

    @classmethod
    async def start(cls, log: Path, options: ProcessOptions) -> KernelProcess:
        """Start it; what its libraries print goes to the log."""
        # Two ways: a request that cannot be delivered any more must not cost answers that are on their way.
        requests, takes = socket.socketpair()
        answers, gives = socket.socketpair()
        with takes, gives, log.open("ab") as output, ExitStack() as failed:
            for each in (requests, answers):
                failed.callback(each.close)
            _, writer = await asyncio.open_connection(sock=requests)
            failed.callback(writer.close)
            reader, answering = await asyncio.open_connection(sock=answers)
            failed.callback(answering.close)
            descriptors = takes.fileno(), gives.fileno()
            program = Program(
                (*options.command, *map(str, descriptors)),
                environment={**environment_without_keys(), **options.variables},
                output=output,
                errors=output,
                descriptors=descriptors,
                dies_with_us=False,
            )
            child = await start(program)
            failed.pop_all()
        return cls(child, reader, writer, answering)

    def send(self, request: KernelRequest) -> None:
        """Queue a request; that it is lost shows when its answer is waited for."""
        if not self._writer.is_closing():
            self._writer.write(encode(request.model_dump(mode="json")))

    async def receive(self) -> KernelAnswer:
        """Wait for the next answer; a wait that is cancelled loses nothing, and the next one goes on where it stood.

        Raises:
            UserError: the process says that the user must mend something.
            KernelProcessDied: there will be none.
        """
        while self._end is None:
            try:
                answer = self._answers.validate_python(await self._next_frame(self._doing.limit_s + GRACE_S))
            except TimeoutError:
                self._end = FailureKind.TIMEOUT
            except (ChannelClosed, ConnectionError):
                self._end = FailureKind.CRASH
                await self._child.wait(GRACE_S)  # it may have begun to end, which is no signal
            else:
                if not isinstance(answer, KernelPhase):
                    return _raise_failed(answer)
                self._doing = answer
        code = await self.kill()
        how = f"no end after {self._doing.limit_s:.0f} s"
        if self._end is FailureKind.CRASH:
            how = f"the process ended ({end_in_words(code)})"
        failure = Failure(kind=self._end, message=f"{self._doing.text}: {how}")
        raise KernelProcessDied(failure, self._doing.id)

    async def _next_frame(self, limit_s: float) -> dict[str, Any]:
        if self._reading is None:
            self._reading = asyncio.create_task(receive_async(self._reader))
        async with time_limit(limit_s):
            await asyncio.wait({self._reading})
        reading, self._reading = self._reading, None
        return reading.result()

    async def end(self, limit_s: float) -> None:
        """Let it come to its end by itself, and what runs it, too."""
        self._writer.close()
        await self._child.wait(limit_s)

    async def kill(self) -> int | None:
        """End the process and all it started; its exit status, None if it cannot be had."""
        self._writer.close()
        self._answering.close()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._child.wait(EXIT_S)
        return await self._child.kill()


def _raise_failed(answer: KernelAnswer) -> KernelAnswer:
    if isinstance(answer, UserErrorAnswer):
        raise UserError(answer.message, hint=answer.hint, file=answer.file, line=answer.line)
    return answer


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
        if isinstance(answer, NumberedAnswer):
            self._crashes = 0
            self._hand_on(answer.id, answer)
            if not isinstance(answer, MachineCodeAnswer) and answer.fatal:
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
        return KernelComparisonAnswer(id=request.id, comparison=Comparison.failed(failure))
    if isinstance(request, MachineCodeRequest):
        return MachineCodeAnswer(id=request.id, failure=failure)
    return KernelEvaluationAnswer(id=request.id, failure=failure)


def _unwell(died: KernelProcessDied) -> DeviceError:
    return DeviceError(
        f"the process that holds the kernel does not stay alive: {died.failure.message}",
        hint="runner.log in the run's directory has what it printed; look at nvidia-smi as well",
    )
