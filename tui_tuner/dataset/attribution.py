"""What was measured because of which reply: read off the events of a session that is gone through again."""

from __future__ import annotations

from collections import defaultdict

from tui_tuner.dataset.call import Call
from tui_tuner.dataset.choices import assigned, proposals_in
from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration
from tui_tuner.session import events
from tui_tuner.strategies.steps import Step, StepState

_SETTLED = frozenset(StepState) - {StepState.PROPOSED, StepState.AWAITING, StepState.RUNNING}


class Attribution:
    """Takes the events in their order.

    What is measured of a kernel belongs to the reply that wrote it, a configuration of a round also to the reply that
    chose it; comparisons and new bests go with the configuration. A step's fate belongs to the reply before it, but not
    to a round, of which many make one step. What no reply brought, as a search over the kernel as given, belongs to
    none.

    Attributes:
        calls: in their order, those without a reply too.
        steps: as they stand at the end.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.steps: dict[int, Step] = {}
        self._current: Call | None = None
        self._wrote: dict[str, Call] = {}
        self._chose: dict[tuple[str, str], Call] = {}
        self._known: dict[str, list[Configuration]] = defaultdict(list)
        self._best: tuple[str, str] | None = None

    def take(self, event: events.Event) -> None:
        """Go on by one event."""
        self._close_round(event)
        match event:
            case events.PromptSent() | events.ReplyReceived() | events.ReplyRefused():
                self._talk(event)
            case events.DeviceReady():
                self._current = None  # a reply about tests has nothing to do with the steps that follow
            case events.CandidateProposed() | events.ApprovalGiven():
                self._proposed(event)
            case events.StepChanged():
                self._step(event.step)
            case events.BaselineMeasured(tuned=None):
                self._known[event.given.candidate].append(event.given.configuration)
            case events.EvaluationFinished():
                self._evaluated(event.evaluation)
            case events.Compared():
                self._compared(event)
            case events.IncumbentChanged():
                self._new_best(event)

    def _talk(self, event: events.PromptSent | events.ReplyReceived | events.ReplyRefused) -> None:
        match event:
            case events.PromptSent():
                self.calls.append(Call(event))
                self._current = None
            case events.ReplyReceived():
                self._current = self.calls[-1]
                self._current.reply = event
            case events.ReplyRefused():
                self.calls[-1].problems = event.problems
                self._current = None

    def _proposed(self, event: events.CandidateProposed | events.ApprovalGiven) -> None:
        if self._current is None:
            return
        if isinstance(event, events.CandidateProposed):
            if isinstance(event.candidate, Candidate):
                self._current.kernel = event.candidate
                self._wrote[event.candidate.id] = self._current
        elif self._current.decision is None:
            self._current.decision = event.decision.action

    def _step(self, step: Step) -> None:
        is_new = step.id not in self.steps
        self.steps[step.id] = step
        if self._current is None or self._current.is_round:  # the lines of rounds are the session's own
            return
        if is_new and not step.by_user:
            self._current.planned.append(step.id)
        elif self._current.step is None and step.state in _SETTLED:
            self._current.step = step

    def _evaluated(self, evaluation: Evaluation) -> None:
        author = self._wrote.get(evaluation.candidate)
        if author is not None and author.kernel is not None:
            default = author.kernel.default_configuration
            author.add(evaluation, "reply" if evaluation.configuration == default else "search")
        if self._current is not None and self._current.is_round and not self._current.closed:
            self._current.batch.append(evaluation)
        else:
            self._known[evaluation.candidate].append(evaluation.configuration)

    def _close_round(self, event: events.Event) -> None:
        """Assign the evaluations of a round once something else happens; a search may follow it."""
        call = self._current
        if call is None or not call.is_round or call.closed:
            return
        if isinstance(event, events.EvaluationStarted | events.EvaluationFinished | events.ReplyRefused):
            return
        if not call.batch and not isinstance(event, events.PromptSent | events.SessionFinished):
            return
        call.closed = True
        batch = [evaluation.configuration for evaluation in call.batch]
        kernel = call.batch[0].candidate if call.batch else next(reversed(self._known), "")
        proposals = proposals_in("" if call.reply is None else call.reply.text)
        found = assigned(proposals, batch, self._known[kernel])
        call.choices = found.choices
        for evaluation, origin in zip(call.batch, found.origins, strict=True):
            self._known[kernel].append(evaluation.configuration)
            if origin is not None:
                call.add(evaluation, origin)
                self._chose[_key(evaluation.candidate, evaluation.configuration)] = call

    def _compared(self, event: events.Compared) -> None:
        key = _key(event.candidate, event.configuration)
        if key == self._best:
            return  # the closing measurement: nothing is challenged by itself
        for call in self._behind(key):
            call.compared(event.configuration, event.comparison)

    def _new_best(self, event: events.IncumbentChanged) -> None:
        self._best = _key(event.candidate.id, event.evaluation.configuration)
        for call in self._behind(self._best):
            call.new_best = event.speedup

    def _behind(self, key: tuple[str, str]) -> list[Call]:
        """The calls that a configuration is owed to: the one that wrote the kernel, the one that chose the values."""
        return [call for call in (self._wrote.get(key[0]), self._chose.get(key)) if call is not None]


def _key(candidate: str, configuration: Configuration) -> tuple[str, str]:
    return candidate, repr(sorted(configuration.items()))
