"""What a run prints, read while it runs.

The words that are looked for are those of TensileLite (BenchmarkProblems.py, Common, SolutionStructs) and of
Tensile; where a version prints others, less is known of the run and nothing breaks. Since July 2024 Tensile breaks
lines at 80 columns and gives up without `Tensile::FATAL`: lines are put together again, and the last words count.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

from tui_tuner.processes import signal_name
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
_DEVICE = re.compile(r"# Detected (?:.*\bISA: |GPU \d+:\s+)(gfx[0-9a-f]+)")
_REJECT, _REJECTED = "reject: ", "rejecting solution "
_FATAL = "Tensile::FATAL: "
_GIVES_UP = re.compile(
    r"Invalid parameter (?:name|value): |ExactSize .*doesn't match|Config file requires version"
    r"|Your parameters resulted in 0 valid|Benchmark step.* no longer supported"
)
"""How Tensile begins its last words, with or without a mark before them."""
_COLUMNS = 80
_STARTS = re.compile(r"[#+]|reject: |rejecting |Overriding |Tensile::|Traceback|clientExit=|exit status \d+$|\d+/\d+,")
"""What begins a line of its own, whatever stands before it."""
_TRACEBACK = "Traceback (most recent call last):"
_CLIENT = re.compile(r"Benchmark Process exited with (?:code (-?\d+)|error: .*exit status (\d+))")
_ANALYSIS = re.compile(r"# (?P<end>Finish )?Analysing data ")
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
_LONGEST_BROKEN = 4000


@dataclass
class _Reason:
    """Rejections that differ in numbers only.

    Attributes:
        form: the words, `#` in the place of each number.
        numbers: the lowest and the highest at each place, as they were printed.
    """

    form: str
    times: int = 0
    numbers: list[tuple[str, str]] = field(default_factory=list)

    def add(self, text: str) -> None:
        told = _NUMBER.findall(text)
        before = self.numbers or [(one, one) for one in told]
        self.numbers = [
            (min(low, one, key=float), max(high, one, key=float)) for (low, high), one in zip(before, told, strict=True)
        ]
        self.times += 1

    def words(self) -> str:
        """The reason with its numbers, a range where they differ."""
        first, *rest = self.form.split("#") if self.numbers else [self.form]
        shown = [low if low == high else f"{low} to {high}" for low, high in self.numbers]
        return first + "".join(number + part for number, part in zip(shown, rest, strict=False))


@dataclass
class GroupLog:
    """What Tensile printed of one size group; None where it did not come that far.

    Attributes:
        name: as that of the group's files of results; empty where it was not told.
        permutations: of its forked parameters.
        valid: solutions that Tensile found possible.
        built: solutions that it made kernels of.
        reasons: why it rejected some, by the words without numbers; empty unless `PrintSolutionRejectionReason` is on.
        rejections: solutions that it rejected, some for several reasons.
        collected: whether its results were collected.
    """

    name: str = ""
    permutations: int | None = None
    valid: int | None = None
    built: int | None = None
    reasons: dict[str, _Reason] = field(default_factory=dict)
    rejections: int = 0
    collected: bool = False

    def reject(self, text: str) -> None:
        """Take in a reason of rejection."""
        form = _NUMBER.sub("#", text)
        if form in self.reasons or len(self.reasons) < _MOST_REASONS:
            self.reasons.setdefault(form, _Reason(form)).add(text)

    @property
    def rejected(self) -> dict[str, int]:
        """How often it rejected a solution, by reason, the commonest first."""
        return {reason.words(): reason.times for reason in sorted(self.reasons.values(), key=lambda one: -one.times)}

    def duplicates(self, *, tells: bool) -> int:
        """Permutations that were dropped because another one derives to the same solution.

        Args:
            tells: whether `PrintSolutionRejectionReason` is on: without it the others may have been rejected.
        """
        if self.permutations is None or self.valid is None or not (tells or self.rejections):
            return 0
        return max(0, self.permutations - self.valid - self.rejections)


@dataclass(frozen=True)
class LogSummary:
    """What Tensile printed, read line by line.

    Attributes:
        phases: seconds by phase, in the order of the run: preparing, solutions, kernels, client, library.
        phase: the last of them.
        device: instruction set of the GPU that it found, as `gfx90a`; empty where it named none.
        groups: in the order in which they ran.
        fatal: what it said before it gave up, where it did; empty otherwise.
        last_words: the last lines that stand together, whatever they are.
        exception: last line of the last Python traceback, empty without one.
        client_code: exit status of the benchmark client, where Tensile complained of it: the number of solutions
            that failed, up to 255, or 128 and a signal's number.
        client_signal: the signal that ended the client; None where none did.
        collected: whether all groups came to their end.
        analysed: whether it came to the end of the library logic; None where that was not begun.
        tail: the end of what was printed, cleaned.
    """

    phases: dict[str, float] = field(default_factory=dict)
    phase: str = "preparing"
    device: str = ""
    groups: list[GroupLog] = field(default_factory=list)
    fatal: str = ""
    last_words: str = ""
    exception: str = ""
    client_code: int | None = None
    client_signal: str | None = None
    collected: bool = False
    analysed: bool | None = None
    tail: str = ""


class LogReader:
    """Reads what Tensile prints, line by line, with the seconds since its start."""

    def __init__(self) -> None:
        self._phases: dict[str, float] = {}
        self._phase, self._since = "preparing", 0.0
        self._groups: list[GroupLog] = []
        self._device = ""
        self._broken: str | None = None
        self._fatal: list[str] = []
        self._block: list[str] = []
        self._last_block: list[str] = []
        self._exception, self._in_traceback = "", False
        self._client_code: int | None = None
        self._shell_complained = False
        self._analysed: bool | None = None
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)

    @property
    def has_counted(self) -> bool:
        """Whether the log has told how many solutions the permutations of a size group make."""
        return any(group.valid is not None for group in self._groups)

    def feed(self, line: str, seconds: float) -> None:
        """Read one line without its end."""
        line = clean(line.removesuffix("\r")) if "\x1b" in line or line.endswith("\r") else line
        goes_on = _is_broken(line)
        if self._broken is not None:
            begun, self._broken = self._broken, None
            if line.strip() and not _STARTS.match(line):
                line = (begun + line)[:_LONGEST_BROKEN]
            else:
                self._take(begun, seconds)
        if goes_on:
            self._broken = line
        else:
            self._take(line, seconds)

    def _take(self, line: str, seconds: float) -> None:
        self._follow_phase(line, seconds)
        self._follow_group(line)
        self._follow_complaints(line)
        if not self._device and (match := _DEVICE.match(line)):
            self._device = match[1]
        if line.strip(" #") and not line.startswith(_REJECTED):
            self._tail.append(shortened(line))

    def summary(self, seconds: float) -> LogSummary:
        """All that was read, at the end of the run."""
        if self._broken is not None:
            self._take(self._broken, seconds)
            self._broken = None
        self._enter(self._phase, seconds)
        return LogSummary(
            phases=self._phases,
            phase=self._phase,
            device=self._device,
            groups=self._groups,
            fatal="\n".join(self._fatal),
            last_words="\n".join(self._block or self._last_block),
            exception=self._exception,
            client_code=self._client_code,
            client_signal=self._client_signal(),
            collected=bool(self._groups) and all(group.collected for group in self._groups),
            analysed=self._analysed,
            tail="\n".join(self._tail),
        )

    def _client_signal(self) -> str | None:
        """The signal that ended the client; the shell's words tell it from a number of solutions that failed."""
        number = (self._client_code or 0) - _SHELL_STATUS
        return signal_name(number) if number > 0 and self._shell_complained else None

    def _follow_phase(self, line: str, seconds: float) -> None:
        for pattern, phase in _PHASES:
            if pattern.match(line):
                self._enter(phase, seconds)
                if phase == "preparing":
                    self._groups.append(GroupLog())

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
            group.reject(reason(line.removeprefix(_REJECT)))
        elif line.startswith(_REJECTED):
            group.rejections += 1
        elif _COLLECTED.match(line):
            group.collected = True

    def _follow_complaints(self, line: str) -> None:
        self._follow_blocks(line)
        if match := _ANALYSIS.match(line):
            self._analysed = match["end"] is not None
        if line.startswith(_FATAL) or _GIVES_UP.match(line):
            self._fatal = [shortened(line.removeprefix(_FATAL))]
        elif self._fatal and line.strip() and not _STARTS.match(line) and len(self._fatal) < _FATAL_LINES:
            self._fatal.append(shortened(line))
        if line.startswith(_TRACEBACK):
            self._in_traceback = True
        elif self._in_traceback and line.strip() and not line[0].isspace():
            self._exception, self._in_traceback = shortened(line), False
        if _SHELL_WORDS.search(line):
            self._shell_complained = True
        if client := _CLIENT.search(line):
            self._client_code = int(client[1] or client[2])

    def _follow_blocks(self, line: str) -> None:
        """Collect lines that stand together, without those that tell the progress."""
        if not line.strip() or _STARTS.match(line):
            self._last_block, self._block = self._block or self._last_block, []
        elif len(self._block) < _FATAL_LINES:
            self._block.append(shortened(line))


def _is_broken(line: str) -> bool:
    """Whether a line may go on in the next one: where Tensile breaks one, a blank stays at its end if there is room."""
    return bool(line.strip(" #")) and (line[-1] == " " or len(line) in (_COLUMNS - 1, _COLUMNS))


def reason(text: str) -> str:
    """A reason of rejection, safe to print."""
    return clean(text[:_LONGEST_REASON]).replace("\n", " ").replace("#", "").strip() or "no reason given"


def shortened(line: str) -> str:
    """A line that is safe to print, and not too long."""
    line = clean(line[: 2 * _LONGEST_LINE]).rstrip()
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"
