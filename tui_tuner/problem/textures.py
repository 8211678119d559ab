"""Inputs beside plain noise: with structure and of other magnitudes, as far as the declared domain of each array goes.

Noise alone hides much: the sum of a quarter of many alike elements, times four, is their sum but for rounding, and a
softmax that does not subtract the maximum is right as long as no element is large. An array filled `normal` may hold
any number; one filled `uniform` or `integers` holds what lies between its bounds; the others are as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np

from tui_tuner.problem.blocks import filled, in_blocks, in_threads
from tui_tuner.problem.inputs import bounds_of, fill_of
from tui_tuner.problem.model import Argument, Problem


class Texture(StrEnum):
    """How the values of inputs are distributed, in words that follow "inputs with"."""

    NOISE = "noise"
    SPIKES = "few large elements"
    PROFILE = "quiet and loud parts"
    TINY = "tiny values"
    LARGE = "large values"
    EQUAL = "equal values"
    ZEROS = "zeros"
    INFINITE = "infinities"
    CHANGED = "few elements changed"
    MOSTLY_EQUAL = "few values among equal ones"


STRUCTURED = (Texture.SPIKES, Texture.PROFILE)
"""What is checked at the timed size beside noise."""
_COMPARED_ONLY = (Texture.CHANGED, Texture.MOSTLY_EQUAL)
ALL_BUT_NOISE = tuple(texture for texture in Texture if texture not in (Texture.NOISE, *_COMPARED_ONLY))
"""What is checked at tests beside noise. Two more are drawn where a kernel is about to be accepted: few elements that
are changed where others were in the same memory just before, and, at tests, few values among equal ones."""

SPIKES = 64
"""Elements that are large, of as many as there are."""
LOUD = 24.0
"""Size of a large element of a normal array: the exponential of it is still far from infinite."""
HEAD = 16
"""Elements that are alike at the beginning of an array in which few others differ, of as many as there are in half."""
INFINITIES = 4
PARTS = 16
DEEPEST = 10
"""Quiet parts are scaled by up to 2 to the minus this."""
SCALES = {Texture.TINY: (1e-30, 1e-3), Texture.LARGE: (1e4, 1e3)}
"""Factors of single and double precision, and of half precision."""
MODERATE = 8.0
"""Of noise: the exponentials of what is so far apart differ by up to the precision of single numbers, and more."""
EQUAL = (0.5, 1.0, 1.5, 2.0, 3.0, -0.5, -1.0, -2.0)
"""Sums and squares of so few bits are exact in any order, so a difference of two of them is as well."""

Value = np.ndarray | np.generic


def textured(
    problem: Problem, noise: Sequence[Value], texture: Texture, seed: int, *, first_only: bool = False
) -> list[Value] | None:
    """Arguments of a launch with another texture; None where it changes no argument.

    Args:
        noise: the arguments as `make_arguments` drew them at the problem's own sizes; left as they are.
        seed: determines every random number.
        first_only: whether only the first array is changed that can be.
    """
    values, changed = list(noise), False
    arrays = {index: array for index, array in enumerate(noise) if isinstance(array, np.ndarray)}
    domains = {index: _domain(problem.arguments[index], problem.sizes) for index in arrays}
    spares_places = any(domain and not domain.is_whole for domain in domains.values()) and seed % 2 == 1
    for index, array in arrays.items():
        argument, domain = problem.arguments[index], domains[index]
        if changed and first_only:
            continue
        if texture is Texture.CHANGED and argument.output:
            continue
        if texture is Texture.MOSTLY_EQUAL and spares_places and domain is not None and domain.is_whole:
            continue  # places that are all the same hide what the numbers there are
        random = np.random.Generator(np.random.SFC64([seed, index]))
        new = _textured(domain, array, texture, random)
        if new is not None:
            values[index], changed = new, True
    return values if changed else None


def occurring(problem: Problem) -> list[Texture]:
    """The textures beside noise that arrays of a problem can have, as far as their domains go."""
    arrays = [argument for argument in problem.arguments if argument.shape is not None]
    kinds = {(_domain(argument, problem.sizes), argument.dtype) for argument in arrays}
    return [texture for texture in ALL_BUT_NOISE if any(_is_possible(*kind, texture) for kind in kinds)]


@lru_cache(maxsize=256)
def _is_possible(domain: _Domain | None, dtype: str, texture: Texture) -> bool:
    random = np.random.Generator(np.random.SFC64(0))
    return _textured(domain, np.ones(4, dtype), texture, random) is not None


@dataclass(frozen=True)
class _Domain:
    """What an array may hold.

    Attributes:
        low: least value; None for any number.
        high: bound that is not reached; None for any number.
        origin: the value nearest to 0, which quiet parts come close to.
        is_whole: whether it holds whole numbers only, of whatever type.
        has_infinities: whether infinity is among them.
    """

    low: float | None = None
    high: float | None = None
    origin: float = 0.0
    is_whole: bool = False
    has_infinities: bool = False

    @property
    def is_real(self) -> bool:
        return self.low is None

    def holds_zero(self) -> bool:
        return self.origin == 0


def _domain(argument: Argument, sizes: Mapping[str, int]) -> _Domain | None:
    match fill_of(argument):
        case "normal":
            return _Domain(has_infinities=argument.infinities)
        case "uniform" | "integers":
            low, high = bounds_of(argument, sizes)
            return _Domain(low, high, 0 if low <= 0 < high else low, fill_of(argument) == "integers")
    return None


def _textured(
    domain: _Domain | None, noise: np.ndarray, texture: Texture, random: np.random.Generator
) -> np.ndarray | None:
    if domain is None or not noise.size:
        return None
    match texture:
        case Texture.SPIKES:
            return _spikes(noise, domain, random)
        case Texture.PROFILE:
            return _profile(noise, domain, random)
        case Texture.EQUAL:
            return filled(
                noise.shape, _least_or_most(domain) if domain.is_whole else _one_value(domain, random), noise.dtype
            )
        case Texture.ZEROS:
            return _zeros(noise, domain) if domain.holds_zero() else None
        case Texture.CHANGED | Texture.MOSTLY_EQUAL:
            return (_changed if texture is Texture.CHANGED else _mostly_equal)(noise, domain, random)
        case Texture.INFINITE:
            return _infinities(noise, random) if domain.has_infinities else None
    return (_large if texture is Texture.LARGE else _tiny)(noise, domain)


def _spikes(noise: np.ndarray, domain: _Domain, random: np.random.Generator) -> np.ndarray:
    """All but silent, with large elements at random places, and the largest one at the end, which may be left out.

    All that is silent adds up to less than the rounding of one large element: how much of it a right sum loses depends
    on the order of the additions.
    """
    values = np.empty_like(noise)
    flat, drawn = values.reshape(-1), noise.reshape(-1)
    rounding = float(np.finfo(flat.dtype).eps) if flat.dtype.kind == "f" else 1.0
    in_blocks(flat.size, lambda part: _scale(flat[part], drawn[part], domain, rounding / flat.size))
    places = random.integers(0, flat.size, min(SPIKES, flat.size // 2 + 1))
    flat[places] = loud = _loud(flat.dtype, domain, random, places.size)
    flat[-1] = np.max(np.abs(loud) if domain.is_real else loud)
    return values


def _loud(dtype: np.dtype, domain: _Domain, random: np.random.Generator, count: int) -> np.ndarray:
    shares = random.uniform(0.75, 1.0, count)
    if domain.low is None or domain.high is None:
        return np.asarray(LOUD * shares * random.choice([-1.0, 1.0, 1.0], count)).astype(dtype)
    if domain.is_whole:
        return np.full(count, int(domain.high) - 1).astype(dtype)
    return np.asarray(domain.origin + (domain.high - domain.origin) * shares * (1 - 2**-10)).astype(dtype)


def _changed(noise: np.ndarray, domain: _Domain, random: np.random.Generator) -> np.ndarray:
    """The same but for a few elements, which are large: what looks at a sample finds nothing changed."""
    values = noise.copy()
    places = random.integers(0, values.size, min(SPIKES, values.size // SPIKES + 1))
    values.reshape(-1)[places] = _loud(values.dtype, domain, random, places.size)
    return values


def _mostly_equal(noise: np.ndarray, domain: _Domain, random: np.random.Generator) -> np.ndarray:
    """Zeros, where there may be some, then one value over and over, but for a few: the first ones tell nothing.

    Behind the zeros all are negative, where they may be: a maximum that is begun at zero is wrong there.
    """
    values = filled(noise.shape, _one_of_few(domain, random, negative=True), noise.dtype)
    flat = values.reshape(-1)
    zeros = flat.size // 2 if domain.holds_zero() else 0
    flat[:zeros] = 0
    alike = min(HEAD, flat.size // 2)
    for place in random.integers(alike, flat.size, min(SPIKES, flat.size // HEAD + 1)):
        flat[place] = _one_of_few(domain, random, negative=place >= zeros)
    return values


def _one_of_few(domain: _Domain, random: np.random.Generator, *, negative: bool) -> float:
    """One of a few values of few bits; below zero where that is wanted and the array may hold any number."""
    if domain.low is None or domain.high is None:
        value = float(random.choice(EQUAL))
        return -abs(value) if negative else value
    if domain.is_whole:
        return _one_value(domain, random)
    return domain.origin + (domain.high - domain.origin) * float(random.choice((0.25, 0.5, 0.75)))


def _profile(noise: np.ndarray, domain: _Domain, random: np.random.Generator) -> np.ndarray:
    """Parts of random length: the first quiet, the last loud, between them blocks, ramps and combs."""
    values = np.empty_like(noise)
    flat, drawn = values.reshape(-1), noise.reshape(-1)
    cuts = np.sort(random.integers(0, flat.size + 1, PARTS - 1))
    edges = [0, *cuts.tolist(), flat.size]
    depths = [DEEPEST, *random.integers(0, DEEPEST + 1, PARTS - 2).tolist(), 0]
    combed = random.random(PARTS) < 0.5
    phases = random.integers(0, 2, PARTS)

    def shape(number: int) -> None:
        start, end = edges[number], edges[number + 1]
        _louder(flat[start:end], drawn[start:end], domain, depths[number], ramp=number % 3 == 1)
        if combed[number]:
            teeth = slice(start + int(phases[number]), end, 2)
            _scale(flat[teeth], flat[teeth], domain, 2.0**-DEEPEST)

    in_threads(shape, PARTS)
    return values


def _louder(into: np.ndarray, drawn: np.ndarray, domain: _Domain, depth: int, *, ramp: bool) -> None:
    """A part as loud as its depth says, or that grows so loud."""
    if not ramp or domain.is_whole or not into.size:
        _scale(into, drawn, domain, 2.0**-depth)
        return
    kind = into.dtype.type
    rising = np.linspace(0, 2.0**-depth, into.size, endpoint=False, dtype=np.float32)
    into[...] = (drawn - kind(domain.origin)) * rising + kind(domain.origin)


def _scale(into: np.ndarray, drawn: np.ndarray, domain: _Domain, factor: float) -> None:
    """Bring values nearer to the domain's origin; whole numbers by a power of two, rounded down."""
    if into.dtype.kind == "b":
        into[...] = drawn & (factor > 0.5)
    elif into.dtype.kind != "f":
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


def _one_value(domain: _Domain, random: np.random.Generator) -> float:
    if domain.low is None or domain.high is None:
        return float(random.choice(EQUAL))
    if not domain.is_whole:
        return (domain.origin + domain.high) / 2
    return int(random.integers(int(domain.low), int(domain.high)))


def _infinities(noise: np.ndarray, random: np.random.Generator) -> np.ndarray:
    values = noise.copy()
    count = min(INFINITIES, values.size)
    values.reshape(-1)[random.integers(0, values.size, count)] = random.choice([-np.inf, np.inf], count)
    return values


def _least_or_most(domain: _Domain) -> int:
    """The whole number that is furthest from zero, as sums and products of it are, which may not fit where they go."""
    low, high = int(domain.low or 0), int(domain.high or 0)
    return low if low < 0 and -low >= high - 1 else high - 1


def _zeros(noise: np.ndarray, domain: _Domain) -> np.ndarray:
    """Zeros with the signs of noise, where it may be negative: what orders numbers by their bits tells them apart."""
    return (
        np.copysign(0, noise).astype(noise.dtype)
        if domain.is_real and noise.dtype.kind == "f"
        else np.zeros_like(noise)
    )


def _tiny(noise: np.ndarray, domain: _Domain) -> np.ndarray | None:
    if domain.is_whole or not (domain.is_real or domain.holds_zero()):
        return None
    return np.asarray(noise * _factor(noise.dtype, Texture.TINY))


def _large(noise: np.ndarray, domain: _Domain) -> np.ndarray | None:
    """Rows, or thirds, of large numbers, the largest last, of negative ones, the largest first, and of moderate ones.

    A maximum of a part of a row is wrong of the first two, one that is begun at zero, or at a number thought small, of
    the second. An exponential keeps moderate ones apart. Whole numbers are the two furthest from zero.
    """
    if domain.is_whole:
        return _furthest(noise, domain)
    if not domain.is_real:
        return None
    factor = _factor(noise.dtype, Texture.LARGE)
    values = np.asarray(noise * factor)
    rows, drawn = (values, noise) if noise.ndim > 1 else (_in_thirds(values), _in_thirds(noise))
    if not rows.size:
        return values
    large, negative = rows[0::3], rows[1::3]
    large[..., -1] = np.max(np.abs(large)) + factor
    negative[...] = -(np.abs(negative) + factor)
    negative[..., 0] = np.multiply(factor, -0.5)
    rows[2::3] = drawn[2::3] * noise.dtype.type(MODERATE)
    return values


def _furthest(noise: np.ndarray, domain: _Domain) -> np.ndarray | None:
    """The two whole numbers furthest from zero, where there are others; sums of their products are odd and even."""
    if (domain.high or 0) - (domain.low or 0) <= 2:
        return None
    values = filled(noise.shape, most := _least_or_most(domain), noise.dtype)
    values[noise % 2 == 0] -= int(np.sign(most))
    return values


def _in_thirds(flat: np.ndarray) -> np.ndarray:
    """As three rows, without what is left over."""
    return flat[: flat.size // 3 * 3].reshape(3, -1)


def _factor(dtype: np.dtype, texture: Texture) -> np.generic:
    single, half = SCALES[texture]
    factor: np.generic = dtype.type(half if dtype == np.float16 else single)
    return factor
