"""The kernel as given tried at tests that nobody has run yet, inside the runner process."""

from __future__ import annotations

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.devices.base import DeviceFault
from tui_tuner.evaluate.runner.faults import ResultMismatch
from tui_tuner.evaluate.runner.protocol import Executable, RehearsalAnswer
from tui_tuner.evaluate.runner.workbench import Workbench

REHEARSAL_LIMIT_S = 10.0
"""Limit of a launch: every candidate would run at the test."""


class Rehearsal(Workbench):
    """A workbench that keeps nothing, for a problem whose tests nobody has run yet."""

    def run(self, baseline: Executable) -> RehearsalAnswer:
        """Treat the kernel as given like a candidate at every test; what is wrong in words, if anything is."""
        self._baseline, self._limit_s = baseline, REHEARSAL_LIMIT_S
        try:
            for index in range(len(self._problem.tests)):
                with self._loaded(baseline) as kernel:
                    self._verify(kernel, self._fresh(index), baseline)
        except DeviceFault as fault:
            return RehearsalAnswer(reason=f"{fault.kind}: {fault.message}", fatal=fault.fatal)
        except ResultMismatch as wrong:
            return RehearsalAnswer(reason=f"the kernel as given is not even right against itself: {wrong}")
        except ProblemError as error:
            return RehearsalAnswer(reason=error.message)
        except MemoryError:
            return RehearsalAnswer(reason="its arrays do not fit in memory")
        return RehearsalAnswer()
