"""The kernel as given at tests that are only proposed: whether candidates can be checked there."""

from __future__ import annotations

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.datasets import LaunchData
from tui_tuner.evaluate.devices.base import DeviceFault
from tui_tuner.evaluate.requests import Executable, RehearsalAnswer
from tui_tuner.evaluate.workbench import ResultMismatch, Workbench
from tui_tuner.problem.inputs import poisoned, repoisoned, untouched

REHEARSAL_LIMIT_S = 10.0
"""Limit of a launch: every candidate would run at the test."""


class Rehearsal(Workbench):
    """A workbench that keeps nothing, for a problem whose tests nobody has run yet."""

    def run(self, baseline: Executable) -> RehearsalAnswer:
        """Treat the kernel as given like a candidate at every test; what is wrong in words, if anything is."""
        self._baseline, self._limit_s = baseline, REHEARSAL_LIMIT_S
        try:
            for index in range(len(self._problem.tests)):
                self._rehearse(self._fresh(index), baseline)
        except DeviceFault as fault:
            return RehearsalAnswer(reason=f"{fault.kind}: {fault.message}", fatal=fault.fatal)
        except ResultMismatch as wrong:
            return RehearsalAnswer(reason=f"the kernel as given is not even right against itself: {wrong}")
        except ProblemError as error:
            return RehearsalAnswer(reason=error.message)
        except MemoryError:
            return RehearsalAnswer(reason="its arrays do not fit in memory")
        return RehearsalAnswer()

    def _rehearse(self, data: LaunchData, baseline: Executable) -> None:
        if self._problem.reference is None:
            self._refuse_unwritten(data)
        with self._loaded(baseline) as kernel:
            self._verify(kernel, data, baseline)

    def _refuse_unwritten(self, data: LaunchData) -> None:
        """Without a reference, what the kernel as given leaves out would be expected of every candidate."""
        again = [repoisoned(a, value) for a, value in zip(self._problem.arguments, data.arguments, strict=True)]
        second = self._run_baseline(again, data.index)
        for index in self._outputs:
            argument, first = self._problem.arguments[index], data.expected[index]
            left = untouched(argument, first) & (second[index] == again[index])
            if poisoned(argument) and left.any():
                count = f"{left.sum()} of {left.size} elements of '{argument.name}'"
                raise ProblemError(f"the kernel as given leaves {count} unwritten")
