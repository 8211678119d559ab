"""A Tensile session that another terminal watches: its question is shown and answered there too."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

from tests.tensile.sessions.replies import DEEPER, STOP
from tests.tensile.sessions.world import Told, World, model
from tests.tui.conftest import Started, settled
from tests.tui.looking import screen_text
from tests.waiting import reached
from tui_tuner.app.attaching import AnswersElsewhere
from tui_tuner.journal.runs import is_driven
from tui_tuner.session.events import ApprovalGiven, Event
from tui_tuner.session.live import WatchedRun
from tui_tuner.tensile.session import TensileSession


async def driven(session: TensileSession, told: list[str], story: list[Event]) -> None:
    """The session to its end, with nobody who answers here."""
    async with aclosing(session.events(AnswersElsewhere(told.append))) as stream:
        async for event in stream:
            story.append(event)


async def test_the_edits_that_await_are_reviewed_and_approved_from_a_terminal_that_is_attached(
    tmp_path: Path, started: Started
) -> None:
    world, told, story = World(tmp_path), list[str](), list[Event]()
    driving = asyncio.create_task(driven(world.begin(model(DEEPER, STOP)), told, story))
    await reached(lambda: bool(told), driving)
    async with started(WatchedRun(world.path)) as pilot:
        screen = pilot.app.session_screen
        await reached(lambda: screen.is_mounted and "awaits you" in screen_text(pilot.app), driving)
        await settled(pilot)
        assert " gemm.yaml │ attached │ " in screen_text(pilot.app).splitlines()[0]
        shown = screen_text(pilot.app)
        assert "─ Review ─" in shown
        assert "step 2: Round 1" in shown
        await pilot.press("a")
        await driving
    (given,) = [event for event in story if isinstance(event, ApprovalGiven)]
    assert given.decision.action == "approve"


async def test_a_watcher_hears_of_configurations_as_what_they_are(tmp_path: Path) -> None:
    world, here, there = World(tmp_path), list[Event](), Told()
    driving = asyncio.create_task(driven(world.begin(model(DEEPER, STOP)), [], here))
    await reached(lambda: is_driven(world.path), driving)
    async with aclosing(WatchedRun(world.path).events(there)) as stream:
        heard = [event async for event in stream]
    await driving
    assert heard == here
    assert [type(each.candidate).__name__ for each in there.proposals] == ["ConfigurationText"]
