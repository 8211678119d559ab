"""Runs Tensile once: a subprocess, no shell, with a time limit, its output in a file and line by line."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tui_tuner.tensile.running.ended import Ended, LogSummary
from tui_tuner.tensile.running.find import Tensile
from tui_tuner.tensile.running.group import end_group
from tui_tuner.tensile.running.lines import LineCutter, Ration
from tui_tuner.tensile.running.log import LogReader
from tui_tuner.tensile.running.start import Started, start

_LARGEST_LOG = 256 << 20
_CHUNK = 1 << 16
_DRAIN_S = 2.0
"""For what is still in the pipe when Tensile has ended; a process that it left behind may hold the pipe open."""


async def ended_within(process: asyncio.subprocess.Process, limit_s: float | None) -> bool:
    """Wait for a process; False when the time is up before it ends."""
    try:
        await asyncio.wait_for(process.wait(), limit_s)
    except TimeoutError:
        return False
    return True


@dataclass(frozen=True)
class RunClock:
    """What times a run and says when its time is up; that of the machine unless a test has its own.

    Attributes:
        now: seconds, monotonic.
        ended_within: waits for a process, as `ended_within` does.
    """

    now: Callable[[], float] = time.monotonic
    ended_within: Callable[[asyncio.subprocess.Process, float | None], Awaitable[bool]] = ended_within


WALL_CLOCK = RunClock()


async def run_tensile(
    tensile: Tensile,
    config: Path,
    output: Path,
    *,
    sizes: Path | None = None,
    limit_s: float | None,
    on_line: Callable[[str], None],
    clock: RunClock = WALL_CLOCK,
) -> Ended:
    """Run Tensile on a configuration. However this ends, nothing of the run is left behind running.

    Args:
        output: Tensile's directory; the log lies beside it, as `<output>.log`.
        sizes: the list of problem sizes where the configuration is in the alternate format.
        limit_s: seconds until it is ended; None for no limit.
        on_line: is told what Tensile prints, cleaned, shortened, and no faster than a reader can follow.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    run = _Run(output.with_name(f"{output.name}.log"), on_line, clock)
    files = [str(config.absolute())] if sizes is None else [str(config.absolute()), str(sizes.absolute())]
    options = [] if sizes is None else ["--alternate-format"]
    return await run.through([*tensile.command, *files, str(output.absolute()), *options], limit_s)


class _Run:
    def __init__(self, log: Path, on_line: Callable[[str], None], clock: RunClock) -> None:
        self._log = log
        self._clock = clock
        self._reader, self._ration = LogReader(), Ration(on_line)
        self._start = clock.now()
        self._written = 0

    def _seconds(self) -> float:
        return self._clock.now() - self._start

    async def through(self, command: Sequence[str], limit_s: float | None) -> Ended:
        with self._log.open("wb") as file:
            try:
                started = await start(command)
            except OSError as error:
                why = f"{command[0]}: {error.strerror}"
                return Ended(self._seconds(), None, False, limit_s, self._log, LogSummary(), why)
            timed_out = await self._until_the_end(started, file, limit_s)
        self._ration.end()
        seconds = self._seconds()
        return Ended(seconds, started.process.returncode, timed_out, limit_s, self._log, self._reader.summary(seconds))

    async def _until_the_end(self, started: Started, file: BinaryIO, limit_s: float | None) -> bool:
        """Whether the time was up."""
        reading = asyncio.create_task(self._read(started, file))
        try:
            timed_out = not await self._clock.ended_within(started.process, limit_s)
        finally:
            try:
                await end_group(started.process)
                await asyncio.wait({reading}, timeout=_DRAIN_S)
            finally:
                reading.cancel()
                started.close()
        if reading.done() and not reading.cancelled():
            reading.result()
        return timed_out

    async def _read(self, started: Started, file: BinaryIO) -> None:
        cutter = LineCutter()
        try:
            while chunk := await started.printed.read(_CHUNK):
                self._keep(chunk, file)
                for line in cutter.feed(chunk):
                    self._take(line)
            for line in cutter.feed(b"", last=True):
                self._take(line)
        except Exception:  # the disk is full, or whoever listens failed: an unread pipe would hold Tensile up
            with suppress(ProcessLookupError):
                started.process.kill()
            raise

    def _keep(self, chunk: bytes, file: BinaryIO) -> None:
        file.write(chunk[: max(0, _LARGEST_LOG - self._written)])
        file.flush()
        self._written += len(chunk)

    def _take(self, line: str) -> None:
        seconds = self._seconds()
        self._reader.feed(line, seconds)
        self._ration.feed(line, seconds)
