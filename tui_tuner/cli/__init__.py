"""The command line: arguments only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tui_tuner.cli.parsers import COMMANDS, parser_for
from tui_tuner.cli.sessions import replay_command, resume_command, tune_command
from tui_tuner.cli.tools import (
    bench_search_command,
    config_command,
    doctor_command,
    export_dataset_command,
    init_command,
    memory_command,
    runs_command,
    strategy_command,
)
from tui_tuner.commands.front_ends import silence_output
from tui_tuner.errors import SettingsError, UserError
from tui_tuner.headless import ExitCode
from tui_tuner.problem.nearest import nearest
from tui_tuner.subjects import Command, loaded, subjects
from tui_tuner.text import clean


def _of_subject(command: Command) -> Callable[[Sequence[str]], int]:
    """A command that a subject adds, loaded when it is called."""

    def run(arguments: Sequence[str]) -> int:
        parser = parser_for(command.name, command.help)
        loaded(command.adder)(parser)
        chosen = parser.parse_args(arguments)
        return int(chosen.command(chosen))

    return run


_COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    **{command.name: _of_subject(command) for subject in subjects().values() for command in subject.commands},
    "init": init_command,
    "strategy": strategy_command,
    "resume": resume_command,
    "replay": replay_command,
    "runs": runs_command,
    "bench-search": bench_search_command,
    "memory": memory_command,
    "export-dataset": export_dataset_command,
    "doctor": doctor_command,
    "config": config_command,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code. A user's mistake is one message and never a traceback."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if arguments and arguments[0] in _COMMANDS:
            return _COMMANDS[arguments[0]](arguments[1:])
        _refuse_misspelt_command(arguments)
        return tune_command(arguments)
    except SettingsError as error:
        return _fail(error, ExitCode.USAGE)
    except UserError as error:
        return _fail(error, ExitCode.FAILED)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        silence_output()
        return ExitCode.INTERRUPTED


def _refuse_misspelt_command(arguments: Sequence[str]) -> None:
    word = Path(arguments[0] if arguments else "-")
    near = nearest(word.name, _COMMANDS)
    if near is not None and not word.name.startswith("-") and not word.suffix and not word.exists():
        raise SettingsError(f"there is no command '{word}'", hint=f"did you mean '{near}'? There are: {COMMANDS}")


def _fail(error: UserError, code: ExitCode) -> ExitCode:
    print(f"tuner-tui: {clean(str(error))}", file=sys.stderr)  # noqa: T201 (the story goes to standard error)
    return code
