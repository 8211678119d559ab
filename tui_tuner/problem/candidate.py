"""A candidate (source, launch and search space), and the grid and block of its launches."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    InstanceOf,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)

from tui_tuner.problem.dtypes import dtype_named
from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.model import Argument, Configuration, Expression, Launch, Problem, Value
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.syntax import without_own_values
from tui_tuner.subjects import Source

AXES = ("x", "y", "z")
LOCAL_NAMES = tuple(f"block_size_{axis}" for axis in AXES)
"""What local memory may be measured by besides sizes and tunables: the extents of the block."""
GRID_LIMITS = (2**31 - 1, 65535, 65535)
MAX_SHARED_BYTES = 2**20
_EDITED = ", edited"


@dataclass(frozen=True)
class Geometry:
    """Blocks of the grid, threads of a block along x, y, z, and dynamic shared memory in bytes.

    Attributes:
        local: bytes of each `__local` argument of OpenCL, with its place among the arguments.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0
    local: tuple[tuple[int, int], ...] = ()


def geometry(launch: Launch, sizes: Mapping[str, int], configuration: Configuration) -> Geometry:
    """The launch geometry of a configuration at the given sizes.

    Raises:
        ExpressionError: an expression fails or a number is outside what any device launches.
    """
    names = {**sizes, **configuration}
    block = _three([_positive(e, names, "block size") for e in block_expressions(launch, configuration)])
    grid = _three(_grid(launch, names, block))
    for axis, number, limit in zip(AXES, grid, GRID_LIMITS, strict=True):
        if number > limit:
            raise ExpressionError(f"{number} blocks along {axis}: more than the {limit} that can be launched")
    shared_bytes = _integer(launch.shared_memory, names, "shared memory")
    if not 0 <= shared_bytes <= MAX_SHARED_BYTES:
        raise ExpressionError(f"{shared_bytes} bytes of shared memory: outside 0 to {MAX_SHARED_BYTES}")
    return Geometry(grid, block, shared_bytes)


def local_memory(
    arguments: Sequence[Argument], sizes: Mapping[str, int], configuration: Configuration, block: tuple[int, int, int]
) -> tuple[tuple[int, int], ...]:
    """The bytes of each `__local` argument in a launch of such blocks, with its place among the arguments.

    Raises:
        ExpressionError: an expression fails, or is no whole number of at least 1.
    """
    names = {**sizes, **configuration, **dict(zip(LOCAL_NAMES, block, strict=True))}
    found = []
    for index, argument in enumerate(arguments):
        if argument.local is not None:
            elements = _positive(argument.local, names, f"argument '{argument.name}': local memory")
            found.append((index, elements * dtype_named(argument.dtype).itemsize))
    return tuple(found)


def block_expressions(launch: Launch, configuration: Configuration) -> list[Expression]:
    """The threads of a block along x, y, z as far as they are given, as expressions."""
    if launch.block_size is not None:
        return launch.block_size
    return [f"block_size_{axis}" if f"block_size_{axis}" in configuration else 1 for axis in AXES]


def blocks(expression: Expression, names: Mapping[str, object]) -> int:
    """The blocks along one axis of a grid.

    Raises:
        ExpressionError: it fails, or is no whole number of at least 1.
    """
    return _positive(expression, names, "grid")


def _grid(launch: Launch, names: Mapping[str, object], block: tuple[int, int, int]) -> list[int]:
    if launch.grid is not None:
        return [blocks(e, names) for e in launch.grid]
    divisors = (launch.grid_div_x, launch.grid_div_y, launch.grid_div_z)
    counted = []
    for elements, expressions, threads in zip(launch.problem_size, divisors, block, strict=False):
        divisor = threads
        if expressions is not None:
            divisor = math.prod(_positive(e, names, "grid divisor") for e in expressions)
        counted.append(-(-_positive(elements, names, "problem size") // divisor))
    return counted


def _three(numbers: list[int]) -> tuple[int, int, int]:
    x, y, z = [*numbers, 1, 1][:3]
    return x, y, z


def _positive(expression: Expression, names: Mapping[str, object], what: str) -> int:
    number = _integer(expression, names, what)
    if number < 1:
        raise ExpressionError(f"{what} '{expression}' is {number}: it must be at least 1")
    return number


def _integer(expression: Expression, names: Mapping[str, object], what: str) -> int:
    number = evaluate(expression, names)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int):
        raise ExpressionError(f"{what} '{expression}' is {number!r}: a whole number is needed")
    return number


class Candidate(BaseModel):
    """A kernel that can be built in every configuration of its search space.

    Attributes:
        source: the whole text of the kernel's file.
        kernel: the name of the kernel function.
        launch: grid and block as expressions over sizes and tunables.
        tunables: the values of each tunable parameter; passed to the compiler as macros.
        restrictions: expressions that a configuration must satisfy, all of them.
        defaults: the configuration to start from, where it differs from the first values.
        title: a few words for people.
    """

    model_config = ConfigDict(frozen=True)

    source: str
    kernel: str
    launch: Launch
    tunables: dict[str, list[Value]] = {}
    restrictions: list[str] = []
    defaults: Configuration = {}
    title: str = ""

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits that name this candidate, its title aside."""
        content = self.model_dump_json(exclude={"title"})
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    def edited(self, source: str) -> Self:
        """This kernel with the text as the user left it."""
        return self.model_copy(update={"source": source, "title": f"{self.title.removesuffix(_EDITED)}{_EDITED}"})

    def space(
        self,
        *,
        sizes: Mapping[str, int],
        max_threads: int | None,
        members: Collection[Configuration] | None = None,
    ) -> SearchSpace:
        """The valid configurations.

        Args:
            sizes: the problem's sizes; restrictions may name them.
            max_threads: threads that a block may have on the device; None for no limit.
            members: the only configurations that there are, as in a recording; None for no such limit.

        Raises:
            ExpressionError: a restriction is not allowed or names what is not known.
        """
        return SearchSpace(
            self.tunables,
            self.restrictions,
            sizes=sizes,
            max_threads=max_threads,
            block_size=self.launch.block_size,
            members=members,
        )

    @property
    def default_configuration(self) -> Configuration:
        """The configuration to start from."""
        return {name: self.defaults.get(name, values[0]) for name, values in self.tunables.items()}


class Configured(BaseModel):
    """A candidate, by its id, in one of its configurations."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    candidate: str
    configuration: Configuration


def baseline(problem: Problem) -> Candidate:
    """The kernel as the user gave it, without values of its own for what is tunable."""
    text, tunables = problem.source_text, problem.tunables
    return Candidate(
        source=without_own_values(text, tunables) if problem.is_compiled else text,
        kernel=problem.kernel.name,
        launch=problem.launch,
        tunables=tunables,
        restrictions=problem.search.restrictions,
        defaults=problem.defaults,
        title="baseline",
    )


SOURCE_CLASS = "source"
"""In the context of a validation: the class as which sources are read again; without one they are kernels."""


def _read_again(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:  # noqa: ANN401  # pydantic's
    """A source as it is, or read again from how it was written."""
    if not isinstance(value, Mapping):
        return handler(value)
    return (info.context or {}).get(SOURCE_CLASS, Candidate).model_validate(value)


_SOURCE_SCHEMA = {"type": "object", "description": "a kernel as Candidate, or what another subject tunes"}

AnySource = Annotated[Source, InstanceOf(), WrapValidator(_read_again), WithJsonSchema(_SOURCE_SCHEMA)]
"""A source as a field of an event or a proposal; written with all the fields that it has."""
