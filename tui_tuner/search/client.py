"""A search seen from the engine: batches of configurations come out, their times go back in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from tui_tuner.problem.model import Configuration
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.value_order import exact_key
from tui_tuner.search.methods import BRUTE_FORCE, DEFAULT_METHOD, SURROGATE, method_for
from tui_tuner.search.numbering import Space
from tui_tuner.search.sources import KnownTimes, SearchTask, Source, WholeSpace, by_kernel_tuner, guided_by_model


class SearchClient:
    """Chooses configurations to evaluate; deterministic given the seed and the results it is told.

        async with Search(space, max_evaluations=85, start=default) as search:
            async for batch in search:
                await search.tell([await evaluate(configuration) for configuration in batch])

    A space that is not larger than the budget is evaluated whole, in one batch, whatever the method: what is not
    known already.
    Leaving the block, also by cancellation, kills the process that a method runs in.

    Args:
        space: the tunables and the valid configurations.
        max_evaluations: how many configurations are asked for at most, at least 1.
        method: a name in `tui_tuner.search.methods`.
        seed: of every random number.
        start: the configuration to evaluate first; without effect where it is not valid.
        known: configurations that were measured before, with their time in ms, None where they failed. They are
            learnt from, never asked for, and cost nothing; those that are not valid are left out.

    Attributes:
        method: the one in use.
        reason: why the search is over, as in "converged"; empty until it is.

    Raises:
        SettingsError: there is no such method.
        ValueError: the budget is empty.
    """

    def __init__(
        self,
        space: Space,
        *,
        max_evaluations: int,
        method: str = DEFAULT_METHOD,
        seed: int = 0,
        start: Configuration | None = None,
        known: KnownTimes = (),
    ) -> None:
        if max_evaluations < 1:
            raise ValueError("a search needs at least one evaluation")
        whole = _as_search_space(space)
        measured = _valid(whole, known)
        new = whole.size_up_to(max_evaluations + len(measured) + 1) - len(measured)
        self.method = method_for(method, new, max_evaluations)
        first = start if start is not None and whole.contains(start) else None
        self._task = SearchTask(whole, self.method.name, seed, max_evaluations, first, measured)
        self._source: Source | None = None
        self._untold = 0
        self.reason = ""

    async def __aenter__(self) -> Self:
        if self.method.name == BRUTE_FORCE:
            self._source = WholeSpace(self._task)
        elif self.method.name == SURROGATE:
            self._source = await guided_by_model(self._task)
        else:
            self._source = await by_kernel_tuner(self._task)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._source is not None:
            await self._source.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[Configuration]:
        """The configurations to evaluate next, each only once in a search.

        Raises:
            SearchError: the search process failed or died.
            RuntimeError: the results of the batch before have not been told.
        """
        if self._source is None or self._untold:
            raise RuntimeError("enter the search and tell the results of each batch before the next")
        batch = await self._source.next_batch()
        if batch is None:
            self.reason = self._source.reason
            raise StopAsyncIteration
        self._untold = len(batch)
        return batch

    async def tell(self, results: Sequence[float | None]) -> None:
        """Tell the time of each configuration of the last batch, ms; None where it failed.

        Raises:
            SearchError: the search process died.
            ValueError: as many results as configurations are needed.
        """
        if self._source is None or len(results) != self._untold:
            raise ValueError(f"{len(results)} results for {self._untold} configurations")
        self._untold = 0
        await self._source.tell([_finite(time) for time in results])


def _as_search_space(space: Space) -> SearchSpace:
    """A space that only lists its configurations as one that can be counted and drawn from."""
    if isinstance(space, SearchSpace):
        return space
    return SearchSpace(space.tunables, members=list(space.configurations()))


def _valid(space: SearchSpace, known: KnownTimes) -> KnownTimes:
    """Those that are in the space, each once; of results told twice the last counts."""
    by_key = {exact_key(configuration): (configuration, time) for configuration, time in known}
    return [(one, _finite(time)) for one, time in by_key.values() if space.contains(one)]


def _finite(time: float | None) -> float | None:
    return None if time is None or not math.isfinite(time) else time
