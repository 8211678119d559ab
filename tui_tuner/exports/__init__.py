"""What others can use of a run: its journal, told again as one object, from which every file of this room is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from tui_tuner.app.sessions import replayed_session
from tui_tuner.errors import JournalError
from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.profiling import Diagnosis
from tui_tuner.evaluate.profiling.bottleneck import diagnosis
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation
from tui_tuner.format import (
    configuration_words,
    cost_in_lines,
    counted_in_lines,
    duration,
    factor_in_lines,
    roofline_words,
    time_unit,
    time_words,
)
from tui_tuner.headless import ApproveAll
from tui_tuner.journal.reading import RESULT, header_of
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.model import Problem
from tui_tuner.report import SessionOutcome, count_builds, count_failures, title_of
from tui_tuner.session import events
from tui_tuner.session.run_directory import RunDirectory
from tui_tuner.strategies.steps import UNCHANGED, Factor, Step
from tui_tuner.subjects import KERNEL, subject_of


@dataclass(frozen=True)
class ToldRun:
    """A run of a kernel as its events tell it.

    Attributes:
        told: all events, in their order.
        outcome: what `result.json` says: the best, also that of a session that did not come to its end.
    """

    run: RunDirectory
    outcome: SessionOutcome
    told: list[events.Event] = field(repr=False)

    @property
    def device(self) -> DeviceInfo:
        """The device with its ceilings."""
        return self.outcome.device

    @property
    def is_record(self) -> bool:
        """Whether nothing was run, all times being those of a recording."""
        return kind_named(self.device.kind).is_record

    @cached_property
    def problem(self) -> Problem:
        """At the sizes that this device was tuned for."""
        return kind_named(self.device.kind).sized(self.run.problem)

    @cached_property
    def candidates(self) -> dict[str, Candidate]:
        """The kernel as given and all that were proposed or became the best, by their ids, as each was named first."""
        known = [baseline(self.problem)]
        for event in self.told:
            match event:
                case events.CandidateProposed(candidate=Candidate() as candidate):
                    known.append(candidate)
                case events.IncumbentChanged():
                    known.append(event.candidate)
        found: dict[str, Candidate] = {}
        for candidate in known:
            found.setdefault(candidate.id, candidate)
        return found

    @property
    def best(self) -> Candidate:
        """The kernel that the best configuration is of.

        Raises:
            JournalError: the journal does not tell it.
        """
        found = self.candidates.get(self.outcome.best.candidate)
        if found is None:
            raise JournalError("its best kernel is not on record", hint="resume the run", file=self.run.path)
        return found

    @property
    def diagnosis(self) -> Diagnosis | None:
        """What holds the best back, with its profile where there is one; None where that is not known."""
        best = self.outcome.best
        known = (best.candidate, best.configuration)
        profiled = [e for e in self.told if isinstance(e, events.Profiled) and (e.candidate, e.configuration) == known]
        return profiled[-1].diagnosis if profiled else diagnosis(self.problem, self.device, self.best, best)

    @cached_property
    def evaluations(self) -> list[tuple[float, Evaluation]]:
        """Seconds and what was measured or failed then, the kernel as given first."""
        given = [(e.elapsed, e.given) for e in self.told if isinstance(e, events.BaselineMeasured) and e.tuned is None]
        found = [(e.elapsed, e.evaluation) for e in self.told if isinstance(e, events.EvaluationFinished)]
        return [*given, *found]

    def evaluations_of(self, candidate: Candidate) -> list[Evaluation]:
        """The evaluations of one kernel, each configuration once, the last word on it."""
        found = (evaluation for _, evaluation in self.evaluations if evaluation.candidate == candidate.id)
        return [*{repr(sorted(e.configuration.items())): e for e in found}.values()]


async def told_run(path: Path) -> ToldRun:
    """Tell a run again from its journal; needs neither device nor model.

    Raises:
        UserError: it cannot be read, is not about a kernel, or found nothing yet.
    """
    if subject_of(header_of(path)) is not KERNEL:
        raise JournalError("this is no run of a kernel", hint="`tuner-tui replay` shows it", file=path)
    setup = replayed_session(path)
    async with aclosing(setup.session.events(ApproveAll())) as stream:
        told = [event async for event in stream]
    outcome = outcome_of(setup.run.path)
    if outcome is None or outcome.status == "interrupted":  # killed before what its journal says was written
        known = _outcome_told(setup.run, told)
        outcome = known if outcome is None or (known is not None and _is_faster(known, outcome)) else outcome
    if outcome is None:
        hint = f"tuner-tui resume {setup.run.path}"
        raise JournalError("the run has found nothing yet", hint=hint, file=setup.run.path)
    return ToldRun(setup.run, outcome, told)


def outcome_of(run: Path) -> SessionOutcome | None:
    """What `result.json` of a run says; None where there is none, as beside a journal that was copied.

    Raises:
        JournalError: it is another version's, or cannot be read.
    """
    file = run / RESULT
    try:
        return SessionOutcome.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        hint = f"write it anew: tuner-tui resume {run}"
        raise JournalError(f"cannot be read: {reason}", hint=hint, file=file) from None


def _is_faster(one: SessionOutcome, other: SessionOutcome) -> bool:
    """Whether the best of one was timed as faster than that of another, which may be of later evaluations."""
    first, second = one.best.timing, other.best.timing
    return first is not None and (second is None or first.median < second.median)


EventKind = TypeVar("EventKind", bound=events.Event)


def _last(told: Sequence[events.Event], kind: type[EventKind]) -> EventKind | None:
    return next((event for event in reversed(told) if isinstance(event, kind)), None)


def _outcome_told(run: RunDirectory, told: Sequence[events.Event]) -> SessionOutcome | None:
    """What came of a run, from its events alone; None where not even the kernel as given was timed."""
    ready, finished = _last(told, events.DeviceReady), _last(told, events.SessionFinished)
    given = next((event.given for event in told if isinstance(event, events.BaselineMeasured)), None)
    measured = _last(told, events.BaselineMeasured)
    if given is None or ready is None or finished is None or measured is None:
        return None
    evaluations = [event.evaluation for event in told if isinstance(event, events.EvaluationFinished)]
    comparisons = [event.comparison for event in told if isinstance(event, events.Compared)]
    status = finished.status if finished.status in ("finished", "no_improvement") else "interrupted"
    best, speedup = _best_told(told, given, finished)
    return SessionOutcome(
        program=str(run.journal.header.get("program", "")),
        kernel=str(run.problem.kernel.source),
        status=status,
        reason=finished.reason,
        strategy=run.options.strategy,
        model=run.model,
        seed=run.options.seed,
        device=ready.device,
        sandbox=ready.sandbox,
        time_unit=time_unit(cpu=ready.device.is_cpu),
        baseline=given,
        baseline_tuned=measured.tuned,
        best=best,
        best_title=_title_told(told, best),
        confirmed=finished.confirmed,
        speedup=speedup,
        speedup_over_tuned=None,
        comparison=next((one for one in comparisons if finished.times and _times(one) == finished.times), None),
        evaluations=finished.evaluations,
        builds=count_builds(evaluations),
        failures=count_failures(evaluations),
        model_calls=finished.model_calls,
        model_fault=finished.model_fault,
        cost=finished.cost,
        elapsed_s=told[-1].elapsed,
        library=ready.library,
    )


def _best_told(
    told: Sequence[events.Event], given: Evaluation, finished: events.SessionFinished
) -> tuple[Evaluation, Factor]:
    """The best, and how much faster it is than the kernel as given."""
    changed = _last(told, events.IncumbentChanged)
    best, speedup = (given, UNCHANGED) if changed is None else (changed.evaluation, changed.speedup)
    if not finished.confirmed and finished.times:  # it may be faster than what was compared last
        evaluations = (event.evaluation for event in told if isinstance(event, events.EvaluationFinished))
        best = next((one for one in evaluations if one.timing and one.timing.median == finished.times[1]), best)
    return best, finished.speedup or speedup


def _title_told(told: Sequence[events.Event], best: Evaluation) -> str:
    """What the kernel of an evaluation was proposed as; empty for the kernel as given."""
    proposed = [event.candidate for event in told if isinstance(event, events.CandidateProposed)]
    titles = {candidate.id: title_of(candidate) for candidate in proposed if isinstance(candidate, Candidate)}
    return titles.get(best.candidate, "")


def _times(comparison: Comparison) -> tuple[float, float] | None:
    """Times of both, as the last event of a session has them."""
    if comparison.incumbent is None or comparison.challenger is None:
        return None
    return comparison.incumbent.median, comparison.challenger.median


def summary_lines(told: ToldRun) -> Iterator[str]:
    """The run in lines for people."""
    outcome, unit = told.outcome, told.outcome.time_unit
    yield f"{outcome.kernel} on {outcome.device.name}: {outcome.status.replace('_', ' ')} ({outcome.reason})"
    paired = outcome.paired_times or (None, None)
    for name, evaluation, time in (("as given", outcome.baseline, paired[0]), ("best", outcome.best, paired[1])):
        if evaluation.timing is not None:
            words = f"{time_words(time or evaluation.timing.median, unit)}{roofline_words(evaluation.share)}"
            yield f"{name:<9} {words}, {configuration_words(evaluation.configuration, between=' ')}"
    yield f"{'speed-up':<9} {factor_in_lines(outcome.speedup)}, {outcome.how_timed}"
    if outcome.library is not None:
        yield f"{'library':<9} {outcome.library.against(outcome.best)}"
    if (found := told.diagnosis) is not None:
        yield f"{'held by':<9} {found.cause}"
    if outcome.comparison is not None and outcome.comparison.determinism is not None:
        yield f"{'bits':<9} {outcome.comparison.determinism.in_words}"
    if outcome.speedup_over_tuned is not None:
        yield f"{'':<9} {factor_in_lines(outcome.speedup_over_tuned)} over the kernel as given with its tunables tuned"
    yield from (f"{'step ' + str(step.id):<9} {step_words(step)}" for step in steps_of(told))
    counts = Counter(evaluation.candidate for _, evaluation in told.evaluations)
    for candidate in told.candidates.values():
        if counts[candidate.id]:
            said = counted_in_lines(counts[candidate.id], "evaluation")
            yield f"{'kernel':<9} {candidate.id}  {title_of(candidate)}, {said}"
    failed = "".join(f", {number} {kind}" for kind, number in outcome.failures.items())
    yield f"{'effort':<9} {counted_in_lines(outcome.evaluations, 'evaluation')}{failed}, {calls_words(outcome)}"
    yield f"{'took':<9} {duration(outcome.elapsed_s)}, strategy {outcome.strategy}, {outcome.model or 'no model'}"
    yield f"{'in':<9} {told.run.path}"


def calls_words(outcome: SessionOutcome) -> str:
    """How often the model was asked, and the price of that."""
    return f"{counted_in_lines(outcome.model_calls, 'model call')}{cost_in_lines(outcome.cost)}"


def steps_of(told: ToldRun) -> list[Step]:
    """Every step of the plan in its last state."""
    return [*{event.step.id: event.step for event in told.told if isinstance(event, events.StepChanged)}.values()]


def step_words(step: Step) -> str:
    """Title, state, gain and reason of a step."""
    gain = "" if step.factor is None else f" {factor_in_lines(step.factor)}"
    return f"{step.title}: {step.state}{gain}{f' ({step.reason})' if step.reason else ''}"
