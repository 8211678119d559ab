"""A search seen from the engine: batches of configurations come out, their times go back in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from tui_tuner.problem.model import Configuration
from tui_tuner.search.connection import SearchProcess
from tui_tuner.search.methods import BRUTE_FORCE, DEFAULT_METHOD, method_for
from tui_tuner.search.numbering import NumberedSpace, Space, numbered


class Search:
    """Chooses configurations to evaluate; deterministic given the seed and the results it is told.

        async with Search(space, max_evaluations=85, start=default) as search:
            async for batch in search:
                await search.tell([await evaluate(configuration) for configuration in batch])

    A space that is not larger than the budget is evaluated whole, in one batch, whatever the method.
    Leaving the block, also by cancellation, kills the process that a method runs in.

    Args:
        space: the tunables and the valid configurations.
        max_evaluations: how many configurations are asked for at most, at least 1.
        method: a name in `tui_tuner.search.methods`.
        seed: of every random number.
        start: the configuration to evaluate first; without effect where it is not valid.

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
    ) -> None:
        if max_evaluations < 1:
            raise ValueError("a search needs at least one evaluation")
        self._space = numbered(space)
        self.method = method_for(method, len(self._space.configurations), max_evaluations)
        self._max_evaluations = max_evaluations
        self._seed = seed
        self._start = self._space.position(start)
        self._source: SearchProcess | _WholeSpace | None = None
        self._untold = 0
        self.reason = ""

    async def __aenter__(self) -> Self:
        if self.method.name == BRUTE_FORCE:
            self._source = _WholeSpace(self._space, self._start, self._max_evaluations)
        else:
            self._source = await SearchProcess.start(self._job())
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
        positions = await self._source.next_batch()
        if positions is None:
            self.reason = self._source.reason
            raise StopAsyncIteration
        self._untold = len(positions)
        return [dict(self._space.configurations[position]) for position in positions]

    async def tell(self, results: Sequence[float | None]) -> None:
        """Tell the time of each configuration of the last batch, ms; None where it failed.

        Raises:
            SearchError: the search process died.
            ValueError: as many results as configurations are needed.
        """
        if self._source is None or len(results) != self._untold:
            raise ValueError(f"{len(results)} results for {self._untold} configurations")
        self._untold = 0
        await self._source.tell([None if time is None or not math.isfinite(time) else time for time in results])

    def _job(self) -> dict[str, object]:
        return {
            "method": self.method.name,
            "seed": self._seed,
            "axes": self._space.axes,
            "points": self._space.points,
            "max_evaluations": self._max_evaluations,
            "start": self._start,
        }


class _WholeSpace:
    """Every configuration in one batch, the start first: needs no process."""

    def __init__(self, space: NumberedSpace, start: int | None, max_evaluations: int) -> None:
        positions = range(len(space.configurations))
        first = [] if start is None else [start]
        self.reason = ""
        self._last = "every configuration evaluated" if len(positions) <= max_evaluations else "budget spent"
        self._batch: list[int] | None = [*first, *(p for p in positions if p != start)][:max_evaluations] or None

    async def next_batch(self) -> list[int] | None:
        batch, self._batch = self._batch, None
        self.reason = "" if batch else self._last
        return batch

    async def tell(self, results: Sequence[float | None]) -> None:
        """Nothing depends on the results."""

    async def close(self) -> None:
        """There is nothing to end."""
