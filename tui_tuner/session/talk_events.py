"""What is said between session, model and user: calls and replies, questions and answers, comparisons asked for."""

from __future__ import annotations

from typing import ClassVar, Literal

from tui_tuner.evaluate.evaluator import ComparisonVerdict
from tui_tuner.evaluate.results import Comparison
from tui_tuner.problem.candidate import Configured
from tui_tuner.session.event import Event
from tui_tuner.strategies.steps import ModelTrouble, Remedy


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
