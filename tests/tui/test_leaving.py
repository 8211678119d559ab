"""What stays in the terminal when the screen of a run is left: of a session and of who is attached to it the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from textual.pilot import Pilot

from tests.tensile.screen import script as tensile_script
from tests.tui import scripted
from tests.tui.conftest import settled
from tests.tui.scripted import ScriptedRun
from tests.waiting import reached
from tui_tuner.app import showing
from tui_tuner.app.starting import SessionSetup
from tui_tuner.errors import ExitCode
from tui_tuner.session.events import Event, SessionFinished
from tui_tuner.session.live import WatchedRun
from tui_tuner.subjects import KERNEL, Subject
from tui_tuner.tensile import TENSILE
from tui_tuner.tui.app import TunerApp


async def leave(pilot: Pilot[str]) -> None:
    """As soon as the end is shown."""
    app = pilot.app
    assert isinstance(app, TunerApp)
    await reached(lambda: not app._starting)
    await settled(pilot)
    await reached(lambda: app.finished is not None)
    await pilot.press("escape", "q")


@pytest.fixture(autouse=True)
def _left_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run_async = TunerApp.__mro__[1].run_async  # type: ignore[attr-defined]

    async def run(app: TunerApp, **options: object) -> object:
        return await run_async(app, headless=True, size=(80, 24), auto_pilot=leave, **options)

    monkeypatch.setattr("textual.app.App.run_async", run)
    monkeypatch.setattr(showing.FrontEnd, "check", lambda _: None)


async def shown(script: Sequence[Event], subject: Subject, path: Path) -> ExitCode:
    """The session itself."""

    async def begin() -> SessionSetup:
        return SessionSetup(ScriptedRun(script, subject=subject), SimpleNamespace(path=path), [])  # type: ignore[arg-type]

    return await showing.show(begin, showing.FrontEnd(auto=False), "a run")


async def attached(monkeypatch: pytest.MonkeyPatch, script: Sequence[Event], subject: Subject, path: Path) -> ExitCode:
    """Who watches it from another terminal."""
    run = ScriptedRun(script, subject=subject, seen_as=WatchedRun.seen_as)
    run.path = path  # type: ignore[attr-defined]
    monkeypatch.setattr("tui_tuner.session.live.WatchedRun", lambda _: run)
    return await showing.attach(path, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "subject", "words"),
    [
        (scripted.finished(), KERNEL, "speed-up  1.83x"),
        (tensile_script.finished(), TENSILE, "effort    80 permutations in 3 runs, 12 min"),
    ],
)
@pytest.mark.parametrize("status", ["finished", "no_improvement", "interrupted"])
async def test_who_is_attached_is_left_with_what_the_session_itself_leaves(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    script: list[Event],
    subject: Subject,
    words: str,
    status: str,
) -> None:
    *before, last = script
    assert isinstance(last, SessionFinished)
    story = [*before, last.model_copy(update={"status": status})]
    code = await shown(story, subject, tmp_path)
    printed = capsys.readouterr()
    assert (await attached(monkeypatch, story, subject, tmp_path), capsys.readouterr()) == (code, printed)
    if status == "interrupted":
        assert printed.err == f"interrupted; go on with: tuner-tui resume {tmp_path}\n"
    else:
        assert printed.out.startswith(status.replace("_", " "))
        assert words in printed.out
