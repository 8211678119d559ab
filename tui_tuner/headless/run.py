"""Running a session without a screen: what it returns to the shell, and who approves."""

from __future__ import annotations

import sys
from contextlib import aclosing
from typing import TextIO

from tui_tuner.errors import ExitCode
from tui_tuner.format import clock_in_lines
from tui_tuner.headless.story import Story, SubjectStory
from tui_tuner.session import events
from tui_tuner.session.stream import EventStream
from tui_tuner.strategies.steps import Decision, Proposal
from tui_tuner.subjects import loaded
from tui_tuner.text import clean

EXIT_CODES = {
    "finished": ExitCode.FINISHED,
    "failed": ExitCode.FAILED,
    "no_improvement": ExitCode.NO_IMPROVEMENT,
    "interrupted": ExitCode.INTERRUPTED,
}


class ApproveAll:
    """Approves every step: what `--auto` means."""

    async def decide(self, proposal: Proposal) -> Decision:
        """Approve."""
        return Decision(action="approve")


async def run_headless(
    session: EventStream, *, json: bool, out: TextIO | None = None, err: TextIO | None = None
) -> ExitCode:
    """Run to the end.

    Args:
        json: every event as one JSON object a line on `out`, instead of the result as text.
        out: standard output if None.
        err: standard error if None.

    Raises:
        UserError: something that the user must mend.
    """
    out, err = out or sys.stdout, err or sys.stderr
    last: events.SessionFinished | None = None
    subject: SubjectStory = loaded(session.subject.story)()
    story = Story(subject)
    async with aclosing(session.events(ApproveAll())) as stream:
        async for event in stream:
            if json and not event.transient:
                print(event.model_dump_json(), file=out, flush=True)
            line = story.line(event)
            if line is not None:
                print(f"{clock_in_lines(event.elapsed)} {' '.join(clean(line).split())}", file=err, flush=True)
            if isinstance(event, events.SessionFinished):
                last = event
    if last is None:
        return ExitCode.FAILED
    if not json:  # an error that ended the session is told by whoever catches it
        print(clean(story.result(last)), file=out, flush=True)
    return EXIT_CODES[last.status]
