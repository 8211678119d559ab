"""A session without a screen: the story on standard error, the result on standard output."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from typing import Literal, Protocol, TextIO

from tui_tuner.errors import ExitCode
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
)
from tui_tuner.problem.model import Configuration
from tui_tuner.progress import Teller, Verbosity, json_line
from tui_tuner.session import events
from tui_tuner.session.stream import EventStream
from tui_tuner.strategies.steps import Decision, Proposal, Step, StepState
from tui_tuner.subjects import Subject, loaded
from tui_tuner.text import clean

EXIT_CODES = {
    "finished": ExitCode.FINISHED,
    "failed": ExitCode.FAILED,
    "no_improvement": ExitCode.NO_IMPROVEMENT,
    "interrupted": ExitCode.INTERRUPTED,
}


def exit_code_of(finished: events.SessionFinished) -> ExitCode:
    """What the shell is told: a model that never was of use has a code of its own, whatever the machine found."""
    code = EXIT_CODES[finished.status]
    is_over = code in (ExitCode.FINISHED, ExitCode.NO_IMPROVEMENT)
    return ExitCode.NO_MODEL if is_over and finished.model_fault else code


class ApproveAll:
    """Approves every step: what `--auto` means."""

    async def decide(self, proposal: Proposal) -> Decision:
        """Approve."""
        return Decision(action="approve")


class AskInLines:
    """Puts every step to the user in a line of the terminal, and reads the answer from the next one."""

    async def decide(self, proposal: Proposal) -> Decision:
        """Ask until the answer is one."""
        title = clean(proposal.step.title)
        while True:
            sys.stderr.write(f"step {proposal.step.id} awaits you: {title}  [a]pprove, [s]kip, [r]eject WHY\n")
            sys.stderr.flush()
            answer, _, words = (await _line_of(sys.stdin)).strip().partition(" ")
            if action := _ACTIONS.get(answer.lower()):
                return Decision(action=action, message=words.strip() if action == "reject" else "")


_ACTIONS: dict[str, Literal["approve", "skip", "reject"]] = {
    name: action for action in ("approve", "skip", "reject") for name in (action, action[0])
}


async def _line_of(stream: TextIO) -> str:
    """A line, waited for without a thread: one that waits for a key would keep the program from ending.

    Raises:
        asyncio.CancelledError: there is nobody to answer any more.
    """
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(stream, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(stream)
    line = stream.readline()
    if not line:
        raise asyncio.CancelledError
    return line


class Lines:
    """Prints a session: its story a line an event on standard error, its result on standard output.

    Args:
        json: every event as one JSON object a line on `out`, instead of the result as text.
        verbosity: how much of the story is told.
        out: standard output if None.
        err: standard error if None; a terminal shows a line of progress below the story.

    Attributes:
        teller: prints the story.
    """

    def __init__(
        self,
        subject: Subject,
        *,
        json: bool = False,
        verbosity: Verbosity = Verbosity.NORMAL,
        out: TextIO | None = None,
        err: TextIO | None = None,
    ) -> None:
        story: SubjectStory = loaded(subject.story)()
        self._story = Story(story)
        self._json = json
        self._out = out or sys.stdout
        self.teller = Teller(err or sys.stderr, verbosity)
        self._last: events.SessionFinished | None = None

    def hear(self, event: events.Event) -> str | None:
        """Remember an event that was shown already; the line that would tell it."""
        if isinstance(event, events.SessionFinished):
            self._last = event
        self.teller.hear(event)
        return self._story.line(event)

    def take(self, event: events.Event) -> None:
        """Tell an event."""
        if self._json and not event.transient:
            print(json_line(event), file=self._out, flush=True)
        self.teller.tell(event, self.hear(event))

    def end(self) -> ExitCode:
        """Print the result, where there is one: an error that ended the session is told by whoever catches it."""
        if self._last is None:
            return ExitCode.FAILED
        if not self._json:
            print(clean(self._story.result(self._last)), file=self._out, flush=True)
        return exit_code_of(self._last)


async def run_headless(
    session: EventStream,
    *,
    json: bool,
    verbosity: Verbosity = Verbosity.NORMAL,
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> ExitCode:
    """Run to the end.

    Args:
        json: as of `Lines`, like the others.

    Raises:
        UserError: something that the user must mend.
    """
    lines = Lines(session.subject, json=json, verbosity=verbosity, out=out, err=err)
    async with lines.teller.ticking(), aclosing(session.events(ApproveAll())) as stream:
        async for event in stream:
            lines.take(event)
    return lines.end()


__all__ = ["EXIT_CODES", "ApproveAll", "ExitCode", "run_headless"]


_LONGEST = 500
"""Characters of a rationale in a line of the story; the journal and `--output json` have all of it."""


class SubjectStory(Protocol):
    """What a story asks the subject of a session; it hears every event, and remembers what its words need."""

    @property
    def sandbox_label(self) -> str:
        """Stands before the line on how builds are confined."""
        ...

    def line(self, event: events.Event) -> str | None:
        """One line for an event of the subject's own, None for those that say nothing new."""
        ...

    def result(self, event: events.SessionFinished) -> list[str]:
        """What came of the session, as lines."""
        ...

    def effort(self, event: events.SessionFinished) -> str:
        """What was measured."""
        ...


class Story:
    """Events in words; remembers what the words need.

    Args:
        subject: what the session is about, in words of its own.
    """

    def __init__(self, subject: SubjectStory) -> None:
        self._subject = subject
        self._said_of_step: dict[int, str] = {}

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
        return own or _plain_line(event)

    def result(self, event: events.SessionFinished) -> str:
        """The result in words."""
        lines = [f"{event.status.replace('_', ' ')}: {event.reason}", *self._subject.result(event)]
        if event.model_fault:
            lines.append(f"model     was of no use: {' '.join(event.model_fault.split())}")
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
        factor = "" if step.factor is None else f" {factor_in_lines(step.factor)}"
        why = step.reason or (step.detail if step.state is StepState.DONE else "")  # of a plan: its idea
        text = f"step {step.id} {step.title}: {step.state}{factor}{f' ({why})' if why else ''}"
        if step.state is StepState.AWAITING or self._said_of_step.get(step.id) == text:
            return None
        self._said_of_step[step.id] = text
        return text


class KernelStory:
    """The part of a story that only the tuning of a kernel has."""

    sandbox_label = "builds: "

    def __init__(self) -> None:
        self._unit = "ms"
        self._given: events.BaselineMeasured | None = None
        self._best: Evaluation | None = None

    def line(self, event: events.Event) -> str | None:
        """One line for what was measured."""
        match event:
            case events.DeviceReady():
                self._unit = time_unit(cpu=event.device.cpu_times)
            case events.BaselineMeasured():
                self._given = event
                return self._baseline(event)
            case events.EvaluationFinished():
                return self._evaluated(event)
            case events.IncumbentChanged():
                self._best = event.evaluation
                return f"new best: {factor_in_lines(event.speedup)} over the kernel as given"
        return None

    def result(self, event: events.SessionFinished) -> list[str]:
        """The times of the kernel as given and of the best, and the speed-up."""
        lines: list[str] = []
        if self._given is not None and self._given.given.timing is not None:
            given = self._given.given.timing.median if event.times is None else event.times[0]
            lines.append(f"as given  {time_words(given, self._unit)}")
        if event.times is not None and not event.confirmed:
            lines.append(f"best      {time_words(event.times[1], self._unit)}")
        elif self._best is not None and event.times is not None:
            best = self._best
            share = roofline_words(best.share)
            lines.append(f"best      {time_words(event.times[1], self._unit)}{share}, {_values(best.configuration)}")
        if event.speedup is not None:
            how = "both timed in turns on fresh data" if event.confirmed else "not yet timed in turns on fresh data"
            lines.append(f"speed-up  {factor_in_lines(event.speedup)}, {how}")
        return lines

    def effort(self, event: events.SessionFinished) -> str:
        """Evaluations."""
        return counted_in_lines(event.evaluations, "evaluation")

    def _baseline(self, event: events.BaselineMeasured) -> str | None:
        given = event.given.timing
        if event.tuned is not None or given is None:
            return None
        time, ends = time_words(given.median, self._unit), interval_words(given.low, given.high)
        return f"as given: {time} {ends}{roofline_words(event.given.share, decimals=1)}"

    def _evaluated(self, event: events.EvaluationFinished) -> str:
        evaluation = event.evaluation
        head = f"#{event.number} {_values(evaluation.configuration)}"
        if evaluation.timing is not None:
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
    return None


def _values(configuration: Configuration) -> str:
    return configuration_words(configuration, between=" ", nothing="as it is")
