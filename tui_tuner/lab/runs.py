"""Runs of a benchmark of searches: a strategy on a recorded space with a seed, and what its evaluations gave.

Every search begins with the default configuration, as a session does, and that counts as its first evaluation; plain
random sampling has no beginning. Where a model chooses, a run is a real session on the recorded device.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tui_tuner.api import Choices, prepare
from tui_tuner.errors import ModelError, SettingsError, UserError
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.headless import ApproveAll
from tui_tuner.lab import RANDOM
from tui_tuner.lab.scores import RecordedSpace, load
from tui_tuner.search import METHODS, MODEL_METHODS, method_named
from tui_tuner.search.client import SearchClient
from tui_tuner.session import events
from tui_tuner.strategies import LLM_SEARCH


@dataclass(frozen=True)
class BenchmarkTask:
    """What to run.

    Attributes:
        strategy: a search method, `random`, or one of those of a model.
        llm: as with `--llm`; None for the methods that need none.
        runs: where the sessions of a model are kept; None for nowhere.
    """

    data: RecordedSpace
    strategy: str
    seed: int
    evaluations: int
    llm: str | None = None
    runs: Path | None = None

    @property
    def label(self) -> str:
        """A few words for people, and a name for a directory."""
        return f"{self.data.name}-{self.strategy}-{self.seed}"


@dataclass(frozen=True)
class TaskResult:
    """What came of a task.

    Attributes:
        found: the time that each evaluation gave, ms; None for failures.
        failure: why it came to no end; empty if it did.
        seconds: that it took.
    """

    task: BenchmarkTask
    found: tuple[float | None, ...] = ()
    failure: str = ""
    seconds: float = 0.0


def check_strategy(name: str, llm: str | None) -> None:
    """Whether there is a strategy of this name, and a model if it needs one.

    Raises:
        SettingsError: there is not.
    """
    if name in MODEL_METHODS:
        if llm is None or llm.strip().lower() == "none":
            raise SettingsError(f"the strategy '{name}' needs a model", hint="name it: --llm PROVIDER:MODEL")
    elif name != RANDOM:
        try:
            method_named(name)
        except SettingsError as error:
            known = ", ".join([RANDOM, *METHODS, *MODEL_METHODS])
            raise SettingsError(error.message, hint=f"strategies: {known}, or all without a model: all") from None


def run_task(task: BenchmarkTask) -> TaskResult:
    """Run a task to its end; what fails is told in the result, so that others go on."""
    began = time.monotonic()
    try:
        run = TaskResult(task, tuple(asyncio.run(_found(task))))
    except UserError as error:
        run = TaskResult(task, failure=str(error))
    except Exception as error:  # one search that breaks ends no benchmark
        run = TaskResult(task, failure=f"{type(error).__name__}: {error}")
    return replace(run, seconds=time.monotonic() - began)


async def _found(task: BenchmarkTask) -> list[float | None]:
    return await (_by_session(task) if task.strategy in MODEL_METHODS else _by_method(task))


async def _by_method(task: BenchmarkTask) -> list[float | None]:
    """The times that a method without a model finds when each evaluation is looked up in the recording."""
    data = load(task.data)
    is_random = task.strategy == RANDOM
    found: list[float | None] = []
    async with SearchClient(
        data.space,
        max_evaluations=task.evaluations,
        method="random_sample" if is_random else task.strategy,
        seed=task.seed,
        start=None if is_random else data.problem.default_configuration,
    ) as search:
        async for batch in search:
            times = [data.time(configuration) for configuration in batch]
            found += times
            await search.tell(times)
    return found


def run_all(tasks: Sequence[BenchmarkTask], jobs: int) -> Iterator[TaskResult]:
    """The runs as they come to their end, in any order; with one job in this very process."""
    if jobs == 1:
        yield from map(run_task, tasks)
        return
    executor = ProcessPoolExecutor(min(jobs, len(tasks) or 1), multiprocessing.get_context("spawn"))
    try:
        futures = {executor.submit(run_task, task): task for task in tasks}
        for future in as_completed(futures):
            yield _result_of(future, futures[future])
    finally:
        executor.shutdown(cancel_futures=True)


def _result_of(future: Future[TaskResult], task: BenchmarkTask) -> TaskResult:
    try:
        return future.result()
    except BrokenProcessPool:
        return TaskResult(task, failure="the process that ran it died")


async def _by_session(task: BenchmarkTask) -> list[float | None]:
    """What the evaluations gave in the order in which they finished, the default configuration first.

    Raises:
        UserError: there is no model, it never answers, or the session cannot be run.
    """
    if task.runs is not None:
        return await _evaluations(task, task.runs / task.label)
    with TemporaryDirectory(prefix="tuner-tui-") as directory:
        return await _evaluations(task, Path(directory) / "run")


async def _evaluations(task: BenchmarkTask, directory: Path) -> list[float | None]:
    problem, device = task.data.recording, "auto"
    if task.data.problem_file is not None:
        problem, device = task.data.problem_file, f"recorded:{task.data.recording}"
    choices: Choices = {
        "strategy": LLM_SEARCH,
        "search": task.strategy,
        "model": task.llm,
        "device": device,
        "max_evaluations": max(1, task.evaluations - 1),
        "seed": task.seed,
        "memory": False,
        "cache_replies": False,
        "run_directory": directory,
    }
    prepared = await prepare(problem, choices)
    if prepared.run.options.strategy != LLM_SEARCH:
        raise ModelError("; ".join(prepared.notes) or "there is no model")
    async with aclosing(prepared.session.events(ApproveAll())) as stream:
        return _in_order([event async for event in stream])


def _in_order(told: Sequence[events.Event]) -> list[float | None]:
    """What the evaluations of a session gave, the kernel as given first.

    Raises:
        ModelError: the model was asked and never answered, so that all of it is somebody else's work.
    """
    asked = any(isinstance(event, events.PromptSent) for event in told)
    if asked and not any(isinstance(event, events.ReplyReceived) for event in told):
        warnings = [event.text for event in told if isinstance(event, events.Note) and event.level == "warning"]
        raise ModelError(f"the model gave no reply: {warnings[0] if warnings else 'nobody says why'}")
    given = [event.given for event in told if isinstance(event, events.BaselineMeasured) and event.tuned is None]
    others = [event.evaluation for event in told if isinstance(event, events.EvaluationFinished)]
    costing = [one for one in (*given, *others) if one.failure is None or one.failure.kind is not FailureKind.INVALID]
    return [evaluation.ms for evaluation in costing]
