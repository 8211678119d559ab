"""New, resumed and replayed sessions, put together from the command line's choices."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_tuner.commands.check import check_kernel, check_options, check_source
from tui_tuner.evaluate.local import LocalEvaluator, LocalOptions
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.llm.base import Backend
from tui_tuner.llm.choose import choose
from tui_tuner.llm.retry import Retrying, RetryPolicy
from tui_tuner.problem.load import load_problem
from tui_tuner.session.options import SessionOptions
from tui_tuner.session.run_directory import RunDirectory, create, default_path, open_run
from tui_tuner.session.session import Session
from tui_tuner.settings import Settings
from tui_tuner.strategies.choose import strategy_named


@dataclass(frozen=True)
class Prepared:
    """A session that is ready to run, and what the user should know before.

    Attributes:
        is_new: whether the run begins with it.
    """

    session: Session
    run: RunDirectory
    notes: list[str]
    is_new: bool = False


def new_session(kernel: Path, options: SessionOptions, settings: Settings, run_path: Path | None) -> Prepared:
    """A session for a kernel; without a model it runs the strategy that needs none.

    Raises:
        UserError: problem file, options, model or run directory cannot be used.
    """
    check_kernel(kernel)
    problem = load_problem(kernel)
    check_source(kernel, problem)
    check_options(options, problem)
    strategy = strategy_named(options.strategy)
    backend: Backend | None = None
    notes: list[str] = []
    if strategy.needs_model:
        backend, notes = asyncio.run(_model(options, settings))
        if backend is None:
            strategy = strategy_named("search")
            options = options.model_copy(update={"strategy": strategy.name})
    model = None if backend is None else backend.name
    run = create(run_path or default_path(kernel), problem, kernel.with_suffix(".toml"), options, model)
    session = Session(run, strategy, _evaluator(run, settings), backend, max_tokens=settings.model.max_tokens)
    return Prepared(session, run, notes, is_new=True)


def resumed_session(path: Path, changes: Mapping[str, Any], settings: Settings) -> Prepared:
    """A session that goes on where a run stopped; `changes` replace options, as with a larger budget.

    Raises:
        UserError: the run cannot be resumed.
    """
    run = open_run(path, resume=True)
    options = run.options.model_copy(update=dict(changes))
    run.journal.forget(lambda record: record.kind == "stopped" or "failed" in record.result)
    run = RunDirectory(run.path, run.journal, run.problem, run.problem_text, options, run.model)
    strategy = strategy_named(options.strategy)
    backend, notes = asyncio.run(_model(options, settings)) if strategy.needs_model else (None, [])
    session = Session(run, strategy, _evaluator(run, settings), backend, max_tokens=settings.model.max_tokens)
    return Prepared(session, run, notes)


def replayed_session(path: Path) -> Prepared:
    """A session that is shown again from its journal; needs neither device nor model.

    Raises:
        UserError: the run cannot be read.
    """
    run = open_run(path, resume=False)
    return Prepared(Session(run, strategy_named(run.options.strategy), None, None), run, [])


async def _model(options: SessionOptions, settings: Settings) -> tuple[Backend | None, list[str]]:
    """The model, or in one line why there is none."""
    passed: list[str] = []
    backend = await choose(options.llm, settings.model, passed.append)
    if backend is None:
        unreachable = f"no language model: running the strategy 'search' without one ({'; '.join(passed)})"
        return None, [unreachable] if passed else []
    return Retrying(backend, RetryPolicy(limit_s=settings.model.timeout_s)), []


def _evaluator(run: RunDirectory, settings: Settings) -> LocalEvaluator:
    options = LocalOptions(
        device=run.options.device,
        cache=run.builds,
        log=run.log,
        jobs=settings.build.jobs or os.cpu_count() or 1,
        policy=Policy(allow_unconfined=run.options.allow_unconfined),
        nvcc=settings.build.nvcc,
    )
    return LocalEvaluator(run.problem, options)
