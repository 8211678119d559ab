"""Large arrays looked at piece by piece, in threads.

The pieces fit the caches: a whole pass over hundreds of megabytes would take longer than all launches of a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from tui_tuner.problem.blocks import in_threads

PIECE = 2**18
"""Elements looked at at a time."""

Found = TypeVar("Found")


def of_pieces(flat: np.ndarray, work: Callable[[slice], Found]) -> list[Found]:
    """What comes of each piece, in their order; NumPy's own warnings are off."""
    found: dict[int, Found] = {}

    def at(number: int) -> None:
        with np.errstate(all="ignore"):
            found[number] = work(slice(number * PIECE, (number + 1) * PIECE))

    in_threads(at, -(-flat.size // PIECE))
    return [found[number] for number in sorted(found)]


def squares(piece: np.ndarray) -> tuple[float, int]:
    """The sum of the squares of what is finite and whose squares are, and their number; the piece is written over."""
    squared = np.square(piece, out=piece)
    total = float(squared.sum())
    if not np.isfinite(total):
        squared = squared[np.isfinite(squared)]
        total = float(squared.sum())
    return total, squared.size


def root_mean_square(sums: Sequence[tuple[float, int]]) -> float:
    """Of all pieces, from the `squares` of each; 0 of none."""
    count = sum(number for _, number in sums)
    return (sum(total for total, _ in sums) / count) ** 0.5 if count else 0.0


def magnitude(values: np.ndarray) -> float:
    """Root mean square of the finite elements, 0 where there is none."""
    flat = values.reshape(-1)
    return root_mean_square(of_pieces(flat, lambda piece: squares(flat[piece].astype(np.float64))))


def peak(values: np.ndarray) -> float:
    """The largest absolute value among finite elements, all of which must be."""
    flat = values.reshape(-1)

    def largest(piece: slice) -> float:
        part = flat[piece]
        return max(abs(float(part.max())), abs(float(part.min())))

    return max(of_pieces(flat, largest), default=0.0)


def all_finite(values: np.ndarray) -> bool:
    """Whether no element is infinite or not a number."""
    flat = values.reshape(-1)
    return all(of_pieces(flat, lambda piece: bool(np.isfinite(flat[piece]).all())))


def are_equal(got: np.ndarray, expected: np.ndarray) -> bool:
    """Whether flat arrays hold the same numbers and no NaN; of most that do not the first piece says so."""
    if not np.array_equal(got[:PIECE], expected[:PIECE]):
        return False
    return all(of_pieces(got, lambda piece: np.array_equal(got[piece], expected[piece])))
