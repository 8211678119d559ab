from __future__ import annotations

import asyncio
import math
import os
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import tomli

from tests.session.fakes import PROBLEM, SOURCE
from tui_tuner.errors import DeviceError, ProblemError
from tui_tuner.evaluate import several
from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.local import LocalEvaluator
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.runner.protocol import DeviceAnswer, OpenRequest
from tui_tuner.evaluate.runner.supervisor import Supervisor
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.evaluate.several import Places
from tui_tuner.evaluate.site import LocalOptions
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Problem

FIVE = tomli.loads(Path(__file__).with_name("five_candidates.toml").read_text())["candidates"]
TESTS = "\n[[tests]]\nsizes = { n = 1000 }\n[[tests]]\nsizes = { n = 33 }\n"
BLOCK = {"block_size_x": 64}


def problem_in(directory: Path, *, source: str = SOURCE, more: str = TESTS) -> Problem:
    (directory / "scale.cu").write_text(source)
    (directory / "scale.toml").write_text(PROBLEM + more)
    return load_problem(directory / "scale.toml")


@asynccontextmanager
async def evaluator_for(
    problem: Problem, directory: Path, device: str = "emulator"
) -> AsyncIterator[tuple[LocalEvaluator, MachineReport]]:
    options = LocalOptions(
        device=device, cache=directory / "builds", log=directory / "runner.log", jobs=2, policy=Policy()
    )
    evaluator = LocalEvaluator(problem, options)
    try:
        yield evaluator, await evaluator.start()
    finally:
        await evaluator.close()


def rewritten(problem: Problem, source: str) -> Candidate:
    return baseline(problem).model_copy(update={"source": source})


@pytest.mark.parametrize("device", ["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
async def test_five_candidates_are_classified_and_the_runner_survives(tmp_path: Path, device: str) -> None:
    problem = problem_in(tmp_path)
    start = time.monotonic()
    async with evaluator_for(problem, tmp_path, device) as (evaluator, _):
        found, said = [], []
        for five in FIVE:
            evaluation = await evaluator.evaluate(rewritten(problem, five["source"]), BLOCK, None)
            found.append("" if evaluation.failure is None else str(evaluation.failure.kind))
            said.append("" if evaluation.failure is None else evaluation.failure.message)
        again = await evaluator.evaluate(rewritten(problem, FIVE[0]["source"]), BLOCK, None)
        assert evaluator.doing == ""
    assert found == [five["expected"] for five in FIVE], said
    assert said[2].endswith("; wrong: exactly every 8th element from 5 to 997"), said[2]
    assert again.timing is not None
    print(f"five candidates on {device}: {time.monotonic() - start:.1f} s")  # noqa: T201 (a figure for people)


@pytest.mark.slow
async def test_other_processes_on_the_device_are_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = Places.take

    async def taken(places: Places, device: str, request: OpenRequest) -> DeviceAnswer:
        answer = await take(places, device, request)
        return answer.model_copy(update={"others": ["python (process 1)", "python (process 2)"]})

    monkeypatch.setattr(Places, "take", taken)
    async with evaluator_for(problem_in(tmp_path), tmp_path) as (_, report):
        pass
    told = "other processes are on the device, so times may be disturbed: python (process 1), python (process 2)"
    assert report.note.count(told) == 1


@pytest.mark.slow
async def test_a_compile_error_names_the_line_of_the_kernel(tmp_path: Path) -> None:
    problem = problem_in(tmp_path)
    async with evaluator_for(problem, tmp_path) as (evaluator, _):
        failure = (await evaluator.evaluate(rewritten(problem, FIVE[1]["source"]), BLOCK, None)).failure
    assert failure is not None
    assert "scale.cu:" in failure.message or "kernel.cu:" in failure.message
    assert str(tmp_path) not in failure.detail


@pytest.mark.slow
async def test_a_read_past_the_end_is_an_illegal_access(tmp_path: Path) -> None:
    problem = problem_in(tmp_path)
    source = SOURCE.replace("2.0f * x[i]", "2.0f * x[i] + 0.0f * x[i + 8]")
    async with evaluator_for(problem, tmp_path) as (evaluator, _):
        failure = (await evaluator.evaluate(rewritten(problem, source), BLOCK, None)).failure
    assert failure is not None
    assert failure.kind is FailureKind.ILLEGAL_ACCESS


@pytest.mark.slow
async def test_a_kernel_that_is_right_at_one_size_only_is_wrong(tmp_path: Path) -> None:
    problem = problem_in(tmp_path)
    source = SOURCE.replace("if (i < n)", "if (i < n / 32 * 32)")
    async with evaluator_for(problem, tmp_path) as (evaluator, _):
        failure = (await evaluator.evaluate(rewritten(problem, source), BLOCK, None)).failure
    assert failure is not None
    assert failure.kind is FailureKind.WRONG_RESULT
    assert "n=1000" in failure.message


@pytest.mark.slow
async def test_a_configuration_beyond_the_devices_limits_is_invalid_and_not_built(tmp_path: Path) -> None:
    problem = problem_in(tmp_path)
    async with evaluator_for(problem, tmp_path) as (evaluator, _):
        evaluation = await evaluator.evaluate(baseline(problem), {"block_size_x": 4096}, None)
    assert evaluation.failure is not None
    assert evaluation.failure.kind is FailureKind.INVALID
    assert evaluation.build_ms == 0


async def test_a_kernel_as_given_that_does_not_build_is_the_users_to_mend(tmp_path: Path) -> None:
    problem = problem_in(tmp_path, source=SOURCE.replace("2.0f", "two"))
    with pytest.raises(ProblemError, match="does not build"):
        async with evaluator_for(problem, tmp_path):
            pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "more", "told"),
    [
        (
            "__device__ int turns;\n" + SOURCE.replace("2.0f * x[i]", "2.0f * x[i] + atomicAdd(&turns, 1)"),
            TESTS,
            "two launches of it on the same inputs differ: its threads race",
        ),
        (
            SOURCE.replace("2.0f * x[i]", "2.00001f * x[i]"),
            f"{TESTS}[tolerance]\nabsolute = 1e-12\n[reference]\npython = 'reference.py:scale'\n",
            r"\[tolerance\] allows less than it is off by, beside its reference",
        ),
    ],
    ids=["turns", "tolerance"],
)
async def test_a_kernel_as_given_that_is_not_right_itself_is_told_what_may_be_the_cause(
    tmp_path: Path, source: str, more: str, told: str
) -> None:
    (tmp_path / "reference.py").write_text("def scale(y, x, n):\n    return 2 * x.astype(float)\n")
    with pytest.raises(ProblemError, match="the kernel as given fails: wrong result") as caught:
        async with evaluator_for(problem_in(tmp_path, source=source, more=more), tmp_path):
            pass
    assert re.match(told, caught.value.hint or "")


@pytest.mark.slow
async def test_a_comparison_of_a_kernel_with_itself_is_no_gain(tmp_path: Path) -> None:
    problem = problem_in(tmp_path)
    async with evaluator_for(problem, tmp_path) as (evaluator, started):
        one = (baseline(problem), started.given.configuration)
        await evaluator.evaluate(baseline(problem), started.given.configuration, None)
        comparison = await evaluator.compare(one, one, 0.01)
    assert comparison.failure is None
    assert comparison.low <= 1.01


@pytest.mark.slow
async def test_several_emulators_check_and_time_side_by_side_and_a_killed_runner_is_replaced_on_its_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(several, "OF_CPUS", several.Deviation(math.inf, math.inf))  # other programs keep cores busy
    problem = problem_in(tmp_path)
    async with evaluator_for(problem, tmp_path, "emulator:all") as (evaluator, started):
        assert started.devices == [f"emulator:{core}" for core in sorted(os.sched_getaffinity(0))]
        runners = [m.place for m in evaluator._places._members if isinstance(m.place, Supervisor)]
        cores = [os.sched_getaffinity(runner._process._child.pid) for runner in runners if runner._process]
        assert cores == [{core} for core in sorted(os.sched_getaffinity(0))]
        for runner in runners:
            if runner._process is not None:
                await runner._process._child.kill()
        blocks = [{"block_size_x": size} for size in (32, 64, 128, 256)]
        again = await asyncio.gather(*(evaluator.evaluate(baseline(problem), BLOCK, None) for _ in runners))
        assert [e.failure for e in again] == [None] * len(runners), "no kernel is to blame for what somebody killed"
        again = await asyncio.gather(*(evaluator.evaluate(baseline(problem), block, None) for block in blocks))
        assert all(evaluation.ok for evaluation in again), again
        cores_again = [os.sched_getaffinity(runner._process._child.pid) for runner in runners if runner._process]
    assert cores_again == cores
    killed = "something killed the process that runs kernels: no candidate is to blame, it is tried again"
    assert set(evaluator.news()) == {killed}, "no device is left out"


@pytest.mark.slow
async def test_a_device_that_does_not_come_back_is_told_as_such(tmp_path: Path) -> None:
    problem = problem_in(tmp_path)
    async with evaluator_for(problem, tmp_path) as (evaluator, _):
        supervisor = evaluator._places.first
        assert isinstance(supervisor, Supervisor)
        await supervisor.close()
        assert isinstance(supervisor._opening[0], OpenRequest)
        supervisor._opening[0] = OpenRequest(device="emulator:9999")
        with pytest.raises(DeviceError, match="there is no core 9999"):
            await evaluator.evaluate(baseline(problem), BLOCK, None)
