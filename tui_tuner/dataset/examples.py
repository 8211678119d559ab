"""From a run to its lines of the data set: the prompts of the journal, joined with what the replay shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tui_tuner.dataset.attribution import Attribution
from tui_tuner.dataset.call import Call
from tui_tuner.dataset.example import Example, Meta, SessionResult, TurnOfTalk
from tui_tuner.errors import JournalError
from tui_tuner.evaluate.results import DeviceInfo, Evaluation
from tui_tuner.llm.recording import RecordedCall
from tui_tuner.session import events
from tui_tuner.session.run_directory import RunDirectory


@dataclass(frozen=True)
class Examples:
    """The lines of one run.

    Attributes:
        unanswered: calls that brought no whole reply.
        abandoned: lines of the journal with replies on a way that a resumed session did not take again.
    """

    lines: list[Example]
    unanswered: int
    abandoned: list[int]


@dataclass
class _Frame:
    """What the events tell about the session as a whole."""

    started: events.SessionStarted | None = None
    device: DeviceInfo | None = None
    given: Evaluation | None = None
    finished: events.SessionFinished | None = None
    attribution: Attribution = field(default_factory=Attribution)

    def take(self, event: events.Event) -> None:
        match event:
            case events.SessionStarted():
                self.started = event
            case events.DeviceReady():
                self.device = event.device
            case events.BaselineMeasured(tuned=None):
                self.given = event.given
            case events.SessionFinished():
                self.finished = event
        self.attribution.take(event)

    @property
    def given_ms(self) -> float | None:
        """Time of the kernel as given, ms."""
        return None if self.given is None or self.given.timing is None else self.given.timing.median


def examples_of(run: RunDirectory, asked: Sequence[RecordedCall], told: Iterable[events.Event]) -> Examples:
    """One example a reply.

    Args:
        asked: the calls that the journal holds.
        told: the events of the session, replayed to its end.

    Raises:
        JournalError: journal and replay do not fit together, so that it cannot be said what came of a reply.
    """
    frame = _Frame()
    for event in told:
        frame.take(event)
    left: dict[tuple[str, str], list[RecordedCall]] = defaultdict(list)
    for one in sorted(asked, key=lambda one: (one.request.occurrence, one.line)):
        if one.was_sent:
            left[one.request.purpose, one.request.prompt].append(one)
    pairs = [(_question(left, call, run), call) for call in frame.attribution.calls]
    unreached = [one.line for rest in left.values() for one in rest if one.reply is not None]
    last = max((one.line for one, _ in pairs), default=0)
    if max(unreached, default=0) > last:
        raise JournalError(
            "the session cannot be gone through again as far as this reply: a record before it is missing, or the run "
            "was resumed with other options",
            hint="`tuner-tui replay` shows how far it goes",
            file=run.journal.path,
            line=min(line for line in unreached if line > last),
        )
    answered = [(one, call) for one, call in pairs if call.reply is not None]
    lines = [_example(one, call, frame, run) for one, call in answered]
    return Examples(lines, len(pairs) - len(answered), sorted(unreached))


def _question(left: dict[tuple[str, str], list[RecordedCall]], call: Call, run: RunDirectory) -> RecordedCall:
    matching = left[call.sent.purpose, call.sent.text]
    if not matching:
        message = f"holds no question that is call {call.sent.call} ({call.sent.purpose})"
        raise JournalError(message, hint="restore the file from a copy", file=run.journal.path)
    return matching.pop(0)


def _example(asked: RecordedCall, call: Call, frame: _Frame, run: RunDirectory) -> Example:
    reply = "" if call.reply is None else call.reply.text
    talk = [TurnOfTalk(role=message.role, content=message.content) for message in asked.request.messages]
    return Example(
        messages=[*talk, TurnOfTalk(role="assistant", content=reply)],
        thinking="" if call.reply is None else call.reply.thinking,
        schema=asked.request.reply_schema,
        outcome=call.outcome(frame.attribution.steps),
        score=call.score(frame.given_ms),
        meta=_meta(call, frame, run),
    )


def _meta(call: Call, frame: _Frame, run: RunDirectory) -> Meta:
    header, device, end = run.journal.header, frame.device, frame.finished
    return Meta(
        run=run.path.resolve().name,
        program=str(header.get("program", "")),
        created=str(header.get("created", "")),
        kernel=run.problem.kernel.name,
        language=run.problem.language,
        strategy=run.options.strategy,
        seed=run.options.seed,
        model=run.model,
        purpose=call.sent.purpose,
        call=call.sent.call,
        device="" if device is None else device.name,
        architecture="" if device is None else device.architecture,
        toolchain="" if device is None else device.toolchain,
        given_ms=frame.given_ms,
        time_unit="CPU ms" if device is not None and device.cpu_times else "ms",
        input_tokens=0 if call.reply is None else call.reply.input_tokens,
        output_tokens=0 if call.reply is None else call.reply.output_tokens,
        cost=None if call.reply is None else call.reply.cost,
        session=SessionResult(
            status="interrupted" if end is None else end.status,
            reason="" if end is None else end.reason,
            speedup=None if end is None else end.speedup,
        ),
    )
