"""Themes from TOML files: checked before Textual sees them, so that a mistake names its place."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import platformdirs
from textual.app import App
from textual.color import Color, ColorParseError
from textual.theme import Theme

from tui_tuner.errors import SettingsError
from tui_tuner.resources import APPLICATION, themes_directory
from tui_tuner.text import suggestion

DEFAULT_THEME = "tuner-dark"
OF_THE_TERMINAL = "ansi-dark"
"""The default where there are 16 colours: the nearest of them to those of another theme are mostly the same grey."""

_FIELDS = {entry.name for entry in fields(Theme)}
_FLAGS = {"dark", "ansi"}
_NUMBERS = {"luminosity_spread", "text_alpha"}
_COLOURS = _FIELDS - _FLAGS - _NUMBERS - {"name", "variables"}
_VARIABLES = frozenset(Theme("any", primary="#000000").to_color_system().generate())
_TEXT_STYLE = re.compile(r"none|((not )?(b|bold|dim|i|italic|u|underline|reverse|strike)( |$))+")
_OPACITY = re.compile(r"\s+\d{1,3}(\.\d+)?%$")


@dataclass(frozen=True)
class Catalogue:
    """The themes that can be used, and what is wrong with the others."""

    themes: dict[str, Theme] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def theme_directories() -> list[Path]:
    """Where themes are looked for; the user's come last and win."""
    return [themes_directory(), platformdirs.user_config_path(APPLICATION) / "themes"]


def load_themes(directories: Iterable[Path]) -> Catalogue:
    """Read every `*.toml` of the directories; a faulty file is left out and its fault noted."""
    catalogue = Catalogue()
    for directory in directories:
        for file in sorted(directory.glob("*.toml")):
            try:
                theme = load_theme(file)
            except SettingsError as error:
                catalogue.faults.append(str(error))
            else:
                catalogue.themes[theme.name] = theme
    return catalogue


def load_theme(file: Path) -> Theme:
    """Read one theme; without `name` it is called like its file.

    Raises:
        SettingsError: the file cannot be read, or a key or value in it cannot be used.
    """
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"cannot be read: {error}", file=file) from error
    table.setdefault("name", file.stem)
    if "primary" not in table:
        raise SettingsError("the key 'primary' is missing", file=file)
    for key, value in table.items():
        _check(key, value, file)
    return Theme(**table)


def _check(key: str, value: Any, file: Path) -> None:  # noqa: ANN401  # whatever TOML holds
    if key not in _FIELDS:
        raise SettingsError(f"unknown key '{key}'", hint=suggestion(key, _FIELDS, "keys"), file=file)
    if key in _COLOURS:
        _check_colour(key, value, file)
    elif key == "variables":
        if not isinstance(value, dict):
            raise _bad(key, value, "a table", file)
        _check_variables(value, file)
    elif key in _FLAGS and not isinstance(value, bool):
        raise _bad(key, value, "true or false", file)
    elif key in _NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1):
        raise _bad(key, value, "a number from 0 to 1", file)
    elif key == "name" and not (isinstance(value, str) and value):
        raise _bad(key, value, "a name", file)


def _check_variables(variables: Mapping[str, Any], file: Path) -> None:
    for key, value in variables.items():
        if key not in _VARIABLES:
            raise SettingsError(f"unknown variable '{key}'", hint=suggestion(key, _VARIABLES), file=file)
        if key.endswith("-style"):
            if not isinstance(value, str) or _TEXT_STYLE.fullmatch(value) is None:
                raise _bad(key, value, "a text style such as 'bold' or 'none'", file)
        else:
            _check_colour(key, value, file)


def _check_colour(key: str, value: Any, file: Path) -> None:  # noqa: ANN401  # whatever TOML holds
    try:
        Color.parse(_OPACITY.sub("", value))
    except (ColorParseError, TypeError) as error:
        raise _bad(key, value, "a colour such as '#4ebf71' or 'ansi_green'", file) from error


def _bad(key: str, value: Any, wanted: str, file: Path) -> SettingsError:  # noqa: ANN401  # whatever TOML holds
    return SettingsError(f"'{key}' is {value!r}, but must be {wanted}", file=file)


def has_few_colours(app: App[Any]) -> bool:
    """Whether the terminal has 16 at most."""
    return app.console.color_system == "standard"


def tints(app: App[Any]) -> bool:
    """Whether what is changed may have a background of its own: a terminal's own colours are too strong for one."""
    return not (app.current_theme.ansi or has_few_colours(app))


def chosen_theme(
    wanted: str | None, environment: Mapping[str, str], known: Iterable[str], *, few_colours: bool = False
) -> tuple[str, str | None]:
    """The theme to start with and what was wrong with the wish, if anything.

    Args:
        wanted: from the command line or the settings; else TEXTUAL_THEME counts, which may list several.
        few_colours: see `has_few_colours`.
    """
    default = OF_THE_TERMINAL if few_colours else DEFAULT_THEME
    names = set(known)
    if wanted is not None:
        if wanted in names:
            return wanted, None
        return default, f"there is no theme '{wanted}': {suggestion(wanted, sorted(names), 'themes')}"
    listed = [name.strip() for name in environment.get("TEXTUAL_THEME", "").split(",")]
    return next((name for name in listed if name in names), default), None


def use_themes(app: App[Any], wanted: str | None, environment: Mapping[str, str]) -> None:
    """Let an app that is about to begin have all themes and the wanted one; faults are told in one toast."""
    catalogue = load_themes(theme_directories())
    for theme in catalogue.themes.values():
        app.register_theme(theme)
    name, fault = chosen_theme(wanted, environment, app.available_themes, few_colours=has_few_colours(app))
    theme = app.available_themes[name]
    if theme.dark and app.current_theme.dark and not theme.ansi:  # else more than colours of the styles hang on it
        app.set_reactive(App.theme, name)
        app.stylesheet.set_variables(app.get_css_variables())  # before the first styles; `theme = ` makes all anew
    else:
        app.theme = name
    faults = [*catalogue.faults, *([fault] if fault else [])]
    if faults:
        told = "\n".join(faults)
        app.call_later(lambda: app.notify(told, title="Themes", severity="warning", markup=False))
