"""What there is: devices, sandbox and models of this machine, and the strategies with their options."""

from __future__ import annotations

import asyncio
import inspect
import shlex
from collections.abc import AsyncIterator, Iterator
from typing import Any

import tomlkit
from pydantic_core import PydanticSerializationError

from tui_tuner.errors import SettingsError, UserError
from tui_tuner.evaluate.devices.probe import probe_devices
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.llm.choose import choose
from tui_tuner.resources import settings_file
from tui_tuner.settings import Settings
from tui_tuner.strategies.base import Strategy
from tui_tuner.strategies.choose import all_strategies
from tui_tuner.subjects import loaded, subjects


async def findings(settings: Settings) -> AsyncIterator[tuple[str, str]]:
    """What is looked at and what was found, a line each."""
    file = settings_file()
    yield "settings", str(file) if file.exists() else f"none ({file})"
    yield "sandbox", (await Policy().prove()).line
    for line in (await probe_devices()).lines():
        yield "device", line
    async for finding in _models(settings):
        yield finding
    for subject in subjects().values():
        if subject.findings:
            yield subject.name, await asyncio.to_thread(loaded(subject.findings), settings)


async def _models(settings: Settings) -> AsyncIterator[tuple[str, str]]:
    passed: list[str] = []
    try:
        backend = await choose("auto", settings.model, passed.append)
    except UserError as error:
        yield "model", error.message
        return
    for reason in passed:
        yield "model", f"not {reason}"
    if backend is None:
        yield "model", "none: `tuner-tui` runs the strategy 'search'"
        return
    yield "model", f"{backend.name} answers"
    await backend.aclose()


def strategy_lines() -> Iterator[str]:
    """Name and purpose of each strategy, and its options with their defaults."""
    for name, found in all_strategies():
        if isinstance(found, SettingsError):
            yield f"{name}: {found.message}"
            continue
        yield f"{name}: {(inspect.getdoc(found) or 'no description').splitlines()[0]}"
        yield from (f"  --set {option}" for option in _options(found))


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
