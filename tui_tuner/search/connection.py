"""The parent's side of a search process: begin a search, ask and tell, kill."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from asyncio.subprocess import PIPE, STDOUT
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from tui_tuner.errors import UserError
from tui_tuner.processes import environment_without_keys
from tui_tuner.processes.child import Child, Program, start
from tui_tuner.processes.server import own_program

LINE_LIMIT = 2**26
SAID_LINES = 8


class SearchError(UserError):
    """The search process failed."""


class SearchProcess:
    """A process that carries out one search after another.

    It starts with the first, or when it is told to load: its libraries take a second.

    Attributes:
        reason: why the last search is over; empty while it is not.
    """

    def __init__(self) -> None:
        self.reason = ""
        self._talk: _Talk | None = None
        self._searching = False

    async def load(self, method: str) -> None:
        """Start the process and let it load what a method needs, while something else goes on.

        Raises:
            SearchError: it ended at once.
        """
        if self._talk is None:
            self._talk = await _Talk.start()
        await self._talk.send({"load": method})

    async def begin(self, job: Mapping[str, Any]) -> None:
        """Give the process its next job.

        Raises:
            SearchError: it ended at once.
        """
        self.reason, self._searching = "", True
        if self._talk is not None:
            with contextlib.suppress(SearchError):  # it has gone in the meantime
                await self._talk.send(job)
                return
            await self.close()
        self._talk, self._searching = await _Talk.start(), True
        await self._talk.send(job)

    async def next_batch(self) -> tuple[list[Any], int] | None:
        """Wait for what to evaluate next, as the process names it, and how many may be unfinished; None at the end.

        Raises:
            SearchError: the process failed or died.
        """
        message = await self._spoken.receive()
        if "failed" in message:
            self._searching = False
            raise SearchError(f"the search failed: {message['failed']}", hint="another search method may do")
        if "done" in message:
            self.reason, self._searching = message["done"], False
            return None
        return message["ask"], message["unfinished"]

    async def tell(self, results: Sequence[float | None], others: Sequence[tuple[object, float | None]] = ()) -> None:
        """Answer the last batch: the time of each in ms, None for failures, and what was measured besides.

        Raises:
            SearchError: the process died.
        """
        told = [{"error": ""} if time is None else {"time": time} for time in results]
        await self._spoken.send({"tell": told, "others": others})

    async def leave(self) -> None:
        """Give up the search, where it is not over: what is in the middle of one can only be killed."""
        if self._searching:
            await self.close()

    async def close(self) -> None:
        """Kill the process, if there is one, and wait until it is gone."""
        talk, self._talk, self._searching = self._talk, None, False
        if talk is not None:
            await talk.close()

    @property
    def _spoken(self) -> _Talk:
        if self._talk is None:
            raise RuntimeError("no search has begun")
        return self._talk


class _Talk:
    """A running process, and the socket to it."""

    def __init__(self, child: Child, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.child = child
        self._reader = reader
        self._writer = writer
        self._last_lines: deque[str] = deque(maxlen=SAID_LINES)
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls) -> _Talk:
        """Start a process."""
        ours, theirs = socket.socketpair()
        with theirs:
            reader, writer = await asyncio.open_unix_connection(sock=ours, limit=LINE_LIMIT)
            try:
                return cls(await _spawn(theirs.fileno()), reader, writer)
            except BaseException:
                writer.close()
                raise

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send one message.

        Raises:
            SearchError: the process is gone.
        """
        try:
            self._writer.write(json.dumps(message).encode() + b"\n")
            await self._writer.drain()
        except ConnectionError:
            raise await self._died() from None

    async def receive(self) -> dict[str, Any]:
        """Wait for one message.

        Raises:
            SearchError: the process is gone.
        """
        try:
            line = await self._reader.readline()
        except ConnectionError:
            line = b""
        if not line:
            raise await self._died()
        message: dict[str, Any] = json.loads(line)
        return message

    async def close(self) -> None:
        """Kill the process, if it still runs, and wait until it is gone."""
        try:
            await self.child.kill()
            await self._listening
        finally:
            self.child.close()
            self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()

    async def _listen(self) -> None:
        assert self.child.output is not None  # noqa: S101 - it was started with a pipe
        while piece := await self.child.output.read(2**16):
            self._last_lines.extend(piece.decode(errors="replace").splitlines())

    async def _died(self) -> SearchError:
        code = await self.child.wait()
        await self._listening
        said = "\n  ".join(self._last_lines) or "it said nothing"
        return SearchError(f"the search process ended unexpectedly (status {code}):\n  {said}")


async def _spawn(descriptor: int) -> Child:
    program = Program(
        own_program("tui_tuner.search.process", str(os.getpid()), str(descriptor)),
        environment=_environment(),
        output=PIPE,
        errors=STDOUT,
        descriptors=(descriptor,),
        dies_with_us=False,
    )
    return await start(program)


def _environment() -> dict[str, str]:
    """One thread, no GPU, the same hashes every time: a search decides, and does so repeatably."""
    return {
        **environment_without_keys(),
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
