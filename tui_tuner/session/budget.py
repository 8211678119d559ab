"""How much of a session's evaluations, time and money is spent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tui_tuner.format import LIMITS, dollar_words, time_is_up_words
from tui_tuner.session_options import SessionOptions
from tui_tuner.strategies.base import BudgetSpent


def limits_of(options: SessionOptions) -> dict[str, Any]:
    """What may be spent: evaluations, calls of the model, seconds and US dollars by the names of the options."""
    return options.model_dump(include=set(LIMITS))


def with_recorded_limits(wanted: SessionOptions, recorded: SessionOptions) -> SessionOptions:
    """What is wanted of a run that goes on, with its recorded limits where more is wanted; see `EventStream.allow`."""
    raised = Budget(recorded).higher(**limits_of(wanted))
    return wanted.model_copy(update={name: getattr(recorded, name) for name in raised})


class Budget:
    """Counts what was spent; a session asks before it spends more.

    Attributes:
        raised: evaluations that the user added while the session ran.
        when_spent: called where a limit is reached, before anything ends for that: it may raise the limit.
    """

    def __init__(self, options: SessionOptions) -> None:
        self._options = options
        self.evaluations = 0
        self.model_calls = 0
        self.cost: float | None = 0.0
        self.raised = 0
        self.when_spent: Callable[[], None] = lambda: None
        self._stopped = ""
        self._announced_s = 0.0

    @property
    def limits(self) -> dict[str, Any]:
        """What may be spent: evaluations, calls of the model, seconds and US dollars by the names of the options."""
        return limits_of(self._options)

    def higher(self, **wanted: float | None) -> dict[str, float]:
        """The limits that are higher than now; one that is None, or that there is not, is not."""
        now = self.limits
        return {
            name: limit
            for name, limit in wanted.items()
            if limit is not None and now[name] is not None and limit > now[name]
        }

    def raise_to(self, **wanted: float | None) -> None:
        """Raise limits; one that is None, lower than now, or that there is not, stays."""
        higher, before = self.higher(**wanted), self._options.max_evaluations
        self.raised += int(higher.get("max_evaluations", before)) - before
        self._options = self._options.model_copy(update=higher)

    def announce(self, seconds: float | None) -> None:
        """Let a call under way go on for this long: `raise_to` follows where the strategy does its next thing."""
        self._announced_s = max(self._announced_s, seconds or 0.0)

    @property
    def call_ends_s(self) -> float:
        """When a call of the model under way is ended, in seconds of the session; infinite without a limit."""
        return max(self._ends_s, self._announced_s)

    @property
    def _ends_s(self) -> float:
        return math.inf if self._options.max_seconds is None else self._options.max_seconds

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

    def allowed_of(self, wanted: int) -> int:
        """How many of so many more evaluations are allowed."""
        if wanted > self.evaluations_left:
            self.when_spent()
        return min(wanted, self.evaluations_left)

    def book_evaluations(self, count: int) -> None:
        """Count evaluations."""
        self.evaluations += count
        if not self.evaluations_left:
            self.when_spent()

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
        if not self.allowed_of(1):
            raise BudgetSpent(f"the {self.evaluations} evaluations allowed are made")

    def _stays(self, is_spent: Callable[[], bool]) -> bool:
        """Whether a limit is reached, and is not raised then."""
        if is_spent():
            self.when_spent()
        return is_spent()

    def check_calls(self) -> None:
        """Whether another call of the model is allowed.

        Raises:
            BudgetSpent: it is not.
        """
        if self._stays(lambda: not self.calls_left):
            raise BudgetSpent(f"the {self._options.max_calls} model calls allowed are made")

    def check_time(self, elapsed: float) -> None:
        """Whether there is time left.

        Raises:
            BudgetSpent: there is none, or the user has stopped the session.
        """
        if self._stopped:
            raise BudgetSpent(self._stopped)
        if self._stays(lambda: elapsed >= self._ends_s):
            raise BudgetSpent(self.time_is_up)

    def check_cost(self, worst_case: float | None) -> None:
        """Whether a call that may cost so much is allowed, US dollars; None is an unknown price.

        Raises:
            BudgetSpent: it is not.
        """
        if self._options.max_cost is None:
            return
        if worst_case is None or self.cost is None:
            raise BudgetSpent("the model's price is unknown, so --max-cost allows no call")
        after = self.cost + worst_case
        if self._stays(lambda: after > (self._options.max_cost or 0.0)):
            limit = dollar_words(self._options.max_cost)
            raise BudgetSpent(f"the next call could cost {dollar_words(worst_case)} more than the {limit} allowed")

    def check_target(self, speedup: float) -> None:
        """Whether the target is still ahead.

        Raises:
            BudgetSpent: it is met.
        """
        if self._options.target is not None and speedup >= self._options.target:
            raise BudgetSpent(f"the target of {self._options.target:g}x is met")
