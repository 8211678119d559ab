"""Draws docs/screen.svg: the shipped recorded session as the screen shows it.

Usage: python docs/make_screen.py
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from tui_tuner.app.sessions import replayed_session
from tui_tuner.resources import samples_directory
from tui_tuner.session.session import Session
from tui_tuner.tui.app import TunerApp

SIZE = (132, 40)
TARGET = Path(__file__).with_name("screen.svg")


async def draw(session: Session) -> str:
    """The screen at the end of the session, the diff in view."""
    app = TunerApp(session, theme=None, keymap=None)
    async with app.run_test(size=SIZE) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause(0.5)
        await pilot.press("escape")
        await pilot.pause(0.5)
        return app.export_screenshot(title="tuner-tui matmul.cu")


if __name__ == "__main__":
    TARGET.write_text(
        asyncio.run(draw(replayed_session(samples_directory() / "recorded" / "autonomous-matmul").session))
    )
