"""One run of Tensile, in a process group of its own: its lines handed on as they come, its results as an outcome."""

from __future__ import annotations

import asyncio
import codecs
import re
import signal
import time
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tui_tuner.errors import UserError
from tui_tuner.processes.child import Child, Program, start
from tui_tuner.tensile.document import BenchmarkConfiguration, SizeGroup
from tui_tuner.tensile.outcome import GroupOutcome, RoundOutcome, RunFailure, RunFailureKind, SizeOutcome
from tui_tuner.tensile.program import Tensile, environment
from tui_tuner.tensile.results import read_results
from tui_tuner.tensile.run_end import RunEnd, run_failure
from tui_tuner.tensile.run_log import GroupLog, LogReader, LogSummary, shortened
from tui_tuner.tensile.summary import summarise
from tui_tuner.text import redact

_END = re.compile(r"[\r\n]+")
_LONGEST_LINE = 1 << 16
_LINES_A_SECOND, _BURST = 20.0, 100.0
GRACE_S = 5.0
"""Between being asked to end and being made to."""
_LARGEST_LOG = 256 << 20
_CHUNK = 1 << 16
_DRAIN_S = 2.0
"""So long what is still in the pipe is read when Tensile has ended; a process it left behind may hold it open."""


class LineCutter:
    """Lines out of chunks of bytes; a progress bar's carriage returns end lines too."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, chunk: bytes, *, last: bool = False) -> Iterator[str]:
        """The lines that this chunk completes; at the end, the rest. A line that is too long is cut."""
        *lines, rest = _END.split(self._rest + self._decoder.decode(chunk, last))
        for line in lines:
            yield line[:_LONGEST_LINE]
        self._rest = "" if last else rest[:_LONGEST_LINE]
        if last and rest:
            yield rest[:_LONGEST_LINE]


class Ration:
    """Passes lines on, at most so many a second on average, and says how many it left out."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._allowance, self._at = _BURST, 0.0
        self._left_out = 0

    def feed(self, line: str, seconds: float) -> None:
        """Pass on a line that was printed so many seconds after the start."""
        if not line.strip():
            return
        self._allowance = min(_BURST, self._allowance + (seconds - self._at) * _LINES_A_SECOND)
        self._at = seconds
        if self._allowance < 1:
            self._left_out += 1
            return
        self._tell_left_out()
        self._allowance -= 1
        self._on_line(shortened(line))

    def end(self) -> None:
        """There will be no more lines."""
        self._tell_left_out()

    def _tell_left_out(self) -> None:
        if self._left_out:
            self._on_line(f"… {self._left_out} more lines in the log")
            self._left_out = 0


async def ended_within(child: Child, limit_s: float | None) -> bool:
    """Wait for a process; False when the time is up before it ends."""
    return await child.wait(limit_s) is not None


@dataclass(frozen=True)
class RunClock:
    """What times a run and says when its time is up; that of the machine unless a test has its own.

    Attributes:
        now: seconds, monotonic.
        ended_within: waits for a process, as `ended_within` does.
    """

    now: Callable[[], float] = time.monotonic
    ended_within: Callable[[Child, float | None], Awaitable[bool]] = ended_within


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
    until_counted: bool = False,
) -> RunEnd:
    """Run Tensile on a configuration. However this ends, nothing of the run is left behind running.

    Args:
        output: Tensile's directory; the log lies beside it, as `<output>.log`.
        sizes: the list of problem sizes where the configuration is in the alternate format.
        limit_s: seconds until it is ended; None for no limit.
        on_line: is told what Tensile prints, cleaned, shortened, and no faster than a reader can follow.
        until_counted: whether it is ended once it has said how many solutions it makes of the first size group.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    run = _Run(output.with_name(f"{output.name}.log"), on_line, clock, until_counted=until_counted)
    files = [str(config.absolute())] if sizes is None else [str(config.absolute()), str(sizes.absolute())]
    options = [] if sizes is None else ["--alternate-format"]
    return await run.through([*tensile.command, *files, str(output.absolute()), *options], limit_s)


class _Run:
    def __init__(self, log: Path, on_line: Callable[[str], None], clock: RunClock, *, until_counted: bool) -> None:
        self._log = log
        self._clock = clock
        self._reader, self._ration = LogReader(), Ration(on_line)
        self._start = clock.now()
        self._written = 0
        self._until_counted = until_counted

    def _seconds(self) -> float:
        return self._clock.now() - self._start

    async def through(self, command: Sequence[str], limit_s: float | None) -> RunEnd:
        with self._log.open("wb") as file:
            try:
                child = await start(Program(command, environment=environment(), output=PIPE, errors=STDOUT))
            except OSError as error:
                why = f"{command[0]}: {error.strerror}"
                return RunEnd(self._seconds(), None, False, self._log, LogSummary(), why)
            timed_out = await self._until_the_end(child, file, limit_s)
        self._ration.end()
        seconds = self._seconds()
        return RunEnd(seconds, child.returncode, timed_out, self._log, self._reader.summary(seconds))

    async def _until_the_end(self, child: Child, file: BinaryIO, limit_s: float | None) -> bool:
        """Whether the time was up."""
        reading = asyncio.create_task(self._read(child, file))
        try:
            timed_out = not await self._clock.ended_within(child, limit_s)
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
                if self._until_counted and self._reader.has_counted:
                    child.signal_group(signal.SIGKILL)
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


OUTPUT = "tensile"
"""Tensile's own directory in that of a run; its log lies beside it."""
_REASONS = 20
"""Reasons of rejections that are kept of a group."""


@dataclass(frozen=True)
class TensileBench:
    """What every benchmark of a session has in common.

    Attributes:
        sizes: text of the file of sizes that goes with the alternate format; None without one.
        limit_s: seconds that one run may take, None for no limit.
        clock: times the runs.
        devices: numbers of the GPUs that share the sizes; none for the one that Tensile takes.
    """

    tensile: Tensile
    sizes: str | None = None
    limit_s: float | None = None
    clock: RunClock = WALL_CLOCK
    devices: tuple[int, ...] = ()


async def measure(
    bench: TensileBench, configuration: BenchmarkConfiguration, directory: Path, on_line: Callable[[str], None]
) -> RoundOutcome:
    """Let Tensile measure a configuration; what goes wrong is told in the outcome and not raised.

    Args:
        directory: new, for the configuration, the log and Tensile's output.
    """
    directory.mkdir(parents=True)
    file = directory / configuration.file.name
    file.write_bytes(configuration.text.encode("utf-8"))
    sizes = None
    if configuration.alternate:
        sizes = directory / "sizes.yaml"
        sizes.write_text(bench.sizes or "[]\n", encoding="utf-8")
    output = directory / OUTPUT
    ended = await run_tensile(
        bench.tensile, file, output, sizes=sizes, limit_s=bench.limit_s, on_line=on_line, clock=bench.clock
    )
    return await asyncio.to_thread(outcome_of, configuration, ended, output)


def outcome_of(configuration: BenchmarkConfiguration, ended: RunEnd, output: Path) -> RoundOutcome:
    """The outcome of a run that has ended."""
    base = RoundOutcome(
        seconds=round(ended.seconds, 3),
        groups=_groups(configuration, ended),
        phases={phase: round(seconds, 3) for phase, seconds in ended.said.phases.items()},
        device=ended.said.device,
    )
    failure = run_failure(ended)
    if failure is not None:
        failure = failure.model_copy(update={"detail": redact(failure.detail, {output.parent.absolute(): "."})})
        return base.model_copy(update={"failure": failure})
    try:
        summary = summarise(configuration, read_results(output), [group.name for group in ended.said.groups])
    except UserError as error:
        where = "" if error.file is None else f"{Path(error.file).name}: "
        line = "" if error.line is None else f"line {error.line}: "
        malformed = RunFailure(kind=RunFailureKind.MALFORMED, message=f"{where}{line}{error.message}")
        return base.model_copy(update={"failure": malformed})
    if not any(size.ranked for size in summary.sizes):
        failed = sum(size.failed for size in summary.sizes)
        nothing = RunFailure(kind=RunFailureKind.NOTHING_VALID, message=_nothing(failed))
        return base.model_copy(update={"failure": nothing, "notes": summary.notes})
    notes = list(summary.notes)
    if ended.broken_logic:
        notes.append(f"Tensile measured everything, then failed at the library logic: {ended.broken_logic}")
    return base.model_copy(
        update={"sizes": summary.sizes, "effects": summary.effects, "notes": [*notes, *_short(summary.sizes)]}
    )


def _nothing(failed: int) -> str:
    return f"no solution has a time: {failed} failed validation" if failed else "no solution has a time"


def _short(sizes: Sequence[SizeOutcome]) -> list[str]:
    without = [size for size in sizes if not size.ranked]
    if not without:
        return []
    which = "a problem size has" if len(without) == 1 else f"{len(without)} problem sizes have"
    return [f"{which} no valid solution"]


def _groups(configuration: BenchmarkConfiguration, ended: RunEnd) -> list[GroupOutcome]:
    """Each size group with what Tensile printed of it; groups run in the file's order."""
    told = ended.said.groups
    tells = bool(configuration.global_parameters.get("PrintSolutionRejectionReason"))
    return [
        group_outcome(group, told[group.number] if group.number < len(told) else None, tells=tells)
        for group in configuration.size_groups
    ]


def group_outcome(group: SizeGroup, log: GroupLog | None, *, tells: bool) -> GroupOutcome:
    """A size group with what Tensile printed of it.

    Args:
        log: None where it printed nothing of it.
        tells: whether it was asked for the reasons of rejections.
    """
    if log is None:
        return GroupOutcome(group=group.number, permutations=group.permutations)
    return GroupOutcome(
        group=group.number,
        permutations=group.permutations,
        solutions=log.built if log.built is not None else log.valid,
        rejected=dict(sorted(log.rejected.items(), key=lambda pair: -pair[1])[:_REASONS]),
        rejections=log.rejections or None,
        duplicates=log.duplicates(tells=tells),
    )
