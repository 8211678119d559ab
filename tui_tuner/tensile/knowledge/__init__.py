"""What is known of Tensile without running it: all of it data, in files of this package and of the user's."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

import tomli
from pydantic import BaseModel, ConfigDict, ValidationError

from tui_tuner.errors import SettingsError
from tui_tuner.problem.toml_file import key_lines, line_of
from tui_tuner.text import suggestion

Content = TypeVar("Content", bound=BaseModel)


class KnowledgeTable(BaseModel):
    """A table of a file of knowledge: every key is known, nothing changes it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@cache
def shipped(name: str, model: type[Content]) -> Content:
    """The content of a file of this package, as in `valid_values/tensile.toml`."""
    text = files("tui_tuner.tensile.knowledge").joinpath(name).read_text(encoding="utf-8")
    return _parsed(text, Path(name), model)


def users_own(file: Path, model: type[Content]) -> Content | None:
    """The content of a user's file, None where there is none.

    Raises:
        SettingsError: it cannot be read, is no TOML, or a key or value in it is wrong; with file, key and line.
    """
    if not file.exists():
        return None
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot be read: {error}", file=file) from error
    return _parsed(text, file, model)


def _parsed(text: str, file: Path, model: type[Content]) -> Content:
    try:
        return model.model_validate(tomli.loads(text))
    except tomli.TOMLDecodeError as error:
        raise SettingsError(f"this is not TOML: {error.msg}", file=file, line=error.lineno) from error
    except ValidationError as error:
        raise _mistake(error, text, file, model) from error


def _mistake(error: ValidationError, text: str, file: Path, model: type[BaseModel]) -> SettingsError:
    first = error.errors(include_url=False)[0]
    lines = key_lines(text)
    path = _path_in_file(first["loc"], lines)
    if first["type"] == "missing" and path != first["loc"]:
        path = (*path, first["loc"][-1])
    message, hint = first["msg"].removeprefix("Value error, "), "docs/tensile-knowledge.md describes the file"
    if first["type"] == "extra_forbidden":
        message = "unknown key"
        if len(path) == 1:
            hint = suggestion(str(path[0]), [*model.model_fields], "keys")
    name = ".".join(map(str, path)) or "the file"
    return SettingsError(f"{name}: {message}", hint=hint, file=file, line=line_of(lines, path))


def _path_in_file(location: tuple[str | int, ...], lines: dict[tuple[str | int, ...], int]) -> tuple[str | int, ...]:
    """The path of a mistake without the names of alternatives that pydantic adds behind a key of the file."""
    for length in range(len(location), 0, -1):
        if location[:length] in lines:
            return location[:length]
    return location[:1]
