"""What a bare start shows: the kernels and runs here, and what the settings and this machine offer for a session.

What reads settings and looks for devices and models is imported behind the screen.
"""

from __future__ import annotations

import asyncio
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_tuner.errors import JournalError, ProblemError, SettingsError
from tui_tuner.format import LIMITS, tunable_value
from tui_tuner.journal import Journal
from tui_tuner.journal.reading import FILE, RUNS, header_of
from tui_tuner.journal.runs import kernel_of, model_of, result_of, speedup_of, state_of, strategy_of, worked_at
from tui_tuner.problem.languages import LANGUAGES
from tui_tuner.resources import settings_file
from tui_tuner.subjects import loaded, subjects
from tui_tuner.text import clean
from tui_tuner.tui.start import Found, GivenFile, RunCard, StartWorld

if TYPE_CHECKING:
    from tui_tuner.evaluate.devices.probe import DeviceReport
    from tui_tuner.problem.languages import CompiledLanguage
    from tui_tuner.settings import Settings

_COLUMNS = 96
"""Width of the comments above a draft."""


async def start_world(directory: Path, files: Sequence[GivenFile]) -> StartWorld:
    """What there is in a directory besides the files that can be tuned.

    Raises:
        SettingsError: the settings cannot be used.
    """
    await asyncio.to_thread(import_module, "tui_tuner.settings")
    from tui_tuner.settings import load_settings

    settings = load_settings(beside=directory)
    return StartWorld(
        chosen=_chosen(settings),
        discover=lambda: _discover(settings, files),
        runs=lambda: run_cards(directory / RUNS),
        scaffold=problem_text,
        check_deletion=check_deletion,
        delete=delete_run,
        fault_of=fault_of,
        save=save_choices,
    )


def files_in(directory: Path) -> list[GivenFile]:
    """What can be tuned in a directory: kernels, those with a problem file first, then what other subjects know.

    Where there is nothing it is what is one directory below, of kernels those with a problem file.
    """
    found = _given(directory, "*")
    return found or [file for file in _given(directory, "[!.]*/*") if file.has_problem]


def _given(directory: Path, pattern: str) -> list[GivenFile]:
    known = {*LANGUAGES, *(suffix for subject in subjects().values() for suffix in subject.suffixes)}
    files = sorted(file for file in directory.glob(pattern) if file.suffix in known and file.is_file())
    kernels = [
        GivenFile(file.relative_to(directory), file.with_suffix(".toml").is_file())
        for file in files
        if file.suffix in LANGUAGES
    ]
    others = [
        GivenFile(file.relative_to(directory), subject=subject)
        for subject in subjects().values()
        for file in files
        if file.suffix in subject.suffixes and subject.is_own and loaded(subject.is_own)(file)
    ]
    return [*sorted(kernels, key=lambda file: not file.has_problem), *others]


def run_cards(directory: Path) -> list[RunCard]:
    """The runs of a directory, the one that was last at work first."""
    cards = (_card(file.parent) for file in directory.glob(f"*/{FILE}"))
    return sorted(filter(None, cards), key=lambda card: card.worked, reverse=True)


def _card(run: Path) -> RunCard | None:
    """None where it was removed since it was found."""
    worked = worked_at(run)
    if worked is None:
        return None
    try:
        header = header_of(run)
    except JournalError as error:
        damaged = RunCard(run, "?", "damaged", worked=worked, details={"damage": error.message})
        return damaged if (run / FILE).exists() else None
    result, kernel = result_of(run) or {}, kernel_of(header) or "?"
    return RunCard(
        run,
        kernel,
        state_of(run, result),
        created=str(header.get("created", "")),
        worked=worked,
        speedup=speedup_of(result),
        strategy=strategy_of(header),
        details={"model": model_of(header) or "none", **_measured(result)},
    )


_TIMED = ("baseline", "best")
"""What the times of a result are of."""


def _measured(result: Mapping[str, Any]) -> dict[str, str]:
    """What a result says of device, times and effort, then the best value of each tunable; as far as it does.

    Times are those that the speed-up is of where they were taken in turns, else those of the search.
    """
    with suppress(KeyError, TypeError, ValueError, AttributeError):
        unit, pair = result.get("time_unit", "ms"), result.get("comparison") or {}
        in_turns = bool(pair.get("incumbent") and pair.get("challenger"))
        timings = (pair["incumbent"], pair["challenger"]) if in_turns else (result[one]["timing"] for one in _TIMED)
        given, best = (f"{timing['median']:.4g} {unit}" for timing in timings)
        values = {name: tunable_value(value) for name, value in result["best"]["configuration"].items()}
        apart = "" if result.get("confirmed", True) else "one by one; the speed-up is of other times, in turns"
        how = "in turns: the speed-up is of these times" if in_turns else apart
        said = {"device": result["device"]["name"], "as given": given, "best": best, **({"timed": how} if how else {})}
        return {**said, "evaluations": str(result["evaluations"]), "calls": str(result["model_calls"]), **values}
    return {}


def check_deletion(run: Path) -> None:
    """Refuse to remove a run.

    Raises:
        JournalError: it is none, or a process is at work on it.
    """
    with suppress(JournalError):
        header_of(run)
        Journal.reopen(run / FILE).close()
        return
    raise JournalError("is no run, or a process is at work on it", hint="end that, then delete the run", file=run)


def delete_run(run: Path) -> None:
    """Remove a run from the disk.

    Raises:
        JournalError: it is no run, a process is at work on it, or it cannot be removed.
    """
    check_deletion(run)
    try:
        shutil.rmtree(run)
    except OSError as error:
        raise JournalError(f"cannot be removed: {error.strerror}", file=run) from error


async def problem_text(kernel: Path) -> tuple[Path, str]:
    """A kernel's problem file and its text, drafted by rules and tried where there is none.

    Raises:
        ProblemError: none can be guessed.
        SettingsError: it cannot be read.
    """
    file = kernel.with_suffix(".toml")
    try:
        return file, file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return file, await _drafted(kernel)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot be read: {error}", file=file) from None


async def _drafted(kernel: Path) -> str:
    """A first text, with what came of trying it above."""
    from tui_tuner.app.drafting import confirmed, drafted, unconfirmed
    from tui_tuner.app.first_draft import off_the_loop
    from tui_tuner.session_options import SessionOptions
    from tui_tuner.settings import load_settings

    _, _, text = await off_the_loop(unconfirmed, kernel, None)
    try:
        written = await off_the_loop(drafted, kernel, None)
        held = await confirmed(written, SessionOptions(llm="none"), load_settings(beside=kernel))
        text, said = held.text, held.doubts
    except ProblemError as error:
        said = (f"it does not hold yet: {error.message}",)
    lines = (textwrap.wrap(f"Tried: {clean(line)}", _COLUMNS) for line in said)
    return "".join(f"# {line}\n" for line in chain(*lines)) + text


def _chosen(settings: Settings) -> dict[str, str]:
    session = settings.session
    chosen = {
        "device": session.device,
        "llm": session.llm,
        "strategy": session.strategy,
        "max_evaluations": str(session.max_evaluations),
    }
    if session.max_seconds is not None:
        chosen["max_time"] = f"{session.max_seconds:g}s"
    if session.max_cost is not None:
        chosen["max_cost"] = f"{session.max_cost:g}"
    return chosen


async def _discover(settings: Settings, files: Sequence[GivenFile]) -> Found:
    for module in ("app.inventory", "llm.choose", "strategies.choose"):  # half a second, in which keys are heard
        await asyncio.to_thread(import_module, f"tui_tuner.{module}")
    from tui_tuner.app.inventory import ready_devices
    from tui_tuner.evaluate.devices.probe import probe_devices
    from tui_tuner.llm.choose import choose
    from tui_tuner.strategies.choose import all_strategies

    report = await probe_devices()
    ready = ready_devices(report)
    devices = [("auto", "auto"), *((f"{name}  {what}", name) for name, what in ready)]
    suffixes = sorted({file.path.suffix for file in files if file.is_kernel})
    automatic = {suffix: _automatic(LANGUAGES[suffix], report, dict(ready)) for suffix in suffixes}
    passed: list[str] = []
    backend = await choose("auto", settings.model, passed.append)
    models = [(f"auto  {'none' if backend is None else backend.name}", "auto"), ("none", "none")]
    if backend is not None:
        models.insert(1, (backend.name, backend.name))
        await backend.aclose()
    if settings.model.command:
        models.append((f"command  {settings.model.command}", "command"))
    strategies = [(name, name) for name, found in all_strategies() if not isinstance(found, SettingsError)]
    here = {file.subject.name: file.subject.missing for file in files if file.subject.missing}
    missing = {name: loaded(part)(settings) for name, part in here.items()}
    return Found({"device": devices, "llm": models, "strategy": strategies}, automatic=automatic, missing=missing)


def _automatic(language: CompiledLanguage, report: DeviceReport, ready: Mapping[str, str]) -> str:
    """What `auto` stands for where a kernel is written in a language."""
    from tui_tuner.evaluate.devices.kinds import kinds_for, usable_kind

    kind = usable_kind(language, report)
    gpu = next((what for name, what in ready.items() if name.startswith(f"{kind.name}:")), "")
    cpu = "none here" if kind.missing(report) else "CPU" if kind is kinds_for(language)[0] else "CPU, no GPU"
    return gpu or cpu


_TYPED = {
    "max_evaluations": ("max_evaluations", "number of evaluations; as in 200"),
    "max_time": ("max_seconds", "time; as in 90s, 20m or 2h"),
    "max_cost": ("max_cost", "cost in $; as in 2.5"),
}
"""The limits of the start screen: the option that each is, and what it is in words."""


def fault_of(name: str, text: str) -> str:
    """What is wrong with what is typed for a limit, or for the model (`llm`); empty where nothing is."""
    from tui_tuner.llm.choose import parse_spec
    from tui_tuner.session_options import SessionOptions

    if name == "llm":
        try:
            parse_spec(text)
        except SettingsError as error:
            return str(error)
        return ""
    option, what = _TYPED[name]
    try:
        SessionOptions.model_validate({option: LIMITS[option](text)})
    except ValueError:
        return f"'{text}' is no {what}"
    return ""


def save_choices(choices: Mapping[str, str]) -> Path:
    """Keep choices of the start screen in the settings file.

    Raises:
        SettingsError: a value cannot be, or the file cannot be written.
    """
    from tui_tuner.settings import save_settings

    typed = {name: value for name, value in choices.items() if name in _TYPED}
    if faults := "; ".join(filter(None, (fault_of(name, value) for name, value in typed.items()))):
        raise SettingsError(f"cannot be saved: {faults}", file=settings_file())
    limits = {option: LIMITS[option](typed[name]) for name, (option, _) in _TYPED.items() if name in typed}
    picked = {name: value for name, value in choices.items() if name not in _TYPED}
    return save_settings({f"session.{name}": value for name, value in {**picked, **limits}.items()})
