"""Where settings come from: the user's file, a project's file, the environment; each knows the place of all it says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import tomli

from tui_tuner.errors import SettingsError
from tui_tuner.format import seconds_of
from tui_tuner.options import flag_of
from tui_tuner.problem.toml_file import TOO_DEEP, TOO_LONG, KeyPath, key_lines, not_toml, toml_value
from tui_tuner.resources import VARIABLES
from tui_tuner.session_options import RoundOptions, SessionOptions
from tui_tuner.settings.models import KEYS_ELSEWHERE, Settings
from tui_tuner.subjects import settings_model, subjects_with_settings
from tui_tuner.text import suggestion

_DEPTH = 3
"""Tables are put over each other so deep: [session.rounds] and [strategies.NAME] key by key, what is below as one."""


class SettingPlace(NamedTuple):
    """Where something is set: in a line of a file, or by a variable or a flag."""

    file: Path | None = None
    line: int | None = None
    name: str = ""

    def __str__(self) -> str:
        return self.name if self.file is None else f"{self.file}:{self.line}" if self.line else str(self.file)


@dataclass(frozen=True)
class Layer:
    """What one source sets.

    Attributes:
        content: tables as of the settings file.
        places: of its keys.
    """

    content: Mapping[str, Any]
    places: Mapping[KeyPath, SettingPlace]

    def place(self, path: Sequence[str | int]) -> SettingPlace:
        """Where a key is set, or the nearest table around it."""
        lengths = range(len(path), -1, -1)
        return next((place for length in lengths if (place := self.places.get(tuple(path[:length])))), SettingPlace())

    def fault(self, message: str, path: KeyPath, hint: str | None) -> SettingsError:
        """The error for a key."""
        place = self.place(path)
        told = f"{place.name}: {message}" if place.name else message
        return SettingsError(told, hint=hint, file=place.file, line=place.line)

    def sets(self, path: Sequence[str]) -> bool:
        """Whether a key is set here."""
        found: Any = self.content
        for name in path:
            if not isinstance(found, Mapping) or name not in found:
                return False
            found = found[name]
        return True

    def leaves(self) -> Iterator[tuple[KeyPath, Any]]:
        """Every key that is set, with its value."""
        yield from _leaves(self.content, ())


def _leaves(table: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[KeyPath, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping) and _is_table((*above, name)):
            yield from _leaves(value, (*above, name))
        else:
            yield (*above, name), value


def _is_table(path: tuple[str, ...]) -> bool:
    """Whether what is there is set key by key, and is no value that happens to have keys."""
    return len(path) < _DEPTH and path[-1] != "strategy_options"


def merged(layers: Sequence[Layer]) -> dict[str, Any]:
    """Layers over each other, the last on top."""
    tables: dict[str, Any] = {}
    for layer in layers:
        for path, value in layer.leaves():
            table = tables
            for name in path[:-1]:
                table = table.setdefault(str(name), {})
            table[str(path[-1])] = value
    return tables


def layer_of_text(text: str, file: Path) -> Layer:
    """What a settings file of this text sets.

    Raises:
        SettingsError: it is not TOML.
    """
    try:
        content = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise SettingsError(not_toml(error, text), file=file, line=error.lineno) from error
    except RecursionError:
        raise SettingsError(TOO_DEEP, file=file) from None
    except ValueError:
        raise SettingsError(TOO_LONG, file=file) from None
    lines = key_lines(text)
    return Layer(content, {(): SettingPlace(file)} | {path: SettingPlace(file, line) for path, line in lines.items()})


def layer_of_file(file: Path) -> Layer:
    """What a settings file sets.

    Raises:
        SettingsError: it cannot be read, or is not TOML.
    """
    try:
        return layer_of_text(file.read_text(encoding="utf-8-sig"), file)
    except UnicodeDecodeError as error:
        raise SettingsError("this is not UTF-8 text", hint="save it as UTF-8", file=file) from error
    except OSError as error:
        raise SettingsError(f"cannot be read: {error.strerror}", file=file) from error


_READ: dict[str, Callable[[str], Any]] = {
    "max_seconds": seconds_of,
    "reply_seconds": seconds_of,
    "target": lambda text: toml_value(text.removesuffix("x")),
}
"""How the words of a variable are read where they are not those of TOML: as those of the flag."""


def variables() -> dict[str, KeyPath]:
    """The key that each variable sets: TUNER_TUI_ and the flag for [session], TABLE_KEY for the other tables."""
    found: dict[str, KeyPath] = {}
    for table, model in (("session", SessionOptions), ("rounds", RoundOptions)):
        above = ("session",) if table == "session" else ("session", "rounds")
        for name in model.model_fields.keys() - {"rounds", "strategy_options"}:
            found[_variable(flag_of(name).removeprefix("--"))] = (*above, name)
    for table in ("model", "memory", "build", "log"):
        for name in Settings.model_fields[table].default.__class__.model_fields:
            found[_variable(f"{table}_{name}")] = (table, name)
    for table in subjects_with_settings():
        for name in settings_model(table).model_fields:
            found[_variable(f"{table}_{name}")] = (table, name)
    return found


def _variable(name: str) -> str:
    return VARIABLES + name.replace("-", "_").upper()


_OTHER = {f"{VARIABLES}CONFIG", f"{VARIABLES}RUN_DIR"}
"""Variables that are no settings."""


def layer_of_environment() -> Layer:
    """What the environment sets; an empty variable sets nothing.

    Raises:
        SettingsError: a variable that looks like one of ours is none, or its value cannot be read.
    """
    given = {name: text for name, text in os.environ.items() if name.startswith(VARIABLES) and text}
    named = given.keys() - _OTHER
    known = variables() if named else {}
    content: dict[str, Any] = {}
    places: dict[KeyPath, SettingPlace] = {}
    for name in sorted(named):
        if name not in known:
            hint = KEYS_ELSEWHERE if name.endswith("API_KEY") else suggestion(name, known, "variables")
            raise SettingsError(f"there is no variable {name}", hint=hint)
        *tables, key = map(str, known[name])
        table = content
        for part in tables:
            table = table.setdefault(part, {})
        try:
            table[key] = _READ.get(key, toml_value)(given[name])
        except ValueError as error:
            raise SettingsError(f"{name}: {error}") from None
        places[known[name]] = SettingPlace(name=name)
    return Layer(content, places)
