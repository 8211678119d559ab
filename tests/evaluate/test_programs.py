"""What two evaluations of one program share, and what is measured nevertheless."""

import asyncio

import pytest

from tests.evaluate.test_local import BLOCK, SOURCE, evaluator_for, problem_in, rewritten
from tui_tuner.evaluate.programs import MeasuredPrograms
from tui_tuner.evaluate.results import Evaluation, Failure, FailureKind, Timing
from tui_tuner.evaluate.runner.protocol import EvaluationAnswer, Executable, LaunchShape

TIMED = EvaluationAnswer(timing=Timing(median=1, low=1, high=1, samples=9), verify_ms=2, measure_ms=3)
FIRST, SECOND = ("a", {"n": 1}), ("b", {"n": 2})


@pytest.fixture
def executable(tmp_path):
    def make(code="code", symbol="k", threads=32):
        artifact = tmp_path / f"{len([*tmp_path.iterdir()])}.cubin"
        artifact.write_text(code)
        shape = LaunchShape(grid=(1, 1, 1), block=(threads, 1, 1))
        return Executable(artifact=str(artifact), symbol=symbol, shapes=[shape])

    return make


def failed(kind):
    return EvaluationAnswer(failure=Failure(kind=kind, message="why"))


class Runner:
    def __init__(self, answer=TIMED):
        self.answer, self.asked = answer, 0

    async def __call__(self):
        self.asked += 1
        await asyncio.sleep(0)
        return self.answer


async def test_a_program_is_measured_once_and_the_second_says_whose_times_it_has(executable):
    programs, runner = MeasuredPrograms(), Runner()

    first = await programs.answer(executable(), FIRST, runner)
    second = await programs.answer(executable(), SECOND, runner)

    assert first == (TIMED, None)
    assert second == (TIMED.model_copy(update={"verify_ms": 0.0, "measure_ms": 0.0}), FIRST)
    assert runner.asked == 1


async def test_the_second_waits_for_the_first(executable):
    programs, runner = MeasuredPrograms(), Runner()

    answers = await asyncio.gather(*(programs.answer(executable(), asked, runner) for asked in (FIRST, SECOND)))

    assert runner.asked == 1
    assert sorted(first is None for _, first in answers) == [False, True]


async def test_where_the_first_is_cancelled_the_second_is_measured(executable):
    programs, runner, waiting = MeasuredPrograms(), Runner(), asyncio.Event()

    async def for_ever():
        waiting.set()
        await asyncio.Event().wait()
        return TIMED

    task = asyncio.create_task(programs.answer(executable(), FIRST, for_ever))
    await waiting.wait()
    second = asyncio.create_task(programs.answer(executable(), SECOND, runner))
    task.cancel()

    assert await second == (TIMED, None)


@pytest.mark.parametrize("other", [{"code": "other"}, {"symbol": "other"}, {"threads": 64}])
async def test_other_code_another_kernel_and_another_launch_are_other_programs(executable, other):
    programs, runner = MeasuredPrograms(), Runner()

    await programs.answer(executable(), FIRST, runner)
    await programs.answer(executable(**other), SECOND, runner)

    assert runner.asked == 2


async def test_what_is_asked_for_again_is_measured_again(executable):
    programs, runner = MeasuredPrograms(), Runner()

    answers = [await programs.answer(executable(), FIRST, runner) for _ in range(2)]

    assert runner.asked == 2
    assert answers == [(TIMED, None)] * 2


@pytest.mark.parametrize(
    ("kind", "asked"), [(FailureKind.WRONG_RESULT, 1), (FailureKind.TIMEOUT, 2), (FailureKind.CRASH, 2)]
)
async def test_a_failure_that_may_come_from_elsewhere_is_not_the_programs(executable, kind, asked):
    programs, runner = MeasuredPrograms(), Runner(failed(kind))

    await programs.answer(executable(), FIRST, runner)
    await programs.answer(executable(), SECOND, runner)

    assert runner.asked == asked


@pytest.mark.slow
async def test_a_rewrite_that_changes_nothing_has_the_times_of_the_kernel_and_is_still_compared(tmp_path):
    problem = problem_in(tmp_path)
    one, other = (rewritten(problem, text + SOURCE) for text in ("// one\n", "// the other\n\n"))
    async with evaluator_for(problem, tmp_path) as (evaluator, report):
        as_given = await evaluator.evaluate(one, report.given.configuration, None)
        first = await evaluator.evaluate(one, BLOCK, None)
        second = await evaluator.evaluate(other, BLOCK, None)
        wider = await evaluator.evaluate(other, {"block_size_x": 128}, None)
        comparison = await evaluator.compare((one, BLOCK), (other, BLOCK), 0.01)

    assert as_given.same_as == report.given.program
    assert as_given.timing == report.given.timing
    assert second.same_as == (one.id, BLOCK)
    assert second.program == first.program != wider.program
    assert second.timing == first.timing
    assert first.build_ms != second.build_ms == wider.build_ms  # the threads of a block are no part of the source
    assert wider.same_as is None
    assert comparison.pairs > 0


def test_an_evaluation_of_an_earlier_version_is_read(tmp_path):
    evaluation = Evaluation(candidate="a", configuration={"n": 1}, same_as=("b", {"n": 2}))
    written = evaluation.model_dump(mode="json")

    assert Evaluation.model_validate(written) == evaluation
    del written["same_as"]
    assert Evaluation.model_validate(written).same_as is None
