"""What the expressions of an argument come to at given sizes: shapes, scalars, bounds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np

from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.model import Argument, Problem

DEFAULT_INTEGERS = (0, 100)
DEFAULT_UNIFORM = (0, 1)


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
    """The value of a scalar in its dtype.

    Raises:
        ExpressionError: it has no value or does not fit into the dtype.
    """
    value = _number(0 if argument.value is None else argument.value, sizes)
    _fit(value, np.dtype(argument.dtype))
    scalar: np.generic = np.dtype(argument.dtype).type(value)
    return scalar


def bounds_of(argument: Argument, sizes: Mapping[str, int]) -> tuple[float, float]:
    """Lower (included) and upper (excluded) bound of a `uniform` or `integers` fill.

    Raises:
        ExpressionError: they have no value, leave nothing between them or do not fit into the dtype.
    """
    dtype = np.dtype(argument.dtype)
    if dtype.kind == "b":
        default_low, default_high = 0, 2
    else:
        default_low, default_high = DEFAULT_UNIFORM if fill_of(argument) == "uniform" else DEFAULT_INTEGERS
    low = default_low if argument.low is None else _number(argument.low, sizes)
    high = default_high if argument.high is None else _number(argument.high, sizes)
    if not low < high:
        raise ExpressionError(f"there is nothing between low = {low} and high = {high}")
    if fill_of(argument) == "integers":
        low, high = math.ceil(low), math.ceil(high)
        drawn = np.dtype(np.int64) if np.issubdtype(dtype, np.floating) else dtype
        for number, held in itertools.product((low, high - 1), (dtype, drawn)):
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
    if fill_of(argument) in ("uniform", "integers"):
        bounds_of(argument, sizes)
    if fill_of(argument) == "arange":
        check_counting(count, np.dtype(argument.dtype))


def check_counting(count: int, dtype: np.dtype) -> None:
    """Whether the numbers 0 to count - 1 fit into a dtype.

    Raises:
        ExpressionError: they do not.
    """
    largest = np.finfo(dtype).max if np.issubdtype(dtype, np.floating) else np.iinfo(dtype).max
    if count - 1 > float(largest):
        raise ExpressionError(f"counting to {count} does not fit into {dtype}")


def fill_of(argument: Argument) -> str | None:
    """How an array is filled; None for an output that starts poisoned."""
    if argument.fill is not None or poisoned(argument):
        return argument.fill
    return "normal" if np.issubdtype(np.dtype(argument.dtype), np.floating) else "integers"


def poisoned(argument: Argument) -> bool:
    """Whether the argument is an output that starts with values that no kernel computes."""
    return argument.output and argument.fill is None


def array_bytes(problem: Problem, sizes: Mapping[str, int]) -> int:
    """The bytes of all array arguments together.

    Raises:
        ExpressionError: a shape has no value.
    """
    arrays = [argument for argument in problem.arguments if argument.shape is not None]
    merged = {**problem.sizes, **sizes}
    return sum(math.prod(shape_of(array, merged)) * np.dtype(array.dtype).itemsize for array in arrays)


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
        fits = abs(value) <= float(np.finfo(dtype).max)
    if not fits:
        raise ExpressionError(f"{value!r} does not fit into {dtype}")
