"""The one stream of events that the screen, the headless printer and the tests read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, Union

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, TypeAdapter, model_validator

from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation
from tui_tuner.problem.candidate import AnySource, Candidate
from tui_tuner.problem.model import Configuration
from tui_tuner.strategies.steps import ApprovalLevel, Decision, ModelTrouble, Proposal, Remedy, Step
from tui_tuner.subjects import loaded, subjects

FORMAT = 1
"""Version of the stream of events as JSON."""


class Event(BaseModel):
    """Something that happened; subjects add events of their own, which readers that do not know them leave alone.

    Attributes:
        elapsed: seconds since the session began, as first recorded.
        transient: whether it tells how something goes on meanwhile; not kept, and not printed as JSON.
    """

    model_config = ConfigDict(frozen=True)

    elapsed: float = 0.0
    transient: ClassVar[bool] = False

    @model_validator(mode="wrap")
    @classmethod
    def _read_again(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:  # noqa: ANN401  # pydantic's own
        """An event that was written as JSON is read again as what its `type` says."""
        if cls is not Event or not isinstance(data, Mapping):
            return handler(data)
        kind = _kinds().get(str(data.get("type")))
        if kind is None:
            raise ValueError(f"there is no event of the type '{data.get('type')}'")
        return kind.model_validate(data)  # type: ignore[return-value]  # a subclass of what is asked for


class SessionStarted(Event):
    """First event of every session.

    Attributes:
        format: version of the stream: a new one means that a field went or changed its meaning; more may come in one.
        kernel: name of the kernel, or of the file of what else is tuned.
        language: of the source.
        baseline: the source as given.
        max_calls: of the model; None where no limit is told, like those of seconds and US dollars.
    """

    type: Literal["session_started"] = "session_started"
    format: int = FORMAT
    run: str
    directory: str
    kernel: str
    language: str
    strategy: str
    model: str | None
    seed: int
    baseline: AnySource
    max_evaluations: int
    max_calls: int | None = None
    max_seconds: float | None = None
    max_cost: float | None = None
    resumed: bool = False


class DeviceReady(Event):
    """The device is known; `sandbox` says in one line how builds are confined, `devices` which measure side by side."""

    type: Literal["device_ready"] = "device_ready"
    device: DeviceInfo
    sandbox: str
    devices: list[str] = []

    @property
    def title(self) -> str:
        """The device, or how many of it."""
        return self.device.name if len(self.devices) < 2 else f"{len(self.devices)} x {self.device.name}"


class Note(Event):
    """A line of the story for people."""

    type: Literal["note"] = "note"
    level: Literal["info", "warning"] = "info"
    text: str


class StepChanged(Event):
    """A step is new or its state changed."""

    type: Literal["step_changed"] = "step_changed"
    step: Step


class PlanOrdered(Event):
    """The order of the plan, other than by appending: ids of all steps."""

    type: Literal["plan_ordered"] = "plan_ordered"
    order: list[int]


class ParametersFrozen(Event):
    """Tunables that are held at a value from now on: all of them, so an empty one says that all are free."""

    type: Literal["parameters_frozen"] = "parameters_frozen"
    frozen: Configuration


class UserSaid(Event):
    """What the user tells the model; every prompt from now on carries it."""

    type: Literal["user_said"] = "user_said"
    text: str


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


class QuestionAsked(Event):
    """The user asks the model something; `about` is what they had selected."""

    type: Literal["question_asked"] = "question_asked"
    number: int
    text: str
    about: str = ""


class AnswerText(Event):
    """Words of the answer as they arrive."""

    type: Literal["answer_text"] = "answer_text"
    transient: ClassVar[bool] = True
    number: int
    text: str = ""
    thinking: str = ""


class AnswerReceived(Event):
    """The whole answer; `cost` in US dollars, None if unknown."""

    type: Literal["answer_received"] = "answer_received"
    number: int
    text: str
    thinking: str = ""
    tokens: int = 0
    cost: float | None = None


class AnswerFailed(Event):
    """A question came to nothing."""

    type: Literal["answer_failed"] = "answer_failed"
    number: int
    reason: str
    cost: float | None = 0.0


class CandidateProposed(Event):
    """A new kernel to look at, or what else is tuned."""

    type: Literal["candidate_proposed"] = "candidate_proposed"
    step: int
    candidate: AnySource
    rationale: str = ""


class ApprovalAsked(Event):
    """The session waits for the user."""

    type: Literal["approval_asked"] = "approval_asked"
    proposal: Proposal


class ApprovalGiven(Event):
    """The user (or `--auto`) decided."""

    type: Literal["approval_given"] = "approval_given"
    step: int
    decision: Decision


class SearchBegun(Event):
    """A search of a candidate's tunables begins, of so many evaluations at most."""

    type: Literal["search_begun"] = "search_begun"
    candidate: str
    evaluations: int


class EvaluationStarted(Event):
    """A configuration is on its way: queued, building, then running."""

    type: Literal["evaluation_started"] = "evaluation_started"
    number: int
    candidate: str
    configuration: Configuration


class EvaluationLeft(Event):
    """A configuration that was on its way was given up: nothing is known of it."""

    type: Literal["evaluation_left"] = "evaluation_left"
    number: int


class EvaluationFinished(Event):
    """A configuration has its result."""

    type: Literal["evaluation_finished"] = "evaluation_finished"
    number: int
    evaluation: Evaluation


class Compared(Event):
    """A candidate was timed against the incumbent, interleaved."""

    type: Literal["compared"] = "compared"
    candidate: str
    configuration: Configuration
    comparison: Comparison


class BaselineMeasured(Event):
    """The kernel as given, and with its own tunables tuned once that is known."""

    type: Literal["baseline_measured"] = "baseline_measured"
    given: Evaluation
    tuned: Evaluation | None = None


class IncumbentChanged(Event):
    """A new best; `speedup` is over the kernel as given, with the ends of its interval."""

    type: Literal["incumbent_changed"] = "incumbent_changed"
    candidate: Candidate
    evaluation: Evaluation
    speedup: tuple[float, float, float]


class PromptSent(Event):
    """A prompt went to the model."""

    type: Literal["prompt_sent"] = "prompt_sent"
    call: int
    purpose: str
    text: str
    tokens: int


class ModelText(Event):
    """Words of the model as they arrive; not kept in the journal."""

    type: Literal["model_text"] = "model_text"
    transient: ClassVar[bool] = True
    call: int
    text: str = ""
    thinking: str = ""


class ReplyReceived(Event):
    """A whole reply; `cost` in US dollars, None if unknown."""

    type: Literal["reply_received"] = "reply_received"
    call: int
    text: str
    thinking: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


class CallFailed(Event):
    """A call of the model came to nothing."""

    type: Literal["call_failed"] = "call_failed"
    call: int
    reason: str


class HelpAsked(Event):
    """A call came to nothing, and the session waits for the user to say how to go on."""

    type: Literal["help_asked"] = "help_asked"
    trouble: ModelTrouble


class HelpGiven(Event):
    """How it goes on."""

    type: Literal["help_given"] = "help_given"
    remedy: Remedy


class ReplyRefused(Event):
    """A reply that is put back to the model, with the reasons."""

    type: Literal["reply_refused"] = "reply_refused"
    call: int
    problems: list[str]


class SessionFinished(Event):
    """Last event.

    Attributes:
        speedup: of the best over the kernel as given, both timed interleaved.
        times: of the kernel as given and of the best in that comparison, ms.
        model_fault: why no reply of the model could be used; empty where one could, or none was asked for.
        confirmed: False for a session that was interrupted before that comparison: the times were taken apart.
    """

    type: Literal["session_finished"] = "session_finished"
    status: Literal["finished", "no_improvement", "failed", "interrupted"]
    reason: str
    evaluations: int
    model_calls: int
    cost: float | None = 0.0
    speedup: tuple[float, float, float] | None = None
    times: tuple[float, float] | None = None
    confirmed: bool = True
    model_fault: str = ""
    result: str | None = None


def stream_schema() -> dict[str, Any]:
    """The JSON Schema of a line of the stream as `--output json` prints it."""
    kinds = [kind for kind in _kinds().values() if not kind.transient]
    union: Any = Union[tuple(kinds)]  # noqa: UP007 (of a list that is known at run time only)
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[union, Field(discriminator="type")])
    return adapter.json_schema(mode="serialization")


def _kinds() -> dict[str, type[Event]]:
    """The events of all subjects by their type."""
    own = [kind for subject in subjects().values() if subject.events for kind in loaded(subject.events)]
    return {kind.model_fields["type"].default: kind for kind in (*Event.__subclasses__(), *own)}
