"""The command line: words become a command, and its errors messages and exit codes.

The options of a command are loaded when the command is named.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import re
import sys
from collections.abc import Coroutine, Sequence
from typing import Any, NoReturn

from tui_tuner.errors import ExitCode, SettingsError, UserError
from tui_tuner.resources import VARIABLES, __version__, own_table
from tui_tuner.subjects import Command, loaded, subjects

PROGRAM = "tuner-tui"
LOG_LEVELS = ("debug", "info", "warning", "error", "off")

TUNE = Command(
    "tune",
    "Tune a GPU kernel: a language model proposes, the machine decides.",
    "tui_tuner.cli.session_commands:add_tune",
)
"""What is meant where the first word is no command."""

_SUBJECTS_OWN = (command for subject in subjects().values() for command in subject.commands)
COMMANDS_BY_NAME = {
    command.name: command
    for command in (
        *_SUBJECTS_OWN,
        Command("tune-all", "Tune all below a directory.", "tui_tuner.cli.session_commands:add_tune_all"),
        Command(
            "init",
            "Write a first problem file from the kernel, the host's code and, where there is one, a model; and try it.",
            "tui_tuner.cli.tools:add_init",
        ),
        Command(
            "strategy",
            "List the strategies with their options, or write a first file for one of your own.",
            "tui_tuner.cli.tools:add_strategy",
        ),
        Command(
            "resume",
            "Go on with a run; nothing that is known is asked, built or measured again.",
            "tui_tuner.cli.session_commands:add_resume",
        ),
        Command(
            "replay",
            "Show a run again from its journal; needs neither GPU nor model.",
            "tui_tuner.cli.session_commands:add_replay",
        ),
        Command(
            "attach",
            "Watch a run that another terminal drives, and answer its questions.",
            "tui_tuner.cli.run_commands:add_attach",
        ),
        Command(
            "watch",
            "Print the story of a run that another terminal drives, as it comes.",
            "tui_tuner.cli.run_commands:add_watch",
        ),
        Command("show", "Say what a run tried and found.", "tui_tuner.cli.run_commands:add_show"),
        Command(
            "best",
            "Print the best that a run found: kernel, header, patch; or write it into your files.",
            "tui_tuner.cli.run_commands:add_best",
        ),
        Command(
            "export", "Print all that a run measured, for other programs.", "tui_tuner.cli.run_commands:add_export"
        ),
        Command("web", "Serve the screen to a browser of this machine.", "tui_tuner.cli.session_commands:add_web"),
        Command(
            "report",
            "Write what a run tried and found as one HTML file, or as Markdown.",
            "tui_tuner.cli.run_commands:add_report",
        ),
        Command("runs", "List the runs of a directory.", "tui_tuner.cli.tools:add_runs"),
        Command(
            "memory", "List what is remembered of earlier sessions, or forget it.", "tui_tuner.cli.tools:add_memory"
        ),
        Command(
            "check",
            "Say what the tests of a kernel cover, and which known faults of it they would not notice.",
            "tui_tuner.checks:add_check",
        ),
        Command("verify", "Say whether a kernel computes what another does.", "tui_tuner.checks:add_verify"),
        Command(
            "compare",
            "Time two kernels in turns: FAST, SAME, SLOW or UNCLEAR, with the interval.",
            "tui_tuner.checks:add_compare",
        ),
        Command("bench-search", "Measure searches on recorded search spaces.", "tui_tuner.lab:add_bench_search"),
        Command(
            "export-dataset",
            "Write sessions as conversations with their measured outcome, as JSON Lines.",
            "tui_tuner.lab:add_export_dataset",
        ),
        Command(
            "doctor", "Say what this machine offers for tuning, and what is missing.", "tui_tuner.cli.tools:add_doctor"
        ),
        Command(
            "config", "Print the settings in force, as TOML, or set one.", "tui_tuner.cli.config_command:add_config"
        ),
        Command("schema", "Print the JSON Schema of a file or stream.", "tui_tuner.cli.tools:add_schema"),
        Command(
            "completion",
            "Print a script that lets a shell complete commands and options.",
            "tui_tuner.cli.completion:add_completion",
        ),
        Command("help", "Explain a command and its options.", "tui_tuner.cli.tools:add_help"),
    )
}
"""All commands by name, in the order in which help lists them."""
COMMANDS = ", ".join(COMMANDS_BY_NAME)
"""The names of all commands, for people."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code. A user's mistake is one message and never a traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _show_what_cannot_be_encoded()
    try:
        return _carried_out(words)
    except UserError as error:
        return _fail(error)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _silence_output()
        return ExitCode.INTERRUPTED
    except OSError as error:
        fault = _fault_of(error, words)
        if fault is None:
            raise
        _silence_output()
        return _fail(fault)


def _carried_out(words: list[str]) -> int:
    """Parse the command line and do what it says; the exit code."""
    try:
        _refuse_misspelt_command(words)
        chosen = CommandLine().parse(words)
        _refuse_lost_directory()
        done: int | Coroutine[Any, Any, int] = chosen.command(chosen)
        if isinstance(done, int):
            return done
        try:
            return _in_a_loop(done, words, chosen.log_level)
        finally:
            done.close()  # of an interruption before it began Python would tell that nobody awaited it
    finally:
        sys.stdout.flush()  # as Python would when it ends, when nothing can be told any more


def _refuse_lost_directory() -> None:
    """Paths are relative to the directory that we are in, which may have been deleted.

    Raises:
        UserError: it was.
    """
    try:
        os.getcwd()  # noqa: PTH109 - pathlib loads slowly
    except FileNotFoundError:
        raise UserError("the working directory is no longer there", hint="change to one that is, as by: cd") from None


def _show_what_cannot_be_encoded() -> None:
    """Let no character end the program: a terminal's character set may lack it, a file's name may be no text."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _in_a_loop(command: Coroutine[Any, Any, int], words: Sequence[str], level: str | None) -> int:
    """Carry a command out in the only event loop that it has from its beginning to its end, and write its log."""
    import asyncio  # what needs no loop starts without it
    import logging

    from tui_tuner.log import fields, this_system, writing

    logger = logging.getLogger(__name__)
    with writing(level or _level_of_settings()):
        logger.info(
            "begins", extra=fields(words=words, version=__version__, cwd=os.environ.get("PWD"), **this_system())
        )
        try:
            code = asyncio.run(command)
        except UserError as error:
            logger.warning(error.message, extra=fields(file=error.file, line=error.line, hint=error.hint))
            raise
        except BrokenPipeError:
            raise
        except Exception as error:
            if _fault_of(error, words) is not None:
                raise
            logger.critical("an error that nobody expected", exc_info=True)
            _fail(UserError("a fault of this program", hint=_REPORT))
            raise
        logger.info("ends", extra=fields(code=code))
        return code


def _fault_of(error: Exception, words: Sequence[str]) -> UserError | None:
    """What the system has against the output, which no place is left for, or against a file that the user named."""
    from pathlib import Path

    if isinstance(error, OSError) and error.filename is None and error.errno in _NO_ROOM:
        hint = "what was found is in the run's directory, if there is one: tuner-tui runs"
        return UserError(f"what is printed cannot be written: {error.strerror}", hint=hint)
    if not isinstance(error, OSError) or not isinstance(error.filename, str):
        return None
    file = Path(error.filename)
    named = [Path(part) for word in words for part in (word, word.partition(":")[2], word.rpartition(":")[0]) if part]
    if file not in named and not set(named) & set(file.parents):
        return None
    return UserError(f"cannot be used: {error.strerror}", hint="name another file", file=file)


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_REPORT = "`tuner-tui doctor --json` prints what a report of it needs"


def _level_of_settings() -> str:
    """How much is logged, before anything checks what the settings say."""
    wanted = os.environ.get(f"{VARIABLES}LOG_LEVEL") or own_table("log").get("level")
    return wanted if wanted in LOG_LEVELS else "info"


def _refuse_misspelt_command(words: Sequence[str]) -> None:
    first = words[0] if words else "-"
    if first.startswith("-") or first in {TUNE.name, *COMMANDS_BY_NAME}:
        return
    from pathlib import Path

    from tui_tuner.text import nearest

    word = Path(first)
    near = nearest(word.name, COMMANDS_BY_NAME)
    if near is not None and not word.suffix and not word.exists():
        raise SettingsError(f"there is no command '{word}'", hint=f"did you mean '{near}'? There are: {COMMANDS}")


def _fail(error: UserError) -> ExitCode:
    from tui_tuner.text import say

    say(f"tuner-tui: {error}")
    return error.code


def _silence_output() -> None:
    """Let nothing more be written to a pipe that nobody reads or a full disk, which Python complains of at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


_MEANT = {"--model": "--llm PROVIDER:MODEL, as in --llm ollama:llama3.1:8b"}
"""What other programs call an option that has another name here."""


class CommandParser(argparse.ArgumentParser):
    """A parser that answers a mistake in three lines."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, and exit with the code for wrong usage."""
        from tui_tuner.text import flattened

        name = self.prog.removeprefix(PROGRAM).strip()
        told = f"{PROGRAM} help {name}" if name else f"{PROGRAM} --help"
        usage = " ".join([self.prog, *map(_shown, self._get_positional_actions()), "[OPTIONS]"])
        reason = flattened(message)
        if reason.startswith("argument --output: invalid choice") and "-o" in self._option_string_actions:
            reason += "; a file is named with -o"
        self.exit(ExitCode.USAGE, f"usage: {usage}\n{self.prog}: {reason}\n  `{told}` explains the options\n")

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Say that some words are no arguments of the command, and which option may have been meant."""
        from tui_tuner.text import nearest

        flags = [flag for flag in self._option_string_actions if flag.startswith("--")]
        flag = words[0].partition("=")[0]
        near = _MEANT.get(flag) or (nearest(flag, flags) if flag.startswith("-") else None)
        self.error(f"unrecognized arguments: {' '.join(words)}{f'; did you mean {near}?' if near else ''}")


def _shown(positional: argparse.Action) -> str:
    """A positional argument in a line of usage."""
    choices = f"{{{','.join(map(str, positional.choices or ()))}}}"
    name = positional.metavar if isinstance(positional.metavar, str) else choices
    return {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} ..."}.get(str(positional.nargs), name)


class CommandLine:
    """The parsers of all commands below that of the program."""

    def __init__(self) -> None:
        self._program = CommandParser(prog=PROGRAM, add_help=False)
        self._commands = self._program.add_subparsers(metavar="COMMAND")
        self._with_options: dict[str, CommandParser] = {}

    def parser(self, name: str) -> CommandParser:
        """The parser of a command, with its options."""
        if name not in self._with_options:
            command = TUNE if name == TUNE.name else COMMANDS_BY_NAME[name]
            prog = PROGRAM if command is TUNE else f"{PROGRAM} {name}"
            parser: CommandParser = self._commands.add_parser(name, prog=prog, description=command.help)
            parser.set_defaults(parser=parser)
            loaded(command.adder)(parser)
            level = f"least of what goes into the log: {', '.join(LOG_LEVELS)} (default info)"
            parser.add_argument("--log-level", choices=LOG_LEVELS, metavar="LEVEL", help=level)
            self._with_options[name] = parser
        return self._with_options[name]

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """What the user chose; `command` of it carries it out.

        Raises:
            SystemExit: the words are wrong, or ask for help, which was then printed.
        """
        named = words[0] if words and words[0] in {TUNE.name, *COMMANDS_BY_NAME} else None
        parser = self.parser(named or TUNE.name)
        chosen, unknown = self._program.parse_known_args(words if named else [TUNE.name, *words])
        if unknown:
            parser.refuse(unknown)
        chosen.bare = not re.sub(r"--theme[= ]\S+", "", " ".join(words))
        return chosen


def command_list() -> str:
    """All commands with what they do, a line each."""
    width = max(map(len, COMMANDS_BY_NAME))
    return "\n".join(f"  {command.name:<{width}}  {command.help}" for command in COMMANDS_BY_NAME.values())
