"""What the user changed of a session that runs: held it, raised a budget, switched model or strategy, is asked less."""

from __future__ import annotations

from typing import Any, Literal

from tui_tuner.session.event import Event
from tui_tuner.strategies.steps import ApprovalLevel


class PauseChanged(Event):
    """The user holds the session, or lets it go on."""

    type: Literal["pause_changed"] = "pause_changed"
    paused: bool

    @property
    def words(self) -> str:
        """A line of the story."""
        return "paused: nothing new begins" if self.paused else "goes on"


class BudgetChanged(Event):
    """What may be spent from now on, all of it; see `SessionStarted`."""

    type: Literal["budget_changed"] = "budget_changed"
    max_evaluations: int
    max_calls: int
    max_seconds: float | None = None
    max_cost: float | None = None

    @property
    def limits(self) -> dict[str, Any]:
        """They by their names in `SessionStarted`, which says from then on what is in force."""
        return self.model_dump(exclude={"type", "elapsed"})

    @property
    def words(self) -> str:
        """A line of the story."""
        limits = {
            "evaluations": self.max_evaluations,
            "calls": self.max_calls,
            "s": self.max_seconds,
            "$": self.max_cost,
        }
        told = ", ".join(f"{limit:g} {unit}" for unit, limit in limits.items() if limit is not None)
        return f"the budget from here on: {told}"


class ModelChanged(Event):
    """Which model is asked from now on."""

    type: Literal["model_changed"] = "model_changed"
    model: str

    @property
    def words(self) -> str:
        """A line of the story."""
        return f"model from here on: {self.model}"


class StrategyChanged(Event):
    """Which strategy goes on."""

    type: Literal["strategy_changed"] = "strategy_changed"
    strategy: str

    @property
    def words(self) -> str:
        """A line of the story."""
        return f"strategy from here on: {self.strategy}"


class ApprovalLevelChanged(Event):
    """What the user is asked about from now on."""

    type: Literal["approval_level_changed"] = "approval_level_changed"
    level: ApprovalLevel

    @property
    def words(self) -> str:
        """A line of the story."""
        return f"you are asked about from here on: {self.level}"


CHANGES = (PauseChanged, BudgetChanged, ModelChanged, StrategyChanged, ApprovalLevelChanged)
"""What the user changed of a session that runs."""
