"""Checks of a problem: the steps of its `[[steps]]` can be worked through, and their tunables fit the kernel."""

from __future__ import annotations

from collections.abc import Sequence

from tui_tuner.problem.check_names import check_tunable
from tui_tuner.problem.model import Problem
from tui_tuner.problem.place import KeyLocations
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.tuning_step import TuningStep, step_faults


def check_steps(steps: Sequence[TuningStep], place: KeyLocations) -> None:
    """Refuse steps that cannot be worked through, whatever the kernel.

    Raises:
        ProblemError: for the first mistake.
    """
    for fault in step_faults(steps):
        raise place.error(fault.message, "steps", *fault.path, hint=fault.hint)


def check_steps_of_problem(problem: Problem, signature: KernelSignature, place: KeyLocations) -> None:
    """Refuse steps that cannot be worked through, or whose tunables have names that mean something in the kernel.

    Raises:
        ProblemError: for the first mistake.
    """
    check_steps(problem.steps, place)
    for index, step in enumerate(problem.steps):
        for name, values in step.tune_params.items():
            check_tunable(problem, name, values, signature, place, ("steps", index, "tune_params", name))
