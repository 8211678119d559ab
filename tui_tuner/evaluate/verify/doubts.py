"""Wrong results that may not be the candidate's fault: what is asked before they are held against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tui_tuner.evaluate.devices.faults import of_another
from tui_tuner.evaluate.tolerance import wrong_elements
from tui_tuner.evaluate.verify import LaunchData
from tui_tuner.evaluate.verify.datasets import DataSets, RunBaseline
from tui_tuner.evaluate.verify.drafts import Drafts
from tui_tuner.evaluate.verify.rounding import nudged_arguments
from tui_tuner.problem.textures import SPREAD, Texture

MOST_EXCUSES = 4
"""Of one candidate in one evaluation or comparison: who is wrong wherever it may be is wrong."""
UNSTEADY = 0.05
"""Where more of the elements move as far, a unit in the last place is too coarse to tell anything."""
IN_VAIN = 8
"""Ways of being off, one after the other, that may explain nothing more: two that lead move apart in every second."""

_OF_GIVEN = of_another("the kernel as given")


@dataclass(frozen=True)
class Doubt:
    """What came of it.

    Attributes:
        instead: what the data of the wrong launch are replaced by; nothing where none can be told right by them.
        is_founded: whether the candidate is to be judged anew.
    """

    instead: list[LaunchData]
    is_founded: bool


class Doubts:
    """Asks the reference, where it was not, and whether the kernel as given itself is steady there."""

    def __init__(self, datasets: DataSets, drafts: Drafts, run_baseline: RunBaseline) -> None:
        self._datasets = datasets
        self._drafts = drafts
        self._run_baseline = run_baseline
        self._excuses = MOST_EXCUSES

    def another_candidate(self) -> None:
        """Forget how often the last one was excused."""
        self._excuses = MOST_EXCUSES

    def of(
        self, data: LaunchData, outputs: Mapping[int, np.ndarray], noise: LaunchData, *, is_kept: bool
    ) -> Doubt | None:
        """Whether a wrong result stands; None where nothing more can be asked of it.

        Args:
            outputs: what the candidate computed, by argument index; none where nobody asks whether it is steady.
            noise: at the timed size.
            is_kept: whether other candidates have the data as well.
        """
        asked = self._datasets.asked(data, noise)  # once of each set of inputs, as it may take a minute
        if asked is not None and all(one.is_wider(than=data) for one in asked):
            self._drafts.doubt()
            return Doubt(asked, is_founded=True)
        if self._excuses and self._is_unsteady(asked[0] if asked else data, outputs):
            self._excuses -= 1
            return Doubt(self._instead(data, is_kept=is_kept), is_founded=True)
        return None if asked is None else Doubt(asked, is_founded=False)

    def _instead(self, data: LaunchData, *, is_kept: bool) -> list[LaunchData]:
        """Noise that is drawn anew, without which nothing would be checked; others are so for each comparison."""
        if is_kept and data.texture is Texture.NOISE:
            return self._datasets.make(data.index)
        if is_kept:
            told = "inputs off by a unit in the last place change its results as far"
            self._datasets.note_left_out(data.label, told)
        return []

    def _is_unsteady(self, data: LaunchData, outputs: Mapping[int, np.ndarray]) -> bool:
        """Whether all wrong elements are such that the kernel as given moves beyond what is allowed, too.

        Where two of the inputs lead by less than rounding, as of the large scores of a softmax, or a number lies at a
        limit, as a distance at which forces end, the order of operations decides, in few of many elements, and none is
        the right one.
        """
        if data.texture not in SPREAD or not outputs:
            return False
        left, way, in_vain = _wrong(outputs, data), 0, 0
        if _are_many(left):
            return False
        while (count := _count(left)) and in_vain < IN_VAIN:
            way += 1  # the first has made the bounds
            inputs, _ = nudged_arguments(data.arguments, way)
            moved = _wrong(_OF_GIVEN(self._run_baseline)(inputs, data.index, data.label), data)
            if _are_many(moved):
                return False
            left = {i: there & ~moved[i] for i, there in left.items()}
            in_vain = in_vain + 1 if _count(left) == count else 0
        return not count


def _wrong(outputs: Mapping[int, np.ndarray], data: LaunchData) -> dict[int, np.ndarray]:
    return {i: wrong_elements(outputs[i], data.expected[i], data.bounds[i]) for i in data.expected}


def _count(found: Mapping[int, np.ndarray]) -> int:
    return sum(int(np.count_nonzero(there)) for there in found.values())


def _are_many(found: Mapping[int, np.ndarray]) -> bool:
    return any(np.count_nonzero(there) > UNSTEADY * there.size for there in found.values())
