"""New, resumed and replayed sessions, put together from the user's choices; the front ends all come here."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tui_tuner.app.choosing import (
    NO_OBJECTS,
    GivenObjects,
    StrategyAndModel,
    cached,
    choose_for,
    decided,
    memory_of,
    with_model,
)
from tui_tuner.app.kernel_rooms import room_for_language
from tui_tuner.app.problem import check_options, problem_of, with_recording
from tui_tuner.app.showing import SessionSetup
from tui_tuner.errors import JournalError, UserError
from tui_tuner.evaluate.devices.choose import recorded_file
from tui_tuner.evaluate.local import LocalEvaluator, LocalOptions
from tui_tuner.evaluate.recorded.evaluator import RecordedEvaluator
from tui_tuner.evaluate.results import Evaluator
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.journal.reading import FILE
from tui_tuner.problem.load import Written
from tui_tuner.session.options import SessionOptions
from tui_tuner.session.run_directory import RunDirectory, create, default_path, open_run
from tui_tuner.session.session import Session
from tui_tuner.settings import Settings
from tui_tuner.strategies.choose import strategy_named
from tui_tuner.subjects import loaded

_MUST_STAY = ("strategy", "strategy_options", "seed", "device")
"""Options that a run cannot be gone on with when they are others."""
_MEMORY = ("memory", "cache_replies")
"""Options that stay as the run began: what the memory offered is in its journal."""


@dataclass(frozen=True)
class KernelSessionSetup(SessionSetup):
    """A session that tunes a kernel."""

    session: Session
    run: RunDirectory


async def new_session(
    kernel: Path | None, options: SessionOptions, settings: Settings, run_path: Path | None
) -> KernelSessionSetup:
    """A session for a kernel or a recording; without a model it runs the strategy that needs none.

    Raises:
        UserError: problem file, options, model or run directory cannot be used.
    """
    kernel, options = with_recording(kernel, options)
    written = await asyncio.to_thread(problem_of, kernel, options.device)
    return await begin_session(written, options, settings, run_path)


async def begin_session(
    written: Written,
    options: SessionOptions,
    settings: Settings,
    run_path: Path | None = None,
    *,
    given: GivenObjects = NO_OBJECTS,
    go_on: bool = False,
) -> KernelSessionSetup:
    """A session for a problem.

    Args:
        go_on: whether a run of the same problem that is at `run_path` already is gone on with.

    Raises:
        UserError: options, model or run directory cannot be used.
    """
    await check_options(options, written.problem)
    chosen = await choose_for(written.problem, decided(options, settings), settings, given)
    if go_on and run_path is not None and (run_path / FILE).exists():
        return _setup(_same_run(run_path, written, chosen.options), chosen, settings, given.evaluator)
    model = None if chosen.backend is None else chosen.backend.name
    path = run_path or default_path(written.file)
    run = create(path, written.problem, written.file, chosen.options, model, problem_text=written.text)
    return replace(_setup(run, chosen, settings, given.evaluator), is_new=True)


async def resumed_session(path: Path, changes: Mapping[str, Any], settings: Settings) -> KernelSessionSetup:
    """A session that goes on where a run stopped; `changes` replace options, as with a larger budget.

    Raises:
        UserError: the run cannot be resumed.
    """
    run = open_run(path, resume=True)
    options = run.options.model_copy(update=dict(changes))
    try:
        strategy = strategy_named(options.strategy, options.strategy_options)
        chosen = await with_model(StrategyAndModel(options, strategy), settings)
    except UserError:
        run.journal.close()
        raise
    if chosen.backend is None:  # what began with a model goes on as what it is, as far as it comes
        chosen = StrategyAndModel(options, strategy, None, chosen.notes)
    return _setup(_reopened(run, options), chosen, settings)


def replayed_session(path: Path) -> KernelSessionSetup:
    """A session that is shown again from its journal; needs neither device nor model.

    Raises:
        UserError: the run cannot be read.
    """
    run = open_run(path, resume=False)
    strategy = strategy_named(run.options.strategy, run.options.strategy_options)
    return KernelSessionSetup(Session(run, strategy, None, None), run, [])


def _setup(
    run: RunDirectory, chosen: StrategyAndModel, settings: Settings, evaluator: Evaluator | None = None
) -> KernelSessionSetup:
    """The session of a run; where none can be made, the run's journal is given back."""
    try:
        evaluator = evaluator or _evaluator(run, settings)
        model, memory = cached(chosen.backend, run, settings), memory_of(run.options, settings)
        limit = settings.model.max_tokens
        session = Session(run, chosen.strategy, evaluator, model, max_tokens=limit, memory=memory)
    except BaseException:
        run.journal.close()
        raise
    return KernelSessionSetup(session, run, chosen.notes)


def _same_run(path: Path, written: Written, options: SessionOptions) -> RunDirectory:
    """The run at a path, if it is of this problem.

    Raises:
        JournalError: it is another run's place.
    """
    run = open_run(path, resume=True)
    changed = [name for name in _MUST_STAY if getattr(run.options, name) != getattr(options, name)]
    if (run.problem_text, run.problem.source_text) != (written.text, written.problem.source_text):
        changed.insert(0, "problem")
    if changed:
        run.journal.close()
        message = f"the run that is there began with another {', another '.join(changed)}"
        raise JournalError(message, hint="name another run directory, or go on with what it began with", file=path)
    kept = {name: getattr(run.options, name) for name in _MEMORY}
    kept["search"] = options.search or run.options.search
    return _reopened(run, options.model_copy(update=kept))


def _reopened(run: RunDirectory, options: SessionOptions) -> RunDirectory:
    """A run with other options; what stopped it or failed for want of a model is tried again."""
    run.journal.forget_undone()
    return RunDirectory(run.path, run.journal, run.problem, run.problem_text, options, run.model)


def _evaluator(run: RunDirectory, settings: Settings) -> Evaluator:
    recording = recorded_file(run.options.device)
    if recording is not None:
        return RecordedEvaluator(run.problem, recording)
    jobs = settings.build.jobs or os.cpu_count() or 1
    room = room_for_language(run.problem.language)
    if room is not None:
        evaluator: Evaluator = loaded(room.evaluator)(run.problem, run.log, jobs, run.options.device)
        return evaluator
    options = LocalOptions(
        device=run.options.device,
        cache=run.builds,
        log=run.log,
        jobs=jobs,
        policy=Policy(allow_unconfined=run.options.allow_unconfined),
        nvcc=settings.build.nvcc,
    )
    return LocalEvaluator(run.problem, options)
