"""One process that holds a Python kernel: started, spoken to, killed when it is silent for too long."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from tui_tuner.errors import UserError
from tui_tuner.evaluate.channel import ChannelClosed, encode, receive_async
from tui_tuner.evaluate.python_kernels.messages import KernelAnswer, KernelPhase, KernelRequest
from tui_tuner.evaluate.requests import UserErrorAnswer
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.processes.child import Child, Program, start
from tui_tuner.processes.environment import environment_without_keys

GRACE_S = 2.0
"""How long after its own limit it may still answer before it is killed."""
START_LIMIT_S = 120.0
EXIT_S = 0.2
"""One that ends by itself has so long until it is killed, and keeps its exit status."""
MODULE = "tui_tuner.evaluate.python_kernels.child"


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
    command: Sequence[str] = (sys.executable, "-P", "-m", MODULE)


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
        with takes, gives, log.open("ab") as output:
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
        _, writer = await asyncio.open_connection(sock=requests)
        reader, answering = await asyncio.open_connection(sock=answers)
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
            else:
                if not isinstance(answer, KernelPhase):
                    return _raise_failed(answer)
                self._doing = answer
        code = await self.kill()
        how = f"no end after {self._doing.limit_s:.0f} s"
        if self._end is FailureKind.CRASH:
            how = f"the process ended ({_why(code)})"
        failure = Failure(kind=self._end, message=f"{self._doing.text}: {how}")
        raise KernelProcessDied(failure, self._doing.id)

    async def _next_frame(self, limit_s: float) -> dict[str, Any]:
        if self._reading is None:
            self._reading = asyncio.create_task(receive_async(self._reader))
        done, _ = await asyncio.wait({self._reading}, timeout=limit_s)
        if not done:
            raise TimeoutError
        reading, self._reading = self._reading, None
        return reading.result()

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


def _why(code: int | None) -> str:
    if code is None:
        return "and does not go away"
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"
