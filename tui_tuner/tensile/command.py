"""The command `tensile`: a model edits a Tensile configuration."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tui_tuner.cli.options import add_front_end, add_limits, changed, given_of
from tui_tuner.cli.parsers import tell
from tui_tuner.commands.check import check_front_end
from tui_tuner.commands.front_ends import show
from tui_tuner.errors import SettingsError
from tui_tuner.headless import ExitCode
from tui_tuner.settings import Settings, load_settings
from tui_tuner.tensile.advice import write_advice
from tui_tuner.tensile.options import TensileOptions
from tui_tuner.tensile.sessions import given_in, new_tensile_session, options_of


def run_tensile_command(chosen: argparse.Namespace) -> int:
    """Edit a benchmark configuration and let Tensile measure it, or write advice."""
    settings = load_settings()
    file, sizes = _named(chosen)
    if chosen.advice is None:
        check_front_end(settings, auto=chosen.auto, output=chosen.output)
    options, tensile = changed(settings.session, chosen, rounds=False), _changed(settings, chosen)
    given = given_in(file, sizes)
    if chosen.advice is None:
        prepared = new_tensile_session(given, options, tensile, settings, chosen.run_dir)
        return show(prepared, settings, auto=chosen.auto, json=chosen.output == "json", theme=chosen.theme)
    edited = chosen.edited or file.with_name(f"{file.stem}.edited{file.suffix}")
    lines = write_advice(
        given, options, tensile, settings, advice_file=chosen.advice, edited_file=edited, results=chosen.results
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


def add_tensile(parser: argparse.ArgumentParser) -> None:
    """Its options, and what carries it out."""
    parser.set_defaults(command=run_tensile_command)
    parser.add_argument("config", type=Path, nargs="?", metavar="CONFIG", help="a benchmark configuration, YAML")
    parser.add_argument(
        "sizes", type=Path, nargs="?", metavar="SIZES", help="list of problem sizes, with the alternate format"
    )
    parser.add_argument("--llm", metavar="PROVIDER[:MODEL]", help="auto (default), ollama, openai, anthropic, ...")
    parser.add_argument("--temperature", type=float, metavar="T", help="of the model's replies")
    parser.add_argument("--run-dir", type=Path, metavar="DIR", help="where the run goes")
    _add_own(parser)
    advice = parser.add_argument_group("advice without measuring")
    advice.add_argument("--advice", type=Path, metavar="FILE", help="write advice there and measure nothing")
    advice.add_argument("-i", "--input", type=Path, metavar="CONFIG", help="the configuration, as an option")
    advice.add_argument(
        "-o", "--edited", type=Path, metavar="FILE", help="the edited configuration (default CONFIG.edited.yaml)"
    )
    advice.add_argument("--results", type=Path, metavar="DIR", help="Tensile's output of an earlier run of CONFIG")
    add_limits(parser)
    add_front_end(parser)


def _add_own(parser: argparse.ArgumentParser) -> None:
    """A flag for every setting of `[tensile]`."""
    group = parser.add_argument_group("rounds and runs")
    for name, field in TensileOptions.model_fields.items():
        flag = f"--{name.replace('_', '-')}"
        words = str(field.description)
        if field.annotation is bool:
            group.add_argument(flag, action=argparse.BooleanOptionalAction, help=f"{words} (default {field.default})")
        else:
            default = "" if field.default is None else f" (default {field.default})"
            group.add_argument(flag, metavar="VALUE", help=f"{words}{default}")


def _changed(settings: Settings, chosen: argparse.Namespace) -> TensileOptions:
    """The settings with those of the command line over them.

    Raises:
        SettingsError: a value is out of its range.
    """
    values: dict[str, Any] = {**options_of(settings).model_dump(), **given_of(TensileOptions.model_fields, chosen)}
    try:
        return TensileOptions.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        flag = f"--{str(first['loc'][-1]).replace('_', '-')}"
        raise SettingsError(f"{flag}: {first['msg'].lower()}, it is {first['input']}") from error
