"""The screen's patience: many events at hand are drawn by its tick alone, and the user is heard meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.events import Key
from textual.scrollbar import ScrollBar
from textual.widget import Widget
from textual.widgets import Input, TextArea

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import focused_pane, screen_text, table_text
from tests.tui.scripted import Entry, ScriptedRun
from tests.waiting import reached
from tui_tuner.session import events
from tui_tuner.session.events import Event
from tui_tuner.tui import screen
from tui_tuner.tui.app import TunerApp
from tui_tuner.tui.dialogs.sources import RowDialog
from tui_tuner.tui.panes import PaneGrid
from tui_tuner.tui.panes.benchmarks_pane import BenchmarksPane
from tui_tuner.tui.screen import SessionScreen
from tui_tuner.tui.tables.evaluation_table import EvaluationTable

EVALUATIONS, A_TICK = 100, 25


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What the screen wants done at every tick; no clock does it, the test does."""
    held: list[Callable[[], None]] = []
    set_interval = SessionScreen.set_interval

    def hold(screen: SessionScreen, interval: float, callback: Callable[[], None], **others: object) -> object:
        if callback == screen.tick:
            return held.append(callback)
        return set_interval(screen, interval, callback, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(SessionScreen, "set_interval", hold)
    return held


def calls(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[str]:
    """Grows by one with every call of a method."""
    made: list[str] = []
    method = getattr(owner, name)

    def counted(*arguments: object, **named: object) -> object:
        made.append(name)
        return method(*arguments, **named)

    monkeypatch.setattr(owner, name, counted)
    return made


def flood(number: int) -> list[Event]:
    """What arrives with one of the evaluations: eight events."""
    words = [events.ModelText(call=1, text="word "), events.ModelText(call=1, thinking="hm ")]
    return [*scripted.evaluation(number, scripted.measured(scripted.TILES, number, 0.2 - number / 2000)), *words * 3]


@pytest.mark.slow
async def test_eight_hundred_events_at_hand_are_drawn_at_the_ticks_and_a_key_acts_before_they_end(
    started: Started, ticks: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    panes_drawn, tables_drawn = calls(monkeypatch, PaneGrid, "draw"), calls(monkeypatch, EvaluationTable, "draw")
    monkeypatch.setattr(TunerApp.__module__ + "._TURN_S", -1.0)
    begin, end = asyncio.Event(), asyncio.Event()
    app: TunerApp
    pane_at_the_end = 0

    def script() -> Iterator[Entry]:
        nonlocal pane_at_the_end
        yield from scripted.opening()
        yield begin
        for number in range(1, EVALUATIONS + 1):
            yield from flood(number)
            if number == 2 * A_TICK:
                app.simulate_key("2")
            if number % A_TICK == 0:
                ticks[0]()
        pane_at_the_end = focused_pane(app)
        end.set()

    async with started(ScriptedRun(script(), stays=True)) as pilot:
        assert isinstance(pilot.app, TunerApp)
        assert len(ticks) == 1
        app = pilot.app
        panes_drawn.clear()
        tables_drawn.clear()
        begin.set()
        async with asyncio.timeout(100):
            await end.wait()
        assert len(panes_drawn) == len(tables_drawn) == EVALUATIONS // A_TICK
        assert len(table_text(app)) == EVALUATIONS
        assert pane_at_the_end == 2


@pytest.mark.slow
async def test_words_that_arrive_one_by_one_are_drawn_at_some_ticks_and_whatever_else_arrives_at_the_next(
    started: Started, ticks: list[Callable[[], None]]
) -> None:
    gates = [asyncio.Event() for _ in range(3)]
    asked = events.PromptSent(call=1, purpose="one_prompt", text="faster, please", tokens=3, model="any", elapsed=1.0)
    run = ScriptedRun(
        [
            *scripted.opening(),
            asked,
            gates[0],
            events.ModelText(call=1, text="tiles "),
            gates[1],
            events.ModelText(call=1, text="of sixteen"),
            gates[2],
            *flood(1)[:2],
        ],
        stays=True,
    )
    async with started(run) as pilot:
        app = pilot.app
        assert isinstance(app, TunerApp)

        async def drawn_after(number: int) -> int:
            """Ticks that it takes until what is behind a gate is drawn."""
            gates[number].set()
            assert await reached(lambda: bool(app.session_screen._inbox))
            ticks_of_it = 0
            while app.session_screen._inbox:
                ticks[0]()
                ticks_of_it += 1
            return ticks_of_it

        await drawn_after(0)
        assert await drawn_after(1) == screen._RESTS
        assert await drawn_after(2) == 1


@pytest.mark.slow
async def test_what_arrives_between_two_ticks_is_drawn_by_the_next_one_without_a_hand_of_the_test(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "_TICK_S", 1 / 8)
    begin = asyncio.Event()
    run = ScriptedRun([*scripted.opening(), begin, *flood(1), *flood(2)], stays=True)
    async with started(run) as pilot:
        begin.set()
        async with asyncio.timeout(100):
            while len(table_text(pilot.app)) < 2:  # type: ignore[arg-type]
                await asyncio.sleep(0.01)
        await settled(pilot)


def value_of(app: TunerApp) -> str:
    assert isinstance(app.focused, Input | TextArea)
    return app.focused.value if isinstance(app.focused, Input) else app.focused.text.split("\n")[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "typed"),
    [
        (("3", "slash", *"sarA"), "sarA"),
        (("1", "slash", *"sarA"), "sarA"),
        (("c", *"sarA?"), "sarA?"),
        (("r", *"sarA"), "sarA"),
        (("e", *"sarA"), "sarA" + scripted.VECTORS.source.split("\n")[0]),
        (("2", "n", *"sarA"), "sarA"),
        (("m", "j", "j", "j", "enter", *"evals 9"), "evals 9"),
    ],
)
async def test_keys_that_arrive_at_once_reach_what_the_first_of_them_opens(
    started: Started, keys: tuple[str, ...], typed: str
) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        app = pilot.app
        assert isinstance(app, TunerApp)
        assert app._driver is not None
        for key in keys:
            app._driver.send_message(
                Key(key, "/" if key == "slash" else key if len(key) == 1 else None).set_sender(app)
            )
        async with asyncio.timeout(100):
            while app._typed:
                await asyncio.sleep(0.01)
        await settled(pilot)
        assert value_of(app) == typed
        assert run.decisions == []


def type_ahead(app: TunerApp, *keys: str) -> None:
    """Keys as they come from a terminal, whatever the screen does meanwhile."""
    assert app._driver is not None
    for key in keys:
        app._driver.send_message(Key(key, key if len(key) == 1 else None).set_sender(app))


@pytest.mark.parametrize(
    ("keys", "leaves"),
    [
        (("3", "j", "ctrl+j"), ""),
        (("4", "c", *"q?"), ""),
        (("3", "q", "ctrl+q"), "interrupted"),
        (("q", "3"), "interrupted"),
    ],
)
async def test_keys_pressed_before_there_is_a_session_act_in_order_once_it_is_there(
    keys: tuple[str, ...], leaves: str
) -> None:
    begin = asyncio.Event()
    app = TunerApp(ScriptedRun([begin, *scripted.running()], stays=True), starting=True, grace_s=0.0)
    async with app.run_test(size=(120, 36)) as pilot:
        type_ahead(app, *keys)
        for _ in range(10):
            await pilot.pause()
        if leaves:
            assert await reached(lambda: not app.is_running)
        else:
            assert [event.key for event in app._typed if isinstance(event, Key)] == [
                "enter" if key == "ctrl+j" else key for key in keys
            ], "a terminal that is not the screen's yet writes Enter as a new line"
            begin.set()
            assert await reached(lambda: not app._typed)
            await settled(pilot)
            if keys[0] == "3":
                assert isinstance(app.screen, RowDialog)
                await pilot.press("escape")
            assert focused_pane(app) == int(keys[0])
            assert keys[0] == "3" or value_of(app) == "q?"
    assert app.return_value == (leaves or None)


@pytest.mark.slow
async def test_going_to_another_pane_styles_the_panes_and_nothing_in_those_that_the_focus_is_not_in(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("3")
        await settled(pilot)
        styled: list[DOMNode] = []
        apply = Stylesheet.apply

        def noted(sheet: Stylesheet, node: DOMNode, **how: object) -> None:
            styled.append(node)
            apply(sheet, node, **how)  # type: ignore[arg-type]

        before = pilot.app.focused
        monkeypatch.setattr(Stylesheet, "apply", noted)
        await pilot.press("1")
        await settled(pilot)
        grid = pilot.app.screen.query_one(PaneGrid)
        assert {*grid.children} <= {*styled}
        inside = {node for node in styled if isinstance(node, Widget) and grid in node.ancestors}
        bars = {node for node in inside if isinstance(node, ScrollBar)}
        assert inside - bars - {*grid.children} == {before, pilot.app.focused}


@pytest.mark.slow
async def test_results_that_change_no_border_leave_the_frame_of_the_table_as_it_is(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = asyncio.Event()
    run = ScriptedRun([*scripted.opening(), *flood(1), begin, *flood(2)], stays=True)
    async with started(run) as pilot:
        drawn = calls(monkeypatch, BenchmarksPane, "refresh")
        begin.set()
        assert await reached(lambda: shown_in(pilot.app, 2))  # type: ignore[arg-type]
        assert drawn == []
        await pilot.press("3", "slash", *"ok", "enter")
        await settled(pilot)
        assert drawn != [], "what the filter leaves is written there"


@pytest.mark.slow
async def test_resizing_while_results_arrive_loses_nothing(started: Started) -> None:
    sizes = [(200, 50), (20, 6), (80, 24), (40, 12), (120, 36)]
    gates = [asyncio.Event() for _ in sizes]
    entries: list[Entry] = [*scripted.opening()]
    for part, gate in enumerate(gates):
        entries.append(gate)
        for number in range(part * EVALUATIONS + 1, (part + 1) * EVALUATIONS + 1):
            entries += scripted.evaluation(number, scripted.measured(scripted.TILES, number, 0.1 + number / 5000))
    run = ScriptedRun(entries, stays=True)
    async with started(run, sizes[-1]) as pilot:
        app = pilot.app
        assert isinstance(app, TunerApp)
        await pilot.press("3")
        for number, (gate, size) in enumerate(zip(gates, sizes, strict=True), start=1):
            gate.set()
            await pilot.resize_terminal(*size)  # while the first of them are being taken
            assert await reached(lambda number=number: shown_in(app, number * EVALUATIONS))  # type: ignore[misc]
        await settled(pilot)
        assert len(table_text(app)) == EVALUATIONS * len(sizes)
        assert focused_pane(app) == 3
        whole = screen_text(app)
        await pilot.resize_terminal(119, 36)
        await pilot.resize_terminal(120, 36)
        await settled(pilot)
        assert screen_text(app) == whole, "as if it had always had this size"


def shown_in(app: TunerApp, rows: int) -> bool:
    app.session_screen.draw()
    return len(app.session_screen.view_model.rows) >= rows
