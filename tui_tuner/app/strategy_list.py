"""`tuner-tui strategy list`: which strategies there are, with their options."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Iterator
from typing import Any

import tomlkit
from pydantic_core import PydanticSerializationError

from tui_tuner.errors import SettingsError
from tui_tuner.strategies.base import Strategy
from tui_tuner.strategies.choose import all_strategies

_INDENT = " " * 2


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
