"""Tuning from Python: one call, the same awaited, or the events as they happen; and what may be chosen for it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

from pydantic import ValidationError

from tui_tuner.app.choosing import GivenObjects
from tui_tuner.app.drafting import as_begun, confirmed
from tui_tuner.app.first_draft import loaded_or_not
from tui_tuner.app.named import problem_of, with_recording
from tui_tuner.app.sessions import KernelSessionSetup, begin_session, what_is_left
from tui_tuner.errors import SettingsError, UserError
from tui_tuner.headless import ApproveAll
from tui_tuner.llm import Backend
from tui_tuner.problem.load import Written, written_in_python
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.report import SessionOutcome
from tui_tuner.session import events
from tui_tuner.session.plan import Instruction
from tui_tuner.session_options import RoundOptions, SessionOptions
from tui_tuner.settings import Settings, load_settings
from tui_tuner.strategies.base import Strategy
from tui_tuner.strategies.steps import Approver, Factor
from tui_tuner.text import suggestion


@dataclass(frozen=True)
class TuningResult:
    """What a tuning found.

    Attributes:
        outcome: all that `result.json` says: speed-up with its interval, evaluations, failures, cost.
        source: text of the best kernel; compiles by itself, its tunables are macros that may be defined otherwise.
            Empty where the kernel's source is not known, as in a recording.
        configuration: the best value of each tunable.
        run_directory: of the run, with its journal.
        best_source: file of the best kernel; None where there is no source.
        best_problem: its problem file, to tune on from.
        notes: what the user should know, as that there was no model.
    """

    outcome: SessionOutcome
    source: str
    configuration: Configuration
    run_directory: Path
    best_source: Path | None
    best_problem: Path
    notes: tuple[str, ...] = ()

    @property
    def speedup(self) -> Factor:
        """How much faster the best is than the kernel as given, with the ends of the 95 % interval."""
        return self.outcome.speedup


class Tuning:
    """A tuning that runs while it is iterated over; closing it early leaves the run resumable."""

    def __init__(self, problem: str | Path | Problem, choices: Choices) -> None:
        self._problem = problem
        self._choices = choices
        self._told: list[Instruction] = []
        self._setup: KernelSessionSetup | None = None
        self._finished: events.SessionFinished | None = None
        self._events = self._run()

    def __aiter__(self) -> AsyncGenerator[events.Event, None]:
        return self._events

    async def __aenter__(self) -> Tuning:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Interrupt it, where it is not at its end; the run directory can be gone on with."""
        await self._events.aclose()

    def tell(self, instruction: Instruction) -> None:
        """Say something to the model, or change the plan; it takes effect at the strategy's next operation."""
        if self._setup is None:
            self._told.append(instruction)
        else:
            self._setup.session.tell(instruction)

    @property
    def run_directory(self) -> Path:
        """Where the run is.

        Raises:
            UserError: it has not begun.
        """
        if self._setup is None:
            raise UserError("the tuning has not begun", hint="iterate over it")
        return self._setup.run.path

    @property
    def result(self) -> TuningResult:
        """What was found.

        Raises:
            UserError: the tuning is not at its end.
        """
        if self._setup is None or self._finished is None or self._finished.result is None:
            raise UserError("the tuning is not at its end", hint="iterate over it to the last event")
        return _result(self._setup, Path(self._finished.result))

    async def _run(self) -> AsyncGenerator[events.Event, None]:
        setup = self._setup = await prepare(self._problem, self._choices)
        for instruction in self._told:
            setup.session.tell(instruction)
        try:
            async with aclosing(setup.session.events(self._choices.get("approver") or ApproveAll())) as stream:
                async for event in stream:
                    if isinstance(event, events.SessionFinished):
                        self._finished = event
                    yield event
                    if isinstance(event, events.SessionStarted):
                        for note in setup.notes:
                            yield events.Note(level="warning", text=note)
        except UserError:
            setup.forget_if_empty()
            raise


def tuning(problem: str | Path | Problem, **choices: Unpack[Choices]) -> Tuning:
    """Begin to tune: `async for event in tuning("kernel.cu")`; nothing happens before it is iterated over.

    Args:
        problem: path of a kernel or of its problem file, or a problem made in Python.
        choices: see `Choices`.

    Raises:
        SettingsError: there is no such choice. All else that is the user's to mend is raised when it is
            iterated over, as a `UserError`.
    """
    check_names(choices)
    return Tuning(problem, choices)


async def tune_async(problem: str | Path | Problem, **choices: Unpack[Choices]) -> TuningResult:
    """Tune to the end; arguments as of `tuning`.

    Raises:
        UserError: something that the user must mend; what was found stays in the run directory.
    """
    async with tuning(problem, **choices) as running:
        async for _ in running:
            pass
    return running.result


def tune(problem: str | Path | Problem, **choices: Unpack[Choices]) -> TuningResult:
    """Tune to the end, where no event loop runs; arguments as of `tuning`.

    Raises:
        UserError: something that the user must mend; what was found stays in the run directory.
    """
    if _loop_runs():
        raise SettingsError("tune() blocks, and an event loop runs here", hint="await tui_tuner.tune_async(...)")
    return asyncio.run(tune_async(problem, **choices))


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _result(setup: KernelSessionSetup, file: Path) -> TuningResult:
    run = setup.run
    outcome = SessionOutcome.model_validate_json(file.read_text(encoding="utf-8"))
    best = run.path / f"best{run.problem.kernel.source.suffix}"
    return TuningResult(
        outcome=outcome,
        source=best.read_text(encoding="utf-8") if run.problem.source_text else "",
        configuration=outcome.best.configuration,
        run_directory=run.path,
        best_source=best if run.problem.source_text else None,
        best_problem=run.path / "best.toml",
        notes=tuple(setup.notes),
    )


_BACKEND = ("name", "context_tokens", "stream", "aclose")
_ON_THE_COMMAND_LINE = {
    "max_evals": "max_evaluations",
    "max_time": "max_seconds",
    "reply_time": "reply_seconds",
    "llm": "model",
    "run_dir": "run_directory",
}
"""What is called otherwise here than its flag is there."""


class Choices(TypedDict, total=False):
    """What may be chosen for a tuning; what is not takes the user's settings, and their defaults stand here.

    Attributes:
        strategy: a name ("autonomous"), `file.py:Class`, or an object.
        model: as with `--llm` ("auto"), an object with the protocol `tui_tuner.llm.Backend`, or None for none:
            then the strategy is "search", unless the one chosen needs no model.
        device: as with `--device` ("auto").
        search: method of the parameter search (None: the default one).
        rounds: how a model chooses configurations, a `tui_tuner.RoundOptions` (its defaults).
        temperature: of the model's replies (None: that of the settings).
        max_evaluations: configurations evaluated at most (85).
        max_calls: calls of the model at most (100).
        max_seconds: wall-clock time at most (None: no limit).
        reply_seconds: that a reply of the model may take, retries included (None: that of the settings).
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
    reply_seconds: float | None
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
            same = _ON_THE_COMMAND_LINE.get(name)
            hint = f"here it is '{same}'" if same else suggestion(name, Choices.__annotations__)
            raise SettingsError(f"there is no choice '{name}'", hint=hint)


async def prepare(problem: str | Path | Problem, choices: Choices) -> KernelSessionSetup:
    """A session as it was chosen; it goes on with the run of the same problem that may be in the run directory.

    Raises:
        UserError: problem, choices, model or run directory cannot be used.
    """
    _check_kinds(choices)
    file = Path(problem) if isinstance(problem, str | Path) else None
    settings = choices.get("settings") or load_settings(beside=file)
    run = choices.get("run_directory")
    options = _options(settings.session, choices)
    if file is not None:
        kernel, options = with_recording(file, options)
        first = loaded_or_not(problem_of, kernel, options.device)
        begun = None if run is None else as_begun(first, Path(run))
        written = begun or await confirmed(first, options, settings, _objects_in(choices).backend)
        options = what_is_left(options, written)
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


def _check_kinds(choices: Mapping[str, object]) -> None:
    """Whether what no model of options checks is what it should be."""
    approver, settings, run = (choices.get(name) for name in ("approver", "settings", "run_directory"))
    if inspect.isclass(approver) or not (
        approver is None or inspect.iscoroutinefunction(getattr(approver, "decide", None))
    ):
        hint = "give an object with `async def decide(self, proposal)` that returns a tui_tuner.Decision, or None"
        raise SettingsError(f"approver is no approver but {_named(approver)}", hint=hint)
    if not isinstance(settings, Settings | None):
        raise SettingsError(f"settings are no settings but {_named(settings)}", hint="give tui_tuner.Settings, or None")
    if not isinstance(run, str | Path | None):
        raise SettingsError(f"run_directory is no path but {_named(run)}", hint="give a str, a Path or None")


def _named(what: object) -> str:
    return what.__name__ if isinstance(what, type) else type(what).__name__


def _objects_in(choices: Mapping[str, Any]) -> GivenObjects:
    strategy, model = choices.get("strategy"), choices.get("model")
    if not isinstance(strategy, str | Strategy | None):
        hint = "give a name, file.py:Class, or an object, as in AutonomousStrategy()"
        raise SettingsError(f"strategy is no strategy but {_named(strategy)}", hint=hint)
    if not (isinstance(model, str | None) or all(hasattr(model, name) for name in _BACKEND)):
        hint = "give a name as with --llm, an object with the protocol tui_tuner.llm.Backend, or None"
        raise SettingsError(f"model is no model but a {type(model).__name__}", hint=hint)
    return GivenObjects(strategy if isinstance(strategy, Strategy) else None, None if isinstance(model, str) else model)
