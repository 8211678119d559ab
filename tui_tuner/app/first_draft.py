"""One kernel's draft as the rules write it, before anything is run, and the command that writes it."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread
from typing import TypeVar

from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.amendments import NO_AMENDMENTS, Amendments
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.draft.proposed_facts import ProposedFacts
from tui_tuner.problem.load import Written, problem_in_text, unchecked_problem
from tui_tuner.problem.toml_file import read_text
from tui_tuner.resources import write_whole

Result = TypeVar("Result")
Tell = Callable[[str], None]
_TOLD_EACH_S = 10.0


async def off_the_loop(work: Callable[..., Result], *arguments: object) -> Result:
    """What work of seconds comes to, on a thread that nobody waits for who is interrupted meanwhile."""
    outcome: Future[Result] = Future()
    outcome.set_running_or_notify_cancel()

    def run() -> None:
        try:
            outcome.set_result(work(*arguments))
        except BaseException as error:  # it is raised where it is awaited
            outcome.set_exception(error)

    Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(outcome)


def draft_of(
    file: Path,
    kernel: str | None,
    host: Path | None = None,
    amendments: Amendments = NO_AMENDMENTS,
    facts: ProposedFacts | None = None,
) -> Written:
    """The problem of one kernel, as its text, the host's code, a model and earlier runs have it.

    Raises:
        ProblemError: there is none, or as `Unloaded` one that says what is not possible; the hint says what to write.
    """
    target = file.with_suffix(".toml")
    try:
        text = scaffold(file, kernel, amendments, host, facts)
    except ProblemError as error:
        hint = (error.hint or "").replace("--kernel NAME", f"tuner-tui {file}:NAME")
        raise ProblemError(error.message, hint=hint, file=error.file, line=error.line) from None
    try:
        return Written(problem_in_text(text, target), text, target, is_drafted=True, host=host)
    except ProblemError as error:
        hint = (
            f"{error.hint + '; ' if error.hint else ''}write the draft with: {init_command(file, kernel, host)}, "
            f"and correct line {error.line}"
        )
        first = Written(unchecked_problem(text, target), text, target, is_drafted=True, host=host)
        raise Unloaded(error, hint, first) from None


def taken_out(file: Path) -> tuple[Path, Path | None]:
    """Write the kernels that a script has as texts into a file of their own.

    Returns:
        That file, and the script if it says the launch; of any other file that and nothing.

    Raises:
        ProblemError: no text of a kernel can be read, there is such a file with something else in it, or it cannot
            be written.
    """
    if file.suffix != ".py" or not file.is_file():
        return file, None
    from tui_tuner.problem.draft.script.in_c import kernels_in_script  # few sessions have a script

    found = kernels_in_script(file, read_text(file))
    if found is None:
        return file, None
    own, text = file.with_suffix(found.ending), found.text.strip("\n") + "\n"
    host = file if found.says_launch else None
    try:
        if own.exists():
            if own.read_bytes() != text.encode():
                given = f" --host {file}" if host else ""
                hint = f"move it away; or take what is in it: tuner-tui init {own}{given}"
                raise ProblemError(f"is there already, and is not the kernel of {file.name}", hint=hint, file=own)
        else:
            write_whole(own, text)
    except OSError as error:
        raise ProblemError(f"cannot be written: {error.strerror}", file=own) from None
    return own, host


def init_command(file: Path, kernel: str | None, host: Path | None) -> str:
    """The command that writes the draft."""
    more = "" if host is None else f" --host {shlex.quote(str(host))}"
    return f"tuner-tui init {shlex.quote(str(file))}{'' if kernel is None else f' --kernel {kernel}'}{more}"


class Unloaded(ProblemError):
    """A draft was written, and what it says is not possible, which a model may mend.

    Attributes:
        written: that draft, with its problem unchecked.
    """

    def __init__(self, error: ProblemError, hint: str, written: Written) -> None:
        super().__init__(f"the problem drafted from the source does not hold: {error.message}", hint=hint)
        self.written = written


def loaded_or_not(draft: Callable[..., Written], *arguments: object) -> Written | Unloaded:
    """What `draft` comes to, also where that does not load.

    Raises:
        UserError: there is not even such a draft.
    """
    try:
        return draft(*arguments)
    except Unloaded as refused:
        return refused


def written_in(first: Written | Unloaded) -> Written:
    """The draft itself, which need not load."""
    return first.written if isinstance(first, Unloaded) else first


class Doing:
    """Tells what is done for a draft, and every few seconds that it still is."""

    def __init__(self, tell: Tell | None) -> None:
        self._tell = tell or (lambda _: None)
        self._words = ""

    def tries(self, written: Written) -> None:
        """Runs a kernel as it was drafted, which is told only where it takes long."""
        self._words = f"running {written.problem.kernel.name} to see whether its draft holds"

    def asks(self, words: str) -> None:
        """Asks a model, which may take minutes."""
        self._words = words
        self._tell(words)

    def says(self, words: str) -> None:
        """What the user should know and no draft says."""
        self._tell(words)

    @asynccontextmanager
    async def again(self) -> AsyncIterator[None]:
        """Tell it again while this is entered."""
        ticks = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticks.cancel()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TOLD_EACH_S)
            self._tell(f"still at it: {self._words}")
