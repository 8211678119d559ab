"""What the four panes show and how they react."""

from __future__ import annotations

import asyncio
import re

import pytest
from textual.widgets import Static, TextArea

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import focused_pane, notices, screen_text, table_text
from tests.tui.scripted import ScriptedRun
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.session import events
from tui_tuner.session.plan import AddStep
from tui_tuner.strategies.steps import Proposal, Step, StepState
from tui_tuner.tui.dialogs import MessageDialog
from tui_tuner.tui.dialogs.sources import RowDialog
from tui_tuner.tui.panes.chat_entries import Fold
from tui_tuner.tui.panes.chat_pane import ChatLog
from tui_tuner.tui.panes.kernel_pane import NO_SOURCE, KernelPane
from tui_tuner.tui.panes.plan_pane import StepList
from tui_tuner.tui.player import Player
from tui_tuner.tui.tables import FilterLine
from tui_tuner.tui.tables.evaluation_table import EvaluationTable


@pytest.mark.slow
async def test_the_plan_shows_marks_factors_states_and_reasons(started: Started) -> None:
    run = ScriptedRun(scripted.finished())
    async with started(run) as pilot:
        await pilot.press("escape")
        await settled(pilot)
        text = screen_text(pilot.app)
        for part in (
            "✓  2 Vectorised loads",
            "1.13x [1.11,1.15]",
            "✗  3 Double buffering",
            "–  4 Unroll",  # noqa: RUF001  # the mark of a skipped step
            "skipped by you",
        ):
            assert part in text


@pytest.mark.slow
async def test_the_selected_step_shows_its_detail(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("2", "down", "down")
        await settled(pilot)
        assert "Load the next tile" in screen_text(pilot.app)


@pytest.mark.slow
async def test_text_that_looks_like_markup_is_shown_as_it_stands(started: Started) -> None:
    evil = "a[i] = b; [/x] [red]"
    candidate = scripted.TILES.model_copy(update={"title": evil, "source": f"// {evil}\nint a;\n"})
    failure = scripted.failed(candidate, 1, FailureKind.COMPILE, evil, evil)
    step = Step(id=1, title=evil, state=StepState.AWAITING, reason=evil)
    run = ScriptedRun(
        [
            *scripted.opening(),
            events.Note(text=evil),
            events.StepChanged(step=step),
            *scripted.evaluation(1, failure),
            events.PromptSent(call=1, purpose=evil, text=evil, tokens=1),
            events.ModelText(call=1, text=evil, thinking=evil),
            events.ReplyRefused(call=1, problems=[evil]),
            Proposal(step=step, candidate=candidate, rationale=evil),
        ],
        stays=True,
    )
    async with started(run, size=(200, 50)) as pilot:
        assert screen_text(pilot.app).count(evil) >= 5  # the review: its title and rationale, the diff, the question
        await pilot.press("escape")
        await settled(pilot)
        assert screen_text(pilot.app).count(evil) >= 8
        await pilot.press("3", "enter")
        await settled(pilot)
        assert isinstance(pilot.app.screen, RowDialog)
        assert screen_text(pilot.app).count(evil) >= 3


@pytest.mark.slow
async def test_a_row_shows_its_result_source_and_diff_to_copy_and_to_go_on_from(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run, size=(120, 50)) as pilot:
        await settled(pilot)
        await pilot.press("3", "j", "j", "enter")
        await settled(pilot)
        assert "[result] source  diff" in screen_text(pilot.app)
        await pilot.press("d")
        await settled(pilot)
        assert "result [source] diff" in screen_text(pilot.app)
        assert scripted.TILES.source.splitlines()[1].strip() in screen_text(pilot.app)
        await pilot.press("y")
        assert pilot.app.clipboard == scripted.TILES.source
        await pilot.press("d")
        await settled(pilot)
        assert re.search(r"\+\d+ -\d+ lines", screen_text(pilot.app))
        await pilot.press("p")
        await settled(pilot)
        assert run.told == [AddStep(title="Go on from Tile through shared memory", base=scripted.TILES.id)]
        await pilot.press("G", "enter", "p")
        await settled(pilot)
        assert run.told[1:] == [AddStep(title="Go on from the kernel as given", base=scripted.BASELINE.id)]


@pytest.mark.slow
@pytest.mark.parametrize("replayed", [False, True])
async def test_no_step_is_offered_from_a_row_of_a_session_that_takes_none(started: Started, replayed: bool) -> None:
    run = ScriptedRun(scripted.running() if replayed else scripted.finished(), stays=not replayed)
    async with started(Player(run) if replayed else run, size=(120, 50)) as pilot:
        if isinstance(pilot.app.screen, MessageDialog):
            await pilot.press("escape")
        await pilot.press("3", "enter")
        await settled(pilot)
        dialog = pilot.app.screen
        assert isinstance(dialog, RowDialog)
        assert "next view" in screen_text(pilot.app)
        assert "a step from here" not in screen_text(pilot.app)
        await pilot.press("p")
        await settled(pilot)
        assert pilot.app.screen is dialog
        assert run.told == []
        assert notices(pilot.app) == []


async def test_control_characters_of_a_model_do_not_reach_the_terminal(started: Started) -> None:
    run = ScriptedRun([*scripted.opening(), events.ModelText(call=1, text="safe\x1b]52;c;eA==\x07\x9b2J")], stays=True)
    async with started(run) as pilot:
        text = screen_text(pilot.app)
        assert "safe" in text
        assert "\x1b" not in text
        assert "\x9b" not in text


async def test_rows_stand_newest_first_or_fastest_first(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        assert table_text(pilot.app)[0].startswith("32 ")
        await pilot.press("o")
        await settled(pilot)
        rows = table_text(pilot.app)
        assert rows[0].startswith("★30 ")
        assert {row.split()[0] for row in rows[-4:]} == {"32", "23", "17", "9"}


@pytest.mark.slow
async def test_an_expression_filters_and_one_that_is_none_is_told_beside_the_input(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await settled(pilot)
        await pilot.press("3", "slash", *"status == failed")
        await settled(pilot)
        failed = table_text(pilot.app)
        assert len(failed) == 3
        assert all("✗" in row for row in failed)
        await pilot.press(*" and tme < 1")
        await settled(pilot)
        assert "unknown name 'tme': did you mean 'time'?" in screen_text(pilot.app)
        assert table_text(pilot.app) == failed
        await pilot.press("enter")
        await settled(pilot)
        assert table_text(pilot.app) == failed
        await pilot.press("escape")  # from the table as well
        await settled(pilot)
        assert len(table_text(pilot.app)) > 3
        await pilot.press("slash", "enter")
        await settled(pilot)
        assert "Esc shows all" not in screen_text(pilot.app)
        everything = table_text(pilot.app)
        await pilot.press("slash", *"tile > 1")
        await settled(pilot)
        assert "unknown name 'tile'" in " ".join(screen_text(pilot.app).split())
        assert table_text(pilot.app) == everything, "some contain the word that was typed first"


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_all_of_what_is_wrong_with_a_filter_can_be_read(started: Started, size: tuple[int, int]) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True), size=size) as pilot:
        await pilot.press("3", "f", "slash")
        line = pilot.app.screen.query_one(FilterLine)
        for typed, heights in (("x > 20", range(2, 5)), (" and", range(1, 2))):
            await pilot.press(*typed)
            await settled(pilot)
            fault = str(line.query_one("#filter-fault", Static).render())
            shown = " ".join(line.strip(" │") for line in screen_text(pilot.app).splitlines())
            assert fault
            assert fault in " ".join(shown.split())
            assert line.size.height in heights
            assert "wrong_result" not in fault, "it can be compared with, and says nothing of what can be compared"


@pytest.mark.slow
async def test_the_filter_shows_only_matching_rows_and_esc_shows_all(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("3", "slash", *"wrong")
        await settled(pilot)
        assert [row.split()[0] for row in table_text(pilot.app)] == ["17"]
        await pilot.press("escape")
        await settled(pilot)
        assert len(table_text(pilot.app)) == 32
        assert focused_pane(pilot.app) == 3


@pytest.mark.slow
async def test_the_selected_row_stays_selected_while_new_rows_arrive(started: Started) -> None:
    gate = asyncio.Event()
    late = [gate, *scripted.evaluation(40, scripted.measured(scripted.TILES, 40, 0.09))]
    async with started(ScriptedRun([*scripted.running(), *late], stays=True)) as pilot:
        await pilot.press("3", "down", "down")
        table = pilot.app.screen.query_one(EvaluationTable)
        assert table.selected_key == "30"
        gate.set()
        await settled(pilot)
        assert table.row_count == 33
        assert table.selected_key == "30"


@pytest.mark.slow
async def test_enter_shows_the_log_of_a_failure(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("3", "slash", *"comp", "enter", "enter")
        await settled(pilot)
        text = screen_text(pilot.app)
        assert "sum += tile[i] = a[k];" in text
        assert "block_size_y = 32" in text


async def test_cpu_times_are_called_so_in_header_and_table(started: Started) -> None:
    script = [*scripted.opening(scripted.EMULATOR), *scripted.evaluation(1, scripted.measured(scripted.TILES, 1, 9.1))]
    async with started(ScriptedRun(script, stays=True)) as pilot:
        lines = screen_text(pilot.app).split("\n")
        assert "CPU ms (emulator)" in lines[0]
        assert any("#" in line and "CPU ms" in line for line in lines[1:])


@pytest.mark.slow
async def test_views_of_the_kernel_follow_the_session(started: Started) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True)) as pilot:
        pane = pilot.app.screen.query_one(KernelPane)
        assert pane.view == "diff"
        assert "float4 a = reinterpret_cast" in str(pane.query_one("#diff-text", Static).content)
        await pilot.press("d")
        await settled(pilot)
        assert pane.query_one("#view-best", TextArea).text == scripted.TILES.source
        await pilot.press("d")
        await settled(pilot)
        assert pane.query_one("#view-source", TextArea).text == scripted.VECTORS.source


@pytest.mark.parametrize(("language", "word"), [("cuda", "__shared__"), ("opencl", "__local"), ("c", "static")])
async def test_sources_of_every_language_are_highlighted(started: Started, language: str, word: str) -> None:
    source = f"{word} float tile[4]; // words\n"
    first = scripted.opening()[0].model_copy(
        update={"language": language, "baseline": scripted.BASELINE.model_copy(update={"source": source})}
    )
    async with started(ScriptedRun([first], stays=True)) as pilot:
        area = pilot.app.screen.query_one("#view-source", TextArea)
        styles = {(span.start, span.end) for span in area.get_line(0).spans}
        styles |= {(start, end) for start, end, _ in area._highlights[0]}
        assert (0, len(word)) in styles
        assert any(name == "comment" for _, _, name in area._highlights[0])


@pytest.mark.slow
async def test_a_prompt_opens_and_closes_by_key(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("4", "[", "[", "enter")
        await settled(pilot)
        prompt = pilot.app.screen.query_one(ChatLog).query(Fold).first()
        assert prompt.is_open
        assert "You improve a CUDA kernel." in str(prompt.query_one(".fold-text", Static).content)
        await pilot.press("enter")
        assert not prompt.is_open


@pytest.mark.slow
async def test_a_streamed_reply_and_its_whole_are_one_entry(started: Started) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True)) as pilot:
        await pilot.press("escape")
        await settled(pilot)
        assert len(pilot.app.screen.query(".reply")) == 1
        assert "2,953 tokens, $0.02" in screen_text(pilot.app)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_letters_go_to_panes_steps_and_rows(started: Started, size: tuple[int, int]) -> None:
    async with started(ScriptedRun(scripted.awaiting()[:-1], stays=True), size) as pilot:
        app = pilot.app
        await pilot.press("3")
        await settled(pilot)

        async def letter_at(x: int, y: int) -> str:
            await pilot.press("semicolon")
            await pilot.pause()
            return next(str(one.render()) for one in app.screen.query(".jump-letter") if one.region.offset == (x, y))

        table = app.session_screen.query_one(EvaluationTable)
        await pilot.press(await letter_at(table.region.x, table.region.y + 2))
        assert (app.focused, table.cursor_row) == (table, 1)
        other = app.session_screen.query_one("#pane-2")
        place = (other.region.x + 1, other.region.y) if other.display else (12, 1)
        await pilot.press(await letter_at(*place))
        await settled(pilot)
        assert focused_pane(app) == 2
        steps = app.session_screen.query_one(StepList)
        await pilot.press(await letter_at(steps.content_region.x - 1, steps.content_region.y))
        assert (app.focused, steps.highlighted) == (steps, 0)
        await pilot.press("semicolon", "q")
        assert (len(app.screen_stack), app.is_running, focused_pane(app)) == (1, True, 2)


@pytest.mark.slow
async def test_nothing_is_under_way_nor_awaits_the_user_once_the_session_was_interrupted(started: Started) -> None:
    end = events.SessionFinished(status="interrupted", reason="the record ends here", evaluations=31, model_calls=2)
    begun = [entry for entry in scripted.awaiting() if not isinstance(entry, Proposal)]
    for size in ((80, 24), (160, 50)):
        ends = asyncio.Event()
        async with started(ScriptedRun([*begun, scripted.step(3, StepState.RUNNING), ends, end]), size=size) as pilot:
            ends.set()
            await settled(pilot)
            await pilot.press("escape", "2")
            await settled(pilot)
            shown = screen_text(pilot.app)
            assert shown.count("when the session ended") == 2
            await pilot.press("3")
            await settled(pilot)
            shown += screen_text(pilot.app)
            assert not any(word in shown for word in ("awaiting", "running", "step 2:", "step 3:")), shown


@pytest.mark.parametrize("size", [(60, 20), (100, 30)])
async def test_that_there_is_no_source_is_told_in_plain_words_that_fit(started: Started, size: tuple[int, int]) -> None:
    begins = scripted.opening()[0].model_copy(update={"baseline": scripted.BASELINE.edited("")})
    async with started(ScriptedRun([begins, *scripted.opening()[1:]], stays=True), size=size) as pilot:
        assert NO_SOURCE in screen_text(pilot.app)
        assert pilot.app.screen.query_one("#view-source", TextArea).language is None
