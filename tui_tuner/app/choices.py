"""What may be chosen for a tuning from Python, and a session made of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from pydantic import ValidationError

from tui_tuner.app.choosing import GivenObjects
from tui_tuner.app.problem import problem_of, with_recording
from tui_tuner.app.sessions import KernelSessionSetup, begin_session
from tui_tuner.errors import SettingsError
from tui_tuner.llm.base import Backend
from tui_tuner.problem.in_python import Written, written_in_python
from tui_tuner.problem.model import Problem
from tui_tuner.problem.nearest import suggestion
from tui_tuner.search.rounds import RoundOptions
from tui_tuner.session.options import SessionOptions
from tui_tuner.settings import Settings, load_settings
from tui_tuner.strategies.base import Strategy
from tui_tuner.strategies.steps import Approver

_BACKEND = ("name", "context_tokens", "stream", "aclose")


class Choices(TypedDict, total=False):
    """What may be chosen for a tuning; what is not takes the user's settings, and their defaults stand here.

    Attributes:
        strategy: a name ("autonomous"), `file.py:Class`, or an object.
        model: as with `--llm` ("auto"), an object with the protocol `tui_tuner.llm.base.Backend`, or None for none:
            then the strategy is "search", unless the one chosen needs no model.
        device: as with `--device` ("auto").
        search: method of the parameter search (None: the default one).
        rounds: how a model chooses configurations, a `tui_tuner.RoundOptions` (its defaults).
        temperature: of the model's replies (None: that of the settings).
        max_evaluations: configurations evaluated at most (85).
        max_calls: calls of the model at most (100).
        max_seconds: wall-clock time at most (None: no limit).
        max_cost: US dollars at most (None: no limit).
        target: speed-up over the kernel as given at which to stop (None).
        delta: least relative gain that makes a kernel the best (0.01).
        seed: of every random choice (0).
        allow_unconfined: whether to build where no sandbox can be had (False).
        memory: whether to use what earlier sessions found and to remember this one (False).
        cache_replies: whether the model's replies are kept for later sessions (False).
        run_directory: where the run goes, or where one is to be gone on with (None: a new one in `tuner-runs`).
        approver: decides on each step (None: all are approved).
        settings: instead of the user's settings file.
    """

    strategy: str | Strategy
    model: str | Backend | None
    device: str
    search: str | None
    rounds: RoundOptions
    temperature: float | None
    max_evaluations: int
    max_calls: int
    max_seconds: float | None
    max_cost: float | None
    target: float | None
    delta: float
    seed: int
    allow_unconfined: bool
    memory: bool
    cache_replies: bool
    run_directory: str | Path | None
    approver: Approver | None
    settings: Settings | None


def check_names(choices: Mapping[str, object]) -> None:
    """Whether there are choices of these names.

    Raises:
        SettingsError: one is not; the hint has the nearest.
    """
    for name in choices:
        if name not in Choices.__annotations__:
            raise SettingsError(f"there is no choice '{name}'", hint=suggestion(name, Choices.__annotations__))


async def prepare(problem: str | Path | Problem, choices: Choices) -> KernelSessionSetup:
    """A session as it was chosen; it goes on with the run of the same problem that may be in the run directory.

    Raises:
        UserError: problem, choices, model or run directory cannot be used.
    """
    settings = choices.get("settings") or load_settings()
    run = choices.get("run_directory")
    options = _options(settings.session, choices)
    if isinstance(problem, str | Path):
        kernel, options = with_recording(Path(problem), options)
        written = problem_of(kernel, options.device)
    else:
        written = _written(problem)
    return await begin_session(
        written,
        options,
        settings,
        None if run is None else Path(run),
        given=_objects_in(choices),
        go_on=True,
    )


def _written(problem: object) -> Written:
    if isinstance(problem, Problem):
        return written_in_python(problem)
    raise SettingsError(f"problem is a {type(problem).__name__}", hint="give the path of a kernel, or a Problem")


def _options(defaults: SessionOptions, choices: Mapping[str, Any]) -> SessionOptions:
    """The user's session options with the choices over them; objects stand there with their names."""
    chosen = {name: value for name, value in choices.items() if name in SessionOptions.model_fields}
    if not isinstance(chosen.get("strategy", ""), str):
        del chosen["strategy"]
    if "model" in choices:
        model = choices["model"]
        chosen["llm"] = model if isinstance(model, str) else getattr(model, "name", "none")
    try:
        return SessionOptions.model_validate({**defaults.model_dump(), **chosen})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise SettingsError(f"{first['loc'][0]}: {first['msg'].lower()}, it is {first['input']!r}") from None


def _objects_in(choices: Mapping[str, Any]) -> GivenObjects:
    strategy, model = choices.get("strategy"), choices.get("model")
    if not isinstance(strategy, str | Strategy | None):
        what = strategy.__name__ if isinstance(strategy, type) else type(strategy).__name__
        hint = "give a name, file.py:Class, or an object, as in AutonomousStrategy()"
        raise SettingsError(f"strategy is no strategy but {what}", hint=hint)
    if not (isinstance(model, str | None) or all(hasattr(model, name) for name in _BACKEND)):
        hint = "give a name as with --llm, an object with the protocol tui_tuner.llm.base.Backend, or None"
        raise SettingsError(f"model is no model but a {type(model).__name__}", hint=hint)
    return GivenObjects(strategy if isinstance(strategy, Strategy) else None, None if isinstance(model, str) else model)
