"""The arguments of a kernel in a problem file: arrays, scalars, structures and local memory."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from tui_tuner.problem.languages import TABLE

type_names = Literal[
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
]
_LIST_AND_PART = 2
POINTER = "pointer"
"""The dtype of a member that holds an address."""
Expression = str | int
"""Arithmetic over sizes and tunables; read only by `tui_tuner.problem.expressions`."""
Fill = Literal["normal", "uniform", "integers", "arange", "zeros", "ones"]
"""How a test, or a model, may fill an array."""
ArgumentFill = Literal[Fill, "offsets", "shuffled"]
"""How an argument may be filled."""
ComparedAs = Literal["sum", "min", "max", "sorted"]
"""What of an output is compared, where that is not each element for itself."""


def without_defaults(content: dict[str, Any], **defaults: object) -> dict[str, Any]:
    """The content of a table without what is as ever."""
    return {name: value for name, value in content.items() if name not in defaults or value != defaults[name]}


class Member(BaseModel):
    """One member of a structure: of one that is passed by value with its value, of those in an array with a fill.

    Attributes:
        dtype: of one element; "pointer" for the address of an array.
        value: a number or an expression over sizes; a list of them for an array or a vector; of a pointer the name of
            the array, or 0 for none.
        alignment: bytes, where it is more than that of the dtype, as of a float4.
        count: elements of an array or a vector, in an array of structures.
        fill: as that of an array, in an array of structures; `low` and `high` likewise.
    """

    model_config = TABLE

    name: str
    dtype: Literal[type_names, "pointer"]
    value: Expression | float | list[Expression | float] | None = None
    alignment: Literal[2, 4, 8, 16] | None = None
    count: Annotated[int, Field(ge=1)] | None = None
    fill: Fill | None = None
    low: float | None = None
    high: Expression | float | None = None

    @property
    def elements(self) -> int | None:
        """Of an array or a vector; None for a single number."""
        return len(self.value) if isinstance(self.value, list) else self.count

    @property
    def array(self) -> str | None:
        """The name of the array whose address it holds; None where it holds none."""
        return self.value if self.dtype == POINTER and isinstance(self.value, str) else None

    @model_validator(mode="after")
    def _address_or_number(self) -> Member:
        if self.dtype == POINTER and ((self.array is None and self.value != 0) or self.alignment is not None):
            raise ValueError(f"member '{self.name}' is a pointer: its value is the name of an array, or 0 for none")
        return self

    @model_serializer(mode="wrap")
    def _as_ever(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without_defaults(handler(self), **dict.fromkeys(("value", "alignment", "count", "fill", "low", "high")))


class Argument(BaseModel):
    """One argument of the kernel, in the order of its signature.

    Attributes:
        dtype: of one element; "struct" for a structure that is passed by value.
        shape: extents of an array, expressions over sizes; None for a scalar.
        value: what a scalar is, a number or an expression over sizes.
        members: what a structure that is passed by value holds, in the order of its declaration, nothing where it only
            has functions; or, beside a shape in bytes, what each structure of an array holds.
        output: whether the kernel writes the array and the result is checked.
        fill: how an input array is filled. An output without `fill` starts poisoned;
            with `fill` that content is restored before every launch.
        low: lower bound of `uniform` and `integers` (included), the first of `offsets`.
        high: upper bound of `uniform` and `integers` (excluded), the last of `offsets`.
        local: elements of the memory of a work-group that a `__local` pointer of OpenCL is given, over sizes, tunables
            and `block_size_x`, `_y`, `_z`, the extents of the block.
        compare: what of the output is compared: of partial results what they come to along their first extent, of what
            has no order its sorted elements; None for each element. Without `fill` it starts with what changes nothing.
        one_value: whether the output may hold one value at these inputs, as a status does; another output may not.
        infinities: whether infinities are among the values of a `normal` array, so that some are tested.
        nans: whether NaN is among the values of a `normal` or `uniform` array, likewise.
        function: what makes the array instead of a fill, by its name in the reference's file.
        constant: whether it is no parameter of the kernel but the `__constant__` variable of this name, which is filled
            before each launch, as a host does with cudaMemcpyToSymbol.
        addresses: whether the kernel is given a list in device memory of the addresses of the array's parts, one for
            each of its first extent, as a `float **` is.
    """

    model_config = TABLE

    name: str
    dtype: Literal[type_names, "struct"]
    shape: list[Expression] | None = None
    value: Expression | float | None = None
    members: list[Member] | None = None
    local: Expression | None = None
    output: bool = False
    fill: ArgumentFill | None = None
    low: float | str | None = None
    high: Expression | float | None = None
    compare: ComparedAs | None = None
    one_value: bool = False
    infinities: bool = False
    nans: bool = False
    function: str | None = None
    constant: bool = False
    addresses: bool = False

    @property
    def holds_structures(self) -> bool:
        """Whether it is an array of structures of several types, given as its bytes."""
        return self.shape is not None and self.members is not None

    @model_serializer(mode="wrap")
    def _as_ever(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is not declared is not written: keys in journals hash arguments."""
        return without_defaults(
            handler(self),
            **dict.fromkeys(("members", "local", "function", "compare")),
            **dict.fromkeys(("one_value", "infinities", "nans", "constant", "addresses"), False),
        )

    @model_validator(mode="after")
    def _scalar_or_array(self) -> Argument:
        if self.holds_structures or self.dtype == "struct" or self.members is not None:
            self._check_members(self.members or [])
        elif self.local is not None:
            if (self.shape, self.value, self.output, self.constant) != (None, None, False, False):
                raise ValueError(f"argument '{self.name}' is local memory: it has neither shape nor value nor output")
        elif (self.shape is None) == (self.value is None):
            raise ValueError(f"argument '{self.name}' needs either shape (an array) or value (a scalar)")
        if self.output and self.shape is None:
            raise ValueError(f"argument '{self.name}' is a scalar and cannot be an output")
        if self.one_value and not self.output:
            raise ValueError(f"argument '{self.name}' is no output, of which alone one_value is said")
        if self.compare is not None and (not self.output or self.addresses or self.holds_structures):
            raise ValueError(f"argument '{self.name}' is no output of numbers, of which alone compare is said")
        if self.addresses and (len(self.shape or ()) < _LIST_AND_PART or self.constant or self.holds_structures):
            raise ValueError(
                f"argument '{self.name}' is given as a list of addresses: it needs the shape of an array in device "
                "memory, first how many addresses there are, then the extents of what each leads to"
            )
        if self.output and self.constant:
            raise ValueError(f"argument '{self.name}' is constant memory, which no kernel writes")
        return self

    def _check_members(self, members: list[Member]) -> None:
        """Refuse what is neither a structure that is passed by value nor an array of some.

        Raises:
            ValueError: in words.
        """
        if self.holds_structures:
            if any(one.dtype == POINTER for one in members):
                raise ValueError(f"argument '{self.name}' is an array of structures that hold pointers, which none can")
            if self.dtype != "uint8" or self.value is not None or self.fill is not None or self.function is not None:
                raise ValueError(f"argument '{self.name}' holds structures: it needs dtype = \"uint8\" and no fill")
            if not members or any(one.value is not None for one in members):
                raise ValueError(f"argument '{self.name}' holds structures: its members have a fill, and no value")
            return
        if self.dtype != "struct" or self.members is None or (self.shape, self.value) != (None, None):
            raise ValueError(f"argument '{self.name}' needs dtype = \"struct\" with members and no shape or value")
        if self.constant:
            raise ValueError(f"argument '{self.name}' is constant memory: give it as an array of its numbers")
        if any(one.value is None or {one.count, one.fill, one.low, one.high} != {None} for one in members):
            raise ValueError(f"argument '{self.name}' is passed by value: each of its members needs a value alone")
