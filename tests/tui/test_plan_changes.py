"""What the user changes of the plan, and what the session is told of it."""

from __future__ import annotations

import asyncio

import pytest
from textual.widgets._toast import Toast

from tests.tui import plans, scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import focused_pane, notices, screen_text, selected_step, steps_shown
from tests.tui.plans import planned
from tests.tui.scripted import ScriptedRun
from tui_tuner.session import events
from tui_tuner.session.plan import AddStep, DeleteStep, EditStep, MoveStep, Thaw
from tui_tuner.strategies.steps import Proposal, Step, StepState
from tui_tuner.tui.dialogs import StepDialog, ThawDialog

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])


@pytest.mark.slow
@SIZES
async def test_a_step_is_added_before_the_selected_one(started: Started, size: tuple[int, int]) -> None:
    run = planned()
    async with started(run, size=size) as pilot:
        await pilot.press("2", "down")
        for key in ("n", "+", "insert"):
            run.told.clear()
            await pilot.press(key, *"Use a[i]", "tab", *"at once", "enter", *"and more", "ctrl+s")
            await settled(pilot)
            assert run.told == [AddStep(title="Use a[i]", detail="at once\nand more", before=2)], key
            assert focused_pane(pilot.app) == 2


@pytest.mark.slow
async def test_a_step_is_added_at_the_end_where_the_selected_one_is_done_or_there_is_none(started: Started) -> None:
    run, empty = planned(), ScriptedRun(scripted.opening(), stays=True)
    for each in (run, empty):
        async with started(each) as pilot:
            await pilot.press("2", "n", *"Unroll", "enter")
            await settled(pilot)
            assert each.told == [AddStep(title="Unroll", before=None)]


@pytest.mark.slow
@SIZES
async def test_a_step_that_was_added_is_selected_and_in_view_once_it_is_there(
    started: Started, size: tuple[int, int]
) -> None:
    there = asyncio.Event()
    added = Step(id=30, title="Unroll by hand", by_user=True)
    many = [events.StepChanged(step=Step(id=number, title=f"Try {number}")) for number in range(5, 30)]
    theirs = events.StepChanged(step=Step(id=31, title="Unroll by hand too", by_user=True))
    run = planned(*many, there, events.StepChanged(step=added), theirs)
    async with started(run, size=size) as pilot:
        await pilot.press("2", "n", *"Unroll by hand", "enter")
        await settled(pilot)
        assert selected_step(pilot.app) == 1
        there.set()
        await settled(pilot)
        assert selected_step(pilot.app) == 30
        assert "· 30 you> Unroll by hand" in screen_text(pilot.app)


@pytest.mark.slow
async def test_the_dialog_of_a_step_of_ones_own_shows_an_example_until_something_is_typed(started: Started) -> None:
    async with started(planned()) as pilot:
        await pilot.press("2", "n")
        await settled(pilot)
        assert "as in: Read four elements" in screen_text(pilot.app)
        assert "as in: Let each thread" in screen_text(pilot.app)
        await pilot.press("a", "tab", "b")
        await settled(pilot)
        assert "as in" not in screen_text(pilot.app)


@pytest.mark.slow
async def test_a_step_without_a_title_is_not_added(started: Started) -> None:
    run = planned()
    async with started(run) as pilot:
        await pilot.press("2", "n", "space", "enter")
        await settled(pilot)
        assert isinstance(pilot.app.screen, StepDialog)
        assert notices(pilot.app) == ["A step needs a title."]
        assert run.told == []


@pytest.mark.slow
async def test_title_and_detail_of_a_step_are_edited(started: Started) -> None:
    run = planned()
    async with started(run) as pilot:
        await pilot.press("2", "down")
        for key in ("enter", "f6"):
            run.told.clear()
            await pilot.press(key, "end", *" of B", "enter")
            await settled(pilot)
            assert run.told == [EditStep(step=2, title="Vectorised loads of B", detail=scripted.STEPS[1].detail)], key


@pytest.mark.slow
async def test_esc_leaves_the_dialogs_and_nothing_is_told(started: Started) -> None:
    run = ScriptedRun(plans.whole_plan(), stays=True)
    async with started(run) as pilot:
        for key, leaving in (("n", 2), ("enter", 2), ("t", 1)):
            await pilot.press("2", "end", key, "x", "tab", *["escape"] * leaving)
            await settled(pilot)
            assert pilot.app.screen is pilot.app.session_screen
        assert run.told == []


MOVES = [
    (["end", "K"], MoveStep(step=4, before=3)),
    (["end", "shift+up"], MoveStep(step=4, before=3)),
    (["down", "J"], MoveStep(step=2, before=4)),
    (["j", "j", "shift+down"], MoveStep(step=3, before=None)),
]


@pytest.mark.slow
async def test_a_step_is_moved(started: Started) -> None:
    run = planned()
    async with started(run) as pilot:
        await pilot.press("2")
        for keys, move in MOVES:
            run.told.clear()
            await pilot.press("home", *keys)
            await settled(pilot)
            assert run.told == [move], keys


@pytest.mark.slow
async def test_keys_pressed_in_a_row_move_a_step_on_and_on(started: Started) -> None:
    class Obedient(ScriptedRun):
        def tell(self, instruction: object) -> bool:
            assert isinstance(instruction, MoveStep)
            self.told.append(instruction)
            order = [4, 2, 3] if instruction.before == 2 else [2, 4, 3]
            app.session_screen.receive(events.PlanOrdered(order=[1, *order]))
            return True

    run = Obedient(planned().script, stays=True)
    async with started(run) as pilot:
        app = pilot.app
        await pilot.press("2", "end", "K", "K", "K")
        await settled(pilot)
        assert [told.before for told in run.told] == [3, 2]
        assert steps_shown(app) == [1, 4, 2, 3]
        assert notices(app) == ["Step 4 is the first of the steps to come."]


@pytest.mark.slow
async def test_a_step_is_deleted_without_a_question(started: Started) -> None:
    run = planned()
    async with started(run) as pilot:
        for key in ("x", "delete"):
            run.told.clear()
            await pilot.press("2", "end", key)
            await settled(pilot)
            assert run.told == [DeleteStep(step=4)], key


@pytest.mark.slow
async def test_a_step_that_is_no_longer_to_come_stays_and_a_notice_says_why(started: Started) -> None:
    run = planned()
    async with started(run) as pilot:
        for key in ("K", "J", "x"):
            pilot.app.clear_notifications()
            await pilot.press("2", key)
            await settled(pilot)
            assert run.told == [], key
            await pilot.press(key)
            await settled(pilot)
            assert notices(pilot.app) == ["Step 1 is accepted: only steps still to come can be changed."], key
            assert len(pilot.app.screen.query(Toast)) == 1, key


@pytest.mark.slow
@SIZES
@pytest.mark.parametrize("is_over", [False, True])
async def test_all_about_a_step_that_cannot_be_changed_is_read_to_its_end(
    started: Started, size: tuple[int, int], is_over: bool
) -> None:
    detail = "\n".join(f"- edit {number} of `a[{number}]`" for number in range(60))
    done = scripted.step(1, StepState.REJECTED, reason="slower: the tile spills", factor=(0.8, 0.7, 0.9), detail=detail)
    end = events.SessionFinished(status="no_improvement", reason="done", evaluations=0, model_calls=0)
    run = ScriptedRun([*scripted.opening(), done, *([end] if is_over else [])], stays=True)
    async with started(run, size=size) as pilot:
        await pilot.press(*(["escape"] if is_over else []), "2", "enter")
        await settled(pilot)
        shown = screen_text(pilot.app)
        assert "Step 1: Tile through shared memory" in shown
        assert "✗ rejected 0.80x [0.70,0.90]" in shown
        assert "slower: the tile spills" in shown
        assert "edit 0 of a[0]" in shown
        await pilot.press("G")
        await settled(pilot)
        assert "edit 59 of a[59]" in screen_text(pilot.app)
        await pilot.press("escape")
        assert pilot.app.screen is pilot.app.session_screen
        assert run.told == []


@pytest.mark.slow
@SIZES
async def test_a_held_tunable_is_chosen_and_thawed(started: Started, size: tuple[int, int]) -> None:
    run = ScriptedRun(plans.whole_plan(), stays=True)
    async with started(run, size=size) as pilot:
        for key in ("t", "f7"):
            run.told.clear()
            await pilot.press("2", key)
            await settled(pilot)
            assert isinstance(pilot.app.screen, ThawDialog), key
            assert "tile_size    = 64" in screen_text(pilot.app)
            await pilot.press("down", "enter")
            await settled(pilot)
            assert run.told == [Thaw(name="tile_size")]


@pytest.mark.slow
async def test_a_replay_says_that_it_cannot_be_changed(started: Started) -> None:
    run = planned()
    run.is_replay = True
    async with started(run) as pilot:
        await pilot.press("2", "end", "x")
        await settled(pilot)
        assert notices(pilot.app) == ["This is a replay: nothing can be asked or changed."]


@pytest.mark.slow
async def test_a_session_that_is_over_is_told_nothing(started: Started) -> None:
    run = ScriptedRun(scripted.finished())
    async with started(run) as pilot:
        await pilot.press("escape", "2")
        await settled(pilot)
        assert screen_text(pilot.app).splitlines()[-1].strip().startswith("⏎ open step  d view  o sort")
        await pilot.press("n", "x", "c", *"hm", "enter")
        await settled(pilot)
        assert run.told == []
        shown = screen_text(pilot.app)
        assert "the session is over" in shown
        assert "you> the session" not in shown


@pytest.mark.slow
async def test_a_question_while_a_step_is_being_edited_waits_behind_the_dialog(started: Started) -> None:
    gate = asyncio.Event()
    run = planned(gate, Proposal(step=scripted.STEPS[0], candidate=scripted.TILES))
    async with started(run) as pilot:
        await pilot.press("2", "end", "enter", "end")
        gate.set()
        await settled(pilot)
        await pilot.press("a", "s", "f2", "enter")
        await settled(pilot)
        assert run.decisions == []
        assert run.told == [EditStep(step=4, title="Unroll the inner loopas", detail=scripted.STEPS[3].detail)]
