"""How large an output counts, of which a share is allowed of all of its elements alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tui_tuner.evaluate.devices.base import KernelArgument
from tui_tuner.evaluate.in_pieces import magnitude, peak
from tui_tuner.evaluate.verify import LaunchData
from tui_tuner.problem.dtypes import is_floating
from tui_tuner.problem.textures import STRUCTURED, Texture

FEW_ELEMENTS = 4
"""Fewer may all be next to nothing by chance, as the sum of many numbers of either sign is once in fifty times."""

FIRST = 64
"""Elements of noise that tell whether it has both signs."""

SizeOf = Callable[[np.ndarray], float]
"""Tells the size of an output."""


class OutputSizes:
    """The size of each output; one of few elements counts no less than it did at other noise of the same launch."""

    def __init__(self) -> None:
        self._largest: dict[tuple[int, int], float] = {}

    def of_noise(self, index: int, outputs: Mapping[int, np.ndarray]) -> dict[int, SizeOf | None]:
        """For each output of a launch with noise how its size is told; None for its magnitude."""
        return {i: self._usual(index, i, output) for i, output in outputs.items()}

    def of(self, texture: Texture, noise: LaunchData) -> dict[int, SizeOf | None]:
        """The same of a launch whose inputs have a texture, beside what noise gave."""
        return {
            i: _size(texture, one) or self._usual(noise.index, i, one) or _of_the_few_left(one)
            for i, one in noise.expected.items()
        }

    def knows(self, index: int, outputs: Mapping[int, np.ndarray]) -> bool:
        """Whether there was other noise for each output of few elements."""
        return all((index, i) in self._largest for i, output in outputs.items() if _is_few(output))

    def may_cancel(self, outputs: Mapping[int, np.ndarray], noise: LaunchData) -> bool:
        """Whether an output of few elements is less than of noise that has both signs: it may be what is left."""
        is_less = any(_is_few(one) and magnitude(one) < magnitude(noise.expected[i]) for i, one in outputs.items())
        return is_less and any(map(_has_signs, noise.arguments))

    def note(self, index: int, outputs: Mapping[int, np.ndarray]) -> None:
        """What came of noise."""
        for i, output in outputs.items():
            if _is_few(output):
                self._largest[index, i] = max(self._largest.get((index, i), 0.0), magnitude(output))

    def _usual(self, index: int, i: int, output: np.ndarray) -> SizeOf | None:
        if not _is_few(output):
            return None
        return lambda other: max(magnitude(other), self._largest.get((index, i), 0.0))


def _is_few(output: np.ndarray) -> bool:
    """Whether its magnitude says little of what its elements were made of."""
    return is_floating(output.dtype) and output.size < FEW_ELEMENTS


def _of_the_few_left(noise: np.ndarray) -> SizeOf | None:
    """As of an output of few elements, where a texture leaves no more of many: all numbers were added to one place."""

    def size(expected: np.ndarray) -> float:
        is_of_few = 0 < np.count_nonzero(expected) < FEW_ELEMENTS
        return max(magnitude(expected), magnitude(noise) if is_of_few else 0.0)

    return size if is_floating(noise.dtype) else None


def _has_signs(noise: KernelArgument) -> bool:
    """Whether numbers below zero are there, as the first of them tell."""
    return isinstance(noise, np.ndarray) and is_floating(noise.dtype) and bool((noise.flat[:FIRST] < 0).any())


def _size(texture: Texture, noise: np.ndarray) -> SizeOf | None:
    """None for its magnitude.

    Where most of it is silent, as where all places that numbers go to are two, its magnitude says little of the numbers
    that were added up, and where inputs are equal or zero it may be what is left when they cancel, or where they are
    large the end of a curve.
    """
    if texture in (*STRUCTURED, Texture.CHANGED, Texture.LONE, Texture.LARGE, Texture.SCALARS):
        return peak
    if texture in (Texture.EQUAL, Texture.ZEROS, Texture.MOSTLY_EQUAL, Texture.LARGER):
        measure = peak if texture in (Texture.EQUAL, Texture.ZEROS) else magnitude
        return lambda expected: max(measure(expected), magnitude(noise))
    return None
