"""Why the steps of a plan are as they are: the model's words, and those of a question as long as it is open."""

from __future__ import annotations

from tui_tuner.session.events import ApprovalAsked, ApprovalGiven, CandidateProposed, Event, ReplyReceived
from tui_tuner.strategies.steps import ApprovalLevel


class Rationales:
    """What is said of each step, by its number.

    An edit that cannot be used is proposed again with what is wrong with it, and what is faster with the question
    whether it becomes the best: once that is answered, such words would ask for what nobody can do any more.
    """

    def __init__(self) -> None:
        self._said: dict[int, str] = {}
        self._asked: dict[int, str] = {}
        self._edited: set[int] = set()  # since the model's last words

    def of(self, step: int) -> str:
        """What is said of a step by now; empty where that is nothing."""
        return self._asked.get(step) or self._said.get(step, "")

    def apply(self, event: Event) -> None:
        """Take an event in."""
        match event:
            case ReplyReceived():
                self._edited.clear()
            case CandidateProposed(step=step):
                self._put(step, event.rationale, asks=step in self._edited)
            case ApprovalAsked(proposal=proposal):
                step, accepts = proposal.step.id, proposal.about is ApprovalLevel.ACCEPT
                self._put(step, proposal.rationale, asks=accepts or step in self._edited)
            case ApprovalGiven(step=step):
                self._asked.pop(step, None)
                if event.decision.action == "edit":
                    self._edited.add(step)

    def _put(self, step: int, words: str, *, asks: bool) -> None:
        if words:
            (self._asked if asks else self._said)[step] = words
