"""What a run prints, read while it runs, how it ended, and why it gave no results.

The words that are looked for are those of TensileLite (BenchmarkProblems.py, Common, SolutionStructs) and of
Tensile; where a version prints others, less is known of the run and nothing breaks.
"""

from __future__ import annotations

import re
import signal as signals
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path

from tui_tuner.tensile.outcome import RunFailure, RunFailureKind
from tui_tuner.text import clean

_PHASES = (
    (re.compile(r"# Converting Config to BenchmarkProcess"), "preparing"),
    (re.compile(r"# Enumerating Solutions"), "solutions"),
    (re.compile(r"# Actual Solutions:(?!.*after KernelWriter)"), "kernels"),
    (re.compile(r"# Actual Solutions:.*after KernelWriter|# Using cached solution data"), "client"),
    (re.compile(r"clientExit="), "library"),
)
_STEP = re.compile(r"# Benchmark ?Step: (\S+) - ")
_COUNTS = re.compile(r"# Actual Solutions: (\d+) / (\d+)(?P<kernels>.*after KernelWriter)?")
_DEVICE = re.compile(r"# Detected .*\bISA: (gfx[0-9a-f]+)")
_REJECT = "reject: "
_FATAL = "Tensile::FATAL: "
_TRACEBACK = "Traceback (most recent call last):"
_CLIENT = re.compile(r"Benchmark Process exited with (?:code (-?\d+)|error: .*exit status (\d+))")
_COLLECTED = re.compile(r"clientExit=\d+ \(")
_SHELL_WORDS = re.compile(
    r"run\.sh: line \d+: .*"
    r"(Segmentation fault|Aborted|Killed|Terminated|Bus error|Floating point exception|Illegal instruction)"
)
_SHELL_STATUS = 128
"""What a shell adds to the number of the signal that ended a program."""
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")
_MOST_REASONS, _LONGEST_REASON = 200, 160
_FATAL_LINES, _TAIL_LINES, _LONGEST_LINE = 3, 40, 300


@dataclass(frozen=True)
class GroupLog:
    """What Tensile printed of one size group; None where it did not come that far.

    Attributes:
        name: as that of the group's files of results; empty where it was not told.
        permutations: of its forked parameters.
        valid: solutions that Tensile found possible.
        built: solutions that it made kernels of.
        rejected: how often it rejected one, by reason; empty unless `PrintSolutionRejectionReason` is on.
    """

    name: str = ""
    permutations: int | None = None
    valid: int | None = None
    built: int | None = None
    rejected: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class LogSummary:
    """What Tensile printed, read line by line.

    Attributes:
        phases: seconds by phase, in the order of the run: preparing, solutions, kernels, client, library.
        phase: the last of them.
        device: instruction set of the GPU that it found, as `gfx90a`; empty where it named none.
        groups: in the order in which they ran.
        fatal: what it said before it gave up, where it did; empty otherwise.
        exception: last line of the last Python traceback, empty without one.
        client_code: exit status of the benchmark client, where Tensile complained of it: the number of solutions
            that failed, up to 255, or 128 and a signal's number.
        client_signal: the signal that ended the client; None where none did.
        collected: whether all groups came to their end.
        tail: the end of what was printed, cleaned.
    """

    phases: dict[str, float] = field(default_factory=dict)
    phase: str = "preparing"
    device: str = ""
    groups: list[GroupLog] = field(default_factory=list)
    fatal: str = ""
    exception: str = ""
    client_code: int | None = None
    client_signal: str | None = None
    collected: bool = False
    tail: str = ""


@dataclass(frozen=True)
class RunEnd:
    """One run of Tensile, over.

    Attributes:
        seconds: that it took.
        returncode: exit status; negative for the signal that ended it; None where it could not be started.
        timed_out: whether it was ended because its time was up.
        limit_s: the time that it had; None where it had all.
        log: the file with all that it printed.
        not_started: why it could not be started; empty where it could.
    """

    seconds: float
    returncode: int | None
    timed_out: bool
    limit_s: float | None
    log: Path
    said: LogSummary
    not_started: str = ""

    @property
    def signal(self) -> str | None:
        """The signal that ended it, as `SIGSEGV`."""
        if self.returncode is None or self.returncode >= 0:
            return None
        return signal_name(-self.returncode)

    @property
    def has_results(self) -> bool:
        """Whether its tables are complete: failed validations alone make Tensile end with status 1."""
        if self.timed_out or self.said.client_signal is not None:
            return False
        failures_only = self.returncode == 1 and self.said.collected and not self.said.exception
        return self.returncode == 0 or failures_only


def signal_name(number: int) -> str:
    """A signal's name, as `SIGSEGV`."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


@dataclass
class _Group:
    name: str = ""
    permutations: int | None = None
    valid: int | None = None
    built: int | None = None
    rejected: Counter[str] = field(default_factory=Counter)
    collected: bool = False

    def summary(self) -> GroupLog:
        return GroupLog(self.name, self.permutations, self.valid, self.built, dict(self.rejected.most_common()))


class LogReader:
    """Takes lines as they are printed, with the seconds since the start."""

    def __init__(self) -> None:
        self._phases: dict[str, float] = {}
        self._phase, self._since = "preparing", 0.0
        self._groups: list[_Group] = []
        self._device = ""
        self._fatal: list[str] = []
        self._exception, self._in_traceback = "", False
        self._client_code: int | None = None
        self._shell_complained = False
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)

    def feed(self, line: str, seconds: float) -> None:
        """Read one line without its end."""
        self._follow_phase(line, seconds)
        self._follow_group(line)
        self._follow_complaints(line)
        if not self._device and (match := _DEVICE.match(line)):
            self._device = match[1]
        if line.strip(" #") and not line.startswith("rejecting solution "):
            self._tail.append(shortened(line))

    def summary(self, seconds: float) -> LogSummary:
        """All that was read, at the end of the run."""
        self._enter(self._phase, seconds)
        return LogSummary(
            phases=self._phases,
            phase=self._phase,
            device=self._device,
            groups=[group.summary() for group in self._groups],
            fatal="\n".join(self._fatal),
            exception=self._exception,
            client_code=self._client_code,
            client_signal=self._client_signal(),
            collected=bool(self._groups) and all(group.collected for group in self._groups),
            tail="\n".join(self._tail),
        )

    def _client_signal(self) -> str | None:
        """Its status may also be the number of solutions that failed: the shell's words tell the two apart."""
        number = (self._client_code or 0) - _SHELL_STATUS
        return signal_name(number) if number > 0 and self._shell_complained else None

    def _follow_phase(self, line: str, seconds: float) -> None:
        for pattern, phase in _PHASES:
            if pattern.match(line):
                self._enter(phase, seconds)
                if phase == "preparing":
                    self._groups.append(_Group())

    def _enter(self, phase: str, seconds: float) -> None:
        self._phases[self._phase] = self._phases.get(self._phase, 0.0) + seconds - self._since
        self._phase, self._since = phase, seconds

    def _follow_group(self, line: str) -> None:
        if not self._groups:
            return
        group = self._groups[-1]
        if match := _STEP.match(line):
            group.name = shortened(match[1])
        elif match := _COUNTS.match(line):
            if match["kernels"]:
                group.built = int(match[1])
            else:
                group.valid, group.permutations = int(match[1]), int(match[2])
        elif line.startswith(_REJECT):
            told = reason(line.removeprefix(_REJECT))
            if told in group.rejected or len(group.rejected) < _MOST_REASONS:
                group.rejected[told] += 1
        elif _COLLECTED.match(line):
            group.collected = True

    def _follow_complaints(self, line: str) -> None:
        if line.startswith(_FATAL):
            self._fatal = [shortened(line.removeprefix(_FATAL))]
        elif self._fatal and line.strip() and len(self._fatal) < _FATAL_LINES:
            self._fatal.append(shortened(line))
        if line.startswith(_TRACEBACK):
            self._in_traceback = True
        elif self._in_traceback and line.strip() and not line[0].isspace():
            self._exception, self._in_traceback = shortened(line), False
        if _SHELL_WORDS.search(line):
            self._shell_complained = True
        if match := _CLIENT.search(line):
            self._client_code = int(match[1] or match[2])


def reason(text: str) -> str:
    """A reason of rejection without its numbers, so that equal reasons count together."""
    text = clean(text[:_LONGEST_REASON]).replace("\n", " ").strip()
    return _NUMBER.sub("#", text) or "no reason given"


def shortened(line: str) -> str:
    """A line that is safe to print, and not too long."""
    line = clean(line[: 2 * _LONGEST_LINE]).rstrip()
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"


_NO_PROGRAM = re.compile(r"`([^`]+)` either not found or not executable|Failed to locate (\S+)")


_NO_GPU = re.compile(
    r"Failed to detect curr\w+ ISA|Did not detect SupportedISA|no ROCm-capable device is detected"
    r"|hipErrorNoDevice|No HIP GPUs are available"
)


_NO_MODULE = re.compile(r"(?:ModuleNotFoundError|ImportError): (.+)")


def explain(ended: RunEnd) -> RunFailure | None:
    """Why a run gave no complete results; None where it gave them.

    Failed validations are no failure of the run: Tensile ends with status 1 then, its results complete.
    """
    kind, message = _reason(ended)
    return None if kind is None else RunFailure(kind=kind, message=message, detail=ended.said.tail)


def _reason(ended: RunEnd) -> tuple[RunFailureKind | None, str]:
    if ended.not_started:
        return RunFailureKind.REFUSED, f"Tensile cannot be started: {ended.not_started}"
    if ended.timed_out:
        return RunFailureKind.TIMEOUT, f"Tensile was ended after {ended.seconds:.0f} s, {_where(ended)}"
    if ended.signal is not None:
        return RunFailureKind.CRASH, f"Tensile was ended by {ended.signal}, {_where(ended)}"
    if ended.said.client_signal is not None:
        return RunFailureKind.CRASH, f"the benchmark client was ended by {ended.said.client_signal}"
    if ended.has_results:
        return None, ""
    return _words(ended)


def _words(ended: RunEnd) -> tuple[RunFailureKind, str]:
    """Of a run that ended by itself with an error."""
    said = ended.said
    last_words = f"{said.fatal}\n{said.exception}"
    if "resulted in 0 valid solutions" in said.fatal or "0 valid soultion" in said.fatal:
        return RunFailureKind.NOTHING_VALID, f"Tensile rejected every permutation{_commonest(ended)}"
    if match := _NO_PROGRAM.search(last_words):
        return (
            RunFailureKind.REFUSED,
            f"Tensile does not find {match[1] or match[2]}; is ROCm installed, ROCM_PATH set?",
        )
    if match := _NO_MODULE.search(said.exception):
        return RunFailureKind.REFUSED, f"Tensile's Python lacks something: {match[1]}"
    if _NO_GPU.search(last_words) or (not said.fatal and _NO_GPU.search(said.tail)):
        return RunFailureKind.REFUSED, "Tensile finds no AMD GPU that it supports"
    if said.fatal:
        return RunFailureKind.REFUSED, said.fatal.splitlines()[0]
    if said.exception:
        return RunFailureKind.CRASH, f"Tensile ended by a Python exception: {said.exception}"
    if said.client_code is not None:
        return RunFailureKind.CRASH, f"the benchmark client ended with status {said.client_code}"
    return RunFailureKind.CRASH, f"Tensile ended with status {ended.returncode}, {_where(ended)}"


def _where(ended: RunEnd) -> str:
    doing = {
        "preparing": "before it made solutions",
        "solutions": "while it made solutions",
        "kernels": "while it wrote and assembled kernels",
        "client": "while the kernels ran",
        "library": "after the kernels had run",
    }
    return doing[ended.said.phase]


def _commonest(ended: RunEnd) -> str:
    reasons = [(count, reason) for group in ended.said.groups for reason, count in group.rejected.items()]
    if not reasons:
        return ""
    count, reason = max(reasons)
    return f"; the commonest reason, {count} times: {reason}"
