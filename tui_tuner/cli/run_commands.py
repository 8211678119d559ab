"""The commands on a run: that watch it, and that give out what it found, in words, as a kernel or as data."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tui_tuner.errors import ExitCode, SettingsError, writing
from tui_tuner.journal.reading import RUNS, header_of
from tui_tuner.text import say, tell

if TYPE_CHECKING:
    from tui_tuner.exports import ToldRun


def add_run(parser: argparse.ArgumentParser) -> None:
    """Which run is meant."""
    parser.add_argument("run", type=Path, nargs="?", metavar="RUN", help="the run's directory")
    parser.add_argument("--last", action="store_true", help=f"the run in {RUNS} that was last at work instead of RUN")


def run_of(chosen: argparse.Namespace, *, to_resume: bool = False) -> Path:
    """The run that is meant; `to_resume` is as of `last_run`.

    Raises:
        SettingsError: none is named, or two are.
        JournalError: there is none.
    """
    from tui_tuner.journal.runs import last_run

    if chosen.last == (chosen.run is not None):
        raise SettingsError("name a RUN, or --last for the one last at work", hint="`tuner-tui runs` lists them")
    run: Path = last_run(RUNS, to_resume=to_resume) if chosen.last else chosen.run
    return run


def add_attach(parser: argparse.ArgumentParser) -> None:
    """The options of watching a run on the screen."""
    add_run(parser)
    parser.add_argument("--theme", metavar="NAME", help="theme of the screen")
    parser.set_defaults(command=attach)


async def attach(chosen: argparse.Namespace) -> int:
    """Watch a run, and answer its questions.

    Raises:
        UserError: nobody drives it, or there is no terminal.
    """
    from tui_tuner.app.showing import FrontEnd, attach

    run = run_of(chosen)
    header_of(run)  # as for a replay
    FrontEnd(auto=False).check("`tuner-tui watch` prints lines")
    return await attach(run, chosen.theme)


def add_watch(parser: argparse.ArgumentParser) -> None:
    """The options of printing a run as it comes."""
    add_run(parser)
    parser.add_argument("--output", choices=("text", "json"), help="default text")
    parser.add_argument("--answer", action="store_true", help="put its questions to you, a line each")
    parser.set_defaults(command=watch)


async def watch(chosen: argparse.Namespace) -> int:
    """Print a run as it comes.

    Raises:
        UserError: nobody drives it.
    """
    from tui_tuner.app.attaching import watch

    return await watch(run_of(chosen), json=chosen.output == "json", answer=chosen.answer)


async def _told(chosen: argparse.Namespace) -> ToldRun:
    from tui_tuner.exports import told_run

    return await told_run(run_of(chosen))


def add_show(parser: argparse.ArgumentParser) -> None:
    """The options of telling a run."""
    add_run(parser)
    parser.set_defaults(command=show)


async def show(chosen: argparse.Namespace) -> int:
    """Say what a run tried and found."""
    from tui_tuner.exports import summary_lines

    for line in summary_lines(await _told(chosen)):
        tell(line)
    return ExitCode.FINISHED


_KINDS = ("kernel", "problem", "header", "patch", "configuration")


def add_best(parser: argparse.ArgumentParser) -> None:
    """The options of giving out the best."""
    add_run(parser)
    what = (
        "the tuned kernel (default), its problem file, a C++ header with launch parameters, a patch, or values as JSON"
    )
    parser.add_argument("--as", choices=_KINDS, dest="kind", default="kernel", help=what)
    parser.add_argument("--apply", action="store_true", help="show the patch, and write it into your files")
    parser.set_defaults(command=best)


async def best(chosen: argparse.Namespace) -> int:
    """Print the best that a run found, ready to use; with `--apply` put it where the kernel is."""
    from tui_tuner.exports.patch import apply_patch, patch_text

    told = await _told(chosen)
    if chosen.apply:
        _print(patch_text(told))
        for line in apply_patch(told):
            say(line)
        return ExitCode.FINISHED
    _print(_best_as(chosen.kind, told))
    return ExitCode.FINISHED


def _best_as(kind: str, told: ToldRun) -> str:
    """The best as one of the kinds.

    Raises:
        UserError: this run's has no such form.
    """
    from tui_tuner.exports.launch_header import launch_header
    from tui_tuner.exports.patch import patch_text
    from tui_tuner.report import best_problem_text, best_text, measured_lines

    values, kernel = told.outcome.best.configuration, told.best
    if kind == "header" and not told.problem.is_compiled:
        raise SettingsError("a header is for kernels that host code launches", hint="take --as configuration")
    match kind:
        case "problem":
            return best_problem_text(told.run.path, told.run.problem, told.run.problem_text, kernel, values)
        case "header":
            comment = [*measured_lines(told.run.problem, kernel, told.outcome)]
            return launch_header(kernel, values, told.problem.sizes, comment)
        case "patch":
            return patch_text(told)
        case "configuration":
            return json.dumps(values, indent=2) + "\n"
    if not kernel.source:
        raise SettingsError("a recording has no kernel's source", hint="take --as configuration")
    return best_text(told.run.problem, kernel, told.outcome)


def add_export(parser: argparse.ArgumentParser) -> None:
    """The options of giving out all that was measured."""
    add_run(parser)
    formats = "csv (default, all kernels), cache (a cache file of kernel_tuner), t4 (its results format)"
    parser.add_argument("--as", choices=("csv", "cache", "t4"), dest="kind", default="csv", help=formats)
    only = "id of the kernel whose evaluations are meant (default the best); show lists them"
    parser.add_argument("--kernel", metavar="ID", help=only)
    parser.set_defaults(command=export)


async def export(chosen: argparse.Namespace) -> int:
    """Print all that a run measured, for other programs.

    Raises:
        SettingsError: there is no such kernel.
    """
    from tui_tuner.exports.measurements import cache_file, csv_file, t4_file
    from tui_tuner.text import suggestion

    told = await _told(chosen)
    if chosen.kernel is not None and chosen.kernel not in told.candidates:
        hint = suggestion(chosen.kernel, told.candidates, "kernels")
        raise SettingsError(f"the run has no kernel '{chosen.kernel}'", hint=hint)
    kernel = told.best if chosen.kernel is None else told.candidates[chosen.kernel]
    makers = {
        "csv": lambda: csv_file(told),
        "cache": lambda: cache_file(told, kernel),
        "t4": lambda: t4_file(told, kernel),
    }
    _print(makers[chosen.kind]())
    return ExitCode.FINISHED


def add_report(parser: argparse.ArgumentParser) -> None:
    """The options of writing a report."""
    add_run(parser)
    forms = "html (default, one file with plots), markdown (for a pull request)"
    parser.add_argument("--as", choices=("html", "markdown"), dest="kind", default="html", help=forms)
    to = "where it goes: default report.html in the run's directory, and standard output for markdown"
    parser.add_argument("--to", type=Path, metavar="FILE", help=to)
    parser.set_defaults(command=report)


async def report(chosen: argparse.Namespace) -> int:
    """Write what a run tried and found, how it was verified and where.

    Raises:
        SettingsError: the file cannot be written.
    """
    from tui_tuner.exports.blocks import as_html, as_markdown
    from tui_tuner.exports.run_report import report_blocks, report_title
    from tui_tuner.resources import write_whole

    told = await _told(chosen)
    is_html = chosen.kind == "html"
    write = as_html if is_html else as_markdown
    text = write(report_title(told), report_blocks(told, pictures=is_html))
    file = chosen.to or (told.run.path / "report.html" if is_html else None)
    if file is None:
        _print(text)
        return ExitCode.FINISHED
    with writing(file, "name another with --to"):
        write_whole(file, text)
    tell(f"wrote {file}")
    return ExitCode.FINISHED


def _print(text: str) -> None:
    """Data as it is, for a file: nothing of it is changed for a terminal's sake."""
    sys.stdout.write(text)
    sys.stdout.flush()
