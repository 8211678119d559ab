"""`tuner-tui strategy`: a first file for a strategy of the user's own, and which strategies there are."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import tomlkit
from pydantic_core import PydanticSerializationError

from tui_tuner.errors import SettingsError
from tui_tuner.strategies.base import Strategy
from tui_tuner.strategies.choose import all_strategies

FILE = Path("my_strategy.py")
"""Where the template goes, in the current directory, unless the user names another file."""
CLASS = "MyStrategy"
_INDENT = " " * 2


def write_template(file: Path, *, force: bool) -> Path:
    """Write a strategy that runs as it is.

    Raises:
        SettingsError: the file is there already, is no `.py`, or cannot be written.
    """
    if file.suffix != ".py":
        raise SettingsError("a strategy is a Python file", hint=f"write {file.with_suffix('.py')}", file=file)
    if file.exists() and not force:
        raise SettingsError("is there already", hint="add --force to write it anew", file=file)
    text = files("tui_tuner.strategies").joinpath("template.py").read_text(encoding="utf-8")
    try:
        file.write_text(text.replace(str(FILE), str(file)), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"cannot be written: {error.strerror}", file=file) from None
    return file


def strategy_lines() -> Iterator[str]:
    """Name and purpose of each strategy, and its options with their defaults."""
    for name, found in all_strategies():
        if isinstance(found, SettingsError):
            yield f"{name}: {found.message}"
            continue
        yield f"{name}: {(inspect.getdoc(found) or 'no description').splitlines()[0]}"
        yield from (f"{_INDENT}--set {option}" for option in _options(found))


def _options(strategy: type[Strategy]) -> Iterator[str]:
    """Each option with its default, as `--set` takes it."""
    needed = {name for name, field in strategy.model_fields.items() if field.is_required()}
    try:
        defaults = strategy.model_construct().model_dump(mode="json", exclude=needed)
    except PydanticSerializationError:  # an option that only Python can set
        defaults = {}
    for name in strategy.model_fields:
        value = defaults.get(name)
        if value is None:
            yield f"{name}=...{', needed' if name in needed else ''}"
        else:
            yield shlex.quote(f"{name}={_toml(value)}")


def _toml(value: Any) -> str:  # noqa: ANN401 (whatever an option holds)
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update(value)
        return table.as_string()
    return str(tomlkit.item(value).as_string())
