"""What the session looks like now: the events so far folded into one view model that the panes draw."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.results import DeviceInfo, Evaluation
from tui_tuner.problem.model import Configuration
from tui_tuner.session import events
from tui_tuner.strategies.steps import Step, StepState
from tui_tuner.subjects import Source

_SETTLED = {StepState.ACCEPTED, StepState.NEUTRAL, StepState.REJECTED, StepState.SKIPPED, StepState.DONE}


@dataclass(frozen=True)
class EvaluationRow:
    """One evaluation; `evaluation` is None while it runs."""

    number: int
    candidate: str
    configuration: Configuration
    evaluation: Evaluation | None = None
    incumbent: bool = False

    @property
    def time(self) -> float:
        """Median time in ms; infinite while it runs and if it failed."""
        timing = None if self.evaluation is None else self.evaluation.timing
        return float("inf") if timing is None else timing.median


@dataclass(frozen=True)
class UnderReview:
    """The candidate that is being considered for a step."""

    step: int
    candidate: Source


@dataclass
class ViewModel:
    """The state of a session as far as the screen shows it.

    Attributes:
        elapsed: seconds since the session began, at the last event.
        given: the kernel as given, in its default configuration.
        best_times: fastest verified time so far, ms, after each evaluation from the first success on.
        titles: of the candidates by id.
        order: ids of the steps as the plan has them.
        frozen: tunables that are frozen, with their values.
        cost: US dollars spent; None once a price was unknown.
    """

    elapsed: float = 0.0
    started: events.SessionStarted | None = None
    device: DeviceInfo | None = None
    steps: dict[int, Step] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    frozen: Configuration = field(default_factory=dict)
    rows: dict[int, EvaluationRow] = field(default_factory=dict)
    best_times: list[float] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    review: UnderReview | None = None
    given: Evaluation | None = None
    incumbent: events.IncumbentChanged | None = None
    evaluations: int = 0
    cost: float | None = 0.0
    finished: events.SessionFinished | None = None

    @property
    def baseline(self) -> Source | None:
        """The source as given."""
        return None if self.started is None else self.started.baseline

    @property
    def plan(self) -> list[Step]:
        """The steps in the order of the plan."""
        return [self.steps[number] for number in self.order]

    def apply(self, event: events.Event) -> None:
        """Fold one event in."""
        self.elapsed = max(self.elapsed, event.elapsed)
        match event:
            case events.SessionStarted():
                self.started = event
                self.titles[event.baseline.id] = event.baseline.title or "baseline"
            case events.DeviceReady():
                self.device = event.device
            case events.StepChanged():
                self._step(event.step)
            case events.PlanOrdered() | events.ParametersFrozen():
                self._replan(event)
            case events.CandidateProposed():
                self._consider(UnderReview(event.step, event.candidate))
            case events.ApprovalAsked(proposal=proposal) if proposal.candidate is not None:
                self._consider(UnderReview(proposal.step.id, proposal.candidate))
            case events.ApprovalGiven(step=step) if self.review is not None and self.review.step == step:
                self._consider(UnderReview(step, event.decision.applied_to(self.review.candidate)))
            case events.BaselineMeasured(tuned=None):
                self._given(event.given)
            case events.EvaluationStarted():
                self.rows[event.number] = EvaluationRow(event.number, event.candidate, event.configuration)
            case events.EvaluationFinished():
                self._evaluated(event.number, event.evaluation)
            case events.IncumbentChanged():
                self._new_incumbent(event)
            case events.ReplyReceived():
                self.cost = None if self.cost is None or event.cost is None else self.cost + event.cost
            case events.SessionFinished():
                self.finished = event
                self.review = None

    def _given(self, given: Evaluation) -> None:
        """The kernel as given is the first row and the first incumbent; it costs no evaluation."""
        self.given = given
        self.rows[1] = EvaluationRow(1, given.candidate, given.configuration, given)
        if given.timing is not None:
            self.best_times.append(given.timing.median)
        self._mark_incumbent()

    def _step(self, step: Step) -> None:
        if step.id not in self.steps:
            self.order.append(step.id)
        self.steps[step.id] = step
        if self.review is not None and self.review.step == step.id and step.state in _SETTLED:
            self.review = None

    def _replan(self, event: events.PlanOrdered | events.ParametersFrozen) -> None:
        """Take an order over, where steps that it does not name stay at the end; or what is frozen."""
        if isinstance(event, events.ParametersFrozen):
            self.frozen = event.frozen
            return
        order = event.order
        self.order = sorted(self.order, key=lambda number: order.index(number) if number in order else len(order))

    def _consider(self, review: UnderReview) -> None:
        self.review = review
        self.titles[review.candidate.id] = review.candidate.title

    def _evaluated(self, number: int, evaluation: Evaluation) -> None:
        row = EvaluationRow(number, evaluation.candidate, evaluation.configuration, evaluation)
        self.rows[number] = row
        self.evaluations += 1
        best = min(self.best_times[-1], row.time) if self.best_times else row.time
        if best < float("inf"):
            self.best_times.append(best)
        self._mark_incumbent()

    def _new_incumbent(self, event: events.IncumbentChanged) -> None:
        self.incumbent = event
        self.titles[event.candidate.id] = event.candidate.title
        self._mark_incumbent()

    def _mark_incumbent(self) -> None:
        """Mark the latest evaluation of the incumbent's configuration, and no other."""
        matching = [number for number, row in self.rows.items() if self._is_incumbent(row)]
        latest = max(matching, default=None)
        for number, row in self.rows.items():
            if row.incumbent != (number == latest):
                self.rows[number] = replace(row, incumbent=not row.incumbent)

    def _is_incumbent(self, row: EvaluationRow) -> bool:
        best = self.given if self.incumbent is None else self.incumbent.evaluation
        if best is None or row.evaluation is None:
            return False
        return (row.candidate, row.configuration) == (best.candidate, best.configuration) and row.evaluation.ok


def time_label(device: DeviceInfo | None) -> str:
    """The unit over a column of times: CPU times and recorded ones say so."""
    return "ms" if device is None else kind_named(device.kind).time_label(device)
