"""The start screen in a directory of a test, and what it is told there is."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot

from tui_tuner.app import overview
from tui_tuner.tui.start import Found, RunCard, StartWorld
from tui_tuner.tui.start.start_app import StartApp


async def found() -> Found:
    return Found({"device": [("auto", "auto"), ("emulator  g++", "emulator")], "llm": [("auto  model", "auto")]})


async def look() -> StartWorld:
    return replace(await overview.start_world(Path(), overview.files_in(Path())), discover=found)


def start_app(keymap: dict[str, str] | None = None) -> StartApp:
    return StartApp(overview.files_in(Path()), look, keymap=keymap)


def look_at(runs: list[RunCard]) -> Callable[[], Awaitable[StartWorld]]:
    """What finds these runs, and nothing else."""

    async def look() -> StartWorld:
        return StartWorld({}, found, lambda: runs, *[lambda *_: None] * 5)  # type: ignore[arg-type]

    return look


@asynccontextmanager
async def shown(size: tuple[int, int] = (80, 24)) -> AsyncGenerator[Pilot[list[str]], None]:
    app = start_app()
    async with app.run_test(size=size, notifications=True) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        yield pilot
