"""A search seen from the engine: batches of configurations come out, their times go back in."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import Any, Self

from tui_tuner.problem.model import Configuration
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.tunables import exact_key
from tui_tuner.search import BRUTE_FORCE, DEFAULT_METHOD, SURROGATE, method_for, numbered
from tui_tuner.search.connection import SearchProcess


class SearchClient:
    """Chooses configurations to evaluate; deterministic given the seed and the results it is told.

        async with SearchClient(space, max_evaluations=85, start=default) as search:
            async for batch in search:
                await search.tell([await evaluate(configuration) for configuration in batch])

    A space that is not larger than the budget is evaluated whole, in one batch, whatever the method: what is not
    known already.
    Leaving the block before the search is over, also by cancellation, kills the process that a method runs in.

    Args:
        space: the tunables and the valid configurations.
        max_evaluations: how many configurations are asked for at most, at least 1.
        method: a name in `tui_tuner.search`.
        seed: of every random number.
        start: the configuration to evaluate first; without effect where it is not valid.
        known: configurations that were measured before, with their time in ms, None where they failed. They are
            learnt from, never asked for, and cost nothing; those that are not valid are left out.
        devices: how many measure side by side; the surrogate chooses enough at a time to keep them busy.
        offered: configurations worth to be evaluated early, which the surrogate does; others are left out.

    Attributes:
        space: the valid configurations.
        method: the one in use.
        process: what the search runs in, if it needs one: set it to one that other searches use too, and close it
            after them; None for one of its own.
        overlaps: whether the surrogate may choose before all is known that was chosen before, see `unfinished`: set it
            where evaluations take a while, before the search is entered.
        unfinished: of so many of the last batch the surrogate needs no result yet; it asks for them again.
        reason: why the search is over, as in "converged"; empty until it is.

    Raises:
        SettingsError: there is no such method.
        ValueError: the budget is empty.
    """

    def __init__(
        self,
        space: SearchSpace,
        *,
        max_evaluations: int,
        method: str = DEFAULT_METHOD,
        seed: int = 0,
        start: Configuration | None = None,
        known: KnownTimes = (),
        devices: int = 1,
        offered: Sequence[Configuration] = (),
    ) -> None:
        if max_evaluations < 1:
            raise ValueError("a search needs at least one evaluation")
        measured = _valid(space, known)
        new = space.size_up_to(max_evaluations + len(measured) + 1) - len(measured)
        self.method = method_for(method, new, max_evaluations)
        first = start if start is not None and space.contains(start) else None
        self.space = space
        fitting = [one for one in offered if space.contains(one)]
        self._task = SearchTask(space, self.method.name, seed, max_evaluations, first, measured, devices, fitting)
        self.process: SearchProcess | None = None
        self.overlaps = False
        self._own_process = SearchProcess()
        self._source: WholeSpace | ProcessSource | None = None
        self._untold = 0
        self.unfinished = 0
        self.reason = ""

    async def __aenter__(self) -> Self:
        if self.method.name == BRUTE_FORCE:
            self._source = WholeSpace(self._task)
        else:
            process = self.process or self._own_process
            if self.method.name == SURROGATE:
                self._source = _guided_by_model(self._task, process, overlaps=self.overlaps)
            else:
                self._source = _by_kernel_tuner(self._task, process)
            await self._source.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._source is not None:
            await self._source.leave()
        await self._own_process.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[Configuration]:
        """The configurations to evaluate next, each only once in a search but for those that were unfinished.

        Raises:
            SearchError: the search process failed or died.
            RuntimeError: the results of the batch before have not been told.
        """
        if self._source is None or self._untold:
            raise RuntimeError("enter the search and tell the results of each batch before the next")
        chosen = await self._source.next_batch()
        if chosen is None:
            self.reason = self._source.reason
            raise StopAsyncIteration
        batch, self.unfinished = chosen
        self._untold = len(batch)
        return batch

    async def tell(self, results: Sequence[float | None], others: KnownTimes = ()) -> None:
        """Tell the time of each configuration of the last batch, ms; None where it failed.

        Args:
            others: what was measured besides, of the same budget, or of a batch of which something is unfinished. The
                surrogate learns from it, and takes results of the first configurations only: the others it may choose
                again. No other method does.

        Raises:
            SearchError: the search process died.
            ValueError: as many results as configurations are needed.
        """
        is_shared = self.method.name == SURROGATE and len(results) + len(others) > 0
        if self._source is None or len(results) > self._untold or (len(results) < self._untold and not is_shared):
            raise ValueError(f"{len(results)} results for {self._untold} configurations")
        self._untold = 0
        await self._source.tell([_finite(time) for time in results], [(one, _finite(time)) for one, time in others])

    async def go_on_from(
        self, batch: list[Configuration], results: Sequence[float | None], others: KnownTimes = ()
    ) -> bool:
        """Tell a batch that was chosen before, maybe by another version of the search, and what `tell` takes of it.

        Returns False where something else is chosen here, by a method that knows no results but of its own choices.
        """
        chosen = await anext(self, None)
        if chosen == batch:
            await self.tell(results, others)
        elif chosen and self.method.name == SURROGATE:
            await self.tell([], [*zip(batch, results, strict=False), *others])
        else:
            return False
        return True


def _valid(space: SearchSpace, known: KnownTimes) -> KnownTimes:
    """Those that are in the space, each once; of results told twice the last counts."""
    by_key = {exact_key(configuration): (configuration, time) for configuration, time in known}
    return [(one, _finite(time)) for one, time in by_key.values() if space.contains(one)]


def _finite(time: float | None) -> float | None:
    return None if time is None or not math.isfinite(time) else time


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
        devices: how many measure side by side.
        offered: valid configurations to evaluate early.
    """

    space: SearchSpace
    method: str
    seed: int
    max_evaluations: int
    start: Configuration | None
    known: KnownTimes
    devices: int = 1
    offered: Sequence[Configuration] = ()


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

    async def next_batch(self) -> tuple[list[Configuration], int] | None:
        """The one batch, all of which is to be finished, then None."""
        batch, self._batch = self._batch, None
        self.reason = "" if batch else self._last
        return (batch, 0) if batch else None

    async def tell(self, results: Sequence[float | None], others: KnownTimes) -> None:
        """Nothing depends on the results."""

    async def leave(self) -> None:
        """There is nothing to end."""


class ProcessSource:
    """What a process chooses.

    Args:
        job: what the process is given.
        configuration: what an item that it asks for stands for.
    """

    def __init__(
        self, process: SearchProcess, job: Mapping[str, Any], configuration: Callable[[Any], Configuration]
    ) -> None:
        self._process = process
        self._job = job
        self._configuration = configuration

    @property
    def reason(self) -> str:
        """Why it is over; empty until it is."""
        return self._process.reason

    async def begin(self) -> None:
        """Give the process its job.

        Raises:
            SearchError: the process ended at once.
        """
        await self._process.begin(self._job)

    async def next_batch(self) -> tuple[list[Configuration], int] | None:
        """What to evaluate next and how many may be unfinished, None when it is over.

        Raises:
            SearchError: the process failed or died.
        """
        chosen = await self._process.next_batch()
        return None if chosen is None else ([self._configuration(item) for item in chosen[0]], chosen[1])

    async def tell(self, results: Sequence[float | None], others: KnownTimes) -> None:
        """The results of the last batch, ms; None for failures; and what was measured besides.

        Raises:
            SearchError: the process died.
        """
        await self._process.tell(results, others)

    async def leave(self) -> None:
        """Kill the process, unless the search is over."""
        await self._process.leave()


def _guided_by_model(task: SearchTask, process: SearchProcess, *, overlaps: bool) -> ProcessSource:
    """The surrogate: it is given the space's description and asks for configurations."""
    job = {
        "method": task.method,
        "seed": task.seed,
        "space": task.space.description,
        "max_evaluations": task.max_evaluations,
        "start": task.start,
        "known": task.known,
        "devices": task.devices,
        "offered": task.offered,
        "overlaps": overlaps,
    }
    return ProcessSource(process, job, dict)


def _by_kernel_tuner(task: SearchTask, process: SearchProcess) -> ProcessSource:
    """One of kernel_tuner's methods: it is given points and asks for their positions."""
    space = numbered(task.space.tunables, _listed(task))
    first = space.position(task.start)
    known = [(space.position(configuration), time) for configuration, time in task.known]
    timed = [(time, position) for position, time in known if time is not None]
    job = {
        "method": task.method,
        "seed": task.seed,
        "axes": space.axes,
        "points": space.points,
        "max_evaluations": task.max_evaluations,
        "first": first,
        "start": min(timed)[1] if timed else first,
        "known": known,
    }
    return ProcessSource(process, job, lambda position: dict(space.configurations[position]))


def _listed(task: SearchTask) -> list[Configuration]:
    """All configurations of a space, or as many as kernel_tuner is given: the start, the known ones, a sample."""
    if task.space.size_up_to(LISTED + 1) <= LISTED:
        return list(islice(task.space.configurations(), LISTED))
    sample = task.space.sample(LISTED, random.Random(task.seed))  # noqa: S311 - it is to be the same again
    start = [] if task.start is None else [task.start]
    return [*start, *(configuration for configuration, _ in task.known), *sample][:LISTED]
