"""Kernels written in Python, with Helion or Triton: described, built, checked and timed in a process of their own.

Only what is in `child/` imports torch. Here: what the evaluator asks of that process, what that answers, and the names
of flat values. Several evaluations are asked for at once and answered in the order in which they are done, so each
carries a number.

A list becomes one tunable an element (`block_sizes_0`, `block_sizes_1`). A value that a tunable cannot have (None, an
empty text, a list, or one of several kinds) is written as Python writes it. Read back, text that is a Python literal
stands for that literal and all other text for itself, so that no table is needed to go back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from tui_tuner.evaluate.results import Comparison, DeviceInfo, Failure, Resources, Timing
from tui_tuner.evaluate.runner.protocol import Frame, UserErrorAnswer
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.model import Configuration, Expression, Tolerance, Value
from tui_tuner.problem.triton import OPTIONS


class KernelDescription(Frame):
    """A kernel's search space.

    Attributes:
        framework: name and version, as in "helion 1.4.0".
        tunables: the values of each, flat and plain as `names` makes them.
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


Tree = dict[str, object]
"""A configuration as Helion or Triton has it: values and lists of values by name."""

_ELEMENT = re.compile(r"(?P<key>\w+)_(?P<place>\d+)", re.ASCII)


def element_name(key: str, place: int) -> str:
    """Name of the tunable for one element of a list."""
    return f"{key}_{place}"


def is_element_name(name: str) -> bool:
    """Whether a name reads as that of an element: no single value may be called like this."""
    return _ELEMENT.fullmatch(name) is not None


def plain_values(values: Sequence[object]) -> list[Value]:
    """The values of one tunable, all of one kind."""
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {bool, int, float}:
        return [value for value in values if isinstance(value, bool | int | float)]
    return [_text(value) for value in values]


def value_of(plain: Value) -> object:
    """What a tunable's value stands for."""
    if not isinstance(plain, str):
        return plain
    try:
        value: object = ast.literal_eval(plain)
    except (ValueError, SyntaxError):
        return plain
    return value


def gathered(configuration: Mapping[str, Value]) -> Tree:
    """The configuration with its lists put together again.

    Raises:
        KeyError: an element of a list is missing.
    """
    tree: Tree = {}
    elements: dict[str, dict[int, object]] = {}
    for name, plain in configuration.items():
        found = _ELEMENT.fullmatch(name)
        if found is None:
            tree[name] = value_of(plain)
        else:
            elements.setdefault(found["key"], {})[int(found["place"])] = value_of(plain)
    return tree | {key: [places[place] for place in range(len(places))] for key, places in elements.items()}


def triton_line(options: Mapping[str, object]) -> str:
    """The options of a launch as a `triton.Config`, ready to paste."""
    own = {name: value for name, value in options.items() if name not in OPTIONS}
    others = "".join(f", {name}={options[name]!r}" for name in OPTIONS if name in options)
    return f"triton.Config({own!r}{others})"


def _text(value: object) -> str:
    if isinstance(value, str) and value.isprintable() and value.strip() == value != "" and value_of(value) is value:
        return value
    return repr(value)
