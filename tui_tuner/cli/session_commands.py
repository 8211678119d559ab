"""Tuning, resuming and replaying: the commands that show a session."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tui_tuner.cli.parsers import (
    PROGRAM,
    add_budget,
    add_front_end,
    add_memory,
    add_model,
    add_rounds,
    changed,
    changes,
    command_list,
    front_end_of,
    option,
    with_strategy_options,
)
from tui_tuner.cli.run_commands import add_run, run_of
from tui_tuner.errors import SettingsError
from tui_tuner.journal.reading import header_of
from tui_tuner.resources import __version__
from tui_tuner.strategies import PLACES
from tui_tuner.subjects import KERNEL, Subject, loaded, subject_of, subjects

if TYPE_CHECKING:
    from tui_tuner.app.showing import SessionSetup


def add_tune(parser: argparse.ArgumentParser) -> None:
    """The options of a tuning; its help is that of the program."""
    parser.usage = f"{PROGRAM} KERNEL [OPTIONS]\n       {PROGRAM} COMMAND [OPTIONS]"
    parser.epilog = f"commands:\n{command_list()}\n\n`{PROGRAM} help COMMAND` explains one and its options"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    kernel = "a .cu, .cl or .c file with its .toml, a .py file or a recording"
    parser.add_argument("kernel", type=Path, nargs="?", metavar="KERNEL", help=kernel)
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    default, *others = PLACES
    strategies = f"{default} (default), {', '.join(others)}, or file.py:Class"
    parser.add_argument("--strategy", metavar="NAME", help=strategies)
    parser.add_argument(
        "--set", action="append", type=option, default=[], metavar="NAME=VALUE", help="an option of the strategy"
    )
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
    parser.add_argument("--run-dir", type=Path, metavar="DIR", help="where the run goes")
    unconfined = "build even where no sandbox can be had"
    parser.add_argument("--allow-unconfined", action="store_true", default=None, help=unconfined)
    add_rounds(parser)
    add_memory(parser)
    add_budget(parser)
    add_front_end(parser)
    parser.set_defaults(command=tune)


async def tune(chosen: argparse.Namespace) -> int:
    """Tune a kernel.

    Raises:
        UserError: something that the user must mend.
    """
    from tui_tuner.app.showing import show

    if chosen.kernel is None and not _is_recorded(chosen.device):
        chosen.parser.error("name a KERNEL, or a recording with --device recorded:FILE")

    async def begin() -> SessionSetup:
        from tui_tuner.app.sessions import new_session
        from tui_tuner.settings import load_settings

        settings = load_settings()
        options = changed(settings.session, chosen)
        return await new_session(chosen.kernel, with_strategy_options(options, chosen), settings, chosen.run_dir)

    return await show(begin, front_end_of(chosen), str(chosen.kernel or "a recording"))


def _is_recorded(device: str | None) -> bool:
    """Whether the device, or that of the settings where none is named, is a recording."""
    from tui_tuner.evaluate.devices.choose import is_recorded
    from tui_tuner.settings import load_settings

    return is_recorded(device or load_settings().session.device)


def add_resume(parser: argparse.ArgumentParser) -> None:
    """The options of going on with a run."""
    add_run(parser)
    failed = "build, verify and measure again what failed"
    parser.add_argument("--retry-failed", action="store_true", help=failed)
    for subject in subjects().values():
        for own in subject.resume_options:
            parser.add_argument(f"--{own.name}", type=Path, metavar=own.metavar, help=own.help)
    add_budget(parser)
    add_front_end(parser)
    parser.set_defaults(command=resume)


async def resume(chosen: argparse.Namespace) -> int:
    """Go on with a run.

    Raises:
        UserError: something that the user must mend.
    """
    from tui_tuner.app.showing import show

    chosen.run = run_of(chosen)

    async def begin() -> SessionSetup:
        from tui_tuner.session_options import SessionOptions
        from tui_tuner.settings import load_settings

        settings = load_settings()
        changed(SessionOptions(), chosen)
        about = subject_of(header_of(chosen.run))
        own: dict[str, object] = {**_own_options(about, chosen)}
        if chosen.retry_failed and about is not KERNEL:
            raise SettingsError("--retry-failed is for runs of kernels", hint="leave it out")
        if about is KERNEL:
            own["retry_failed"] = chosen.retry_failed
        setup: SessionSetup = await loaded(about.resume)(chosen.run, changes(chosen), settings, **own)
        return setup

    return await show(begin, front_end_of(chosen), str(chosen.run))


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
    parser.set_defaults(command=replay)


async def replay(chosen: argparse.Namespace) -> int:
    """Show a run again.

    Raises:
        UserError: something that the user must mend.
    """
    from tui_tuner.app.showing import show

    async def begin() -> SessionSetup:
        from tui_tuner.settings import load_settings

        load_settings()  # a mistake in them is told, though nothing of them is used
        setup: SessionSetup = loaded(subject_of(header_of(chosen.run)).replay)(chosen.run)
        return setup

    return await show(begin, front_end_of(chosen), str(chosen.run))
