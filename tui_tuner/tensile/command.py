"""The command `tensile`: a model edits a Tensile configuration."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tui_tuner.cli.parsers import (
    add_front_end,
    add_limits,
    add_model,
    add_options,
    changed,
    front_end_of,
    given_of,
    refused,
    tell,
)
from tui_tuner.errors import ExitCode, SettingsError
from tui_tuner.tensile import TENSILE_OPTIONS

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tui_tuner.app.showing import SessionSetup
    from tui_tuner.tensile.run_directory import TensileOptions


def add_tensile(parser: argparse.ArgumentParser) -> None:
    """The options of a Tensile session."""
    config = "a benchmark configuration, YAML"
    parser.add_argument("config", type=Path, nargs="?", metavar="CONFIG", help=config)
    sizes = "list of problem sizes, with the alternate format"
    parser.add_argument("sizes", type=Path, nargs="?", metavar="SIZES", help=sizes)
    add_model(parser)
    parser.add_argument("--run-dir", type=Path, metavar="DIR", help="where the run goes")
    add_options(parser.add_argument_group("rounds and runs"), TENSILE_OPTIONS)
    advice = parser.add_argument_group("advice without measuring")
    advice.add_argument("--advice", type=Path, metavar="FILE", help="write advice there and measure nothing")
    advice.add_argument("-i", "--input", type=Path, metavar="CONFIG", help="the configuration, as an option")
    edited = "the edited configuration (default CONFIG.edited.yaml)"
    advice.add_argument("-o", "--edited", type=Path, metavar="FILE", help=edited)
    advice.add_argument("--results", type=Path, metavar="DIR", help="Tensile's output of an earlier run of CONFIG")
    add_limits(parser)
    add_front_end(parser)
    parser.set_defaults(command=tensile)


async def tensile(chosen: argparse.Namespace) -> int:
    """Edit a benchmark configuration and let Tensile measure it, or write advice.

    Raises:
        UserError: something that the user must mend.
    """
    from tui_tuner.app.showing import show

    file, sizes = _named(chosen)
    if chosen.advice is not None:
        return await _advise(chosen, file, sizes)

    async def begin() -> SessionSetup:
        from tui_tuner.settings import load_settings
        from tui_tuner.tensile.sessions import given_in, new_tensile_session

        settings = load_settings()
        options, own = changed(settings.session, chosen, rounds=False), _changed(settings.table("tensile"), chosen)
        return await new_tensile_session(given_in(file, sizes), options, own, settings, chosen.run_dir)

    return await show(begin, front_end_of(chosen), str(file))


async def _advise(chosen: argparse.Namespace, file: Path, sizes: Path | None) -> int:
    """Write advice, and measure nothing."""
    from tui_tuner.settings import load_settings
    from tui_tuner.tensile.advice import write_advice
    from tui_tuner.tensile.sessions import given_in

    settings = load_settings()
    options, own = changed(settings.session, chosen, rounds=False), _changed(settings.table("tensile"), chosen)
    given = given_in(file, sizes)
    edited = chosen.edited or file.with_name(f"{file.stem}.edited{file.suffix}")
    lines = await write_advice(
        given, options, own, settings, advice_file=chosen.advice, edited_file=edited, results=chosen.results
    )
    for line in lines:
        tell(line)
    return ExitCode.FINISHED


def _named(chosen: argparse.Namespace) -> tuple[Path, Path | None]:
    """Configuration and sizes; with -i what stands without an option is the sizes.

    Raises:
        SettingsError: no configuration is named, or two are, or there are options of advice without it.
    """
    named = [file for file in (chosen.input, chosen.config, chosen.sizes) if file is not None]
    if not named:
        raise SettingsError("no configuration is named", hint="tuner-tui tensile CONFIG.yaml")
    if len(named) > 2:
        raise SettingsError("the configuration is named twice", hint=f"leave {chosen.input} or {chosen.config} out")
    for flag, value in (("-o", chosen.edited), ("--results", chosen.results)):
        if value is not None and chosen.advice is None:
            raise SettingsError(f"{flag} goes with --advice FILE", hint=f"leave {flag} out, or add --advice FILE")
    return named[0], named[1] if len(named) > 1 else None


def _changed(settings: BaseModel, chosen: argparse.Namespace) -> TensileOptions:
    """The settings with those of the command line over them.

    Raises:
        SettingsError: a value is out of its range.
    """
    from pydantic import ValidationError

    from tui_tuner.tensile.run_directory import TensileOptions

    values = {**settings.model_dump(), **given_of((option.name for option in TENSILE_OPTIONS), chosen)}
    try:
        return TensileOptions.model_validate(values)
    except ValidationError as error:
        raise refused(error) from error
