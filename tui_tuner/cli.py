"""The command line: arguments only."""

from __future__ import annotations

import argparse
import asyncio
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import tomli
from pydantic import ValidationError

from tui_tuner import __version__
from tui_tuner.commands.check import check_front_end
from tui_tuner.commands.front_ends import show, silence_output
from tui_tuner.commands.sessions import Prepared, new_session, replayed_session, resumed_session
from tui_tuner.errors import SettingsError, UserError
from tui_tuner.evaluate.devices.choose import is_recorded
from tui_tuner.headless import ExitCode
from tui_tuner.problem.nearest import nearest
from tui_tuner.session.options import SessionOptions
from tui_tuner.settings import Settings, load_settings, settings_file
from tui_tuner.strategies.parameters.rounds.options import RoundOptions
from tui_tuner.text import clean

COMMANDS = "init, strategy, resume, replay, runs, bench-search, memory, export-dataset, doctor, config"


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code. A user's mistake is one message and never a traceback."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if arguments and arguments[0] in _COMMANDS:
            return _COMMANDS[arguments[0]](arguments[1:])
        _refuse_misspelt_command(arguments)
        return _tune(arguments)
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


def _tell(text: str) -> None:
    print(clean(text))  # noqa: T201 (standard output carries the data)


def _parser(name: str, description: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=f"tuner-tui {name}".strip(), description=description)


def _tune(arguments: Sequence[str]) -> int:
    parser = _parser("", "Tune a GPU kernel: a language model proposes, the machine decides.")
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
        "--set", action="append", type=_option, default=[], metavar="NAME=VALUE", help="an option of the strategy"
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
    _add_rounds(parser)
    _add_memory(parser)
    _add_budget(parser)
    _add_front_end(parser)
    chosen = parser.parse_args(arguments)
    settings = load_settings()
    if chosen.kernel is None and not is_recorded(chosen.device or settings.session.device):
        parser.error("name a KERNEL, or a recording with --device recorded:FILE")
    check_front_end(settings, auto=chosen.auto, output=chosen.output)
    options = _with_strategy_options(_changed(settings.session, chosen), chosen)
    prepared = new_session(chosen.kernel, options, settings, chosen.run_dir)
    return _show(prepared, settings, chosen)


def _resume(arguments: Sequence[str]) -> int:
    parser = _parser("resume", "Go on with a run; nothing that is known is asked, built or measured again.")
    parser.add_argument("run", type=Path, metavar="RUN", help="the run's directory")
    _add_budget(parser)
    _add_front_end(parser)
    chosen = parser.parse_args(arguments)
    settings = load_settings()
    check_front_end(settings, auto=chosen.auto, output=chosen.output)
    changes = _changes(chosen)
    _changed(SessionOptions(), chosen)
    return _show(resumed_session(chosen.run, changes, settings), settings, chosen)


def _replay(arguments: Sequence[str]) -> int:
    parser = _parser("replay", "Show a run again from its journal; needs neither GPU nor model.")
    parser.add_argument("run", type=Path, metavar="RUN", help="the run's directory, or a journal")
    _add_front_end(parser)
    chosen = parser.parse_args(arguments)
    settings = load_settings()
    check_front_end(settings, auto=chosen.auto, output=chosen.output)
    return _show(replayed_session(chosen.run), settings, chosen)


def _init(arguments: Sequence[str]) -> int:
    from tui_tuner.commands.init import write_problem_file

    parser = _parser("init", "Write a first problem file from the kernel's own signature.")
    parser.add_argument("kernel_file", type=Path, metavar="KERNEL", help="a .cu, .cl or .c file")
    parser.add_argument("--kernel", metavar="NAME", help="which kernel of the file")
    parser.add_argument("--force", action="store_true", help="write over a problem file that is there")
    chosen = parser.parse_args(arguments)
    target = write_problem_file(chosen.kernel_file, chosen.kernel, force=chosen.force)
    _tell(f"wrote {target}: check what it marks as guesses, then run: tuner-tui {chosen.kernel_file}")
    return ExitCode.FINISHED


def _strategy(arguments: Sequence[str]) -> int:
    from tui_tuner.commands.strategy import CLASS, FILE, strategy_lines, write_template

    parser = _parser("strategy", "List the strategies with their options, or write a first file for one of your own.")
    parser.add_argument("action", choices=("list", "new"), help="what to do")
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help=f"of the new one (default {FILE})")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")
    chosen = parser.parse_args(arguments)
    if chosen.action == "new":
        file = write_template(chosen.file or FILE, force=chosen.force)
        _tell(f"wrote {file}: it runs as it is, with: tuner-tui KERNEL --strategy {shlex.quote(f'{file}:{CLASS}')}")
    elif chosen.file is not None or chosen.force:
        parser.error("list takes nothing behind it")
    else:
        for line in strategy_lines():
            _tell(line)
    return ExitCode.FINISHED


def _runs(arguments: Sequence[str]) -> int:
    from tui_tuner.session.run_directory import RUNS, list_runs

    parser = _parser("runs", "List the runs of a directory.")
    parser.add_argument("directory", type=Path, nargs="?", default=RUNS, metavar="DIR", help=f"default {RUNS}")
    directory = parser.parse_args(arguments).directory
    runs = list_runs(directory)
    if not runs:
        print(f"no runs in {directory}", file=sys.stderr)  # noqa: T201
    for run in runs:
        state = run.get("error") or ("finished" if run["finished"] else "resumable")
        _tell(f"{run['run']}  {run.get('created', '')}  {run.get('strategy', '')}  {run.get('model') or '-'}  {state}")
    return ExitCode.FINISHED


def _export_dataset(arguments: Sequence[str]) -> int:
    from tui_tuner.commands.export_dataset import Wanted, export_dataset

    parser = _parser("export-dataset", "Write sessions as conversations with their measured outcome, as JSON Lines.")
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="a run's directory, or a journal")
    parser.add_argument("--output", type=Path, metavar="FILE", help="a new file (default: standard output)")
    parser.add_argument(
        "--min-speedup",
        type=_factor,
        metavar="1.5x",
        help="only replies that brought such a speed-up over the kernel as given",
    )
    parser.add_argument(
        "--accepted-only", action="store_true", help="only replies whose kernel or configuration was accepted"
    )
    chosen = parser.parse_args(arguments)
    return export_dataset(chosen.runs, chosen.output, Wanted(chosen.min_speedup, chosen.accepted_only))


def _doctor(arguments: Sequence[str]) -> int:
    from tui_tuner.commands.doctor import findings

    _parser("doctor", "Say what this machine offers for tuning, and what is missing.").parse_args(arguments)

    async def tell_all() -> None:
        async for name, found in findings(load_settings()):
            _tell(f"{name:<10} {found}")

    asyncio.run(tell_all())
    return ExitCode.FINISHED


def _config(arguments: Sequence[str]) -> int:
    from tui_tuner.commands.config import settings_text

    _parser("config", "Print the settings in force, as TOML.").parse_args(arguments)
    _tell(f"# {settings_file()}\n" + settings_text(load_settings()))
    return ExitCode.FINISHED


def _memory(arguments: Sequence[str]) -> int:
    from tui_tuner.commands.memory import Forgetting, forget, reply_line, session_lines

    parser = _parser("memory", "List what is remembered of earlier sessions, or forget it.")
    parser.add_argument("action", choices=("list", "forget"), help="what to do")
    parser.add_argument("ids", type=int, nargs="*", metavar="ID", help="forget these, by the numbers of the list")
    parser.add_argument("--kernel", metavar="NAME", help="forget the sessions of kernels of this name")
    parser.add_argument("--replies", action="store_true", help="the cached replies of models instead")
    parser.add_argument("--all", action="store_true", help="forget all sessions and all cached replies")
    chosen = parser.parse_args(arguments)
    file = load_settings().memory.place
    if chosen.action == "forget":
        _tell(forget(file, Forgetting(chosen.ids, chosen.kernel, chosen.all, chosen.replies)))
        return ExitCode.FINISHED
    if chosen.ids or chosen.kernel or chosen.all:
        parser.error("list takes nothing but --replies")
    lines = [reply_line(file)] if chosen.replies else [*session_lines(file)]
    if not lines:
        print(f"nothing is remembered in {file}", file=sys.stderr)  # noqa: T201
    for line in lines:
        _tell(line)
    return ExitCode.FINISHED


def _bench_search(arguments: Sequence[str]) -> int:
    from tui_tuner.commands.bench_search import bench_search

    return bench_search(arguments)


_COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "init": _init,
    "strategy": _strategy,
    "resume": _resume,
    "replay": _replay,
    "runs": _runs,
    "bench-search": _bench_search,
    "memory": _memory,
    "export-dataset": _export_dataset,
    "doctor": _doctor,
    "config": _config,
}


def _add_rounds(parser: argparse.ArgumentParser) -> None:
    rounds = parser.add_argument_group("rounds in which a model chooses configurations")
    for name, field in RoundOptions.model_fields.items():
        flag, words = f"--{name.replace('_', '-')}", f"{field.description} (default {field.default})"
        if field.annotation is bool:
            rounds.add_argument(flag, action=argparse.BooleanOptionalAction, help=words)
        else:
            rounds.add_argument(flag, metavar="VALUE", help=words)


def _add_memory(parser: argparse.ArgumentParser) -> None:
    memory, switch = parser.add_argument_group("memory"), argparse.BooleanOptionalAction
    memory.add_argument("--memory", action=switch, help="use what earlier sessions found, and remember this one")
    memory.add_argument("--cache-replies", action=switch, help="keep the model's replies for later sessions")


def _add_budget(parser: argparse.ArgumentParser) -> None:
    budget = parser.add_argument_group("budget")
    budget.add_argument("--max-evals", type=int, metavar="N", dest="max_evaluations", help="evaluations (default 85)")
    budget.add_argument("--max-calls", type=int, metavar="N", help="calls of the model (default 100)")
    budget.add_argument("--max-time", type=_seconds, metavar="20m", dest="max_seconds", help="time, as in 90s, 20m, 2h")
    budget.add_argument("--max-cost", type=float, metavar="USD", help="cost of the model's replies, US dollars")
    budget.add_argument("--target", type=_factor, metavar="2x", help="stop at this speed-up over the kernel as given")


def _add_front_end(parser: argparse.ArgumentParser) -> None:
    front_end = parser.add_argument_group("front end")
    front_end.add_argument("--auto", action="store_true", help="no screen: approve every step, print lines")
    front_end.add_argument("--output", choices=("text", "json"), help="with --auto (default text)")
    front_end.add_argument("--theme", help="theme of the screen")


def _show(prepared: Prepared, settings: Settings, chosen: argparse.Namespace) -> int:
    return show(prepared, settings, auto=chosen.auto, json=chosen.output == "json", theme=chosen.theme)


_OPTIONS = tuple(SessionOptions.model_fields)
_FLAGS = {"max_evaluations": "--max-evals", "max_seconds": "--max-time"}
"""Flags that are not called like the option they set."""


def _changes(chosen: argparse.Namespace) -> dict[str, object]:
    return _given(_OPTIONS, chosen)


def _given(names: Iterable[str], chosen: argparse.Namespace) -> dict[str, object]:
    return {name: value for name in names if (value := getattr(chosen, name, None)) is not None}


def _changed(options: SessionOptions, chosen: argparse.Namespace) -> SessionOptions:
    """The settings' options with those of the command line over them.

    Raises:
        SettingsError: a value is out of its range.
    """
    try:
        rounds = {**options.rounds.model_dump(), **_given(RoundOptions.model_fields, chosen)}
        return SessionOptions.model_validate({**options.model_dump(), "rounds": rounds, **_changes(chosen)})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        option = str(first["loc"][-1])
        flag = _FLAGS.get(option, f"--{option.replace('_', '-')}")
        raise SettingsError(f"{flag}: {first['msg'].lower()}, it is {first['input']}") from error


def _with_strategy_options(options: SessionOptions, chosen: argparse.Namespace) -> SessionOptions:
    given = dict(chosen.set)
    if chosen.steps is not None:
        from tui_tuner.strategies.step_files import load_steps

        given["steps"] = [step.model_dump(mode="json") for step in load_steps(chosen.steps)]
    return options.model_copy(update={"strategy_options": {**options.strategy_options, **given}})


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"'{text}' is no option; write NAME=VALUE")
    try:
        return name.strip(), tomli.loads(f"value = {value}")["value"]
    except tomli.TOMLDecodeError:
        return name.strip(), value  # words need no quotes


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is no time; write 90s, 20m or 2h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def _factor(text: str) -> float:
    try:
        return float(text.removesuffix("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no factor; write 2x") from None
