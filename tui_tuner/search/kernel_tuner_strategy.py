"""One of kernel_tuner's strategies over an explicit list of points, with its evaluations done elsewhere."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
from kernel_tuner.interface import Options, strategy_map
from kernel_tuner.runners.runner import Runner
from kernel_tuner.searchspace import Searchspace
from kernel_tuner.util import InvalidConfig, RuntimeFailedConfig, StopCriterionReached, TuningBudget

from tui_tuner.search import METHODS, TunableNumber

AskTimesAt = Callable[[list[int]], Sequence[float | None]]
"""Positions of points in, the time of each in ms out; None where it failed."""

STALL = 20_000
"""Answers from memory in a row after which a strategy is taken to walk in circles."""


@dataclass(frozen=True)
class StrategyJob:
    """What to search and how.

    Attributes:
        axes: the values of each tunable.
        points: the valid ones among all combinations.
        start: position of the point that a method begins at, where it takes one.
        first: position of the point to evaluate first.
        known: positions measured before, with their times in ms or None.
    """

    method: str
    axes: dict[str, list[TunableNumber]]
    points: list[tuple[TunableNumber, ...]]
    max_evaluations: int
    start: int | None
    first: int | None = None
    known: Sequence[tuple[int, float | None]] = ()


def run(job: StrategyJob, ask: AskTimesAt) -> str:
    """Search until the budget is spent or the strategy has nothing more to ask; returns why it ended."""
    space = _space(job)
    budget = TuningBudget(max_fevals=min(job.max_evaluations, len(job.points) - len(job.known)))
    runner = AskingRunner(job, ask)
    with contextlib.suppress(StopCriterionReached):  # some let it through when it strikes at their first evaluation
        strategy_map[job.method].tune(space, runner, _tuning_options(job, budget))
    if budget.is_done():
        return "budget spent"
    return "walking in circles" if runner.stalled else "converged"


_MAKE_GENERATOR = np.random.default_rng


def seed_everything(seed: int, method: str) -> None:
    """Seed every random number generator of this process that a strategy uses.

    What the method needs is imported before: SciPy draws numbers while it is.

    SciPy's Latin hypercube, which kernel_tuner's diff_evo and bayes_opt use, makes a fresh generator from
    the system's entropy and offers kernel_tuner's caller no seed; so such generators are seeded here too.
    """
    np.random.default_rng = _MAKE_GENERATOR
    strategy_map[method].tune  # noqa: B018 - kernel_tuner imports it when it is looked at
    if method == "diff_evo":
        import_module("scipy.stats")  # which it imports when it runs
    random.seed(seed)
    np.random.seed(seed % 2**32)
    counter = itertools.count()

    def seeded(given: object = None) -> np.random.Generator:
        return _MAKE_GENERATOR([seed % 2**63, next(counter)] if given is None else given)  # type: ignore[arg-type]

    np.random.default_rng = seeded  # type: ignore[assignment]


class AskingRunner(Runner):  # type: ignore[misc]
    """Takes the place of kernel_tuner's benchmarking: asks for what is new, remembers what is known."""

    def __init__(self, job: StrategyJob, ask: AskTimesAt) -> None:
        super().__init__()
        self.dev = SimpleNamespace(max_threads=1024, name="")  # bayes_opt looks at it
        self.stalled = False
        self._names = list(job.axes)
        self._positions = {point: position for position, point in enumerate(job.points)}
        self._first = job.first
        self._ask = ask
        self._times: dict[int, float | None] = dict(job.known)
        self._asked = False
        self._repeats = 0

    def get_device_info(self) -> SimpleNamespace:
        """The device, as far as kernel_tuner cares."""
        return self.dev

    def get_environment(self, tuning_options: Options) -> dict[str, Any]:
        """Nothing: the environment is recorded elsewhere."""
        return {}

    def run(
        self, parameter_space: Sequence[Sequence[TunableNumber]], tuning_options: Options
    ) -> list[dict[str, Any] | None]:
        """One result for each point; None for those that the budget does not cover.

        Raises:
            StopCriterionReached: the strategy keeps asking for what it knows.
        """
        positions = [self._positions.get(tuple(point)) for point in parameter_space]
        self._evaluate(positions, tuning_options.budget)
        return [self._result(point, position) for point, position in zip(parameter_space, positions, strict=True)]

    def _evaluate(self, positions: list[int | None], budget: TuningBudget) -> None:
        wanted = positions if self._asked else [self._first, *positions]
        new = [p for p in dict.fromkeys(wanted) if p is not None and p not in self._times]
        new = new[: budget.get_evaluations_remaining()]
        self._repeats = 0 if new else self._repeats + max(1, len(positions))
        if self._repeats > STALL:
            self.stalled = True
            raise StopCriterionReached("nothing new was asked for")
        if new:
            self._asked = True
            self._times.update(zip(new, self._ask(new), strict=True))
            budget.add_evaluations(len(new))

    def _result(self, point: Sequence[TunableNumber], position: int | None) -> dict[str, Any] | None:
        parameters = dict(zip(self._names, point, strict=True))
        if position is None:
            return {**parameters, "__error__": InvalidConfig()}
        if position not in self._times:
            return None
        time = self._times[position]
        return {**parameters, "__error__": RuntimeFailedConfig()} if time is None else {**parameters, "time": time}


def _space(job: StrategyJob) -> Searchspace:
    entries = {str(i): dict(zip(job.axes, point, strict=True)) for i, point in enumerate(job.points)}
    return Searchspace(None, None, None, from_cache={"tune_params": job.axes, "cache": entries})


def _tuning_options(job: StrategyJob, budget: TuningBudget) -> Options:
    strategy_options = Options({**METHODS[job.method].options, "max_fevals": budget.max_fevals})
    if METHODS[job.method].takes_start and job.start is not None:
        strategy_options["x0"] = list(job.points[job.start])  # genetic_algorithm adds it to lists
    return Options(
        strategy_options=strategy_options,
        tune_params=job.axes,
        objective=["time"],
        objective_higher_is_better=[False],
        budget=budget,
        max_fevals=budget.max_fevals,
        verbose=False,
        quiet=True,
    )
