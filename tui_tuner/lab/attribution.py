"""What was measured because of which reply: read off the events of a session that is gone through again."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tui_tuner.evaluate.results import Comparison, Evaluation, Failure
from tui_tuner.lab.dataset_example import (
    ComparedConfiguration,
    FailureNote,
    MeasuredConfiguration,
    Origin,
    OutcomeOfReply,
    RoundChoices,
    StepOutcome,
)
from tui_tuner.memory import PROPOSING, proposals_in
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration
from tui_tuner.session import events
from tui_tuner.session.events import PromptSent, ReplyReceived
from tui_tuner.strategies.round_question import means
from tui_tuner.strategies.steps import Factor, Step, StepState

Proposed = Mapping[str, object]
_SETTLED = frozenset(StepState) - {StepState.PROPOSED, StepState.AWAITING, StepState.RUNNING}


@dataclass(frozen=True)
class AssignedRound:
    """The evaluations of a round; `origins` has one entry an evaluation, None where the reply did not choose it."""

    origins: list[Origin | None]
    choices: RoundChoices


def assigned(
    proposals: Sequence[Proposed], batch: Sequence[Configuration], known: Sequence[Configuration]
) -> AssignedRound:
    """Find the proposal behind each evaluation of a round.

    The events of a session name no repairs. A repaired configuration is the one most like an invalid proposal, equal
    in at least half of its values, in the place of the batch that the proposals around it leave: a batch has the
    order of the reply, behind seeds that no reply chose.

    Args:
        batch: the configurations evaluated after the reply, in their order.
        known: those that were evaluated before.
    """
    origins: list[Origin | None] = [None] * len(batch)
    places: list[int | None] = []
    for proposal in proposals:
        free = (i for i, one in enumerate(batch) if origins[i] is None and _means(proposal, one))
        place = next(free, None)
        places.append(place)
        if place is not None:
            origins[place] = "reply"
    missing = [i for i, place in enumerate(places) if place is None]
    repeated = [i for i in missing if any(_means(proposals[i], one) for one in [*known, *batch])]
    for i in (i for i in missing if i not in repeated):
        places[i] = _repair(proposals[i], batch, origins, _window(places, i, len(batch)))
        if (place := places[i]) is not None:
            origins[place] = "repair"
    counts = {origin: origins.count(origin) for origin in ("reply", "repair")}
    left = len(proposals) - counts["reply"] - counts["repair"] - len(repeated)
    choices = RoundChoices(
        proposed=len(proposals),
        as_proposed=counts["reply"],
        repaired=counts["repair"],
        repeated=len(repeated),
        unmeasured=left,
    )
    return AssignedRound(origins, choices)


def _window(places: Sequence[int | None], index: int, end: int) -> range:
    """The part of the batch between the nearest proposals before and behind that have a place."""
    before = [place for place in places[:index] if place is not None]
    behind = [place for place in places[index + 1 :] if place is not None]
    return range(max(before, default=-1) + 1, min(behind, default=end))


def _repair(
    proposal: Proposed, batch: Sequence[Configuration], origins: Sequence[Origin | None], window: range
) -> int | None:
    free = [i for i in window if origins[i] is None]
    best = max(free, key=lambda i: _alike(proposal, batch[i]), default=None)
    return best if best is not None and _alike(proposal, batch[best]) * 2 >= len(batch[best]) else None


def _means(proposal: Proposed, configuration: Configuration) -> bool:
    """Whether a proposal is this configuration; values that it leaves out are those the session filled in."""
    given = [name for name in configuration if proposal.get(name) is not None]
    return bool(given) and all(means(proposal[name], configuration[name]) for name in given)


def _alike(proposal: Proposed, configuration: Configuration) -> int:
    return sum(means(proposal.get(name), value) for name, value in configuration.items())


@dataclass
class ModelCall:
    """A call and all that is known of it so far.

    Attributes:
        reply: None where none came.
        kernel: the kernel of the reply.
        batch: evaluations of a round that are not yet assigned.
        closed: whether the round is over.
        planned: ids of the steps that the reply proposed.
        failed: configurations that were right at first and wrong on fresh data.
    """

    sent: PromptSent
    reply: ReplyReceived | None = None
    problems: list[str] = field(default_factory=list)
    decision: Literal["approve", "edit", "skip", "reject"] | None = None
    kernel: Candidate | None = None
    step: Step | None = None
    planned: list[int] = field(default_factory=list)
    batch: list[Evaluation] = field(default_factory=list)
    closed: bool = False
    choices: RoundChoices | None = None
    evaluations: list[MeasuredConfiguration] = field(default_factory=list)
    comparisons: list[ComparedConfiguration] = field(default_factory=list)
    failed: list[Configuration] = field(default_factory=list)
    new_best: Factor | None = None

    @property
    def is_round(self) -> bool:
        """Whether the reply proposes configurations."""
        return self.sent.purpose in PROPOSING

    def add(self, evaluation: Evaluation, origin: Origin) -> None:
        """Count an evaluation as one of this reply."""
        timing, needs = evaluation.timing, evaluation.resources
        self.evaluations.append(
            MeasuredConfiguration(
                configuration=evaluation.configuration,
                origin=origin,
                ms=None if timing is None else timing.median,
                low=None if timing is None else timing.low,
                high=None if timing is None else timing.high,
                failure=_fault(evaluation.failure),
                registers=needs.registers,
                spill_bytes=needs.spill_bytes,
                shared_bytes=needs.shared_bytes,
                share=evaluation.share,
            )
        )

    def compared(self, configuration: Configuration, comparison: Comparison) -> None:
        """Count a comparison with another configuration."""
        factor, failure = comparison.factor, _fault(comparison.failure)
        self.comparisons.append(ComparedConfiguration(configuration=configuration, factor=factor, failure=failure))
        if failure is not None:
            self.failed.append(configuration)

    def outcome(self, steps: dict[int, Step]) -> OutcomeOfReply:
        """What came of the reply; `steps` as they stand at the end of the session."""
        return OutcomeOfReply(
            reply="refused" if self.problems else "used",
            problems=self.problems,
            decision=self.decision,
            kernel=None if self.kernel is None else self.kernel.id,
            step=None if self.step is None else _told(self.step),
            plan=[_told(steps[number]) for number in self.planned],
            choices=self.choices,
            evaluations=self.evaluations,
            comparisons=self.comparisons,
            best=self._best(),
            new_best=self.new_best,
        )

    def score(self, given_ms: float | None) -> float | None:
        """Binary logarithm of the best's speed-up over the kernel as given; None if nothing right was timed."""
        best = self._best()
        if best is None or best.ms is None or not given_ms:
            return None
        return round(math.log2(given_ms / best.ms), 4)

    def _best(self) -> MeasuredConfiguration | None:
        """The fastest; a kernel that was wrong once is wrong in every configuration."""
        if self.failed and self.kernel is not None:
            return None
        right = [one for one in self.evaluations if one.ms is not None and one.configuration not in self.failed]
        return min(right, key=lambda one: one.ms or 0.0, default=None)


def _told(step: Step) -> StepOutcome:
    return StepOutcome(title=step.title, state=step.state, reason=step.reason, factor=step.factor)


def _fault(failure: Failure | None) -> FailureNote | None:
    return None if failure is None else FailureNote(kind=failure.kind, message=failure.message)


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
        self.calls: list[ModelCall] = []
        self.steps: dict[int, Step] = {}
        self._current: ModelCall | None = None
        self._wrote: dict[str, ModelCall] = {}
        self._chose: dict[tuple[str, str], ModelCall] = {}
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
                self.calls.append(ModelCall(event))
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
        if event.refuted is not None and self._best is not None:
            for call in self._behind(self._best):
                call.new_best = None
        self._best = _key(event.candidate.id, event.evaluation.configuration)
        for call in self._behind(self._best):
            call.new_best = event.speedup

    def _behind(self, key: tuple[str, str]) -> list[ModelCall]:
        """The calls that led to a configuration: the one that wrote the kernel and the one that chose the values."""
        return [call for call in (self._wrote.get(key[0]), self._chose.get(key)) if call is not None]


def _key(candidate: str, configuration: Configuration) -> tuple[str, str]:
    return candidate, repr(sorted(configuration.items()))
