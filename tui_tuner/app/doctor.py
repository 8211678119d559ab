"""`tuner-tui doctor`: what this machine offers, and what is missing for more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from tui_tuner.errors import UserError
from tui_tuner.evaluate.devices.probe import probe_devices
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.llm.choose import choose
from tui_tuner.resources import settings_file
from tui_tuner.settings import Settings
from tui_tuner.tensile.running.find import find_tensile


async def findings(settings: Settings) -> AsyncIterator[tuple[str, str]]:
    """What is looked at and what was found, a line each."""
    file = settings_file()
    yield "settings", str(file) if file.exists() else f"none ({file})"
    yield "sandbox", (await Policy().prove()).line
    for line in (await probe_devices()).lines():
        yield "device", line
    async for finding in _models(settings):
        yield finding
    yield "tensile", await asyncio.to_thread(_tensile, settings)


def _tensile(settings: Settings) -> str:
    try:
        found = find_tensile(settings.table("tensile").tensile)
    except UserError as error:
        return error.message
    return f"{found.program}{f', version {found.version}' if found.version else ''}"


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
