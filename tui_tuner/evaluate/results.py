"""What an evaluation says: device, resources, timing, failure, comparison. All times in ms."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from tui_tuner.problem.model import Configuration


class ResultModel(BaseModel):
    """Immutable and serialisable: results cross process borders and stand in the journal."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FailureKind(StrEnum):
    """Why a candidate configuration is not usable."""

    INVALID = "invalid configuration"  # restrictions, device limits, bad expression
    REFUSED = "refused source"  # text that is not built at all
    COMPILE = "compile error"
    BUILD_TIMEOUT = "build time-out"
    LAUNCH = "launch failure"  # too many resources, bad geometry
    WRONG_RESULT = "wrong result"
    ILLEGAL_ACCESS = "illegal access"  # out of bounds, misaligned
    TIMEOUT = "time-out"
    CRASH = "crash"  # the process died for another reason
    IMPLAUSIBLE = "implausible time"  # below what the hardware can do


class Failure(ResultModel):
    """A classified failure.

    Attributes:
        message: one line, the reason in words.
        detail: the compiler's log or the like, cleaned and cut; may be empty.
    """

    kind: FailureKind
    message: str
    detail: str = ""


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
        milliseconds: how long the compiler ran.
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
        build_ms: how long the compiler ran, 0 where it never did.
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
