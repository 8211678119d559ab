"""Themes from TOML files, checked before Textual sees them, and the colours of kernel source."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import platformdirs
import tree_sitter_c
import tree_sitter_cpp
import tree_sitter_cuda
from rich.style import Style
from textual.color import Color, ColorParseError
from textual.theme import Theme
from textual.widgets import TextArea
from textual.widgets.text_area import TextAreaTheme
from tree_sitter import Language as Grammar

from tui_tuner.errors import SettingsError
from tui_tuner.resources import themes_directory
from tui_tuner.text import suggestion

DEFAULT_THEME = "tuner-dark"

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
    return [themes_directory(), platformdirs.user_config_path("tuner-tui") / "themes"]


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


def chosen_theme(wanted: str | None, environment: Mapping[str, str], known: Iterable[str]) -> tuple[str, str | None]:
    """The theme to start with and what was wrong with the wish, if anything.

    Args:
        wanted: from the command line or the settings; else TEXTUAL_THEME counts, which may list several.
    """
    names = set(known)
    if wanted is not None:
        if wanted in names:
            return wanted, None
        return DEFAULT_THEME, f"there is no theme '{wanted}': {suggestion(wanted, sorted(names), 'themes')}"
    listed = [name.strip() for name in environment.get("TEXTUAL_THEME", "").split(",")]
    return next((name for name in listed if name in names), DEFAULT_THEME), None


_MEMORY_SPACES = """
["__shared__" "__constant__" "__restrict__" "__grid_constant__"] @keyword.modifier
"""

_OPENCL_WORDS = r"""
((identifier) @keyword.modifier
  (#match? @keyword.modifier "^(__)?(kernel|global|local|constant|private|restrict|read_only|write_only)$"))
((type_identifier) @keyword.modifier
  (#match? @keyword.modifier "^(__)?(kernel|global|local|constant|private|restrict|read_only|write_only)$"))
((identifier) @type
  (#match? @type "^(void|half|(u?(char|short|int|long)|float|double)(2|3|4|8|16)?)$"))
"""

_STYLES = {
    "comment": ("text-muted", "italic"),
    "keyword": ("text-accent", ""),
    "keyword.modifier": ("text-accent", "bold"),
    "type": ("text-secondary", "bold"),
    "function": ("text-primary", "bold"),
    "function.special": ("text-primary", ""),
    "number": ("text-warning", ""),
    "constant": ("text-warning", ""),
    "string": ("text-success", ""),
    "label": ("text-error", ""),
    "variable.builtin": ("text-accent", "italic"),
}

PYGMENTS_NAMES = {"cuda": "cuda", "opencl": "c", "c": "cpp", "yaml": "yaml"}
"""The lexer for each language of a source."""
_WITHOUT_GRAMMAR = frozenset({"yaml"})


@cache
def _grammar(language: str) -> tuple[Grammar, str]:
    """Grammar and query of a problem's language; the CUDA query builds on C's and C++'s without naming them."""
    c, cpp = tree_sitter_c.HIGHLIGHTS_QUERY, tree_sitter_cpp.HIGHLIGHTS_QUERY
    if language == "cuda":
        own = (files("tree_sitter_cuda") / "queries" / "highlights.scm").read_text()
        return Grammar(tree_sitter_cuda.language()), c + cpp + own + _MEMORY_SPACES
    if language == "opencl":
        return Grammar(tree_sitter_c.language()), c + _OPENCL_WORDS
    return Grammar(tree_sitter_cpp.language()), c + cpp


def _colour(text: str, background: str) -> Color:
    """A theme's colour as one that Rich can draw; `auto` contrasts with the background."""
    back = Color.parse(background)
    if text.startswith("auto"):
        strength = float(text.removeprefix("auto").strip().rstrip("%") or 100) / 100
        return back.blend(back.get_contrast_text(1.0), strength)
    name, _, opacity = text.partition(" ")
    colour = Color.parse(name)
    if opacity and colour.ansi is None:
        return back.blend(colour, float(opacity.rstrip("%")) / 100)
    return colour


def _theme(name: str, variables: dict[str, str]) -> TextAreaTheme:
    styles = {}
    for capture, (variable, attributes) in _STYLES.items():
        try:
            colour = _colour(variables[variable], variables["surface"]).rich_color
        except (KeyError, ColorParseError):
            continue
        styles[capture] = Style(color=colour, bold="bold" in attributes, italic="italic" in attributes)
    return TextAreaTheme(name, syntax_styles=styles)


def apply_language(area: TextArea, language: str) -> None:
    """Highlight a text area as cuda, opencl or c; a language without a grammar stays plain."""
    if language in _WITHOUT_GRAMMAR:
        area.language = None
        return
    if language not in area.available_languages:
        grammar, query = _grammar(language)
        area.register_language(language, grammar, query)
    if area.language != language:  # setting it compiles the query, tens of ms
        area.language = language


def apply_theme(area: TextArea) -> None:
    """Give a text area colours derived from the app's present theme."""
    name = f"kernel-{area.app.theme}"
    if name not in area.available_themes:
        area.register_theme(_theme(name, area.app.theme_variables))
    area.theme = name
