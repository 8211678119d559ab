"""The commands around sessions: first files, lists, memory, what there is, help."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from pathlib import Path

from tui_tuner.cli import COMMANDS_BY_NAME, TUNE, CommandLine
from tui_tuner.cli.flags import changed, seconds
from tui_tuner.errors import ExitCode, ProblemError, SettingsError, writing
from tui_tuner.journal.reading import RUNS
from tui_tuner.resources import (
    samples_directory,
    write_whole,
)
from tui_tuner.text import is_utf8, say, suggestion, tell

_WRITE_THE_DRAFT = re.compile(r"write the draft with: .*?, (?:correct it, )?and (?:start again: )?")
"""What a hint says first of a draft that is not written."""
_STRATEGY_FILE = Path("my_strategy.py")
"""Where a first strategy goes, in the current directory, unless the user names another file."""
_STRATEGY_CLASS = "MyStrategy"


def add_init(parser: argparse.ArgumentParser) -> None:
    """The options of writing a problem file."""
    parser.add_argument("kernel_file", type=Path, metavar="KERNEL", help="a .cu, .cl or .c file, or FILE:NAME")
    parser.add_argument("--kernel", metavar="NAME", help="which kernel of the file")
    parser.add_argument("--host", type=Path, metavar="FILE", help="where the kernel is launched, if not in its file")
    parser.add_argument("--force", action="store_true", help="write over a problem file that is there")
    parser.add_argument(
        "--llm", metavar="PROVIDER[:MODEL]", help="the model that drafts with the rules; none for rules"
    )
    reply = "time of one reply of the model, as in 90, 5m; then the draft is that of the rules"
    parser.add_argument("--reply-time", type=seconds, metavar="TIME", dest="reply_seconds", help=reply)
    parser.set_defaults(command=init)


async def init(chosen: argparse.Namespace) -> int:
    """Write a first problem file, tried as a run would try it.

    Raises:
        UserError: no kernel to choose, the file is there already or cannot be written, or there is no such model.
    """
    from tui_tuner.app.assumptions import assumptions
    from tui_tuner.app.drafting import confirmed, drafted, unconfirmed
    from tui_tuner.app.first_draft import loaded_or_not, off_the_loop, taken_out
    from tui_tuner.app.named import check_kernel
    from tui_tuner.problem.draft.kernel.files import file_of_kernels
    from tui_tuner.settings import load_settings
    from tui_tuner.subjects import split_name

    given, name = split_name(chosen.kernel_file)
    named, script = await off_the_loop(taken_out, given)
    if named != given:
        tell(f"{named} has the kernel that {given} has as a text")
    check_kernel(named)
    name = chosen.kernel or name
    file = file_of_kernels(named, name)
    host = chosen.host or script or (named if file != named else None)
    taken = name
    name, others, text = await off_the_loop(unconfirmed, file, name, host)
    target = file.with_suffix(".toml")
    if target.exists() and not chosen.force:
        raise ProblemError("is there already", hint="add --force to write it anew", file=target)
    if not is_utf8(file.name):
        raise ProblemError("its name is not UTF-8 text, as a problem file is", hint="give it another name", file=file)
    settings = load_settings(beside=file)
    another = f"tuner-tui init {file} --force --kernel NAME"
    try:
        options = changed(settings.session, chosen)
        first = await off_the_loop(loaded_or_not, drafted, file, taken, host)
        held = await confirmed(first, options, settings, tell=say)
    except ProblemError as error:
        if others:
            say(f"kernel {name} of several; for another: {another}, as in {', '.join(others)}")
        say(f"what is written does not hold yet: {error.message}")
        if what := _WRITE_THE_DRAFT.sub("", error.hint or ""):
            say(what)
    else:
        text = held.text
        for line in list(assumptions(held, another))[1:]:
            say(line)
    try:
        write_whole(target, text)
    except OSError as error:
        raise ProblemError(f"cannot be written: {error.strerror}", file=target) from None
    tell(f"wrote {target}: check what it marks as guesses, then run: tuner-tui {named}")
    return ExitCode.FINISHED


def add_strategy(parser: argparse.ArgumentParser) -> None:
    """The options of listing strategies and of writing one."""
    parser.add_argument("action", choices=("list", "new"), help="what to do")
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help=f"of the new one (default {_STRATEGY_FILE})")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")
    parser.set_defaults(command=strategy)


def strategy(chosen: argparse.Namespace) -> int:
    """List the strategies, or write a first file for one."""
    if chosen.action == "new":
        file = _write_template(chosen.file or _STRATEGY_FILE, force=chosen.force)
        name = shlex.quote(f"{file}:{_STRATEGY_CLASS}")
        tell(f"wrote {file}: it runs as it is, with: tuner-tui KERNEL --strategy {name}")
        return ExitCode.FINISHED
    if chosen.file is not None or chosen.force:
        chosen.parser.error("list takes nothing behind it")
    from tui_tuner.app.inventory import strategy_lines

    for line in strategy_lines():
        tell(line)
    return ExitCode.FINISHED


def _write_template(file: Path, *, force: bool) -> Path:
    """Write a strategy that runs as it is.

    Raises:
        SettingsError: the file is there already, is no `.py`, or cannot be written.
    """
    if file.suffix != ".py":
        raise SettingsError("a strategy is a Python file", hint=f"write {file.with_suffix('.py')}", file=file)
    if file.exists() and not force:
        raise SettingsError("is there already", hint="add --force to write it anew", file=file)
    text = (samples_directory() / "strategies/my_strategy.py").read_text(encoding="utf-8")
    with writing(file):
        write_whole(file, text.replace(str(_STRATEGY_FILE), str(file)))
    return file


def add_runs(parser: argparse.ArgumentParser) -> None:
    """The options of listing runs."""
    parser.add_argument("directory", type=Path, nargs="?", default=RUNS, metavar="DIR", help=f"default {RUNS}")
    parser.add_argument("--json", action="store_true", help="as one JSON array")
    unused = "remove runs that have nothing on record, and what finished ones have built"
    parser.add_argument("--clean", action="store_true", help=unused)
    parser.set_defaults(command=runs)


def runs(chosen: argparse.Namespace) -> int:
    """List the runs of a directory, or remove what is of no use of them.

    Raises:
        SettingsError: it is none, or cannot be read.
    """
    from tui_tuner.journal.runs import clean_runs, list_runs, run_lines

    try:
        next(chosen.directory.iterdir(), None)
    except FileNotFoundError:
        if chosen.directory != RUNS:
            hint = "name the directory that the runs are in; --clean removes what is of no use of them"
            raise SettingsError("there is no such directory", hint=hint, file=chosen.directory) from None
    except OSError as error:
        hint = "name the directory that the runs are in"
        raise SettingsError(f"cannot be gone through: {error.strerror}", hint=hint, file=chosen.directory) from None
    if chosen.clean:
        for line in clean_runs(chosen.directory):
            tell(line)
        return ExitCode.FINISHED
    found = list_runs(chosen.directory)
    if chosen.json:
        tell(json.dumps([run.fields for run in found], indent=2))
    elif found:
        for line in run_lines(found):
            tell(line)
    else:
        say(f"no runs in {chosen.directory}")
    return ExitCode.FINISHED


def add_memory(parser: argparse.ArgumentParser) -> None:
    """The options of listing and of forgetting what is remembered."""
    parser.add_argument("action", choices=("list", "forget"), help="what to do")
    parser.add_argument("ids", type=int, nargs="*", metavar="ID", help="forget these, by the numbers of the list")
    parser.add_argument("--kernel", metavar="NAME", help="forget the sessions of kernels of this name")
    parser.add_argument("--replies", action="store_true", help="the cached replies of models instead")
    parser.add_argument("--all", action="store_true", help="forget all sessions and all cached replies")
    parser.set_defaults(command=memory)


def memory(chosen: argparse.Namespace) -> int:
    """List or forget what is remembered."""
    from tui_tuner.app.inventory import Forgetting, forget, reply_line, session_lines
    from tui_tuner.settings import load_settings

    file = load_settings().memory.place
    if chosen.action == "forget":
        tell(forget(file, Forgetting(chosen.ids, chosen.kernel, chosen.all, chosen.replies)))
        return ExitCode.FINISHED
    if chosen.ids or chosen.kernel or chosen.all:
        chosen.parser.error("list takes nothing but --replies")
    lines = [reply_line(file)] if chosen.replies else [*session_lines(file)]
    if not lines:
        say(f"nothing is remembered in {file}")
    for line in lines:
        tell(line)
    return ExitCode.FINISHED


def add_doctor(parser: argparse.ArgumentParser) -> None:
    """The options of saying what there is."""
    parser.add_argument("--json", action="store_true", help="one JSON object with all that a bug report needs, no keys")
    parser.set_defaults(command=doctor)


async def doctor(chosen: argparse.Namespace) -> int:
    """Say what this machine offers; fails where nothing can be tuned, or not safely."""
    from tui_tuner.app.inventory import findings
    from tui_tuner.settings import layered_settings

    layered = layered_settings(beside=Path())
    if chosen.json:
        from tui_tuner.app.inventory import bug_report

        report = await bug_report(layered)
        tell(json.dumps(report, indent=2))
        return ExitCode.FAILED if any(finding["stops"] for finding in report["findings"]) else ExitCode.FINISHED
    code = ExitCode.FINISHED
    async for finding in findings(layered.settings):
        tell(f"{finding.name:<10} {finding.text}")
        code = ExitCode.FAILED if finding.stops else code
    return code


def add_schema(parser: argparse.ArgumentParser) -> None:
    """The options of printing a schema."""
    what = "a line of --output json, result.json, the problem file, or the settings"
    parser.add_argument("what", choices=("events", "result", "problem", "settings"), help=what)
    parser.set_defaults(command=schema)


def schema(chosen: argparse.Namespace) -> int:
    """Print the JSON Schema of something that this program writes or reads."""
    from tui_tuner.app.inventory import schema_of

    tell(json.dumps(schema_of(chosen.what), indent=2))
    return ExitCode.FINISHED


def add_help(parser: argparse.ArgumentParser) -> None:
    """The options of explaining a command."""
    parser.add_argument("topic", nargs="?", metavar="COMMAND", help="which; without one the whole program")
    parser.set_defaults(command=explain)


def explain(chosen: argparse.Namespace) -> int:
    """Print the help of a command.

    Raises:
        SettingsError: there is no such command.
    """
    name = chosen.topic or TUNE.name
    if name != TUNE.name and name not in COMMANDS_BY_NAME:
        raise SettingsError(f"there is no command '{name}'", hint=suggestion(name, COMMANDS_BY_NAME, "commands"))
    CommandLine().parser(name).print_help()
    return ExitCode.FINISHED
