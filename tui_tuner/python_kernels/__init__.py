"""Kernels written in Python, with Helion or Triton: described, built, checked and timed in a process of their own.

Only what is in `child/` imports torch. Here: what the evaluator asks of that process, and what that answers. Several
evaluations are asked for at once and answered in the order in which they are done, so each carries a number.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tui_tuner.evaluate.results import Comparison, DeviceInfo, Failure, Resources, Timing
from tui_tuner.evaluate.runner.protocol import Frame, UserErrorAnswer
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.model import Configuration, Expression, Tolerance, Value


class KernelDescription(Frame):
    """A kernel's search space.

    Attributes:
        framework: name and version, as in "helion 1.4.0".
        tunables: the values of each, flat and plain, see `flat`.
        seeds: configurations that the file or the compiler lists besides the default one.
        restrictions: over tunables, all of which must hold.
        sizes: extents of the arguments, and those that are whole numbers.
        launched: arguments and grid of its launch, a line each.
        tensor_bytes: of all its tensors.
        notes: what is taken for granted, a line each.
    """

    framework: str
    name: str
    tunables: dict[str, list[Value]]
    defaults: Configuration
    seeds: list[Configuration] = Field(default_factory=list)
    restrictions: list[str] = Field(default_factory=list)
    sizes: dict[str, int] = Field(default_factory=dict)
    launched: list[str] = Field(default_factory=list)
    tensor_bytes: int = 0
    notes: list[str] = Field(default_factory=list)


class DescriptionRequest(Frame):
    """Load the file and tell about its kernel.

    Attributes:
        kernel: needed where there are several.
        host: a script that is run to see how the kernel is launched; None for the file itself.
    """

    type: Literal["describe"] = "describe"
    file: str
    kernel: str | None = None
    host: str | None = None


class Rewritten(Frame):
    """What a rewritten kernel has instead of what the file has.

    Attributes:
        source: the whole text of the file.
        grid: expressions over sizes and tunables; None for the grid that the launch has.
        restrictions: what each configuration must satisfy.
    """

    source: str
    grid: list[Expression] | None = None
    restrictions: list[str] = Field(default_factory=list)


class KernelOpenRequest(Frame):
    """Load the file, take the device, check and time the default configuration.

    Attributes:
        host: a script that is run to see how the kernel is launched; None for the file itself.
        source: the text that the file must have.
        tensor_bytes: of the launch that is tuned, behind which the file need not be run any further; 0 if not known.
        default: the configuration of the kernel as given.
        rewritten: what the problem has instead of what the file has, as a grid.
        jobs: builds at once.
        allow_unconfined: whether what a model writes is compiled where nothing can confine that.
        build_limit_s: how long one build may take; as Helion has it.
    """

    type: Literal["open"] = "open"
    file: str
    kernel: str
    host: str | None = None
    source: str
    tensor_bytes: int = 0
    default: Configuration
    rewritten: Rewritten | None = None
    tolerance: Tolerance = Tolerance()
    jobs: int = 1
    allow_unconfined: bool = False
    build_limit_s: float = 60.0


class KernelLaunchesRequest(Frame):
    """Load the file, build one configuration and launch it so often; what a process is told that tools watch.

    Attributes:
        opening: what the session's own process was told.
        rewritten: None for the kernel as given.
        guarded: whether there is memory around the arguments, which hides accesses there from tools.
    """

    type: Literal["launch"] = "launch"
    opening: KernelOpenRequest
    configuration: Configuration
    rewritten: Rewritten | None = None
    launches: int
    guarded: bool = True


class KernelEvaluationRequest(Frame):
    """Build, check and time.

    Attributes:
        rewritten: None for the kernel as given.
        best_ms: the incumbent's time, for stopping hopeless ones early.
    """

    type: Literal["evaluate"] = "evaluate"
    id: int
    configuration: Configuration
    rewritten: Rewritten | None = None
    best_ms: float | None = None


class KernelComparisonRequest(Frame):
    """Time two, interleaved, on arguments made afresh; the kernels as in `KernelEvaluationRequest`."""

    type: Literal["compare"] = "compare"
    id: int
    incumbent: Configuration
    incumbent_rewritten: Rewritten | None = None
    challenger: Configuration
    challenger_rewritten: Rewritten | None = None
    delta: float


class MachineCodeRequest(Frame):
    """Put what a configuration is compiled to into a file.

    Attributes:
        artifact: the file.
        rewritten: None for the kernel as given.
    """

    type: Literal["machine code"] = "machine code"
    id: int
    configuration: Configuration
    rewritten: Rewritten | None = None
    artifact: str


LAUNCHING = "tuner-tui: launching"
"""Is printed before the first of the launches that are asked for: what a tool says before is of the file's own."""


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
    geometry: Geometry | None = None
    fatal: bool = False


class MachineCodeAnswer(Frame):
    """Outcome of machine code: the kernel's name in it, or why there is none."""

    type: Literal["compiled"] = "compiled"
    id: int
    symbol: str = ""
    failure: Failure | None = None


class KernelLaunchesAnswer(Frame):
    """Outcome of launch: nothing, or why it failed."""

    type: Literal["launched"] = "launched"
    failure: Failure | None = None


class KernelComparisonAnswer(Frame):
    """Outcome of compare; `fatal` as in `KernelEvaluationAnswer`."""

    type: Literal["compared"] = "compared"
    id: int
    comparison: Comparison
    fatal: bool = False


KernelOpenAnswer.model_rebuild()

KernelRequest = Annotated[
    DescriptionRequest
    | KernelOpenRequest
    | KernelLaunchesRequest
    | KernelEvaluationRequest
    | KernelComparisonRequest
    | MachineCodeRequest
    | ForgetRequest,
    Field(discriminator="type"),
]
KernelAnswer = Annotated[
    KernelPhase
    | DescriptionAnswer
    | KernelOpenAnswer
    | KernelLaunchesAnswer
    | KernelEvaluationAnswer
    | KernelComparisonAnswer
    | MachineCodeAnswer
    | UserErrorAnswer,
    Field(discriminator="type"),
]
NumberedRequest = KernelEvaluationRequest | KernelComparisonRequest | MachineCodeRequest
"""Requests of which several may be under way."""
NumberedAnswer = KernelEvaluationAnswer | KernelComparisonAnswer | MachineCodeAnswer
