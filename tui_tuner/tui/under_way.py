"""What a session is at now: a call of the model, and what the machine does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tui_tuner.session import events
from tui_tuner.strategies.steps import Step


@dataclass(frozen=True)
class Asked:
    """A call of the model that is under way.

    Attributes:
        call: its number, or that of the question.
        since: seconds since the session began.
        characters: of reply and thinking that have arrived.
    """

    call: int
    purpose: str
    since: float
    characters: int = 0

    def heard(self, words: events.ModelText | events.AnswerText) -> Asked:
        """With what has arrived by now."""
        return replace(self, characters=self.characters + len(words.text) + len(words.thinking))


@dataclass
class UnderWay:
    """What is under way, as far as events tell it.

    Attributes:
        calls: of the model, the one under way included.
        asked: the call under way.
        questions: of the user's that await an answer, by number.
    """

    calls: int = 0
    asked: Asked | None = None
    questions: dict[int, Asked] = field(default_factory=dict)
    _search: tuple[int, int] | None = None  # evaluations that are done, and how many there are at most
    _evaluations: set[int] = field(default_factory=set)
    _apart: str = ""  # what the device does for no evaluation

    @property
    def work(self) -> str:
        """What the machine does, in a few words; empty where that is nothing, or not known."""
        if self._apart:
            return self._apart
        if self._search is not None:
            done, most = self._search
            return f"searching {done}/{most}"
        return "evaluating" if self._evaluations else ""

    def apply(self, event: events.Event, step: Step | None) -> None:
        """Take an event in.

        Args:
            step: the one that was under way before the event.
        """
        self._call(event)
        match event:
            case events.EvaluationStarted():
                self._evaluations.add(event.number)
            case events.EvaluationLeft():
                self._evaluations.discard(event.number)
            case events.EvaluationFinished():
                self._evaluations.discard(event.number)
                if self._search is not None:
                    self._search = self._search[0] + 1, self._search[1]
            case events.SearchBegun():
                self._now(search=(0, event.evaluations))
            case events.ComparisonBegun() | events.ProfileBegun():
                self._now(event.doing)
            case events.Compared() | events.Profiled() | events.PromptSent():
                self._now()
            case events.StepChanged() if step is None or event.step.id == step.id:
                self._now()

    def _now(self, apart: str = "", *, search: tuple[int, int] | None = None) -> None:
        self._apart, self._search = apart, search

    def _call(self, event: events.Event) -> None:
        match event:
            case events.PromptSent():
                self.calls = max(self.calls, event.call)
                self.asked = Asked(event.call, event.purpose, event.elapsed)
            case events.ModelText() if self.asked is not None and event.call == self.asked.call:
                self.asked = self.asked.heard(event)
            case events.ReplyReceived() | events.CallFailed() if self.asked and event.call == self.asked.call:
                self.asked = None
            case events.HelpAsked():
                self.asked = None
            case events.QuestionAsked():
                self.questions[event.number] = Asked(event.number, "your question", event.elapsed)
            case events.AnswerText() if event.number in self.questions:
                self.questions[event.number] = self.questions[event.number].heard(event)
            case events.AnswerReceived() | events.AnswerFailed():
                self.questions.pop(event.number, None)
