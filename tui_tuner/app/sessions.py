"""New, resumed and replayed sessions of kernels, put together from the user's choices; the front ends all come here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tui_tuner.app.assumptions import assumptions
from tui_tuner.app.choosing import (
    NO_OBJECTS,
    GivenObjects,
    StrategyAndModel,
    choose_for,
    decided,
    in_run,
    local_options,
    memory_of,
    models_for,
    with_model,
)
from tui_tuner.app.drafting import confirmed
from tui_tuner.app.first_draft import loaded_or_not, off_the_loop, written_in
from tui_tuner.app.named import problem_of, with_recording
from tui_tuner.app.starting import DraftDesk, SessionSetup
from tui_tuner.errors import DeviceError, JournalError, SettingsError, UserError
from tui_tuner.evaluate.devices.choose import check_cluster, choose_device, cluster_address, recorded_file
from tui_tuner.evaluate.devices.kinds import KINDS
from tui_tuner.evaluate.evaluator import Evaluator
from tui_tuner.evaluate.local import LocalEvaluator
from tui_tuner.evaluate.recorded.evaluator import RecordedEvaluator
from tui_tuner.journal.reading import FILE, Record
from tui_tuner.llm import Stop
from tui_tuner.problem.load import Written
from tui_tuner.problem.model import Problem
from tui_tuner.search import MODEL_METHODS, method_named
from tui_tuner.session.budget import with_recorded_limits
from tui_tuner.session.run_directory import RunDirectory, create, default_path, is_about, open_run
from tui_tuner.session.session import Session
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings
from tui_tuner.strategies.choose import strategy_named
from tui_tuner.subjects import loaded, room_for_file, room_for_language, split_name
from tui_tuner.text import nearest

_MUST_STAY = ("strategy", "strategy_options", "seed", "device")
"""Options that a run cannot be gone on with when they are others."""
_LEAST_S = 1.0
"""Seconds that are left for a session, however long its draft took: it still says that the time is up."""
_MEMORY = ("memory", "cache_replies")
"""Options that stay as the run began: what the memory offered is in its journal."""


@dataclass(frozen=True)
class KernelSessionSetup(SessionSetup):
    """A session that tunes a kernel."""

    session: Session
    run: RunDirectory


async def new_session(
    kernel: Path | None,
    options: SessionOptions,
    settings: Settings,
    run_path: Path | None,
    host: Path | None = None,
    looked_through: DraftDesk | None = None,
    tell: Callable[[str], None] | None = None,
) -> KernelSessionSetup:
    """A session for a kernel or a recording; without a model it runs the strategy that needs none.

    Args:
        host: the file with the host's code, for a draft, where it is another than the kernel's.
        looked_through: where the user looks through a draft before anything begins.
        tell: told in a line of what takes long before the session begins.

    Raises:
        UserError: problem file, options, model or run directory cannot be used.
    """
    kernel, options = with_recording(kernel, options)
    if tell is not None and kernel is not None and room_for_file(file := split_name(kernel)[0]) is not None:
        tell(f"loading {file.name}; {(host or file).name} is run where that does not say what to tune with")
    first = await off_the_loop(loaded_or_not, problem_of, kernel, options.device, host)
    drafted = written_in(first)
    if looked_through is not None and looked_through.tell is not None and drafted.is_drafted:
        named = drafted.problem.kernel.name
        looked_through.tell(f"no {drafted.file.name} beside it: drafting the problem, trying {named}")
    written = await confirmed(first, options, settings, tell=tell)
    options = what_is_left(options, written)
    if looked_through is not None:
        written = await looked_through.taken_over(written)
    setup = await begin_session(written, options, settings, run_path)
    return replace(setup, notes=[*assumptions(written), *setup.notes])


def what_is_left(options: SessionOptions, written: Written) -> SessionOptions:
    """The options without what a model's draft took of the budget; of its time see `time_taken`."""
    left: dict[str, object] = {"max_calls": max(0, options.max_calls - written.calls)}
    if options.max_cost is not None:
        left["max_cost"] = max(0.0, options.max_cost - (written.cost or 0.0))
    return options.model_copy(update=left) if written.calls else options


def time_taken(options: SessionOptions, written: Written) -> float:
    """The seconds that a model's draft took, from which the session's own count on, so far as that leaves it some."""
    if not written.calls:
        return 0.0
    most = math.inf if options.max_seconds is None else options.max_seconds
    return min(written.seconds, most - min(_LEAST_S, most))


async def begin_session(
    written: Written,
    options: SessionOptions,
    settings: Settings,
    run_path: Path | None,
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
    elapsed = time_taken(chosen.options, written)
    run = create(path, written.problem, written.file, chosen.options, model, problem_text=written.text, elapsed=elapsed)
    try:
        return replace(_setup(run, chosen, settings, given.evaluator), is_new=True)
    except BaseException:
        run.journal.discard()
        raise


async def resumed_session(
    path: Path, changes: Mapping[str, Any], settings: Settings, *, retry_failed: bool = False
) -> KernelSessionSetup:
    """A session that goes on where a run stopped; `changes` replace options, as with a larger budget.

    Args:
        retry_failed: whether evaluations and comparisons that failed are made again, and calls whose reply was cut at a
            lower limit.

    Raises:
        UserError: the run cannot be resumed.
    """
    run = open_run(path, resume=True)
    if retry_failed:
        run.journal.forget(lambda record: _came_to_nothing(record, settings.model.max_tokens))
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


def _came_to_nothing(record: Record, max_tokens: int) -> bool:
    """Whether an evaluation or a comparison failed, or a reply was cut at a limit that was lower than now."""
    if record.kind == "ask":
        asked = (record.content or {}).get("max_tokens", max_tokens)
        return bool(record.result.get("stop") == Stop.LENGTH and asked < max_tokens)
    return record.kind in ("evaluate", "compare") and record.result.get("failure") is not None


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
        model, memory = in_run(chosen.backend, run, settings), memory_of(run.options, settings)
        limit = settings.model.max_tokens
        models = models_for(run, settings)
        session = Session(run, chosen.strategy, evaluator, model, max_tokens=limit, memory=memory, models=models)
        session.allow(chosen.options)
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
    if not is_about(run.journal.header, written):
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
    return replace(run, options=with_recorded_limits(options, run.options))


def _evaluator(run: RunDirectory, settings: Settings) -> Evaluator:
    recording = recorded_file(run.options.device)
    if recording is not None:
        return RecordedEvaluator(run.problem, recording)
    options = replace(local_options(run.options, run.builds, run.log, settings), run=str(run.path))
    room = room_for_language(run.problem.language)
    if room is not None:
        evaluator: Evaluator = loaded(room.evaluator)(run.problem, options)
        return evaluator
    address = cluster_address(run.options.device)
    if address is None:
        return LocalEvaluator(run.problem, options)
    from tui_tuner.evaluate.cluster import RayCluster
    from tui_tuner.evaluate.cluster.places import ClusterOptions

    build = settings.build
    wanted = ClusterOptions(address, run.builds, options.policy.allow_unconfined, build.jobs, build.cache_mb)
    return LocalEvaluator(run.problem, options, RayCluster(run.problem, wanted))


async def check_options(options: SessionOptions, problem: Problem) -> None:
    """Whether search method and device are known and fit the problem; what is `auto` is not looked for here.

    Raises:
        SettingsError: they do not.
    """
    if options.search is not None and options.search not in MODEL_METHODS:
        method_named(options.search)
    if options.device.strip().lower() == "auto" and problem.language != "recorded":
        return
    try:
        room = room_for_language(problem.language)
        if room is not None:
            loaded(room.check_device)(options.device)
        elif cluster_address(options.device) is not None:
            check_cluster(problem.language)
        elif recorded_file(options.device) is None:
            await choose_device(options.device, problem.language)
    except DeviceError as error:
        kind = options.device.partition(":")[0]
        known = ("auto", *KINDS)
        near = None if kind in known else nearest(kind, known)
        meant = "" if near is None else f"did you mean '{near}'? "
        raise SettingsError(error.message, hint=f"{meant}{error.hint or ''}".strip() or None) from None
