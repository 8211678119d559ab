"""Pictures of the screen at the sizes that matter."""

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
OVER_THE_PLAN = {"steps": (), "add": ("n",), "edit": ("end", "k", "enter"), "thaw": ("t",)}
CHAT = {"words": ("c", *"try 16 bytes"), "reason": ("r", *"no"), "no_words": ("4",)}

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


@pytest.mark.parametrize("size", [SMALL, MEDIUM], ids=["80x24", "120x36"])
@pytest.mark.parametrize("session", ["running", "awaiting", "finished"])
def test_session(snap_compare: Compare, session: str, size: tuple[int, int]) -> None:
    assert snap_compare(app_of(session), terminal_size=size, run_before=after())


@pytest.mark.parametrize("size", [SMALL, MEDIUM], ids=["80x24", "120x36"])
def test_quit_dialog(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(app_of("running"), terminal_size=size, run_before=after("q"))


@pytest.mark.parametrize("pane", ["2", "3", "4"])
def test_tabs_of_a_narrow_terminal(snap_compare: Compare, pane: str) -> None:
    assert snap_compare(app_of("awaiting"), terminal_size=SMALL, run_before=after(pane))


@pytest.mark.parametrize("size", [SMALL, MEDIUM], ids=["80x24", "120x36"])
@pytest.mark.parametrize("dialog", list(OVER_THE_PLAN))
def test_plan(snap_compare: Compare, dialog: str, size: tuple[int, int]) -> None:
    assert snap_compare(app_of("plan"), terminal_size=size, run_before=after("2", *OVER_THE_PLAN[dialog]))


@pytest.mark.parametrize("size", [SMALL, MEDIUM], ids=["80x24", "120x36"])
@pytest.mark.parametrize("mode", list(CHAT))
def test_chat(snap_compare: Compare, mode: str, size: tuple[int, int]) -> None:
    assert snap_compare(app_of("awaiting"), terminal_size=size, run_before=after(*CHAT[mode]))


def test_light_theme(snap_compare: Compare) -> None:
    assert snap_compare(app_of("awaiting", "tuner-light"), terminal_size=MEDIUM, run_before=after())
