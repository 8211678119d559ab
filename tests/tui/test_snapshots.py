"""Pictures of the screen, for its colours; what it says at all sizes is in `test_album.py`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from tests.tui import plans, scripted
from tests.tui.conftest import settled
from tests.tui.scripted import ScriptedRun
from tui_tuner.tui.app import TunerApp

SMALL, MEDIUM = (80, 24), (120, 36)
SESSIONS = {
    "running": scripted.running,
    "awaiting": scripted.awaiting,
    "finished": scripted.finished,
    "plan": plans.whole_plan,
}
FIRST = {"plan": ("2", "t")}
"""Keys before the picture of a session is taken."""

Compare = Callable[..., bool]


def app_of(session: str, theme: str = "tuner-dark") -> TunerApp:
    run = ScriptedRun(SESSIONS[session](), stays=session != "finished")
    return TunerApp(run, theme=theme, grace_s=0.0, clock=lambda: 0.0)


def after(*keys: str) -> Callable[[Pilot[str]], object]:
    async def press(pilot: Pilot[str]) -> None:
        await settled(pilot)
        await pilot.press(*keys)
        await settled(pilot)

    return press


@pytest.mark.slow
@pytest.mark.parametrize("session", ["running", "awaiting", "finished", "plan"])
def test_session(snap_compare: Compare, session: str) -> None:
    assert snap_compare(app_of(session), terminal_size=MEDIUM, run_before=after(*FIRST.get(session, ())))


def test_tabs_of_a_narrow_terminal(snap_compare: Compare) -> None:
    assert snap_compare(app_of("awaiting"), terminal_size=SMALL, run_before=after("3"))


@pytest.mark.slow
def test_light_theme(snap_compare: Compare) -> None:
    assert snap_compare(app_of("awaiting", "tuner-light"), terminal_size=MEDIUM, run_before=after())
