"""A session without a screen: the story on standard error, the result on standard output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, aclosing, nullcontext
from typing import Literal, TextIO

from tui_tuner.errors import ExitCode
from tui_tuner.progress import Teller, Verbosity, json_line
from tui_tuner.session import events
from tui_tuner.session.stream import EventStream
from tui_tuner.story import Story, SubjectStory
from tui_tuner.strategies.steps import Approver, Decision, ModelTrouble, Proposal, Remedy
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
    """Puts every step to the user in a line of the terminal, and reads the answer from the next one.

    Args:
        asking: what holds while a question waits.
    """

    def __init__(self, asking: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self._asking = asking

    async def decide(self, proposal: Proposal) -> Decision:
        """Ask until the answer is one."""
        title = clean(proposal.step.title)
        while True:
            question = f"step {proposal.step.id} awaits you: {title}  [a]pprove, [s]kip, [r]eject WHY"
            answer, words = await self._answer(question)
            if action := _ACTIONS.get(answer.lower()):
                return Decision(action=action, message=words if action == "reject" else "")

    async def _answer(self, question: str) -> tuple[str, str]:
        """The first word of an answer, and the others."""
        with self._asking():
            sys.stderr.write(f"{question}\n")
            sys.stderr.flush()
            answer, _, words = (await _line_of(sys.stdin)).strip().partition(" ")
        return answer, words.strip()

    async def help(self, trouble: ModelTrouble) -> Remedy:
        """Ask until the answer is one."""
        while True:
            reason = clean(trouble.reason)
            question = f"the model failed: {reason}  [r]etry, [m]odel NAME, [s]kip, [w]ithout the model"
            answer, words = await self._answer(question)
            if (action := _REMEDIES.get(answer.lower())) and (action != "switch" or words):
                return Remedy(action=action, model=words if action == "switch" else "")


_REMEDIES: dict[str, Literal["retry", "switch", "skip", "without"]] = {
    "r": "retry", "retry": "retry", "m": "switch", "model": "switch",
    "s": "skip", "skip": "skip", "w": "without", "without": "without",
}  # fmt: skip
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
    approver: Approver | None = None,
) -> ExitCode:
    """Run to the end.

    Args:
        approver: decides on the steps; None to approve all.
        json: as of `Lines`, like the others.

    Raises:
        UserError: something that the user must mend.
    """
    lines = Lines(session.subject, json=json, verbosity=verbosity, out=out, err=err)
    async with lines.teller.ticking(), aclosing(session.events(approver or ApproveAll())) as stream:
        async for event in stream:
            lines.take(event)
    return lines.end()
