"""Runs Tensile once: a subprocess, no shell, with a time limit, its output in a file and line by line."""

from __future__ import annotations

import asyncio
import signal
import time
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from tui_tuner.processes.child import Child, Program, start
from tui_tuner.tensile.running.ended import Ended, LogSummary
from tui_tuner.tensile.running.environment import environment
from tui_tuner.tensile.running.find import Tensile
from tui_tuner.tensile.running.lines import LineCutter, Ration
from tui_tuner.tensile.running.log import LogReader

_LARGEST_LOG = 256 << 20
_CHUNK = 1 << 16
GRACE_S = 5.0
"""Between being asked to end and being made to."""
_DRAIN_S = 2.0
"""For what is still in the pipe when Tensile has ended; a process that it left behind may hold the pipe open."""


async def run_tensile(
    tensile: Tensile,
    config: Path,
    output: Path,
    *,
    sizes: Path | None = None,
    limit_s: float | None,
    on_line: Callable[[str], None],
) -> Ended:
    """Run Tensile on a configuration. However this ends, nothing of the run is left behind running.

    Args:
        output: Tensile's directory; the log lies beside it, as `<output>.log`.
        sizes: the list of problem sizes where the configuration is in the alternate format.
        limit_s: seconds until it is ended; None for no limit.
        on_line: is told what Tensile prints, cleaned, shortened, and no faster than a reader can follow.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    run = _Run(output.with_name(f"{output.name}.log"), on_line)
    files = [str(config.absolute())] if sizes is None else [str(config.absolute()), str(sizes.absolute())]
    options = [] if sizes is None else ["--alternate-format"]
    return await run.through([*tensile.command, *files, str(output.absolute()), *options], limit_s)


class _Run:
    def __init__(self, log: Path, on_line: Callable[[str], None]) -> None:
        self._log = log
        self._reader, self._ration = LogReader(), Ration(on_line)
        self._start = time.monotonic()
        self._written = 0

    def _seconds(self) -> float:
        return time.monotonic() - self._start

    async def through(self, command: Sequence[str], limit_s: float | None) -> Ended:
        with self._log.open("wb") as file:
            try:
                child = await start(Program(command, environment=environment(), output=PIPE, errors=STDOUT))
            except OSError as error:
                why = f"{command[0]}: {error.strerror}"
                return Ended(self._seconds(), None, False, limit_s, self._log, LogSummary(), why)
            timed_out = await self._until_the_end(child, file, limit_s)
        self._ration.end()
        seconds = self._seconds()
        return Ended(seconds, child.returncode, timed_out, limit_s, self._log, self._reader.summary(seconds))

    async def _until_the_end(self, child: Child, file: BinaryIO, limit_s: float | None) -> bool:
        """Whether the time was up."""
        reading = asyncio.create_task(self._read(child, file))
        timed_out = False
        try:
            await asyncio.wait_for(child.process.wait(), limit_s)
        except TimeoutError:
            timed_out = True
        finally:
            try:
                await child.end(GRACE_S)
                await asyncio.wait({reading}, timeout=_DRAIN_S)
            finally:
                reading.cancel()
                child.close()
        if reading.done() and not reading.cancelled():
            reading.result()
        return timed_out

    async def _read(self, child: Child, file: BinaryIO) -> None:
        assert child.output is not None  # noqa: S101 - it was started with a pipe
        cutter = LineCutter()
        try:
            while chunk := await child.output.read(_CHUNK):
                self._keep(chunk, file)
                for line in cutter.feed(chunk):
                    self._take(line)
            for line in cutter.feed(b"", last=True):
                self._take(line)
        except Exception:  # the disk is full, or whoever listens failed: an unread pipe would hold Tensile up
            child.signal_group(signal.SIGKILL)
            raise

    def _keep(self, chunk: bytes, file: BinaryIO) -> None:
        file.write(chunk[: max(0, _LARGEST_LOG - self._written)])
        file.flush()
        self._written += len(chunk)

    def _take(self, line: str) -> None:
        seconds = self._seconds()
        self._reader.feed(line, seconds)
        self._ration.feed(line, seconds)
