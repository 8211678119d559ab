"""The command `tensile`: a model edits a Tensile configuration."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tui_tuner.cli.flags import (
    add_front_end,
    add_limits,
    add_model,
    add_options,
    changed,
    front_end_of,
    given_of,
    refused,
)
from tui_tuner.errors import ExitCode, SettingsError, writing
from tui_tuner.tensile import TENSILE, TENSILE_OPTIONS
from tui_tuner.text import nearest, tell

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tui_tuner.app.starting import SessionSetup
    from tui_tuner.tensile.run_directory import TensileOptions


_STARTS = 5
"""Starting points that are told of a size."""
_SIZES, _START, _LOGIC, _BENCH = "sizes", "start", "logic", "bench"
"""Words in the place of a configuration: problem sizes of a log, where to start, library logic, libraries compared."""

_WORDS = (_SIZES, _START, _LOGIC, _BENCH)
_OF_WORDS = {"into": _LOGIC, "force": _LOGIC, "before": _BENCH, "after": _BENCH, "client": _BENCH}
"""Options that mean nothing without a word."""


def add_tensile(parser: argparse.ArgumentParser) -> None:
    """The options of a Tensile session."""
    config = (
        f"a benchmark configuration, YAML; or a word: {_SIZES} LOG for problem sizes, "
        f"{_START} CONFIG for starting points, {_LOGIC} RUN for the library "
        f"logic of a run, {_BENCH} RUN to compare libraries at its sizes"
    )
    parser.add_argument("config", type=Path, nargs="?", metavar="CONFIG", help=config)
    sizes = "list of problem sizes, with the alternate format; or what the word is about: a log, a run, a file"
    parser.add_argument("sizes", type=Path, nargs="?", metavar="SIZES", help=sizes)
    add_model(parser)
    parser.add_argument("--run-dir", type=Path, metavar="DIR", help="where the run goes")
    add_options(parser.add_argument_group("rounds and runs"), TENSILE_OPTIONS)
    advice = parser.add_argument_group("advice without measuring")
    told = "write advice there and measure nothing (with -o alone: beside the edited file)"
    advice.add_argument("--advice", type=Path, metavar="FILE", help=told)
    as_option = "the configuration, as an option"
    advice.add_argument("-i", "--input", "--config-file", type=Path, metavar="CONFIG", help=as_option)
    edited = f"the edited configuration (default CONFIG.edited.yaml); with {_SIZES}: what the log says"
    advice.add_argument("-o", "--edited", "--output-file", type=Path, metavar="FILE", help=edited)
    advice.add_argument("--results", type=Path, metavar="DIR", help="Tensile's output of an earlier run of CONFIG")
    library = parser.add_argument_group(f"library logic, with {_LOGIC} and {_BENCH}")
    into = "merge the library logic into this file, whose original is kept beside it (with -o: left as it is)"
    library.add_argument("--into", type=Path, metavar="FILE", help=into)
    forced = "replace sizes also where the new solution is no faster"
    library.add_argument("--force", action="store_true", help=forced)
    for when in ("before", "after"):
        told = f"directory of the library {when} the merge, as ROCBLAS_TENSILE_LIBPATH names it"
        library.add_argument(f"--{when}", type=Path, metavar="DIR", help=told)
    client = "rocblas-bench or hipblaslt-bench; by default that of PATH"
    library.add_argument("--client", type=Path, metavar="PROGRAM", help=client)
    add_limits(parser)
    add_front_end(parser)
    parser.set_defaults(command=tensile)


async def tensile(chosen: argparse.Namespace) -> int:
    """Edit a benchmark configuration and let Tensile measure it, or write advice.

    Raises:
        UserError: something that the user must mend.
    """
    from tui_tuner.app.showing import show

    if chosen.config == Path(_SIZES):
        return _sizes_of_log(chosen)
    if chosen.config == Path(_START):
        return _starting_points(chosen)
    if chosen.config == Path(_LOGIC):
        from tui_tuner.tensile.library.command import logic

        return logic(chosen)
    if chosen.config == Path(_BENCH):
        from tui_tuner.tensile.library.command import bench

        return bench(chosen)
    file, sizes = _named(chosen)
    if chosen.advice is not None or chosen.edited is not None:
        return await _advise(chosen, file, sizes)

    async def begin() -> SessionSetup:
        from tui_tuner.settings import load_settings
        from tui_tuner.tensile.sessions import given_in, new_tensile_session

        settings = load_settings(beside=file)
        options, own = changed(settings.session, chosen, rounds=False), _changed(settings.table("tensile"), chosen)
        return await new_tensile_session(given_in(file, sizes), options, own, settings, chosen.run_dir)

    return await show(begin, front_end_of(chosen), str(file), about=TENSILE)


async def _advise(chosen: argparse.Namespace, file: Path, sizes: Path | None) -> int:
    """Write advice, and measure nothing."""
    from tui_tuner.settings import load_settings
    from tui_tuner.tensile.sessions import given_in, write_advice

    settings = load_settings(beside=file)
    options, own = changed(settings.session, chosen, rounds=False), _changed(settings.table("tensile"), chosen)
    given = given_in(file, sizes)
    edited = chosen.edited or file.with_name(f"{file.stem}.edited{file.suffix}")
    advice = chosen.advice or edited.with_name(f"{edited.stem}.advice.md")
    lines = await write_advice(
        given, options, own, settings, advice_file=advice, edited_file=edited, results=chosen.results
    )
    for line in lines:
        tell(line)
    return ExitCode.FINISHED


def _starting_points(chosen: argparse.Namespace) -> int:
    """Rank tiles and splits for the sizes of a configuration, with nothing built.

    Raises:
        SettingsError: no configuration or no GPU is named, or nothing is known of it.
    """
    from tui_tuner.settings import load_settings
    from tui_tuner.tensile.document.reading import read_configuration
    from tui_tuner.tensile.knowledge.starting_points import starting_facts
    from tui_tuner.tensile.sessions import knowledge_of

    if chosen.sizes is None:
        raise SettingsError("no configuration is named", hint=f"tuner-tui tensile {_START} config.yaml --gpu MI300X")
    settings = load_settings(beside=chosen.sizes)
    own = _changed(settings.table("tensile"), chosen)
    given = read_configuration(chosen.sizes)
    knowledge = knowledge_of(given, own)
    if missing := knowledge.missing_gpu(own.gpu or ""):
        raise SettingsError(missing, hint="a GPU of your own: tensile/gpus.toml beside the settings")
    words = starting_facts(given, knowledge.gpu(own.gpu or ""), knowledge.table, most=_STARTS)
    if not words:
        why = "no size is listed, or the GPU has no matrix instructions (MFMA) for the data type"
        raise SettingsError(f"there is nothing to rank: {why}", hint="name sizes as Exact, and a GPU such as MI300X")
    tell(words)
    return ExitCode.FINISHED


def _sizes_of_log(chosen: argparse.Namespace) -> int:
    """Write the problem sizes that a log names.

    Raises:
        SettingsError: no log is named, it names none, or the file cannot be written.
    """
    from tui_tuner.tensile.problem_logs import configuration_text, left_out, read_problems, summary_lines

    if chosen.sizes is None:
        raise SettingsError("no log is named", hint=f"tuner-tui tensile {_SIZES} LOG -o config.yaml")
    found = read_problems(chosen.sizes)
    text = configuration_text(found, chosen.sizes.name)
    if chosen.edited is None:
        sys.stdout.write(text)
        sys.stderr.writelines(f"{line}\n" for line in left_out(found))
        return ExitCode.FINISHED
    if chosen.edited.exists():
        raise SettingsError(f"{chosen.edited} is there already", hint="name another, or remove it")
    with writing(chosen.edited, "name another"):
        chosen.edited.write_text(text, encoding="utf-8")
    for line in (*summary_lines(found), f"wrote {chosen.edited}"):
        tell(line)
    return ExitCode.FINISHED


def _named(chosen: argparse.Namespace) -> tuple[Path, Path | None]:
    """Configuration and sizes; with -i what stands without an option is the sizes.

    Raises:
        SettingsError: no configuration is named, or two are, or there are options of advice without it.
    """
    named = [file for file in (chosen.input, chosen.config, chosen.sizes) if file is not None]
    for option, word in _OF_WORDS.items():
        if getattr(chosen, option):
            raise SettingsError(f"--{option} goes with the word {word}", hint=f"tuner-tui tensile {word} RUN")
    if not named:
        raise SettingsError(
            "no configuration is named", hint="tuner-tui tensile CONFIG.yaml, or -i CONFIG.yaml -o NEW.yaml"
        )
    if not named[0].exists() and len(named) > 1 and (meant := nearest(str(named[0]), _WORDS)):
        raise SettingsError(f"there is no {named[0]}", hint=f"did you mean tuner-tui tensile {meant} {named[1]}?")
    if len(named) > 2:
        raise SettingsError("the configuration is named twice", hint=f"leave {chosen.input} or {chosen.config} out")
    if chosen.results is not None and chosen.advice is None and chosen.edited is None:
        hint = "leave it out, or name the file for the advice or with -o that for the edited configuration"
        raise SettingsError("--results goes with --advice FILE", hint=hint)
    if chosen.edited is not None and chosen.advice is None and chosen.auto:
        hint = "leave --auto out for advice alone, or -o out for a session, which writes best.yaml"
        raise SettingsError("-o goes with advice, and --auto measures: say which with --advice FILE", hint=hint)
    return named[0], named[1] if len(named) > 1 else None


def _changed(settings: BaseModel, chosen: argparse.Namespace) -> TensileOptions:
    """The settings with those of the command line over them.

    Raises:
        SettingsError: a value is out of its range.
    """
    from pydantic import ValidationError

    from tui_tuner.tensile.run_directory import DEVICES, TensileOptions

    if chosen.devices is not None and not DEVICES.fullmatch(chosen.devices):
        hint = "numbers with commas between them, as in --devices 0,1"
        raise SettingsError(f"--devices names no GPUs by number: {chosen.devices}", hint=hint)
    values = {**settings.model_dump(), **given_of((option.name for option in TENSILE_OPTIONS), chosen)}
    try:
        return TensileOptions.model_validate(values)
    except ValidationError as error:
        raise refused(error) from error
