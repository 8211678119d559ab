"""Every test has its own home, no editor, no colour settings, and none of the user's themes."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Hashable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from rich.console import RenderableType
from textual._compositor import Compositor
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input, TextArea
from textual.worker import WorkerCancelled

from tests.idle import until_idle
from tests.session.fakes import new_run, write_problem
from tests.tui.looking import drawn
from tests.tui.scripted import ScriptedRun
from tui_tuner.journal.reading import RUNS
from tui_tuner.tui import screen
from tui_tuner.tui.app import TunerApp

CALM = 5
"""The screen is laid out when nothing on it has moved for so many looks: one move may bring about the next."""

Started = Callable[..., AbstractAsyncContextManager[Pilot[str]]]


@pytest.fixture(autouse=True)
def _isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("EDITOR", "VISUAL", "NO_COLOR", "TEXTUAL_THEME", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLORTERM", "truecolor")


@pytest.fixture(autouse=True)
def _no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The screen draws when a test lets it settle, no cursor blinks, and no message goes away by itself."""
    monkeypatch.setattr(TunerApp, "NOTIFICATION_TIMEOUT", 3600.0)
    monkeypatch.setattr(screen, "_TICK_S", 3600.0)
    for widget in (Input, TextArea):
        monkeypatch.setattr(widget.__dict__["cursor_blink"], "_default", False)


@pytest.fixture(scope="session", autouse=True)
def _styles_are_parsed_once() -> Iterator[None]:
    """Every app parses the same style sheets, which takes tenths of a second."""
    parsed: dict[object, list[RuleSet]] = {}
    parse = Stylesheet._parse_rules

    def known(sheet: Stylesheet, *what: Hashable, **more: Hashable) -> list[RuleSet]:
        key = (frozenset(sheet._variables.items()), what, *more.items())
        if key not in parsed:
            parsed[key] = parse(sheet, *what, **more)  # type: ignore[arg-type]
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", known)
        yield


@pytest.fixture(scope="session", autouse=True)
def _drawn_when_looked_at() -> Iterator[None]:
    """There is no terminal: what would be written to it is drawn for a test that looks, and at the end of a session."""
    draw = Compositor.render_update

    def undrawn(compositor: Compositor, full: bool = False, **more: Any) -> RenderableType | None:
        if full:
            return draw(compositor, full, **more)
        compositor._dirty_regions.clear()
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compositor, "render_update", undrawn)
        yield


async def settled(pilot: Pilot[str]) -> None:
    """Wait until what has arrived is drawn and no diff is being computed."""
    app = pilot.app
    await pilot.pause()
    if isinstance(app, TunerApp):
        app.session_screen.draw()
        await pilot.pause()
    await _laid_out(pilot)
    while diffs := [worker for worker in app.workers if worker.group == "diff" and not worker.is_finished]:
        for worker in diffs:
            with suppress(WorkerCancelled):
                await worker.wait()
        await pilot.pause()


async def _laid_out(pilot: Pilot[str]) -> None:
    """Wait until nothing is to happen after a refresh, and what follows from it, as scrolling and bars, is over."""
    places: list[object] = []
    while pilot.app.screen._callbacks or len(places) < CALM or any(one != places[-1] for one in places[-CALM:]):
        await until_idle()
        pilot.app.screen._on_timer_update()
        widgets = pilot.app.screen.walk_children(Widget)
        places.append([(widget.region, widget.scroll_offset, widget.virtual_size) for widget in widgets])


@pytest.fixture
def started() -> Started:
    """An app that shows a scripted run, with a clock that stands still."""

    @asynccontextmanager
    async def start(
        run: ScriptedRun, size: tuple[int, int] = (120, 36), **options: object
    ) -> AsyncGenerator[Pilot[str], None]:
        options = {"grace_s": 0.0, "clock": lambda: 0.0, **options}
        app = TunerApp(run, **options)  # type: ignore[arg-type]
        async with app.run_test(size=size, notifications=True) as pilot:
            await settled(pilot)
            yield pilot
            drawn(app)

    return start


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory with a kernel, one without a problem file, and two runs; settings that may be written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").touch()
    monkeypatch.setenv("TUNER_TUI_CONFIG", str(tmp_path / "mine.toml"))
    write_problem(tmp_path)
    (tmp_path / "other.cu").write_text((tmp_path / "scale.cu").read_text())
    for name, result in (("one", {"status": "finished", "speedup": [1.5, 1.4, 1.6]}), ("two", {})):
        (tmp_path / name).mkdir()
        run = new_run(tmp_path / name)
        run.journal.close()
        (run.path / "result.json").write_text(json.dumps(result))
        (tmp_path / RUNS).mkdir(exist_ok=True)
        run.path.rename(tmp_path / RUNS / name)
