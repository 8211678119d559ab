"""`tuner-tui export-dataset`: sessions as conversations with their measured outcome, one line of JSON a call.

The prompts of a run's journal are joined with what a replay of it shows."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from pydantic import TypeAdapter, ValidationError

from tui_tuner.app.sessions import KernelSessionSetup, replayed_session
from tui_tuner.errors import ExitCode, JournalError, SettingsError, UserError
from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation
from tui_tuner.format import counted_in_lines
from tui_tuner.headless import ApproveAll
from tui_tuner.journal.reading import Record, journal_of, read_journal
from tui_tuner.lab.attribution import Attribution, ModelCall
from tui_tuner.lab.dataset_example import Example, Meta, SessionResult, TurnOfTalk
from tui_tuner.llm.replay import RecordedCall, call_of, fault_in, is_call
from tui_tuner.session import events
from tui_tuner.session.run_directory import RunDirectory
from tui_tuner.strategies.steps import Decision
from tui_tuner.text import say


@dataclass(frozen=True)
class LineFilter:
    """Which lines are written.

    Attributes:
        min_speedup: least speed-up over the kernel as given of what a reply brought; None for all replies.
        accepted_only: whether only replies count whose work the session took over.
    """

    min_speedup: float | None = None
    accepted_only: bool = False

    def takes(self, example: Example) -> bool:
        """Whether a line is written."""
        if self.accepted_only and not example.outcome.accepted:
            return False
        return self.min_speedup is None or (example.speedup or 0.0) >= self.min_speedup


async def export_dataset(runs: Sequence[Path], output: Path | None, lines: LineFilter) -> ExitCode:
    """Write the lines of all runs to a new file, or to standard output; the story goes to standard error.

    A run that cannot be read costs its own lines and the exit code, not the lines of the others.

    Raises:
        SettingsError: the output exists already or cannot be written.
    """
    if output is None:
        return await _export(runs, sys.stdout, lines)
    try:
        with output.open("x", encoding="ascii") as file:
            return await _export(runs, file, lines)
    except FileExistsError:
        raise SettingsError("is there already", hint="name another --output, or remove it", file=output) from None
    except OSError as error:
        raise SettingsError(f"cannot be written: {error.strerror}", file=output) from None


async def _export(runs: Iterable[Path], out: TextIO, lines: LineFilter) -> ExitCode:
    total = broken = 0
    for path in runs:
        try:
            found = await _examples(path)
        except UserError as error:
            broken += 1
            say(f"tuner-tui: {error}")
            continue
        taken = [example for example in found.lines if lines.takes(example)]
        total += len(taken)
        for example in taken:
            print(example.line(), file=out)
        out.flush()
        say(f"{path}: {_story(found, len(taken))}")
    say(
        f"{counted_in_lines(total, 'line')} written"
        + (f", {counted_in_lines(broken, 'run')} could not be read" if broken else "")
    )
    return ExitCode.FAILED if broken else ExitCode.FINISHED


async def _examples(path: Path) -> RunExamples:
    """The lines of one run.

    Raises:
        UserError: it cannot be read or gone through again.
    """
    file = journal_of(path)
    asked = questions_in(file)
    setup = replayed_session(path)
    try:
        return examples_of(setup.run, asked, await _events(setup))
    except (ValidationError, KeyError) as error:
        message = f"a record is not what this version of the program writes: {error}"
        raise JournalError(message, hint="`tuner-tui replay` shows how far it goes", file=file) from error


async def _events(setup: KernelSessionSetup) -> list[events.Event]:
    async with aclosing(setup.session.events(ApproveAll())) as stream:
        return [event async for event in stream if not isinstance(event, events.ModelText)]


def _story(found: RunExamples, written: int) -> str:
    calls = len(found.lines) + found.unanswered
    parts = [
        counted_in_lines(calls, "call of the model", "calls of the model"),
        f"{counted_in_lines(written, 'line')} written",
    ]
    if found.unanswered:
        parts.append(f"{found.unanswered} without a whole reply")
    if len(found.lines) > written:
        parts.append(f"{len(found.lines) - written} left out as asked for")
    if found.abandoned:
        places = ", ".join(map(str, found.abandoned))
        parts.append(f"not exported: replies that the resumed session did not take up again, in line {places}")
    return ", ".join(parts)


@dataclass(frozen=True)
class RunExamples:
    """The lines of one run.

    Attributes:
        unanswered: calls that brought no whole reply.
        abandoned: lines of the journal with replies on a way that a resumed session did not take again.
    """

    lines: list[Example]
    unanswered: int
    abandoned: list[int]


@dataclass
class _SessionFrame:
    """What the events tell about the session as a whole."""

    device: DeviceInfo | None = None
    given: Evaluation | None = None
    finished: events.SessionFinished | None = None
    attribution: Attribution = field(default_factory=Attribution)

    def take(self, event: events.Event) -> None:
        match event:
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
        return None if self.given is None else self.given.ms


def examples_of(run: RunDirectory, asked: Sequence[RecordedCall], told: Iterable[events.Event]) -> RunExamples:
    """One example a reply.

    Args:
        asked: the calls that the journal holds.
        told: the events of the session, replayed to its end.

    Raises:
        JournalError: journal and replay do not fit together, so that it cannot be said what came of a reply.
    """
    frame = _SessionFrame()
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
    return RunExamples(lines, len(pairs) - len(answered), sorted(unreached))


def _question(left: dict[tuple[str, str], list[RecordedCall]], call: ModelCall, run: RunDirectory) -> RecordedCall:
    matching = left[call.sent.purpose, call.sent.text]
    if not matching:
        message = f"holds no question that is call {call.sent.call} ({call.sent.purpose})"
        raise JournalError(message, hint="restore the file from a copy", file=run.journal.path)
    return matching.pop(0)


def _example(asked: RecordedCall, call: ModelCall, frame: _SessionFrame, run: RunDirectory) -> Example:
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


def _meta(call: ModelCall, frame: _SessionFrame, run: RunDirectory) -> Meta:
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
        time_unit="CPU ms" if device is not None and device.is_cpu else "ms",
        input_tokens=0 if call.reply is None else call.reply.input_tokens,
        output_tokens=0 if call.reply is None else call.reply.output_tokens,
        cost=None if call.reply is None else call.reply.cost,
        session=SessionResult(
            status="interrupted" if end is None else end.status,
            reason="" if end is None else end.reason,
            speedup=None if end is None else end.speedup,
        ),
    )


_RESULTS: Mapping[str, TypeAdapter[Any]] = {
    "evaluate": TypeAdapter(Evaluation),
    "compare": TypeAdapter(Comparison),
    "approve": TypeAdapter(Decision),
}


def questions_in(file: Path) -> list[RecordedCall]:
    """All calls in their order; of one that was repeated when the run was resumed, the last.

    Raises:
        JournalError: the file is no journal or a line of it is damaged; file and line are named.
    """
    calls: dict[str, RecordedCall] = {}
    for record in read_journal(file).records:
        try:
            if is_call(record):
                calls[record.key] = call_of(record)
            else:
                _check(record)
        except (ValidationError, KeyError) as error:
            hint = "restore the file from a copy"
            what = fault_in(error) if isinstance(error, ValidationError) else f"it lacks {error}"
            raise JournalError(f"is damaged here: {what}", hint=hint, file=file, line=record.line) from None
    return list(calls.values())


def _check(record: Record) -> None:
    if record.kind == "device":
        _check_device(record.result)
    elif record.kind in _RESULTS and record.is_done:
        _RESULTS[record.kind].validate_python(record.result)


def _check_device(result: Mapping[str, Any]) -> None:
    known = {name: result[name] for name in ("device", "sandbox", "note", "given")}
    TypeAdapter(MachineReport).validate_python({**known, "tests": result.get("tests", [])})
