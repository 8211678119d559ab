"""Strategy, model, memory and machine of a session, from the user's choices and what there is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError

from tui_tuner.errors import ModelError, SettingsError
from tui_tuner.evaluate.build.kept_builds import MIB, KeptBuilds
from tui_tuner.evaluate.devices.choose import recorded_file
from tui_tuner.evaluate.evaluator import Evaluator
from tui_tuner.evaluate.sandbox.confinement import abi_version
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.evaluate.site import LocalOptions
from tui_tuner.llm import Backend
from tui_tuner.llm.choose import choose, parse_spec
from tui_tuner.llm.prices import price_of
from tui_tuner.llm.replay import CachedBackend, ReplayBackend, answered_in
from tui_tuner.llm.streams import BackoffPolicy, RetryingBackend
from tui_tuner.memory import KeptReplies, Memory
from tui_tuner.memory.sessions import Database
from tui_tuner.problem.model import Problem
from tui_tuner.problem.triton import is_rewritable
from tui_tuner.processes.limits import usable_cores
from tui_tuner.search import MODEL_METHODS
from tui_tuner.session.run_directory import RunDirectory
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings
from tui_tuner.strategies import LLM_SEARCH
from tui_tuner.strategies.base import Strategy
from tui_tuner.strategies.choose import found_anywhere, spec_of, strategy_named

_OF_A_REPLY = {"temperature", "context_tokens", "structured", "base_url", "command"}
"""Settings of the model that a reply depends on."""


@dataclass(frozen=True)
class GivenObjects:
    """Objects that the user gives instead of their names in the options."""

    strategy: Strategy | None = None
    backend: Backend | None = None
    evaluator: Evaluator | None = None


NO_OBJECTS = GivenObjects()


class BorrowedBackend(RetryingBackend):
    """A back end that the user gave, and may use again."""

    async def aclose(self) -> None:
        """Leave it open."""


@dataclass(frozen=True)
class StrategyAndModel:
    """What a session runs with.

    Attributes:
        options: as they are in force.
        backend: None where there is no model, or none is needed.
        notes: what the user should know.
    """

    options: SessionOptions
    strategy: Strategy
    backend: Backend | None = None
    notes: list[str] = field(default_factory=list)


async def choose_for(
    problem: Problem, options: SessionOptions, settings: Settings, given: GivenObjects
) -> StrategyAndModel:
    """Strategy and model; the strategy that needs no model where there is none.

    Raises:
        UserError: there is no such strategy, option or model.
    """
    if given.backend is None:
        parse_spec(options.llm)  # a name that is none is told, also where no model is asked
    parts = _named(options, settings, given)
    if parts.strategy.rewrites and (reason := _why_not_rewritten(problem, options)):
        searched_anyway = given.backend is None and options.llm == "none"  # so that nothing else is said to run
        parts = _replaced(parts, LLM_SEARCH, "" if searched_anyway else reason)
    return await with_model(parts, settings, given.backend)


def _why_not_rewritten(problem: Problem, options: SessionOptions) -> str:
    """Why no other code may take the place of the kernel's, in words; empty where it may."""
    has_code = problem.is_compiled or is_rewritable(problem.source_text, problem.kernel.name)
    if not has_code or recorded_file(options.device) is not None:
        return "only configurations of this kernel can be chosen here"
    if problem.is_compiled or abi_version() or options.allow_unconfined:
        return ""
    return "what a model writes in Triton is not compiled here, where Landlock is missing (or say --allow-unconfined)"


async def with_model(parts: StrategyAndModel, settings: Settings, given: Backend | None = None) -> StrategyAndModel:
    """The choice with its model, where it needs one, or with the strategy and search that need none.

    Raises:
        UserError: there is no such model.
    """
    by_model = parts.options.search in MODEL_METHODS
    if not parts.strategy.needs_model and not by_model:
        return parts
    backend, notes = await model_of(parts.options, settings, given)
    if backend is not None:
        notes = [*parts.notes, *_of_price(backend, parts.options)]
        return StrategyAndModel(parts.options, parts.strategy, backend, notes)
    if parts.options.require_model:
        raise ModelError(
            "".join(notes) or "no language model is to be asked",
            hint="`tuner-tui doctor` says what is there; leave --require-model out to search without one",
        )
    if parts.strategy.needs_model:
        if parts.options.strategy_options and not notes:
            notes = [f"'{parts.strategy.name}' with its options needs a language model"]
        parts = _replaced(parts, "search", "".join(notes))
    if by_model:
        said = f"--search {parts.options.search} needs a language model: searching without one"
        options = parts.options.model_copy(update={"search": None})
        parts = StrategyAndModel(options, parts.strategy, None, [*parts.notes, said])
    return parts


def _of_price(backend: Backend, options: SessionOptions) -> list[str]:
    """What is to be said of a limit that the model's price makes one of nothing."""
    if options.max_cost is None or price_of(backend.name) is not None:
        return []
    return [f"the price of {backend.name} is not known, so --max-cost allows no call of it"]


def _named(options: SessionOptions, settings: Settings, given: GivenObjects) -> StrategyAndModel:
    """The strategy that the user names or brings."""
    if given.strategy is None:
        own = {**settings.strategies.get(options.strategy, {}), **options.strategy_options}
        strategy, spec = strategy_named(options.strategy, own), found_anywhere(options.strategy)
        own = strategy.kept(own)
    else:
        strategy, spec, own = given.strategy, spec_of(given.strategy), _options_of(given.strategy)
    return StrategyAndModel(options.model_copy(update={"strategy": spec, "strategy_options": own}), strategy)


def _replaced(parts: StrategyAndModel, name: str, reason: str) -> StrategyAndModel:
    """Another strategy in place of the one asked for; without a reason nobody need be told."""
    options = parts.options.model_copy(update={"strategy": name, "strategy_options": {}})
    notes = [f"{reason}: running the strategy '{name}'"] if reason else []
    return StrategyAndModel(options, strategy_named(name), None, [*parts.notes, *notes])


def _options_of(strategy: Strategy) -> dict[str, Any]:
    """What an object's options are set to, as the journal says it.

    Raises:
        SettingsError: one of them is nothing that could be written down.
    """
    try:
        return strategy.model_dump(mode="json", exclude_defaults=True)
    except PydanticSerializationError as error:
        hint = "give the field a serializer, or declare it with Field(exclude=True)"
        raise SettingsError(f"an option of {strategy.name} cannot be written down: {error}", hint=hint) from None


async def model_of(
    options: SessionOptions, settings: Settings, given: Backend | None = None
) -> tuple[Backend | None, list[str]]:
    """The model that the user wants, or in one line why there is none; the caller closes it.

    Raises:
        UserError: there is no such model.
    """
    passed: list[str] = []
    model = settings.model
    if options.temperature is not None:
        model = model.model_copy(update={"temperature": options.temperature})
    if options.reply_seconds is not None:
        model = model.model_copy(update={"timeout_s": options.reply_seconds})
    backend = given or await choose(options.llm, model, passed.append)
    if backend is None:
        return None, [f"no language model ({'; '.join(passed)})"] if passed else []
    if isinstance(backend, ReplayBackend):
        return backend, []
    policy = BackoffPolicy(limit_s=model.timeout_s)
    return RetryingBackend(backend, policy) if given is None else BorrowedBackend(backend, policy), []


def models_for(run: RunDirectory, settings: Settings) -> Callable[[str], Awaitable[Backend]]:
    """Makes a model by its name, for a session that switches to it."""

    async def model_named(name: str) -> Backend:
        backend, notes = await model_of(run.options.model_copy(update={"llm": name}), settings)
        backend = in_run(backend, run, settings)
        if backend is None:
            raise ModelError("".join(notes) or f"'{name}' is no model", hint="name one, as in: ollama:qwen3")
        return backend

    return model_named


def decided(options: SessionOptions, settings: Settings) -> SessionOptions:
    """The options with what the settings say of the memory, for the journal: a resume does the same."""
    memory = settings.memory.enabled if options.memory is None else options.memory
    cache = settings.model.cache_replies if options.cache_replies is None else options.cache_replies
    return options.model_copy(update={"memory": memory, "cache_replies": cache})


def memory_of(options: SessionOptions, settings: Settings) -> Memory | None:
    """What a session may use of the memory; None where it is off."""
    sessions, replies = bool(options.memory), bool(options.cache_replies)
    return Memory(Database(settings.memory.place), sessions, replies) if sessions or replies else None


def in_run(backend: Backend | None, run: RunDirectory, settings: Settings) -> Backend | None:
    """The model as a run goes on with it: no recorded reply comes twice, and replies are kept where that is wanted.

    Raises:
        ModelError: the run's journal cannot be read.
    """
    if backend is None or not (run.options.cache_replies or isinstance(backend, ReplayBackend)):
        return backend
    past = answered_in(run.journal.records, run.journal.path)
    if isinstance(backend, ReplayBackend):
        backend.leave_out(past)
    if not run.options.cache_replies:
        return backend
    of_a_reply: dict[str, object] = settings.model.model_dump(mode="json", include=_OF_A_REPLY)
    if run.options.temperature is not None:
        of_a_reply["temperature"] = run.options.temperature
    answered = [(one.request.purpose, one.request.messages) for one in past]
    return CachedBackend(backend, KeptReplies(Database(settings.memory.place)), of_a_reply, answered)


def local_options(options: SessionOptions, builds: Path, log: Path, settings: Settings) -> LocalOptions:
    """How kernels are built and measured on this machine.

    Args:
        builds: directory of what is built.
        log: file for what device libraries print.
    """
    build = settings.build
    return LocalOptions(
        device=options.device,
        cache=builds,
        log=log,
        jobs=build.jobs or usable_cores(),
        policy=Policy(allow_unconfined=options.allow_unconfined),
        nvcc=build.nvcc,
        sanitizers=tuple(build.sanitizers),
        kept=KeptBuilds(build.place, build.cache_mb * MIB) if build.cache_mb else None,
        profile=build.profile,
    )
