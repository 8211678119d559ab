from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import tomli

from tests.python_kernels.fake_child import UNANSWERED, milliseconds
from tests.python_kernels.fakes import fake_process, marks, starts, written
from tests.waiting import reached
from tui_tuner.app.assumptions import assumptions
from tui_tuner.errors import DeviceError, ProblemError, UserError
from tui_tuner.evaluate.results import Evaluation, FailureKind
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.load import parse_problem
from tui_tuner.problem.model import Configuration
from tui_tuner.processes import environment_without_keys
from tui_tuner.python_kernels.client import ProcessOptions
from tui_tuner.python_kernels.evaluator import PythonEvaluator, PythonOptions
from tui_tuner.python_kernels.from_file import describe, python_problem
from tui_tuner.report import best_problem_text


class Machine:
    """A started evaluator on the fake process."""

    def __init__(self, evaluator: PythonEvaluator, candidate: Candidate) -> None:
        self.evaluator = evaluator
        self.candidate = candidate
        self.default = candidate.default_configuration

    def with_(self, **changes: int) -> Configuration:
        return {**self.default, **changes}

    async def evaluate(self, **changes: int) -> Evaluation:
        return await self.evaluator.evaluate(self.candidate, self.with_(**changes), None)


def serving(fake: Machine) -> asyncio.Task[None]:
    """What waits for answers of the process, and takes silence for a hang."""
    task = fake.evaluator._client._serving
    assert task is not None
    return task


@asynccontextmanager
async def machine(directory: Path) -> AsyncIterator[Machine]:
    problem = written(directory).problem
    options = PythonOptions(directory / "runner.log", jobs=2, process=fake_process(directory))
    evaluator = PythonEvaluator(problem, options)
    started = await evaluator.start()
    assert started.given.ok
    assert started.device.name == "Fake GPU"
    try:
        yield Machine(evaluator, baseline(problem))
    finally:
        await evaluator.close()


async def test_a_script_that_launches_the_kernel_is_told_to_its_process_and_kept_in_the_problem(tmp_path):
    file, script = tmp_path / "kernels" / "matmul_helion.py", tmp_path / "bench.py"
    file.parent.mkdir()
    file.write_text("", "utf-8")
    with pytest.raises(ProblemError, match="bench"):
        python_problem(file, None, fake_process(tmp_path), script)
    script.write_text("", "utf-8")
    found = python_problem(file, None, fake_process(tmp_path), script)

    assert [*assumptions(found)] == [f"ran {script}"]
    assert found.problem.kernel.host == Path("../bench.py")
    read = parse_problem(found.text, directory=file.parent, file=found.file, source_text="")
    assert read == found.problem
    best = best_problem_text(tmp_path / "run", read, found.text, baseline(read), read.default_configuration)
    assert tomli.loads(best)["kernel"]["host"] == "../bench.py"
    log = tmp_path / "runner.log"
    evaluator = PythonEvaluator(read, PythonOptions(log, jobs=2, process=fake_process(tmp_path)))
    try:
        assert (await evaluator.start()).given.ok
    finally:
        await evaluator.close()
    assert f"opened with {file.parent}/../bench.py" in marks(tmp_path).read_text("utf-8")


def test_no_other_language_has_a_script_that_is_run():
    sample = Path(__file__).parents[2] / "sample_kernels/vector_add.toml"
    text = sample.read_text("utf-8").replace("[kernel]\n", '[kernel]\nhost = "bench.py"\n')
    with pytest.raises(ProblemError, match="a script is run for a kernel in Python alone") as refused:
        parse_problem(text, directory=sample.parent, file=sample, source_text="")
    assert refused.value.line == 1 + text.split("\n").index('host = "bench.py"')


@pytest.mark.slow
async def test_many_configurations_that_wait_at_once_are_each_answered(tmp_path):
    async with machine(tmp_path) as fake:
        tiles = [16, 32, 64, 128, 256]
        found = await asyncio.gather(*(fake.evaluate(block_sizes_0=tile) for tile in tiles))

    assert [e.configuration["block_sizes_0"] for e in found] == tiles
    assert [e.timing.median for e in found if e.timing] == [milliseconds(e.configuration) for e in found]
    assert found[0].as_written == "helion.Config(num_warps=4)"
    assert starts(tmp_path) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("warps", "kind", "reason"),
    [
        (16, FailureKind.CRASH, "the first launch: the process ended (exit status 7)"),
        (32, FailureKind.TIMEOUT, "the first launch: no end after 0 s"),
        (2, FailureKind.ILLEGAL_ACCESS, "an illegal memory access was encountered"),
    ],
)
async def test_what_ends_the_process_is_blamed_and_the_others_get_a_fresh_one(tmp_path, warps, kind, reason):
    async with machine(tmp_path) as fake:
        found = await asyncio.gather(
            fake.evaluate(block_sizes_0=32),
            fake.evaluate(num_warps=warps),
            fake.evaluate(block_sizes_0=64),
            fake.evaluate(block_sizes_0=128),
        )
        after = await fake.evaluate(block_sizes_0=256)

    assert [e.ok for e in found] == [True, False, True, True]
    assert found[1].failure is not None
    assert (found[1].failure.kind, found[1].failure.message) == (kind, reason)
    assert after.ok
    assert starts(tmp_path) == 2


@pytest.mark.slow
async def test_a_configuration_that_does_not_compile_costs_itself_only(tmp_path):
    async with machine(tmp_path) as fake:
        failed = await fake.evaluate(num_warps=1)

    assert failed.failure is not None
    assert failed.failure.kind is FailureKind.COMPILE
    assert starts(tmp_path) == 1


@pytest.mark.slow
async def test_two_configurations_are_compared(tmp_path):
    async with machine(tmp_path) as fake:
        better = fake.with_(block_sizes_0=128)
        comparison = await fake.evaluator.compare((fake.candidate, fake.default), (fake.candidate, better), 0.01)

    assert comparison.ratio == milliseconds(fake.default) / milliseconds(better)


@pytest.mark.slow
async def test_an_evaluation_that_nobody_waits_for_any_more_leaves_the_process_alive(tmp_path):
    async with machine(tmp_path) as fake:
        task = asyncio.create_task(fake.evaluate(num_warps=UNANSWERED))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await reached(lambda: serving(fake).done()), "silence is no sign of a hang any more"
        again = await fake.evaluate(block_sizes_0=64)

    assert again.ok
    assert starts(tmp_path) == 1


@pytest.mark.slow
async def test_a_default_configuration_that_fails_ends_the_session_before_it_begins(tmp_path):
    problem = written(tmp_path).problem
    bad = problem.model_copy(update={"defaults": {**problem.defaults, "num_warps": 1}})
    evaluator = PythonEvaluator(bad, PythonOptions(tmp_path / "log", 1, process=fake_process(tmp_path)))

    with pytest.raises(ProblemError, match="the kernel as given fails: compile error, error: made up"):
        await evaluator.start()
    await evaluator.close()


async def test_a_process_that_cannot_start_is_an_error_that_names_its_log(tmp_path):
    problem = written(tmp_path).problem
    command = ProcessOptions(command=("false",))
    evaluator = PythonEvaluator(problem, PythonOptions(tmp_path / "log", 1, process=command))

    with pytest.raises(DeviceError, match="does not stay alive: starting: the process ended") as caught:
        await evaluator.start()
    assert "runner.log" in (caught.value.hint or "")


@pytest.mark.slow
def test_a_file_is_described_by_a_process(tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text("# a kernel\n", "utf-8")
    found = python_problem(file, None, fake_process(tmp_path))

    assert found.problem.kernel.name == "matmul"
    assert found.problem.source_text == "# a kernel\n"
    assert found.file == tmp_path / "kernel.toml"


@pytest.mark.slow
async def test_a_file_can_be_described_where_an_event_loop_runs(tmp_path):
    with pytest.raises(UserError, match="has no kernel 'missing'"):
        describe(tmp_path / "kernel.py", "missing", fake_process(tmp_path))


def test_what_a_process_printed_before_it_died_is_in_the_error(tmp_path):
    command = ProcessOptions(command=("sh", "-c", "echo no such library >&2; exit 3"))

    with pytest.raises(ProblemError, match=r"exit status 3.*no such library"):
        describe(tmp_path / "kernel.py", None, command)


def test_the_kernels_process_inherits_no_keys(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("HELION_LLM_API_KEY", "secret")
    monkeypatch.setenv("HELION_BACKEND", "triton")

    assert "secret" not in environment_without_keys().values()
    assert environment_without_keys()["HELION_BACKEND"] == "triton"
