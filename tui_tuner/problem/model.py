"""What is tuned: the problem file's tables as validated models."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer

from tui_tuner.problem.argument import Argument as Argument  # noqa: PLC0414 - part of the model for all who import it
from tui_tuner.problem.argument import Expression as Expression  # noqa: PLC0414 - likewise
from tui_tuner.problem.argument import Fill as Fill  # noqa: PLC0414 - likewise
from tui_tuner.problem.argument import Member as Member  # noqa: PLC0414 - likewise
from tui_tuner.problem.argument import without_defaults
from tui_tuner.problem.languages import COMPILED, LANGUAGES, TABLE
from tui_tuner.problem.languages import Configuration as Configuration  # noqa: PLC0414 - likewise
from tui_tuner.problem.languages import Language as Language  # noqa: PLC0414 - likewise
from tui_tuner.problem.languages import Value as Value  # noqa: PLC0414 - likewise
from tui_tuner.problem.tuning_step import TuningStep

WorkType = Literal["float64", "float32", "tf32", "bfloat16", "float16", "float8", "int32", "int8"]


def _no_truth(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("input should be a whole number, not true or false")
    return value


Size = Annotated[int, BeforeValidator(_no_truth)]
Dimensions = Annotated[list[Expression], Field(min_length=1, max_length=3)]


class ProblemTable(BaseModel):
    """A table of the problem file: immutable, unknown keys refused."""

    model_config = TABLE


class Kernel(ProblemTable):
    """The kernel to tune.

    Attributes:
        source: the file, relative to the problem file.
        name: the kernel function; may carry template arguments, as in `scale<float>`.
        language: what the kernel is written in; without it the file's ending tells.
        compiler_options: extra options for the compiler, the same for every candidate.
        host: of a kernel in Python a script that is run to see how it is launched, relative to the problem file.
        launched: of a kernel in Python how it is, a line each, as a model is told.
        tensor_bytes: of a kernel in Python, all tensors of that launch together.
    """

    source: Path
    name: str
    language: Language | None = None
    compiler_options: list[str] = []
    host: Path | None = None
    launched: list[str] = []
    tensor_bytes: int = 0

    @model_serializer(mode="wrap")
    def _as_ever(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is not said is not written: keys in journals hash the kernel."""
        return without_defaults(handler(self), host=None, launched=[], tensor_bytes=0)


class Launch(ProblemTable):
    """How many threads run; each expression is over sizes and tunables.

    Attributes:
        problem_size: elements along x, y, z.
        grid_div_x: divisors of `problem_size[0]`; their product divides it, rounded up.
            Without it the block size along x divides. The same along y and z.
        grid: number of blocks along x, y, z, instead of problem size and divisors.
        block_size: threads of a block along x, y, z; without it the tunables
            `block_size_x`, `block_size_y`, `block_size_z`, each 1 where it is not a tunable.
        shared_memory: dynamic shared memory of a block, bytes.
    """

    problem_size: Dimensions = [1]
    grid_div_x: list[Expression] | None = None
    grid_div_y: list[Expression] | None = None
    grid_div_z: list[Expression] | None = None
    grid: Dimensions | None = None
    block_size: Dimensions | None = None
    shared_memory: Expression = 0


class Search(ProblemTable):
    """What limits the search space, and where to begin.

    Attributes:
        restrictions: conditions over tunables and sizes, all of which must hold.
        seeds: configurations that are worth measuring early, besides the default one.
    """

    restrictions: list[str] = []
    seeds: list[Configuration] = []


class Work(ProblemTable):
    """The work of one launch, for the roofline.

    Attributes:
        flops: operations, an expression over sizes.
        bytes: least memory traffic, an expression over sizes.
        dtype: the data type that the operations are in; without it arguments and source tell.
    """

    flops: Expression = 0
    bytes: Expression = 0
    dtype: WorkType | None = None

    @model_serializer(mode="wrap")
    def _as_ever(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is not declared is not written: keys in journals hash the work."""
        return without_defaults(handler(self), dtype=None)


class InputFill(ProblemTable):
    """How one array is filled in a test, instead of the `fill`, `low` and `high` of its argument."""

    fill: Fill
    low: float | None = None
    high: Expression | float | None = None


class Test(ProblemTable):
    """Where every candidate is verified.

    Attributes:
        sizes: those not named keep the value of `[sizes]`.
        inputs: how array arguments are filled, by name; arrays not named keep the fill of their argument.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    sizes: dict[str, Size]
    inputs: dict[str, InputFill] = {}

    @model_serializer(mode="wrap")
    def _without_empty_inputs(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Tests that change no input are written as ever: keys in journals hash them."""
        return without_defaults(handler(self), inputs={})


class Reference(ProblemTable):
    """Where the expected results come from: a NumPy function `file.py:function`.

    It is called with every argument of the kernel by name (arrays of floats as float64) and
    returns the output array, or a dictionary or tuple of the output arrays.
    """

    python: str


class Library(ProblemTable):
    """What a library needs for the same: a function `file.py:function` that computes it on a CUDA device with torch.

    It is called with every argument of the kernel by name, arrays as tensors on the device, and returns the outputs as
    a reference does, or writes into them and returns nothing.
    """

    python: str


class Tolerance(ProblemTable):
    """How far a result may be off; what is not given follows `tui_tuner.evaluate.tolerance`.

    Attributes:
        integers: by how much each element of an output of whole numbers.
    """

    relative: float | None = None
    absolute: float | None = None
    integers: Annotated[Size, Field(ge=0)] = 0

    @property
    def is_declared(self) -> bool:
        """Whether it says how far floating-point results may be off."""
        return self.absolute is not None or self.relative is not None

    @model_serializer(mode="wrap")
    def _as_ever(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is not declared is not written: keys in journals hash problems."""
        return without_defaults(handler(self), integers=0)


class Emulator(ProblemTable):
    """Smaller sizes for the emulator, which runs a kernel on one CPU core.

    Attributes:
        macros: numbers that the source states, as by `#define N 4096`, and what the emulator's builds have instead.
    """

    sizes: dict[str, Size] = {}
    tests: list[Test] | None = None
    macros: dict[Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")], Size] = {}

    @model_serializer(mode="wrap")
    def _as_ever(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is not declared is not written: keys in journals hash problems."""
        return without_defaults(handler(self), macros={})


class Pointed(NamedTuple):
    """A member of a structure that is the address of an array: the array, and the places of structure and member."""

    array: str
    structure: int
    member: int
    path: str


class Problem(ProblemTable):
    """A kernel with all that is needed to launch, verify and time it.

    Attributes:
        directory: where the problem file is; every path in it is relative to this.
        source_text: the text of the kernel's file.
        defaults: the configuration of the kernel as given; the first value of each
            tunable that is not named.
        steps: the steps of the strategy `explicit`; empty for its own.
    """

    kernel: Kernel
    sizes: dict[str, Size] = {}
    launch: Launch
    arguments: list[Argument]
    tunables: dict[str, Annotated[list[Value], Field(min_length=1)]] = {}
    defaults: Configuration = {}
    search: Search = Search()
    work: Work | None = None
    tests: list[Test] = []
    reference: Reference | None = None
    library: Library | None = None
    tolerance: Tolerance = Tolerance()
    emulator: Emulator | None = None
    steps: list[TuningStep] = []

    directory: Path = Path()
    source_text: str = ""

    @property
    def language(self) -> Language:
        """The kernel's language, from its table or its file's ending."""
        return self.kernel.language or LANGUAGES[self.kernel.source.suffix]

    @property
    def is_compiled(self) -> bool:
        """Whether this program builds and launches the kernel; of others it only chooses the configuration."""
        return self.language in COMPILED

    @property
    def default_configuration(self) -> Configuration:
        """The configuration of the kernel as given."""
        return {name: self.defaults.get(name, values[0]) for name, values in self.tunables.items()}

    @property
    def pointed(self) -> list[Pointed]:
        """The members of structures that are addresses of arrays."""
        return [
            Pointed(member.array, index, number, f"{argument.name}.{member.name}")
            for index, argument in enumerate(self.arguments)
            for number, member in enumerate(argument.members or ())
            if member.array is not None
        ]

    def on_emulator(self) -> Problem:
        """This problem at the sizes and with the macros of its `[emulator]` table."""
        if self.emulator is None:
            return self
        tests = self.tests if self.emulator.tests is None else self.emulator.tests
        others: dict[str, Any] = {"sizes": {**self.sizes, **self.emulator.sizes}, "tests": tests}
        if self.emulator.macros:
            given = [(f"-U{name}", f"-D{name}={value}") for name, value in self.emulator.macros.items()]
            options = [*self.kernel.compiler_options, *itertools.chain(*given)]
            others["kernel"] = self.kernel.model_copy(update={"compiler_options": options})
        return self.model_copy(update=others)

    def at(self, test: Test) -> Problem:
        """This problem at the sizes of a test, each array filled as the test says."""

        def filled(argument: Argument) -> Argument:
            fill = test.inputs.get(argument.name)
            return argument if fill is None else argument.model_copy(update={**fill.model_dump(), "function": None})

        arguments = [filled(argument) for argument in self.arguments]
        return self.model_copy(update={"sizes": {**self.sizes, **test.sizes}, "arguments": arguments})

    def with_tests(self, tests: Sequence[Test]) -> Problem:
        """This problem, verified at these tests."""
        return self.model_copy(update={"tests": list(tests)})
