"""compute-sanitizer of the CUDA toolkit: a child launches the kernel under it, and what it prints is data.

The kernel is device code; the child is started as the runner is, without keys.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from tui_tuner.evaluate.devices import constant_symbols
from tui_tuner.evaluate.devices.base import CannotWatch, KernelArgument, WatchedLaunch
from tui_tuner.evaluate.devices.cuda import watched_launches
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.toolkit import WARPCHECK, toolkit_program
from tui_tuner.problem.placement import addresses_of_parts
from tui_tuner.processes import driver_environment
from tui_tuner.processes.child import KILL_S
from tui_tuner.processes.server import own_command
from tui_tuner.processes.waited import begin_program
from tui_tuner.text import clean

_OPTIONS = {
    "racecheck": ("--tool", "racecheck", "--racecheck-report", "analysis"),
    WARPCHECK: ("--tool", "racecheck", "--racecheck-report", "hazard"),
    "memcheck": ("--tool", "memcheck", "--padding", "256"),
    "initcheck": ("--tool", "initcheck"),
    "synccheck": ("--tool", "synccheck"),
}
"""By tool; what takes longest to start comes first."""
_COMMON = ("--report-api-errors", "no", "--print-limit", "20")
_KINDS = {
    "memcheck": FailureKind.ILLEGAL_ACCESS,
    "racecheck": FailureKind.RACE,
    WARPCHECK: FailureKind.RACE,
    "initcheck": FailureKind.ILLEGAL_ACCESS,
    "synccheck": FailureKind.RACE,
}


def tool_command(tool: str) -> tuple[str, ...]:
    """What stands in front of the command of a program that a tool watches.

    Args:
        tool: one of compute-sanitizer's, or ours by it.

    Raises:
        CannotWatch: the tool is not there.
    """
    program = toolkit_program("compute-sanitizer")
    if program is None:
        raise CannotWatch("no compute-sanitizer in CUDA_HOME, PATH or /usr/local/cuda; it comes with the CUDA toolkit")
    return (str(program), *_OPTIONS[tool], *_COMMON)


class Watched:
    """A process under a tool, with a context on the device, which waits to be told what it is to launch.

    It ends with this process. Of the second that racecheck takes for a small launch, hundredths are the launch.

    Args:
        tool: as of `tool_command`.
        unit: UUID of the device.

    Raises:
        CannotWatch: the tool is not there, or cannot be started.
    """

    def __init__(self, tool: str, unit: str) -> None:
        self._tool = tool
        program, *options = tool_command(tool)
        command = (program, *options, *own_command(watched_launches.__name__, "main", unit))
        try:
            self._program = begin_program(command, environment=driver_environment(), dies_with_us=True)
        except OSError as error:
            raise CannotWatch(f"{program} cannot be started: {error.strerror}") from error

    def is_waiting(self) -> bool:
        """Whether it can be told; one that has ended, as where the device had no memory for it, is tidied up."""
        if self._program.has_ended:
            self._program.finish("", KILL_S)
            return False
        return True

    def launch(self, artifact: Path, symbol: str, launches: Sequence[WatchedLaunch], timeout_s: float) -> None:
        """Launch a cubin; this process is over then.

        Raises:
            DeviceFault: the tool found something.
            CannotWatch: the tool does not work or takes too long.
        """
        if "racecheck" in _OPTIONS[self._tool]:
            launches = few_blocks(launches)
        with tempfile.TemporaryDirectory(prefix="tuner-sanitize-") as directory:
            write_job(Path(directory), artifact, symbol, launches, timeout_s / 4)
            try:
                done = self._program.finish(directory, timeout_s)
            except subprocess.TimeoutExpired:
                raise CannotWatch(f"it was not done within {timeout_s:g} s") from None
        finding = first_in_a_warp(done.stdout) if self._tool == WARPCHECK else first_finding(done.stdout)
        if finding is not None:
            raise DeviceFault(_KINDS[self._tool], finding)
        if watched_launches.LAUNCHED not in done.stdout.splitlines():
            raise CannotWatch(_complaint(done.stdout + done.stderr))


ROOMY_BYTES = 22 * 2**30
"""Of a device on which five contexts that wait, two thirds of a gigabyte each, leave a problem enough."""


class Watchers:
    """The tools of a device: one that was started ahead is there when a kernel is to be watched.

    Args:
        unit: UUID of the device.
        memory_bytes: of the device.
    """

    def __init__(self, unit: str, memory_bytes: int) -> None:
        self._unit = unit
        self._has_room = memory_bytes >= ROOMY_BYTES
        self._ready: dict[str, Watched] = {}

    def start_one(self, tools: Sequence[str]) -> bool:
        """Start one of these that is not; whether there was one. Why it cannot be is told when it is needed."""
        missing = next((tool for tool in _OPTIONS if tool in tools and tool not in self._ready), None)
        if missing is not None and self._has_room:
            with suppress(CannotWatch):
                self._ready[missing] = Watched(missing, self._unit)
        return missing in self._ready

    def launch(self, tool: str, artifact: Path, symbol: str, launches: Sequence[WatchedLaunch], limit_s: float) -> None:
        """Launch a cubin under a tool, as `Watched.launch` does."""
        watched = self._ready.pop(tool, None)
        if watched is None or not watched.is_waiting():
            watched = Watched(tool, self._unit)
        watched.launch(artifact, symbol, launches, limit_s)


FEW_BLOCKS = 8


def few_blocks(launches: Sequence[WatchedLaunch]) -> list[WatchedLaunch]:
    """The launches for racecheck, which takes seconds: each block has shared memory of its own, so that few will do.

    The two smallest in any case, as the smallest may have one tile only.
    """
    return [one for place, one in enumerate(launches) if place < 2 or math.prod(one.geometry.grid) <= FEW_BLOCKS]


def write_job(
    directory: Path,
    artifact: Path,
    symbol: str,
    launches: Sequence[WatchedLaunch],
    last_start_s: float,
) -> None:
    """What the child is to do: `job.json`, and a file for each argument of each launch.

    Args:
        last_start_s: when the last launch but the first may begin, seconds.
    """
    jobs = []
    for number, launch in enumerate(launches):
        for index, argument in enumerate(launch.arguments):
            (directory / f"{number}.{index}").write_bytes(argument.tobytes())
        geometry, constants = launch.geometry, launch.placement.constants
        jobs.append(
            {
                "grid": geometry.grid,
                "block": geometry.block,
                "shared_bytes": geometry.shared_bytes,
                "arguments": len(launch.arguments),
                "arrays": [i for i, argument in enumerate(launch.arguments) if isinstance(argument, np.ndarray)],
                "unwritten": sorted(launch.poisoned),
                "constants": {str(index): constant_symbols(name) for index, name in constants.items()},
                "pointers": {str(index): [*held.items()] for index, held in launch.placement.pointers.items()},
                "aside": sorted(launch.placement.aside),
                "lists": {str(index): _offsets(launch.arguments[index]) for index in launch.placement.lists},
            }
        )
    cubin = str(artifact.resolve())
    job = {"cubin": cubin, "symbol": symbol, "launches": jobs, "last_start_s": last_start_s}
    (directory / "job.json").write_text(json.dumps(job))


def _offsets(array: KernelArgument) -> list[int]:
    """Where the parts of an array begin that a kernel reaches by their addresses, bytes."""
    offsets: list[int] = addresses_of_parts(0, array.nbytes, array.shape[0]).tolist()
    return offsets


_HEADLINE = re.compile(
    r"(?:Error: )?(?:Race reported between|Potential (?:RAW|WAR|WAW) hazard|Invalid |Misaligned |Uninitialized "
    r"|Barrier error|Stack overflow|Unused memory|Leaked ).*"
)
_IGNORED = ("Warning:", "Unused memory", "Leaked ")
"""Its warnings are about lanes of a warp, which warpcheck judges: a kernel as given may take them to be in step."""
_LINE = re.compile(r" in (?:[^\s:]*/)?(?:kernel\.cu|\w+_rewritten_\d+):(\d+)")
"""Of a kernel in C++, and of one in Python, whose lines are those of the whole file."""
_RACE = re.compile(r"Race reported between (\w+) access at (.*)")
_OTHER = re.compile(r"and (\w+) access at (.*)")
_OF_ATOMICS = re.compile(r"\bcuda::std::(?:__\w+::)*__cuda_atomic_")
"""What `cuda::atomic_ref` loads and stores by: that is ordered as the language has it, and no race."""
_THREAD = re.compile(r"by thread (\([\d,]+\)) in block (\([\d,]+\))")
_BESIDE = re.compile(r"and is ([\d,]+ bytes (?:after|before|inside)) .* of size ([\d,]+ bytes)")
_MOST_CHARACTERS = 400


def first_finding(output: str) -> str | None:
    """The first thing that a tool accuses the kernel of, in one line; None for nothing.

    Args:
        output: all that the tool printed, mixed with what the program itself printed.
    """
    for headline, details in _reports(output):
        accuses = _HEADLINE.fullmatch(headline) or any(map(_THREAD.search, details))  # the latter: a trap, and others
        if accuses and not headline.startswith(_IGNORED) and not _is_of_atomics(headline, details):
            return clean(_in_words(headline, details))[:_MOST_CHARACTERS]
    return None


_LANES = re.compile(r"Warning: \(Warp Level Programming\) Potential (?:RAW|WAR|WAW) hazard.* in block (\([\d,]+\)).*")
_LANE = re.compile(r"(Write|Read) Thread (\([\d,]+\)) at (.*)")


def first_in_a_warp(output: str) -> str | None:
    """The first race between lanes of a warp that racecheck tells, in one line; None for nothing."""
    for headline, details in _reports(output):
        if (found := _LANES.fullmatch(headline)) is not None:
            lanes = [lane for text in details if (lane := _LANE.search(text))]
            told = [f"thread {lane[2]} {lane[1].lower()}s it in {_line_of(lane[3])}" for lane in lanes]
            words = f"lanes of a warp share memory, {', '.join(told)}, and no __syncwarp is between (block {found[1]})"
            return clean(words)[:_MOST_CHARACTERS]
    return None


def _reports(output: str) -> Iterator[tuple[str, list[str]]]:
    """A headline with what stands below it, further in."""
    headline, details = "", list[str]()
    for line in output.splitlines():
        mark, _, text = line.partition(" ")
        if len(mark) < len("=====") or mark.strip("="):
            continue
        if text.startswith("  "):
            details.append(text.strip())
            continue
        if headline:
            yield headline, details
        headline, details = text.strip(), []
    if headline:
        yield headline, details


def _is_of_atomics(headline: str, details: Sequence[str]) -> bool:
    """Whether it is a race between loads and stores of atomic objects alone."""
    first = _RACE.search(headline)
    others = [found[2] for text in details if (found := _OTHER.search(text))]
    return first is not None and bool(others) and all(map(_OF_ATOMICS.search, (first[2], *others)))


def _in_words(headline: str, details: Sequence[str]) -> str:
    race = _RACE.search(headline)
    if race is not None:
        others = [f"a {found[1].lower()} in {_line_of(found[2])}" for text in details if (found := _OTHER.search(text))]
        one = f"a {race[1].lower()} in {_line_of(race[2])}"
        return f"a race between {' and '.join([one, *others[:1]])}, with no barrier between"
    words = [f"{headline[:1].lower()}{headline[1:]}"]
    words += [f"in {_line_of(text)}" for text in details if text.startswith("at ")][:1]
    words += [f"{found[1]} an array of {found[2]}" for text in details if (found := _BESIDE.search(text))][:1]
    words += [f"(block {found[2]}, thread {found[1]})" for text in details if (found := _THREAD.search(text))][:1]
    return " ".join(words)


def _line_of(place: str) -> str:
    """The line of the kernel; the place as the tool tells it where it names none."""
    found = _LINE.search(f" {place}")
    return f"line {found[1]}" if found else place.removeprefix("at ")


def _complaint(output: str) -> str:
    """The last thing that was said, where nothing was launched."""
    lines = [clean(line).strip("= ") for line in output.splitlines()]
    told = [line for line in lines if line and "SUMMARY" not in line]
    return f"it does not work here: {told[-1][:200]}" if told else "it does not work here, and does not say why"
