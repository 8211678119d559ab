"""New, resumed and replayed sessions, put together from the user's choices; the front ends all come here."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError

from tui_tuner.commands.check import check_kernel, check_options, check_source
from tui_tuner.errors import JournalError, SettingsError, UserError
from tui_tuner.evaluate.local import LocalEvaluator, LocalOptions
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.llm.base import Backend
from tui_tuner.llm.choose import choose
from tui_tuner.llm.retry import Retrying, RetryPolicy
from tui_tuner.problem.in_python import Written, written_in_file
from tui_tuner.session.journal import FILE, Journal
from tui_tuner.session.options import SessionOptions
from tui_tuner.session.run_directory import RunDirectory, create, default_path, open_run
from tui_tuner.session.session import Session
from tui_tuner.settings import Settings
from tui_tuner.strategies.base import Strategy
from tui_tuner.strategies.choose import found_anywhere, spec_of, strategy_named

_MUST_STAY = ("strategy", "strategy_options", "seed", "device")
"""Options that a run cannot be gone on with when they are others."""


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

    def forget_if_empty(self) -> None:
        """A new run that failed before its first result is none: its place is free for the next try."""
        journal = self.run.journal.path
        with suppress(JournalError):
            if self.is_new and Journal.read(journal).last_elapsed == 0:
                journal.unlink()


@dataclass(frozen=True)
class Brought:
    """Objects that the user brings along instead of their names in the options."""

    strategy: Strategy | None = None
    backend: Backend | None = None


class _Lent(Retrying):
    """A back end that the user brought, and may use again."""

    async def aclose(self) -> None:
        """Leave it open."""


@dataclass(frozen=True)
class _Chosen:
    options: SessionOptions
    strategy: Strategy
    backend: Backend | None
    notes: list[str]


def new_session(kernel: Path, options: SessionOptions, settings: Settings, run_path: Path | None) -> Prepared:
    """A session for a kernel; without a model it runs the strategy that needs none.

    Raises:
        UserError: problem file, options, model or run directory cannot be used.
    """
    return asyncio.run(begin_session(problem_of(kernel), options, settings, run_path))


def problem_of(kernel: Path) -> Written:
    """The problem of a kernel's file, or of a problem file.

    Raises:
        ProblemError: a file is missing, or what it says is not possible.
    """
    check_kernel(kernel)
    written = written_in_file(kernel)
    check_source(kernel, written.problem)
    return written


async def begin_session(
    written: Written,
    options: SessionOptions,
    settings: Settings,
    run_path: Path | None = None,
    *,
    brought: Brought = Brought(),
    go_on: bool = False,
) -> Prepared:
    """A session for a problem.

    Args:
        go_on: whether a run of the same problem that is at `run_path` already is gone on with.

    Raises:
        UserError: options, model or run directory cannot be used.
    """
    await check_options(options, written.problem)
    chosen = await _choose(options, settings, brought)
    if go_on and run_path is not None and (run_path / FILE).exists():
        return _prepared(_same_run(run_path, written, chosen.options), chosen, settings)
    model = None if chosen.backend is None else chosen.backend.name
    path = run_path or default_path(written.file)
    run = create(path, written.problem, written.file, chosen.options, model, problem_text=written.text)
    return replace(_prepared(run, chosen, settings), is_new=True)


def resumed_session(path: Path, changes: Mapping[str, Any], settings: Settings) -> Prepared:
    """A session that goes on where a run stopped; `changes` replace options, as with a larger budget.

    Raises:
        UserError: the run cannot be resumed.
    """
    run = open_run(path, resume=True)
    options = run.options.model_copy(update=dict(changes))
    try:
        strategy = strategy_named(options.strategy, options.strategy_options)
        backend, notes = asyncio.run(_model(options, settings)) if strategy.needs_model else (None, [])
    except UserError:
        run.journal.close()
        raise
    return _prepared(_reopened(run, options), _Chosen(options, strategy, backend, notes), settings)


def replayed_session(path: Path) -> Prepared:
    """A session that is shown again from its journal; needs neither device nor model.

    Raises:
        UserError: the run cannot be read.
    """
    run = open_run(path, resume=False)
    strategy = strategy_named(run.options.strategy, run.options.strategy_options)
    return Prepared(Session(run, strategy, None, None), run, [])


def _prepared(run: RunDirectory, chosen: _Chosen, settings: Settings) -> Prepared:
    evaluator = _evaluator(run, settings)
    session = Session(run, chosen.strategy, evaluator, chosen.backend, max_tokens=settings.model.max_tokens)
    return Prepared(session, run, chosen.notes)


async def _choose(options: SessionOptions, settings: Settings, brought: Brought) -> _Chosen:
    """Strategy and model; the strategy that needs no model where there is none."""
    if brought.strategy is None:
        own = {**settings.strategies.get(options.strategy, {}), **options.strategy_options}
        strategy, spec = strategy_named(options.strategy, own), found_anywhere(options.strategy)
    else:
        strategy, spec, own = brought.strategy, spec_of(brought.strategy), _options_of(brought.strategy)
    options = options.model_copy(update={"strategy": spec, "strategy_options": own})
    if not strategy.needs_model:
        return _Chosen(options, strategy, None, [])
    backend, notes = await _model(options, settings, brought.backend)
    if backend is None:
        if own and not notes:
            notes = [f"'{options.strategy}' with its options needs a language model: running the strategy 'search'"]
        strategy = strategy_named("search")
        options = options.model_copy(update={"strategy": strategy.name, "strategy_options": {}})
    return _Chosen(options, strategy, backend, notes)


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
    return _reopened(run, options)


def _reopened(run: RunDirectory, options: SessionOptions) -> RunDirectory:
    """A run with other options; what stopped it or failed for want of a model is tried again."""
    run.journal.forget(
        lambda record: record.kind == "stopped" or not record.result.keys().isdisjoint({"failed", "stopped"})
    )
    return RunDirectory(run.path, run.journal, run.problem, run.problem_text, options, run.model)


async def _model(
    options: SessionOptions, settings: Settings, brought: Backend | None = None
) -> tuple[Backend | None, list[str]]:
    """The model, or in one line why there is none."""
    passed: list[str] = []
    backend = brought or await choose(options.llm, settings.model, passed.append)
    if backend is None:
        unreachable = f"no language model: running the strategy 'search' without one ({'; '.join(passed)})"
        return None, [unreachable] if passed else []
    policy = RetryPolicy(limit_s=settings.model.timeout_s)
    return Retrying(backend, policy) if brought is None else _Lent(backend, policy), []


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
