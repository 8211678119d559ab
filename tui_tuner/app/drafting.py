"""A kernel without a problem file: its problem drafted, by a model too, tried before it is believed, and told."""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from tui_tuner.app.amending import NOT_RUN, Amending
from tui_tuner.app.choosing import local_options, model_of
from tui_tuner.app.first_draft import Doing, Tell, draft_of, init_command, off_the_loop
from tui_tuner.errors import ProblemError, UserError
from tui_tuner.evaluate.trials import Trials
from tui_tuner.format import assigned_words, time_is_up_words
from tui_tuner.journal.reading import FILE, header_of
from tui_tuner.llm import Backend, Message, Reply, Request, Usage
from tui_tuner.llm.choose import parse_spec
from tui_tuner.llm.errors import TransportError
from tui_tuner.llm.lacking import way_out
from tui_tuner.llm.prices import worst_cost
from tui_tuner.llm.streams import complete
from tui_tuner.llm.structured import NoUsableReply
from tui_tuner.problem.candidate import geometry
from tui_tuner.problem.draft.kernel.files import ranked_kernels, text_of
from tui_tuner.problem.draft.problem_file import launched_first, scaffold
from tui_tuner.problem.draft.sizes.counts import LEAST_TIMED
from tui_tuner.problem.inputs import shape_of
from tui_tuner.problem.languages import COMPILED, COMPILED_LANGUAGES
from tui_tuner.problem.load import Written, problem_in_text
from tui_tuner.problem.model import Language, Problem
from tui_tuner.problem.signature import find_kernel
from tui_tuner.search import MODEL_METHODS
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings
from tui_tuner.strategies.choose import strategy_named
from tui_tuner.strategies.propose_problem import KernelToDraft, facts_of, propose_problem
from tui_tuner.text import clean

_MODEL_DRAFTS = 2
"""The model's first draft, and one more that knows why the first did not hold."""
_MOST_UNSURE, _LONGEST = 4, 160
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


def as_begun(written: Written, run: Path) -> Written | None:
    """The draft that a run of the same kernel began with; None where there is no such run."""
    if not (written.is_drafted and (run / FILE).exists()):
        return None
    header = header_of(run)
    if header.get("source") != written.problem.source_text or not isinstance(header.get("problem"), str):
        return None
    text = header["problem"]
    return replace(written, problem=problem_in_text(text, written.file), text=text, is_drafted=False)


async def confirmed(
    written: Written,
    options: SessionOptions,
    settings: Settings,
    given: Backend | None = None,
    tell: Tell | None = None,
) -> Written:
    """A draft that its kernel as given was run with, at two sizes, and amended where that said something else.

    Where the session has a model, it is asked for what the rules only guess of a CUDA kernel; its draft is believed
    where it holds. Where this kernel of a file does not hold, the next one is taken. Where nothing can be tried, since
    the machine has no compiler or that cannot build the kernel, the draft is what it was.

    Args:
        given: a model that the user brings, instead of the one that the options name.
        tell: told in a line when a model is asked, and what takes long.

    Raises:
        UserError: no kernel of the file holds, and the hint says what to write; or there is no such model.
    """
    language = written.problem.language
    if not written.is_drafted or language not in COMPILED:
        return written
    file = written.problem.directory / written.problem.kernel.source
    doing = Doing(tell)
    with tempfile.TemporaryDirectory(prefix="tuner-tui-draft-") as directory:
        there = Path(directory)
        async with (
            Trials(local_options(options, there, there / "log", settings), language) as trials,
            _asked(options, settings, given, doing, language) as model,
            doing.again(),
        ):
            return await _first_that_holds(file, written, trials, model, doing)


async def _first_that_holds(
    file: Path, written: Written, trials: Trials, model: _Model | None, doing: Doing
) -> Written:
    """The draft of the first kernel that could be tried, as long as that does not take too long.

    Else that of the first that could not.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + _MOST_SECONDS
    refused: list[ProblemError] = []
    untried: list[Written] = []
    told: tuple[str, ...] = ()
    try:
        for name in (None, *written.alternatives):
            if name is not None and clock() > end:
                break
            try:
                first = written if name is None else await off_the_loop(draft_of, file, name, written.host)
                held = None
                doing.tries(first)
                if name is None and model is not None:
                    held, told = await _by_model(file, first, trials, model)
                held = held or await Amending(file, first, trials).held()
            except ProblemError as error:
                refused.append(error)
                continue
            held = replace(held, doubts=(*held.doubts, *_said_of_small(held), *told))
            if not held.doubts[0].startswith(NOT_RUN):
                return _paid(replace(held, alternatives=_others(held, written)), model)
            untried.append(held)
    except ProblemError:
        raise
    except UserError as error:  # there is no compiler on this machine
        return _paid(replace(written, doubts=(f"{NOT_RUN}: {error.message}", *told)), model)
    if untried:
        return _paid(untried[0], model)
    raise refused[0]


def _others(held: Written, written: Written) -> tuple[str, ...]:
    """The kernels of the file but the one that holds, where there are several to choose from."""
    names = (written.problem.kernel.name.partition("<")[0], *written.alternatives)
    own = held.problem.kernel.name.partition("<")[0]
    return tuple(name for name in names if name != own) if names[1:] else ()


def _paid(written: Written, model: _Model | None) -> Written:
    if model is None:
        return written
    return replace(written, calls=model.calls, cost=model.usage.cost, seconds=model.seconds)


class _Model:
    """A model that is asked for a draft, as far as the session's budget goes."""

    def __init__(self, backend: Backend, options: SessionOptions, max_tokens: int, doing: Doing) -> None:
        self.name = backend.name
        self.doing = doing
        self.calls = 0
        self.usage = Usage()
        self._backend = backend
        self._options = options
        self._max_tokens = max_tokens
        self._began = asyncio.get_running_loop().time()

    @property
    def seconds(self) -> float:
        """Since it could be asked."""
        return asyncio.get_running_loop().time() - self._began

    async def call(self, request: Request) -> Reply:
        """A complete reply.

        Raises:
            TransportError: there is none.
            _OverBudget: the budget allows no call, or no longer one.
        """
        request = replace(request, max_tokens=self._max_tokens)
        most, worst = self._options.max_cost, worst_cost(self.name, request)
        spent = self.usage.cost or 0.0
        if self.calls >= self._options.max_calls or (most is not None and (worst is None or spent + worst > most)):
            raise _OverBudget("the budget allows no call")
        self.calls += 1
        limit = self._options.max_seconds
        try:
            async with asyncio.timeout_at(None if limit is None else self._began + limit) as end:
                reply = await complete(self._backend, request)
        except TimeoutError:
            if limit is None or not end.expired():
                raise
            raise _OverBudget(time_is_up_words(limit)) from None
        self.usage += reply.usage
        return reply

    def fault(self, error: Exception) -> str:
        """Why there is no draft, and what the user can do about it."""
        if not isinstance(error, NoUsableReply):
            return str(error)
        advice = way_out(error.replies[-1], self._max_tokens) if error.replies else ""
        return "; ".join(filter(None, (*error.problems, advice)))


class _OverBudget(Exception):
    """No call is allowed."""


@asynccontextmanager
async def _asked(
    options: SessionOptions, settings: Settings, given: Backend | None, doing: Doing, language: Language
) -> AsyncIterator[_Model | None]:
    """The model that the session will ask, if it asks one at all; a recorded one knows nothing of drafts.

    None for a function of C: nothing launches it, which is what a model is asked for.
    """
    backend = None
    if language == "cuda" and (given is not None or _wants_model(options)):
        backend, _ = await model_of(options, settings, given)
    try:
        yield None if backend is None else _Model(backend, options, settings.model.max_tokens, doing)
    finally:
        if backend is not None:
            await backend.aclose()


def _wants_model(options: SessionOptions) -> bool:
    provider, _ = parse_spec(options.llm)
    if provider in ("none", "replay"):
        return False
    by_model = options.search in MODEL_METHODS
    return by_model or provider != "auto" or strategy_named(options.strategy, options.strategy_options).needs_model


async def _by_model(
    file: Path, first: Written, trials: Trials, model: _Model
) -> tuple[Written | None, tuple[str, ...]]:
    """A model's draft that holds, or None; and what the user should know of it."""
    kernel = _to_draft(file, first)
    before: Sequence[Message] = ()
    reason = ""
    for _ in range(_MODEL_DRAFTS):
        model.doing.asks(f"asking {model.name} {'again ' if reason else ''}how {first.problem.kernel.name} is launched")
        try:
            reply = await propose_problem(model.call, kernel, before, reason)
        except (NoUsableReply, TransportError, _OverBudget) as error:
            return None, (f"{model.name} gave no draft ({_line(model.fault(error))}): drafted by rules alone",)
        model.doing.tries(first)
        try:
            held = await Amending(file, first, trials, facts_of(reply.value, kernel)).held()
        except ProblemError as error:
            before, reason = reply.transcript, error.message
            continue
        unsure = tuple(f"{model.name} is not sure: {_line(one)}" for one in reply.value.unsure[:_MOST_UNSURE])
        return held, (f"drafted by {model.name}, what the host's code says apart{_cost(model)}", *unsure)
    return None, (f"the draft of {model.name} does not hold ({_line(reason)}): drafted by rules alone{_cost(model)}",)


def _to_draft(file: Path, first: Written) -> KernelToDraft:
    source, name = text_of(file), first.problem.kernel.name
    return KernelToDraft(
        find_kernel(source, "cuda", name),
        "cuda",
        source,
        "" if first.host is None else text_of(first.host),
        first.text,
        first.problem,
        lambda facts: draft_of(file, name.partition("<")[0], first.host, facts=replace(facts, tests=())).problem,
    )


def _cost(model: _Model) -> str:
    cost = model.usage.cost
    dollars = f", ${cost:.2f}" if cost else ""
    return f" ({model.calls} call{'s' if model.calls != 1 else ''}{dollars})"


def _line(text: str) -> str:
    """Words of others as a short line."""
    line = " ".join(clean(text).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def _said_of_small(written: Written) -> Iterator[str]:
    """That the launch of a draft is too small to be timed, in a line; nothing where it is not."""
    problem, kernel = written.problem, written.problem.kernel
    if not COMPILED_LANGUAGES[problem.language].has_blocks:
        return
    threads, elements = _threads(problem), _elements(problem)
    if max(threads, elements, *problem.sizes.values()) >= LEAST_TIMED:
        return
    init = init_command(kernel.source, kernel.name.partition("<")[0], written.host)
    sizes = assigned_words(problem.sizes)
    larger = f"make [sizes] larger ({sizes}) in {written.file.name}, which {init} writes"
    if not sizes:
        by_script = written.host is not None and written.host.suffix == ".py"
        stated_by = written.host.name if by_script and written.host else kernel.source
        larger = f"make the numbers larger that {stated_by} states"
    yield f"too small to be timed: {threads} threads over {elements} elements end about as soon as they begin; {larger}"


def _threads(problem: Problem) -> int:
    launched = geometry(problem.launch, problem.sizes, problem.default_configuration)
    return math.prod((*launched.grid, *launched.block))


def _elements(problem: Problem) -> int:
    return sum(math.prod(shape_of(one, problem.sizes)) for one in problem.arguments if one.shape is not None)
