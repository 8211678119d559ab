"""The frame that stands there while the session is put together, and how a start ends that comes to nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Static, TextArea

from tests.session.fakes import write_problem
from tests.tui.at_start import look_at
from tests.tui.conftest import Started
from tests.tui.looking import screen_text
from tests.tui.scripted import ScriptedRun, awaiting, opening
from tui_tuner.app.drafting import drafted
from tui_tuner.app.starting import DraftDesk, SessionSetup, StartingSession
from tui_tuner.errors import NothingBegun, ProblemError
from tui_tuner.problem.load import Written
from tui_tuner.session.events import Event, Note, SessionStarted
from tui_tuner.strategies.steps import Approver
from tui_tuner.subjects import KERNEL, Subject
from tui_tuner.tensile import TENSILE
from tui_tuner.tui.app import TunerApp
from tui_tuner.tui.frame import StartingScreen, tell_start
from tui_tuner.tui.screen import SessionScreen
from tui_tuner.tui.start import GivenFile
from tui_tuner.tui.start.problem_form import ProblemForm, settled, sureness_of
from tui_tuner.tui.start.start_app import StartApp

SIZES = [(120, 36), (80, 24)]


class SilentRun(ScriptedRun):
    """A session of which nothing is heard."""

    async def events(self, approver: Approver) -> AsyncGenerator[Event, None]:
        await asyncio.Event().wait()
        for event in awaiting():
            yield event


@pytest.fixture
def _lasting_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing ever comes of a start."""

    async def drive(_: TunerApp) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(TunerApp, "_drive", drive)


@pytest.mark.usefixtures("_lasting_start")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("subject", "first"), [(KERNEL, "1 Kernel"), (TENSILE, "1 Configuration")])
async def test_the_frame_is_that_of_a_session_of_which_nothing_is_known(
    size: tuple[int, int], subject: Subject, first: str
) -> None:
    apps = [TunerApp(SilentRun([], subject=subject), starting=starting) for starting in (True, False)]
    texts = []
    for app in apps:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            texts.append(screen_text(app).splitlines())
            assert isinstance(app.screen, StartingScreen) == (app is apps[0])
    frame, whole = ([line for line in text if line[:1] in "╭╰│ "] for text in texts)
    assert frame[0] == whole[0], "the header"
    assert "starting" in frame[0]
    assert len(frame) == len(whole)
    for title in (first, "2 Plan", "3 Benchmarks", "4 Chat"):
        assert sum(title in line for line in frame) == sum(title in line for line in whole) >= 1


async def test_the_screen_of_the_session_takes_the_place_of_the_frame() -> None:
    app = TunerApp(ScriptedRun([*awaiting()]), starting=True)
    async with app.run_test(size=SIZES[0]) as pilot:
        for _ in range(200):
            await pilot.pause(0.02)
            if app.screen is app.session_screen and app.session_screen.view_model.started is not None:
                break
        app.session_screen.draw()
        assert app.session_screen.view_model.started is not None
        assert "starting" not in screen_text(app)


async def on_the_start_screen(*keys: str) -> None:
    """Type all at once."""
    app = StartApp([GivenFile(Path("scale.cu"))], look_at([]))
    async with app.run_test(size=SIZES[1]) as pilot:
        await app.workers.wait_for_complete()
        driver = app._driver
        assert driver is not None
        for key in keys:
            driver.send_message(Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: not app.is_running)
    assert app.return_value is not None
    assert app.return_value[0] == "scale.cu"


@pytest.mark.slow
async def test_keys_behind_the_one_that_leaves_the_start_screen_act_on_the_session() -> None:
    await on_the_start_screen("enter", "3", "j")
    app = TunerApp(ScriptedRun([*awaiting()]), starting=True)
    async with app.run_test(size=SIZES[0]) as pilot:
        await until(pilot, lambda: app.screen is app.session_screen and app.session_screen.pane == 3)
        app.session_screen.draw()
        await until(pilot, lambda: not app._typed)
    await on_the_start_screen("enter")
    assert not TunerApp(ScriptedRun([]))._typed, "what has acted is gone"


@pytest.mark.slow
@pytest.mark.usefixtures("_lasting_start")
async def test_a_key_that_leaves_does_so_behind_the_one_that_leaves_the_start_screen() -> None:
    await on_the_start_screen("enter", "q")
    app = TunerApp(SilentRun([]), starting=True)
    async with app.run_test(size=SIZES[0]) as pilot:
        await until(pilot, lambda: not app.is_running)
    assert app.return_value == "interrupted"


@pytest.mark.usefixtures("_lasting_start")
async def test_whoever_leaves_during_the_start_is_not_asked() -> None:
    app = TunerApp(SilentRun([]), starting=True)
    async with app.run_test(size=SIZES[0]) as pilot:
        await pilot.press("q")
        await pilot.pause()
    assert app.return_value == "interrupted"


@pytest.mark.parametrize("starting", [False, True])
async def test_a_start_that_fails_ends_the_app_and_is_raised_when_the_terminal_is_back(starting: bool) -> None:
    async def begin() -> SessionSetup:
        raise ProblemError("there is no kernel file gone.cu")

    app = TunerApp(StartingSession(begin, "gone.cu"), starting=starting)
    with pytest.raises(ProblemError, match=r"gone\.cu"):
        await app.run_async(headless=True, size=(80, 24))
    assert not app.is_running


async def test_what_is_said_during_the_start_is_passed_on() -> None:
    from tui_tuner.session.plan import Say

    run = ScriptedRun([*awaiting()])

    async def begin() -> SessionSetup:
        return SessionSetup(run, None, [])

    starting = StartingSession(begin, "scale.cu")
    assert starting.tell(Say(text="use float4"))
    stream = starting.events(None)
    await anext(stream)
    await stream.aclose()
    assert [instruction.text for instruction in run.told] == ["use float4"]
    assert starting.setup is not None


async def test_what_the_user_should_know_stands_in_the_story_but_the_details_of_a_draft_do_not() -> None:
    notes = ["drafted the problem", "  outputs  a (a guess)", "no language model: running the strategy 'search'"]

    async def begin() -> SessionSetup:
        return SessionSetup(ScriptedRun([*opening()]), None, notes)

    stream = StartingSession(begin, "scale.cu").events(None)
    first, *told = [await anext(stream) for _ in range(3)]
    await stream.aclose()
    assert isinstance(first, SessionStarted)
    assert told == [Note(level="warning", text=note) for note in notes[::2]]


@pytest.mark.parametrize("size", SIZES)
async def test_what_takes_long_is_told_before_the_session_is_there(size: tuple[int, int]) -> None:
    told = "no scale.toml beside it: drafting the problem, trying scale"
    may_go_on = asyncio.Event()

    async def begin() -> SessionSetup:
        tell_start(app, told)
        await may_go_on.wait()
        return SessionSetup(ScriptedRun([*awaiting()]), None, [])

    app = TunerApp(StartingSession(begin, "scale.cu"), starting=True)
    async with app.run_test(size=size) as pilot:
        assert "reading scale.cu" in screen_text(app)
        await until(pilot, lambda: told in screen_text(app))
        may_go_on.set()
        await until(pilot, lambda: app.screen is app.session_screen)
        await pilot.pause()
        assert told not in screen_text(app)


async def test_the_question_line_is_not_empty_before_the_first_thing_is_told() -> None:
    app = TunerApp(ScriptedRun([opening()[0], asyncio.Event()]))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "the session begins" in screen_text(app)


class Drafted:
    """A session whose kernel has no problem file: nothing begins before its draft is taken over."""

    def __init__(self, directory: Path) -> None:
        write_problem(directory).unlink()
        self.drafts, self.draft = DraftDesk(), drafted(directory / "scale.cu", None)
        self.begun: list[Written] = []
        self.app = TunerApp(StartingSession(self.begin, "scale.cu"), starting=True)
        self.drafts.put = lambda draft: settled(self.app, draft)

    async def begin(self) -> SessionSetup:
        self.begun.append(await self.drafts.taken_over(self.draft))
        return SessionSetup(ScriptedRun([*awaiting()]), None, [])

    @asynccontextmanager
    async def asked(self, size: tuple[int, int] = (80, 24)) -> AsyncGenerator[Pilot[str], None]:
        async with self.app.run_test(size=size, notifications=True) as pilot:
            await until(pilot, lambda: "it loads" in screen_text(self.app))
            yield pilot


async def until(pilot: Pilot[str], there: Callable[[], bool]) -> None:
    for _ in range(500):
        await pilot.pause(0.01)
        if there():
            return
    raise AssertionError("it never came")


@pytest.mark.slow
@pytest.mark.parametrize(("key", "is_written"), [("ctrl+s", True), ("ctrl+r", False)])
async def test_a_draft_is_confirmed_before_anything_begins(tmp_path: Path, key: str, is_written: bool) -> None:
    run = Drafted(tmp_path)
    async with run.asked() as pilot:
        assert not run.begun
        form = run.app.screen
        assert "guesses" in str(form.query_one("#verdict", Static).render())
        area = form.query_one(TextArea)
        await pilot.press("ctrl+g")
        assert sureness_of(area.text.split("\n")[area.cursor_location[0]]) == "guess"
        area.text = area.text.replace("[sizes]", "[seizes]")
        await pilot.press(key)
        assert run.app.screen is form, "what has a fault cannot start"
        area.text = area.text.replace("[seizes]", "[sizes]").replace("n = 1048576", "n = 4096")
        await pilot.press(key)
        await until(pilot, lambda: run.app.screen is run.app.session_screen)
    (taken,) = run.begun
    assert "n = 4096" in taken.text
    assert taken.problem.sizes == {"n": 4096}
    assert (taken.file.is_file(), not taken.is_drafted) == (is_written, is_written)


async def test_whoever_leaves_a_draft_has_begun_nothing(tmp_path: Path) -> None:
    run = Drafted(tmp_path)
    async with run.asked(SIZES[0]) as pilot:
        await pilot.press("x", "escape")
        assert isinstance(run.app.screen, ProblemForm), "changes are not forgotten by one Esc"
        await pilot.press("escape")
        await until(pilot, lambda: not run.app.is_running)
    assert isinstance(run.app.failure, NothingBegun)
    assert not run.begun
    assert not run.draft.file.exists()


async def test_a_draft_whose_terminal_is_gone_begins_nothing(tmp_path: Path) -> None:
    run = Drafted(tmp_path)
    async with run.asked():
        run.app.leave_terminal()
    with pytest.raises(asyncio.CancelledError):
        await run.app.go_on(lambda _: None, lambda _: None, None)  # type: ignore[arg-type]
    assert not run.begun


async def test_a_draft_is_what_it_is_where_nobody_looks(tmp_path: Path) -> None:
    run = Drafted(tmp_path)
    run.drafts.put = None
    await run.begin()
    assert run.begun == [run.draft]


@pytest.mark.slow
async def test_a_key_before_the_panes_stand_finds_that_it_means_nothing_yet(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    composed, meant = SessionScreen._compose, list[set[str]]()

    async def asked_first(screen: SessionScreen) -> None:
        meant.append({key.binding.action for key in screen.active_bindings.values() if key.node is screen})
        await composed(screen)

    monkeypatch.setattr(SessionScreen, "_compose", asked_first)
    async with started(ScriptedRun(awaiting(), stays=True)) as pilot:
        assert meant == [{"app.focus_next", "app.focus_previous"}], "the keys of Textual alone"
        assert isinstance(pilot.app, TunerApp)
        await pilot.press("3")
        assert pilot.app.session_screen.pane == 3
