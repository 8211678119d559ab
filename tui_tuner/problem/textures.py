"""Inputs beside plain noise: with structure and of other magnitudes, as far as the declared domain of each array goes.

Noise alone hides much: the sum of a quarter of many alike elements, times four, is their sum but for rounding, and a
softmax that does not subtract the maximum is right as long as no element is large. An array filled `normal` may hold
any number; one filled `uniform` or `integers` holds what lies between its bounds; the others are as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache

import numpy as np

from tui_tuner.problem import bits, domains, magnitudes
from tui_tuner.problem.domains import Domain
from tui_tuner.problem.dtypes import is_floating
from tui_tuner.problem.expressions import names_in
from tui_tuner.problem.inputs import bounds_of, fill_of, poisoned
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
    NAN = "NaN"
    CHANGED = "few elements changed"
    MOSTLY_EQUAL = "few values among equal ones"
    NEXT = "numbers next to each other"
    BITS = "whole numbers that one bit tells apart"
    SMALLER = "numbers some octaves smaller"
    LARGER = "numbers some octaves larger"
    LONE = "one large element among noise"
    ORDERED = "numbers in order"
    SCALARS = "other scalars"


STRUCTURED = (Texture.SPIKES, Texture.PROFILE)
"""What is checked at the timed size beside noise."""
_TO_ACCEPT = (
    *(Texture.MOSTLY_EQUAL, Texture.NEXT, Texture.BITS, Texture.SMALLER, Texture.LARGER),
    *(Texture.LONE, Texture.ORDERED, Texture.SCALARS),
)
ALL_BUT_NOISE = tuple(one for one in Texture if one not in (Texture.NOISE, Texture.CHANGED, *_TO_ACCEPT))
"""What is checked at tests beside noise. More are drawn where a kernel is about to be accepted: few elements that are
changed where others were in the same memory just before, at tests few values among equal ones, one large element among
noise, numbers in order, smaller and larger ones, whole ones that one of many bits tells apart, other scalars over quiet
and loud parts, and, where whole numbers are computed, others that only their last bits tell apart."""

MOVED = (Texture.SMALLER, Texture.LARGER)
"""Other magnitudes between those of noise and the smallest and largest that are tried."""
SCALES = (Texture.TINY, Texture.LARGE, Texture.LONE, *MOVED)
"""Other magnitudes: where the kernel as given cannot do them, the first array has them alone, drawn anew."""

SPREAD = (Texture.NOISE, *STRUCTURED, Texture.CHANGED, Texture.SCALARS, *SCALES)
"""Numbers that differ by more than their last bits: where these decide, as between two that lead, it is by chance."""

COUNT = 8
"""A whole number from here on may be a count, also as a scalar of floating type: of these none is changed."""

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
    if texture is Texture.SCALARS:
        values = [_other_scalar(*each, seed) for each in zip(problem.arguments, noise, strict=True)]
        if all(value is before for value, before in zip(values, noise, strict=True)):
            return None
    scalars = [value for value in values if isinstance(value, np.generic) and is_floating(value.dtype)]
    arrays = {index: array for index, array in enumerate(noise) if isinstance(array, np.ndarray)}
    allowed = {index: _domain(problem.arguments[index], problem.sizes) for index in arrays}
    spares_places = any(domain and not domain.is_whole for domain in allowed.values()) and seed % 2 == 1
    for index, array in arrays.items():
        argument, domain = problem.arguments[index], allowed[index]
        if changed and first_only:
            continue
        if texture is Texture.CHANGED and argument.output:
            continue
        if texture is Texture.MOSTLY_EQUAL and spares_places and domain is not None and domain.is_whole:
            continue  # places that are all the same hide what the numbers there are
        random = np.random.Generator(np.random.SFC64([seed, index]))
        if texture is Texture.LONE and fill_of(argument) == "offsets":
            new = domains.long_part(array, random)
        else:
            new = _textured(domain, array, texture, random)
        if new is not None:
            if texture is Texture.SCALARS and domain is not None:
                domains.put(new, scalars, domain, random)
            values[index], changed = new, True
    if texture is Texture.NAN:
        values = [_written_over(*each) for each in zip(problem.arguments, values, strict=True)]
    return values if changed else None


def exchanged(problem: Problem, noise: Sequence[Value], seed: int) -> list[Value] | None:
    """Arguments with a few elements in the place of others, as ordinary as before; None where that changes nothing.

    Few large ones, as `Texture.CHANGED` has, may take a kernel longer: one that sorts, or searches near a place.
    """
    values = list(noise)
    for index, array in enumerate(noise):
        argument = problem.arguments[index]
        is_given = isinstance(array, np.ndarray) and array.size > 0 and not argument.output
        if not is_given or _domain(argument, problem.sizes) is None:
            continue
        random = np.random.Generator(np.random.SFC64([seed, index]))
        few = min(domains.SPIKES, array.size // domains.SPIKES + 1)
        places, others = random.integers(0, array.size, (2, few))
        if not np.array_equal(array.flat[places], array.flat[others]):
            values[index] = new = array.copy()
            new.flat[places] = array.flat[others]
    return values if any(new is not old for new, old in zip(values, noise, strict=True)) else None


def _written_over(argument: Argument, value: Value) -> Value:
    """An output that starts with a number: beside NaN as a result, poison that is NaN would hide what nobody wrote."""
    is_poison = poisoned(argument) and isinstance(value, np.ndarray) and is_floating(value.dtype)
    return np.full(value.shape, domains.LOUD, value.dtype) if is_poison else value


def _other_scalar(argument: Argument, value: Value, seed: int) -> Value:
    """Another value of a floating scalar that is the same at all sizes: who wrote it into the code is wrong there."""
    if argument.value is None or names_in(argument.value) or not is_floating(value.dtype):
        return value
    number, share = float(value), 0.25 if seed % 2 else -0.25
    if not np.isfinite(number) or (abs(number) >= COUNT and number.is_integer()):
        return value
    other: np.generic = value.dtype.type(number * (1 + share) if number else abs(share))
    return other


def occurring(problem: Problem) -> list[Texture]:
    """The textures beside noise that arrays of a problem can have, as far as their domains go."""
    arrays = [argument for argument in problem.arguments if argument.shape is not None]
    kinds = {(_domain(argument, problem.sizes), argument.dtype) for argument in arrays}
    return [texture for texture in ALL_BUT_NOISE if any(_is_possible(*kind, texture) for kind in kinds)]


@lru_cache(maxsize=256)
def _is_possible(domain: Domain | None, dtype: str, texture: Texture) -> bool:
    random = np.random.Generator(np.random.SFC64(0))
    return _textured(domain, np.ones(4, dtype), texture, random) is not None


def _domain(argument: Argument, sizes: Mapping[str, int]) -> Domain | None:
    match fill_of(argument):
        case "normal":
            return Domain(has_infinities=argument.infinities, has_nans=argument.nans)
        case "uniform" | "integers":
            low, high = bounds_of(argument, sizes)
            origin = 0 if low <= 0 < high else low
            return Domain(low, high, origin, fill_of(argument) == "integers", has_nans=argument.nans)
    return None


def _textured(
    domain: Domain | None, noise: np.ndarray, texture: Texture, random: np.random.Generator
) -> np.ndarray | None:
    if domain is None or not noise.size:
        return None
    return _MAKERS[texture](noise, domain, random)


def _infinities(noise: np.ndarray, domain: Domain, random: np.random.Generator) -> np.ndarray | None:
    return domains.with_few(noise, np.inf, random) if domain.has_infinities else None


def _nans(noise: np.ndarray, domain: Domain, random: np.random.Generator) -> np.ndarray | None:
    return domains.with_few(noise, np.nan, random) if domain.has_nans else None


_MAKERS: Mapping[Texture, Callable[[np.ndarray, Domain, np.random.Generator], np.ndarray | None]] = {
    Texture.SPIKES: domains.spikes,
    Texture.PROFILE: domains.profile,
    Texture.TINY: domains.tiny,
    Texture.LARGE: domains.large,
    Texture.EQUAL: domains.equal,
    Texture.ZEROS: domains.zeros,
    Texture.INFINITE: _infinities,
    Texture.NAN: _nans,
    Texture.CHANGED: domains.changed,
    Texture.MOSTLY_EQUAL: domains.mostly_equal,
    Texture.NEXT: bits.next_to_each_other,
    Texture.BITS: bits.one_bit_apart,
    Texture.SMALLER: magnitudes.smaller,
    Texture.LARGER: magnitudes.larger,
    Texture.LONE: domains.lone,
    Texture.ORDERED: domains.in_order,
    Texture.SCALARS: domains.profile,
}
"""None of them where an array cannot hold it."""
