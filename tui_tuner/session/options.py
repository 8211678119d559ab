"""What the user chose for a session, so that a resume needs no arguments, and how much of its budget is spent."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tui_tuner.format import dollar_words
from tui_tuner.search.rounds import RoundOptions
from tui_tuner.strategies.base import BudgetSpent


class Budget:
    """Counts what was spent; a session asks before it spends more."""

    def __init__(self, options: SessionOptions) -> None:
        self._options = options
        self.evaluations = 0
        self.model_calls = 0
        self.cost: float | None = 0.0

    @property
    def evaluations_left(self) -> int:
        """How many more evaluations are allowed."""
        return max(0, self._options.max_evaluations - self.evaluations)

    def book_call(self, cost: float | None) -> None:
        """Count a model call; a cost of None makes the sum unknown."""
        self.model_calls += 1
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
            BudgetSpent: there is none.
        """
        limit = self._options.max_seconds
        if limit is not None and elapsed >= limit:
            raise BudgetSpent(f"the time is up ({limit:.0f} s)")

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


class SessionOptions(BaseModel):
    """Choices of one session.

    Attributes:
        strategy: name of a strategy, or file.py:Class.
        strategy_options: what is set of the strategy's own options.
        search: method of the parameter search, None for the default; `llm` and `hybrid` let a model choose.
        rounds: how a model chooses configurations.
        llm: the model as the user names it, "auto", "ollama:qwen3-coder".
        temperature: of the model's replies, None for the setting of `[model]`.
        device: as the user names it, "auto", "cuda:0", "emulator".
        max_evaluations: configurations evaluated at most.
        max_calls: calls of the model at most, refused replies included.
        max_seconds: wall-clock time at most, None for no limit.
        max_cost: US dollars at most, None for no limit.
        target: speed-up over the kernel as given at which to stop.
        seed: of every random choice.
        delta: least relative gain that makes a challenger the incumbent.
        allow_unconfined: whether to build and run where no sandbox can be had.
        memory: whether to use what earlier sessions found and to remember this one; None: as `[memory]` says.
        cache_replies: whether replies of the model are kept for later sessions; None: as `[model]` says.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    strategy: str = "autonomous"
    strategy_options: dict[str, Any] = {}
    search: str | None = None
    rounds: RoundOptions = RoundOptions()
    llm: str = "auto"
    temperature: float | None = Field(default=None, ge=0, le=2)
    device: str = "auto"
    max_evaluations: int = Field(default=85, ge=1)
    max_calls: int = Field(default=100, ge=0)
    max_seconds: float | None = Field(default=None, gt=0)
    max_cost: float | None = Field(default=None, ge=0)
    target: float | None = Field(default=None, gt=1)
    seed: int = 0
    delta: float = Field(default=0.01, ge=0)
    allow_unconfined: bool = False
    memory: bool | None = None
    cache_replies: bool | None = None
