"""What the user wants done at once, beside the strategy, which sees nothing of it: one after another.

A question to the model is a call of its own, which counts against the money and not against the calls; of two
configurations that were measured a comparison times them in turns between two evaluations. What came of it is recorded
with the number of operations that the strategy had done, so that a resume and a replay show it at the same place; no
other record is keyed by it.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import TypeAdapter

from tui_tuner.errors import ModelError, UserError
from tui_tuner.evaluate.evaluator import verdict
from tui_tuner.evaluate.measure import fastest_first
from tui_tuner.evaluate.results import Comparison, Evaluation
from tui_tuner.format import configuration_words, factor_in_lines
from tui_tuner.journal.recall import Recall
from tui_tuner.llm import Chunk, Message, Reply, Request
from tui_tuner.llm.errors import TransportError
from tui_tuner.llm.lacking import lacking, way_out
from tui_tuner.prompts import render
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.controls import Told
from tui_tuner.session.conversation import Conversation
from tui_tuner.session.evaluations import KernelBench
from tui_tuner.session.plan import Ask, Compare, Emit, Inbox
from tui_tuner.strategies.base import BudgetSpent
from tui_tuner.strategies.steps import Step
from tui_tuner.subjects import Source

WantedT = TypeVar("WantedT", bound=Told)
CUT_OFF = "the session ended before the answer came"
WITHDRAWN = "withdrawn by hand"


class SideRequests(ABC, Generic[WantedT]):
    """Does one kind of thing that the user wants, and shows again what was recorded of it.

    Attributes:
        kind: of the records.
        wanted: what is asked for; its `type` names it in a record.
    """

    kind: ClassVar[str]
    wanted: type[WantedT]

    def __init__(self, recall: Recall, inbox: Inbox) -> None:
        self._recall = recall
        self._inbox = inbox
        self._held: list[WantedT] = []
        self._doing: asyncio.Task[None] | None = None
        self._is_begun = self._is_withdrawn = False
        recorded = recall.numbered(self.kind)
        self._count = len(recorded)
        self._pending = sorted(recorded, key=lambda result: int(result["at"]))
        inbox.on_pass.append(self._show_recorded)

    @abstractmethod
    def begun(self, number: int, wanted: WantedT) -> None:
        """Tell that it is begun."""

    @abstractmethod
    async def done(self, number: int, wanted: WantedT) -> dict[str, Any]:
        """Do it; the result as it is recorded, where `fault` says why there is none."""

    @abstractmethod
    def show(self, number: int, wanted: WantedT, result: dict[str, Any]) -> None:
        """Tell what came of it."""

    def ask(self, wanted: WantedT) -> bool:
        """Do it as soon as the session is past what was recorded; False in a replay."""
        if not self._recall.writable:
            return False
        self._held.append(wanted)
        self.go_on()
        return True

    def withdraw(self) -> bool:
        """Give up what is begun, where something is, and go on with the next; False in a replay."""
        if self._is_begun and self._doing is not None and not self._is_withdrawn:
            self._is_withdrawn = True
            self._doing.cancel()
        return self._recall.writable

    def go_on(self) -> None:
        """Begin with what waits, if the session has come to something new."""
        if self._held and self._recall.is_live and self._doing is None:
            self._doing = asyncio.create_task(self._do_all(), name=self.kind)

    async def close(self) -> None:
        """End what is under way; that it came to nothing is recorded."""
        self._held.clear()
        if self._doing is not None:
            self._doing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._doing

    async def _do_all(self) -> None:
        try:
            while self._held:
                await self._do(self._held.pop(0))
        finally:
            self._doing = None

    async def _do(self, wanted: WantedT) -> None:
        self._count += 1
        number, at = self._count, self._inbox.operations
        self.begun(number, wanted)
        result: dict[str, Any] = {"fault": CUT_OFF}
        self._is_begun = True
        try:
            result = await self._done_or_withdrawn(number, wanted)
        finally:
            self._is_begun = self._is_withdrawn = False
            result = {"at": at, self.kind: wanted.model_dump(mode="json"), **result}
            self._recall.record(self.kind, {"number": number}, result)
            self.show(number, wanted, result)

    async def _done_or_withdrawn(self, number: int, wanted: WantedT) -> dict[str, Any]:
        try:
            return await self.done(number, wanted)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._is_withdrawn or task is None or task.uncancel():  # what ends the session ends it all the same
                raise
            return {"fault": WITHDRAWN}

    def _show_recorded(self, operations: int) -> None:
        while self._pending and self._pending[0]["at"] <= operations:
            result = self._pending.pop(0)
            number = self._count - len(self._pending)
            wanted = self.wanted.model_validate(result[self.kind])
            self.begun(number, wanted)
            self.show(number, wanted, result)


_NOT_YET = "nothing is measured yet"


class Pairs(SideRequests[Compare]):
    """Compares on the session's device, also once the session is over, until it is closed.

    Args:
        delta: least relative gain that counts.
    """

    kind = "pair"
    wanted = Compare

    def __init__(self, recall: Recall, inbox: Inbox, emit: Emit, delta: float) -> None:
        super().__init__(recall, inbox)
        self._emit = emit
        self._delta = delta
        self._bench: KernelBench | None = None

    def use(self, bench: KernelBench) -> None:
        """Compare what this one evaluates."""
        self._bench = bench

    @property
    def are_possible(self) -> bool:
        """Whether there is anything to compare."""
        return self._bench is not None

    def begun(self, number: int, wanted: Compare) -> None:
        """Tell which two."""
        self._emit(events.PairAsked(number=number, first=wanted.first, second=wanted.second))

    async def done(self, number: int, wanted: Compare) -> dict[str, Any]:
        """Time them; a machine that cannot is the fault."""
        try:
            if self._bench is None:
                return {"fault": _NOT_YET}
            comparison = await self._bench.compare_beside(wanted.first, wanted.second)
        except UserError as error:
            return {"fault": f"{error.message}; {error.hint}" if error.hint else error.message}
        return {"comparison": comparison.model_dump(mode="json")}

    def show(self, number: int, wanted: Compare, result: dict[str, Any]) -> None:
        """Tell the ratio, its interval and what they say."""
        found = Comparison.model_validate(result["comparison"]) if "comparison" in result else None
        self._emit(
            events.PairCompared(
                number=number,
                first=wanted.first,
                second=wanted.second,
                comparison=found,
                verdict=None if found is None else verdict(found, self._delta),
                fault=result.get("fault", ""),
            )
        )


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
        if lack := lacking(reply):
            self._emit(events.Note(level="warning", text=f"the answer {lack}: {way_out(reply, self._max_tokens)}"))


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
        lines = [self.best] if self.best else []
        lines += [f"{each.ms:.5g} ms: {_words(each)}" for each in fastest_first(self.measured)[:_SHOWN]]
        failed = [each for each in self.measured if each.failure is not None][-_SHOWN:]
        return lines + [f"failed: {_words(each)}: {each.failure.message}" for each in failed if each.failure]


def _words(evaluation: Evaluation) -> str:
    values = configuration_words(evaluation.configuration, between=" ", nothing="as it is")
    return f"kernel {evaluation.candidate}, {values}"


def _step_line(step: Step) -> str:
    factor = "" if step.factor is None else f", {factor_in_lines(step.factor)}"
    reason = f" ({step.reason})" if step.reason else ""
    return f"{step.id}. {step.title}: {step.state}{factor}{reason}. {step.detail}".strip()
