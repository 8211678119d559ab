"""New, resumed and replayed sessions, put together from the user's choices; the front ends all come here."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tui_tuner.commands.check import check_kernel, check_options, check_source
from tui_tuner.commands.choosing import NOTHING, Brought, Chosen, choose_for, with_model
from tui_tuner.commands.prepared import Ready
from tui_tuner.commands.recordings import recorded_problem, with_recording
from tui_tuner.commands.remembered import cached, decided, memory_of
from tui_tuner.errors import JournalError, SettingsError, UserError
from tui_tuner.evaluate.devices.choose import recorded_file
from tui_tuner.evaluate.evaluator import Evaluator
from tui_tuner.evaluate.local import LocalEvaluator, LocalOptions
from tui_tuner.evaluate.python_kernels.describe import python_problem
from tui_tuner.evaluate.python_kernels.evaluator import PythonEvaluator, PythonOptions
from tui_tuner.evaluate.python_kernels.gpu import visible_gpu
from tui_tuner.evaluate.python_kernels.names import split_name
from tui_tuner.evaluate.python_kernels.process import ProcessOptions
from tui_tuner.evaluate.recorded.evaluator import RecordedEvaluator
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.journal.reading import FILE
from tui_tuner.problem.in_python import Written, written_in_file
from tui_tuner.session.options import SessionOptions
from tui_tuner.session.run_directory import RunDirectory, create, default_path, open_run
from tui_tuner.session.session import Session
from tui_tuner.settings import Settings
from tui_tuner.strategies.choose import strategy_named

_MUST_STAY = ("strategy", "strategy_options", "seed", "device")
"""Options that a run cannot be gone on with when they are others."""
_MEMORY = ("memory", "cache_replies")
"""Options that stay as the run began: what the memory offered is in its journal."""


@dataclass(frozen=True)
class Prepared(Ready):
    """A session that tunes a kernel."""

    session: Session
    run: RunDirectory


def new_session(kernel: Path | None, options: SessionOptions, settings: Settings, run_path: Path | None) -> Prepared:
    """A session for a kernel or a recording; without a model it runs the strategy that needs none.

    Raises:
        UserError: problem file, options, model or run directory cannot be used.
    """
    kernel, options = with_recording(kernel, options)
    return asyncio.run(begin_session(problem_of(kernel, options.device), options, settings, run_path))


def problem_of(kernel: Path | None, device: str = "auto") -> Written:
    """The problem of a kernel's file, of a problem file, or of a recording that is the device.

    Raises:
        UserError: a file is missing, or what it says is not possible.
    """
    recording = recorded_file(device)
    if recording is not None:
        return recorded_problem(kernel, recording)
    if kernel is None:
        raise SettingsError("no kernel is named", hint="name its file")
    check_kernel(kernel)
    file, name = split_name(kernel)
    if file.suffix == ".py":
        return python_problem(file, name, ProcessOptions(visible_gpu(device)))
    written = written_in_file(kernel)
    check_source(kernel, written.problem)
    return written


async def begin_session(
    written: Written,
    options: SessionOptions,
    settings: Settings,
    run_path: Path | None = None,
    *,
    brought: Brought = NOTHING,
    go_on: bool = False,
) -> Prepared:
    """A session for a problem.

    Args:
        go_on: whether a run of the same problem that is at `run_path` already is gone on with.

    Raises:
        UserError: options, model or run directory cannot be used.
    """
    await check_options(options, written.problem)
    chosen = await choose_for(written.problem, decided(options, settings), settings, brought)
    if go_on and run_path is not None and (run_path / FILE).exists():
        return _prepared(_same_run(run_path, written, chosen.options), chosen, settings, brought.evaluator)
    model = None if chosen.backend is None else chosen.backend.name
    path = run_path or default_path(written.file)
    run = create(path, written.problem, written.file, chosen.options, model, problem_text=written.text)
    return replace(_prepared(run, chosen, settings, brought.evaluator), is_new=True)


def resumed_session(path: Path, changes: Mapping[str, Any], settings: Settings) -> Prepared:
    """A session that goes on where a run stopped; `changes` replace options, as with a larger budget.

    Raises:
        UserError: the run cannot be resumed.
    """
    run = open_run(path, resume=True)
    options = run.options.model_copy(update=dict(changes))
    try:
        strategy = strategy_named(options.strategy, options.strategy_options)
        chosen = asyncio.run(with_model(Chosen(options, strategy), settings))
    except UserError:
        run.journal.close()
        raise
    if chosen.backend is None:  # what began with a model goes on as what it is, as far as it comes
        chosen = Chosen(options, strategy, None, chosen.notes)
    return _prepared(_reopened(run, options), chosen, settings)


def replayed_session(path: Path) -> Prepared:
    """A session that is shown again from its journal; needs neither device nor model.

    Raises:
        UserError: the run cannot be read.
    """
    run = open_run(path, resume=False)
    strategy = strategy_named(run.options.strategy, run.options.strategy_options)
    return Prepared(Session(run, strategy, None, None), run, [])


def _prepared(run: RunDirectory, chosen: Chosen, settings: Settings, evaluator: Evaluator | None = None) -> Prepared:
    evaluator = evaluator or _evaluator(run, settings)
    model, memory = cached(chosen.backend, run, settings), memory_of(run.options, settings)
    limit = settings.model.max_tokens
    session = Session(run, chosen.strategy, evaluator, model, max_tokens=limit, memory=memory)
    return Prepared(session, run, chosen.notes)


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
    if run.problem.language == "python":
        process = ProcessOptions(visible_gpu(run.options.device))
        return PythonEvaluator(run.problem, PythonOptions(run.log, jobs, process=process))
    options = LocalOptions(
        device=run.options.device,
        cache=run.builds,
        log=run.log,
        jobs=jobs,
        policy=Policy(allow_unconfined=run.options.allow_unconfined),
        nvcc=settings.build.nvcc,
    )
    return LocalEvaluator(run.problem, options)
