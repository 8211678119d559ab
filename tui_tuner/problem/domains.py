"""Values that an array may hold, drawn so that faults show which noise hides.

Each function makes them in the place of noise, with its shape and type: none where the domain has no such values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tui_tuner.problem.blocks import filled, in_blocks, in_threads
from tui_tuner.problem.dtypes import is_floating, kept_below, largest, spacing

SPIKES = 64
"""Elements that are large, of as many as there are."""
LOUD = 24.0
"""Size of a large element of a normal array: the exponential of it is still far from infinite."""
HEAD = 16
"""Elements that are alike at the beginning of an array in which few others differ, of as many as there are in half."""
APART = (32, 64, 128, 256, 512, 1024)
"""How far elements are from each other that one thread has, as a rule."""
NO_NUMBERS = 4
PARTS = 16
NEAR, FAR = (0.25, 0.5, 0.75), (0.125, 0.875)
"""Shares of the range of a bounded array that most of it has, and those few that an average is to show."""
DEEPEST = 10
"""Quiet parts are scaled by up to 2 to the minus this."""
TINY, LARGE = (1e-30, 1e-3, 2**-4), (1e4, 1e3, 2.0**5)
_REACHES = (1e30, 1e4, 0)
"""Factors of types whose largest number is beyond these: single precision and bfloat16, half precision, one byte."""
MODERATE = 8.0
"""Of noise: the exponentials of what is so far apart differ by up to the precision of single numbers, and more."""
EQUAL = (0.5, 1.0, 1.5, 2.0, 3.0, -0.5, -1.0, -2.0)
"""Sums and squares of so few bits are exact in any order, so a difference of two of them is as well."""


@dataclass(frozen=True)
class Domain:
    """What an array may hold.

    Attributes:
        low: least value; None for any number.
        high: bound that is not reached; None for any number.
        origin: the value nearest to 0, which quiet parts come close to.
        is_whole: whether it holds whole numbers only, of whatever type.
        has_infinities: whether infinity is among them.
        has_nans: whether NaN is.
    """

    low: float | None = None
    high: float | None = None
    origin: float = 0.0
    is_whole: bool = False
    has_infinities: bool = False
    has_nans: bool = False

    @property
    def is_real(self) -> bool:
        """Whether any number may be there."""
        return self.low is None

    def holds_zero(self) -> bool:
        """Whether 0 may be there."""
        return self.origin == 0


def spikes(noise: np.ndarray, domain: Domain, random: np.random.Generator) -> np.ndarray:
    """All but silent, with large elements at random places, and the largest one at the end, which may be left out.

    All that is silent adds up to less than the rounding of one large element: how much of it a right sum loses depends
    on the order of the additions.
    """
    values = np.empty_like(noise)
    flat, drawn = values.reshape(-1), noise.reshape(-1)
    rounding = spacing(flat.dtype) if is_floating(flat.dtype) else 1.0
    in_blocks(flat.size, lambda part: _scale(flat[part], drawn[part], domain, rounding / flat.size))
    places = random.integers(0, flat.size, min(SPIKES, flat.size // 2 + 1))
    flat[places] = loud = _loud(flat.dtype, domain, random, places.size)
    flat[-1] = np.max(np.abs(loud) if domain.is_real else loud)
    return values


def _loud(dtype: np.dtype, domain: Domain, random: np.random.Generator, count: int) -> np.ndarray:
    shares = random.uniform(0.75, 1.0, count)
    if domain.low is None or domain.high is None:
        return np.asarray(LOUD * shares * random.choice([-1.0, 1.0, 1.0], count)).astype(dtype)
    if domain.is_whole:
        return np.full(count, int(domain.high) - 1).astype(dtype)
    below = 1 - max(2**-10, spacing(dtype))  # rounding reaches the bound otherwise
    return np.asarray(domain.origin + (domain.high - domain.origin) * shares * below).astype(dtype)


def changed(noise: np.ndarray, domain: Domain, random: np.random.Generator) -> np.ndarray:
    """The same but for a few elements, which are large: what looks at a sample finds nothing changed."""
    values = noise.copy()
    places = random.integers(0, values.size, min(SPIKES, values.size // SPIKES + 1))
    values.reshape(-1)[places] = _loud(values.dtype, domain, random, places.size)
    return values


def mostly_equal(noise: np.ndarray, domain: Domain, random: np.random.Generator) -> np.ndarray:
    """Zeros, where there may be some, then one value over and over, but for a few: the first ones tell nothing.

    Behind the zeros all are negative, where they may be: a maximum that is begun at zero is wrong there.
    """
    values = filled(noise.shape, one_of_few(domain, random, negative=True), noise.dtype)
    flat = values.reshape(-1)
    zeros = flat.size // 2 if domain.holds_zero() else 0
    flat[:zeros] = 0
    alike = min(HEAD, flat.size // 2)
    for place in random.integers(alike, flat.size, min(SPIKES, flat.size // HEAD + 1)):
        flat[place] = one_of_few(domain, random, negative=place >= zeros, of=FAR)
    return values if domain.high is None else kept_below(values, domain.high)


def put(values: np.ndarray, numbers: Sequence[np.generic], domain: Domain, random: np.random.Generator) -> None:
    """Put numbers, as far as they may be there, at a few places: what compares with them is wrong there or not."""
    low, high = (-np.inf, np.inf) if domain.low is None or domain.high is None else (domain.low, domain.high)
    allowed = [] if domain.is_whole else [number for number in numbers if low <= float(number) < high]
    if allowed and is_floating(values.dtype):
        places = random.integers(0, values.size, min(SPIKES, values.size // HEAD + 1))
        values.reshape(-1)[places] = np.resize(allowed, places.size)


def lone(noise: np.ndarray, domain: Domain, random: np.random.Generator) -> np.ndarray | None:
    """Noise with one large element in each row, not among the first: a sample tells that all is small."""
    if not domain.is_real:
        return None
    values = noise.copy()
    rows = rows_of(values)
    places = random.integers(min(HEAD, rows.shape[1] // 2), rows.shape[1], len(rows))
    rows[np.arange(len(rows)), places] = factor_of(noise.dtype, LARGE)
    return values


def long_part(noise: np.ndarray, random: np.random.Generator) -> np.ndarray | None:
    """Offsets of the same parts at half their length, but for one that has the other half of all."""
    if noise.size < 2:
        return None
    first, all_of_it = noise.flat[0], noise.flat[-1] - noise.flat[0]
    values = np.asarray(first + (noise - first) // 2)
    values.reshape(-1)[random.integers(1, noise.size) :] += all_of_it - all_of_it // 2
    return values


def in_order(noise: np.ndarray, _: Domain, random: np.random.Generator) -> np.ndarray:
    """The same numbers, each row in turn rising, falling, and with the largest ones so many elements apart.

    Of what each thread has most are among the largest then, or none: who expects few of each misses some.
    """
    values = noise.copy()
    rows = rows_of(values)
    rows.sort(axis=1)
    count = rows.shape[1]
    ways = [1, -1, *(step for step in APART if 2 * step <= count)]
    first = int(random.integers(len(ways)))
    for number, way in enumerate(ways[first:] + ways[:first]):
        alike = rows[number :: len(ways)]
        if len(alike) and way == -1:
            alike[...] = alike[:, ::-1].copy()
        elif len(alike) and way > 1:
            alike[:, np.concatenate([np.arange(k, count, way) for k in range(way)])] = alike.copy()
    return values


def rows_of(values: np.ndarray) -> np.ndarray:
    """A view of an array as rows of its last axis."""
    return values.reshape(-1, values.shape[-1] if values.ndim else 1)


def one_of_few(domain: Domain, random: np.random.Generator, *, negative: bool, of: Sequence[float] = NEAR) -> float:
    """One of a few values of few bits; below zero where that is wanted and the array may hold any number."""
    if domain.low is None or domain.high is None:
        value = float(random.choice(EQUAL))
        return -abs(value) if negative else value
    if domain.is_whole:
        return _one_value(domain, random)
    return domain.origin + (domain.high - domain.origin) * float(random.choice(of))


def profile(noise: np.ndarray, domain: Domain, random: np.random.Generator) -> np.ndarray:
    """Parts of random length: the first quiet, the last loud, between them blocks, ramps and combs of like teeth."""
    values = np.empty_like(noise)
    flat, drawn = values.reshape(-1), noise.reshape(-1)
    cuts = np.sort(random.integers(0, flat.size + 1, PARTS - 1))
    edges = [0, *cuts.tolist(), flat.size]
    depths = [DEEPEST, *random.integers(0, DEEPEST + 1, PARTS - 2).tolist(), 0]
    combed = random.random(PARTS) < 0.5
    comb, phase = int(random.integers(1, PARTS - 1)), int(random.integers(0, 2))
    depths[comb], combed[comb] = 0, True

    def shape(number: int) -> None:
        start, end = edges[number], edges[number + 1]
        _louder(flat[start:end], drawn[start:end], domain, depths[number], ramp=number % 3 == 1)
        if combed[number]:
            teeth = slice(start + (phase - start) % 2, end, 2)
            _scale(flat[teeth], flat[teeth], domain, 2.0**-DEEPEST)

    in_threads(shape, PARTS)
    return values


def _louder(into: np.ndarray, drawn: np.ndarray, domain: Domain, depth: int, *, ramp: bool) -> None:
    """A part as loud as its depth says, or that grows so loud."""
    if not ramp or domain.is_whole or not into.size:
        _scale(into, drawn, domain, 2.0**-depth)
        return
    kind = into.dtype.type
    rising = np.linspace(0, 2.0**-depth, into.size, endpoint=False, dtype=np.float32)
    into[...] = (drawn - kind(domain.origin)) * rising + kind(domain.origin)


def _scale(into: np.ndarray, drawn: np.ndarray, domain: Domain, factor: float) -> None:
    """Bring values nearer to the domain's origin; whole numbers by a power of two, rounded down."""
    if into.dtype.kind == "b":
        into[...] = drawn & (factor > 0.5)
    elif not is_floating(into.dtype):
        origin = into.dtype.type(domain.origin)
        shift = min(round(-np.log2(factor)), into.dtype.itemsize * 8 - 1)
        np.right_shift(drawn - origin, into.dtype.type(shift), out=into)
        into += origin
    elif domain.origin == 0 and not domain.is_whole:
        np.multiply(drawn, into.dtype.type(factor), out=into)
    else:
        kind = into.dtype.type
        np.subtract(drawn, kind(domain.origin), out=into)
        into *= kind(factor)
        if domain.is_whole:
            np.trunc(into, out=into)
        into += kind(domain.origin)


def equal(noise: np.ndarray, domain: Domain, random: np.random.Generator) -> np.ndarray:
    """One value; of whole numbers the one that is furthest from zero."""
    value = _least_or_most(domain) if domain.is_whole else _one_value(domain, random)
    return filled(noise.shape, value, noise.dtype)


def _one_value(domain: Domain, random: np.random.Generator) -> float:
    if domain.low is None or domain.high is None:
        return float(random.choice(EQUAL))
    if not domain.is_whole:
        return (domain.origin + domain.high) / 2
    return int(random.integers(int(domain.low), int(domain.high)))


def nudged(values: np.ndarray, *seed: int) -> np.ndarray:
    """The same, each element off by a unit in the last place, up or down at random; zeros stay zeros.

    By any regular pattern some two elements move alike, and what depends on their difference stays where it was.
    """
    found = values.copy()
    flat, most = found.reshape(-1), largest(values.dtype)

    def move(block: slice) -> None:
        part = flat[block]
        is_up = np.random.Generator(np.random.SFC64([*seed, block.start])).integers(0, 2, part.size, dtype=bool)
        for there, towards in ((is_up, most), (~is_up, -most)):
            np.nextafter(part, values.dtype.type(towards), out=part, where=there & (part != 0))

    in_blocks(flat.size, move)
    return found


def with_few(noise: np.ndarray, number: float, random: np.random.Generator) -> np.ndarray:
    """Noise with a few infinities, or NaN, of either sign."""
    values, count = noise.copy(), min(NO_NUMBERS, noise.size)
    values.reshape(-1)[random.integers(0, values.size, count)] = random.choice([-number, number], count)
    return values


def _least_or_most(domain: Domain) -> int:
    """The whole number that is furthest from zero, as sums and products of it are, which may not fit where they go."""
    low, high = int(domain.low or 0), int(domain.high or 0)
    return low if low < 0 and -low >= high - 1 else high - 1


def zeros(noise: np.ndarray, domain: Domain, _: np.random.Generator) -> np.ndarray | None:
    """Zeros with the signs of noise, where it may be negative: what orders numbers by their bits tells them apart."""
    if not domain.holds_zero():
        return None
    values = np.zeros_like(noise)
    if domain.is_real and is_floating(noise.dtype):
        flat, drawn = values.reshape(-1), noise.reshape(-1)
        in_blocks(flat.size, lambda part: np.copysign(flat[part], drawn[part], out=flat[part]))
    return values


def tiny(noise: np.ndarray, domain: Domain, _: np.random.Generator) -> np.ndarray | None:
    """Noise that is nearly nothing."""
    if domain.is_whole or not (domain.is_real or domain.holds_zero()):
        return None
    values, factor = np.empty_like(noise), factor_of(noise.dtype, TINY)
    flat, drawn = values.reshape(-1), noise.reshape(-1)
    in_blocks(flat.size, lambda part: np.multiply(drawn[part], factor, out=flat[part]))
    return values


def large(noise: np.ndarray, domain: Domain, _: np.random.Generator) -> np.ndarray | None:
    """Rows, or thirds, of large numbers, the largest last, of negative ones, the largest first, and of moderate ones.

    A maximum of a part of a row is wrong of the first two, one that is begun at zero, or at a number thought small, of
    the second. An exponential keeps moderate ones apart. Whole numbers are the two furthest from zero.
    """
    if domain.is_whole:
        return _furthest(noise, domain)
    if not domain.is_real:
        return None
    values, factor = np.empty_like(noise), factor_of(noise.dtype, LARGE)
    rows, drawn = (values, noise) if noise.ndim > 1 else (_in_thirds(values), _in_thirds(noise))
    if noise.ndim == 1:
        np.multiply(noise[rows.size :], factor, out=values[rows.size :])

    def fill(number: int) -> None:
        part = rows[number::3]
        np.multiply(drawn[number::3], noise.dtype.type(MODERATE) if number == 2 else factor, out=part)
        if number == 0:
            part[..., -1] = max(part.max(), -part.min()) + factor
        elif number == 1:
            np.negative(np.add(np.abs(part, out=part), factor, out=part), out=part)
            part[..., 0] = np.multiply(factor, -0.5)

    in_threads(fill, 3 if rows.size else 0)
    return values


def _furthest(noise: np.ndarray, domain: Domain) -> np.ndarray | None:
    """The two whole numbers furthest from zero, where there are others; sums of their products are odd and even."""
    if (domain.high or 0) - (domain.low or 0) <= 2:
        return None
    values = filled(noise.shape, most := _least_or_most(domain), noise.dtype)
    values[noise % 2 == 0] -= int(np.sign(most))
    return values


def _in_thirds(flat: np.ndarray) -> np.ndarray:
    """As three rows, without what is left over."""
    return flat[: flat.size // 3 * 3].reshape(3, -1)


def factor_of(dtype: np.dtype, factors: Sequence[float]) -> np.generic:
    """The one for a type, by how large its numbers may be: of single precision, of half, of one byte."""
    most = largest(dtype)
    factor: np.generic = dtype.type(next(one for one, reach in zip(factors, _REACHES, strict=True) if most > reach))
    return factor
