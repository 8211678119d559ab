"""Questions of the user to the model: calls of their own, which count against the money and not against the calls."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pydantic import TypeAdapter

from tui_tuner.errors import ModelError
from tui_tuner.evaluate.results import Evaluation
from tui_tuner.format import configuration_words, factor_in_lines
from tui_tuner.journal.recall import Recall
from tui_tuner.llm import Chunk, Message, Reply, Request
from tui_tuner.llm.errors import TransportError
from tui_tuner.prompts import render
from tui_tuner.session import events
from tui_tuner.session.beside import SideRequests
from tui_tuner.session.budget import Budget
from tui_tuner.session.conversation import Conversation
from tui_tuner.session.plan import Ask, Emit, Inbox
from tui_tuner.strategies.base import BudgetSpent
from tui_tuner.strategies.steps import Step
from tui_tuner.subjects import Source

_ROOM = "tui_tuner.session"
_REMEMBERED = 3
"""Questions before this one that the model is told, with its answers."""
_SHOWN = 8
"""How many of the fastest configurations, and of the latest failures, a prompt shows."""
_REPLY = TypeAdapter(Reply)


class Questions(SideRequests[Ask]):
    """Asks the model what the user asks, one question after another.

    Args:
        model: who answers.
    """

    kind = "question"
    wanted = Ask

    def __init__(
        self, model: Conversation, recall: Recall, budget: Budget, inbox: Inbox, emit: Emit, max_tokens: int
    ) -> None:
        super().__init__(recall, inbox)
        self._model = model
        self._budget = budget
        self._emit = emit
        self._max_tokens = max_tokens
        self._situation = Situation()
        self._said: list[Message] = []

    def hear(self, event: events.Event) -> None:
        """Take in what happens: an answer may be about it."""
        self._situation.take(event)

    def begun(self, number: int, wanted: Ask) -> None:
        """Tell what is asked."""
        self._emit(events.QuestionAsked(number=number, text=wanted.text, about=wanted.about))

    async def done(self, number: int, wanted: Ask) -> dict[str, Any]:
        """Ask the model."""

        def on_chunk(chunk: Chunk) -> None:
            if chunk.text or chunk.thinking:
                self._emit(events.AnswerText(number=number, text=chunk.text, thinking=chunk.thinking))

        messages = [Message("system", render("question_system", _ROOM)), *self._said[-2 * _REMEMBERED :]]
        messages.append(Message("user", self._situation.prompt(wanted)))
        request = Request("question", tuple(messages), max_tokens=self._max_tokens)
        try:
            return {"answer": asdict(await self._model.answer(request, on_chunk))}
        except TransportError as error:
            return {"fault": str(error), "cost": 0.0 if error.usage is None else error.usage.cost}
        except (BudgetSpent, ModelError) as error:
            return {"fault": str(error)}

    def show(self, number: int, wanted: Ask, result: dict[str, Any]) -> None:
        """Tell the answer, and book what it cost."""
        if "answer" not in result:
            self._budget.book_cost(result.get("cost", 0.0))
            self._emit(events.AnswerFailed(number=number, reason=result["fault"], cost=result.get("cost", 0.0)))
            return
        reply = _REPLY.validate_python(result["answer"])
        self._budget.book_cost(reply.usage.cost)
        self._said += [Message("user", wanted.text), Message("assistant", reply.text)]
        tokens = reply.usage.input + reply.usage.output
        self._emit(
            events.AnswerReceived(
                number=number, text=reply.text, thinking=reply.thinking, tokens=tokens, cost=reply.usage.cost
            )
        )


@dataclass
class Situation:
    """What a question may be about, from the events so far: of every subject, as far as it has it."""

    device: str = ""
    kernel: Source | None = None
    about: Literal["as given", "the best so far", "under consideration"] = "as given"
    best: str = ""
    steps: dict[int, Step] = field(default_factory=dict)
    measured: list[Evaluation] = field(default_factory=list)

    def take(self, event: events.Event) -> None:
        """Fold one event in."""
        match event:
            case events.SessionStarted():
                self.kernel = event.baseline
            case events.DeviceReady():
                self.device = event.title
            case events.BaselineMeasured():
                self.measured.append(event.given)
            case events.CandidateProposed():
                self.kernel, self.about = event.candidate, "under consideration"
            case events.IncumbentChanged():
                self.kernel, self.about = event.candidate, "the best so far"
                self.best = f"the best so far is {factor_in_lines(event.speedup)} over the kernel as given"
            case events.StepChanged():
                self.steps[event.step.id] = event.step
            case events.EvaluationFinished():
                self.measured.append(event.evaluation)

    def prompt(self, question: Ask) -> str:
        """The question with what it may be about."""
        selection = f"<selection>\n{question.about}\n</selection>\n" if question.about else ""
        return render(
            "question",
            _ROOM,
            about=self.about,
            kernel="" if self.kernel is None else self.kernel.source,
            plan="\n".join(map(_step_line, self.steps.values())) or "none yet",
            device=self.device,
            measurements="\n".join(self._measurements()) or "none yet",
            selection=selection,
            question=question.text,
        )

    def _measurements(self) -> list[str]:
        timed = [(each.timing.median, each) for each in self.measured if each.timing is not None]
        fastest = sorted(timed, key=lambda pair: pair[0])[:_SHOWN]
        lines = [self.best] if self.best else []
        lines += [f"{median:.5g} ms: {_words(each)}" for median, each in fastest]
        failed = [each for each in self.measured if each.failure is not None][-_SHOWN:]
        return lines + [f"failed: {_words(each)}: {each.failure.message}" for each in failed if each.failure]


def _words(evaluation: Evaluation) -> str:
    values = configuration_words(evaluation.configuration, between=" ", nothing="as it is")
    return f"kernel {evaluation.candidate}, {values}"


def _step_line(step: Step) -> str:
    factor = "" if step.factor is None else f", {factor_in_lines(step.factor)}"
    reason = f" ({step.reason})" if step.reason else ""
    return f"{step.id}. {step.title}: {step.state}{factor}{reason}. {step.detail}".strip()
