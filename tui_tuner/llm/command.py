"""A program as the model: the prompt on its standard input, the reply on its standard output."""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress

from tui_tuner.llm.base import Chunk, Message, Request, Stop
from tui_tuner.llm.errors import BrokenOff, ServerFault, Site, TransportError, Unreachable
from tui_tuner.llm.prices import estimated_usage
from tui_tuner.llm.schema import repeating_schema
from tui_tuner.llm.streams import Pace, closing, guarded
from tui_tuner.text import redact

_PIECE = 4096  # bytes
_MOST_OUTPUT = 8 * 2**20  # bytes
_END_S = 2.0
_POLL_S = 0.01
_KEPT_ERRORS = 8192  # bytes
_LAST_WORDS = 280  # characters


class CommandBackend:
    """A program that reads the whole prompt and writes the whole reply.

    It runs in a process group of its own, which is killed when the call is cancelled or late.

    Args:
        argv: program and arguments; no shell is involved.
        limit_s: how long it may stay silent, seconds.
    """

    context_tokens: int | None = None

    def __init__(self, argv: Sequence[str], limit_s: float) -> None:
        self._argv = tuple(argv)
        program = os.path.basename(self._argv[0])  # noqa: PTH119 (a name, not a path to work with)
        self.name = f"command:{program}"
        self._site = Site("command", program)
        self._pace = Pace(limit_s, limit_s)

    def stream(self, request: Request) -> AsyncGenerator[Chunk]:
        """Run the program and yield what it writes; see `Backend.stream`."""
        return guarded(self._chunks(request), self._site, self._pace, self._translate)

    async def aclose(self) -> None:
        """Do nothing: no process outlives its call."""

    async def _chunks(self, request: Request) -> AsyncGenerator[Chunk]:
        prompt = render(repeating_schema(request))
        process = await self._started()
        feeding = asyncio.create_task(_feed(process, prompt))
        errors = asyncio.create_task(_tail(process))
        said: list[str] = []
        try:
            async with closing(self._output(process)) as texts:
                async for text in texts:
                    said.append(text)
                    yield Chunk(text)
            status = await _exit_status(process)
            _kill_group(process)  # a child left behind would hold standard error open
            complaint = await errors
        finally:
            await _end(process, feeding, errors)
        if status != 0:
            raise ServerFault("the program failed", self._site, status=status, body=complaint)
        if not said:
            raise BrokenOff("the program wrote nothing", self._site, body=complaint)
        yield Chunk(stop=Stop.COMPLETE, usage=estimated_usage(self.name, request, "".join(said)))

    async def _started(self) -> Process:
        try:
            return await asyncio.create_subprocess_exec(
                *self._argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
            )
        except OSError as error:
            raise Unreachable("the program cannot be started", self._site, body=str(error)) from None

    async def _output(self, process: Process) -> AsyncGenerator[str]:
        assert process.stdout is not None  # noqa: S101 (was opened as a pipe)
        decoder, size = codecs.getincrementaldecoder("utf-8")("replace"), 0
        while piece := await process.stdout.read(_PIECE):
            size += len(piece)
            if size > _MOST_OUTPUT:
                raise BrokenOff(f"the program wrote more than {_MOST_OUTPUT} bytes", self._site)
            if text := decoder.decode(piece):
                yield text
        if rest := decoder.decode(b"", final=True):
            yield rest

    def _translate(self, error: Exception) -> TransportError | None:
        return BrokenOff("the pipe broke", self._site, body=str(error)) if isinstance(error, OSError) else None


def render(messages: Sequence[Message]) -> str:
    """Return a conversation as plain text, each message under a heading with its role."""
    parts = [f"=== {message.role.upper()} ===\n{message.content.strip()}\n" for message in messages]
    return "\n".join([*parts, "=== ASSISTANT ===\n"])


async def _feed(process: Process, prompt: str) -> None:
    assert process.stdin is not None  # noqa: S101 (was opened as a pipe)
    # A program may answer without reading all of its input.
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(prompt.encode(errors="replace"))
        await process.stdin.drain()
    process.stdin.close()


async def _tail(process: Process) -> str:
    """Read standard error to its end and return its last words, without keys."""
    assert process.stderr is not None  # noqa: S101 (was opened as a pipe)
    kept = b""
    while piece := await process.stderr.read(_PIECE):
        kept = (kept + piece)[-_KEPT_ERRORS:]
    # Redacted before it is cut: half a key would no longer look like one.
    return redact(kept.decode(errors="replace"))[-_LAST_WORDS:]


async def _exit_status(process: Process) -> int:
    """Wait for the program alone; `Process.wait` also waits for pipes that a child of it may hold."""
    while process.returncode is None:
        await asyncio.sleep(_POLL_S)
    return process.returncode


def _kill_group(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def _end(process: Process, *tasks: asyncio.Task[object]) -> None:
    """Kill the whole group, children included, and wait until nothing of it is left."""
    assert process.stdout is not None  # noqa: S101 (was opened as a pipe)
    _kill_group(process)
    with suppress(TimeoutError):  # a child that left the group may hold the pipes
        async with asyncio.timeout(_END_S):
            while await process.stdout.read(_PIECE):  # an unread pipe would never close
                pass
            await process.wait()
            await asyncio.wait(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
