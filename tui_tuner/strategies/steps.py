"""A step of the plan, what is put to the user - a proposal, a model that fails - and the user's answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict

from tui_tuner.problem.candidate import AnySource
from tui_tuner.subjects import Source
from tui_tuner.text import in_line

SourceType = TypeVar("SourceType", bound=Source)
Result = TypeVar("Result")
Fault = TypeVar("Fault", bound=Exception)
Factor = tuple[float, float, float]
"""A speed-up with the ends of its 95 % interval."""
UNCHANGED: Factor = (1.0, 1.0, 1.0)


class StepState(StrEnum):
    """Where a step stands."""

    PROPOSED = "proposed"
    VALIDATED = "validated"  # worth doing here, and about to be done
    BROKEN_DOWN = "broken down"  # its parts are steps of their own
    AWAITING = "awaiting you"
    RUNNING = "running"
    ACCEPTED = "accepted"
    NEUTRAL = "neutral"
    REJECTED = "rejected"
    SKIPPED = "skipped"
    DONE = "done"  # a step that measures and cannot be accepted, such as the baseline


class Step(BaseModel):
    """One line of the plan.

    Attributes:
        id: counts from 1 in the order of creation; the plan may have another order.
        detail: what is to be done, in more words.
        reason: why it is rejected, skipped or neutral.
        factor: speed-up over the incumbent of its time, with the ends of its interval.
        by_user: whether the user put it into the plan.
        base: id of the kernel that it starts from; empty where the strategy chooses.
    """

    model_config = ConfigDict(frozen=True)

    id: int
    title: str
    detail: str = ""
    state: StepState = StepState.PROPOSED
    reason: str = ""
    factor: Factor | None = None
    by_user: bool = False
    base: str = ""

    def now(
        self, state: StepState, *, reason: str = "", factor: Factor | None = None, detail: str | None = None
    ) -> Step:
        """The step in another state; its detail stays where none is given."""
        detail = self.detail if detail is None else detail
        return self.model_copy(update={"state": state, "reason": reason, "factor": factor, "detail": detail})


class ApprovalLevel(StrEnum):
    """What the user is asked about: each level also about what stands before it."""

    NOTHING = "nothing"
    PLAN = "plan"
    STEP = "step"
    KERNEL = "kernel"
    ACCEPT = "accept"  # whether a kernel that was timed as faster becomes the incumbent

    def asks(self, about: ApprovalLevel) -> bool:
        """Whether the user is asked about this."""
        levels = [*ApprovalLevel]
        return levels.index(about) <= levels.index(self)


class Proposal(BaseModel):
    """What is about to be done, for the user to decide on.

    Attributes:
        about: what is decided.
        candidate: what is to be evaluated; None for a step that changes no source.
        rationale: the model's own words on why.
    """

    model_config = ConfigDict(frozen=True)

    step: Step
    candidate: AnySource | None = None
    rationale: str = ""
    about: ApprovalLevel = ApprovalLevel.KERNEL


class Decision(BaseModel):
    """The user's answer.

    Attributes:
        source: the text as the user edited it, for `edit`.
        message: what the user says to the model, for `reject`.
    """

    model_config = ConfigDict(frozen=True)

    action: Literal["approve", "edit", "skip", "reject"]
    source: str | None = None
    message: str = ""

    def applied_to(self, candidate: SourceType) -> SourceType:
        """The candidate as the user edited it, or as it is."""
        return candidate if self.source is None else candidate.edited(self.source)


@dataclass(frozen=True)
class EditedAgain(Generic[Fault]):
    """When what the user edited is put to them again.

    Attributes:
        fault: what using it raises then.
        words: what they are told, with a place for the fault.
        asks: False in sessions that began before anybody was asked again.
    """

    fault: type[Fault]
    words: str
    asks: bool = True


@dataclass(frozen=True)
class Wanted(Generic[SourceType, Result, Fault]):
    """What the user wants of a source.

    Attributes:
        decision: their last answer.
        source: as they left it.
        result: of using it; None where they refused it or it cannot be used.
        fault: why it cannot be used; None where it can, and where they refused it.
    """

    decision: Decision
    source: SourceType
    result: Result | None = None
    fault: Fault | None = None


async def as_wanted(
    ask: Callable[[SourceType, str], Awaitable[Decision]],
    source: SourceType,
    words: str,
    use: Callable[[SourceType], Awaitable[Result]],
    again: EditedAgain[Fault],
) -> Wanted[SourceType, Result, Fault]:
    """Put a source to the user until it can be used: an edit with a fault is theirs to mend before anybody else's.

    Args:
        ask: puts a source, and why it is proposed, to the user.
        use: does with the source what it is for.

    Returns:
        An edit with a fault only where they approve it nevertheless, or edit nothing more.
    """
    tried: set[str] = {source.id}
    fault: Fault | None = None
    while True:
        decision = await ask(source, words)
        if decision.action in ("skip", "reject"):
            return Wanted(decision, source)
        if decision.action == "approve" and fault is not None:
            return Wanted(decision, source, fault=fault)
        source = decision.applied_to(source)
        try:
            return Wanted(decision, source, await use(source))
        except again.fault as failed:
            if source.id in tried or not again.asks:
                return Wanted(decision, source, fault=failed)
            tried.add(source.id)
            words, fault = again.words.format(in_line(str(failed))), failed


class Approver(Protocol):
    """Decides on proposals: the screen, `--auto` and the tests each bring their own."""

    async def decide(self, proposal: Proposal) -> Decision:
        """Wait for the decision."""


class ModelTrouble(BaseModel):
    """A call of the model that came to nothing.

    Attributes:
        purpose: what was asked for, as in "plan".
        model: its name.
    """

    model_config = ConfigDict(frozen=True)

    purpose: str
    model: str
    reason: str


class Remedy(BaseModel):
    """How to go on after a call that came to nothing.

    Attributes:
        action: `retry` asks again, `switch` another model, `skip` leaves this call out, `without` all that follow too.
        model: the one to switch to, as `--llm` takes it.
    """

    model_config = ConfigDict(frozen=True)

    action: Literal["retry", "switch", "skip", "without"]
    model: str = ""


@runtime_checkable
class Helper(Protocol):
    """An approver that also knows what to do about a model that fails; for one that does not, the call is left out."""

    async def help(self, trouble: ModelTrouble) -> Remedy:
        """Wait for the remedy."""
