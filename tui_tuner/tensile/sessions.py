"""New, resumed and replayed Tensile sessions, put together from the user's choices; and advice without measuring.

Advice is one prompt, a text for people, and the edited configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tui_tuner.app.choosing import model_of
from tui_tuner.app.starting import SessionSetup
from tui_tuner.errors import ModelError, SettingsError, UserError, writing
from tui_tuner.llm import Backend, Request
from tui_tuner.llm.errors import ContextTooLong, TransportError
from tui_tuner.llm.lacking import way_out
from tui_tuner.llm.streams import complete
from tui_tuner.llm.structured import NoUsableReply, ask
from tui_tuner.resources import settings_file
from tui_tuner.session.budget import with_recorded_limits
from tui_tuner.session.run_directory import default_path
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings
from tui_tuner.tensile.document import BenchmarkConfiguration
from tui_tuner.tensile.document.judging import EditedConfiguration, EditLimits, apply_edits
from tui_tuner.tensile.document.reading import parse_configuration, parse_sizes, read_text
from tui_tuner.tensile.history import Advice, History, edit_lines, faults
from tui_tuner.tensile.knowledge.known import Knowledge, knowledge_for
from tui_tuner.tensile.knowledge.starting_points import starting_facts
from tui_tuner.tensile.measure import TensileBench
from tui_tuner.tensile.outcome import GroupOutcome, RoundOutcome
from tui_tuner.tensile.program import find_tensile, located
from tui_tuner.tensile.prompt import PromptContext, prompt
from tui_tuner.tensile.results import read_results
from tui_tuner.tensile.run_directory import KIND, TensileOptions, TensileRun, create, open_run
from tui_tuner.tensile.session import TensileSession
from tui_tuner.tensile.summary import summarise

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
    wanted = run.options.model_copy(update=dict(changes))
    run = replace(run, options=with_recorded_limits(wanted, run.options), settings=own)
    run.journal.forget_undone()
    try:
        bench = _bench(run.settings, run.sizes_text)
        backend, _ = await model_of(run.options, settings)
        setup = _ready(run, knowledge_of(run.configuration, run.settings), bench, backend, settings)
    except UserError:
        run.journal.close()
        raise
    setup.session.allow(wanted)
    return setup


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


_TASK = "Nothing will be measured for you: edit the configuration so that the programmer's own run of it is worth most."
_ATTEMPTS = 3


async def write_advice(
    given: GivenConfiguration,
    options: SessionOptions,
    tensile: TensileOptions,
    settings: Settings,
    *,
    advice_file: Path,
    edited_file: Path,
    results: Path | None = None,
) -> list[str]:
    """Ask a model once, and write its advice and the edited configuration.

    Args:
        results: Tensile's output directory of an earlier run of this configuration.

    Returns:
        What was done, in lines.

    Raises:
        UserError: there is no model, its reply cannot be used, or a file cannot be written.
    """
    if advice_file.absolute() == edited_file.absolute():
        raise SettingsError(f"{advice_file} is named for the advice and for the configuration", hint="name two files")
    for file in (advice_file, edited_file):
        if file.exists():
            raise SettingsError(f"{file} is there already", hint="name another, or remove it")
        if not file.absolute().parent.is_dir():
            raise SettingsError(f"there is no directory {file.parent} for {file.name}", hint="make it, or name another")
    return await _write(given, options, tensile, settings, (advice_file, edited_file), results)


async def _write(
    given: GivenConfiguration,
    options: SessionOptions,
    tensile: TensileOptions,
    settings: Settings,
    files: tuple[Path, Path],
    results: Path | None,
) -> list[str]:
    knowledge = knowledge_of(given.configuration, tensile)
    history = _history(given.configuration, knowledge, results)
    rules = EditLimits(knowledge.table, tensile.limit(given.configuration), history.incumbents())
    backend, notes = await model_of(options, settings)
    if backend is None:
        raise no_model(notes, "name one with --llm, as in --llm ollama:gpt-oss:120b")
    try:
        advice = await _asked(backend, history, knowledge, tensile, rules, settings.model.max_tokens)
    finally:
        await backend.aclose()
    edited, _ = apply_edits(given.configuration, advice.edits, rules)
    advice_file, edited_file = files
    missing = knowledge.missing_gpu(tensile.gpu or "")
    text = _text(given.configuration, advice, edited, backend.name)
    _save(advice_file, (f"{text}\n{missing[0].upper()}{missing[1:]}.\n" if missing else text).encode())
    _save(edited_file, edited.configuration.text.encode("utf-8"))
    before, after = given.configuration.permutations, edited.configuration.permutations
    return [
        *([missing] if missing else []),
        *edit_lines(edited),
        f"{before:,} -> {after:,} permutations",
        f"wrote {advice_file} and {edited_file}",
    ]


def _history(configuration: BenchmarkConfiguration, knowledge: Knowledge, results: Path | None) -> History:
    history = History(configuration, knowledge.table.default)
    if results is not None:
        summary = summarise(configuration, read_results(results))
        groups = [
            GroupOutcome(group=group.number, permutations=group.permutations) for group in configuration.size_groups
        ]
        outcome = RoundOutcome(seconds=0, groups=groups, sizes=summary.sizes, effects=summary.effects)
        history.add(0, configuration, outcome)
    return history


async def _asked(
    backend: Backend,
    history: History,
    knowledge: Knowledge,
    tensile: TensileOptions,
    rules: EditLimits,
    max_tokens: int,
) -> Advice:
    starts = starting_facts(history.current, knowledge.gpu(tensile.gpu or ""), knowledge.table)
    asked = PromptContext(
        history.current,
        history,
        knowledge,
        "\n".join(part for part in (knowledge.gpu_words(tensile.gpu or ""), starts) if part),
        rules.limit,
        None,
        1,
        1,
        why=None if history.first is not None else _TASK,
    )
    context = backend.context_tokens
    messages, _ = prompt(asked, None if context is None else context - max_tokens)
    request = Request(asked.purpose, tuple(messages), max_tokens=max_tokens)

    def check(advice: Advice) -> list[str]:
        return faults(advice, history.current, rules, history)

    try:
        answer = await ask(
            lambda one: complete(backend, one, lambda _: None), request, Advice, check=check, attempts=_ATTEMPTS
        )
    except NoUsableReply as refused:
        hint = way_out(refused.replies[-1], max_tokens) if refused.replies else ""
        raise ModelError(
            f"the model gave no usable advice in {_ATTEMPTS} calls: {refused}", hint=hint or None
        ) from refused
    except TransportError as error:
        raise ModelError(f"there is no advice: {error}", hint=_way_out(error)) from error
    return answer.value


def _way_out(error: TransportError) -> str:
    if isinstance(error, ContextTooLong):
        return (
            "let the model have a larger context ([model] context_tokens of the settings), or name another with --llm"
        )
    return "try again, or name another model with --llm"


def _text(configuration: BenchmarkConfiguration, advice: Advice, edited: EditedConfiguration, model: str) -> str:
    lines = [f"# Advice for {configuration.file.name}", "", f"By {model}. Nothing of it was measured.", ""]
    lines += [advice.analysis, "", "## Edits", ""]
    lines += [f"- {line}" for line in edit_lines(edited)] or ["- none"]
    lines += ["", f"{configuration.permutations:,} -> {edited.configuration.permutations:,} permutations", ""]
    return "\n".join([*lines, *(["## Expected", "", advice.expected, ""] if advice.expected else [])])


def _save(file: Path, content: bytes) -> None:
    with writing(file, "name another place"):
        file.write_bytes(content)
