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
from tui_tuner.commands.sessions import new_session, replayed_session, resumed_session
from tui_tuner.errors import SettingsError
from tui_tuner.evaluate.devices.choose import is_recorded
from tui_tuner.session.options import SessionOptions
from tui_tuner.settings import Settings, load_settings


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
    from tui_tuner.commands.tensile_sessions import resumed_tensile_session
    from tui_tuner.session.tensile.run_directory import is_tensile

    parser = parser_for("resume", "Go on with a run; nothing that is known is asked, built or measured again.")
    parser.add_argument("run", type=Path, metavar="RUN", help="the run's directory")
    parser.add_argument("--tensile", type=Path, metavar="PATH", help="where Tensile is now, for a run that it measures")
    add_budget(parser)
    add_front_end(parser)
    chosen = parser.parse_args(arguments)
    settings = load_settings()
    check_front_end(settings, auto=chosen.auto, output=chosen.output)
    changed(SessionOptions(), chosen)
    if is_tensile(chosen.run):
        resumed = resumed_tensile_session(chosen.run, changes(chosen), settings, chosen.tensile)
        return _show(resumed, settings, chosen)
    if chosen.tensile is not None:
        raise SettingsError("--tensile is for runs of `tuner-tui tensile`", hint=f"leave it out: {chosen.run} is none")
    return _show(resumed_session(chosen.run, changes(chosen), settings), settings, chosen)


def replay_command(arguments: Sequence[str]) -> int:
    """Show a run again."""
    from tui_tuner.commands.tensile_sessions import replayed_tensile_session
    from tui_tuner.session.tensile.run_directory import is_tensile

    parser = parser_for("replay", "Show a run again from its journal; needs neither GPU nor model.")
    parser.add_argument("run", type=Path, metavar="RUN", help="the run's directory, or a journal")
    add_front_end(parser)
    chosen = parser.parse_args(arguments)
    settings = load_settings()
    check_front_end(settings, auto=chosen.auto, output=chosen.output)
    replayed = replayed_tensile_session if is_tensile(chosen.run) else replayed_session
    return _show(replayed(chosen.run), settings, chosen)


def _show(prepared: Ready, settings: Settings, chosen: argparse.Namespace) -> int:
    return show(prepared, settings, auto=chosen.auto, json=chosen.output == "json", theme=chosen.theme)
