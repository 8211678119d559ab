"""The parsers of the command line: one a command, whose options are loaded when the command is named."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from tui_tuner.errors import ExitCode
from tui_tuner.subjects import Command, loaded, subjects

PROGRAM = "tuner-tui"

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
        Command("init", "Write a first problem file from the kernel's own signature.", "tui_tuner.cli.tools:add_init"),
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
        Command("runs", "List the runs of a directory.", "tui_tuner.cli.tools:add_runs"),
        Command(
            "memory", "List what is remembered of earlier sessions, or forget it.", "tui_tuner.cli.tools:add_memory"
        ),
        Command(
            "bench-search",
            "Measure how good searches are on recorded search spaces.",
            "tui_tuner.lab.commands:add_bench_search",
        ),
        Command(
            "export-dataset",
            "Write sessions as conversations with their measured outcome, as JSON Lines.",
            "tui_tuner.lab.commands:add_export_dataset",
        ),
        Command(
            "doctor", "Say what this machine offers for tuning, and what is missing.", "tui_tuner.cli.tools:add_doctor"
        ),
        Command("config", "Print the settings in force, as TOML.", "tui_tuner.cli.tools:add_config"),
        Command(
            "completion",
            "Print a script that lets a shell complete commands and options.",
            "tui_tuner.cli.completion:add_completion",
        ),
        Command("help", "Explain a command and its options.", "tui_tuner.cli.tools:add_help"),
    )
}
"""All commands by name, in the order in which help lists them."""


class CommandParser(argparse.ArgumentParser):
    """A parser that answers a mistake in three lines."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, and exit with the code for wrong usage."""
        from tui_tuner.text import clean

        name = self.prog.removeprefix(PROGRAM).strip()
        told = f"{PROGRAM} help {name}" if name else f"{PROGRAM} --help"
        usage = " ".join([self.prog, *map(_shown, self._get_positional_actions()), "[OPTIONS]"])
        reason = " ".join(clean(message).split())
        self.exit(ExitCode.USAGE, f"usage: {usage}\n{self.prog}: {reason}\n  `{told}` explains the options\n")

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Say that some words are no arguments of the command, and which option may have been meant."""
        from tui_tuner.text import nearest

        flags = [flag for flag in self._option_string_actions if flag.startswith("--")]
        near = nearest(words[0].partition("=")[0], flags) if words[0].startswith("-") else None
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
        return chosen


def command_list() -> str:
    """All commands with what they do, a line each."""
    width = max(map(len, COMMANDS_BY_NAME))
    return "\n".join(f"  {command.name:<{width}}  {command.help}" for command in COMMANDS_BY_NAME.values())


def tell(text: str) -> None:
    """A line of what the command is for."""
    from tui_tuner.text import clean

    print(clean(text))  # noqa: T201 (standard output carries the data)
