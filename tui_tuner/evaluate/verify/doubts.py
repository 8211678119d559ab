"""Wrong results that may not be the candidate's fault: what is asked before they are held against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tui_tuner.evaluate.devices.base import KernelArgument
from tui_tuner.evaluate.devices.faults import of_another
from tui_tuner.evaluate.tolerance import wrong_elements
from tui_tuner.evaluate.verify import LaunchData
from tui_tuner.evaluate.verify.datasets import DataSets, RunBaseline
from tui_tuner.evaluate.verify.drafts import Drafts
from tui_tuner.problem.domains import nudged
from tui_tuner.problem.dtypes import is_floating
from tui_tuner.problem.textures import SCALES

MOST_EXCUSES = 4
"""Of one candidate in one comparison: who is wrong wherever it may be is wrong."""
UNSTEADY = 0.05
"""Where more of the elements move as far, a unit in the last place is too coarse to tell anything."""

_OF_GIVEN = of_another("the kernel as given")


@dataclass(frozen=True)
class Doubt:
    """What came of it.

    Attributes:
        instead: what the data of the wrong launch are replaced by; nothing where no kernel can be told by them.
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

    def of(self, data: LaunchData, outputs: Mapping[int, np.ndarray], noise: LaunchData) -> Doubt | None:
        """Whether a wrong result stands; None where nothing more can be asked of it.

        Args:
            outputs: what the candidate computed, by argument index; none where nobody asks whether it is steady.
            noise: at the timed size.
        """
        asked = self._datasets.asked(data, noise)  # once of each set of inputs, as it may take a minute
        if asked is not None:
            is_founded = not asked or any(asked[0].bounds[i].is_wider(than) for i, than in data.bounds.items())
            if is_founded:
                self._drafts.doubt()
            return Doubt(asked, is_founded)
        if not self._excuses or not self._is_unsteady(data, outputs):
            return None
        self._excuses -= 1
        self._datasets.note_left_out(data.label, "inputs off by a unit in the last place change its results as far")
        return Doubt([], is_founded=True)

    def _is_unsteady(self, data: LaunchData, outputs: Mapping[int, np.ndarray]) -> bool:
        """Whether all wrong elements are such that the kernel as given moves beyond what is allowed, too.

        Where numbers are large two of them may lead by less than rounding, as in a softmax of large scores: in which
        order products are added decides between them then, in few of many rows, and no order is the right one.
        """
        if data.texture not in SCALES or not outputs:
            return False
        moved = {i: np.zeros(expected.shape, bool) for i, expected in data.expected.items()}
        for is_mirrored in (False, True):  # of two that lead, one is ahead in either
            now = _OF_GIVEN(self._run_baseline)(_nudged(data.arguments, is_mirrored), data.index, data.label)
            for i in moved:
                moved[i] |= wrong_elements(now[i], data.expected[i], data.bounds[i])
        wrong = {i: wrong_elements(outputs[i], data.expected[i], data.bounds[i]) for i in moved}
        return all(
            not (wrong[i] & ~there).any() and np.count_nonzero(there) <= UNSTEADY * there.size
            for i, there in moved.items()
        )


def _nudged(arguments: Sequence[KernelArgument], is_mirrored: bool) -> list[KernelArgument]:
    return [
        nudged(one, is_mirrored) if isinstance(one, np.ndarray) and is_floating(one.dtype) else one for one in arguments
    ]
