"""Sessions: effects, journal, budget, events.

Here: an event, how any of them is written as JSON and read again, and those of a session about anything. They tell
what the user changed of it, and what is said between session, model and user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, Union

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    TypeAdapter,
    ValidationInfo,
    model_validator,
)

from tui_tuner.evaluate.evaluator import ComparisonVerdict
from tui_tuner.evaluate.results import Comparison
from tui_tuner.problem.candidate import Configured
from tui_tuner.strategies.steps import ApprovalLevel, ModelTrouble, Remedy
from tui_tuner.subjects import loaded, subjects

FORMAT = 1
"""Version of the stream of events as JSON."""


class Event(BaseModel):
    """Something that happened; subjects add events of their own, which readers that do not know them leave alone.

    Attributes:
        elapsed: seconds since the session began, as first recorded.
        transient: whether it tells how something goes on meanwhile; not kept, and not printed as JSON.
        adds: whether earlier ones of its type count beside it; of other types the latest says all.
    """

    model_config = ConfigDict(frozen=True)

    elapsed: float = 0.0
    transient: ClassVar[bool] = False
    adds: ClassVar[bool] = False

    @model_validator(mode="wrap")
    @classmethod
    def _read_again(
        cls,
        data: Any,  # noqa: ANN401  # pydantic's own
        handler: ModelWrapValidatorHandler[Self],
        info: ValidationInfo,
    ) -> Self:
        """An event that was written as JSON is read again as what its `type` says."""
        if cls is not Event or not isinstance(data, Mapping):
            return handler(data)
        kind = _kinds().get(str(data.get("type")))
        if kind is None:
            raise ValueError(f"there is no event of the type '{data.get('type')}'")
        return kind.model_validate(data, context=info.context)  # type: ignore[return-value]  # a subclass of what is asked for


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


class UserSaid(Event):
    """What the user tells the model; every prompt from now on carries it."""

    type: Literal["user_said"] = "user_said"
    text: str


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


class PairAsked(Event):
    """The user wants two configurations timed in turns."""

    type: Literal["pair_asked"] = "pair_asked"
    number: int
    first: Configured
    second: Configured


class PairCompared(Event):
    """How the second configuration did against the first, or why nobody knows.

    Attributes:
        comparison: the second is its challenger; None where it came to nothing.
        verdict: of the comparison, at the session's least gain that counts.
        fault: why it came to nothing.
    """

    type: Literal["pair_compared"] = "pair_compared"
    number: int
    first: Configured
    second: Configured
    comparison: Comparison | None = None
    verdict: ComparisonVerdict | None = None
    fault: str = ""


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
