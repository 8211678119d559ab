"""What the user may do to a session that runs: hold it, leave a step, stop, raise its budget, switch what follows.

All of it is told as an instruction through the one door `EventStream.tell`, whoever tells it: the screen, a signal, or
another program. What ends something is recorded with the effect that it ended, and what changes something at the point
where the strategy could notice it first; so a resume and a replay go the same way. A pause changes nothing but the
time, and leaves no record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from tui_tuner.journal.recall import Recall
from tui_tuner.journal.runs import STOPPED
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.strategies.base import BudgetSpent, StepSkipped
from tui_tuner.strategies.steps import ApprovalLevel

SKIPPED = "skipped by hand"
Result = TypeVar("Result")


class Told(BaseModel):
    """Something that the user tells a session.

    Attributes:
        waits: whether it takes effect only where the strategy does its next thing: it would read otherwise what it
            has to find the same when it is run again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    waits: ClassVar[bool] = False


class Pause(Told):
    """Begin nothing new until `GoOn`; what is under way ends. The session's clock stands still meanwhile."""

    type: Literal["pause"] = "pause"


class GoOn(Told):
    """End a pause."""

    type: Literal["go_on"] = "go_on"


class SkipStep(Told):
    """End what runs of the present step; what it has measured counts, and the strategy goes on with the next one."""

    type: Literal["skip_step"] = "skip_step"


class Stop(Told):
    """Begin nothing more, let the evaluations under way end, and conclude with the best; a resume goes on."""

    type: Literal["stop"] = "stop"


class RaiseBudget(Told):
    """Higher limits; one that is not named, or is lower than now, stays.

    Attributes:
        max_seconds: of the session as a whole, like `max_cost` in US dollars.
    """

    type: Literal["raise_budget"] = "raise_budget"
    waits: ClassVar[bool] = True
    max_evaluations: int | None = Field(default=None, ge=1)
    max_calls: int | None = Field(default=None, ge=0)
    max_seconds: float | None = Field(default=None, gt=0)
    max_cost: float | None = Field(default=None, ge=0)

    @property
    def limits(self) -> dict[str, float | None]:
        """By the names of the options."""
        return self.model_dump(exclude={"type"})


class UseModel(Told):
    """Another model for all calls that follow; `name` as in `--llm`."""

    type: Literal["use_model"] = "use_model"
    waits: ClassVar[bool] = True
    name: str = Field(min_length=1)


class UseStrategy(Told):
    """Another strategy once the present step is done; `name` as in `--strategy`, with its options."""

    type: Literal["use_strategy"] = "use_strategy"
    waits: ClassVar[bool] = True
    name: str = Field(min_length=1)
    options: dict[str, Any] = {}


class AskAbout(Told):
    """What the user is asked about from now on; the rest is approved."""

    type: Literal["ask_about"] = "ask_about"
    waits: ClassVar[bool] = True
    level: ApprovalLevel


AtOnce = Pause | GoOn | SkipStep | Stop
"""What acts at once, and not through the strategy."""


class Controls:
    """Holds a session, ends what runs of it, and knows what its user is asked about.

    Attributes:
        paused: whether nothing new begins.
        level: what the user is asked about.
    """

    def __init__(self, recall: Recall, budget: Budget, emit: Callable[[events.Event], None]) -> None:
        self.paused = False
        self.level = ApprovalLevel.KERNEL
        self._recall = recall
        self._budget = budget
        self._emit = emit
        self._under_way: dict[asyncio.Future[Any], bool] = {}
        self._ended_as: dict[asyncio.Future[Any], BudgetSpent] = {}
        self._step_runs = self._skips_next = False

    def step_changed(self, *, runs: bool) -> None:
        """Learn whether a step is running by now; what waits for its next piece of work ends with it."""
        self._step_runs, self._skips_next = runs, runs and self._skips_next

    def act(self, command: AtOnce) -> None:
        """Do what acts at once."""
        match command:
            case Pause():
                self._hold(True)
            case GoOn():
                self._hold(False)
            case SkipStep() if not self._end(list(self._under_way), StepSkipped(SKIPPED)):
                self._skips_next = self._step_runs  # as while a search chooses what to measure next
                if not self._skips_next:
                    self._emit(events.Note(text="nothing is under way that could be skipped"))
            case Stop():
                self._budget.stop(STOPPED)
                self._emit(events.Note(text="stopping: what is being measured still ends"))
                self._end([job for job, at_once in self._under_way.items() if at_once], BudgetSpent(STOPPED))
                self._hold(False)

    def ask_about(self, level: ApprovalLevel) -> None:
        """Ask about this from now on."""
        self.level = level
        self._emit(events.ApprovalLevelChanged(level=level))

    async def run(
        self, jobs: Sequence[Coroutine[Any, Any, Result]], *, ends_with_stop: bool = False
    ) -> list[Result | BudgetSpent]:
        """Results of all; of those that the user ends why they did. The first error ends the others and is raised.

        Args:
            ends_with_stop: whether they are not waited for when the session is to stop.
        """
        tasks = [asyncio.ensure_future(job) for job in jobs]
        self._under_way |= dict.fromkeys(tasks, ends_with_stop)
        if self._skips_next and self._end(tasks, StepSkipped(SKIPPED)):
            self._skips_next = False
        try:
            if tasks:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            for task in tasks:
                if task.done() and task not in self._ended_as:
                    task.result()  # the first error; where there is one, others may not be done
            return [self._ended_as.get(task) or task.result() for task in tasks]
        finally:
            for task in tasks:
                self._under_way.pop(task, None)
                self._ended_as.pop(task, None)
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _end(self, jobs: Sequence[asyncio.Future[Any]], reason: BudgetSpent) -> bool:
        """End what runs; whether anything did."""
        ending = [job for job in jobs if not job.done()]
        for job in ending:
            self._ended_as[job] = reason
            job.cancel()
        return bool(ending)

    def _hold(self, paused: bool) -> None:
        if paused != self.paused:
            self.paused = paused
            self._recall.hold(paused)
            self._emit(events.PauseChanged(paused=paused))
