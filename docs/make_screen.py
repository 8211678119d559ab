"""Draws docs/screen*.svg: the shipped session recorded on an NVIDIA H200, as the screen shows it.

Usage: python docs/make_screen.py

The pictures load nothing from elsewhere: they name fonts that readers have, and each run of text has its width.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import ClassVar

from textual.pilot import Pilot

from tui_tuner.app.sessions import replayed_session
from tui_tuner.resources import samples_directory
from tui_tuner.session.events import CandidateProposed, Event, StepChanged
from tui_tuner.session.live import WatchedRun
from tui_tuner.session.plan import Instruction
from tui_tuner.strategies.steps import Approver, Proposal, StepState
from tui_tuner.subjects import Subject
from tui_tuner.tui.app import TunerApp

HERE = Path(__file__).parent
RUN = samples_directory() / "recorded" / "autonomous-matmul"
SIZE, SMALLER = (120, 36), (110, 28)
FONTS = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
PICTURES = {"screen": ("escape", "1"), "screen-benchmarks": ("escape", "3", "f", "o")}
"""The name of each picture, and the keys that lead there from the session's end."""
ATTACHED = "screen-attached"
"""What a terminal shows that is attached while the first kernel that the model rewrote awaits an answer."""


class Attached:
    """The session up to that kernel, of which nobody says what is to be done."""

    seen_as: ClassVar[tuple[str, ...]] = WatchedRun.seen_as

    def __init__(self) -> None:
        self._run = replayed_session(RUN).session
        self.title = self._run.title

    @property
    def subject(self) -> Subject:
        """What it is about."""
        return self._run.subject

    def tell(self, instruction: Instruction) -> bool:
        """Nothing can be told to what is over."""
        return False

    async def events(self, approver: Approver) -> AsyncGenerator[Event, None]:
        """What happened until then; then the question, as the session put it."""
        proposed: CandidateProposed | None = None
        async with aclosing(self._run.events(approver)) as stream:
            async for event in stream:
                yield event
                proposed = event if isinstance(event, CandidateProposed) else proposed
                if proposed is not None and isinstance(event, StepChanged) and event.step.state is StepState.AWAITING:
                    asked = Proposal(step=event.step, candidate=proposed.candidate, rationale=proposed.rationale)
                    await approver.decide(asked)


async def draw(name: str) -> str:
    """A picture."""
    run, size = (Attached(), SMALLER) if name == ATTACHED else (replayed_session(RUN).session, SIZE)
    app = TunerApp(run, theme=None, keymap=None)
    async with app.run_test(size=size) as pilot:
        await app.workers.wait_for_complete()
        while app.finished is None and not app._desk.awaits:
            await pilot.pause(0.1)
        await calm(pilot)
        for key in PICTURES.get(name, ()):
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
    os.environ["COLORTERM"] = "truecolor"  # whatever the terminal is that they are drawn from
    for name in (*PICTURES, ATTACHED):
        (HERE / f"{name}.svg").write_text(asyncio.run(draw(name)))
