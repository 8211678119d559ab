"""The commands beside sessions: problem files, strategies, runs, measuring, memory, data sets, the machine."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from tui_tuner.cli.options import factor
from tui_tuner.cli.parsers import parser_for, tell
from tui_tuner.headless import ExitCode
from tui_tuner.settings import load_settings, settings_file


def init_command(arguments: Sequence[str]) -> int:
    """Write a first problem file."""
    from tui_tuner.commands.init import write_problem_file

    parser = parser_for("init", "Write a first problem file from the kernel's own signature.")
    parser.add_argument("kernel_file", type=Path, metavar="KERNEL", help="a .cu, .cl or .c file")
    parser.add_argument("--kernel", metavar="NAME", help="which kernel of the file")
    parser.add_argument("--force", action="store_true", help="write over a problem file that is there")
    chosen = parser.parse_args(arguments)
    target = write_problem_file(chosen.kernel_file, chosen.kernel, force=chosen.force)
    tell(f"wrote {target}: check what it marks as guesses, then run: tuner-tui {chosen.kernel_file}")
    return ExitCode.FINISHED


def strategy_command(arguments: Sequence[str]) -> int:
    """List the strategies, or write a first file for one."""
    from tui_tuner.commands.strategy import CLASS, FILE, strategy_lines, write_template

    parser = parser_for(
        "strategy", "List the strategies with their options, or write a first file for one of your own."
    )
    parser.add_argument("action", choices=("list", "new"), help="what to do")
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help=f"of the new one (default {FILE})")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")
    chosen = parser.parse_args(arguments)
    if chosen.action == "new":
        file = write_template(chosen.file or FILE, force=chosen.force)
        tell(f"wrote {file}: it runs as it is, with: tuner-tui KERNEL --strategy {shlex.quote(f'{file}:{CLASS}')}")
    elif chosen.file is not None or chosen.force:
        parser.error("list takes nothing behind it")
    else:
        for line in strategy_lines():
            tell(line)
    return ExitCode.FINISHED


def runs_command(arguments: Sequence[str]) -> int:
    """List runs."""
    from tui_tuner.journal.reading import RUNS, list_runs

    parser = parser_for("runs", "List the runs of a directory.")
    parser.add_argument("directory", type=Path, nargs="?", default=RUNS, metavar="DIR", help=f"default {RUNS}")
    directory = parser.parse_args(arguments).directory
    runs = list_runs(directory)
    if not runs:
        print(f"no runs in {directory}", file=sys.stderr)  # noqa: T201
    for run in runs:
        state = run.get("error") or ("finished" if run["finished"] else "resumable")
        tell(f"{run['run']}  {run.get('created', '')}  {run.get('strategy', '')}  {run.get('model') or '-'}  {state}")
    return ExitCode.FINISHED


def export_dataset_command(arguments: Sequence[str]) -> int:
    """Write sessions as training data."""
    from tui_tuner.commands.export_dataset import Wanted, export_dataset

    parser = parser_for("export-dataset", "Write sessions as conversations with their measured outcome, as JSON Lines.")
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="a run's directory, or a journal")
    parser.add_argument("--output", type=Path, metavar="FILE", help="a new file (default: standard output)")
    parser.add_argument(
        "--min-speedup",
        type=factor,
        metavar="1.5x",
        help="only replies that brought such a speed-up over the kernel as given",
    )
    parser.add_argument(
        "--accepted-only", action="store_true", help="only replies whose kernel or configuration was accepted"
    )
    chosen = parser.parse_args(arguments)
    return export_dataset(chosen.runs, chosen.output, Wanted(chosen.min_speedup, chosen.accepted_only))


def doctor_command(arguments: Sequence[str]) -> int:
    """Say what this machine offers."""
    from tui_tuner.commands.doctor import findings

    parser_for("doctor", "Say what this machine offers for tuning, and what is missing.").parse_args(arguments)

    async def tell_all() -> None:
        async for name, found in findings(load_settings()):
            tell(f"{name:<10} {found}")

    asyncio.run(tell_all())
    return ExitCode.FINISHED


def config_command(arguments: Sequence[str]) -> int:
    """Print the settings in force."""
    from tui_tuner.commands.config import settings_text

    parser_for("config", "Print the settings in force, as TOML.").parse_args(arguments)
    tell(f"# {settings_file()}\n" + settings_text(load_settings()))
    return ExitCode.FINISHED


def memory_command(arguments: Sequence[str]) -> int:
    """List or forget what is remembered."""
    from tui_tuner.commands.memory import Forgetting, forget, reply_line, session_lines

    parser = parser_for("memory", "List what is remembered of earlier sessions, or forget it.")
    parser.add_argument("action", choices=("list", "forget"), help="what to do")
    parser.add_argument("ids", type=int, nargs="*", metavar="ID", help="forget these, by the numbers of the list")
    parser.add_argument("--kernel", metavar="NAME", help="forget the sessions of kernels of this name")
    parser.add_argument("--replies", action="store_true", help="the cached replies of models instead")
    parser.add_argument("--all", action="store_true", help="forget all sessions and all cached replies")
    chosen = parser.parse_args(arguments)
    file = load_settings().memory.place
    if chosen.action == "forget":
        tell(forget(file, Forgetting(chosen.ids, chosen.kernel, chosen.all, chosen.replies)))
        return ExitCode.FINISHED
    if chosen.ids or chosen.kernel or chosen.all:
        parser.error("list takes nothing but --replies")
    lines = [reply_line(file)] if chosen.replies else [*session_lines(file)]
    if not lines:
        print(f"nothing is remembered in {file}", file=sys.stderr)  # noqa: T201
    for line in lines:
        tell(line)
    return ExitCode.FINISHED


def bench_search_command(arguments: Sequence[str]) -> int:
    """Measure searches on recordings."""
    from tui_tuner.commands.bench_search import bench_search

    return bench_search(arguments)
