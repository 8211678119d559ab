"""The types of numbers that arrays hold: NumPy's, and the narrow floating-point ones that ml_dtypes gives it.

NumPy counts the latter as no floating-point types, has no limits of them, and knows their names only once ml_dtypes is
imported; what asks for any of this asks here.
"""

from __future__ import annotations

from typing import cast

import numpy as np

_BEYOND_NUMPY = frozenset({"bfloat16", "float8_e4m3fn", "float8_e5m2"})
"""Those that are not NumPy's own."""


def dtype_named(name: str) -> np.dtype:
    """The type that a problem file names.

    Raises:
        TypeError: there is none of this name.
    """
    if name in _BEYOND_NUMPY:
        import ml_dtypes  # a process that meets none of them does without

        return cast(np.dtype, np.dtype(getattr(ml_dtypes, name)))
    return np.dtype(name)


def is_floating(dtype: np.dtype) -> bool:
    """Whether it is a floating-point type."""
    return dtype.kind == "f" or dtype.name in _BEYOND_NUMPY


def is_number(dtype: np.dtype) -> bool:
    """Whether it is a type of real numbers, or of truth values."""
    return dtype.kind in "biu" or is_floating(dtype)


def is_narrow(dtype: np.dtype) -> bool:
    """Whether it is a floating-point type of fewer bits than single precision, which NumPy's generators draw."""
    return is_floating(dtype) and dtype.itemsize < np.dtype(np.float32).itemsize


def holds_bits(name: str, of: str) -> bool:
    """Whether whole numbers of a type are declared for the bits of one that problem files did not have at first."""
    return of in _BEYOND_NUMPY and name.removeprefix("u") == f"int{8 * dtype_named(of).itemsize}"


def kept_below(values: np.ndarray, bound: float) -> np.ndarray:
    """The array, in which those that rounding to fewer bits has put at a bound become the number before it."""
    if is_narrow(values.dtype):
        limit, least = values.dtype.type(bound), values.dtype.type(-largest(values.dtype))
        before = np.nextafter(limit, least) if float(limit) >= bound else limit
        np.minimum(values, before, out=values)
    return values


def largest(dtype: np.dtype) -> float:
    """The largest number of a floating-point type."""
    return float(_limits(dtype).max)


def spacing(dtype: np.dtype) -> float:
    """The distance from 1 to the next number of a floating-point type."""
    return float(_limits(dtype).eps)


def _limits(dtype: np.dtype) -> np.finfo:
    if dtype.name not in _BEYOND_NUMPY:
        return np.finfo(dtype)
    import ml_dtypes

    return cast(np.finfo, ml_dtypes.finfo(dtype))  # type: ignore[no-untyped-call]
