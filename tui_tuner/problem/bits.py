"""Values that few of their bits tell apart: what compares, orders or finds them by fewer bits takes some for equal.

Each function makes them in the place of noise, as those of `domains`.
"""

from __future__ import annotations

import numpy as np

from tui_tuner.problem.domains import Domain, one_of_few
from tui_tuner.problem.dtypes import is_floating

NEIGHBOURS = 16
"""So many numbers follow each other: four bits tell them apart."""
MANY_BITS = 14
"""Whole numbers with fewer are alike by chance, so that noise tells who leaves some out."""


def next_to_each_other(noise: np.ndarray, domain: Domain, random: np.random.Generator) -> np.ndarray | None:
    """A few numbers that follow each other: only the last bits tell them apart."""
    if domain.is_whole or not is_floating(noise.dtype):
        return None
    first = np.array([one_of_few(domain, random, negative=False)], noise.dtype)
    bits = first.view(f"i{first.itemsize}")
    following = (bits + np.arange(NEIGHBOURS, dtype=bits.dtype)).view(noise.dtype)
    count = np.count_nonzero(following.astype(np.float64) < (np.inf if domain.high is None else domain.high))
    return np.asarray(bits + random.integers(0, count, noise.shape, bits.dtype.type)).view(noise.dtype)


def one_bit_apart(noise: np.ndarray, domain: Domain, random: np.random.Generator) -> np.ndarray | None:
    """Whole numbers each of which differs from one and the same in one bit, any of those that the domain has."""
    if not domain.is_whole or domain.low is None or domain.high is None:
        return None
    low, count = int(domain.low), int(domain.high) - int(domain.low)
    bits = (count - 1).bit_length()
    if bits < MANY_BITS:
        return None
    first = int(random.integers(0, count))
    near = [first, *(other for bit in range(bits) if (other := first ^ (1 << bit)) < count)]
    return np.array([low + one for one in near]).astype(noise.dtype)[random.integers(0, len(near), noise.shape)]
