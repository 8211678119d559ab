"""The data of one launch: what it is given, what it must compute, and how far that may be off."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np

from tui_tuner.evaluate.devices.base import KernelArgument
from tui_tuner.evaluate.tolerance import Bound, Verdict, compare, loosest, wrong_elements
from tui_tuner.evaluate.verify.pattern import pattern
from tui_tuner.problem.blocks import copied
from tui_tuner.problem.domains import SPIKES
from tui_tuner.problem.dtypes import is_floating
from tui_tuner.problem.model import Problem
from tui_tuner.problem.textures import Texture

MAY_ERR = (
    "the kernel as given alone says what is right, and it may be the one that loses more, as in a long sum: "
    "a [reference] in the problem file would tell"
)
"""Said of a wrong result that is off by no more than rounding may be."""

CompareOutput = Callable[[int, np.ndarray, Bound], Verdict]
"""Compares the output at an argument's index with what is expected, within a bound."""
FetchOutput = Callable[[int], np.ndarray]
"""The present content of the output at an argument's index."""


@dataclass(frozen=True)
class LaunchData:
    """Arguments of one launch with what it must compute.

    Attributes:
        index: of the test; the last one is the timed size.
        label: the sizes, and what inputs the test changes, in words.
        expected: output arrays by argument index.
        bounds: their allowed deviation.
        texture: how the inputs are distributed.
        is_certain: whether a reference says what is expected, and not the kernel as given.
    """

    index: int
    label: str
    arguments: list[KernelArgument]
    expected: dict[int, np.ndarray]
    bounds: dict[int, Bound]
    texture: Texture = Texture.NOISE
    is_certain: bool = False

    @property
    def arrays(self) -> frozenset[int]:
        """Indices of the array arguments."""
        return frozenset(i for i, a in enumerate(self.arguments) if isinstance(a, np.ndarray))

    def check(self, problem: Problem, compare: CompareOutput, output: FetchOutput) -> tuple[float, str | None]:
        """Largest deviation relative to the allowed one, and what is wrong in words, with its pattern.

        Args:
            compare: compares the output at an argument's index with what is expected of it.
            output: fetches the whole output, which is done for a wrong one only: a device may compare by itself.
        """
        worst = 0.0
        for index, expected in self.expected.items():
            share, mismatch = compare(index, expected, self.bounds[index])
            worst = max(worst, share)
            if mismatch is not None:
                got, name = output(index), problem.arguments[index].name
                where = pattern(wrong_elements(got, expected, self.bounds[index]))
                is_rounding = problem.reference is None and _is_no_more_than_rounding(got, expected)
                told = (f"wrong: {where}" if where else "", MAY_ERR if is_rounding else "")
                return worst, "; ".join([f"at {self.label}: {name}{mismatch}", *filter(None, told)])
        return worst, None


def _is_no_more_than_rounding(got: np.ndarray, expected: np.ndarray) -> bool:
    """Whether no element is further off than the error of a kernel may be at all."""
    is_real = is_floating(got.dtype)
    return is_real and compare(got, expected, loosest(expected, got.dtype))[1] is None


def with_leftovers(data: LaunchData, poisoned: Collection[int]) -> list[LaunchData]:
    """The same launch over outputs as an earlier one may have left them: right, but for few elements.

    Who looks at what is there, and leaves it where it seems to be right, or to be a number, passes over poison only.

    Args:
        poisoned: outputs of which nothing else is expected to be there; none of these, and there is no such launch.
    """
    if not poisoned:
        return []
    random, arguments = np.random.default_rng(), list(data.arguments)
    for index in poisoned:
        left = copied(data.expected[index], arguments[index].dtype)
        # Without shuffling it takes no longer for many elements: a permutation of 134 million takes seconds.
        places = random.choice(left.size, min(SPIKES, left.size // 16 + 2, left.size), replace=False, shuffle=False)
        left.flat[places] = _others(
            left.flat[places], int(data.bounds[index].absolute) if left.dtype.kind in "iu" else 0
        )
        arguments[index] = left
    return [replace(data, label=f"{data.label}, over the results of an earlier launch", arguments=arguments)]


def _others(values: np.ndarray, allowed: int) -> np.ndarray:
    """Finite values that are others; larger ones and smaller ones in turns, where there is room for both.

    Args:
        allowed: by how much whole numbers may differ.
    """
    if not is_floating(values.dtype):
        bit = np.array(1 << allowed.bit_length()).astype(values.dtype)
        return np.asarray(np.logical_not(values) if values.dtype == bool else values ^ bit)
    most = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values))) + 1
    return np.resize([most, -most], values.size).astype(values.dtype)
