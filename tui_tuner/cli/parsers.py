"""The parsers of the command line, one a command, and the options that commands share.

The options of a command are loaded when the command is named.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn

from tui_tuner.cli.values import factor, seconds
from tui_tuner.errors import ExitCode, SettingsError
from tui_tuner.options import Option, flag_of
from tui_tuner.search import ROUND_OPTIONS
from tui_tuner.subjects import Command, loaded, subjects

if TYPE_CHECKING:
    from pydantic import ValidationError

    from tui_tuner.app.showing import FrontEnd
    from tui_tuner.problem.toml_file import KeyPath
    from tui_tuner.session_options import SessionOptions
    from tui_tuner.settings.layers import Layer

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
            "tui_tuner.cli.session_commands:add_attach",
        ),
        Command(
            "watch",
            "Print the story of a run that another terminal drives, as it comes.",
            "tui_tuner.cli.session_commands:add_watch",
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
        Command("config", "Print the settings in force, as TOML, or set one.", "tui_tuner.cli.tools:add_config"),
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


_MEANT = {"--model": "--llm PROVIDER:MODEL, as in --llm ollama:llama3.1:8b"}
"""What other programs call an option that has another name here."""


class CommandParser(argparse.ArgumentParser):
    """A parser that answers a mistake in three lines."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, and exit with the code for wrong usage."""
        from tui_tuner.text import clean

        name = self.prog.removeprefix(PROGRAM).strip()
        told = f"{PROGRAM} help {name}" if name else f"{PROGRAM} --help"
        usage = " ".join([self.prog, *map(_shown, self._get_positional_actions()), "[OPTIONS]"])
        reason = " ".join(clean(message).split())
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
        chosen.bare = not words
        return chosen


def command_list() -> str:
    """All commands with what they do, a line each."""
    width = max(map(len, COMMANDS_BY_NAME))
    return "\n".join(f"  {command.name:<{width}}  {command.help}" for command in COMMANDS_BY_NAME.values())


def add_options(group: argparse._ArgumentGroup, options: Iterable[Option]) -> None:
    """A flag for every option of a table; the model of the table checks what is given."""
    for option in options:
        if option.value:
            group.add_argument(option.flag, metavar=option.value, help=option.explained)
        else:
            group.add_argument(option.flag, action=argparse.BooleanOptionalAction, help=option.explained)


def add_rounds(parser: argparse.ArgumentParser) -> None:
    """How a model chooses configurations."""
    add_options(parser.add_argument_group("rounds in which a model chooses configurations"), ROUND_OPTIONS)


def add_model(parser: argparse.ArgumentParser) -> None:
    """Which model is asked, and how."""
    model = "auto (default), ollama, openai, anthropic, ..."
    parser.add_argument("--llm", metavar="PROVIDER[:MODEL]", help=model)
    needed = "end where there is no model or it is of no use, instead of searching without one"
    parser.add_argument("--require-model", action="store_true", default=None, help=needed)
    parser.add_argument("--temperature", type=float, metavar="T", help="of the model's replies")


def add_unconfined(parser: argparse.ArgumentParser) -> None:
    """Whether to do without a sandbox."""
    unconfined = "build even where no sandbox can be had"
    parser.add_argument("--allow-unconfined", action="store_true", default=None, help=unconfined)


def add_memory(parser: argparse.ArgumentParser) -> None:
    """What earlier sessions may say."""
    memory, switch = parser.add_argument_group("memory"), argparse.BooleanOptionalAction
    memory.add_argument("--memory", action=switch, help="use what earlier sessions found, and remember this one")
    memory.add_argument("--cache-replies", action=switch, help="keep the model's replies for later sessions")


def add_budget(parser: argparse.ArgumentParser) -> None:
    """What may be spent."""
    budget = add_limits(parser)
    budget.add_argument("--max-evals", type=int, metavar="N", dest="max_evaluations", help="evaluations (default 85)")


def add_limits(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """What every kind of session may spend."""
    budget = parser.add_argument_group("budget")
    budget.add_argument("--max-calls", type=int, metavar="N", help="calls of the model (default 100)")
    budget.add_argument(
        "--max-time", type=seconds, metavar="TIME", dest="max_seconds", help="time, as in 90, 90s, 20m, 2h"
    )
    reply = "time of one reply of the model, retries included"
    budget.add_argument("--reply-time", type=seconds, metavar="TIME", dest="reply_seconds", help=reply)
    budget.add_argument("--max-cost", type=float, metavar="USD", help="cost of the model's replies, US dollars")
    budget.add_argument(
        "--target", type=factor, metavar="FACTOR", help="stop at this gain over what was given, as in 2x"
    )
    return budget


def add_front_end(parser: argparse.ArgumentParser) -> None:
    """How the session is shown."""
    front_end = parser.add_argument_group("front end")
    front_end.add_argument("--auto", action="store_true", help="no screen: approve every step, print lines")
    by = "without a screen: `all` approves every step (--auto), `attach` waits for `tuner-tui attach`"
    front_end.add_argument("--approve-by", choices=("all", "attach"), help=by)
    front_end.add_argument("--output", choices=("text", "json"), help="with --auto (default text)")
    how_much = front_end.add_mutually_exclusive_group()
    warnings = "with --auto: nothing but warnings on standard error"
    how_much.add_argument("-q", "--quiet", action="store_const", const=-1, dest="verbosity", help=warnings)
    everything = "with --auto: also what failed evaluations say, and on a terminal each of them"
    how_much.add_argument("-v", "--verbose", action="store_const", const=1, dest="verbosity", help=everything)
    front_end.add_argument("--theme", metavar="NAME", help="theme of the screen")


def front_end_of(chosen: argparse.Namespace) -> FrontEnd:
    """How the session is to be shown."""
    from tui_tuner.app.showing import FrontEnd

    by = chosen.approve_by
    return FrontEnd(
        chosen.auto or by is not None, chosen.output, chosen.theme, by or "all", verbosity=chosen.verbosity or 0
    )


def changes(chosen: argparse.Namespace) -> dict[str, object]:
    """What the user changes of the session's options."""
    from tui_tuner.session_options import SessionOptions

    return given_of(SessionOptions.model_fields, chosen)


def given_of(names: Iterable[str], chosen: argparse.Namespace) -> dict[str, object]:
    """Those of the named options that are on the command line."""
    return {name: value for name in names if (value := getattr(chosen, name, None)) is not None}


def changed(options: SessionOptions, chosen: argparse.Namespace, *, rounds: bool = True) -> SessionOptions:
    """The settings' options with those of the command line over them.

    Args:
        rounds: whether the command has the settings of the rounds; flags of the same names may mean something else.

    Raises:
        SettingsError: a value is out of its range.
    """
    from pydantic import ValidationError

    own = given_of((option.name for option in ROUND_OPTIONS), chosen) if rounds else {}
    told = {"rounds": {**options.rounds.model_dump(), **own}, **changes(chosen)}
    try:
        return type(options).model_validate({**options.model_dump(), **told})
    except ValidationError as error:
        raise refused(error) from error


def told_by(chosen: argparse.Namespace) -> Layer:
    """What the command line sets of the settings."""
    from tui_tuner.settings.layers import Layer, Place

    session = changes(chosen)
    places: dict[KeyPath, Place] = {("session", name): Place(name=flag_of(name)) for name in session}
    if getattr(chosen, "set", None):
        session["strategy_options"] = dict(chosen.set)
        places["session", "strategy_options"] = Place(name="--set")
    rounds = given_of((option.name for option in ROUND_OPTIONS if hasattr(chosen, "initial_batch_size")), chosen)
    if rounds:
        session["rounds"] = rounds
    places.update({("session", "rounds", name): Place(name=flag_of(name)) for name in rounds})
    return Layer({"session": session} if session else {}, places)


def refused(error: ValidationError) -> SettingsError:
    """Which flag has a value that cannot be, and why."""
    first = error.errors(include_url=False)[0]
    return SettingsError(f"{flag_of(str(first['loc'][-1]))}: {first['msg'].lower()}, it is {first['input']}")


def with_strategy_options(options: SessionOptions, chosen: argparse.Namespace) -> SessionOptions:
    """The options with those of the strategy over them."""
    given = dict(chosen.set)
    if chosen.steps is not None:
        from tui_tuner.strategies.step_lists import load_steps

        given["steps"] = [step.model_dump(mode="json") for step in load_steps(chosen.steps)]
    return options.model_copy(update={"strategy_options": {**options.strategy_options, **given}})
