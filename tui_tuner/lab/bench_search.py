"""`tuner-tui bench-search`: how good searches are on recorded spaces; data to standard output, story to the other."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from tui_tuner.errors import ExitCode, SettingsError
from tui_tuner.lab import RANDOM
from tui_tuner.lab.runs import BenchmarkTask, TaskResult, check_strategy, run_all
from tui_tuner.lab.scores import Estimate, RecordedSpace, estimate, load, mean_of, recorded_space
from tui_tuner.search import BRUTE_FORCE, DEFAULT_METHOD, METHODS, MODEL_METHODS
from tui_tuner.text import clean, say

_ALL = "all"
MARKS = (25, 55, 85, 200)
"""Evaluations after which the fraction of the optimum is told."""


@dataclass(frozen=True)
class SearchQuality:
    """How good one strategy is, on a data set or in the mean of all.

    Attributes:
        fractions: of the optimum after so many evaluations.
        score: the P score.
        seconds: of a run, in the mean.
        runs: that came to their end.
    """

    strategy: str
    fractions: dict[int, Estimate]
    score: Estimate
    seconds: float
    runs: int


@dataclass(frozen=True)
class SpaceResult:
    """All strategies on one data set.

    Attributes:
        configurations: of its search space.
        optimum: the least time on record, ms.
    """

    name: str
    configurations: int
    optimum: float
    qualities: list[SearchQuality]


def marks(evaluations: int) -> list[int]:
    """The numbers of evaluations to tell of: the usual ones that are reached, and the last."""
    return sorted({*(mark for mark in MARKS if mark <= evaluations), evaluations})


def space_result(
    data: RecordedSpace, strategies: Sequence[str], runs: Sequence[TaskResult], evaluations: int
) -> SpaceResult:
    """The scores of the strategies that have a run on this data set."""
    landscape = load(data).landscape
    ordered = sorted(runs, key=lambda run: run.task.seed)  # the last digit of a sum depends on its order
    of_strategies = {
        name: [run for run in ordered if run.task.strategy == name and not run.failure] for name in strategies
    }
    qualities = []
    for name, done in of_strategies.items():
        curves = [landscape.curve(run.found, evaluations) for run in done]
        if curves:
            fractions = {n: estimate([landscape.fraction(curve, n) for curve in curves]) for n in marks(evaluations)}
            score = estimate([landscape.score(curve) for curve in curves])
            seconds = estimate([run.seconds for run in done]).mean
            qualities.append(SearchQuality(name, fractions, score, seconds, len(done)))
    return SpaceResult(data.name, len(landscape.times), landscape.optimum, qualities)


def means(results: Sequence[SpaceResult], strategies: Sequence[str]) -> list[SearchQuality]:
    """The means over the data sets, of those strategies that have a run on each."""
    found = []
    for name in strategies:
        own = [quality for result in results for quality in result.qualities if quality.strategy == name]
        if len(own) == len(results):
            fractions = {n: mean_of([quality.fractions[n] for quality in own]) for n in own[0].fractions}
            score = mean_of([quality.score for quality in own])
            seconds = sum(quality.seconds for quality in own) / len(own)
            found.append(SearchQuality(name, fractions, score, seconds, sum(quality.runs for quality in own)))
    return found


@dataclass(frozen=True)
class BenchmarkResults:
    """All that is printed."""

    evaluations: int
    repeats: int
    seed: int
    data: list[SpaceResult]
    means: list[SearchQuality]
    failures: list[dict[str, str | int]]


def bench_search(chosen: argparse.Namespace) -> int:
    """Run the command; the exit code tells whether every run came to its end.

    Raises:
        UserError: a data set or a strategy cannot be used.
    """
    strategies = _strategies(chosen.strategies, chosen.llm)
    data = [recorded_space(text) for text in chosen.data]
    for one in data:
        load(one)
    runs = list(_told(run_all(_tasks(chosen, data, strategies), chosen.jobs), chosen, len(data) * len(strategies)))
    results = _results(chosen, data, strategies, runs)
    text = json.dumps(asdict(results), indent=2) if chosen.output == "json" else "\n".join(_lines(results))
    print(clean(text))  # noqa: T201 (standard output carries the data)
    return ExitCode.FAILED if results.failures else ExitCode.FINISHED


def _strategies(text: str, llm: str | None) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    every = [RANDOM, *(name for name in METHODS if name != BRUTE_FORCE)]
    names = [*dict.fromkeys(found for name in names for found in (every if name == _ALL else [name]))]
    if not names:
        raise SettingsError("--strategies names none", hint=f"as in --strategies {DEFAULT_METHOD},{RANDOM}")
    for name in names:
        check_strategy(name, llm)
    return names


def _tasks(chosen: argparse.Namespace, data: Sequence[RecordedSpace], strategies: Sequence[str]) -> list[BenchmarkTask]:
    return [
        BenchmarkTask(one, name, seed, chosen.evaluations, chosen.llm if name in MODEL_METHODS else None, chosen.runs)
        for one in data
        for name in strategies
        for seed in range(chosen.seed, chosen.seed + chosen.repeats)
    ]


def _told(runs: Iterator[TaskResult], chosen: argparse.Namespace, pairs: int) -> Iterator[TaskResult]:
    """The runs, each told on standard error when it is done."""
    total = pairs * chosen.repeats
    for count, run in enumerate(runs, start=1):
        came = f"failed: {run.failure}" if run.failure else f"{len(run.found)} evaluations in {run.seconds:.1f} s"
        task = run.task
        line = f"[{count}/{total}] {task.data.name}, {task.strategy}, seed {task.seed}: {came}"
        say(line)
        yield run


def _results(
    chosen: argparse.Namespace, data: Sequence[RecordedSpace], strategies: Sequence[str], runs: Sequence[TaskResult]
) -> BenchmarkResults:
    found = [
        space_result(one, strategies, [run for run in runs if run.task.data == one], chosen.evaluations) for one in data
    ]
    failures: list[dict[str, str | int]] = [
        {"data": run.task.data.name, "strategy": run.task.strategy, "seed": run.task.seed, "reason": run.failure}
        for run in runs
        if run.failure
    ]
    return BenchmarkResults(chosen.evaluations, chosen.repeats, chosen.seed, found, means(found, strategies), failures)


def _lines(results: BenchmarkResults) -> Iterator[str]:
    seeds = f"seeds {results.seed} to {results.seed + results.repeats - 1}"
    yield f"fraction of the optimum after so many evaluations, and P score; mean and its standard error, {seeds}"
    for result in results.data:
        yield ""
        yield f"{result.name}: {result.configurations} configurations, best {result.optimum:.5g} ms (recorded)"
        yield from _table(result.qualities)
    if len(results.data) > 1:
        yield ""
        yield f"mean of {len(results.data)} data sets"
        yield from _table(results.means)
    if results.failures:
        yield ""
        yield f"{len(results.failures)} runs failed and are not counted; the reasons stand above"


def _table(qualities: Sequence[SearchQuality]) -> Iterator[str]:
    if not qualities:
        yield "  no strategy came to an end"
        return
    width = max(len(quality.strategy) for quality in qualities)
    heads = [*(str(mark) for mark in qualities[0].fractions), "P"]
    yield f"  {'strategy':<{width}}" + "".join(f"  {head:<13}" for head in heads) + "  s/run"
    for quality in qualities:
        cells = [_cell(value) for value in (*quality.fractions.values(), quality.score)]
        yield (
            f"  {quality.strategy:<{width}}" + "".join(f"  {cell:<13}" for cell in cells) + f"  {quality.seconds:5.1f}"
        )


def _cell(value: Estimate) -> str:
    error = "" if value.error is None else f" ±{value.error:.3f}"
    return f"{value.mean:.3f}{error}"
