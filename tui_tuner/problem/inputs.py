"""The arguments of a launch: fresh random inputs and poisoned outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tui_tuner.errors import ProblemError
from tui_tuner.problem.argument_values import (
    array_bytes,
    bounds_of,
    check_counting,
    fill_of,
    poisoned,
    scalar_of,
    shape_of,
)
from tui_tuner.problem.expressions import ExpressionError
from tui_tuner.problem.model import Argument, Problem
from tui_tuner.problem.reference import call_reference

__all__ = ["array_bytes", "call_reference", "make_arguments", "poisoned", "repoisoned", "untouched"]

POISON_BYTE = 0xA5


def make_arguments(problem: Problem, sizes: Mapping[str, int], seed: int) -> list[np.ndarray | np.generic]:
    """The arguments of one launch in the kernel's order: arrays, and scalars in their dtype.

    Args:
        sizes: replace the problem's own where they are named.
        seed: determines every random number.

    Raises:
        ProblemError: a shape, value or bound is not possible at these sizes.
    """
    merged = {**problem.sizes, **sizes}
    return [_value(argument, merged, [seed, index]) for index, argument in enumerate(problem.arguments)]


def untouched(argument: Argument, array: np.ndarray) -> np.ndarray:
    """Where a poisoned output still holds its poison: a mask of the array's shape."""
    if np.issubdtype(array.dtype, np.floating):
        return np.asarray(np.isnan(array))
    return np.asarray(array == _poison(np.dtype(argument.dtype), array.shape))


def repoisoned(argument: Argument, value: np.ndarray | np.generic) -> np.ndarray | np.generic:
    """The value of an argument with another poison: an element that keeps both was written by neither launch."""
    if not isinstance(value, np.ndarray) or not poisoned(argument):
        return value
    return np.ones_like(value) if np.issubdtype(value.dtype, np.floating) else np.invert(value)


def _value(argument: Argument, sizes: Mapping[str, int], seed: list[int]) -> np.ndarray | np.generic:
    try:
        if argument.shape is None:
            return scalar_of(argument, sizes)
        shape, dtype = shape_of(argument, sizes), np.dtype(argument.dtype)
        if poisoned(argument):
            return _poison(dtype, shape)
        return _filled(argument, sizes, shape, np.random.default_rng(seed))
    except ExpressionError as error:
        raise ProblemError(f"argument '{argument.name}': {error}", hint=f"the sizes are {dict(sizes)}") from None


def _poison(dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    if np.issubdtype(dtype, np.floating):
        return np.full(shape, np.nan, dtype)
    if dtype.kind == "b":
        return np.resize(np.array([True, False]), shape)
    return np.full(math.prod(shape) * dtype.itemsize, POISON_BYTE, np.uint8).view(dtype).reshape(shape)


def _filled(
    argument: Argument, sizes: Mapping[str, int], shape: tuple[int, ...], random: np.random.Generator
) -> np.ndarray:
    dtype = np.dtype(argument.dtype)
    match fill_of(argument):
        case "zeros":
            return np.zeros(shape, dtype)
        case "ones":
            return np.ones(shape, dtype)
        case "arange":
            return _counting(shape, dtype)
        case "integers":
            return _integers(argument, sizes, shape, random)
    drawn = np.float64 if dtype == np.float64 else np.float32  # half precision is drawn in single
    if fill_of(argument) == "normal":
        return random.standard_normal(shape, drawn).astype(dtype, copy=False)
    low, high = bounds_of(argument, sizes)
    values = random.random(shape, drawn)
    values *= drawn(high - low)
    values += drawn(low)
    return values.astype(dtype, copy=False)


def _integers(
    argument: Argument, sizes: Mapping[str, int], shape: tuple[int, ...], random: np.random.Generator
) -> np.ndarray:
    low, high = bounds_of(argument, sizes)
    dtype = np.dtype(argument.dtype)
    if np.issubdtype(dtype, np.floating):
        return random.integers(int(low), int(high), shape, np.int64).astype(dtype)
    return random.integers(int(low), int(high), shape, dtype.type)


def _counting(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    count = math.prod(shape)
    check_counting(count, dtype)
    return np.arange(count).astype(dtype).reshape(shape)
