"""Noise of magnitudes between those of usual, of tiny and of large values, drawn at random.

What is right of the usual ones and of the most extreme, as where each is computed in a way of its own, may be wrong
between them. Each function makes values in the place of noise, as those of `domains`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tui_tuner.problem.domains import Domain, factor_of, rows_of

DOWN, UP = (40, 9, 3), (20, 9, 3)
"""By so many octaves at most, for single precision, half precision and types of one byte. Further up, an exponential of
what is off by rounding may be infinite."""


def smaller(noise: np.ndarray, domain: Domain, random: np.random.Generator) -> np.ndarray | None:
    """Noise some octaves below: what is right of tiny numbers may be wrong there."""
    return None if domain.is_whole or not domain.holds_zero() else _moved(noise, -_octaves(noise.dtype, DOWN, random))


def larger(noise: np.ndarray, domain: Domain, random: np.random.Generator) -> np.ndarray | None:
    """Noise some octaves above: rows in turn as they are, of one sign, and of the other."""
    if not domain.is_real:
        return None
    values, first = _moved(noise, _octaves(noise.dtype, UP, random)), int(random.integers(3))
    rows = rows_of(values)
    for sign, alike in ((1, rows[first::3]), (-1, rows[(first + 1) % 3 :: 3])):
        np.copysign(alike, alike.dtype.type(sign), out=alike)
    return values


def _octaves(dtype: np.dtype, most_of: Sequence[float], random: np.random.Generator) -> float:
    """One to the most of them; half of the time few as often as many."""
    most, share = float(factor_of(dtype, most_of)), random.random()
    return float(most**share) if random.random() < 0.5 else 1 + (most - 1) * share


def _moved(noise: np.ndarray, octaves: float) -> np.ndarray:
    return np.asarray(noise * noise.dtype.type(2.0**octaves))
