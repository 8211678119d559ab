"""Proposed tests with the real evaluator, its runner and the emulator."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.evaluate.test_local import BLOCK, problem_in, rewritten
from tests.session.fakes import SOURCE
from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.local import LocalEvaluator
from tui_tuner.evaluate.results import Evaluation, FailureKind
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.evaluate.site import LocalOptions
from tui_tuner.problem.model import InputFill, Problem, Test

ODD, SMALL = Test(sizes={"n": 33}), Test(sizes={"n": 64})
SIGNED = Test(sizes={"n": 96}, inputs={"x": InputFill(fill="uniform", low=-1.0)})
UNCHECKED = SOURCE.replace("if (i < n) ", "")
REFERENCE = "import os\ndef scale(y, x, n):\n    {}\n    return 2 * x\n"


@asynccontextmanager
async def started(
    problem: Problem, directory: Path, proposed: Sequence[Test], device: str = "emulator"
) -> AsyncIterator[tuple[LocalEvaluator, MachineReport]]:
    log, builds = directory / "runner.log", directory / "builds"
    evaluator = LocalEvaluator(problem, LocalOptions(device, builds, log, jobs=2, policy=Policy()))
    try:
        yield evaluator, await evaluator.start(proposed)
    finally:
        await evaluator.close()


async def evaluated(evaluator: LocalEvaluator, problem: Problem, source: str) -> Evaluation:
    return await evaluator.evaluate(rewritten(problem, source), BLOCK, None)


def untested(directory: Path, source: str = SOURCE, more: str = "") -> Problem:
    return problem_in(directory, source=source, more=more).with_tests([])


def with_reference(directory: Path, line: str) -> Problem:
    (directory / "reference.py").write_text(REFERENCE.format(line))
    return untested(directory, more='\n[reference]\npython = "reference.py:scale"\n')


@pytest.mark.slow
async def test_a_kernel_for_multiples_of_32_keeps_the_tests_with_multiples_and_candidates_are_checked_there(
    tmp_path: Path,
) -> None:
    problem = untested(tmp_path, SOURCE.replace("i < n", "i < n / 32 * 32"))
    async with started(problem, tmp_path, [ODD, SMALL, SIGNED]) as (evaluator, start):
        right = await evaluated(evaluator, problem, SOURCE)
        at_small = await evaluated(evaluator, problem, SOURCE.replace("i < n", "i < n && n != 64"))
    assert start.tests == [SMALL, SIGNED]
    assert start.dropped == ["n=33: the kernel as given leaves 1 of 33 elements of 'y' unwritten"]
    assert right.timing is not None
    assert at_small.failure is not None
    assert at_small.failure.kind is FailureKind.WRONG_RESULT
    assert at_small.failure.message.startswith("at n=64: y[")


@pytest.mark.slow
@pytest.mark.parametrize("device", ["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
async def test_a_test_at_which_the_kernel_as_given_faults_is_dropped_and_the_session_goes_on(
    tmp_path: Path, device: str
) -> None:
    problem = untested(tmp_path, UNCHECKED)
    async with started(problem, tmp_path, [ODD, SMALL], device) as (evaluator, start):
        again = await evaluated(evaluator, problem, UNCHECKED)
    assert start.tests == [SMALL]
    (line,) = start.dropped
    assert line.startswith("n=33: illegal access: ")
    assert again.ok


@pytest.mark.slow
async def test_a_candidate_that_is_wrong_for_proposed_inputs_only_is_found_also_by_a_runner_that_was_replaced(
    tmp_path: Path,
) -> None:
    positive = Test(sizes={}, inputs={"x": InputFill(fill="uniform")})
    problem = untested(tmp_path).at(positive)
    absolute = SOURCE.replace("x[i]", "fabsf(x[i])")
    async with started(problem, tmp_path, []) as (evaluator, _):
        assert (await evaluated(evaluator, problem, absolute)).ok
    async with started(problem, tmp_path, [SIGNED]) as (evaluator, _):
        before = await evaluated(evaluator, problem, absolute)
        await evaluator._places.first.close()
        after = await evaluated(evaluator, problem, absolute)
    for evaluation in (before, after):
        assert evaluation.failure is not None
        assert evaluation.failure.message.startswith("at n=96, x uniform from -1.0: y[")


@pytest.mark.slow
async def test_a_runner_that_dies_at_a_proposed_test_costs_that_test_only(tmp_path: Path) -> None:
    problem = with_reference(tmp_path, "if n == 33: os._exit(3)")
    async with started(problem, tmp_path, [ODD, SMALL]) as (_, start):
        pass
    assert start.tests == [SMALL]
    (line,) = start.dropped
    assert line.startswith("n=33: crash: ")
    assert start.given.ok


@pytest.mark.slow
async def test_tests_that_pass_when_they_are_tried_and_fail_afterwards_are_dropped_together(tmp_path: Path) -> None:
    count = f"open('{tmp_path}/calls', 'a').write('x')"
    problem = with_reference(tmp_path, f"{count}; x = x + (n == 64 and os.path.getsize('{tmp_path}/calls') > 2)")
    async with started(problem, tmp_path, [SMALL]) as (_, start):
        pass
    assert start.tests == []
    (line,) = start.dropped
    assert line.startswith("n=64: the kernel as given does not match its reference ")
    assert start.given.ok


@pytest.mark.slow
async def test_proposed_tests_are_not_used_where_the_user_has_some(tmp_path: Path) -> None:
    problem = problem_in(tmp_path)
    async with started(problem, tmp_path, [SMALL]) as (evaluator, start):
        there = await evaluated(evaluator, problem, SOURCE.replace("i < n", "i < n && n != 64"))
    assert (start.tests, start.dropped) == ([], [])
    assert there.ok


@pytest.mark.slow
async def test_the_emulators_own_tests_and_sizes_are_those_in_force_there(tmp_path: Path) -> None:
    problem = problem_in(tmp_path, more="\n[emulator]\nsizes = { n = 48 }\ntests = []\n")
    assert problem.tests
    async with started(problem, tmp_path, [ODD, SMALL]) as (evaluator, start):
        assert (await evaluator.sized_problem()).sizes == {"n": 48}
    assert start.tests == [ODD]
    assert start.dropped == ["n=64: its arrays take 512 bytes, more than the 384 of the timed size"]
