"""Which proposed tests are kept: those at which the kernel as given itself can be checked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from tui_tuner.evaluate.datasets import label_of
from tui_tuner.problem.argument_values import array_bytes
from tui_tuner.problem.check_tests import faults_of_test
from tui_tuner.problem.model import Problem, Test

REHEARSALS = 2
"""How often the kernel as given runs at a proposed test: with a guard behind its arrays, and before them."""
DRAWS = 20
"""How often the data of a proposed test are drawn before it is given up: chance alone must not end a session."""

RehearseTests = Callable[[Problem], Awaitable[str | None]]
"""Runs the kernel as given at every test of a problem; why it cannot be checked there, or None."""


async def kept_tests(
    problem: Problem, proposed: Sequence[Test], rehearse: RehearseTests
) -> tuple[list[Test], list[str]]:
    """The tests to keep, and a line for each that is dropped.

    Args:
        problem: at the sizes in force; where it has tests of its own, nothing that is proposed is used.
    """
    kept: list[Test] = []
    dropped: list[str] = []
    for test in proposed if not problem.tests else ():
        faults = why_unusable(problem, test)
        reason = faults[0] if faults else await rehearse(problem.with_tests([test] * REHEARSALS))
        if reason is None:
            kept.append(test)
        else:
            dropped.append(dropped_line(problem, test, reason))
    return kept, dropped


def why_unusable(problem: Problem, test: Test) -> list[str]:
    """Why a test cannot even be tried; empty if it can."""
    faults = [f"{fault.message} ({fault.hint})" for fault in faults_of_test(problem, test)]
    if faults:
        return faults
    if problem.at(test) == problem:
        return ["it changes neither sizes nor inputs"]
    needed, most = array_bytes(problem, test.sizes), array_bytes(problem, {})
    return [f"its arrays take {needed} bytes, more than the {most} of the timed size"] if needed > most else []


def dropped_line(problem: Problem, test: Test, reason: str) -> str:
    """The test and why it is dropped, as in "n=33: illegal access: ..."."""
    label = label_of({**problem.sizes, **test.sizes}, test.inputs)
    return f"{label}: {reason.replace(f'at {label}: ', '').replace(f'at {label} ', '')}"
