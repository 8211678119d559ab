"""One line of the data set: a prompt, the reply, and what came of it. docs/dataset.md explains every field."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.model import Configuration
from tui_tuner.strategies.steps import Factor, StepState

Origin = Literal["reply", "repair", "search"]
"""Who chose a configuration: the reply; the nearest valid one to what it named; a search over the reply's kernel."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class TurnOfTalk(_Part):
    """One message, as chat formats have it."""

    role: Literal["system", "user", "assistant"]
    content: str


class FailureNote(_Part):
    """Why something was not measured."""

    kind: FailureKind
    message: str


class MeasuredConfiguration(_Part):
    """One configuration that was evaluated because of the reply; times in ms.

    Attributes:
        ms: median of one launch, None where it failed.
        low: lower end of its 95 % interval.
        high: upper end.
        share: of the roofline, 0 to 1.
    """

    configuration: Configuration
    origin: Origin
    ms: float | None = None
    low: float | None = None
    high: float | None = None
    failure: FailureNote | None = None
    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    share: float | None = None


class ComparedConfiguration(_Part):
    """A configuration interleaved with another, mostly the best of that time; `factor` with its interval's ends."""

    configuration: Configuration
    factor: Factor
    failure: FailureNote | None = None


class StepOutcome(_Part):
    """A step of the plan and where it stands."""

    title: str
    state: StepState
    reason: str = ""
    factor: Factor | None = None


class RoundChoices(_Part):
    """What became of the configurations that a reply proposed.

    Attributes:
        proposed: all of them.
        as_proposed: evaluated as they were.
        repaired: evaluated as the nearest valid one.
        repeated: known already, or proposed twice.
        unmeasured: neither; invalid, or the evaluations were spent.
    """

    proposed: int
    as_proposed: int
    repaired: int
    repeated: int
    unmeasured: int


class OutcomeOfReply(_Part):
    """What was measured because of a reply.

    Attributes:
        problems: why the reply was put back to the model.
        decision: the user's, on the kernel or plan of the reply.
        kernel: id of the kernel that the reply wrote.
        step: the first step that was settled after the reply, as it stood then; None for configurations.
        plan: steps that the reply proposed, as they stood at the end of the session.
        best: the fastest of the evaluations, those aside that failed on fresh data later.
        new_best: speed-up over the kernel as given, if something of it became the best.
    """

    reply: Literal["used", "refused"] = "used"
    problems: list[str] = []
    decision: Literal["approve", "edit", "skip", "reject"] | None = None
    kernel: str | None = None
    step: StepOutcome | None = None
    plan: list[StepOutcome] = []
    choices: RoundChoices | None = None
    evaluations: list[MeasuredConfiguration] = []
    comparisons: list[ComparedConfiguration] = []
    best: MeasuredConfiguration | None = None
    new_best: Factor | None = None

    @property
    def accepted(self) -> bool:
        """Whether the session took over what the reply brought."""
        return self.new_best is not None or (self.step is not None and self.step.state is StepState.ACCEPTED)


class SessionResult(_Part):
    """How the session ended; `speedup` of its best over the kernel as given."""

    status: str
    reason: str
    speedup: Factor | None = None


class Meta(_Part):
    """Where a line comes from; `given_ms` is the time of the kernel as given, in `time_unit`."""

    run: str
    program: str
    created: str
    kernel: str
    language: str
    strategy: str
    seed: int
    model: str | None
    purpose: str
    call: int
    device: str
    architecture: str
    toolchain: str
    given_ms: float | None
    time_unit: Literal["ms", "CPU ms"]
    input_tokens: int
    output_tokens: int
    cost: float | None
    session: SessionResult


class Example(_Part):
    """One call of the model.

    Attributes:
        messages: the prompt, and the reply as the last message.
        thinking: what the model thought before it replied.
        reply_schema: JSON schema of the reply, None for free text; `schema` in the file.
        score: binary logarithm of the speed-up over the kernel as given; None if nothing was timed.
    """

    messages: list[TurnOfTalk]
    thinking: str
    reply_schema: dict[str, Any] | None = Field(alias="schema")
    outcome: OutcomeOfReply
    score: float | None
    meta: Meta

    @property
    def speedup(self) -> float | None:
        """Over the kernel as given, of the best that the reply brought; None if nothing right was timed."""
        return None if self.score is None else 2.0**self.score

    def line(self) -> str:
        """One line of JSON in ASCII, without its end."""
        return json.dumps(self.model_dump(mode="json", by_alias=True))
