"""Where a search's batches come from: the whole space at once, or a process that chooses."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from tui_tuner.problem.model import Configuration, Value
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.value_order import exact_key
from tui_tuner.search.connection import SearchProcess
from tui_tuner.search.numbering import numbered

KnownTimes = Sequence[tuple[Configuration, float | None]]
"""Configurations measured before: their time in ms, None where they failed."""

LISTED = 100_000
"""kernel_tuner's methods see so many configurations of a space at most: the known ones and a random sample."""


@dataclass(frozen=True)
class SearchTask:
    """What is to be searched, whatever the method.

    Attributes:
        method: its name.
        start: the configuration to evaluate first, None where it is not valid.
        known: valid configurations that were measured before, each once.
    """

    space: SearchSpace
    method: str
    seed: int
    max_evaluations: int
    start: Configuration | None
    known: KnownTimes


class Source(Protocol):
    """Gives batches, takes their results."""

    @property
    def reason(self) -> str:
        """Why it is over; empty until it is."""
        ...

    async def next_batch(self) -> list[Configuration] | None:
        """What to evaluate next, None when it is over."""
        ...

    async def tell(self, results: Sequence[float | None]) -> None:
        """The results of the last batch, ms; None for failures."""
        ...

    async def close(self) -> None:
        """End it at once."""
        ...


class WholeSpace:
    """Every configuration that is not known in one batch, the start first: needs no process."""

    def __init__(self, task: SearchTask) -> None:
        done = {exact_key(configuration) for configuration, _ in task.known}
        first = [] if task.start is None else [task.start]
        listed = task.space.enumerate_valid(task.max_evaluations + len(done) + 1)
        by_key = {exact_key(configuration): configuration for configuration in [*first, *listed]}
        new = [configuration for key, configuration in by_key.items() if key not in done]
        self.reason = ""
        self._last = "every configuration evaluated" if len(new) <= task.max_evaluations else "budget spent"
        self._batch: list[Configuration] | None = new[: task.max_evaluations] or None

    async def next_batch(self) -> list[Configuration] | None:
        """The one batch, then None."""
        batch, self._batch = self._batch, None
        self.reason = "" if batch else self._last
        return batch

    async def tell(self, results: Sequence[float | None]) -> None:
        """Nothing depends on the results."""

    async def close(self) -> None:
        """There is nothing to end."""


class ProcessSource:
    """What a process chooses.

    Args:
        configuration: what an item that the process asks for stands for.
    """

    def __init__(self, process: SearchProcess, configuration: Callable[[Any], Configuration]) -> None:
        self._process = process
        self._configuration = configuration

    @property
    def reason(self) -> str:
        """Why it is over; empty until it is."""
        return self._process.reason

    async def next_batch(self) -> list[Configuration] | None:
        """What to evaluate next, None when it is over.

        Raises:
            SearchError: the process failed or died.
        """
        items = await self._process.next_batch()
        return None if items is None else [self._configuration(item) for item in items]

    async def tell(self, results: Sequence[float | None]) -> None:
        """The results of the last batch, ms; None for failures.

        Raises:
            SearchError: the process died.
        """
        await self._process.tell(results)

    async def close(self) -> None:
        """Kill the process."""
        await self._process.close()


async def guided_by_model(task: SearchTask) -> ProcessSource:
    """The surrogate: it is given the space's description and asks for configurations.

    Raises:
        SearchError: the process ended at once.
    """
    job = {
        "method": task.method,
        "seed": task.seed,
        "space": task.space.description,
        "max_evaluations": task.max_evaluations,
        "start": task.start,
        "known": task.known,
    }
    return ProcessSource(await SearchProcess.start(job), dict)


async def by_kernel_tuner(task: SearchTask) -> ProcessSource:
    """One of kernel_tuner's methods: it is given points and asks for their positions.

    Raises:
        SearchError: the process ended at once.
    """
    space = numbered(_Listing(task.space.tunables, _listed(task)))
    first = space.position(task.start)
    known = [(space.position(configuration), time) for configuration, time in task.known]
    timed = [(time, position) for position, time in known if time is not None]
    best = min(timed)[1] if timed else first
    job = {
        "method": task.method,
        "seed": task.seed,
        "axes": space.axes,
        "points": space.points,
        "max_evaluations": task.max_evaluations,
        "first": first,
        "start": best,
        "known": known,
    }
    return ProcessSource(await SearchProcess.start(job), lambda position: dict(space.configurations[position]))


@dataclass(frozen=True)
class _Listing:
    """A space by its configurations."""

    tunables: Mapping[str, Sequence[Value]]
    listed: Sequence[Configuration]

    def configurations(self) -> Sequence[Configuration]:
        """All of them."""
        return self.listed


def _listed(task: SearchTask) -> list[Configuration]:
    """All configurations of a space, or as many as kernel_tuner is given: the start, the known ones, a sample."""
    if task.space.size_up_to(LISTED + 1) <= LISTED:
        return list(islice(task.space.configurations(), LISTED))
    sample = task.space.sample(LISTED, random.Random(task.seed))  # noqa: S311 - it is to be the same again
    start = [] if task.start is None else [task.start]
    return [*start, *(configuration for configuration, _ in task.known), *sample][:LISTED]
