"""Advice without measuring: one prompt, a text for people, and the edited configuration."""

from __future__ import annotations

from pathlib import Path

from tui_tuner.app.choosing import model_of
from tui_tuner.errors import ModelError, SettingsError, writing
from tui_tuner.llm import Backend, Request
from tui_tuner.llm.errors import ContextTooLong, TransportError
from tui_tuner.llm.streams import complete
from tui_tuner.llm.structured import NoUsableReply, ask
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings
from tui_tuner.tensile.document import BenchmarkConfiguration
from tui_tuner.tensile.document.judging import EditedConfiguration, EditLimits, apply_edits
from tui_tuner.tensile.history import Advice, History, edit_lines, faults
from tui_tuner.tensile.knowledge.known import Knowledge
from tui_tuner.tensile.knowledge.starting_points import starting_facts
from tui_tuner.tensile.outcome import GroupOutcome, RoundOutcome
from tui_tuner.tensile.prompt import PromptContext, prompt
from tui_tuner.tensile.results import read_results
from tui_tuner.tensile.run_directory import TensileOptions
from tui_tuner.tensile.sessions import GivenConfiguration, knowledge_of, no_model
from tui_tuner.tensile.summary import summarise

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
        raise ModelError(f"the model gave no usable advice in {_ATTEMPTS} calls: {refused}") from refused
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
