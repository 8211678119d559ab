"""The effect `propose`: the configurations that a search wants next.

A search is deterministic on one machine and need not be on another, where its libraries are other versions. Recorded,
its choices are the same in every replay, and no search runs for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from tui_tuner.journal.recall import Recall
from tui_tuner.problem.model import Configuration
from tui_tuner.search.client import SearchClient

_KIND = "propose"


class JournaledSearch:
    """A search whose choices are recorded; it starts when the first is wanted that is not known.

    Args:
        content: all that determines the search.
    """

    def __init__(self, recall: Recall, search: SearchClient, content: Mapping[str, Any]) -> None:
        self._recall = recall
        self._search = search
        self._content = recall.nth(_KIND, content)
        self._batches: list[list[Configuration]] = []
        self._told: list[Sequence[float | None]] = []
        self._runs = False

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
        return batch

    async def tell(self, times: Sequence[float | None]) -> None:
        """Tell the time of each configuration of the last batch, ms; None where it failed."""
        self._told.append(times)
        if self._runs:
            await self._search.tell(times)

    async def _next(self) -> dict[str, Any]:
        goes_on = self._runs or await self._catch_up()
        return {"configurations": await anext(self._search, None) if goes_on else None}

    async def _catch_up(self) -> bool:
        """Bring the search to where the record ends; False if it chooses otherwise here, and so cannot go on."""
        await self._search.__aenter__()
        self._runs = True
        for batch, times in zip(self._batches, self._told, strict=True):
            if await anext(self._search, None) != batch:
                return False
            await self._search.tell(times)
        return True
