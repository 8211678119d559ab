"""`tuner-tui bench-search`: how good searches are on recorded spaces; data to standard output, story to the other."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tui_tuner.errors import SettingsError
from tui_tuner.headless import ExitCode
from tui_tuner.search.methods import BRUTE_FORCE, DEFAULT_METHOD, METHODS
from tui_tuner.search_quality.data_sets import DataSet, data_set, load
from tui_tuner.search_quality.pool import run_all
from tui_tuner.search_quality.results import DataResult, Quality, data_result, means
from tui_tuner.search_quality.runs import RANDOM, check_strategy
from tui_tuner.search_quality.scores import Estimate
from tui_tuner.search_quality.tasks import Run, Task
from tui_tuner.strategies.parameters.methods import MODEL_METHODS
from tui_tuner.text import clean

_ALL = "all"


@dataclass(frozen=True)
class Results:
    """All that is printed."""

    evaluations: int
    repeats: int
    seed: int
    data: list[DataResult]
    means: list[Quality]
    failures: list[dict[str, str | int]]


def bench_search(arguments: Sequence[str]) -> int:
    """Run the command; the exit code tells whether every run came to its end.

    Raises:
        UserError: a data set or a strategy cannot be used.
    """
    chosen = _parser().parse_args(arguments)
    strategies = _strategies(chosen.strategies, chosen.llm)
    data = [data_set(text) for text in chosen.data]
    for one in data:
        load(one)
    runs = list(_told(run_all(_tasks(chosen, data, strategies), chosen.jobs), chosen, len(data) * len(strategies)))
    results = _results(chosen, data, strategies, runs)
    text = json.dumps(asdict(results), indent=2) if chosen.output == "json" else "\n".join(_lines(results))
    print(clean(text))  # noqa: T201 (standard output carries the data)
    return ExitCode.FAILED if results.failures else ExitCode.FINISHED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tuner-tui bench-search", description="Measure how good searches are on recorded search spaces."
    )
    parser.add_argument("data", nargs="+", metavar="DATA", help="a recording, or RECORDING:PROBLEM.toml")
    default = f"{DEFAULT_METHOD},{RANDOM}"
    told = f"separated by commas (default {default}); {_ALL}: every one without a model"
    parser.add_argument("--strategies", default=default, metavar="NAME,NAME", help=told)
    parser.add_argument("--repeats", type=_positive, default=20, metavar="N", help="runs of each (default 20)")
    parser.add_argument("--evaluations", type=_positive, default=200, metavar="N", help="of a run (default 200)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the first run; the next has the next one")
    parser.add_argument("--llm", metavar="PROVIDER[:MODEL]", help=f"the model of {' and '.join(MODEL_METHODS)}")
    parser.add_argument("--jobs", type=_positive, default=os.cpu_count() or 1, metavar="N", help="runs at once")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="keep a model's sessions here, and go on with them")
    parser.add_argument("--output", choices=("text", "json"), default="text", help="default text")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


def _strategies(text: str, llm: str | None) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    every = [RANDOM, *(name for name in METHODS if name != BRUTE_FORCE)]
    names = [*dict.fromkeys(found for name in names for found in (every if name == _ALL else [name]))]
    if not names:
        raise SettingsError("--strategies names none", hint=f"as in --strategies {DEFAULT_METHOD},{RANDOM}")
    for name in names:
        check_strategy(name, llm)
    return names


def _tasks(chosen: argparse.Namespace, data: Sequence[DataSet], strategies: Sequence[str]) -> list[Task]:
    return [
        Task(one, name, seed, chosen.evaluations, chosen.llm if name in MODEL_METHODS else None, chosen.runs)
        for one in data
        for name in strategies
        for seed in range(chosen.seed, chosen.seed + chosen.repeats)
    ]


def _told(runs: Iterator[Run], chosen: argparse.Namespace, pairs: int) -> Iterator[Run]:
    """The runs, each told on standard error when it is done."""
    total = pairs * chosen.repeats
    for count, run in enumerate(runs, start=1):
        came = f"failed: {run.failure}" if run.failure else f"{len(run.found)} evaluations in {run.seconds:.1f} s"
        task = run.task
        line = f"[{count}/{total}] {task.data.name}, {task.strategy}, seed {task.seed}: {came}"
        print(clean(line), file=sys.stderr, flush=True)  # noqa: T201
        yield run


def _results(
    chosen: argparse.Namespace, data: Sequence[DataSet], strategies: Sequence[str], runs: Sequence[Run]
) -> Results:
    found = [
        data_result(one, strategies, [run for run in runs if run.task.data == one], chosen.evaluations) for one in data
    ]
    failures: list[dict[str, str | int]] = [
        {"data": run.task.data.name, "strategy": run.task.strategy, "seed": run.task.seed, "reason": run.failure}
        for run in runs
        if run.failure
    ]
    return Results(chosen.evaluations, chosen.repeats, chosen.seed, found, means(found, strategies), failures)


def _lines(results: Results) -> Iterator[str]:
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


def _table(qualities: Sequence[Quality]) -> Iterator[str]:
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
