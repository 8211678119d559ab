"""What the evaluator asks of the process that holds a Python kernel, and what that process answers.

Several evaluations are asked for at once and answered in the order in which they are done, so each carries a number.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tui_tuner.evaluate.requests import Frame, UserErrorAnswer
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Failure, Resources, Timing
from tui_tuner.problem.model import Configuration, Tolerance, Value


class KernelDescription(Frame):
    """A kernel's search space.

    Attributes:
        framework: name and version, as in "helion 1.4.0".
        tunables: the values of each, flat and plain as `names` makes them.
        seeds: configurations that the file or the compiler lists besides the default one.
        restrictions: over tunables, all of which must hold.
        sizes: extents of the arguments, and those that are whole numbers.
    """

    framework: str
    name: str
    tunables: dict[str, list[Value]]
    defaults: Configuration
    seeds: list[Configuration] = Field(default_factory=list)
    restrictions: list[str] = Field(default_factory=list)
    sizes: dict[str, int] = Field(default_factory=dict)


class DescriptionRequest(Frame):
    """Load the file and tell about its kernel; `kernel` is needed where there are several."""

    type: Literal["describe"] = "describe"
    file: str
    kernel: str | None = None


class KernelOpenRequest(Frame):
    """Load the file, take the device, check and time the default configuration.

    Attributes:
        source: the text that the file must have.
        default: the configuration of the kernel as given.
        jobs: builds at once.
        build_limit_s: how long one build may take.
    """

    type: Literal["open"] = "open"
    file: str
    kernel: str
    source: str
    default: Configuration
    tolerance: Tolerance = Tolerance()
    jobs: int = 1
    build_limit_s: float = 60.0


class KernelEvaluationRequest(Frame):
    """Build, check and time; `best_ms` is the incumbent's time, for stopping hopeless ones early."""

    type: Literal["evaluate"] = "evaluate"
    id: int
    configuration: Configuration
    best_ms: float | None = None


class KernelComparisonRequest(Frame):
    """Time two, interleaved, on arguments made afresh."""

    type: Literal["compare"] = "compare"
    id: int
    incumbent: Configuration
    challenger: Configuration
    delta: float


class ForgetRequest(Frame):
    """Nobody waits for this any more."""

    type: Literal["forget"] = "forget"
    id: int


class KernelPhase(Frame):
    """What the process does now, and for which request; it must say the next thing within `limit_s`."""

    type: Literal["doing"] = "doing"
    id: int | None = None
    text: str
    limit_s: float


class DescriptionAnswer(Frame):
    """Outcome of describe."""

    type: Literal["described"] = "described"
    description: KernelDescription


class KernelOpenAnswer(Frame):
    """Outcome of open: the device and the default configuration."""

    type: Literal["opened"] = "opened"
    device: DeviceInfo
    given: KernelEvaluationAnswer


class KernelEvaluationAnswer(Frame):
    """Outcome of evaluate; `fatal` means that this process must be replaced, the others are as of `Evaluation`."""

    type: Literal["evaluated"] = "evaluated"
    id: int = 0
    timing: Timing | None = None
    failure: Failure | None = None
    resources: Resources = Resources()
    error: float | None = None
    as_written: str = ""
    build_ms: float = 0.0
    verify_ms: float = 0.0
    measure_ms: float = 0.0
    fatal: bool = False


class KernelComparisonAnswer(Frame):
    """Outcome of compare; `fatal` as in `KernelEvaluationAnswer`."""

    type: Literal["compared"] = "compared"
    id: int
    comparison: Comparison
    fatal: bool = False


KernelOpenAnswer.model_rebuild()

KernelRequest = Annotated[
    DescriptionRequest | KernelOpenRequest | KernelEvaluationRequest | KernelComparisonRequest | ForgetRequest,
    Field(discriminator="type"),
]
KernelAnswer = Annotated[
    KernelPhase
    | DescriptionAnswer
    | KernelOpenAnswer
    | KernelEvaluationAnswer
    | KernelComparisonAnswer
    | UserErrorAnswer,
    Field(discriminator="type"),
]
NumberedRequest = KernelEvaluationRequest | KernelComparisonRequest
"""Requests of which several may be under way."""
NumberedAnswer = KernelEvaluationAnswer | KernelComparisonAnswer
