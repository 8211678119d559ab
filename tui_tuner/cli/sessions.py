"""Tuning, resuming and replaying: the commands that show a session."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tui_tuner import __version__
from tui_tuner.cli.options import (
    add_budget,
    add_front_end,
    add_memory,
    add_rounds,
    changed,
    changes,
    option,
    with_strategy_options,
)
from tui_tuner.cli.parsers import COMMANDS, parser_for
from tui_tuner.commands.check import check_front_end
from tui_tuner.commands.front_ends import show
from tui_tuner.commands.prepared import Ready
from tui_tuner.commands.sessions import new_session
from tui_tuner.errors import SettingsError
from tui_tuner.evaluate.devices.choose import is_recorded
from tui_tuner.journal.reading import header_of
from tui_tuner.session.options import SessionOptions
from tui_tuner.settings import Settings, load_settings
from tui_tuner.subjects import Subject, loaded, subject_of, subjects


def tune_command(arguments: Sequence[str]) -> int:
    """Tune a kernel."""
    parser = parser_for("", "Tune a GPU kernel: a language model proposes, the machine decides.")
    parser.epilog = f"commands: {COMMANDS}; `tuner-tui COMMAND --help` explains each"
    parser.add_argument(
        "kernel",
        type=Path,
        nargs="?",
        metavar="KERNEL",
        help="a .cu, .cl or .c file with its .toml, a .py file or a recording",
    )
    parser.add_argument("--version", action="version", version=f"tuner-tui {__version__}")
    parser.add_argument(
        "--strategy", help="autonomous (default), explicit, one_prompt, llm_search, search, or file.py:Class"
    )
    parser.add_argument(
        "--set", action="append", type=option, default=[], metavar="NAME=VALUE", help="an option of the strategy"
    )
    parser.add_argument(
        "--steps", type=Path, metavar="FILE", help="steps of the strategy explicit, as [[steps]] in TOML"
    )
    parser.add_argument(
        "--search", metavar="METHOD", help="method of the parameter search: surrogate (default), llm, hybrid, ..."
    )
    parser.add_argument("--llm", metavar="PROVIDER[:MODEL]", help="auto (default), ollama, openai, anthropic, ...")
    parser.add_argument("--device", help="auto (default), cuda[:N], opencl[:N], c, emulator, recorded:FILE")
    parser.add_argument("--seed", type=int, help="of every random choice (default 0)")
    parser.add_argument("--run-dir", type=Path, metavar="DIR", help="where the run goes")
    parser.add_argument(
        "--allow-unconfined", action="store_true", default=None, help="build even where no sandbox can be had"
    )
    parser.add_argument("--temperature", type=float, metavar="T", help="of the model's replies")
    add_rounds(parser)
    add_memory(parser)
    add_budget(parser)
    add_front_end(parser)
    chosen = parser.parse_args(arguments)
    settings = load_settings()
    if chosen.kernel is None and not is_recorded(chosen.device or settings.session.device):
        parser.error("name a KERNEL, or a recording with --device recorded:FILE")
    check_front_end(settings, auto=chosen.auto, output=chosen.output)
    options = with_strategy_options(changed(settings.session, chosen), chosen)
    prepared = new_session(chosen.kernel, options, settings, chosen.run_dir)
    return _show(prepared, settings, chosen)


def resume_command(arguments: Sequence[str]) -> int:
    """Go on with a run."""
    parser = parser_for("resume", "Go on with a run; nothing that is known is asked, built or measured again.")
    parser.add_argument("run", type=Path, metavar="RUN", help="the run's directory")
    for subject in subjects().values():
        for own in subject.resume_options:
            parser.add_argument(f"--{own.name}", type=Path, metavar=own.metavar, help=own.help)
    add_budget(parser)
    add_front_end(parser)
    chosen = parser.parse_args(arguments)
    settings = load_settings()
    check_front_end(settings, auto=chosen.auto, output=chosen.output)
    changed(SessionOptions(), chosen)
    about = subject_of(header_of(chosen.run))
    resumed: Ready = loaded(about.resume)(chosen.run, changes(chosen), settings, **_own_options(about, chosen))
    return _show(resumed, settings, chosen)


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


def replay_command(arguments: Sequence[str]) -> int:
    """Show a run again."""
    parser = parser_for("replay", "Show a run again from its journal; needs neither GPU nor model.")
    parser.add_argument("run", type=Path, metavar="RUN", help="the run's directory, or a journal")
    add_front_end(parser)
    chosen = parser.parse_args(arguments)
    settings = load_settings()
    check_front_end(settings, auto=chosen.auto, output=chosen.output)
    replayed: Ready = loaded(subject_of(header_of(chosen.run)).replay)(chosen.run)
    return _show(replayed, settings, chosen)


def _show(prepared: Ready, settings: Settings, chosen: argparse.Namespace) -> int:
    return show(prepared, settings, auto=chosen.auto, json=chosen.output == "json", theme=chosen.theme)
