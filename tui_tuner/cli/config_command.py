"""The command `config`: settings printed, set, and projects trusted with them."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui_tuner.cli import CommandLine
from tui_tuner.cli.flags import name_and_value
from tui_tuner.errors import ExitCode, SettingsError
from tui_tuner.options import Option
from tui_tuner.resources import DEFAULT_SETTINGS, VARIABLES, project_file, settings_file
from tui_tuner.subjects import loaded, subjects_with_settings
from tui_tuner.text import tell

if TYPE_CHECKING:
    from tui_tuner.settings import Layered

_SESSION = "session."


def add_config(parser: argparse.ArgumentParser) -> None:
    """The options of printing and of changing settings."""
    words = "`set KEY VALUE`, `trust [DIR]`, or a command whose settings are printed, as in: kernel.cu"
    parser.add_argument("words", nargs="*", metavar="WORD", help=words)
    project = "with set: in the file of the project in DIR (default: here), and not in your own"
    parser.add_argument("--project", type=_project, nargs="?", const=Path(), metavar="DIR", help=project)
    parser.epilog = (
        "options of a command stand behind --, as in: tuner-tui config -- kernel.cu --device cuda."
        " `trust` lets the projects in a directory set everything, also what runs programs"
    )
    parser.set_defaults(command=config)


def _project(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"'{text}' is no directory; write --project last, or --project=DIR")
    return Path(text)


def config(chosen: argparse.Namespace) -> int:
    """Print the settings in force with where each is set; where none is, without the models that check them.

    Raises:
        SettingsError: a value cannot be, or cannot be kept.
    """
    words: list[str] = chosen.words
    if words[:1] == ["set"] and len(words) == 3:
        from tui_tuner.settings import save_settings

        name, value = name_and_value(f"{words[1]}={words[2]}")
        _check_name(name.removeprefix(_SESSION), value)
        tell(f"wrote {save_settings({name: value}, chosen.project)}")
    elif words[:1] in (["set"], ["trust"]) and (words[0] == "set" or len(words) > 2):
        chosen.parser.error("write `config set KEY VALUE`, or `config trust [DIR]`")
    elif chosen.project is not None:
        chosen.parser.error("--project is for `config set`; `config DIR/KERNEL` prints what holds there")
    elif words[:1] == ["trust"]:
        _trust(Path(words[1] if len(words) == 2 else "."))
    else:
        _print_settings(words)
    return ExitCode.FINISHED


def _trust(directory: Path) -> None:
    from tui_tuner.settings import load_settings, save_settings

    if not directory.is_dir():
        raise SettingsError("there is no such directory", hint="name that of a project", file=directory)
    trusted = [str(place) for place in load_settings().projects.trusted]
    place = str(directory.resolve())
    tell(f"trusted from now on: {place}, in {save_settings({'projects.trusted': [*dict.fromkeys([*trusted, place])]})}")


def _print_settings(words: Sequence[str]) -> None:
    """The settings of a command, or of what is tuned here."""
    chosen = CommandLine().parse(words) if words else argparse.Namespace()
    beside = next((path for name in ("kernel", "directory", "config") if (path := getattr(chosen, name, None))), Path())
    own, project = settings_file(), project_file(beside)
    is_variable_set = any(name.startswith(VARIABLES) and name != f"{VARIABLES}CONFIG" for name in os.environ)
    text = default_settings_text()
    if words or own.exists() or project.exists() or is_variable_set:
        from tui_tuner.cli.flags import told_by
        from tui_tuner.settings import layered_settings, settings_text

        layered = layered_settings(own, beside=beside, told=told_by(chosen))
        _check_names(layered)
        text = settings_text(layered.settings, layered.origin)
    tell(f"# {own}{'' if own.exists() else ' (is not there: the defaults)'}")
    if project.exists():
        tell(f"# {project}")
    tell(f"\n{text}")


def default_settings_text() -> str:
    """What `tuner-tui config` prints without a settings file: the tables of kernels, then one a subject."""
    tables = [DEFAULT_SETTINGS.read_text(encoding="utf-8")]
    for name, subject in subjects_with_settings().items():
        tables.append("\n".join([f"[{name}]", *_option_lines(loaded(subject.options)), ""]))
    return "\n".join(tables)


def _option_lines(options: Iterable[Option]) -> Iterator[str]:
    for option in options:
        if option.default is None:
            yield f"# {option.name} is not set"
        else:
            yield f"{option.name} = {json.dumps(option.default)}"


def _check_names(layered: Layered) -> None:
    """Refuse the name of a provider, a search method or a strategy that nothing has; a session would do so too.

    Raises:
        SettingsError: with the place where it is set.
    """
    for key in ("llm", "search", "strategy"):
        if layered.origin(("session", key)) is not None:
            try:
                _check_name(key, getattr(layered.settings.session, key))
            except SettingsError as error:
                raise layered.fault(error.message, ("session", key), error.hint) from error


def _check_name(key: str, name: object) -> None:
    """Refuse a value of a key that names what nothing is called.

    Raises:
        SettingsError: with the key.
    """
    try:
        match key, name:
            case "llm", str():
                from tui_tuner.llm.choose import parse_spec

                parse_spec(name)
            case "search", str():
                from tui_tuner.search import MODEL_METHODS, method_named

                if name not in MODEL_METHODS:
                    method_named(name)
            case "strategy", str():
                from tui_tuner.strategies.choose import names_file, strategy_named

                if not names_file(name):
                    strategy_named(name)
    except SettingsError as error:
        raise SettingsError(f"{_SESSION}{key}: {error.message}", hint=error.hint) from error
