"""The command `completion`: scripts for shells, generated from the parsers."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tui_tuner.cli import COMMANDS_BY_NAME, TUNE, CommandLine
from tui_tuner.errors import ExitCode
from tui_tuner.evaluate.devices.kinds import KINDS
from tui_tuner.strategies import PLACES
from tui_tuner.text import tell

Value = Literal["none", "words", "files", "directories", "other"]
"""What an argument takes: nothing, one of its words, a file, a directory, or what no shell can know."""

_DIRECTORIES = {"DIR", "RUN"}
_NAMES = {
    "strategy": tuple(PLACES),
    "llm": ("auto", "ollama", "openai", "openrouter", "anthropic", "none"),
    "device": ("auto", *(kind.name for kind in KINDS.values() if not kind.is_record)),
}
"""What options mostly take that take more than names."""


@dataclass(frozen=True)
class ShellArgument:
    """An option or a positional argument as a shell needs it.

    Attributes:
        flags: none for a positional argument.
        words: that its value may be.
    """

    flags: tuple[str, ...]
    help: str
    value: Value
    words: tuple[str, ...] = ()


def add_completion(parser: argparse.ArgumentParser) -> None:
    """The options of printing a script."""
    parser.add_argument("shell", choices=tuple(_SCRIPTS), help="which shell the script is for")
    parser.epilog = 'bash: eval "$(tuner-tui completion bash)"; zsh: the same; fish: tuner-tui completion fish | source'
    parser.set_defaults(command=completion)


def completion(chosen: argparse.Namespace) -> int:
    """Print a script."""
    tell(completion_script(chosen.shell))
    return ExitCode.FINISHED


def completion_script(shell: str) -> str:
    """The script for `bash`, `zsh` or `fish`."""
    line = CommandLine()
    arguments = {name: [*_arguments_of(line.parser(name))] for name in (TUNE.name, *COMMANDS_BY_NAME)}
    return _SCRIPTS[shell](arguments)


def _arguments_of(parser: argparse.ArgumentParser) -> Iterator[ShellArgument]:
    for action in parser._actions:
        words = tuple(map(str, action.choices or ()))
        if not words and isinstance(action.metavar, str) and "|" in action.metavar:
            words = tuple(action.metavar.split("|"))
        if isinstance(action, argparse._HelpAction):
            yield ShellArgument(tuple(action.option_strings), "explain the options", "none")
        else:
            words = tuple(COMMANDS_BY_NAME) if action.dest == "topic" else words or _NAMES.get(action.dest, ())
            yield ShellArgument(tuple(action.option_strings), action.help or "", _value_of(action, words), words)


def _value_of(action: argparse.Action, words: tuple[str, ...]) -> Value:
    if action.nargs == 0:
        return "none"
    if words:
        return "words"
    if action.metavar in _DIRECTORIES:
        return "directories"
    return "files" if action.type is Path else "other"


_Arguments = dict[str, list[ShellArgument]]


def _bash(arguments: _Arguments) -> str:
    values = {"none": "", "files": "-f", "directories": "-d", "other": ""}
    cases = []
    for name, known in arguments.items():
        for argument in known:
            if argument.flags and argument.value != "none":
                taken = f"-W {shlex.quote(' '.join(argument.words))}" if argument.words else values[argument.value]
                patterns = "|".join(f"{name},{flag}" for flag in argument.flags)
                cases.append(f"        {patterns}) generated={shlex.quote(taken)}; only=1 ;;")
    for name, known in arguments.items():
        flags = " ".join(flag for argument in known for flag in argument.flags)
        positional = [argument for argument in known if not argument.flags]
        words = " ".join(word for argument in positional for word in argument.words)
        cases.append(f"        {name},*) flags={shlex.quote(flags)}; words={shlex.quote(words)} ;;")
    return _BASH.format(commands="|".join(COMMANDS_BY_NAME), words=" ".join(COMMANDS_BY_NAME), cases="\n".join(cases))


_BASH = """\
_tuner_tui() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local command=tune flags= words= generated= only=
    if [ "$COMP_CWORD" -gt 1 ]; then
        case ${{COMP_WORDS[1]}} in
            {commands}) command=${{COMP_WORDS[1]}} ;;
        esac
    fi
    case $command,$previous in
{cases}
    esac
    if [ -n "$only" ]; then
        case $generated in -[fd]) local IFS=$'\n' ;; esac
        [ -n "$generated" ] && eval "COMPREPLY=(\\$(compgen $generated -- \\"\\$current\\"))"
        return
    fi
    [ "$COMP_CWORD" -eq 1 ] && words="$words {words}"
    case $current in
        -*) COMPREPLY=($(compgen -W "$flags" -- "$current")) ;;
        *)
            COMPREPLY=($(compgen -W "$words" -- "$current"))
            local IFS=$'\n'
            COMPREPLY+=($(compgen -f -- "$current"))
            ;;
    esac
}}
complete -o filenames -F _tuner_tui tuner-tui"""


def _zsh(arguments: _Arguments) -> str:
    cases = []
    for name, known in arguments.items():
        specs = "".join(f" \\\n            {shlex.quote(spec)}" for spec in _zsh_specs(name, known))
        cases.append(f"        {name}) _arguments -s -S{specs} ;;")
    described = " ".join(shlex.quote(f"{command.name}:{command.help}") for command in COMMANDS_BY_NAME.values())
    return _ZSH.format(commands="|".join(COMMANDS_BY_NAME), described=described, cases="\n".join(cases))


def _zsh_specs(name: str, known: list[ShellArgument]) -> Iterator[str]:
    for argument in known:
        value = _zsh_value(argument)
        for flag in argument.flags:
            yield f"{flag}[{_zsh_text(argument.help)}]" + (f":value:{value}" if argument.value != "none" else "")
    positional = [argument for argument in known if not argument.flags]
    if positional:
        yield (
            f"*:{name}:{_zsh_value(positional[0])}" if len(positional) == 1 else f"1:{name}:{_zsh_value(positional[0])}"
        )
    if len(positional) > 1:
        yield f"*:{name}:{_zsh_value(positional[1])}"


def _zsh_value(argument: ShellArgument) -> str:
    kinds = {"files": "_files", "directories": "_files", "words": f"({' '.join(argument.words)})"}
    return kinds.get(argument.value, " ")


def _zsh_text(text: str) -> str:
    return "".join(f"\\{character}" if character in "[]:\\" else character for character in text)


_ZSH = """\
#compdef tuner-tui
_tuner_tui() {{
    local command=tune
    local -a commands=({described})
    if (( CURRENT == 2 )); then
        _describe command commands
    else
        case $words[2] in
            {commands}) command=$words[2]; shift words; (( CURRENT-- )) ;;
        esac
    fi
    case $command in
{cases}
    esac
}}
compdef _tuner_tui tuner-tui"""


def _fish(arguments: _Arguments) -> str:
    commands = " ".join(COMMANDS_BY_NAME)
    lines = [
        f"complete -c tuner-tui -n '__fish_is_first_arg' -a {shlex.quote(command.name)} -d {shlex.quote(command.help)}"
        for command in COMMANDS_BY_NAME.values()
    ]
    for name, known in arguments.items():
        seen = "__fish_seen_subcommand_from"
        condition = f"not {seen} {commands}" if name == TUNE.name else f"{seen} {name}"
        for argument in known:
            lines += _fish_lines(condition, argument)
    return "\n".join(lines)


def _fish_lines(condition: str, argument: ShellArgument) -> Iterator[str]:
    parts = ["complete -c tuner-tui", f"-n {shlex.quote(condition)}"]
    for flag in argument.flags:
        parts.append(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}")
    if not argument.flags and not argument.words:
        return  # files, which fish offers unasked
    values = {"none": "", "words": f"-x -a {shlex.quote(' '.join(argument.words))}", "files": "-r -F"}
    parts.append(
        values.get(argument.value, "-x -a '(__fish_complete_directories)'" if argument.value == "directories" else "-x")
    )
    parts.append(f"-d {shlex.quote(argument.help)}")
    yield " ".join(part for part in parts if part)


_SCRIPTS: dict[str, Callable[[_Arguments], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
