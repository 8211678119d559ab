"""Tuning from Python: one call, the same awaited, or the events as they happen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from tui_tuner.app.choices import Choices, check_names, prepare
from tui_tuner.app.sessions import KernelSessionSetup
from tui_tuner.errors import SettingsError, UserError
from tui_tuner.headless import ApproveAll
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.report.result import SessionOutcome
from tui_tuner.session import events
from tui_tuner.session.instructions import Instruction
from tui_tuner.strategies.steps import Factor


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
        """Of the best over the kernel as given, with the ends of its 95 % interval."""
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
