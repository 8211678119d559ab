"""The story of a session in words: a line for each event, and what came of it."""

from __future__ import annotations

from typing import Protocol

from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.library import LibraryTime
from tui_tuner.evaluate.results import Evaluation
from tui_tuner.format import (
    configuration_words,
    cost_in_lines,
    counted_in_lines,
    factor_in_lines,
    interval_words,
    roofline_words,
    time_unit,
    time_words,
    warm_words,
)
from tui_tuner.problem.model import Configuration
from tui_tuner.report import how_timed
from tui_tuner.session import events
from tui_tuner.strategies.steps import Step, StepState
from tui_tuner.text import in_line

_LONGEST = 500
"""Characters of a rationale in a line of the story; the journal and `--output json` have all of it."""


_AGAIN = "asked again: "
"""Stands before the reason for which a model is asked again for a kernel."""


class SubjectStory(Protocol):
    """What a story asks the subject of a session; it hears every event, and remembers what its words need."""

    @property
    def sandbox_label(self) -> str:
        """Stands before the line on how builds are confined."""

    def line(self, event: events.Event) -> str | None:
        """One line for an event, None for events that say nothing new."""

    def result(self, event: events.SessionFinished) -> list[str]:
        """What came of the session, as lines."""

    def effort(self, event: events.SessionFinished) -> str:
        """What was measured."""


class Story:
    """Events in words; remembers what the words need.

    Args:
        subject: what the session is about, in words of its own.
    """

    def __init__(self, subject: SubjectStory) -> None:
        self._subject = subject
        self._said_of_step: dict[int, tuple[str, str]] = {}
        self._reasons: dict[int, set[str]] = {}

    def line(self, event: events.Event) -> str | None:
        """One line for an event, None for events that say nothing new."""
        own = self._subject.line(event)
        match event:
            case events.SessionStarted():
                return self._started(event)
            case events.DeviceReady():
                return self._device(event)
            case events.StepChanged():
                return self._step(event.step)
        if isinstance(event, events.CHANGES):
            return event.words
        return own or _plain_line(event)

    def result(self, event: events.SessionFinished) -> str:
        """The result in words."""
        lines = [event.words, *self._subject.result(event)]
        if event.model_fault:
            lines.append(f"model     was of no use: {in_line(event.model_fault)}")
        calls = counted_in_lines(event.model_calls, "model call")
        lines.append(f"effort    {self._subject.effort(event)}, {calls}{cost_in_lines(event.cost)}")
        if event.result is not None:
            lines.append(f"written   {event.result} and best.* beside it")
        return "\n".join(lines)

    def _started(self, event: events.SessionStarted) -> str:
        model = event.model or "no model"
        how = "resumed" if event.resumed else "started"
        return f"{how}: {event.kernel}, strategy {event.strategy}, {model}, seed {event.seed}, in {event.directory}"

    def _device(self, event: events.DeviceReady) -> str:
        device = event.device
        limits = "" if device.memory_gbs is None else f", {device.memory_gbs:.0f} GB/s"
        peak = "" if device.flops_gflops is None else f", {device.flops_gflops / 1000:.1f} TFLOP/s float32"
        builds = f"{self._subject.sandbox_label}{event.sandbox}"
        return f"device: {event.title} ({device.backend}){limits}{peak}; {builds}"

    def _step(self, step: Step) -> str | None:
        """What is new of a step; who waits for `--auto` waits no time."""
        why = step.reason or (step.detail if step.state is StepState.DONE else "")  # of a plan: its idea
        factor = "" if step.factor is None else f" {factor_in_lines(step.factor)}"
        text = f"step {step.id} {step.title}: {step.state}{factor}"
        if step.state is StepState.AWAITING or self._said_of_step.get(step.id) == (text, why):
            return None
        self._said_of_step[step.id] = text, why
        return f"{text} ({self._shortened(step.id, why)})" if why else text

    def _shortened(self, step: int, why: str) -> str:
        """A reason; of one that was told of the step before, as each attempt may have it, no more than what it is."""
        _, again, reason = why.rpartition(_AGAIN)
        told = self._reasons.setdefault(step, set())
        if reason not in told:
            told.add(reason)
            return why
        return again.removesuffix(": ") if again else f"{reason.partition(': ')[0]}, as before"


class KernelStory:
    """The part of a story that only the tuning of a kernel has."""

    sandbox_label = "builds: "

    def __init__(self) -> None:
        self._unit = "ms"
        self._is_record = False
        self._given: events.BaselineMeasured | None = None
        self._best: Evaluation | None = None
        self._measured: dict[float, Evaluation] = {}
        self._library: LibraryTime | None = None

    def line(self, event: events.Event) -> str | None:
        """One line for an event, None for events that say nothing new."""
        match event:
            case events.DeviceReady():
                self._unit = time_unit(cpu=event.device.is_cpu)
                self._is_record = kind_named(event.device.kind).is_record
                self._library = event.library
            case events.BaselineMeasured():
                self._given = event
                return self._baseline(event)
            case events.EvaluationFinished():
                return self._evaluated(event)
            case events.IncumbentChanged():
                self._best = event.evaluation
                best = "new best" if event.refuted is None else "the best before it"
                return f"{best}: {factor_in_lines(event.speedup)} over the kernel as given"
        return None

    def result(self, event: events.SessionFinished) -> list[str]:
        """The times of the kernel as given and of the best, and the speed-up."""
        lines: list[str] = []
        if self._given is not None and self._given.given.timing is not None:
            given = self._given.given.timing.median if event.times is None else event.times[0]
            lines.append(f"as given  {time_words(given, self._unit)}")
        best = self._best if event.confirmed or event.times is None else self._measured.get(event.times[1])
        if event.times is not None and (best is not None or not event.confirmed):
            known = f"{roofline_words(best.share)}, {_values(best.configuration)}" if best is not None else ""
            lines.append(f"best      {time_words(event.times[1], self._unit)}{known}")
        if event.speedup is not None:
            nothing_faster = event.confirmed and self._best is None  # what is not yet compared is no one's best
            how = how_timed(confirmed=event.confirmed, is_record=self._is_record, nothing_faster=nothing_faster)
            lines.append(f"speed-up  {factor_in_lines(event.speedup)}, {how}")
        if self._library is not None and self._given is not None:
            lines.append(f"library   {self._library.against(self._best or self._given.given)}")
        return lines

    def effort(self, event: events.SessionFinished) -> str:
        """Evaluations."""
        return counted_in_lines(event.evaluations, "evaluation")

    def _baseline(self, event: events.BaselineMeasured) -> str | None:
        given = event.given.timing
        if event.tuned is not None or given is None:
            return None
        time, ends = time_words(given.median, self._unit), interval_words(given.low, given.high)
        return f"as given: {time} {ends}{roofline_words(event.given.share, decimals=1)}{warm_words(given.warm)}"

    def _evaluated(self, event: events.EvaluationFinished) -> str:
        evaluation = event.evaluation
        head = f"#{event.number} {_values(evaluation.configuration)}"
        if evaluation.timing is not None:
            self._measured.setdefault(evaluation.timing.median, evaluation)
            return f"{head}: {time_words(evaluation.timing.median, self._unit)}"
        failure = evaluation.failure
        return head if failure is None else f"{head}: {failure.kind}: {failure.message}"


def _plain_line(event: events.Event) -> str | None:
    match event:
        case events.CandidateProposed():
            words = " ".join(event.rationale.split()) or event.candidate.title
            return f"proposed for step {event.step}: {words if len(words) <= _LONGEST else f'{words[:_LONGEST]} ...'}"
        case events.PromptSent():
            return f"prompt {event.call} ({event.purpose}): about {event.tokens} tokens"
        case events.ReplyReceived():
            return f"reply {event.call}: {event.output_tokens} tokens{cost_in_lines(event.cost)}"
        case events.ReplyRefused():
            return f"reply {event.call} refused: {'; '.join(event.problems)}"
        case events.ParametersFrozen():
            return f"held from now on: {_values(event.frozen)}" if event.frozen else "all tunables are free"
        case events.UserSaid():
            return f"you: {event.text}"
        case events.Note():
            return f"{'warning: ' if event.level == 'warning' else ''}{event.text}"
    return _asked_line(event)


def pair_line(event: events.PairCompared) -> str:
    """What came of a comparison that the user wanted."""
    named = event.first.candidate != event.second.candidate
    of = [
        f"{one.candidate if named else ''} {_values(one.configuration)}".strip() for one in (event.first, event.second)
    ]
    head, found = f"compared at your wish: {of[1]} against {of[0]}", event.comparison
    if found is None or found.failure is not None:
        return f"{head}: {event.fault if found is None or found.failure is None else found.failure.in_words}"
    return f"{head}: {event.verdict}, {factor_in_lines(found.factor)}"


def _asked_line(event: events.Event) -> str | None:
    match event:
        case events.CallFailed():
            return f"call {event.call} failed: {event.reason}"
        case events.QuestionAsked() | events.AnswerReceived():
            return f"{'you ask' if isinstance(event, events.QuestionAsked) else 'answer'}: {event.text}"
        case events.AnswerFailed():
            return f"no answer: {event.reason}"
        case events.PairCompared():
            return pair_line(event)
    return None


def _values(configuration: Configuration) -> str:
    return configuration_words(configuration, between=" ", nothing="as it is")
