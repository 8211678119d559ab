"""What a benchmark of searches found: scores of every strategy on every data set, and their means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tui_tuner.search_quality.data_sets import DataSet, load
from tui_tuner.search_quality.scores import Estimate, estimate, mean_of
from tui_tuner.search_quality.tasks import Run

MARKS = (25, 55, 85, 200)
"""Evaluations after which the fraction of the optimum is told."""


@dataclass(frozen=True)
class Quality:
    """Of one strategy, on a data set or in the mean of all.

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
class DataResult:
    """All strategies on one data set.

    Attributes:
        configurations: of its search space.
        optimum: the least time on record, ms.
    """

    name: str
    configurations: int
    optimum: float
    qualities: list[Quality]


def marks(evaluations: int) -> list[int]:
    """The numbers of evaluations to tell of: the usual ones that are reached, and the last."""
    return sorted({*(mark for mark in MARKS if mark <= evaluations), evaluations})


def data_result(data: DataSet, strategies: Sequence[str], runs: Sequence[Run], evaluations: int) -> DataResult:
    """The scores of the strategies that have a run on this data set."""
    landscape = load(data).landscape
    of_strategies = {
        name: [run for run in runs if run.task.strategy == name and not run.failure] for name in strategies
    }
    qualities = []
    for name, done in of_strategies.items():
        curves = [landscape.curve(run.found, evaluations) for run in done]
        if curves:
            fractions = {n: estimate([landscape.fraction(curve, n) for curve in curves]) for n in marks(evaluations)}
            score = estimate([landscape.score(curve) for curve in curves])
            seconds = estimate([run.seconds for run in done]).mean
            qualities.append(Quality(name, fractions, score, seconds, len(done)))
    return DataResult(data.name, len(landscape.times), landscape.optimum, qualities)


def means(results: Sequence[DataResult], strategies: Sequence[str]) -> list[Quality]:
    """The means over the data sets, of those strategies that have a run on each."""
    found = []
    for name in strategies:
        own = [quality for result in results for quality in result.qualities if quality.strategy == name]
        if len(own) == len(results):
            fractions = {n: mean_of([quality.fractions[n] for quality in own]) for n in own[0].fractions}
            score = mean_of([quality.score for quality in own])
            seconds = sum(quality.seconds for quality in own) / len(own)
            found.append(Quality(name, fractions, score, seconds, sum(quality.runs for quality in own)))
    return found
