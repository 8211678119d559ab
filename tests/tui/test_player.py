"""A replay that the user moves through: play, pause, step, seek, speed."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest
from textual.pilot import Pilot

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import focused_pane, notices, screen_text
from tests.tui.scripted import ScriptedRun
from tests.waiting import reached
from tui_tuner.session.events import Event, IncumbentChanged, SessionFinished, StepChanged
from tui_tuner.tui.dialogs import ResultDialog
from tui_tuner.tui.dialogs.sources import RowDialog
from tui_tuner.tui.player import Player
from tui_tuner.tui.view_model import ViewModel

EVENTS = scripted.finished()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_it_plays_at_its_speed_and_stands_while_paused() -> None:
    clock, seen = Clock(), []
    player = Player(ScriptedRun(EVENTS), speed=1000.0, at=700.0, now=clock)

    async def listen() -> None:
        async with aclosing(player.events(None)) as stream:  # type: ignore[arg-type]
            async for event in stream:
                seen.append(event)

    listening = asyncio.create_task(listen())
    due = sum(event.elapsed <= 700.0 for event in EVENTS)
    await reached(lambda: len(seen) == due, listening)
    assert player.move("pause").startswith("paused, ")
    clock.now = 1000.0
    await asyncio.sleep(0.05)
    assert len(seen) == due
    player.move("pause")
    clock.now += 1.0
    await reached(lambda: isinstance(seen[-1], SessionFinished), listening)
    listening.cancel()
    assert seen == EVENTS


@pytest.mark.parametrize("speed", [2.0, 0.5])
def test_speed_is_doubled_and_halved(speed: float) -> None:
    player = Player(ScriptedRun(EVENTS), speed=1.0)
    player.move("faster" if speed > 1 else "slower")
    assert player.speed == speed


async def shown(pilot: Pilot[str]) -> ViewModel:
    for _ in range(3):
        await settled(pilot)
    return pilot.app.session_screen.view_model  # type: ignore[attr-defined,no-any-return]


async def header_of(pilot: Pilot[str]) -> str:
    await shown(pilot)
    return screen_text(pilot.app).splitlines()[0]


def folded(events: list[Event]) -> ViewModel:
    view_model = ViewModel()
    for event in events:
        view_model.apply(event)
    return view_model


@pytest.mark.slow
@pytest.mark.parametrize(("keymap", "key"), [({}, "left_curly_bracket"), ({"seek_back": "b"}, "b")])
async def test_the_dialog_with_the_result_lets_the_keys_of_a_replay_act(
    started: Started, keymap: dict[str, str], key: str
) -> None:
    player = Player(ScriptedRun(EVENTS))
    async with started(player, keymap=keymap) as pilot:  # type: ignore[arg-type]
        assert isinstance(pilot.app.screen, ResultDialog)
        assert "space play" in screen_text(pilot.app).splitlines()[-1]
        await pilot.press("less_than_sign")
        assert player.speed == 0.5
        assert isinstance(pilot.app.screen, ResultDialog)
        await pilot.press(key)
        assert (await shown(pilot)).finished is None
        assert pilot.app.screen is pilot.app.session_screen  # type: ignore[attr-defined]
        await pilot.press("right_curly_bracket")
        await shown(pilot)
        assert isinstance(pilot.app.screen, ResultDialog)


@pytest.mark.slow
async def test_a_key_of_the_panes_closes_the_result_of_a_replay_and_acts_there(started: Started) -> None:
    async with started(Player(ScriptedRun(EVENTS))) as pilot:  # type: ignore[arg-type]
        assert isinstance(pilot.app.screen, ResultDialog)
        await pilot.press("F", "down")
        assert isinstance(pilot.app.screen, ResultDialog), "no key of the panes, and one of the dialog's own"
        await pilot.press("3", "enter")
        assert isinstance(pilot.app.screen, RowDialog)


@pytest.mark.slow
async def test_what_is_typed_when_a_session_ends_leaves_its_result_to_be_read(started: Started) -> None:
    async with started(ScriptedRun(EVENTS, stays=True)) as pilot:
        await pilot.press("3", "j", "question_mark")
        assert isinstance(pilot.app.screen, ResultDialog)
        await pilot.press("escape")
        assert focused_pane(pilot.app) == 1  # type: ignore[arg-type]


@pytest.mark.slow
async def test_a_notice_in_the_place_of_others_stands_where_the_first_of_them_stood(started: Started) -> None:
    async with started(Player(ScriptedRun(EVENTS))) as pilot:  # type: ignore[arg-type]
        await pilot.press("escape")
        places = set[int]()
        for _ in range(4):
            await pilot.press("greater_than_sign", "less_than_sign")
            await shown(pilot)
            lines = screen_text(pilot.app).splitlines()
            places.add(next(number for number, line in enumerate(lines) if "▌" in line))
        assert len(places) == 1


@pytest.mark.slow
async def test_keys_move_through_a_replay_and_every_place_is_as_it_was(started: Started) -> None:
    player = Player(ScriptedRun(EVENTS))
    marks = [n for n, e in enumerate(EVENTS, 1) if isinstance(e, StepChanged | IncumbentChanged | SessionFinished)]
    async with started(player) as pilot:  # type: ignore[arg-type]
        assert (await shown(pilot)).finished is not None
        await pilot.press("escape", "f", "left_curly_bracket")
        view_model = await shown(pilot)
        assert "4 Chat" in screen_text(pilot.app).splitlines()[1], "the pane is maximised still"
        await pilot.press("f")
        expected = folded(EVENTS[: marks[-2]])
        assert view_model.finished is None
        assert (view_model.steps, view_model.rows.keys()) == (expected.steps, expected.rows.keys())
        await pilot.press("comma", "comma", "full_stop")
        await shown(pilot)
        assert player._shown == marks[-2] - 1
        header = await header_of(pilot)
        at = f"event {marks[-2] - 1}/{len(EVENTS)}, paused"
        assert header.split(" │ ")[:4] == [" matmul.cu", "replay", "matmul-20261120-1432", at]
        await pilot.press("right_curly_bracket")
        assert (await shown(pilot)).steps == expected.steps
        await pilot.press("space")
        assert ", 1x │" in await header_of(pilot)
        await pilot.press("space", "full_stop")
        assert f"event {len(EVENTS)}/{len(EVENTS)} │" in await header_of(pilot), "it goes on to nowhere"
        await pilot.press("escape", "comma")
        await shown(pilot)
        await pilot.press("q")
    assert pilot.app.return_value == "left"


@pytest.mark.slow
async def test_what_cannot_be_asked_or_changed_says_that_it_is_a_replay(started: Started) -> None:
    async with started(Player(ScriptedRun(EVENTS))) as pilot:  # type: ignore[arg-type]
        await shown(pilot)
        await pilot.press("escape", "4")
        assert "a replay: nothing can be asked or changed" in screen_text(pilot.app)
        for pane, keys in (("4", "cmpaesrAvi"), ("2", "nKJxt")):
            await pilot.press(pane)
            for key in keys:
                pilot.app.clear_notifications()
                await pilot.press(key)
                told = notices(pilot.app)  # type: ignore[arg-type]
                assert told == ["This is a replay: nothing can be asked or changed."], key
        assert len(pilot.app.screen_stack) == 1


@pytest.mark.slow
async def test_no_row_is_pinned_where_nothing_can_be_compared(started: Started) -> None:
    for run, why in (
        (Player(ScriptedRun(EVENTS)), "this is a replay"),
        (ScriptedRun(EVENTS, stays=True), "the device is given back"),
    ):
        async with started(run) as pilot:
            await shown(pilot)
            await pilot.press("escape", "3", "G", "equals_sign")
            await shown(pilot)
            told = f"Not compared: {why}. `tuner-tui resume matmul-20261120-1432` takes the device."
            assert notices(pilot.app) == [told]  # type: ignore[arg-type]
            assert "◆" not in screen_text(pilot.app)
            assert "= compare" not in screen_text(pilot.app).splitlines()[-1]


@pytest.mark.slow
async def test_the_last_line_has_the_keys_of_a_replay_and_says_whether_space_plays_or_pauses(started: Started) -> None:
    player = Player(ScriptedRun(EVENTS), speed=1.0, at=100.0, now=Clock())

    async def last_line(*keys: str) -> str:
        await pilot.press(*keys)
        await shown(pilot)
        return screen_text(pilot.app).splitlines()[-1]

    async with started(player) as pilot:  # type: ignore[arg-type]
        line = await last_line()
        assert "space pause  , . event  { } step  < > speed  ? help" in line
        await pilot.click(offset=(line.index(" .") + 1, 35))
        assert player.paused
        assert player._wanted == player._index_at(100.0) + 1
        assert "space play  , . event" in await last_line()
        await pilot.click(offset=(line.index(" ,") + 1, 35))
        assert player._wanted == player._index_at(100.0)
        assert "space pause" in await last_line("space")
        for _ in range(20):
            await pilot.press("right_curly_bracket")
        line = await last_line()
        assert "esc close" in line, "the dialog with the result"
        await pilot.click(offset=(line.index("space") + 1, 35))
        assert "space pause" in await last_line()


@pytest.mark.slow
async def test_its_keys_do_nothing_in_a_live_session(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("space", "comma", "full_stop", "left_curly_bracket", "greater_than_sign")
        assert (await shown(pilot)).order == [1, 2, 3, 4]
        assert not pilot.app._notifications
