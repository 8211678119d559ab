"""A problem from the model, as data: sizes, launch, arrays and work of a kernel that has no problem file."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tui_tuner.problem.argument import ArgumentFill

MOST_TESTS = 3
_MOST_SIZES, _MOST_MACROS = 24, 24


def _as_text(given: object) -> object:
    return str(given) if isinstance(given, int | float) and not isinstance(given, bool) else given


Expression = Annotated[str, BeforeValidator(_as_text)]
"""An expression over sizes, or a number, as text; a number that is none is taken for its text."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


class DraftedValue(_Table):
    """A value of a size."""

    name: str
    value: int = Field(ge=1, le=2**40)


class DraftedSize(DraftedValue):
    """A name for the expressions, with a value, and which others the kernel can do."""

    multiple_of: Expression
    power_of_two: bool


class DraftedGrid(_Table):
    """How many threads run; as the keys of [launch]."""

    problem_size: list[str] = Field(min_length=1, max_length=3)
    grid_div_x: list[str]
    grid_div_y: list[str]
    grid_div_z: list[str]
    block_size: list[str] = Field(max_length=3)
    shared_memory: str


class DraftedMacro(_Table):
    """One macro of the build; nothing else of its options is a model's to say."""

    name: str
    value: Expression


class DraftedArray(_Table):
    """One pointer of the kernel."""

    name: str
    elements: str
    output: bool
    fill: ArgumentFill | None
    low: Expression | None
    high: Expression | None


class DraftedScalar(_Table):
    """One parameter that is no pointer."""

    name: str
    value: Expression


class DraftedTest(_Table):
    """Sizes to check at."""

    sizes: list[DraftedValue]


class DraftReply(_Table):
    """What the model says of a kernel; the fields are explained in the prompt."""

    sizes: list[DraftedSize] = Field(max_length=_MOST_SIZES)
    macros: list[DraftedMacro] = Field(max_length=_MOST_MACROS)
    launch: DraftedGrid
    arrays: list[DraftedArray]
    scalars: list[DraftedScalar]
    tests: list[DraftedTest] = Field(max_length=MOST_TESTS)
    flops: str
    bytes: str
    unsure: list[str]
