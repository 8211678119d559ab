"""Draws docs/screen*.svg: the shipped session recorded on an NVIDIA H200, as the screen shows it.

Usage: python docs/make_screen.py

The pictures load nothing from elsewhere: they name fonts that readers have, and each run of text has its width.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from textual.pilot import Pilot

from tui_tuner.app.sessions import replayed_session
from tui_tuner.resources import samples_directory
from tui_tuner.tui.app import TunerApp

HERE = Path(__file__).parent
RUN = samples_directory() / "recorded" / "autonomous-matmul"
SIZE = (120, 36)
FONTS = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
PICTURES = {"screen": ("1",), "screen-benchmarks": ("3", "f", "o")}
"""The name of each picture, and the keys that lead there from the session's end."""


async def draw(keys: tuple[str, ...]) -> str:
    """The screen at the end of the session after some keys."""
    app = TunerApp(replayed_session(RUN).session, theme=None, keymap=None)
    async with app.run_test(size=SIZE) as pilot:
        await app.workers.wait_for_complete()
        while app.finished is None:
            await pilot.pause(0.1)
        await calm(pilot)
        for key in ("escape", *keys):
            await pilot.press(key)
            await calm(pilot)
        return without_links(app.export_screenshot(title="tuner-tui matmul.cu", simplify=True))


async def calm(pilot: Pilot[str]) -> None:
    """Wait until what was pressed is drawn."""
    await pilot.app.workers.wait_for_complete()
    await pilot.pause(0.5)


def without_links(svg: str) -> str:
    """The picture without Textual's fonts from the network."""
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    return re.sub(r"font-family: *[^;]*Fira Code[^;]*;", f"font-family: {FONTS};", svg)


if __name__ == "__main__":
    for name, keys in PICTURES.items():
        (HERE / f"{name}.svg").write_text(asyncio.run(draw(keys)))
