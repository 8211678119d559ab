"""`tuner-tui export-dataset`: sessions as conversations with their measured outcome, one line of JSON a call."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from pydantic import ValidationError

from tui_tuner.commands.sessions import Prepared, replayed_session
from tui_tuner.dataset.example import Example
from tui_tuner.dataset.examples import Examples, examples_of
from tui_tuner.dataset.questions import questions_in
from tui_tuner.errors import JournalError, SettingsError, UserError
from tui_tuner.format import counted_in_lines
from tui_tuner.headless import ApproveAll, ExitCode
from tui_tuner.journal.reading import journal_of
from tui_tuner.session.events import Event, ModelText
from tui_tuner.text import clean


@dataclass(frozen=True)
class Wanted:
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


def export_dataset(runs: Sequence[Path], output: Path | None, wanted: Wanted) -> ExitCode:
    """Write the lines of all runs to a new file, or to standard output; the story goes to standard error.

    A run that cannot be read costs its own lines and the exit code, not the lines of the others.

    Raises:
        SettingsError: the output exists already or cannot be written.
    """
    if output is None:
        return _export(runs, sys.stdout, wanted)
    try:
        with output.open("x", encoding="ascii") as file:
            return _export(runs, file, wanted)
    except FileExistsError:
        raise SettingsError("is there already", hint="name another --output, or remove it", file=output) from None
    except OSError as error:
        raise SettingsError(f"cannot be written: {error.strerror}", file=output) from None


def _export(runs: Iterable[Path], out: TextIO, wanted: Wanted) -> ExitCode:
    total = broken = 0
    for path in runs:
        try:
            found = _examples(path)
        except UserError as error:
            broken += 1
            _tell(f"tuner-tui: {error}")
            continue
        lines = [example for example in found.lines if wanted.takes(example)]
        total += len(lines)
        for example in lines:
            print(example.line(), file=out)
        out.flush()
        _tell(f"{path}: {_story(found, len(lines))}")
    _tell(
        f"{counted_in_lines(total, 'line')} written"
        + (f", {counted_in_lines(broken, 'run')} could not be read" if broken else "")
    )
    return ExitCode.FAILED if broken else ExitCode.FINISHED


def _examples(path: Path) -> Examples:
    """The lines of one run.

    Raises:
        UserError: it cannot be read or gone through again.
    """
    file = journal_of(path)
    asked = questions_in(file)
    prepared = replayed_session(path)
    try:
        return examples_of(prepared.run, asked, asyncio.run(_events(prepared)))
    except (ValidationError, KeyError) as error:
        message = f"a record is not what this version of the program writes: {error}"
        raise JournalError(message, hint="`tuner-tui replay` shows how far it goes", file=file) from error


async def _events(prepared: Prepared) -> list[Event]:
    async with aclosing(prepared.session.events(ApproveAll())) as stream:
        return [event async for event in stream if not isinstance(event, ModelText)]


def _story(found: Examples, written: int) -> str:
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


def _tell(text: str) -> None:
    print(clean(text), file=sys.stderr)  # noqa: T201 (the story)
