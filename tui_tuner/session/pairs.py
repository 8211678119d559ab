"""Comparisons that the user wants: two configurations that were measured, timed in turns between two evaluations."""

from __future__ import annotations

from typing import Any

from tui_tuner.errors import UserError
from tui_tuner.evaluate.evaluator import verdict
from tui_tuner.evaluate.results import Comparison
from tui_tuner.journal.recall import Recall
from tui_tuner.session import events
from tui_tuner.session.beside import SideRequests
from tui_tuner.session.evaluations import KernelBench
from tui_tuner.session.plan import Compare, Emit, Inbox

_NOT_YET = "nothing is measured yet"


class Pairs(SideRequests[Compare]):
    """Compares on the session's device, also once the session is over, until it is closed.

    Args:
        delta: least relative gain that counts.
    """

    kind = "pair"
    wanted = Compare

    def __init__(self, recall: Recall, inbox: Inbox, emit: Emit, delta: float) -> None:
        super().__init__(recall, inbox)
        self._emit = emit
        self._delta = delta
        self._bench: KernelBench | None = None

    def use(self, bench: KernelBench) -> None:
        """Compare what this one evaluates."""
        self._bench = bench

    @property
    def are_possible(self) -> bool:
        """Whether there is anything to compare."""
        return self._bench is not None

    def begun(self, number: int, wanted: Compare) -> None:
        """Tell which two."""
        self._emit(events.PairAsked(number=number, first=wanted.first, second=wanted.second))

    async def done(self, number: int, wanted: Compare) -> dict[str, Any]:
        """Time them; a machine that cannot is the fault."""
        try:
            if self._bench is None:
                return {"fault": _NOT_YET}
            comparison = await self._bench.compare_beside(wanted.first, wanted.second)
        except UserError as error:
            return {"fault": f"{error.message}; {error.hint}" if error.hint else error.message}
        return {"comparison": comparison.model_dump(mode="json")}

    def show(self, number: int, wanted: Compare, result: dict[str, Any]) -> None:
        """Tell the ratio, its interval and what they say."""
        found = Comparison.model_validate(result["comparison"]) if "comparison" in result else None
        self._emit(
            events.PairCompared(
                number=number,
                first=wanted.first,
                second=wanted.second,
                comparison=found,
                verdict=None if found is None else verdict(found, self._delta),
                fault=result.get("fault", ""),
            )
        )
