"""The effect `propose`: what a search chooses, recorded.

A search is deterministic on one machine and need not be on another, where its libraries are other versions. Recorded,
its choices are the same in every replay, and no search runs for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from tui_tuner.journal.recall import Recall
from tui_tuner.problem.model import Configuration
from tui_tuner.search.client import KnownTimes, SearchClient

_KIND = "propose"


class JournaledSearch:
    """A search whose choices are recorded; it starts when the first is wanted that is not known.

    Args:
        content: all that determines the search.

    Attributes:
        unfinished: of so many of the last batch no result is needed yet.
    """

    def __init__(self, recall: Recall, search: SearchClient, content: Mapping[str, Any]) -> None:
        self._recall = recall
        self._search = search
        self._content = recall.nth(_KIND, content)
        self._batches: list[list[Configuration]] = []
        self._told: list[tuple[Sequence[float | None], KnownTimes]] = []
        self._runs = False
        self.unfinished = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._search.__aexit__(kind, error, trace)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[Configuration]:
        """The configurations to evaluate next."""
        content = {**self._content, "batch": len(self._batches)}
        result = await self._recall.once(_KIND, content, self._next)
        batch: list[Configuration] | None = result["configurations"]
        if batch is None:
            raise StopAsyncIteration
        self._batches.append(batch)
        self.unfinished = result.get("unfinished", 0)
        return batch

    async def tell(self, times: Sequence[float | None], others: KnownTimes = ()) -> None:
        """Tell the time of each configuration of the last batch, ms, and what was measured besides."""
        self._told.append((times, others))
        if self._runs:
            await self._search.tell(times, others)

    async def _next(self) -> dict[str, Any]:
        goes_on = self._runs or await self._catch_up()
        batch = await anext(self._search, None) if goes_on else None
        may_wait = {"unfinished": self._search.unfinished} if batch and self._search.unfinished else {}
        return {"configurations": batch, **may_wait}

    async def _catch_up(self) -> bool:
        """Bring the search to where the record ends; False if it would choose otherwise and cannot go on from there."""
        await self._search.__aenter__()
        self._runs = True
        for batch, told in zip(self._batches, self._told, strict=True):
            if not await self._search.go_on_from(batch, *told):
                return False
        return True
