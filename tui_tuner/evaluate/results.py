"""What an evaluation says, and who answers: the seam between the session and the machine. All times in ms."""

from __future__ import annotations

import re
from enum import Enum, StrEnum, auto
from typing import Self

from pydantic import BaseModel, ConfigDict

from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.model import Configuration


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
        is_shared: whether every other configuration of the kernel would fail alike, so that none is tried.
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
    RACE = (  # of threads of a block, as a tool found it: results were right
        "race",
        FailureStage.RUN,
        "Two threads use the same memory with nothing between them that orders them. Put a barrier (__syncthreads, or "
        "__syncwarp within a warp) between the lines that are named; results that are right now and then are luck.",
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
        shared_bytes: static shared memory of a block; all of it where a framework launches.
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
        low, high: the ends of the median's 95 % confidence interval.
        samples: how many launches were timed.
        cpu: whether it was taken on a CPU and says nothing about a GPU.
        clock_mhz: clock of the multiprocessors right after the samples; None where the device does not tell.
        throttled_by, temperature_c: what held the clock down then, and the device's temperature, degrees Celsius.
        warm: median where the caches are as a launch before left them, which is told only; None where not timed.
        dropped: times that were taken while the device was held down for its heat, and do not count.
    """

    median: float
    low: float
    high: float
    samples: int
    cpu: bool = False
    clock_mhz: int | None = None
    throttled_by: tuple[str, ...] = ()
    temperature_c: int | None = None
    warm: float | None = None
    dropped: int = 0


class Ceiling(ResultModel):
    """The most of one thing that a device does in a second.

    Attributes:
        rate: GB/s of a bandwidth, GFLOP/s (or 1e9 integer operations a second) of a peak.
        measured: whether it was measured there, else it is computed from the device's properties and highest clock.
    """

    rate: float
    measured: bool = True


class DeviceInfo(ResultModel):
    """A device and its limits, as far as its driver tells; None where nothing does.

    Attributes:
        kind: cuda, opencl, c, emulator or recorded.
        name, backend: as the driver names it, and which package drives it, as in "cuda-python 13.0".
        architecture: what the compiler is told, as in "sm_90".
        toolchain: compiler and version; part of the key of every build.
        shared_bytes, shared_bytes_optin: shared memory a block may use without opting in, and at most.
        memory_gbs: measured bandwidth of a copy, GB/s.
        flops_gflops: measured peak of single precision multiply-add, GFLOP/s.
        bandwidths: by what is done: copy, read, fill (all of the memory behind the caches), L2 cache, shared memory.
        peaks: by the data type worked in, as in "float16", and of tensor cores, as in "float16 on tensor cores".
        event_gap: what two timing events with nothing between them measure, ms.
        is_cpu: whether it runs kernels on this machine's processor, so that its times say nothing about a GPU.
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
    bandwidths: dict[str, Ceiling] = {}
    peaks: dict[str, Ceiling] = {}
    event_gap: float | None = None
    is_cpu: bool = False

    @property
    def capability(self) -> int:
        """The compute capability of a CUDA device, times ten, as in 90 of sm_90a; 0 where it tells none."""
        number = re.fullmatch(r"sm_(\d+)[a-f]?", self.architecture)
        return int(number[1]) if number else 0


class Build(ResultModel):
    """The outcome of building one configuration.

    Attributes:
        key: hash of everything that determines the artifact.
        artifact, symbol: path of the built file, None where the build failed, and the kernel's name inside it.
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
        share, error: of the roofline, 0 to 1, None without one; largest deviation, relative to the allowed one.
        build_ms: how long the compiler ran, the same for all that share a build; 0 where it never did in this run.
        as_written: the configuration as the kernel's file would have it, ready to paste; empty where it is macros.
        same_as: candidate and configuration whose machine code, verdict and times these are; None for its own.
        geometry: of the launch, where the problem does not say it; None for one of several kernels.
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
    same_as: tuple[str, Configuration] | None = None
    geometry: Geometry | None = None

    @property
    def ok(self) -> bool:
        """Whether it was verified and timed."""
        return self.timing is not None

    @property
    def ms(self) -> float | None:
        """The median time, ms; None where it failed."""
        return None if self.timing is None else self.timing.median

    @property
    def program(self) -> tuple[str, Configuration]:
        """The configuration whose machine code was measured: the same for two evaluations of one program."""
        return self.same_as or (self.candidate, self.configuration)

    @property
    def is_counted(self) -> bool:
        """Whether it counts as an evaluation: one that fails before it is built does not."""
        return self.failure is None or self.failure.kind.stage is not FailureStage.CHECK


class Determinism(ResultModel):
    """Whether a kernel computed the same bits each time that it was launched on the same inputs.

    Attributes:
        launches, elements: how many there were, the latter of all outputs.
        differing: most elements that had other bits than after the first launch.
    """

    launches: int
    differing: int
    elements: int

    @property
    def in_words(self) -> str:
        """A phrase for people."""
        if self.differing == 0:
            return f"the same bits in {self.launches} launches on the same inputs"
        return f"differs from launch to launch in up to {self.differing} of {self.elements} elements"


class Comparison(ResultModel):
    """Challenger against incumbent, interleaved in one process on fresh data.

    Attributes:
        ratio, low, high: median of incumbent time / challenger time over the pairs, above 1 is faster; the ends of
            its 95 % interval.
        pairs: number of pairs.
        failure: why the challenger failed on the fresh data, or under a tool that watched it, if it did.
        determinism: whether the challenger computes the same bits each time; None where that was not looked at.
    """

    ratio: float
    low: float
    high: float
    pairs: int
    incumbent: Timing | None = None
    challenger: Timing | None = None
    failure: Failure | None = None
    determinism: Determinism | None = None

    @classmethod
    def failed(cls, failure: Failure) -> Self:
        """One without times."""
        return cls(ratio=0.0, low=0.0, high=0.0, pairs=0, failure=failure)

    @property
    def factor(self) -> tuple[float, float, float]:
        """How much faster the challenger is, with the ends of the interval."""
        return self.ratio, self.low, self.high

    def is_faster(self, delta: float) -> bool:
        """Whether the challenger is right, and all of its interval lies above a gain of `delta`."""
        return self.failure is None and self.low > 1 + delta
