"""A program as the model: the prompt on its standard input, the reply on its standard output."""

from __future__ import annotations

import asyncio
import codecs
import errno
import os
import signal
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Sequence

from tui_tuner.llm import Chunk, Message, Request, Stop
from tui_tuner.llm.errors import BrokenOff, NoWay, ServerFault, Service, TransportError, Unreachable
from tui_tuner.llm.prices import estimated_usage
from tui_tuner.llm.streams import Pace, closing, guarded
from tui_tuner.llm.typed import in_words
from tui_tuner.processes import secrets_of_environment, whole_environment
from tui_tuner.processes.child import Child, Program, start
from tui_tuner.text import redact

_PIECE = 4096  # bytes
_MOST_OUTPUT = 8 * 2**20  # bytes
_END_S = 2.0
_KEPT_ERRORS = 8192  # bytes
_LAST_WORDS = 280  # characters
_PASSES = (errno.EAGAIN, errno.ENOMEM, errno.ENFILE, errno.EMFILE, errno.ETXTBSY)
"""Why a program cannot be started now, and may be a little later."""


class CommandBackend:
    """A program that reads the whole prompt and writes the whole reply.

    It ends with all that it started when the call is cancelled or late, and when it has answered.

    Args:
        argv: program and arguments; no shell is involved.
        limit_s: how long it may stay silent, seconds.
        fenced: whether code is asked for in a fenced block, see `Way.FENCED`.
    """

    context_tokens: int | None = None

    def __init__(self, argv: Sequence[str], limit_s: float, *, fenced: bool = False) -> None:
        self._argv = tuple(argv)
        self._fenced = fenced
        program = os.path.basename(self._argv[0])  # noqa: PTH119 (a name, not a path to work with)
        self.name = f"command:{program}"
        self._service = Service("command", program)
        self._pace = Pace(limit_s, limit_s)
        self._said = b""

    def stream(self, request: Request) -> AsyncGenerator[Chunk]:
        """Run the program and yield what it writes; see `Backend.stream`."""
        return guarded(self._chunks(request), self._service, self._pace, self._translate)

    async def aclose(self) -> None:
        """Do nothing: no process outlives its call."""

    async def _chunks(self, request: Request) -> AsyncGenerator[Chunk]:
        prompt = render(in_words(request, fenced=self._fenced))
        child = await self._start()
        feeding = asyncio.create_task(child.feed(prompt.encode(errors="replace")))
        errors = asyncio.create_task(self._listen(child))
        said: list[str] = []
        try:
            async with closing(self._output(child)) as texts:
                async for text in texts:
                    said.append(text)
                    yield Chunk(text)
            status = await child.wait()
            child.signal_group(signal.SIGKILL)  # a child left behind would hold standard error open
            await errors
        finally:
            await _end(child, feeding, errors)
        if status is not None and status < 0:
            name = signal.strsignal(-status) or f"signal {-status}"
            raise ServerFault(f"the program was killed: {name}", self._service, body=self.complaint)
        if status != 0:
            raise ServerFault("the program failed", self._service, status=status, body=self.complaint)
        if not said:
            raise BrokenOff("the program wrote nothing to standard output", self._service, body=self.complaint)
        yield Chunk(stop=Stop.COMPLETE, usage=estimated_usage(self.name, request, "".join(said)))

    async def _start(self) -> Child:
        environment = whole_environment()
        program = Program(self._argv, environment, output=PIPE, errors=PIPE, has_input=True, ends_whole=True)
        try:
            return await start(program)
        except OSError as error:
            kind = Unreachable if error.errno in _PASSES else NoWay
            raise kind(f"the program cannot be started{_why(error)}", self._service, body=str(error)) from None

    async def _listen(self, child: Child) -> None:
        """Read standard error to its end and keep its last words."""
        assert child.errors is not None  # noqa: S101 (was opened as a pipe)
        self._said = b""
        while piece := await child.errors.read(_PIECE):
            self._said = (self._said + piece)[-_KEPT_ERRORS:]

    @property
    def complaint(self) -> str:
        """The last words of the program on standard error so far, without keys."""
        # Redacted before it is cut: half a key would no longer look like one.
        return redact(self._said.decode(errors="replace"), secrets=secrets_of_environment())[-_LAST_WORDS:]

    async def _output(self, child: Child) -> AsyncGenerator[str]:
        assert child.output is not None  # noqa: S101 (was opened as a pipe)
        decoder, size = codecs.getincrementaldecoder("utf-8")("replace"), 0
        while piece := await child.output.read(_PIECE):
            size += len(piece)
            if size > _MOST_OUTPUT:
                raise BrokenOff(f"the program wrote more than {_MOST_OUTPUT} bytes", self._service)
            if text := decoder.decode(piece):
                yield text
        if rest := decoder.decode(b"", final=True):
            yield rest

    def _translate(self, error: Exception) -> TransportError | None:
        return BrokenOff("the pipe broke", self._service, body=str(error)) if isinstance(error, OSError) else None


def render(messages: Sequence[Message]) -> str:
    """Return a conversation as plain text, each message under a heading with its role."""
    parts = [f"=== {message.role.upper()} ===\n{message.content.strip()}\n" for message in messages]
    return "\n".join([*parts, "=== ASSISTANT ===\n"])


def _why(error: OSError) -> str:
    """What is wrong with a program that was there when it was chosen."""
    if error.errno == errno.ENOEXEC:
        return "; it begins with no line that names what runs it, as #!/bin/sh"
    return "; it, or what its first line names, is not there" if error.errno == errno.ENOENT else ""


async def _end(child: Child, *tasks: asyncio.Task[object]) -> None:
    """Kill all of it, and wait until nothing of it is left."""
    try:
        await child.kill()
        await asyncio.wait(tasks, timeout=_END_S)  # a child that left the group may hold the pipes
    finally:
        for task in tasks:
            task.cancel()
        child.close()
    await asyncio.gather(*tasks, return_exceptions=True)
