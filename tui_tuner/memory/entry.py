"""What is kept of one session (features, device, best configurations; no source, no path), and how alike two are.

The formula is our own; `docs/memory.md` tells it to the user, with what it gives for the sample kernels.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from tree_sitter import Node

from tui_tuner.evaluate.devices.kinds import KINDS, kind_named
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.problem.candidate import geometry
from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Argument, Language, Problem
from tui_tuner.problem.syntax import code_only, parse_code
from tui_tuner.text import flattened

_LONGEST = 80
_MARKS = str.maketrans("<>", "()")


def one_line(text: str, longest: int = _LONGEST) -> str:
    """Text of unknown origin as one short line without tags."""
    line = flattened(text).translate(_MARKS)
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


KeptText = Annotated[str, AfterValidator(one_line)]
"""A name or a title, cleaned and cut whenever it is written or read."""
KeptNumber = Annotated[float, Field(ge=0, allow_inf_nan=False)]
KeptValue = bool | int | float | KeptText
"""A value of a tunable."""
KeptConfiguration = Annotated[dict[KeptText, KeptValue], Field(max_length=100)]


class MemoryModel(BaseModel):
    """A part of an entry; what a later version adds is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


CALLS = {
    "barriers": re.compile(r"__syncthreads\w*|__syncwarp|(?:work_group_|sub_group_)?barrier|sync"),
    "shuffles": re.compile(r"__shfl\w*|__reduce_\w+_sync|sub_group_(?:shuffle|reduce|scan|broadcast)\w*"),
    "atomics": re.compile(r"atom(?:ic)?[A-Z_]\w*"),
}
_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")


class KernelFeatures(MemoryModel):
    """A kernel without its source.

    Attributes:
        arguments: type and rank of each, as in "float32[2]" for a matrix, "int32" for a number; sorted.
        uses: which of shared memory, barriers, shuffles, atomics, loops, nested loops.
        intensity: operations a byte, from `[work]`; None where that is not told.
        tunables: the values of each.
        threads: threads of the grid along x, y, z as given; empty where that cannot be told.
    """

    kernel: KeptText
    language: KeptText
    arguments: Annotated[list[KeptText], Field(max_length=200)]
    uses: Annotated[list[KeptText], Field(max_length=20)]
    intensity: KeptNumber | None
    tunables: Annotated[dict[KeptText, Annotated[list[KeptValue], Field(max_length=1000)]], Field(max_length=100)]
    threads: Annotated[list[int], Field(max_length=3)]


def features_of(problem: Problem) -> KernelFeatures:
    """The features of a problem's kernel at the timed size."""
    return KernelFeatures(
        kernel=problem.kernel.name,
        language=problem.language,
        arguments=sorted(map(_kind, problem.arguments)),
        uses=list(_uses(problem.source_text, problem.language)),
        intensity=_intensity(problem),
        tunables=problem.tunables,
        threads=_threads(problem),
    )


def _kind(argument: Argument) -> str:
    return argument.dtype if argument.shape is None else f"{argument.dtype}[{len(argument.shape)}]"


def _intensity(problem: Problem) -> float | None:
    if problem.work is None:
        return None
    try:
        operations, moved = (float(evaluate(e, problem.sizes)) for e in (problem.work.flops, problem.work.bytes))
    except ExpressionError:
        return None
    return operations / moved if operations >= 0 and moved > 0 else None


def _threads(problem: Problem) -> list[int]:
    try:
        launch = geometry(problem.launch, problem.sizes, problem.default_configuration)
    except ExpressionError:
        return []
    return [blocks * threads for blocks, threads in zip(launch.grid, launch.block, strict=True)]


def _uses(source: str, language: Language) -> Iterator[str]:
    traits = COMPILED_LANGUAGES.get(language)
    if traits is None:
        return
    code = code_only(source)
    if traits.shared_memory is not None and traits.shared_memory.search(code):
        yield "shared memory"
    called, depth = _calls_and_loops(parse_code(code, language), code)
    for what, names in CALLS.items():
        if any(names.fullmatch(name) for name in called):
            yield what
    yield from ("loops", "nested loops")[:depth]


def _calls_and_loops(root: Node, code: str) -> tuple[set[str], int]:
    """The names of the functions that are called, and how deep loops are nested."""
    called, deepest = set[str](), 0
    pending = [(root, 0)]
    while pending:
        node, depth = pending.pop()
        depth += node.type in _LOOPS
        deepest = max(deepest, depth)
        function = node.child_by_field_name("function") if node.type == "call_expression" else None
        if function is not None:
            called.add(re.split(r"\W+", code[function.start_byte : function.end_byte].partition("<")[0])[-1])
        pending += [(child, depth) for child in node.children]
    return called, deepest


MOST_OTHERS = 5
MOST_HELPED = 8


class TimedConfiguration(MemoryModel):
    """A configuration with its time, ms."""

    configuration: KeptConfiguration
    ms: KeptNumber


class HelpfulStep(MemoryModel):
    """A step that was accepted, with its factor over the best before; None where it was not measured."""

    title: KeptText
    factor: KeptNumber | None = None


class MemoryEntry(MemoryModel):
    """One session.

    Attributes:
        created: date and time (UTC) of the session's begin, ISO 8601.
        features: what the kernel as given is recognised by.
        device: the name of the device.
        kind: the kind of the device, as in "cuda".
        times: whose times these are, see `tui_tuner.memory.entry.times_of`.
        best: the fastest configuration of the best kernel, which may have other tunables than the one as given.
        others: further configurations of that kernel, fastest first.
        speedup: how much faster the best is than the kernel as given, with the ends of the interval.
    """

    created: KeptText
    features: KernelFeatures
    device: KeptText
    kind: KeptText
    architecture: KeptText
    times: KeptText
    best: TimedConfiguration
    others: Annotated[list[TimedConfiguration], Field(max_length=MOST_OTHERS)]
    speedup: tuple[KeptNumber, KeptNumber, KeptNumber]
    helped: Annotated[list[HelpfulStep], Field(max_length=MOST_HELPED)]

    @property
    def is_cpu(self) -> bool:
        """Whether the times are a CPU's."""
        return self.times not in NO_CPU


THRESHOLD = 0.6
"""What is less alike is not offered."""
WEIGHTS = {
    "tunables": 0.25,
    "name": 0.20,
    "arguments": 0.20,
    "uses": 0.15,
    "intensity": 0.10,
    "threads": 0.05,
    "language": 0.05,
}
SAME_ARCHITECTURE = 0.95
OTHER_DEVICE = 0.85
_UNKNOWN = 0.5
_GPU = "gpu"
NO_CPU = (_GPU, *(kind.name for kind in KINDS.values() if kind.is_record))
"""What `times_of` gives where the times are no CPU's."""


def times_of(device: DeviceInfo) -> str:
    """Whose times a device gives; what was found with the times of one is never offered to another.

    All GPUs are one; each device that runs on a CPU is one for itself, and so are recorded times.
    """
    return device.kind if device.is_cpu or kind_named(device.kind).is_record else _GPU


def similarity(ours: KernelFeatures, theirs: KernelFeatures) -> float:
    """How alike two kernels are, 0 to 1."""
    parts = {
        "tunables": _spaces(ours.tunables, theirs.tunables),
        "name": _shared(_words(ours.kernel), _words(theirs.kernel)),
        "arguments": _shared(ours.arguments, theirs.arguments),
        "uses": _shared(ours.uses, theirs.uses),
        "intensity": _closeness(ours.intensity, theirs.intensity),
        "threads": _launches(ours.threads, theirs.threads),
        "language": float(ours.language == theirs.language),
    }
    return sum(WEIGHTS[name] * part for name, part in parts.items())


def device_factor(device: DeviceInfo, name: str, architecture: str) -> float:
    """How much what was found on another device counts here, 0 to 1."""
    if name == device.name:
        return 1.0
    return SAME_ARCHITECTURE if architecture and architecture == device.architecture else OTHER_DEVICE


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())


def _shared(ours: Collection[object], theirs: Collection[object]) -> float:
    """What both have, over what either has, each as often as it occurs (Jaccard); 1 where there is nothing."""
    a, b = Counter(ours), Counter(theirs)
    either = (a | b).total()
    return (a & b).total() / either if either else 1.0


def _spaces(ours: Mapping[str, Sequence[object]], theirs: Mapping[str, Sequence[object]]) -> float:
    """Names that both have, over names that either has; half of each counts for the values."""
    names = ours.keys() | theirs.keys()
    both = ours.keys() & theirs.keys()
    return sum((1 + _shared(ours[name], theirs[name])) / 2 for name in both) / len(names) if names else 1.0


def _closeness(a: float | None, b: float | None) -> float:
    """The smaller over the larger."""
    if a is None and b is None:
        return 1.0
    if a is None or b is None:
        return _UNKNOWN
    return min(a, b) / max(a, b) if max(a, b) > 0 else 1.0


def _launches(ours: Sequence[int], theirs: Sequence[int]) -> float:
    """Half for the same number of dimensions, half for how close the numbers of threads are."""
    if not ours or not theirs:
        return 1.0 if not ours and not theirs else _UNKNOWN
    dimensions = [sum(extent > 1 for extent in extents) for extents in (ours, theirs)]
    threads = [float(math.prod(max(1, min(extent, 2**40)) for extent in extents)) for extents in (ours, theirs)]
    return 0.5 * (dimensions[0] == dimensions[1]) + 0.5 * _closeness(*threads)
