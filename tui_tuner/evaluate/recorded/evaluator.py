"""The evaluator that measures nothing: every answer is in a recording, at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.devices.kinds import RecordedKind
from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.measure import median_interval, ratio_interval
from tui_tuner.evaluate.profiling import NO_PROFILE, Profile
from tui_tuner.evaluate.recorded import Recording, RecordingEntry
from tui_tuner.evaluate.recorded.reading import read_recording
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation, Failure, FailureKind, Resources, Timing
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.model import Configuration, Problem, Test
from tui_tuner.text import clean

_NOT_HELD = Failure(kind=FailureKind.INVALID, message="the recording does not hold it")
_OTHER_KERNEL = Failure(
    kind=FailureKind.REFUSED, message="a recording knows only the kernel that it was made with, and this is another"
)


class RecordedEvaluator:
    """Answers for one problem from a file.

    Args:
        problem: of the kernel that was recorded.
        file: a cache file of kernel_tuner.
    """

    doing = ""

    def __init__(self, problem: Problem, file: Path) -> None:
        self._problem = problem
        self._file = file
        self._read: Recording | None = None

    async def sized_problem(self) -> None:
        """Nothing: it verifies nothing, so that nobody needs to propose tests."""
        return

    async def start(self, proposed: Sequence[Test] = ()) -> MachineReport:
        """Read the file and look up the kernel as given; tests are of no use here."""
        self._read = read_recording(self._file)
        candidate = baseline(self._problem)
        given = self._evaluation(candidate, candidate.default_configuration)
        if given.failure is not None:
            message = f"the default configuration has no time: {given.failure.message}"
            raise DeviceError(message, hint="name one that was measured in [defaults]", file=self._file)
        return MachineReport(
            device=device_of(self._read),
            sandbox=f"none, every time is from {self._file.name}",
            note=_note(self._read),
            given=given,
            members=self._read.members,
        )

    def news(self) -> Sequence[str]:
        """Nothing: no device can be lost."""
        return ()

    async def evaluate(self, candidate: Candidate, configuration: Configuration, best_ms: float | None) -> Evaluation:
        """What is on record of a configuration."""
        return self._evaluation(candidate, configuration)

    async def compare(
        self,
        incumbent: tuple[Candidate, Configuration],
        challenger: tuple[Candidate, Configuration],
        delta: float,
        *,
        thorough: bool = False,
    ) -> Comparison:
        """The ratio of two recorded times, with the spread of the ratios of their single launches, in order."""
        old, new = self._timed(*incumbent), self._timed(*challenger)
        ratio = _time(old) / _time(new)
        pairs = list(zip(old.samples, new.samples, strict=False))
        low, high = _around(ratio, ratio_interval(pairs)) if pairs else (ratio, ratio)
        return Comparison(
            ratio=ratio,
            low=low,
            high=high,
            pairs=len(pairs),
            incumbent=_timing(old),
            challenger=_timing(new),
        )

    async def profile(self, candidate: Candidate, configuration: Configuration) -> Profile:
        """Nothing: no profile is on record."""
        return NO_PROFILE

    async def close(self) -> None:
        """There is nothing to give back."""

    @property
    def _recording(self) -> Recording:
        if self._read is None:
            raise RuntimeError("the evaluator is not started")
        return self._read

    def _timed(self, candidate: Candidate, configuration: Configuration) -> RecordingEntry:
        entry = self._recording.entry(configuration)
        if entry is None or entry.time is None:
            raise RuntimeError(f"{candidate.id} was never timed with {configuration}")
        return entry

    def _evaluation(self, candidate: Candidate, configuration: Configuration) -> Evaluation:
        entry = self._recording.entry(configuration)
        failure = _NOT_HELD if entry is None else entry.failure
        if candidate.source != self._problem.source_text:
            entry, failure = None, _OTHER_KERNEL
        if entry is None:
            return Evaluation(candidate=candidate.id, configuration=configuration, failure=failure)
        return Evaluation(
            candidate=candidate.id,
            configuration=configuration,
            timing=None if entry.time is None else _timing(entry),
            failure=failure,
            resources=Resources(registers=entry.registers),
            build_ms=entry.build_ms,
            verify_ms=entry.verify_ms,
            measure_ms=entry.measure_ms,
        )


def device_of(recording: Recording) -> DeviceInfo:
    """The device of a recording, of which nothing but the name is known; its toolchain is the very file.

    Where the recording does not name it, the file's name stands there, since people write the device into that.
    """
    return DeviceInfo(
        kind=RecordedKind.name,
        name=recording.device or f"a recorded device ({clean(recording.file.name)})",
        backend="recorded",
        toolchain=f"recording {recording.digest}",
        max_threads_per_block=None,
        shared_bytes=None,
        shared_bytes_optin=None,
    )


def _note(recording: Recording) -> str:
    objective = recording.objective
    return (
        "" if objective == "time" else f"the recording's objective is {objective}: where a time stands, that is meant"
    )


def _time(entry: RecordingEntry) -> float:
    if entry.time is None:
        raise RuntimeError(f"there is no time of {entry.configuration}")
    return entry.time


def _timing(entry: RecordingEntry) -> Timing:
    """The recorded time, which kernel_tuner takes as the mean of its launches, with the spread of their median."""
    time = _time(entry)
    low, high = _around(time, median_interval(entry.samples)) if entry.samples else (time, time)
    return Timing(median=time, low=low, high=high, samples=max(1, len(entry.samples)))


def _around(value: float, interval: tuple[float, float, float]) -> tuple[float, float]:
    """The ends of an interval laid around the recorded value.

    Some files hold single launches that are not those of the time beside them, or of which a few took many times as
    long: an interval that held both would hold every other time as well, and nothing would ever be an improvement.
    """
    middle, low, high = interval
    return value * low / middle, value * high / middle
