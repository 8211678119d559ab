"""How far a result may be off: bounded by the baseline's own error, never by a fixed loose number.

The allowed error of an output is the larger of `MARGIN` times the error that the kernel as given has
against the reference, and a floor of a few units in the last place that grows with the square root of
the number of operations behind one element (the random walk of rounding errors; N. Higham, Accuracy
and Stability of Numerical Algorithms, section 2.8) and with the output's own magnitude.
Integers match exactly, unless the user says by how much they may differ; booleans always do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from tui_tuner.evaluate.in_pieces import all_finite, are_equal, magnitude, of_pieces, root_mean_square, squares
from tui_tuner.problem.dtypes import is_floating, is_narrow, spacing
from tui_tuner.problem.model import Tolerance

MARGIN = 4.0
TIMED_MARGIN = 16.0
"""Margin at the timed size, where the kernel as given itself is the reference: it may be larger than all tests."""
WIDER = 1.5
FLOOR_ULPS = 8.0
FLOOR_OF_FEW_BITS = 2.0**-6
"""No more of bfloat16, which is two roundings apart; eight would be no check."""
BESIDE_ROUNDED, BESIDE_EXACT = 1.0, 0.75
"""Of a type of one byte, in units of its spacing: the next number, or half of that and as much for what went before."""
FLOOR_CAP = 1e-2
"""No bound lets more than this share of the output's magnitude pass."""
TINY = float(np.finfo(np.float32).tiny)
"""Added to what is allowed: less than the smallest normal number of single precision is no deviation."""
RARELY = 0.01
"""Of noise no more than this share of whole numbers is off where they may be: rounding does that to few."""


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
    """What one output may deviate: |got - expected| <= absolute + relative * |expected|.

    Attributes:
        rarely: whether only few whole numbers may deviate at all.
    """

    absolute: float
    relative: float
    rarely: bool = False

    def is_wider(self, than: Bound) -> bool:
        """Whether it allows clearly more, as if the kernel as given errs; other inputs change it by some percents."""
        return self.absolute > WIDER * than.absolute or self.relative > WIDER * than.relative


@dataclass(frozen=True)
class AllowedError:
    """By how much an element of an output may be off: both shares together.

    Attributes:
        of_usual: share of the root mean square of all elements.
        of_element: share of the element as expected.
    """

    of_usual: float
    of_element: float

    @property
    def together(self) -> float:
        """What may be off of an element of usual size, as a share of it."""
        return self.of_usual + self.of_element

    @property
    def in_words(self) -> str:
        """Both shares but for one that is next to nothing, as in "1.8e-05 of the usual size"."""
        shares = ((self.of_usual, "of the usual size"), (self.of_element, "of the element"))
        return " + ".join(f"{share:.2g} {what}" for share, what in shares if share >= self.together / 100)


@dataclass(frozen=True)
class OwnError:
    """The largest error of the kernel as given.

    Attributes:
        relative: to the element, or to the output's magnitude where that is larger.
        is_whole: whether all elements were finite on both sides.
    """

    absolute: float
    relative: float
    is_whole: bool = False

    def is_within(self, allowed: Bound) -> bool:
        """Whether no floating-point element needs to be looked at to see that all are."""
        return self.is_whole and self.absolute <= allowed.absolute

    def scaled_to(self, size: float) -> OwnError:
        """The error to expect of another output, of this size, that was computed in the same way."""
        return OwnError(self.relative * size, self.relative)


def bound(
    expected: np.ndarray,
    dtype: np.dtype,
    operations: float,
    tolerance: Tolerance,
    own: OwnError | None,
    margin: float = MARGIN,
    size: float | None = None,
) -> Bound:
    """The allowed deviation of an output.

    Args:
        expected: the result to compare with.
        dtype: the type the kernel computes in.
        operations: behind one output element, for the growth of rounding errors.
        tolerance: the user's own bounds, which replace ours; of whole numbers there is no other.
        own: error of the kernel as given; None where there is no reference that could tell it.
        margin: how many times that error is allowed.
        size: of the output, for what is allowed of all of its elements alike; None for its magnitude.
    """
    if not is_floating(dtype):
        return Bound(float(tolerance.integers), 0.0)
    if tolerance.is_declared:
        return Bound(tolerance.absolute or 0.0, tolerance.relative or 0.0)
    least = _least_share(expected, dtype)
    floor = min(least * max(1.0, operations) ** 0.5, FLOOR_CAP)
    size = magnitude(expected) if size is None else size
    if own is None:
        return Bound(floor * size, max(floor, least))
    absolute = max(min(margin * own.absolute, FLOOR_CAP * size), floor * size)
    return Bound(absolute, max(min(margin * own.relative, FLOOR_CAP), least))


def loosest(expected: np.ndarray, dtype: np.dtype) -> Bound:
    """What no floating-point output of a type may deviate by, however the kernel as given errs."""
    return Bound(FLOOR_CAP * magnitude(expected), max(FLOOR_CAP, _least_share(expected, dtype)))


def _least_share(expected: np.ndarray, dtype: np.dtype) -> float:
    """What share of an element rounding alone may come to."""
    if dtype.itemsize > 1:
        return min(FLOOR_ULPS * spacing(dtype), FLOOR_OF_FEW_BITS)
    is_rounded = np.array_equal(expected.astype(dtype).astype(np.float64), expected, equal_nan=True)
    return spacing(dtype) * (BESIDE_ROUNDED if is_rounded else BESIDE_EXACT)


def own_error(got: np.ndarray, expected: np.ndarray) -> OwnError:
    """The error of the kernel as given, where both its result and the reference are finite."""
    flat = got.reshape(-1), expected.reshape(-1)
    if are_equal(*flat):
        return OwnError(0.0, 0.0, is_whole=all_finite(expected))
    error = _largest_error(*flat)
    if error.is_whole:
        return error
    both = np.isfinite(flat[0]) & np.isfinite(flat[1])
    return replace(_largest_error(flat[0][both], flat[1][both]), is_whole=False)


def _largest_error(got: np.ndarray, expected: np.ndarray) -> OwnError:
    """Of flat arrays, which are not whole where that cannot be told of what is not finite."""
    sums = of_pieces(expected, lambda piece: squares(expected[piece].astype(np.float64)))
    size = root_mean_square(sums) or 1.0

    def largest(piece: slice) -> tuple[float, float]:
        error, right = got[piece].astype(np.float64), expected[piece].astype(np.float64)
        error -= right
        absolute = float(np.abs(error, out=error).max())
        error /= np.maximum(np.abs(right, out=right), size, out=right)
        return absolute, float(error.max())

    absolute, relative = zip((0.0, 0.0), *of_pieces(got, largest), strict=True)
    is_whole = bool(np.isfinite(absolute).all()) and sum(count for _, count in sums) == expected.size
    return OwnError(max(absolute), max(relative), is_whole)


@dataclass(frozen=True)
class Wrong:
    """Wrong elements of one kind: how many, and the flat index of the first."""

    count: int = 0
    first: int = 0


@dataclass(frozen=True)
class Tally:
    """What a comparison of an output finds, in the numbers that a device can send back.

    Attributes:
        worst: the largest deviation relative to the allowed one, where both are finite; 1 is the limit.
        off: elements that deviate more; of an integer output those that may not differ.
        not_a_number: elements where one side alone is not a number.
        infinite: elements that are infinite and should not be, or the other way round.
    """

    worst: float = 0.0
    off: Wrong = Wrong()
    not_a_number: Wrong = Wrong()
    infinite: Wrong = Wrong()


Verdict: TypeAlias = tuple[float, Mismatch | None]
"""Largest deviation relative to the allowed one, and the first wrong element if there is one."""


def compare(got: np.ndarray, expected: np.ndarray, allowed: Bound) -> Verdict:
    """Whether an output is what is expected."""
    flat = got.reshape(-1)
    return verdict(tally(flat, expected.reshape(-1), allowed), lambda place: flat[place], expected, allowed)


def verdict(found: Tally, got: Callable[[int], np.generic], expected: np.ndarray, allowed: Bound) -> Verdict:
    """What a tally means.

    Args:
        got: the element of the output at a flat index.
    """

    def wrong(kind: Wrong, reason: str) -> Mismatch:
        index = tuple(int(i) for i in np.unravel_index(kind.first, expected.shape))
        return Mismatch(index, float(got(kind.first)), float(expected.flat[kind.first]), reason)

    def share(kind: Wrong) -> str:
        return f"{kind.count} of {expected.size} elements"

    if found.not_a_number.count:
        return float("inf"), wrong(found.not_a_number, f"{share(found.not_a_number)} not written or NaN")
    if found.infinite.count:
        return float("inf"), wrong(found.infinite, "infinity")
    if not found.off.count:
        return found.worst, None
    if not is_floating(got(found.off.first).dtype):
        told = f", allowed is {allowed.absolute:g}, of noise in one of {1 / RARELY:.0f}" if allowed.absolute else ""
        return float("inf"), wrong(found.off, f"{share(found.off)} differ{told}")
    limit = allowed.absolute + allowed.relative * abs(float(expected.flat[found.off.first]))
    reason = f"{share(found.off)} off, allowed {limit:.3g}, the largest deviation {found.worst:.3g} times"
    return found.worst, wrong(found.off, reason)


def tally(got: np.ndarray, expected: np.ndarray, allowed: Bound) -> Tally:
    """Compare two flat arrays on the host."""
    if are_equal(got, expected):
        return Tally()
    if not is_floating(got.dtype):
        return Tally(off=_wrong(_differing(got, expected, allowed)))
    largest = _quick_share(got, expected, allowed)
    if largest <= 1 - 8 * spacing(got.dtype):  # nearer to the limit rounding could decide
        return Tally(worst=largest)
    share, not_a_number, infinite = _exact(got, expected, allowed)
    return Tally(float(share.max(initial=0.0)), _wrong(share > 1), _wrong(not_a_number), _wrong(infinite))


def _differing(got: np.ndarray, expected: np.ndarray, allowed: Bound) -> np.ndarray:
    """Where flat arrays of whole numbers differ by more than is allowed, or at all where too many do."""
    differing = np.asarray(got != expected)
    if not allowed.absolute or got.dtype.kind == "b":
        return differing
    places = np.flatnonzero(differing)
    one, right = (array[places].astype(np.longdouble) for array in (got, expected))  # exact of 64 bits
    beyond = ~(np.abs(one - right) <= allowed.absolute)
    if allowed.rarely and not beyond.any() and places.size > max(1, RARELY * got.size):
        return differing
    differing[places] = beyond
    return differing


def _quick_share(got: np.ndarray, expected: np.ndarray, allowed: Bound) -> float:
    """Largest deviation relative to the allowed one; infinite where anything is not finite."""

    def largest(piece: slice) -> float:
        right, one = expected[piece], got[piece]
        if is_narrow(one.dtype):  # fewer bits round a small deviation to nothing
            right, one = right.astype(np.float32), one.astype(np.float32)
        limit = np.abs(right)
        limit *= allowed.relative
        limit += allowed.absolute + TINY
        share = one - right
        share = np.divide(np.abs(share, out=share), limit, out=share)
        found = float(share.max())
        return found if np.isfinite(found) else float("inf")

    return max(of_pieces(got, largest), default=0.0)


def _exact(got: np.ndarray, expected: np.ndarray, allowed: Bound) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The difference in double precision, operation by operation as `devices/cuda/checks.cu` does it.

    Returns:
        Each element's deviation relative to the allowed one, 0 where not both are finite; where one side alone is not a
        number; where one is infinite and the other is something else.
    """
    one, right = got.astype(np.float64), expected.astype(np.float64)
    numbers = ~np.isnan(one) & ~np.isnan(right)
    infinite = numbers & (np.isinf(one) | np.isinf(right))
    finite = numbers & ~infinite
    with np.errstate(all="ignore"):
        limit = allowed.absolute + allowed.relative * np.abs(right) + TINY
        share = np.where(finite, np.abs(one - right) / limit, 0.0)
    return share, np.isnan(one) != np.isnan(right), infinite & (one != right)


def wrong_elements(got: np.ndarray, expected: np.ndarray, allowed: Bound) -> np.ndarray:
    """Where an output is not what is expected, as an array of booleans in its shape."""
    wrong, one, right = np.zeros(expected.size, bool), got.reshape(-1), expected.reshape(-1)
    if not is_floating(got.dtype):
        return _differing(one, right, allowed).reshape(expected.shape)

    def mark(piece: slice) -> None:
        share, not_a_number, infinite = _exact(one[piece], right[piece], allowed)
        wrong[piece] = (share > 1) | not_a_number | infinite

    of_pieces(wrong, mark)
    return wrong.reshape(expected.shape)


def _wrong(where: np.ndarray) -> Wrong:
    count = int(np.count_nonzero(where))
    return Wrong(count, int(np.argmax(where)) if count else 0)
