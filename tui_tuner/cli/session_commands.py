"""Tuning, resuming and replaying: the commands that show a session."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tui_tuner import __version__
from tui_tuner.cli.options import (
    add_budget,
    add_front_end,
    add_memory,
    add_model,
    add_rounds,
    changed,
    changes,
    front_end_of,
    option,
    with_strategy_options,
)
from tui_tuner.cli.parsers import PROGRAM, command_list
from tui_tuner.errors import SettingsError

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
    strategies = "autonomous (default), explicit, one_prompt, llm_search, search, or file.py:Class"
    parser.add_argument("--strategy", metavar="NAME", help=strategies)
    parser.add_argument(
        "--set", action="append", type=option, default=[], metavar="NAME=VALUE", help="an option of the strategy"
    )
    steps = "steps of the strategy explicit, as [[steps]] in TOML"
    parser.add_argument("--steps", type=Path, metavar="FILE", help=steps)
    methods = "method of the parameter search: surrogate (default), llm, hybrid, ..."
    parser.add_argument("--search", metavar="METHOD", help=methods)
    add_model(parser)
    devices = "auto (default), cuda[:N], opencl[:N], c, emulator, recorded:FILE"
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
    parser.add_argument("run", type=Path, metavar="RUN", help="the run's directory")
    tensile = "where Tensile is now, for a run that it measures"
    parser.add_argument("--tensile", type=Path, metavar="PATH", help=tensile)
    add_budget(parser)
    add_front_end(parser)
    parser.set_defaults(command=resume)


async def resume(chosen: argparse.Namespace) -> int:
    """Go on with a run.

    Raises:
        UserError: something that the user must mend.
    """
    from tui_tuner.app.showing import show

    async def begin() -> SessionSetup:
        from tui_tuner.app.sessions import resumed_session
        from tui_tuner.commands.tensile_sessions import resumed_tensile_session
        from tui_tuner.session.options import SessionOptions
        from tui_tuner.session.tensile.run_directory import is_tensile
        from tui_tuner.settings import load_settings

        settings = load_settings()
        changed(SessionOptions(), chosen)
        if is_tensile(chosen.run):
            return await resumed_tensile_session(chosen.run, changes(chosen), settings, chosen.tensile)
        if chosen.tensile is not None:
            hint = f"leave it out: {chosen.run} is none"
            raise SettingsError("--tensile is for runs of `tuner-tui tensile`", hint=hint)
        return await resumed_session(chosen.run, changes(chosen), settings)

    return await show(begin, front_end_of(chosen), str(chosen.run))


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
        from tui_tuner.app.sessions import replayed_session
        from tui_tuner.commands.tensile_sessions import replayed_tensile_session
        from tui_tuner.session.tensile.run_directory import is_tensile
        from tui_tuner.settings import load_settings

        load_settings()  # a mistake in them is told, though nothing of them is used
        return (replayed_tensile_session if is_tensile(chosen.run) else replayed_session)(chosen.run)

    return await show(begin, front_end_of(chosen), str(chosen.run))
