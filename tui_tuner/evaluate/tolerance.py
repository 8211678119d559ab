"""How far a result may be off: bounded by the baseline's own error, never by a fixed loose number.

The allowed error of an output is the larger of `MARGIN` times the error that the kernel as given has
against the reference, and a floor of a few units in the last place that grows with the square root of
the number of operations behind one element (the random walk of rounding errors; N. Higham, Accuracy
and Stability of Numerical Algorithms, section 2.8) and with the output's own magnitude.
Integers and booleans must match exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tui_tuner.problem.model import Tolerance

MARGIN = 4.0
TIMED_MARGIN = 16.0
"""At the timed size, where the kernel as given itself is the reference: it may be larger than all tests."""
FLOOR_ULPS = 8.0
FLOOR_CAP = 1e-2
"""No bound lets more than this share of the output's magnitude pass."""
PIECE = 2**18
"""Elements compared at a time."""


@dataclass(frozen=True)
class Mismatch:
    """The first wrong element of an output."""

    index: tuple[int, ...]
    got: float
    expected: float
    reason: str

    def __str__(self) -> str:
        place = ",".join(str(i) for i in self.index)
        return f"[{place}] is {self.got:.9g}, expected {self.expected:.9g} ({self.reason})"


@dataclass(frozen=True)
class Bound:
    """What one output may deviate: |got - expected| <= absolute + relative * |expected|."""

    absolute: float
    relative: float


@dataclass(frozen=True)
class OwnError:
    """The largest error of the kernel as given.

    Attributes:
        relative: to the element, or to the output's magnitude where that is larger.
    """

    absolute: float
    relative: float

    def scaled_to(self, expected: np.ndarray) -> OwnError:
        """The error to expect of another output that was computed in the same way."""
        return OwnError(self.relative * magnitude(expected), self.relative)


def bound(
    expected: np.ndarray,
    dtype: np.dtype,
    operations: float,
    tolerance: Tolerance,
    own: OwnError | None,
    margin: float = MARGIN,
) -> Bound:
    """The allowed deviation of an output.

    Args:
        expected: the result to compare with.
        dtype: the type the kernel computes in.
        operations: behind one output element, for the growth of rounding errors.
        tolerance: the user's own bounds, which replace ours.
        own: error of the kernel as given; None where there is no reference that could tell it.
        margin: how many times that error is allowed.
    """
    if not np.issubdtype(dtype, np.floating):
        return Bound(0.0, 0.0)
    if tolerance.absolute is not None or tolerance.relative is not None:
        return Bound(tolerance.absolute or 0.0, tolerance.relative or 0.0)
    least = FLOOR_ULPS * float(np.finfo(dtype).eps)
    floor = min(least * max(1.0, operations) ** 0.5, FLOOR_CAP)
    size = magnitude(expected)
    if own is None:
        return Bound(floor * size, floor)
    absolute = max(min(margin * own.absolute, FLOOR_CAP * size), floor * size)
    return Bound(absolute, max(min(margin * own.relative, FLOOR_CAP), least))


def magnitude(values: np.ndarray) -> float:
    """Root mean square of the finite elements, 0 where there is none."""
    finite = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(np.square(finite, dtype=np.float64)))) if finite.size else 0.0


def own_error(got: np.ndarray, expected: np.ndarray) -> OwnError:
    """The error of the kernel as given, where both its result and the reference are finite."""
    both = np.isfinite(got) & np.isfinite(expected)
    if not both.any():
        return OwnError(0.0, 0.0)
    right = expected[both].astype(np.float64)
    error = np.abs(got[both].astype(np.float64) - right)
    scale = np.maximum(np.abs(right), magnitude(right) or 1.0)
    return OwnError(float(error.max()), float((error / scale).max()))


def compare(got: np.ndarray, expected: np.ndarray, allowed: Bound) -> tuple[float, Mismatch | None]:
    """Largest deviation relative to the allowed one (1 is the limit), and the first wrong element if it is over."""
    if np.issubdtype(got.dtype, np.floating):
        return _compare_floats(got, expected, allowed)
    wrong = got != expected
    if not wrong.any():
        return 0.0, None
    return float("inf"), _mismatch(got, expected, int(np.argmax(wrong)), f"{_share(wrong)} differ")


def _compare_floats(got: np.ndarray, expected: np.ndarray, allowed: Bound) -> tuple[float, Mismatch | None]:
    largest = _quick_share(got.reshape(-1), expected.reshape(-1), allowed)
    return (largest, None) if largest <= 1 else _compare_each(got, expected, allowed)


def _quick_share(got: np.ndarray, expected: np.ndarray, allowed: Bound) -> float:
    """Largest deviation relative to the allowed one; infinite where anything is not finite.

    Goes through the arrays in pieces that fit the caches: whole passes over an output of hundreds of
    megabytes would take longer than all launches.
    """
    largest = 0.0
    with np.errstate(all="ignore"):
        for start in range(0, got.size, PIECE):
            right = expected[start : start + PIECE]
            share = np.abs(got[start : start + PIECE] - right)
            share /= np.abs(right) * allowed.relative + (allowed.absolute + np.finfo(np.float32).tiny)
            piece = float(share.max())
            if not np.isfinite(piece):
                return float("inf")
            largest = max(largest, piece)
    return largest


def _compare_each(got: np.ndarray, expected: np.ndarray, allowed: Bound) -> tuple[float, Mismatch | None]:
    finite = np.isfinite(expected)
    if not np.array_equal(np.isnan(got), np.isnan(expected)):
        wrong = np.isnan(got) != np.isnan(expected)
        return float("inf"), _mismatch(got, expected, int(np.argmax(wrong)), f"{_share(wrong)} not written or NaN")
    infinite = ~finite & ~np.isnan(expected)
    wrong = (infinite & (got != expected)) | (finite & np.isinf(got))
    if wrong.any():
        return float("inf"), _mismatch(got, expected, int(np.argmax(wrong)), "infinity")
    reference = np.where(finite, expected, 0).astype(np.float64)
    deviation = np.abs(np.where(finite, got, 0).astype(np.float64) - reference)
    limit = allowed.absolute + allowed.relative * np.abs(reference) + np.finfo(np.float64).tiny
    share = deviation / limit
    largest = float(share.max()) if share.size else 0.0
    if largest <= 1:
        return largest, None
    first = int(np.argmax(share > 1))
    reason = (
        f"{_share(share > 1)} off, allowed {float(limit.flat[first]):.3g}, the largest deviation {largest:.3g} times"
    )
    return largest, _mismatch(got, expected, first, reason)


def _share(wrong: np.ndarray) -> str:
    return f"{int(wrong.sum())} of {wrong.size} elements"


def _mismatch(got: np.ndarray, expected: np.ndarray, flat: int, reason: str) -> Mismatch:
    index = tuple(int(i) for i in np.unravel_index(flat, got.shape))
    return Mismatch(index, float(got.flat[flat]), float(expected.flat[flat]), reason)
