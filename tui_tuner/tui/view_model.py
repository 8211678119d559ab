"""What the session looks like now: the events so far folded into one view model that the panes draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.profiling import Diagnosis
from tui_tuner.evaluate.results import DeviceInfo, Evaluation, Failure
from tui_tuner.problem.model import Configuration
from tui_tuner.session import events
from tui_tuner.strategies.steps import ApprovalLevel, Step, StepState
from tui_tuner.subjects import Source
from tui_tuner.tui.under_way import UnderWay

_SETTLED = {StepState.ACCEPTED, StepState.NEUTRAL, StepState.REJECTED, StepState.SKIPPED, StepState.DONE}
_BEGUN = {
    StepState.AWAITING: "not answered when the session ended",
    StepState.RUNNING: "not done when the session ended",
}
"""What is said of a step that was in such a state at the end."""


@dataclass(frozen=True)
class EvaluationRow:
    """One evaluation; `evaluation` is None while it runs.

    Attributes:
        doubt: what is wrong with another configuration of the same kernel that had passed the checks as well.
    """

    number: int
    candidate: str
    configuration: Configuration
    evaluation: Evaluation | None = None
    incumbent: bool = False
    diagnosis: Diagnosis | None = None
    doubt: Failure | None = None

    @property
    def time(self) -> float:
        """Median time in ms; infinite while it runs and if it failed."""
        return float("inf") if self.evaluation is None or self.evaluation.ms is None else self.evaluation.ms


@dataclass(frozen=True)
class UnderReview:
    """The candidate that is being considered for a step.

    Attributes:
        before: the one that was considered for the same step before it; None if it is the first.
        edited: whether it is as the user edited it.
    """

    step: int
    candidate: Source
    before: Source | None = None
    edited: bool = False


@dataclass
class ViewModel:
    """The state of a session as far as the screen shows it.

    Attributes:
        elapsed: seconds since the session began, at the last event.
        given: the kernel as given, in its default configuration.
        changed_rows: numbers of the rows that are new, changed or gone since they were last taken.
        best_times: the best so far after each evaluation from the first success on, ms: the incumbent's time, or what
            was timed faster since it was last compared, see `confirmed`.
        best_at: when each of them came, in seconds since the session began.
        pairs: what was compared in turns at the user's wish, by number.
        titles: of the candidates by id, each as it was named first: a later step may propose the same again.
        sources: the candidates by id.
        order: ids of the steps as the plan has them.
        frozen: tunables that are frozen, with their values.
        under_way: what the session is at.
        cost: US dollars spent; None once a price was unknown.
        paused: whether the user holds the session.
        level: what the user is asked about.
    """

    elapsed: float = 0.0
    started: events.SessionStarted | None = None
    device: DeviceInfo | None = None
    device_title: str = ""
    steps: dict[int, Step] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    frozen: Configuration = field(default_factory=dict)
    rows: dict[int, EvaluationRow] = field(default_factory=dict)
    changed_rows: set[int] = field(default_factory=set)
    best_times: list[float] = field(default_factory=list)
    best_at: list[float] = field(default_factory=list)
    pairs: dict[int, events.PairAsked | events.PairCompared] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    review: UnderReview | None = None
    given: Evaluation | None = None
    incumbent: events.IncumbentChanged | None = None
    evaluations: int = 0
    under_way: UnderWay = field(default_factory=UnderWay)
    cost: float | None = 0.0
    paused: bool = False
    level: ApprovalLevel = ApprovalLevel.KERNEL
    finished: events.SessionFinished | None = None
    _starred: int = 0
    _considered: dict[int, UnderReview] = field(default_factory=dict)
    _refuted: dict[str, Failure] = field(default_factory=dict)

    @property
    def is_live(self) -> bool:
        """Whether the session goes on, and its user does not hold it."""
        return self.started is not None and self.finished is None and not self.paused

    @property
    def baseline(self) -> Source | None:
        """The source as given."""
        return None if self.started is None else self.started.baseline

    @property
    def plan(self) -> list[Step]:
        """The steps in the order of the plan."""
        return [self.steps[number] for number in self.order]

    @property
    def evaluations_left(self) -> int | None:
        """How many more may be made; None before the session has begun."""
        return None if self.started is None else max(0, self.started.max_evaluations - self.evaluations)

    @property
    def current_step(self) -> Step | None:
        """The step that awaits the user, or else the first that is under way; none once the session is over."""
        for state in () if self.finished is not None else (StepState.AWAITING, StepState.RUNNING, StepState.VALIDATED):
            for step in self.plan:
                if step.state is state:
                    return step
        return None

    def apply(self, event: events.Event) -> None:
        """Fold one event in."""
        self.elapsed = max(self.elapsed, event.elapsed)
        self.under_way.apply(event, self.current_step)
        self._measured(event)
        self._controlled(event)
        match event:
            case events.SessionStarted():
                self.started = event
                self._know(event.baseline)
                self.titles[event.baseline.id] = "as given"  # as it is called everywhere else
            case events.DeviceReady():
                self.device, self.device_title = event.device, event.title
            case events.StepChanged():
                self._step(event.step)
            case events.PlanOrdered():
                self._replan(event.order)
            case events.ParametersFrozen():
                self.frozen = event.frozen
            case events.CandidateProposed():
                self._consider(UnderReview(event.step, event.candidate))
            case events.ApprovalAsked(proposal=proposal) if proposal.candidate is not None:
                self._consider(UnderReview(proposal.step.id, proposal.candidate))
            case events.ApprovalGiven(step=step, decision=said) if self.review is not None and self.review.step == step:
                edited = said.applied_to(self.review.candidate)
                self._consider(UnderReview(step, edited, edited=said.source is not None))
            case events.ReplyReceived() | events.AnswerReceived() | events.AnswerFailed():
                self.cost = None if self.cost is None or event.cost is None else self.cost + event.cost
            case events.PairAsked() | events.PairCompared():
                self.pairs[event.number] = event
            case events.SessionFinished():
                self.finished = event
                self.review = self.review if event.status == "interrupted" else None  # it awaits whoever resumes it
                self._let_go()

    def _controlled(self, event: events.Event) -> None:
        """What the user changed; `started` says what is in force."""
        changes: dict[str, object] = {}
        match event:
            case events.PauseChanged():
                self.paused = event.paused
            case events.ApprovalLevelChanged():
                self.level = event.level
            case events.BudgetChanged():
                changes = event.limits
            case events.ModelChanged():
                changes = {"model": event.model}
            case events.StrategyChanged():
                changes = {"strategy": event.strategy}
        if changes and self.started is not None:
            self.started = self.started.model_copy(update=changes)

    def _measured(self, event: events.Event) -> None:
        """What was measured, and what is the best of it."""
        match event:
            case events.BaselineMeasured(tuned=None):
                self._given(event)
            case events.EvaluationStarted():
                self._put(EvaluationRow(event.number, event.candidate, event.configuration))
            case events.EvaluationLeft():
                self._drop(event.number)
            case events.EvaluationFinished():
                self._evaluated(event)
            case events.IncumbentChanged():
                self._new_incumbent(event)
            case events.Compared(comparison=told) if told.failure is not None:
                self._refute(event.candidate, event.configuration, told.failure)
                self._settle_best()
            case events.Compared(comparison=told) if told.low <= 1:
                self._settle_best()  # what is faster is accepted next, or the end of its step says that it is not
            case events.Profiled():
                about = (event.candidate, event.configuration)
                for row in [row for row in self.rows.values() if (row.candidate, row.configuration) == about]:
                    self._put(replace(row, diagnosis=event.diagnosis))

    def _given(self, event: events.BaselineMeasured) -> None:
        """The kernel as given is the first row and the first incumbent; it costs no evaluation."""
        self.given = given = event.given
        self._put(EvaluationRow(1, given.candidate, given.configuration, given, diagnosis=event.diagnosis))
        if given.timing is not None:
            self._came(given.timing.median)
        self._mark_incumbent()

    def _step(self, step: Step) -> None:
        if step.id not in self.steps:
            self.order.append(step.id)
        self.steps[step.id] = step
        if step.state in _SETTLED:
            self.review = None if self.review is not None and self.review.step == step.id else self.review
            self._settle_best()

    def _let_go(self) -> None:
        """Nothing is under way any more, nor awaits the user, whatever was when the session ended."""
        for step in [step for step in self.plan if step.state in _BEGUN]:
            self.steps[step.id] = step.model_copy(update={"state": StepState.PROPOSED, "reason": _BEGUN[step.state]})
        for number in [number for number, row in self.rows.items() if row.evaluation is None]:
            self._drop(number)

    def _drop(self, number: int) -> None:
        self.rows.pop(number, None)
        self.changed_rows.add(number)

    def _replan(self, order: Sequence[int]) -> None:
        """Take an order over, where steps that it does not name stay at the end."""
        self.order = sorted(self.order, key=lambda number: order.index(number) if number in order else len(order))

    def _know(self, source: Source) -> None:
        self.titles.setdefault(source.id, source.title)
        self.sources.setdefault(source.id, source)

    def _consider(self, review: UnderReview) -> None:
        last = self._considered.get(review.step)
        if last is not None:
            again, edited = last.candidate == review.candidate, last.edited or review.edited
            review = replace(last, edited=edited) if again else replace(review, before=last.candidate)
        self.review = self._considered[review.step] = review
        self._know(review.candidate)

    def _evaluated(self, event: events.EvaluationFinished) -> None:
        number, of, values = event.number, event.evaluation.candidate, event.evaluation.configuration
        self._put(row := EvaluationRow(number, of, values, event.evaluation, diagnosis=event.diagnosis))
        self.evaluations += 1
        best = min(self.best_times[-1], row.time) if self.best_times else row.time
        if best < float("inf"):
            self._came(best)
        if self._is_incumbent(row) and number > self._starred:
            self._star(number)

    def _came(self, best: float) -> None:
        self.best_times.append(best)
        self.best_at.append(self.elapsed)

    def _put(self, row: EvaluationRow) -> None:
        self.rows[row.number] = replace(row, doubt=self._refuted.get(row.candidate))
        self.changed_rows.add(row.number)

    def take_changed_rows(self) -> set[int]:
        """The numbers of the rows that are new, changed or gone since this was last asked."""
        changed, self.changed_rows = self.changed_rows, set()
        return changed

    def _new_incumbent(self, event: events.IncumbentChanged) -> None:
        best = None if self.incumbent is None else self.incumbent.evaluation
        if event.refuted is not None and best is not None:
            self._refute(best.candidate, best.configuration, event.refuted)
        self.incumbent = event
        self._know(event.candidate)
        self._mark_incumbent()
        self._settle_best()

    def _refute(self, candidate: str, configuration: Configuration, failure: Failure) -> None:
        """Show what had passed the checks as what is wrong with it; the rest of its kernel is in doubt from now on."""
        self._refuted.setdefault(candidate, failure)
        for row in [row for row in self.rows.values() if row.candidate == candidate]:
            evaluation = row.evaluation
            if row.configuration == configuration and evaluation is not None and evaluation.ok:
                evaluation = evaluation.model_copy(update={"failure": failure, "timing": None})
            self._put(replace(row, evaluation=evaluation))

    @property
    def speedup(self) -> tuple[float, float, float] | None:
        """Of the best over the kernel as given, wherever it is shown: at the end from timing both in turns."""
        if self.finished is not None and self.finished.speedup is not None:
            return self.finished.speedup
        return None if self.incumbent is None else self.incumbent.speedup

    @property
    def confirmed(self) -> bool:
        """Whether the best time is the incumbent's, and not one that is still to be compared with it."""
        return not self.best_times or self.best_times[-1] == self._incumbent_ms

    @property
    def _incumbent_ms(self) -> float | None:
        best = self.given if self.incumbent is None else self.incumbent.evaluation
        return None if best is None else best.ms

    def _settle_best(self) -> None:
        """What was compared with the incumbent is it now, or is not better and never was: the best only falls."""
        best, place = self._incumbent_ms, len(self.best_times) - 1
        while best is not None and place >= 0 and (place == len(self.best_times) - 1 or self.best_times[place] < best):
            self.best_times[place] = best
            place -= 1

    def _mark_incumbent(self) -> None:
        """Mark the latest evaluation of the incumbent's configuration, and no other."""
        self._star(max((number for number, row in self.rows.items() if self._is_incumbent(row)), default=0))

    def _star(self, number: int) -> None:
        for each, incumbent in ((self._starred, False), (number, True)):
            if each in self.rows:
                self._put(replace(self.rows[each], incumbent=incumbent))
        self._starred = number

    def _is_incumbent(self, row: EvaluationRow) -> bool:
        best = self.given if self.incumbent is None else self.incumbent.evaluation
        if best is None or row.evaluation is None:
            return False
        return (row.candidate, row.configuration) == (best.candidate, best.configuration) and row.evaluation.ok


def time_label(device: DeviceInfo | None) -> str:
    """The unit over a column of times: CPU times and recorded ones say so."""
    return "ms" if device is None else kind_named(device.kind).time_label(device)
