"""A kernel without a problem file: its problem drafted, by a model too, tried before it is believed, and told."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from tui_tuner.app.amending import NOT_RUN, Amending
from tui_tuner.app.choosing import local_options
from tui_tuner.app.draft_by_model import AskedModel, asked_model, draft_in_place_of, draft_of_rules_or_model
from tui_tuner.app.draft_standing import said_of_small
from tui_tuner.app.first_draft import Doing, Tell, Unloaded, draft_of, off_the_loop, written_in
from tui_tuner.errors import ProblemError, UserError
from tui_tuner.evaluate.trials import Trials
from tui_tuner.journal.reading import FILE, header_of
from tui_tuner.llm import Backend
from tui_tuner.problem.draft.kernel.files import ranked_kernels
from tui_tuner.problem.draft.problem_file import launched_first, scaffold
from tui_tuner.problem.languages import COMPILED
from tui_tuner.problem.load import Written, problem_in_text
from tui_tuner.problem.model import Language
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings

_MOST_SECONDS = 120
"""Of trying the kernels of a file one after another until one holds."""


def drafted(file: Path, kernel: str | None, host: Path | None = None) -> Written:
    """The problem of a kernel without a problem file, guessed from its signature and how the host launches it.

    Of several kernels, where none is named, it is the one that seems to do the most; the others are its alternatives.

    Raises:
        ProblemError: none can be guessed; the hint says what to write.
    """
    names = () if kernel is not None else launched_first(file, ranked_kernels(file), host)
    if len(names) < 2:
        return draft_of(file, kernel, host)
    refused: list[ProblemError] = []
    for position, name in enumerate(names):
        try:
            return replace(draft_of(file, name, host), alternatives=tuple(names[position + 1 :]))
        except ProblemError as error:
            refused.append(error)
    raise refused[0]


def unconfirmed(file: Path, kernel: str | None, host: Path | None = None) -> tuple[str, Sequence[str], str]:
    """The kernel that `drafted` takes, the others of the file, and the draft's text, which need not hold.

    Raises:
        ProblemError: none can be drafted; the hint says what to write.
    """
    ranked = launched_first(file, ranked_kernels(file), host) if kernel is None else []
    names: Sequence[str | None] = ranked if len(ranked) > 1 else [kernel]
    refused: list[ProblemError] = []
    for name in names:
        try:
            text = scaffold(file, name, host=host)
        except ProblemError as error:
            refused.append(error)
        else:
            return name or "", [one for one in ranked if len(names) > 1 and one != name], text
    raise refused[0]


def as_begun(first: Written | Unloaded, run: Path) -> Written | None:
    """The draft that a run of the same kernel began with; None where there is no such run."""
    written = written_in(first)
    if not (written.is_drafted and (run / FILE).exists()):
        return None
    header = header_of(run)
    if header.get("source") != written.problem.source_text or not isinstance(header.get("problem"), str):
        return None
    text = header["problem"]
    return replace(written, problem=problem_in_text(text, written.file), text=text, is_drafted=False)


async def confirmed(
    first: Written | Unloaded,
    options: SessionOptions,
    settings: Settings,
    given: Backend | None = None,
    tell: Tell | None = None,
) -> Written:
    """A draft that its kernel as given was run with, at two sizes, and amended where that said something else.

    Where the session has a model, it is asked for what the rules only guess of a kernel with blocks; its draft is
    believed where it holds as well as theirs, or where theirs does not load. Where this kernel of a file does not hold,
    the next one is taken. Where nothing can be tried, since the machine has no compiler or that cannot build the
    kernel, the draft is what it was.

    Args:
        given: a model that the user brings, instead of the one that the options name.
        tell: told in a line when a model is asked, and what takes long.

    Raises:
        UserError: no kernel of the file holds, and the hint says what to write; or there is no such model.
    """
    written = written_in(first)
    language = written.problem.language
    if not written.is_drafted or language not in COMPILED:
        return written
    file = written.problem.directory / written.problem.kernel.source
    async with _trying(language, options, settings, given, tell) as (trials, model, doing):
        if isinstance(first, Unloaded):
            return await _mended(file, first, trials, model)
        return await _first_that_holds(file, written, trials, model, doing)


async def _mended(file: Path, refused: Unloaded, trials: Trials, model: AskedModel | None) -> Written:
    """A model's draft in the place of one that does not load."""
    if model is None:
        raise refused
    try:
        return _paid(await draft_in_place_of(refused, file, refused.written, trials, model), model)
    except ProblemError:
        raise
    except UserError:  # there is no compiler on this machine
        raise refused from None


@asynccontextmanager
async def _trying(
    language: Language, options: SessionOptions, settings: Settings, given: Backend | None, tell: Tell | None
) -> AsyncIterator[tuple[Trials, AskedModel | None, Doing]]:
    """What drafts are run with, the model that is asked for some, and who is told of it."""
    doing = Doing(tell)
    with tempfile.TemporaryDirectory(prefix="tuner-tui-draft-") as directory:
        there = Path(directory)
        async with (
            Trials(local_options(options, there, there / "log", settings), language) as trials,
            asked_model(options, settings, given, doing, language) as model,
            doing.again(),
        ):
            yield trials, model, doing


async def _first_that_holds(
    file: Path, written: Written, trials: Trials, model: AskedModel | None, doing: Doing
) -> Written:
    """The draft of the first kernel that could be tried, as long as that does not take too long.

    Else that of the first that could not.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + _MOST_SECONDS
    refused: list[ProblemError] = []
    untried: list[Written] = []
    try:
        for name in (None, *written.alternatives):
            if name is not None and clock() > end:
                break
            try:
                first = written if name is None else await off_the_loop(draft_of, file, name, written.host)
                doing.tries(first)
                if name is None and model is not None:
                    held = await draft_of_rules_or_model(file, first, trials, model)
                else:
                    held = await Amending(file, first, trials).held()
            except ProblemError as error:
                refused.append(error)
                continue
            held = replace(held, doubts=(*held.doubts, *said_of_small(held)))
            if not held.doubts[0].startswith(NOT_RUN):
                return _paid(replace(held, alternatives=_others(held, written)), model)
            untried.append(held)
    except ProblemError:
        raise
    except UserError as error:  # there is no compiler on this machine
        return _paid(replace(written, doubts=(f"{NOT_RUN}: {error.message}",)), model)
    if untried:
        return _paid(untried[0], model)
    raise refused[0]


def _others(held: Written, written: Written) -> tuple[str, ...]:
    """The kernels of the file but the one that holds, where there are several to choose from."""
    names = (written.problem.kernel.name.partition("<")[0], *written.alternatives)
    own = held.problem.kernel.name.partition("<")[0]
    return tuple(name for name in names if name != own) if names[1:] else ()


def _paid(written: Written, model: AskedModel | None) -> Written:
    if model is None:
        return written
    return replace(written, calls=model.calls, cost=model.usage.cost, seconds=model.seconds)
