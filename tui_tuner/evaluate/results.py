"""What an evaluation says, and who answers: the seam between the session and the machine. All times in ms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from typing import Protocol, Self

from pydantic import BaseModel, ConfigDict

from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Problem, Test


class ResultModel(BaseModel):
    """Immutable and serialisable: results cross process borders and stand in the journal."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FailureStage(Enum):
    """How far a configuration came before it failed."""

    CHECK = auto()  # nothing was built, and no budget was spent
    BUILD = auto()
    RUN = auto()


class FailureKind(StrEnum):
    """Why a candidate configuration is not usable; the value stands in journals and is shown to people.

    Attributes:
        stage: how far the configuration came.
        advice: what a model is told to look at.
        is_shared: whether every other configuration of the kernel would fail alike, so that none is tried; a kind
            says so where it is not.
    """

    stage: FailureStage
    advice: str
    is_shared: bool

    def __new__(cls, value: str, stage: FailureStage, advice: str, is_shared: bool = True) -> Self:
        """A kind with its traits."""
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.stage, kind.advice, kind.is_shared = stage, advice, is_shared
        return kind

    INVALID = (  # restrictions, device limits, bad expression
        "invalid configuration",
        FailureStage.CHECK,
        "The default configuration must satisfy the restrictions and the device's limits.",
        False,
    )
    REFUSED = (  # text that is not built at all
        "refused source",
        FailureStage.BUILD,
        "The program does not build such text. Leave out what is named above.",
    )
    COMPILE = (
        "compile error",
        FailureStage.BUILD,
        "These are the compiler's own words. Correct the code for this compiler and device.",
    )
    BUILD_TIMEOUT = (
        "build time-out",
        FailureStage.BUILD,
        "Make it quicker to compile: unroll less, instantiate less, or offer smaller values.",
    )
    LAUNCH = (  # too many resources, bad geometry
        "launch failure",
        FailureStage.RUN,
        "The launch asks for more than the device gives: threads, registers or shared memory. Choose smaller "
        "defaults, or restrict the parameters so that every configuration fits.",
        False,
    )
    WRONG_RESULT = (
        "wrong result",
        FailureStage.RUN,
        "Named are the size, the first wrong element, its value and the expected one. Think about bounds at "
        "sizes that are no multiples, the grid's divisors, elements that no thread writes, missing barriers.",
    )
    ILLEGAL_ACCESS = (  # out of bounds, misaligned
        "illegal access",
        FailureStage.RUN,
        "Check every index at the sizes that are no multiples, alignment of vector accesses, and shared memory.",
    )
    TIMEOUT = (
        "time-out",
        FailureStage.RUN,
        "It was ended after the time named. Look for a loop without end, a barrier that not all threads reach, or far "
        "too much work a thread.",
    )
    CRASH = (  # the process died for another reason
        "crash",
        FailureStage.RUN,
        "It ended the process that ran it. Check indices, array sizes on the stack, and recursion.",
    )
    IMPLAUSIBLE = (  # below what the hardware can do
        "implausible time",
        FailureStage.RUN,
        "No device does this work in that time: it leaves out work. Do all of it.",
        False,
    )


class Failure(ResultModel):
    """A classified failure.

    Attributes:
        message: one line, the reason in words.
        detail: the compiler's log or the like, cleaned and cut; may be empty.
    """

    kind: FailureKind
    message: str
    detail: str = ""

    @property
    def in_words(self) -> str:
        """Kind and reason in one line."""
        return f"{self.kind}: {self.message}"


class Resources(ResultModel):
    """What a built kernel needs; None where the toolchain does not say.

    Attributes:
        registers: of a thread.
        spill_bytes: of a thread, stores plus loads.
        shared_bytes: static shared memory of a block.
        local_bytes: local memory of a thread.
    """

    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    local_bytes: int | None = None


class Timing(ResultModel):
    """The time of one launch, ms.

    Attributes:
        median: of the samples.
        low: lower end of the median's 95 % confidence interval.
        high: its upper end.
        samples: how many launches were timed.
        cpu: whether it was taken on a CPU and says nothing about a GPU.
        clock_mhz: clock of the multiprocessors right after the samples; None where the device does not tell.
        throttled_by: what held the clock down then.
    """

    median: float
    low: float
    high: float
    samples: int
    cpu: bool = False
    clock_mhz: int | None = None
    throttled_by: tuple[str, ...] = ()


class DeviceInfo(ResultModel):
    """A device and its limits, as far as its driver tells; None where nothing does.

    Attributes:
        kind: cuda, opencl, c, emulator or recorded.
        name: as the driver names it.
        backend: which package drives it, as in "cuda-python 13.0".
        architecture: what the compiler is told, as in "sm_90".
        toolchain: compiler and version; part of the key of every build.
        shared_bytes: shared memory a block may use without opting in.
        shared_bytes_optin: shared memory a block may use at most.
        memory_gbs: measured bandwidth of a copy, GB/s.
        flops_gflops: measured peak of single precision multiply-add, GFLOP/s.
        event_gap: what two timing events with nothing between them measure, ms.
        is_cpu: whether it runs kernels on this machine's processor.
    """

    kind: str
    name: str
    backend: str
    architecture: str = ""
    toolchain: str = ""
    multiprocessors: int | None = None
    max_threads_per_block: int | None = 1024
    max_threads_per_multiprocessor: int | None = None
    max_blocks_per_multiprocessor: int | None = None
    warp_size: int = 32
    registers_per_multiprocessor: int | None = None
    shared_bytes: int | None = 49152
    shared_bytes_optin: int | None = 49152
    shared_bytes_per_multiprocessor: int | None = None
    l2_bytes: int | None = None
    memory_bytes: int | None = None
    clock_mhz: float | None = None
    memory_gbs: float | None = None
    flops_gflops: float | None = None
    event_gap: float | None = None
    is_cpu: bool = False

    @property
    def cpu_times(self) -> bool:
        """Whether the times of this device are a CPU's and say nothing about a GPU."""
        return self.is_cpu


class Build(ResultModel):
    """The outcome of building one configuration.

    Attributes:
        key: hash of everything that determines the artifact.
        artifact: path of the built file, None where the build failed.
        symbol: name of the kernel inside the artifact.
        cached: whether it was built before.
        milliseconds: how long the compiler ran in this run, 0 where an earlier run had kept the build.
    """

    key: str
    artifact: str | None = None
    symbol: str = ""
    resources: Resources = Resources()
    failure: Failure | None = None
    cached: bool = False
    milliseconds: float = 0.0


class Evaluation(ResultModel):
    """One configuration of a candidate, built, verified and measured, or why not.

    Attributes:
        share: of the roofline, 0 to 1; None without a roofline.
        error: largest deviation from the reference, relative to the allowed one.
        build_ms: how long the compiler ran, 0 where it never did in this run.
        as_written: the configuration as the kernel's file would have it, ready to paste; empty where it is macros.
    """

    candidate: str
    configuration: Configuration
    timing: Timing | None = None
    failure: Failure | None = None
    resources: Resources = Resources()
    share: float | None = None
    error: float | None = None
    build_ms: float = 0.0
    verify_ms: float = 0.0
    measure_ms: float = 0.0
    as_written: str = ""

    @property
    def ok(self) -> bool:
        """Whether it was verified and timed."""
        return self.timing is not None

    @property
    def is_counted(self) -> bool:
        """Whether it counts as an evaluation: one that fails before it is built does not."""
        return self.failure is None or self.failure.kind.stage is not FailureStage.CHECK


class Comparison(ResultModel):
    """Challenger against incumbent, interleaved in one process on fresh data.

    Attributes:
        ratio: median of incumbent time / challenger time over the pairs; above 1 is faster.
        low: lower end of its 95 % bootstrap interval.
        high: upper end.
        pairs: number of pairs.
        failure: why the challenger failed on the fresh data, if it did.
    """

    ratio: float
    low: float
    high: float
    pairs: int
    incumbent: Timing | None = None
    challenger: Timing | None = None
    failure: Failure | None = None


@dataclass(frozen=True)
class MachineReport:
    """What an evaluator knows once it is ready.

    Attributes:
        sandbox: how builds are confined, in one line.
        note: something the user should know about the choice of device; may be empty.
        given: the kernel as given in its default configuration.
        tests: those in force that were proposed.
        dropped: a line for each proposed test that is not, with the reason.
        members: the only configurations of the kernel as given that there are; None where its tunables say all.
        devices: those that measure side by side, as the user names them.
        jobs: builds at once, where the evaluator says.
    """

    device: DeviceInfo
    sandbox: str
    note: str
    given: Evaluation
    tests: list[Test] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    members: Sequence[Configuration] | None = None
    devices: Sequence[str] = ()
    jobs: int = 0


class Evaluator(Protocol):
    """Builds, verifies and measures; many calls may wait at once."""

    async def sized_problem(self) -> Problem | None:
        """The problem at the sizes of the device that `start` takes, known without taking it.

        None where nothing is verified, so that tests are of no use.

        Raises:
            UserError: there is no such device.
        """
        ...

    async def start(self, proposed: Sequence[Test] = ()) -> MachineReport:
        """Take the device and check the kernel as given.

        Args:
            proposed: tests to verify at where the problem has none; one at which the kernel as given
                cannot be checked is dropped.

        Raises:
            UserError: device, compiler, sandbox, kernel or reference cannot be used.
        """
        ...

    def news(self) -> Sequence[str]:
        """What happened to devices since this was asked last, a line each."""
        ...

    async def evaluate(self, candidate: Candidate, configuration: Configuration, best_ms: float | None) -> Evaluation:
        """Build, verify and measure one configuration; failures are results, not exceptions."""
        ...

    async def compare(
        self, incumbent: tuple[Candidate, Configuration], challenger: tuple[Candidate, Configuration], delta: float
    ) -> Comparison:
        """Time two configurations, interleaved, on data that neither has seen."""
        ...

    async def close(self) -> None:
        """Give the device back."""
        ...
