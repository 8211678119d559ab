"""One kernel's draft as the rules write it, before anything is run, and the command that writes it."""

from __future__ import annotations

import shlex
from asyncio import wrap_future
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import TypeVar

from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.amendments import NO_AMENDMENTS, Amendments
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.draft.proposed_facts import ProposedFacts
from tui_tuner.problem.load import Written, problem_in_text
from tui_tuner.problem.toml_file import read_text
from tui_tuner.resources import write_whole

Result = TypeVar("Result")


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
    return await wrap_future(outcome)


def draft_of(
    file: Path,
    kernel: str | None,
    host: Path | None = None,
    amendments: Amendments = NO_AMENDMENTS,
    facts: ProposedFacts | None = None,
) -> Written:
    """The problem of one kernel, as its text, the host's code, a model and earlier runs have it.

    Raises:
        ProblemError: there is none; the hint says what to write.
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
        raise ProblemError(f"the problem drafted from the source does not hold: {error.message}", hint=hint) from None


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
