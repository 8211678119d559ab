"""New, resumed and replayed Tensile sessions, put together from the user's choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tui_tuner.app.choosing import model_of
from tui_tuner.app.starting import SessionSetup
from tui_tuner.errors import SettingsError, UserError
from tui_tuner.llm import Backend
from tui_tuner.resources import settings_file
from tui_tuner.session.run_directory import default_path
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings
from tui_tuner.tensile.document import BenchmarkConfiguration
from tui_tuner.tensile.document.reading import parse_configuration, parse_sizes, read_text
from tui_tuner.tensile.knowledge.known import Knowledge, knowledge_for
from tui_tuner.tensile.measure import TensileBench
from tui_tuner.tensile.program import find_tensile, located
from tui_tuner.tensile.run_directory import KIND, TensileOptions, TensileRun, create, open_run
from tui_tuner.tensile.session import TensileSession

_NO_MODEL_HINT = "name one with --llm, as in --llm ollama:gpt-oss:120b, or measure only with --max-rounds 0"
NO_MODEL = "a language model edits the configuration, and there is none"


@dataclass(frozen=True)
class GivenConfiguration:
    """What the user names: a configuration, and the list of sizes that goes with the alternate format."""

    configuration: BenchmarkConfiguration
    sizes_text: str | None = None


def given_in(file: Path, sizes_file: Path | None) -> GivenConfiguration:
    """Read what the user names.

    Raises:
        UserError: a file cannot be used.
    """
    sizes_text = None if sizes_file is None else read_text(sizes_file)
    sizes = None if sizes_file is None or sizes_text is None else parse_sizes(sizes_text, sizes_file)
    configuration = parse_configuration(read_text(file), file, sizes)
    if sizes_file is not None and not configuration.alternate:
        raise SettingsError(
            f"{file} has its sizes in itself", hint=f"leave {sizes_file} out: it goes with the alternate format only"
        )
    return GivenConfiguration(configuration, sizes_text)


async def new_tensile_session(
    given: GivenConfiguration,
    options: SessionOptions,
    tensile: TensileOptions,
    settings: Settings,
    run_path: Path | None,
) -> SessionSetup:
    """A session for a configuration.

    Raises:
        UserError: there is no Tensile or no model, or the run directory cannot be used.
    """
    bench = _bench(tensile, given.sizes_text)
    knowledge = knowledge_of(given.configuration, tensile)
    backend, notes = await model_of(options, settings) if tensile.max_rounds else (None, [])
    if backend is None and tensile.max_rounds:
        raise no_model(notes)
    path = run_path or default_path(given.configuration.file)
    model = None if backend is None else backend.name
    run = create(path, given.configuration, given.sizes_text, options, tensile, model)
    return replace(_ready(run, knowledge, bench, backend, settings), is_new=True)


def no_model(notes: list[str], hint: str = _NO_MODEL_HINT) -> SettingsError:
    """There is none, and why."""
    why = f": {'; '.join(notes)}" if notes else ""
    return SettingsError(f"{NO_MODEL}{why}", hint=hint)


async def resumed_tensile_session(
    path: Path, changes: Mapping[str, Any], settings: Settings, tensile: Path | None = None
) -> SessionSetup:
    """A session that goes on where it stopped.

    Args:
        tensile: where Tensile is now; None for where it was.

    Raises:
        UserError: it cannot be resumed.
    """
    run = open_run(path, resume=True)
    own = run.settings if tensile is None else run.settings.model_copy(update={"tensile": tensile})
    run = replace(run, options=run.options.model_copy(update=dict(changes)), settings=own)
    run.journal.forget_undone()
    try:
        bench = _bench(run.settings, run.sizes_text)
        backend, _ = await model_of(run.options, settings)
        return _ready(run, knowledge_of(run.configuration, run.settings), bench, backend, settings)
    except UserError:
        run.journal.close()
        raise


def replayed_tensile_session(path: Path) -> SessionSetup:
    """A session that is shown again from its journal.

    Raises:
        UserError: it cannot be read.
    """
    run = open_run(path, resume=False)
    return SessionSetup(TensileSession(run, knowledge_of(run.configuration, run.settings), None, None), run, [])


def knowledge_of(configuration: BenchmarkConfiguration, tensile: TensileOptions) -> Knowledge:
    """What is known, with the user's own files.

    Raises:
        UserError: a mistake in one of them.
    """
    named = None if tensile.knowledge is None else tensile.knowledge.expanduser()
    if named is not None and not named.is_dir():
        hint = "a relative one is looked for in the directory where the run is begun, gone on with or shown again"
        raise SettingsError(f"--knowledge: there is no directory {named}", hint=hint)
    directory = named or settings_file().parent / "tensile"
    return knowledge_for(configuration, directory if directory.is_dir() else None)


def _bench(tensile: TensileOptions, sizes_text: str | None) -> TensileBench:
    devices = tuple(sorted({int(number) for number in (tensile.devices or "").split(",") if number}))
    return TensileBench(find_tensile(tensile.tensile), sizes_text, tensile.max_run_seconds, devices=devices)


def _ready(
    run: TensileRun, knowledge: Knowledge, bench: TensileBench, backend: Backend | None, settings: Settings
) -> SessionSetup:
    session = TensileSession(run, knowledge, bench, backend, max_tokens=settings.model.max_tokens)
    return SessionSetup(session, run, [])


def findings(settings: Settings) -> str:
    """Which Tensile this machine has, for `tuner-tui doctor`."""
    try:
        found = find_tensile(options_of(settings).tensile)
    except UserError as error:
        return error.message
    return f"{found.program}{f', version {found.version}' if found.version else ''}"


def missing(settings: Settings) -> str:
    """What is wrong with the Tensile of this machine, or that there is none, for the start screen."""
    try:
        located(options_of(settings).tensile)
    except UserError as error:
        return error.message
    return ""


def options_of(settings: Settings) -> TensileOptions:
    """The table `[tensile]`; its defaults where the user has none."""
    options = settings.table(KIND)
    return options if isinstance(options, TensileOptions) else TensileOptions()
