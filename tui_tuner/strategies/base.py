"""What a strategy is, and what it may do: a handful of awaited effects, each of them journaled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from pydantic import BaseModel

from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation
from tui_tuner.llm.base import Message
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.strategies.steps import Decision, Factor, Step, StepState

ReplyType = TypeVar("ReplyType", bound=BaseModel)


class BudgetSpent(Exception):
    """No more evaluations, time or money; or the target is met. What is known stays known."""


class ModelFailed(Exception):
    """The model gave no usable reply, for a reason that is not the kernel's."""


@dataclass(frozen=True)
class Incumbent:
    """The best accepted so far.

    Attributes:
        speedup: over the kernel as given, with the ends of its interval.
    """

    candidate: Candidate
    evaluation: Evaluation
    speedup: Factor


class Effects(Protocol):
    """What the session offers a strategy. Asked again with the same content, the journal answers."""

    @property
    def problem(self) -> Problem:
        """The problem, at the sizes that the device is tuned for."""
        ...

    @property
    def device(self) -> DeviceInfo:
        """The device."""
        ...

    @property
    def baseline(self) -> Candidate:
        """The kernel as given."""
        ...

    @property
    def given(self) -> Evaluation:
        """The kernel as given, in its default configuration."""
        ...

    @property
    def incumbent(self) -> Incumbent:
        """The best accepted so far."""
        ...

    @property
    def search_method(self) -> str | None:
        """The search that the user named, None for the default."""
        ...

    @property
    def seed(self) -> int:
        """Seed of every random choice of the strategy."""
        ...

    @property
    def evaluations_left(self) -> int:
        """How many more evaluations the budget allows."""
        ...

    def add_step(self, title: str, detail: str = "") -> Step:
        """A new line of the plan."""
        ...

    def update_step(
        self,
        step: Step,
        *,
        state: StepState | None = None,
        reason: str = "",
        factor: Factor | None = None,
        detail: str | None = None,
    ) -> Step:
        """Change a step; its state and detail stay where they are not given. Returns it as it is now."""
        ...

    def note(self, text: str, *, warning: bool = False) -> None:
        """A line of the story for people."""
        ...

    async def ask(
        self,
        purpose: str,
        messages: Sequence[Message],
        reply_type: type[ReplyType],
        check: Callable[[ReplyType], list[str]],
    ) -> ReplyType:
        """A reply of the model, validated; `check` lists what else is wrong with it.

        Raises:
            ModelFailed: it cannot be reached, or its replies stay unusable.
            BudgetSpent: the budget allows no further call.
        """
        ...

    async def evaluate(self, candidate: Candidate, configurations: Sequence[Configuration]) -> list[Evaluation]:
        """Build, verify and measure; one result a configuration, in their order.

        Raises:
            BudgetSpent: the budget does not reach for all of them; those done are in `evaluations_of`.
        """
        ...

    def evaluations_of(self, candidate: Candidate) -> list[Evaluation]:
        """All that was evaluated of a candidate so far."""
        ...

    async def challenge(self, candidate: Candidate, evaluation: Evaluation) -> Comparison:
        """Time a configuration against the incumbent on fresh data; it becomes the incumbent if it is faster."""
        ...

    def is_faster(self, comparison: Comparison) -> bool:
        """Whether a comparison makes the challenger the incumbent."""
        ...

    async def approve(self, step: Step, candidate: Candidate | None = None, rationale: str = "") -> Decision:
        """Put a step to the user."""
        ...


class Strategy(ABC):
    """A tuning strategy: ordinary async code, deterministic given its effects.

    Attributes:
        name: as the user writes it.
        needs_model: whether it is of no use without a language model.
    """

    name: ClassVar[str]
    needs_model: ClassVar[bool] = False

    @abstractmethod
    async def run(self, session: Effects) -> None:
        """Tune; what is found is in `session.incumbent`.

        Raises:
            BudgetSpent: may be passed on, the session ends with the incumbent.
        """
