"""How much of a session's evaluations, time and money is spent."""

from __future__ import annotations

import math
from typing import Any

from tui_tuner.format import LIMITS, dollar_words, time_is_up_words
from tui_tuner.session_options import SessionOptions
from tui_tuner.strategies.base import BudgetSpent


class Budget:
    """Counts what was spent; a session asks before it spends more.

    Attributes:
        raised: evaluations that the user added while the session ran.
    """

    def __init__(self, options: SessionOptions) -> None:
        self._options = options
        self.evaluations = 0
        self.model_calls = 0
        self.cost: float | None = 0.0
        self.raised = 0
        self._stopped = ""
        self._announced_s = 0.0

    @property
    def limits(self) -> dict[str, Any]:
        """What may be spent: evaluations, calls of the model, seconds and US dollars by the names of the options."""
        return self._options.model_dump(include=set(LIMITS))

    def raise_to(self, **wanted: float | None) -> None:
        """Raise limits; one that is None, lower than now, or that there is not, stays."""
        now = self.limits
        higher = {
            name: limit
            for name, limit in wanted.items()
            if limit is not None and now[name] is not None and limit > now[name]
        }
        self.raised += int(higher.get("max_evaluations", now["max_evaluations"])) - int(now["max_evaluations"])
        self._options = self._options.model_copy(update=higher)

    def announce(self, seconds: float | None) -> None:
        """Let a call under way go on for this long: `raise_to` follows where the strategy does its next thing."""
        self._announced_s = max(self._announced_s, seconds or 0.0)

    @property
    def call_ends_s(self) -> float:
        """When a call of the model under way is ended, in seconds of the session; infinite without a limit."""
        limit = self._options.max_seconds
        return math.inf if limit is None else max(limit, self._announced_s)

    @property
    def time_is_up(self) -> str:
        """Why nothing more is done once the time is over."""
        return time_is_up_words(self._options.max_seconds or 0.0)

    def stop(self, reason: str) -> None:
        """Allow nothing more."""
        self._stopped = reason

    @property
    def evaluations_left(self) -> int:
        """How many more evaluations are allowed."""
        return max(0, self._options.max_evaluations - self.evaluations)

    @property
    def calls_left(self) -> int:
        """How many more calls of the model are allowed."""
        return max(0, self._options.max_calls - self.model_calls)

    def book_call(self, cost: float | None) -> None:
        """Count a model call; a cost of None makes the sum unknown."""
        self.model_calls += 1
        self.book_cost(cost)

    def book_cost(self, cost: float | None) -> None:
        """Add US dollars that are spent beside the calls that are counted."""
        self.cost = None if self.cost is None or cost is None else self.cost + cost

    def check_evaluations(self) -> None:
        """Whether a further kernel could be evaluated.

        Raises:
            BudgetSpent: it could not.
        """
        if not self.evaluations_left:
            raise BudgetSpent(f"the {self.evaluations} evaluations allowed are made")

    def check_calls(self) -> None:
        """Whether another call of the model is allowed.

        Raises:
            BudgetSpent: it is not.
        """
        limit = self._options.max_calls
        if self.model_calls >= limit:
            raise BudgetSpent(f"the {limit} model calls allowed are made")

    def check_time(self, elapsed: float) -> None:
        """Whether there is time left.

        Raises:
            BudgetSpent: there is none, or the user has stopped the session.
        """
        if self._stopped:
            raise BudgetSpent(self._stopped)
        limit = self._options.max_seconds
        if limit is not None and elapsed >= limit:
            raise BudgetSpent(self.time_is_up)

    def check_cost(self, worst_case: float | None) -> None:
        """Whether a call that may cost so much is allowed, US dollars; None is an unknown price.

        Raises:
            BudgetSpent: it is not.
        """
        limit = self._options.max_cost
        if limit is None:
            return
        if worst_case is None or self.cost is None:
            raise BudgetSpent("the model's price is unknown, so --max-cost allows no call")
        if self.cost + worst_case > limit:
            raise BudgetSpent(
                f"the next call could cost {dollar_words(worst_case)} more than the {dollar_words(limit)} allowed"
            )

    def check_target(self, speedup: float) -> None:
        """Whether the target is still ahead.

        Raises:
            BudgetSpent: it is met.
        """
        if self._options.target is not None and speedup >= self._options.target:
            raise BudgetSpent(f"the target of {self._options.target:g}x is met")
