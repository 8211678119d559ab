"""A draft by a model: asked for once the rules' own was run, and taken where it holds at least as well as that."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tui_tuner.app.amending import Amending
from tui_tuner.app.choosing import model_of
from tui_tuner.app.draft_standing import Standing, said_of_small
from tui_tuner.app.first_draft import Doing, draft_of
from tui_tuner.app.unbuilt import Unbuildable
from tui_tuner.errors import ProblemError, UserError
from tui_tuner.evaluate.trials import Trials
from tui_tuner.format import time_is_up_words
from tui_tuner.llm import Backend, Message, Reply, Request, Usage
from tui_tuner.llm.choose import parse_spec
from tui_tuner.llm.errors import TransportError
from tui_tuner.llm.lacking import way_out
from tui_tuner.llm.prices import worst_cost
from tui_tuner.llm.streams import complete
from tui_tuner.llm.structured import NoUsableReply
from tui_tuner.problem.draft.kernel.files import text_of
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.load import Written
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import find_kernel
from tui_tuner.search import MODEL_METHODS
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings
from tui_tuner.strategies.choose import strategy_named
from tui_tuner.strategies.propose_problem import KernelToDraft, facts_of, propose_problem
from tui_tuner.text import clean

_LOG = logging.getLogger(__name__)
_MODEL_DRAFTS = 2
"""The model's first draft, and one more that knows why the first did not hold."""
_MOST_UNSURE, _LONGEST = 4, 160


class AskedModel:
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
            OverBudget: the budget allows no call, or no longer one.
        """
        request = replace(request, max_tokens=self._max_tokens)
        most, worst = self._options.max_cost, worst_cost(self.name, request)
        spent = self.usage.cost or 0.0
        if self.calls >= self._options.max_calls or (most is not None and (worst is None or spent + worst > most)):
            raise OverBudget("the budget allows no call")
        self.calls += 1
        limit = self._options.max_seconds
        try:
            async with asyncio.timeout_at(None if limit is None else self._began + limit) as end:
                reply = await complete(self._backend, request)
        except TimeoutError:
            if limit is None or not end.expired():
                raise
            raise OverBudget(time_is_up_words(limit)) from None
        self.usage += reply.usage
        return reply

    def fault(self, error: Exception) -> str:
        """Why there is no draft, and what the user can do about it."""
        if not isinstance(error, NoUsableReply):
            return str(error)
        advice = way_out(error.replies[-1], self._max_tokens) if error.replies else ""
        return "; ".join(filter(None, (*error.problems, advice)))


class OverBudget(Exception):
    """No call is allowed."""


@asynccontextmanager
async def asked_model(
    options: SessionOptions, settings: Settings, given: Backend | None, doing: Doing, language: Language
) -> AsyncIterator[AskedModel | None]:
    """The model that the session will ask, if it asks one at all; a recorded one knows nothing of drafts.

    None for a function of C: nothing launches it, which is what a model is asked for.
    """
    backend = None
    if COMPILED_LANGUAGES[language].has_blocks and (given is not None or _wants_model(options)):
        backend, _ = await model_of(options, settings, given)
    try:
        yield None if backend is None else AskedModel(backend, options, settings.model.max_tokens, doing)
    finally:
        if backend is not None:
            await backend.aclose()


def _wants_model(options: SessionOptions) -> bool:
    provider, _ = parse_spec(options.llm)
    if provider in ("none", "replay"):
        return False
    by_model = options.search in MODEL_METHODS
    return by_model or provider != "auto" or strategy_named(options.strategy, options.strategy_options).needs_model


@dataclass(frozen=True)
class Tried:
    """A draft and what came of running it.

    Attributes:
        written: as it was amended; the first one where none holds.
        outcome: in words.
        standing: how well it holds; None where it does not.
    """

    written: Written
    outcome: str
    standing: Standing | None


async def draft_of_rules_or_model(file: Path, first: Written, trials: Trials, model: AskedModel) -> Written:
    """The rules' draft that holds, or a model's that holds no less well.

    Raises:
        ProblemError: none does, or what the kernel needs to be built is not there.
    """
    rules = Amending(file, first, trials)
    try:
        held = await rules.held()
    except Unbuildable:  # a model knows no more of what is not there
        raise
    except ProblemError as error:
        return await draft_in_place_of(error, file, first, trials, model)
    tried = Tried(held, "\n".join(_doubts(held)), _standing(rules, held))
    proposed, told = await _by_model_if_it_can_be(file, tried, trials, model)
    return replace(proposed or held, of_model=told)


async def draft_in_place_of(
    refused: ProblemError, file: Path, first: Written, trials: Trials, model: AskedModel
) -> Written:
    """A model's draft that holds, where that of the rules does not.

    Raises:
        ProblemError: why theirs does not, where the model's does not either.
    """
    proposed, told = await _by_model_if_it_can_be(file, Tried(first, refused.message, None), trials, model)
    if proposed is None:
        for one in told:
            model.doing.says(one)
        raise refused
    return replace(proposed, of_model=told)


async def _by_model_if_it_can_be(
    file: Path, rules: Tried, trials: Trials, model: AskedModel
) -> tuple[Written | None, tuple[str, ...]]:
    """As `by_model`; what the rules make of a model's words may be a mistake of theirs, which costs no draft."""
    try:
        return await by_model(file, rules, trials, model)
    except UserError:
        raise
    except Exception as error:
        _LOG.exception("a model's draft could not be written")
        what = _line(f"{type(error).__name__}: {error}")
        return None, (f"the draft of {model.name} could not be written, by a mistake of this program ({what})",)


async def by_model(
    file: Path, rules: Tried, trials: Trials, model: AskedModel
) -> tuple[Written | None, tuple[str, ...]]:
    """A model's draft that holds as well as that of the rules, or None; and what the user should know of it."""
    kernel = to_draft(file, rules.written, rules.outcome)
    before: Sequence[Message] = ()
    reason = ""
    for _ in range(_MODEL_DRAFTS):
        named = rules.written.problem.kernel.name
        model.doing.asks(f"asking {model.name} {'again ' if reason else ''}how {named} is launched")
        try:
            reply = await propose_problem(model.call, kernel, before, reason)
        except (NoUsableReply, TransportError, OverBudget) as error:
            return None, (f"{model.name} gave no draft ({_line(model.fault(error))}): drafted by rules alone",)
        model.doing.tries(rules.written)
        before = reply.transcript
        amending = Amending(file, rules.written, trials, facts_of(reply.value, kernel))
        try:
            held = await amending.held()
        except ProblemError as error:
            reason = error.message
            continue
        is_worse = rules.standing is not None and _standing(amending, held) > rules.standing
        lacks_more = amending.standing.not_run and reply.value.macros and not reason
        if is_worse or lacks_more:
            reason = "; ".join(_doubts(held))
            continue
        unsure = tuple(f"{model.name} is not sure: {_line(one)}" for one in reply.value.unsure[:_MOST_UNSURE])
        return held, (f"drafted by {model.name}, what the host's code says apart{_cost(model)}", *unsure)
    worse = "does not hold" if rules.standing is None else "does not hold as well"
    return None, (f"the draft of {model.name} {worse} ({_line(reason)}): drafted by rules alone{_cost(model)}",)


def _doubts(held: Written) -> tuple[str, ...]:
    """What came of a draft that holds, in lines."""
    return (*held.doubts, *said_of_small(held))


def _standing(amending: Amending, held: Written) -> Standing:
    return replace(amending.standing, too_small=any(said_of_small(held)))


def to_draft(file: Path, first: Written, outcome: str) -> KernelToDraft:
    """A kernel as a model is asked about it, with a draft and what came of running that."""
    source, name, language = text_of(file), first.problem.kernel.name, first.problem.language
    return KernelToDraft(
        find_kernel(source, language, name),
        language,
        source,
        "" if first.host is None else text_of(first.host),
        first.text,
        outcome,
        first.problem,
        lambda facts: draft_of(file, name.partition("<")[0], first.host, facts=replace(facts, tests=())).problem,
    )


def _cost(model: AskedModel) -> str:
    cost = model.usage.cost
    dollars = f", ${cost:.2f}" if cost else ""
    return f" ({model.calls} call{'s' if model.calls != 1 else ''}{dollars})"


def _line(text: str) -> str:
    """Words of others as a short line."""
    line = " ".join(clean(text).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
