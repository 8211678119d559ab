"""A screen that cannot be drawn ends itself and never the session."""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path

import pytest
from textual.content import Content
from textual.pilot import Pilot

from tests.tui import scripted
from tests.tui.conftest import settled
from tests.tui.scripted import Entry, ScriptedRun
from tests.waiting import reached
from tui_tuner.app import showing
from tui_tuner.app.starting import SessionSetup
from tui_tuner.errors import ExitCode, SettingsError, UserError
from tui_tuner.headless import AskInLines
from tui_tuner.log import writing
from tui_tuner.session.events import EvaluationFinished
from tui_tuner.strategies.steps import Decision, Proposal
from tui_tuner.tui.app import LEFT, ScreenBroken, TunerApp
from tui_tuner.tui.dialogs import ResultDialog
from tui_tuner.tui.panes.benchmarks_pane import BenchmarksPane
from tui_tuner.tui.panes.plan_pane import PlanPane
from tui_tuner.tui.player import Player

LATE = [*scripted.evaluation(40, scripted.measured(scripted.TILES, 40, 0.09))]


@pytest.fixture
def _table_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(*_: object) -> None:
        raise ZeroDivisionError("a secret of the table")

    monkeypatch.setattr(BenchmarksPane, "_draw", draw)


async def broken(run: ScriptedRun, **options: object) -> TunerApp:
    app = TunerApp(run, **options)  # type: ignore[arg-type]
    with pytest.raises(ScreenBroken, match="ZeroDivisionError"):
        await app.run_async(headless=True, size=(80, 24))
    return app


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_terminal_that_only_prints_lines_gets_no_screen_but_a_word(
    monkeypatch: pytest.MonkeyPatch, term: str
) -> None:
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    for stream in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, stream, Terminal())
    monkeypatch.setenv("TERM", "xterm")
    showing.FrontEnd(auto=False).check()
    monkeypatch.setenv("TERM", term)
    with pytest.raises(SettingsError, match=f"no terminal for the screen: TERM={term}"):
        showing.FrontEnd(auto=False).check()


async def test_the_result_of_a_session_that_breaks_right_after_it_does_not_break_the_screen() -> None:
    finished = scripted.finished()[-1]
    app = TunerApp(ScriptedRun([*scripted.opening(), finished]))
    async with app.run_test() as pilot:
        app.push_screen(ResultDialog(Content("failed"), Content("does not build"), yields=False))
        app.exit("failed")  # before the dialog stands
        await pilot.pause()
    assert app.return_value == "failed"


@pytest.mark.usefixtures("_table_breaks")
@pytest.mark.parametrize("starting", [False, True])
async def test_the_session_goes_on_to_its_end(starting: bool, capsys: pytest.CaptureFixture[str]) -> None:
    gate = asyncio.Event()
    script: list[Entry] = [*scripted.running(), gate, *LATE, scripted.finished()[-1]]
    run = ScriptedRun(script)
    app = await broken(run, starting=starting)
    assert not run.closed
    assert "a secret" not in "".join(capsys.readouterr())
    heard: list[str] = []
    taken: list[str] = []
    gate.set()
    await app.go_on(
        lambda event: heard.append(type(event).__name__), lambda event: taken.append(type(event).__name__), AskInLines()
    )
    assert run.closed
    assert [*heard, *taken][:2] == ["SessionStarted", "DeviceReady"]
    assert taken[-3:] == ["EvaluationStarted", "EvaluationFinished", "SessionFinished"]
    ended = sum(isinstance(one, EvaluationFinished) for one in script)
    assert [*heard, *taken].count("EvaluationFinished") == ended, "none is told twice"


@pytest.mark.slow
async def test_the_open_question_and_those_that_follow_are_put_to_who_answers_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def show(*_: object) -> None:
        raise ZeroDivisionError

    class Skips:
        async def decide(self, _: Proposal) -> Decision:
            return Decision(action="skip")

    monkeypatch.setattr(PlanPane, "show", show)
    run = ScriptedRun([*scripted.opening(), scripted.PROPOSAL, scripted.PROPOSAL])
    app = await broken(run)
    await app.go_on(lambda _: None, lambda _: None, Skips())
    assert [decision.action for decision in run.decisions] == ["skip", "skip"]


async def test_a_replay_ends_with_its_terminal_and_leaves_nothing_that_goes_on() -> None:
    run = ScriptedRun(scripted.running(), is_replay=True)
    app = TunerApp(Player(run))

    async def hang_up(pilot: Pilot[str]) -> None:
        await settled(pilot)
        app.leave_terminal()

    assert await app.run_async(headless=True, size=(80, 24), auto_pilot=hang_up) == LEFT
    assert run.closed


@pytest.mark.usefixtures("_table_breaks")
async def test_a_line_and_a_log_say_so_and_the_result_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(showing.FrontEnd, "check", lambda _: None)
    monkeypatch.setattr("textual.app.App.run_async", headless(TunerApp.__mro__[1].run_async))  # type: ignore[attr-defined]

    async def begin() -> SessionSetup:
        return SessionSetup(ScriptedRun(scripted.finished()), None, ["a note"])  # type: ignore[arg-type]

    with writing("info"):
        code = await showing.show(begin, showing.FrontEnd(auto=False), "matmul.cu")
    out, err = capsys.readouterr()
    assert code is ExitCode.FINISHED
    assert "the screen broke (ZeroDivisionError: a secret of the table); the session goes on" in err
    assert "a note" in err
    assert "speed-up  1.83x" in out
    (log,) = tmp_path.rglob("*.log")  # type: ignore[attr-defined]
    assert str(log) in err
    assert "in draw" in log.read_text()


@pytest.mark.usefixtures("_table_breaks")
async def test_who_is_attached_is_told_in_a_line_and_how_to_follow_without_a_screen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tui_tuner.session.live.WatchedRun", lambda _: ScriptedRun(scripted.running(), stays=True))
    monkeypatch.setattr("textual.app.App.run_async", headless(TunerApp.__mro__[1].run_async))  # type: ignore[attr-defined]
    with pytest.raises(UserError, match=r"the screen broke .ZeroDivisionError.*; the run goes on without it") as told:
        await showing.attach(tmp_path, None)
    assert told.value.hint == f"`tuner-tui watch --answer {tmp_path}` follows it in lines"


def headless(run_async: object) -> object:
    async def run(app: TunerApp, **options: object) -> object:
        return await run_async(app, headless=True, size=(80, 24), **options)  # type: ignore[operator]

    return run


async def test_answers_in_lines_are_read_until_one_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import os

    reading, writing = os.pipe()
    with os.fdopen(reading) as lines, os.fdopen(writing, "w") as keyboard:
        monkeypatch.setattr("sys.stdin", lines)
        asking = asyncio.create_task(AskInLines().decide(scripted.PROPOSAL))
        keyboard.write("maybe\n")
        keyboard.flush()
        while capsys.readouterr().err.count("awaits you") < 1 or not _empty(reading):
            await asyncio.sleep(0.01)
        keyboard.write("r too slow\n")
        keyboard.flush()
        assert await asking == Decision(action="reject", message="too slow")
        ended = asyncio.create_task(AskInLines().decide(scripted.PROPOSAL))
        keyboard.close()
        with pytest.raises(asyncio.CancelledError):
            await ended


def _empty(pipe: int) -> bool:
    import select

    return not select.select([pipe], [], [], 0)[0]


async def test_without_its_terminal_a_session_goes_on_and_its_question_waits_for_another() -> None:
    class Skips:
        async def decide(self, _: Proposal) -> Decision:
            return Decision(action="skip")

    run = ScriptedRun([*scripted.opening(), scripted.PROPOSAL, *LATE, scripted.finished()[-1]])
    app = TunerApp(run)
    shown = asyncio.create_task(app.run_async(headless=True, size=(80, 24)))
    await reached(lambda: app._desk.awaits, shown)
    app.leave_terminal()
    with pytest.raises(ScreenBroken, match="the terminal is gone"):
        await shown
    assert not run.closed
    await app.go_on(lambda _: None, lambda _: None, Skips())
    assert run.closed
    assert [decision.action for decision in run.decisions] == ["skip"]
