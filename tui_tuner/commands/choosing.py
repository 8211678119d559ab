"""Strategy and model of a session, from the user's choices and what there is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic_core import PydanticSerializationError

from tui_tuner.errors import SettingsError
from tui_tuner.evaluate.devices.choose import recorded_file
from tui_tuner.evaluate.evaluator import Evaluator
from tui_tuner.llm.base import Backend
from tui_tuner.llm.choose import choose
from tui_tuner.llm.retry import BackoffPolicy, RetryingBackend
from tui_tuner.problem.model import Problem
from tui_tuner.session.options import SessionOptions
from tui_tuner.settings import Settings
from tui_tuner.strategies.base import Strategy
from tui_tuner.strategies.choose import found_anywhere, spec_of, strategy_named
from tui_tuner.strategies.parameters.methods import MODEL_METHODS

_CHOOSES_ONLY = "llm_search"
"""What runs in place of a strategy that would rewrite a kernel that cannot be rewritten."""


@dataclass(frozen=True)
class Brought:
    """Objects that the user brings along instead of their names in the options."""

    strategy: Strategy | None = None
    backend: Backend | None = None
    evaluator: Evaluator | None = None


NOTHING = Brought()


class _Lent(RetryingBackend):
    """A back end that the user brought, and may use again."""

    async def aclose(self) -> None:
        """Leave it open."""


@dataclass(frozen=True)
class Chosen:
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
    problem: Problem, options: SessionOptions, settings: Settings, brought: Brought = NOTHING
) -> Chosen:
    """Strategy and model; the strategy that needs no model where there is none.

    Raises:
        UserError: there is no such strategy, option or model.
    """
    wanted = _wanted(options, settings, brought)
    if wanted.strategy.rewrites and (not problem.is_compiled or recorded_file(options.device)):
        wanted = _replaced(wanted, _CHOOSES_ONLY, "only configurations of this kernel can be chosen here")
    return await with_model(wanted, settings, brought.backend)


async def with_model(wanted: Chosen, settings: Settings, brought: Backend | None = None) -> Chosen:
    """The same with its model, where it needs one, or with the strategy and search that need none.

    Raises:
        UserError: there is no such model.
    """
    by_model = wanted.options.search in MODEL_METHODS
    if not wanted.strategy.needs_model and not by_model:
        return wanted
    backend, notes = await model_of(wanted.options, settings, brought)
    if backend is not None:
        return Chosen(wanted.options, wanted.strategy, backend, wanted.notes)
    if wanted.strategy.needs_model:
        if wanted.options.strategy_options and not notes:
            notes = [f"'{wanted.strategy.name}' with its options needs a language model"]
        wanted = _replaced(wanted, "search", "".join(notes))
    if by_model:
        said = f"--search {wanted.options.search} needs a language model: searching without one"
        options = wanted.options.model_copy(update={"search": None})
        wanted = Chosen(options, wanted.strategy, None, [*wanted.notes, said])
    return wanted


def _wanted(options: SessionOptions, settings: Settings, brought: Brought) -> Chosen:
    """The strategy that the user names or brings."""
    if brought.strategy is None:
        own = {**settings.strategies.get(options.strategy, {}), **options.strategy_options}
        strategy, spec = strategy_named(options.strategy, own), found_anywhere(options.strategy)
    else:
        strategy, spec, own = brought.strategy, spec_of(brought.strategy), _options_of(brought.strategy)
    return Chosen(options.model_copy(update={"strategy": spec, "strategy_options": own}), strategy)


def _replaced(wanted: Chosen, name: str, reason: str) -> Chosen:
    """Another strategy in place of the wanted one; without a reason nobody need be told."""
    options = wanted.options.model_copy(update={"strategy": name, "strategy_options": {}})
    notes = [f"{reason}: running the strategy '{name}'"] if reason else []
    return Chosen(options, strategy_named(name), None, [*wanted.notes, *notes])


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
    options: SessionOptions, settings: Settings, brought: Backend | None = None
) -> tuple[Backend | None, list[str]]:
    """The model that the user wants, or in one line why there is none; the caller closes it.

    Raises:
        UserError: there is no such model.
    """
    passed: list[str] = []
    model = settings.model
    if options.temperature is not None:
        model = model.model_copy(update={"temperature": options.temperature})
    backend = brought or await choose(options.llm, model, passed.append)
    if backend is None:
        return None, [f"no language model ({'; '.join(passed)})"] if passed else []
    policy = BackoffPolicy(limit_s=model.timeout_s)
    return RetryingBackend(backend, policy) if brought is None else _Lent(backend, policy), []
