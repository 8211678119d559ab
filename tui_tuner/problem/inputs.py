"""The arguments of a launch: what their expressions come to, fresh random inputs and poisoned outputs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from tui_tuner.errors import ProblemError
from tui_tuner.problem.argument import POINTER
from tui_tuner.problem.blocks import BLOCK, in_threads
from tui_tuner.problem.by_value import layout
from tui_tuner.problem.compared import is_neutral, neutral_number
from tui_tuner.problem.dtypes import dtype_named, is_floating, is_narrow, kept_below, largest
from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.model import Argument, InputFill, Member, Problem
from tui_tuner.problem.placement import in_order
from tui_tuner.problem.reference import call_reference, made_by_function

DEFAULT_INTEGERS = (0, 100)
DEFAULT_UNIFORM = (0, 1)
BOUNDED = ("uniform", "integers", "offsets")
"""The fills that `low` and `high` bound."""


def shape_of(argument: Argument, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of an array.

    Raises:
        ExpressionError: an extent has no value or is no whole number of at least 1.
    """
    return tuple(_extent(expression, sizes) for expression in argument.shape or [])


def _extent(expression: str | int, sizes: Mapping[str, int]) -> int:
    extent = evaluate(expression, sizes)
    if isinstance(extent, float) and extent.is_integer():
        extent = int(extent)
    if isinstance(extent, bool) or not isinstance(extent, int) or extent < 1:
        raise ExpressionError(f"the extent '{expression}' is {extent!r}: a whole number of at least 1 is needed")
    return extent


def scalar_of(argument: Argument, sizes: Mapping[str, int]) -> np.generic:
    """The value of a scalar in its dtype, or of a structure that is passed by value.

    Raises:
        ExpressionError: it has no value or does not fit into the dtype.
    """
    if argument.members is not None:
        return _structure(argument.members, sizes)
    value = _number(0 if argument.value is None else argument.value, sizes)
    _fit(value, dtype_named(argument.dtype))
    scalar: np.generic = dtype_named(argument.dtype).type(value)
    return scalar


def _structure(members: Sequence[Member], sizes: Mapping[str, int]) -> np.void:
    held = np.zeros((), layout(members))  # what lies between the members as well
    for member in members:
        if member.dtype == POINTER:
            continue  # an address is known when the arrays are on a device
        given = member.value if isinstance(member.value, list) else [member.value or 0]
        values = [_number(one, sizes) for one in given]
        for value in values:
            try:
                _fit(value, dtype_named(member.dtype))
            except ExpressionError as error:
                raise ExpressionError(f"{member.name}: {error}") from None
        held[member.name] = values if isinstance(member.value, list) else values[0]
    found: Any = held[()]
    return cast(np.void, found)


def bounds_of(argument: Argument, sizes: Mapping[str, int]) -> tuple[float, float]:
    """Lower (included) and upper (excluded) bound of a `uniform` or `integers` fill; first and last of `offsets`.

    Raises:
        ExpressionError: they have no value, leave nothing between them or do not fit into the dtype.
    """
    dtype = dtype_named(argument.dtype)
    if dtype.kind == "b":
        default_low, default_high = 0, 2
    else:
        default_low, default_high = DEFAULT_UNIFORM if fill_of(argument) == "uniform" else DEFAULT_INTEGERS
    low = default_low if argument.low is None else _number(argument.low, sizes)
    high = default_high if argument.high is None else _number(argument.high, sizes)
    if not low < high:
        raise ExpressionError(f"there is nothing between low = {low} and high = {high}")
    if fill_of(argument) in ("integers", "offsets"):
        low, high = math.ceil(low), math.ceil(high)
        drawn = np.dtype(np.int64) if is_floating(dtype) else dtype
        most = high if fill_of(argument) == "offsets" else high - 1
        for number, held in itertools.product((low, most), (dtype, drawn)):
            _fit(number, held)
        return low, high
    for number, held in ((low, dtype), (high, dtype), (high - low, np.promote_types(dtype, np.float32))):
        _fit(number, held)
    return low, high


def check_value(argument: Argument, sizes: Mapping[str, int]) -> None:
    """Whether a launch at these sizes can give the argument a value: its scalar, or its shape and fill.

    Raises:
        ExpressionError: it cannot.
    """
    if argument.shape is None:
        scalar_of(argument, sizes)
        return
    count = math.prod(shape_of(argument, sizes))
    if argument.holds_structures and count % (itemsize := layout(argument.members or []).itemsize):
        raise ExpressionError(f"{count} bytes are no whole number of structures of {itemsize} bytes")
    for one in map(filled_member, argument.members or []):
        check_value(one, sizes)
    if fill_of(argument) in BOUNDED:
        bounds_of(argument, sizes)
    if fill_of(argument) in ("arange", "shuffled"):
        check_counting(count, dtype_named(argument.dtype))


def check_counting(count: int, dtype: np.dtype) -> None:
    """Whether the numbers 0 to count - 1 fit into a dtype.

    Raises:
        ExpressionError: they do not.
    """
    most = largest(dtype) if is_floating(dtype) else np.iinfo(dtype).max
    if count - 1 > float(most):
        raise ExpressionError(f"counting to {count} does not fit into {dtype}")


def fill_of(argument: Argument) -> str | None:
    """How an array is filled; None for an output that starts poisoned."""
    if argument.function is not None:
        return f"by {argument.function}()"
    if argument.holds_structures:
        return "by its members"
    if argument.fill is not None or poisoned(argument):
        return argument.fill
    if is_neutral(argument):
        return "neutral"
    return "normal" if is_floating(dtype_named(argument.dtype)) else "integers"


def poisoned(argument: Argument) -> bool:
    """Whether the argument is an output that starts with values that no kernel computes."""
    made = argument.function is not None or argument.holds_structures
    return argument.output and argument.fill is None and not made and argument.compare is None


def is_blank(argument: Argument) -> bool:
    """Whether the argument is an output that starts with nothing that a kernel could take anything from."""
    return poisoned(argument) or is_neutral(argument)


def array_bytes(problem: Problem, sizes: Mapping[str, int]) -> int:
    """The bytes of all array arguments together.

    Raises:
        ExpressionError: a shape has no value.
    """
    arrays = [argument for argument in problem.arguments if argument.shape is not None]
    merged = {**problem.sizes, **sizes}
    return sum(math.prod(shape_of(array, merged)) * dtype_named(array.dtype).itemsize for array in arrays)


def _number(value: str | int | float, sizes: Mapping[str, int]) -> bool | int | float:
    number = evaluate(value, sizes)
    if isinstance(number, str):
        raise ExpressionError(f"'{value}' is text: a number is needed")
    return number


def _fit(value: float, dtype: np.dtype) -> None:
    if dtype.kind == "b":
        fits = value in (0, 1)
    elif np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        fits = limits.min <= value <= limits.max and float(value).is_integer()
    else:
        fits = abs(value) <= largest(dtype)
    if not fits:
        raise ExpressionError(f"{value!r} does not fit into {dtype}")


__all__ = ["array_bytes", "call_reference", "make_arguments", "poisoned", "repoisoned", "untouched"]

POISON_BYTE = 0xA5


def make_arguments(problem: Problem, sizes: Mapping[str, int], seed: int) -> list[np.ndarray | np.generic]:
    """The arguments of one launch in the kernel's order: arrays, and scalars in their dtype.

    An output that starts poisoned can only be read: it may be one number that is kept once.

    Args:
        sizes: replace the problem's own where they are named.
        seed: determines every random number.

    Raises:
        ProblemError: a shape, value or bound is not possible at these sizes.
    """
    merged = {**problem.sizes, **sizes}
    return [_value(problem, argument, merged, [seed, index]) for index, argument in enumerate(problem.arguments)]


def untouched(argument: Argument, array: np.ndarray) -> np.ndarray:
    """Where a poisoned output still holds its poison: a mask of the array's shape."""
    if is_floating(array.dtype):
        return np.asarray(np.isnan(array))
    return np.asarray(array == _poison(dtype_named(argument.dtype), array.shape))


def repoisoned(argument: Argument, value: np.ndarray | np.generic) -> np.ndarray | np.generic:
    """The value of an argument with another poison: an element that keeps both was written by neither launch."""
    if not isinstance(value, np.ndarray) or not poisoned(argument):
        return value
    return np.ones_like(value) if is_floating(value.dtype) else np.invert(value)


def _value(problem: Problem, argument: Argument, sizes: Mapping[str, int], seed: list[int]) -> np.ndarray | np.generic:
    try:
        if argument.shape is None:
            return scalar_of(argument, sizes)
        shape, dtype = shape_of(argument, sizes), dtype_named(argument.dtype)
        if poisoned(argument):
            return _poison(dtype, shape)
        if argument.holds_structures:
            return _structures(argument, sizes, shape, seed)
        if argument.function is not None:
            made = made_by_function(problem, argument.function, sizes, np.random.default_rng(seed), (shape, dtype))
            return in_order(argument, made)
        return _filled(argument, sizes, shape, seed)
    except ExpressionError as error:
        raise ProblemError(f"argument '{argument.name}': {error}", hint=f"the sizes are {dict(sizes)}") from None


def _structures(argument: Argument, sizes: Mapping[str, int], shape: tuple[int, ...], seed: list[int]) -> np.ndarray:
    """The bytes of an array of structures, each member filled as it says."""
    lying = layout(argument.members or [])
    held = np.zeros(math.prod(shape) // lying.itemsize, lying)  # what lies between the members as well
    for index, member in enumerate(argument.members or []):
        part = held[member.name]
        part[...] = _filled(filled_member(member), sizes, part.shape, [*seed, index])
    return held.view(np.uint8).reshape(shape)


def filled_member(member: Member) -> Argument:
    """A member of the structures of an array as an array of its own."""
    one = {"name": member.name, "dtype": member.dtype, "shape": [1]}
    return Argument.model_validate({**one, "fill": member.fill, "low": member.low, "high": member.high})


def _poison(dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """An array to be read; where it is one number throughout, that is kept once."""
    if dtype.kind == "b":
        return np.resize(np.array([True, False]), shape)
    poison = np.asarray(np.nan, dtype) if is_floating(dtype) else np.full(dtype.itemsize, POISON_BYTE, np.uint8)
    return np.broadcast_to(poison.view(dtype), shape)


def _filled(argument: Argument, sizes: Mapping[str, int], shape: tuple[int, ...], seed: list[int]) -> np.ndarray:
    dtype = dtype_named(argument.dtype)
    match fill_of(argument):
        case "zeros":
            return np.zeros(shape, dtype)
        case "ones":
            return np.ones(shape, dtype)
        case "neutral":
            return np.full(shape, neutral_number(argument, dtype), dtype)
        case "arange" | "shuffled" as how:
            return _counting(shape, dtype, seed if how == "shuffled" else None)
        case "normal":
            return _drawn(shape, dtype, seed, lambda random, part: random.standard_normal(dtype=part.dtype, out=part))
    low, high = bounds_of(argument, sizes)
    if fill_of(argument) == "offsets":
        return _offsets(np.random.default_rng(seed), math.prod(shape), dtype, int(low), int(high)).reshape(shape)
    if fill_of(argument) == "uniform":
        values = _drawn(shape, dtype, seed, lambda random, part: _uniform(random, part, low, high))
        return kept_below(values, high)
    held = dtype if not is_floating(dtype) else np.dtype(np.int64)
    return _drawn(shape, held, seed, lambda random, part: _integers(random, part, low, high)).astype(dtype, copy=False)


Fill = Callable[[np.random.Generator, np.ndarray], object]
"""Fills a flat array in place."""


def _drawn(shape: tuple[int, ...], dtype: np.dtype, seed: list[int], fill: Fill) -> np.ndarray:
    """An array drawn block by block; what is narrower than single precision in that."""
    values = np.empty(math.prod(shape), dtype)
    drawn = np.dtype(np.float32) if is_narrow(dtype) else dtype

    def draw(block: int) -> None:
        part = values[block * BLOCK : (block + 1) * BLOCK]
        into = part if drawn == dtype else np.empty(part.size, drawn)
        fill(np.random.Generator(np.random.SFC64([*seed, block])), into)
        if into is not part:
            part[...] = into

    in_threads(draw, -(-values.size // BLOCK))
    return values.reshape(shape)


def _uniform(random: np.random.Generator, part: np.ndarray, low: float, high: float) -> None:
    random.random(dtype=part.dtype.type, out=part)
    part *= part.dtype.type(high - low)
    part += part.dtype.type(low)


def _integers(random: np.random.Generator, part: np.ndarray, low: float, high: float) -> None:
    part[...] = random.integers(int(low), int(high), part.size, part.dtype.type)


def _offsets(random: np.random.Generator, count: int, dtype: np.dtype, first: int, last: int) -> np.ndarray:
    """Where parts of different length begin that lie behind each other, some of them empty, and where the last ends."""
    values = np.sort(random.integers(first, last, count, dtype, endpoint=True))
    values[-1], values[0] = last, first
    return values


def _counting(shape: tuple[int, ...], dtype: np.dtype, seed: list[int] | None) -> np.ndarray:
    """The numbers from 0 on, in their order or, with a seed, in none."""
    check_counting(math.prod(shape), dtype)
    values = np.arange(math.prod(shape)).astype(dtype)
    return (values if seed is None else np.random.default_rng(seed).permutation(values)).reshape(shape)


def test_sizes(problem: Problem) -> list[dict[str, int]]:
    """The sizes of each test and, last, those that are timed."""
    return [{**problem.sizes, **test.sizes} for test in problem.tests] + [dict(problem.sizes)]


def label_of(sizes: Mapping[str, int], inputs: Mapping[str, InputFill] | None = None) -> str:
    """The sizes in words, and the inputs of a test that has its own, "n=512, m=3, x zeros"."""
    words = [f"{name}={value}" for name, value in sizes.items()] or ["the only size"]
    words += [f"{name} {fill_in_words(fill.fill, fill)}" for name, fill in (inputs or {}).items()]
    return ", ".join(words)


def fill_in_words(name: str | None, bounds: InputFill | Argument) -> str:
    """A fill with the bounds that are given, "uniform from 0.5 below n"."""
    until = "to" if name == "offsets" else "below"
    words = [f"{key} {value}" for key, value in (("from", bounds.low), (until, bounds.high)) if value is not None]
    return " ".join([name or "poisoned", *words])
