"""A step of the plan, what is put to the user - a proposal, a model that fails - and the user's answers."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict

from tui_tuner.problem.candidate import AnySource
from tui_tuner.subjects import Source

SourceType = TypeVar("SourceType", bound=Source)
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


class Approver(Protocol):
    """Decides on proposals: the screen, `--auto` and the tests each bring their own."""

    async def decide(self, proposal: Proposal) -> Decision:
        """Wait for the decision."""
        ...


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
        ...
