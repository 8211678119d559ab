"""Tuning, resuming and replaying: the commands that show a session."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_tuner.cli import PROGRAM, CommandLine, command_list
from tui_tuner.cli.flags import (
    add_budget,
    add_front_end,
    add_memory,
    add_model,
    add_rounds,
    add_unconfined,
    changed,
    chosen_options,
    directory,
    factor,
    front_end_of,
    name_and_value,
    seconds,
    with_strategy_options,
)
from tui_tuner.cli.run_commands import add_run, run_of
from tui_tuner.errors import ExitCode, SettingsError
from tui_tuner.journal.reading import header_of, journal_of
from tui_tuner.resources import VARIABLES, __version__, own_table, project_file, settings_file
from tui_tuner.strategies import PLACES
from tui_tuner.subjects import KERNEL, Subject, loaded, subject_of, subjects
from tui_tuner.text import say, tell

if TYPE_CHECKING:
    from tui_tuner.app.starting import SessionSetup


def add_tune(parser: argparse.ArgumentParser) -> None:
    """The options of a tuning; its help is that of the program."""
    parser.usage = f"{PROGRAM} KERNEL [OPTIONS]\n       {PROGRAM} COMMAND [OPTIONS]"
    parser.epilog = f"commands:\n{command_list()}\n\n`{PROGRAM} help COMMAND` explains one and its options"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    kernel = "a .cu, .cl or .c file with its .toml, a .py file or a recording"
    parser.add_argument("kernel", type=Path, nargs="?", metavar="KERNEL", help=kernel)
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    _add_choices(parser)
    of_several = "which kernel of the file, where it has several: the same as FILE:NAME"
    parser.add_argument("--kernel", metavar="NAME", dest="kernel_name", help=of_several)
    host = "where the kernel is launched, if not in its file: read to draft a problem; of a kernel in Python it is run"
    parser.add_argument("--host", type=Path, metavar="FILE", help=host)
    parser.add_argument("--run-dir", type=directory, metavar="DIR", help="where the run goes")
    add_front_end(parser)
    parser.set_defaults(command=tune)


def _add_choices(parser: argparse.ArgumentParser) -> None:
    """What may be chosen for a session, or for each of many."""
    default, *others = PLACES
    strategies = f"{default} (default), {', '.join(others)}, or file.py:Class"
    parser.add_argument("--strategy", metavar="NAME", help=strategies)
    option = "an option of the strategy"
    parser.add_argument("--set", action="append", type=name_and_value, default=[], metavar="NAME=VALUE", help=option)
    steps = "steps of the strategy explicit, as [[steps]] in TOML"
    parser.add_argument("--steps", type=Path, metavar="FILE", help=steps)
    methods = "method of the parameter search: surrogate (default), llm, hybrid, ..."
    parser.add_argument("--search", metavar="METHOD", help=methods)
    add_model(parser)
    devices = (
        "auto (default), cuda[:N,... or :all], opencl[:N], c, emulator[:CORE,...], recorded:FILE, ray[://HOST:PORT]"
    )
    parser.add_argument("--device", metavar="NAME", help=devices)
    parser.add_argument("--seed", type=int, metavar="N", help="of every random choice (default 0)")
    add_unconfined(parser)
    add_rounds(parser)
    add_memory(parser)
    add_budget(parser)


async def tune(chosen: argparse.Namespace) -> int:
    """Tune a kernel.

    Raises:
        UserError: something that the user must mend.
    """
    if chosen.kernel is None and not _is_recorded(chosen.device):
        if chosen.bare and front_end_of(chosen).has_terminal:
            return await _start(chosen.theme)
        chosen.parser.error(
            "name a KERNEL, or a recording with --device recorded:FILE; `tuner-tui` alone asks what to tune"
        )
    if chosen.kernel is not None and chosen.kernel_name is not None:
        chosen.kernel = Path(f"{chosen.kernel}:{chosen.kernel_name}")
    from tui_tuner.evaluate.runner import start_ahead

    if chosen.kernel is not None and chosen.kernel.suffix.partition(":")[0] == ".cu":
        start_ahead(chosen.device or "auto")
    from tui_tuner.app.showing import show
    from tui_tuner.app.starting import DraftDesk

    drafts = DraftDesk()

    async def begin() -> SessionSetup:
        from tui_tuner.app.sessions import new_session
        from tui_tuner.settings import load_settings

        beside = chosen.kernel or Path()
        settings = load_settings(beside=beside)
        options = with_strategy_options(changed(settings.session, chosen), chosen)
        tell = say if front_end_of(chosen).auto else drafts.tell
        setup = await new_session(chosen.kernel, options, settings, chosen.run_dir, chosen.host, drafts, tell)
        if project_file(beside).is_file():
            setup.notes.append(f"settings of this project hold as well: {project_file(beside)}")
        return setup

    return await show(begin, front_end_of(chosen), str(chosen.kernel or "a recording"), drafts)


def add_tune_all(parser: argparse.ArgumentParser) -> None:
    """The options of tuning many kernels."""
    parser.add_argument("directory", type=Path, metavar="DIR", help="every problem file (.toml) below it is tuned")
    _add_choices(parser)
    where = "where the runs go, each under the name of its problem file (default tuner-runs/all-DIR)"
    parser.add_argument("--run-dir", type=directory, metavar="DIR", help=where)
    parser.add_argument("--json", action="store_true", help="print the summary as one JSON object")
    parser.add_argument("-q", "--quiet", action="store_true", help="nothing but warnings and results on standard error")
    parser.epilog = (
        "The budget is that of all together; without --max-evals or --max-calls it is the default for each."
        " Asked again it goes on where it stopped. Exit code: 0 all were tuned, 1 some were not, 130 interrupted"
    )
    parser.set_defaults(command=tune_all)


async def tune_all(chosen: argparse.Namespace) -> int:
    """Tune every problem below a directory.

    Raises:
        UserError: directory, options or settings cannot be used.
    """
    from tui_tuner.app.batch import Batch
    from tui_tuner.evaluate.devices.choose import is_recorded
    from tui_tuner.journal.reading import RUNS
    from tui_tuner.progress import Verbosity
    from tui_tuner.settings import load_settings

    settings = load_settings(beside=chosen.directory)
    options = with_strategy_options(changed(settings.session, chosen), chosen)
    if is_recorded(options.device):
        raise SettingsError("a recording is of one kernel", hint="name a device, as in --device emulator")
    defaults = [name for name in ("max_evaluations", "max_calls") if getattr(chosen, name) is None]
    runs = chosen.run_dir or RUNS / f"all-{chosen.directory.resolve().name}"
    batch = Batch(chosen.directory, runs, options, settings, for_each=defaults)
    code = await batch.run(Verbosity.QUIET if chosen.quiet else Verbosity.NORMAL)
    for line in [batch.as_json()] if chosen.json else batch.table():
        tell(line)
    return code


async def _start(theme: str | None) -> int:
    """Let the user choose on the start screen, then carry out the command; where that fails, choose anew."""
    from tui_tuner.app.showing import start

    async def carry_out(words: list[str]) -> int:
        say(f"$ {shlex.join([PROGRAM, *words])}")
        chosen = CommandLine().parse(words)
        chosen.theme = theme
        done: int = await chosen.command(chosen)
        return done

    return await start(Path(), carry_out, theme)


def _is_recorded(device: str | None) -> bool:
    """Whether the device, or that of the settings where none is named, is a recording."""
    files = (settings_file(), project_file(Path()))
    told = [device] if device else [os.environ.get(f"{VARIABLES}DEVICE"), *(_device_set_in(file) for file in files)]
    if not any("recorded" in str(each).lower() for each in told):
        return False  # without the models of the settings, for which the start screen would wait
    from tui_tuner.evaluate.devices.choose import is_recorded
    from tui_tuner.settings import load_settings

    return is_recorded(device or load_settings(beside=Path()).session.device)


def _device_set_in(file: Path) -> object:
    return own_table("session", file).get("device")


def add_resume(parser: argparse.ArgumentParser) -> None:
    """The options of going on with a run."""
    add_run(parser)
    failed = "build, verify and measure again what failed, and ask again where replies may be longer by now"
    parser.add_argument("--retry-failed", action="store_true", help=failed)
    for subject in subjects().values():
        for own in subject.resume_options:
            parser.add_argument(f"--{own.name}", type=Path, metavar=own.metavar, help=own.help)
    salvage = "where the journal is damaged: set that line and all behind it aside in a file, and go on"
    parser.add_argument("--from-last-good", action="store_true", help=salvage)
    add_budget(parser, evaluations="as before", calls="as before")
    parser.epilog = "A larger budget counts from where the one before is spent, or from where something new begins"
    add_front_end(parser)
    parser.set_defaults(command=resume)


async def resume(chosen: argparse.Namespace) -> int:
    """Go on with a run.

    Raises:
        UserError: something that the user must mend.
    """
    from tui_tuner.app.showing import show

    chosen.run = run_of(chosen, to_resume=not chosen.retry_failed)
    header = header_of(chosen.run)  # what is no run is told before a terminal is asked for
    if chosen.last and chosen.verbosity != -1:
        say(f"goes on with {chosen.run}")
    about = subject_of(header)

    async def begin() -> SessionSetup:
        from tui_tuner.session_options import SessionOptions
        from tui_tuner.settings import load_settings

        changed(SessionOptions(), chosen)
        settings = load_settings(beside=_file_of(header, chosen.run))
        if chosen.from_last_good:
            _set_rest_aside(chosen.run)
        own: dict[str, object] = {**_own_options(about, chosen)}
        if chosen.retry_failed and about is not KERNEL:
            raise SettingsError("--retry-failed is for runs of kernels", hint="leave it out")
        if about is KERNEL:
            own["retry_failed"] = chosen.retry_failed
        setup: SessionSetup = await loaded(about.resume)(chosen.run, chosen_options(chosen), settings, **own)
        return setup

    return await show(begin, front_end_of(chosen), str(chosen.run), about=about)


def _file_of(header: Mapping[str, Any], run: Path) -> Path | None:
    """The file that a run was begun with; it need not be there any more."""
    named = header.get("problem_file") or header.get("file")
    return journal_of(run).parent / named if isinstance(named, str) else None


def _set_rest_aside(run: Path) -> None:
    """Cut the run's journal before its first damaged line, and say where the rest is."""
    from tui_tuner.journal import set_rest_aside

    aside = set_rest_aside(journal_of(run))
    said = "nothing of the journal is damaged" if aside is None else f"what stood behind is in {aside}"
    say(f"{run}: {said}")


def _own_options(about: Subject, chosen: argparse.Namespace) -> dict[str, Path]:
    """The options that only runs of this subject take.

    Raises:
        SettingsError: one is named that another subject's runs take.
    """
    for subject in subjects().values():
        named = [own.name for own in subject.resume_options if getattr(chosen, own.name) is not None]
        if named and subject is not about:
            command = f"`tuner-tui {subject.commands[0].name}`"
            raise SettingsError(f"--{named[0]} is for runs of {command}", hint=f"leave it out: {chosen.run} is none")
    return {own.name: getattr(chosen, own.name) for own in about.resume_options}


def add_replay(parser: argparse.ArgumentParser) -> None:
    """The options of showing a run again."""
    parser.add_argument("run", type=Path, metavar="RUN", help="the run's directory, or a journal")
    add_front_end(parser)
    speed = "play it so many times as fast as it was; without it the end is shown"
    parser.add_argument("--speed", type=factor, metavar="X", help=speed)
    parser.add_argument("--at", type=seconds, metavar="TIME", default=0.0, help="begin there, as in 90s, 20m")
    parser.set_defaults(command=replay)


async def replay(chosen: argparse.Namespace) -> int:
    """Show a run again.

    Raises:
        UserError: something that the user must mend.
    """
    from tui_tuner.app.showing import show

    header = header_of(chosen.run)  # what is no run is told before a terminal is asked for

    async def begin() -> SessionSetup:
        from tui_tuner.settings import load_settings

        load_settings()  # a mistake in them is told, though nothing of them is used
        setup: SessionSetup = loaded(subject_of(header).replay)(chosen.run)
        return setup

    front_end = replace(front_end_of(chosen), plays=True, speed=chosen.speed, at=chosen.at)
    if front_end.auto and (chosen.at or chosen.speed):
        given = "--at" if chosen.at else "--speed"
        raise SettingsError(f"{given} is for the screen, and --auto has none", hint="leave one of them out")
    return await show(begin, front_end, str(chosen.run), about=subject_of(header))


def add_web(parser: argparse.ArgumentParser) -> None:
    """The options of serving the screen."""
    parser.add_argument("words", nargs="*", metavar="WORD", help="of the command to show; none: the start screen")
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="default 8000")
    parser.epilog = "options of the command stand behind --, as in: tuner-tui web -- kernel.cu --device cuda"
    parser.set_defaults(command=web)


def web(chosen: argparse.Namespace) -> int:
    """Serve the screen on this machine alone: whoever reaches it may do all that its user may.

    Raises:
        SettingsError: textual-serve is not installed.
    """
    try:
        from textual_serve.server import Server
    except ImportError:
        raise SettingsError("textual-serve is not installed", hint="pip install 'tuner-tui[web]'") from None
    from tui_tuner.processes.server import own_program

    command = shlex.join(own_program("tui_tuner", *chosen.words))
    Server(command, host="localhost", port=chosen.port, title=PROGRAM).serve()
    return ExitCode.FINISHED
