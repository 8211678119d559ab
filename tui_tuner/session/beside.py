"""What the user wants done at once, beside the strategy, which sees nothing of it: one after another.

What came of it is recorded with the number of operations that the strategy had done, so that a resume and a replay show
it at the same place; no other record is keyed by it.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from tui_tuner.journal.recall import Recall
from tui_tuner.session.controls import Told
from tui_tuner.session.plan import Inbox

WantedT = TypeVar("WantedT", bound=Told)
CUT_OFF = "the session ended before the answer came"


class SideRequests(ABC, Generic[WantedT]):
    """Does one kind of thing that the user wants, and shows again what was recorded of it.

    Attributes:
        kind: of the records.
        wanted: what is asked for; its `type` names it in a record.
    """

    kind: ClassVar[str]
    wanted: type[WantedT]

    def __init__(self, recall: Recall, inbox: Inbox) -> None:
        self._recall = recall
        self._inbox = inbox
        self._held: list[WantedT] = []
        self._doing: asyncio.Task[None] | None = None
        recorded = recall.numbered(self.kind)
        self._count = len(recorded)
        self._pending = sorted(recorded, key=lambda result: int(result["at"]))
        inbox.on_pass.append(self._show_recorded)

    @abstractmethod
    def begun(self, number: int, wanted: WantedT) -> None:
        """Tell that it is begun."""

    @abstractmethod
    async def done(self, number: int, wanted: WantedT) -> dict[str, Any]:
        """Do it; the result as it is recorded, where `fault` says why there is none."""

    @abstractmethod
    def show(self, number: int, wanted: WantedT, result: dict[str, Any]) -> None:
        """Tell what came of it."""

    def ask(self, wanted: WantedT) -> bool:
        """Do it as soon as the session is past what was recorded; False in a replay."""
        if not self._recall.writable:
            return False
        self._held.append(wanted)
        self.go_on()
        return True

    def go_on(self) -> None:
        """Begin with what waits, if the session has come to something new."""
        if self._held and self._recall.is_live and self._doing is None:
            self._doing = asyncio.create_task(self._do_all(), name=self.kind)

    async def close(self) -> None:
        """End what is under way; that it came to nothing is recorded."""
        self._held.clear()
        if self._doing is not None:
            self._doing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._doing

    async def _do_all(self) -> None:
        try:
            while self._held:
                await self._do(self._held.pop(0))
        finally:
            self._doing = None

    async def _do(self, wanted: WantedT) -> None:
        self._count += 1
        number, at = self._count, self._inbox.operations
        self.begun(number, wanted)
        result: dict[str, Any] = {"fault": CUT_OFF}
        try:
            result = await self.done(number, wanted)
        finally:
            result = {"at": at, self.kind: wanted.model_dump(mode="json"), **result}
            self._recall.record(self.kind, {"number": number}, result)
            self.show(number, wanted, result)

    def _show_recorded(self, operations: int) -> None:
        while self._pending and self._pending[0]["at"] <= operations:
            result = self._pending.pop(0)
            number = self._count - len(self._pending)
            wanted = self.wanted.model_validate(result[self.kind])
            self.begun(number, wanted)
            self.show(number, wanted, result)
