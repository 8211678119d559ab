"""A problem's tests, tried before anybody believes them: whether the kernel as given holds them, and what it does."""

from __future__ import annotations

import numpy as np

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.devices.base import DeviceFault
from tui_tuner.evaluate.runner.checked_launches import ResultMismatch
from tui_tuner.evaluate.runner.protocol import Executable, RehearsalAnswer
from tui_tuner.evaluate.runner.workbench import Workbench
from tui_tuner.evaluate.verify import LaunchData
from tui_tuner.problem.dtypes import is_floating

REHEARSAL_LIMIT_S = 10.0
"""Time limit of a launch at a test that is proposed: every candidate would run there."""
FEW_LAUNCHES = 3
FEW = 64
"""A launch that changes less than one in so many elements of an output may be one of too few threads."""


class Rehearsal(Workbench):
    """A workbench that keeps nothing, for a problem whose tests nobody has run yet."""

    def run(self, baseline: Executable, *, is_timed: bool = False) -> RehearsalAnswer:
        """Treat the kernel as given like a candidate at every test; what is wrong in words, if anything is."""
        self._baseline = baseline
        self._launches.limit_s = self._launches.given_limit_s = REHEARSAL_LIMIT_S
        no_numbers: set[str] = set()
        launch_ms = None
        hardly_changed: dict[str, tuple[int, int]] = {}
        try:
            for index in range(len(self._problem.tests)):
                with self._launches.loaded(baseline) as kernel:
                    self._launches.verify(kernel, fresh := self._fresh(index), baseline)
                for place, expected in fresh[0].expected.items():
                    name = self._problem.arguments[place].name
                    no_numbers |= {name} if _has_nan(expected) else set()
                    changed = int(np.count_nonzero(expected != fresh[0].arguments[place]))
                    if changed * FEW < expected.size:
                        hardly_changed[name] = changed, expected.size
            if is_timed:
                launch_ms = self._launch_ms(fresh[0], baseline)
        except DeviceFault as fault:
            return RehearsalAnswer(reason=f"{fault.kind}: {fault.message}", fatal=fault.fatal)
        except ResultMismatch as wrong:
            return RehearsalAnswer(reason=f"the kernel as given is not even right against itself: {wrong}")
        except ProblemError as error:
            return RehearsalAnswer(reason=error.message)
        except MemoryError:
            return RehearsalAnswer(reason="its arrays do not fit in memory")
        return RehearsalAnswer(no_numbers=sorted(no_numbers), hardly_changed=hardly_changed, launch_ms=launch_ms)

    def _launch_ms(self, data: LaunchData, baseline: Executable) -> float:
        with self._launches.loaded(baseline) as kernel, self._launches.buffers(data) as buffers:
            geometry = baseline.shapes[data.index].geometry
            return min(self._device.time(kernel, buffers, geometry, FEW_LAUNCHES, self._launches.limit_s))


def _has_nan(array: np.ndarray) -> bool:
    return is_floating(array.dtype) and bool(np.isnan(array).any())
