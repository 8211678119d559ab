"""The parent's side of a search process: start, ask and tell, kill."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tui_tuner.errors import UserError
from tui_tuner.processes import environment_without_keys
from tui_tuner.processes.child import Child, Program, start

LINE_LIMIT = 2**26
SAID_LINES = 8


class SearchError(UserError):
    """The search process failed."""


class SearchProcess:
    """A running search process. Make one with `start`, give it back with `close`.

    Attributes:
        reason: why the search is over; empty until it is.
    """

    def __init__(self, child: Child, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reason = ""
        self._child = child
        self._reader = reader
        self._writer = writer
        self._last_lines: deque[str] = deque(maxlen=SAID_LINES)
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, job: Mapping[str, Any]) -> SearchProcess:
        """Start a process and give it its job.

        Raises:
            SearchError: it ended at once.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            reader, writer = await asyncio.open_unix_connection(sock=ours, limit=LINE_LIMIT)
            try:
                search = cls(await _spawn(theirs.fileno()), reader, writer)
            except BaseException:
                writer.close()
                raise
        try:
            await search._send(job)
        except BaseException:
            await search.close()
            raise
        return search

    async def next_batch(self) -> list[Any] | None:
        """Wait for what to evaluate next, as the process names it; None when the search is over.

        Raises:
            SearchError: the process failed or died.
        """
        try:
            line = await self._reader.readline()
        except ConnectionError:
            line = b""
        if not line:
            raise await self._died()
        message = json.loads(line)
        if "failed" in message:
            raise SearchError(f"the search failed: {message['failed']}", hint="another search method may do")
        if "done" in message:
            self.reason = message["done"]
            return None
        asked: list[Any] = message["ask"]
        return asked

    async def tell(self, results: Sequence[float | None]) -> None:
        """Answer the last batch: the time of each in ms, None for failures.

        Raises:
            SearchError: the process died.
        """
        await self._send({"tell": [{"error": ""} if time is None else {"time": time} for time in results]})

    async def close(self) -> None:
        """Kill the process, if it still runs, and wait until it is gone."""
        await self._child.kill()
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()
        await self._listening
        self._child.close()

    async def _send(self, message: Mapping[str, Any]) -> None:
        try:
            self._writer.write(json.dumps(message).encode() + b"\n")
            await self._writer.drain()
        except ConnectionError:
            raise await self._died() from None

    async def _listen(self) -> None:
        assert self._child.output is not None  # noqa: S101 - it was started with a pipe
        while piece := await self._child.output.read(2**16):
            self._last_lines.extend(piece.decode(errors="replace").splitlines())

    async def _died(self) -> SearchError:
        code = await self._child.wait()
        await self._listening
        said = "\n  ".join(self._last_lines) or "it said nothing"
        return SearchError(f"the search process ended unexpectedly (status {code}):\n  {said}")


async def _spawn(descriptor: int) -> Child:
    program = Program(
        (sys.executable, "-P", "-m", "tui_tuner.search.process", str(os.getpid()), str(descriptor)),
        environment=_environment(),
        output=PIPE,
        errors=STDOUT,
        descriptors=(descriptor,),
        dies_with_us=False,
    )
    return await start(program)


def _environment() -> dict[str, str]:
    """One thread, no GPU, the same hashes every time: a search decides, and does so repeatably."""
    inherited = environment_without_keys()
    places = [str(Path(__file__).parents[2]), *filter(None, [inherited.get("PYTHONPATH")])]
    return {
        **inherited,
        "PYTHONPATH": os.pathsep.join(places),
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
