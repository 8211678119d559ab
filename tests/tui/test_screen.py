"""What keys and events do to the screen."""

from __future__ import annotations

import asyncio

import pytest
from textual.widgets import Input, OptionList, Static, TextArea

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.scripted import ScriptedRun
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.session import events
from tui_tuner.strategies.steps import Decision, Proposal, Step, StepState
from tui_tuner.tui.app import TunerApp
from tui_tuner.tui.approval_bar import ApprovalBar
from tui_tuner.tui.chat_entries import Fold
from tui_tuner.tui.dialogs.editor import EditorDialog
from tui_tuner.tui.dialogs.message import MessageDialog
from tui_tuner.tui.dialogs.quit import QuitDialog
from tui_tuner.tui.evaluation_table import EvaluationTable
from tui_tuner.tui.panes.chat import ChatLog
from tui_tuner.tui.panes.kernel import KernelPane
from tui_tuner.tui.panes.pane import Pane


def screen_text(app: TunerApp) -> str:
    """Everything that the terminal shows."""
    width, height = app.size
    lines = app.screen._compositor.render_strips()[:height]
    return "\n".join(line.text[:width] for line in lines)


def table_text(app: TunerApp) -> list[str]:
    table = app.screen_stack[0].query_one(EvaluationTable)
    return [" ".join(cell.plain.strip() for cell in table.get_row_at(row)) for row in range(table.row_count)]


def focused_pane(app: TunerApp) -> int:
    assert app.focused is not None
    return next(node.number for node in app.focused.ancestors_with_self if isinstance(node, Pane))


@pytest.mark.parametrize(
    ("keys", "decision"),
    [
        (["a"], Decision(action="approve")),
        (["f2"], Decision(action="approve")),
        (["s"], Decision(action="skip")),
        (["f4"], Decision(action="skip")),
        (["r", "enter"], Decision(action="reject")),
        (["r", *"b[i] a", "enter"], Decision(action="reject", message="b[i] a")),
    ],
)
async def test_keys_answer_the_step_that_awaits(started: Started, keys: list[str], decision: Decision) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        assert pilot.app.screen.query_one(ApprovalBar).display
        await pilot.press(*keys)
        await settled(pilot)
        assert run.decisions == [decision]
        assert not pilot.app.screen.query_one(ApprovalBar).display


async def test_approve_all_answers_this_step_and_those_that_follow_until_asked_again(started: Started) -> None:
    second, third = (
        Proposal(step=scripted.STEPS[index], candidate=scripted.VECTORS) for index in (2, 3)
    )
    gate = asyncio.Event()
    run = ScriptedRun([*scripted.awaiting(), second, gate, third], stays=True)
    async with started(run) as pilot:
        await pilot.press("A")
        await settled(pilot)
        assert [decision.action for decision in run.decisions] == ["approve", "approve"]
        await pilot.press("A")
        gate.set()
        await settled(pilot)
        assert len(run.decisions) == 2
        assert "step 4 awaits you" in screen_text(pilot.app)


async def test_a_key_pressed_at_once_does_not_answer_a_question_that_just_appeared(started: Started) -> None:
    now = 100.0
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run, grace_s=0.4, clock=lambda: now) as pilot:
        await pilot.press("a", "s", "A", "r")
        await settled(pilot)
        assert run.decisions == []
        assert not isinstance(pilot.app.focused, Input)
        now = 100.5
        await pilot.press("a")
        await settled(pilot)
        assert [decision.action for decision in run.decisions] == ["approve"]


async def test_approval_keys_do_nothing_while_no_step_awaits(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run) as pilot:
        await pilot.press("a", "s", "r", "e", "A")
        await settled(pilot)
        assert pilot.app.screen.query_one("#reason", Input).disabled
        assert not isinstance(pilot.app.screen, EditorDialog)
        assert not pilot.app.session_screen._desk.approves_all


async def test_esc_leaves_the_reason_without_rejecting_and_goes_back_to_the_pane(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("3", "r", *"no")
        assert isinstance(pilot.app.focused, Input)
        await pilot.press("escape")
        await settled(pilot)
        assert run.decisions == []
        assert focused_pane(pilot.app) == 3


async def test_function_keys_answer_while_the_reason_is_being_typed(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("r", "a", "f2")
        await settled(pilot)
        assert run.decisions == [Decision(action="approve")]


async def test_editing_in_the_app_approves_the_changed_source(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("e")
        await settled(pilot)
        assert isinstance(pilot.app.screen, EditorDialog)
        await pilot.press("x", "ctrl+s")
        await settled(pilot)
        assert run.decisions == [Decision(action="edit", source="x" + scripted.VECTORS.source)]


@pytest.mark.parametrize("keys", [["ctrl+s"], ["x", "escape"]])
async def test_an_unchanged_or_given_up_edit_leaves_the_step_waiting(started: Started, keys: list[str]) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("e")
        await settled(pilot)
        await pilot.press(*keys)
        await settled(pilot)
        assert run.decisions == []
        assert pilot.app.session_screen.query_one(ApprovalBar).display


async def test_an_editor_that_the_terminal_cannot_be_handed_to_gives_way_to_the_dialog(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("e")
        await settled(pilot)
        assert isinstance(pilot.app.screen, EditorDialog)


async def test_the_plan_shows_marks_factors_states_and_reasons(started: Started) -> None:
    run = ScriptedRun(scripted.finished())
    async with started(run) as pilot:
        await pilot.press("escape")
        await settled(pilot)
        text = screen_text(pilot.app)
        for part in ("✓  2 Vectorised loads", "1.13x [1.11,1.15]", "✗  3 Double buffering", "–  4 Unroll", "skipped by you"):  # noqa: RUF001
            assert part in text


async def test_the_selected_step_shows_its_detail(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("2", "down", "down")
        await settled(pilot)
        assert "Load the next tile" in screen_text(pilot.app)


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
        text = screen_text(pilot.app)
        assert text.count(evil) >= 8
        await pilot.press("3", "enter")
        await settled(pilot)
        assert isinstance(pilot.app.screen, MessageDialog)
        assert screen_text(pilot.app).count(evil) >= 3


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


async def test_the_filter_shows_only_matching_rows_and_esc_shows_all(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("slash", *"wrong n=1000")
        await settled(pilot)
        assert [row.split()[0] for row in table_text(pilot.app)] == ["17"]
        await pilot.press("escape")
        await settled(pilot)
        assert len(table_text(pilot.app)) == 32
        assert focused_pane(pilot.app) == 3


async def test_the_selected_row_stays_selected_while_new_rows_arrive(started: Started) -> None:
    gate = asyncio.Event()
    late = [gate, *scripted.evaluation(40, scripted.measured(scripted.TILES, 40, 0.09))]
    async with started(ScriptedRun([*scripted.running(), *late], stays=True)) as pilot:
        await pilot.press("3", "down", "down")
        table = pilot.app.screen.query_one(EvaluationTable)
        assert table.selected_number == 30
        gate.set()
        await settled(pilot)
        assert table.row_count == 33
        assert table.selected_number == 30


async def test_enter_shows_the_log_of_a_failure(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("slash", *"compile", "enter", "enter")
        await settled(pilot)
        text = screen_text(pilot.app)
        assert "sum += tile[i] = a[k];" in text
        assert "block_size_y = 32" in text


async def test_cpu_times_are_called_so_in_header_and_table(started: Started) -> None:
    script = [*scripted.opening(scripted.EMULATOR), *scripted.evaluation(1, scripted.measured(scripted.TILES, 1, 9.1))]
    async with started(ScriptedRun(script, stays=True)) as pilot:
        lines = screen_text(pilot.app).split("\n")
        assert "CPU ms (emulator)" in lines[0]
        assert any("#" in line and "CPU ms (emulator)" in line for line in lines[1:])


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


async def test_a_prompt_opens_and_closes_by_key(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("4", "[", "[", "enter")
        await settled(pilot)
        prompt = pilot.app.screen.query_one(ChatLog).query(Fold).first()
        assert prompt.is_open
        assert "You improve a CUDA kernel." in str(prompt.query_one(".fold-text", Static).content)
        await pilot.press("enter")
        assert not prompt.is_open


async def test_a_streamed_reply_and_its_whole_are_one_entry(started: Started) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True)) as pilot:
        assert len(pilot.app.screen.query(".reply")) == 1
        assert "2,953 tokens, $0.02" in screen_text(pilot.app)


async def test_narrow_screens_show_one_pane_and_keep_the_focus_over_a_resize(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("3")
        await pilot.resize_terminal(80, 24)
        await settled(pilot)
        shown = [pane.number for pane in pilot.app.screen.query(Pane) if pane.display]
        assert shown == [3]
        assert focused_pane(pilot.app) == 3
        await pilot.press("alt+4")
        assert focused_pane(pilot.app) == 4
        await pilot.resize_terminal(120, 36)
        await settled(pilot)
        assert all(pane.display for pane in pilot.app.screen.query(Pane))
        assert focused_pane(pilot.app) == 4


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (100, 30), (120, 36), (200, 50)])
async def test_nothing_lies_outside_the_terminal(started: Started, size: tuple[int, int]) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True), size=size) as pilot:
        for widget in [*pilot.app.screen.children, *pilot.app.screen.query(Pane)]:
            assert widget.region.right <= size[0]
            assert widget.region.bottom <= size[1]
        assert "approve all" in screen_text(pilot.app)


async def test_one_pane_can_be_maximised_and_given_back(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("2", "f")
        await settled(pilot)
        assert [pane.number for pane in pilot.app.screen.query(Pane) if pane.display] == [2]
        await pilot.press("escape")
        await settled(pilot)
        assert all(pane.display for pane in pilot.app.screen.query(Pane))


async def test_tabs_mark_the_plan_while_a_step_awaits_and_can_be_clicked(started: Started) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True), size=(80, 24)) as pilot:
        line = screen_text(pilot.app).split("\n")[1]
        assert "2 Plan ○" in line
        await pilot.click("#tabs", offset=(line.index("2 Plan"), 0))
        await settled(pilot)
        assert isinstance(pilot.app.focused, OptionList)


async def test_leaving_asks_and_names_the_command_that_resumes(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run) as pilot:
        await pilot.press("q")
        await settled(pilot)
        assert isinstance(pilot.app.screen, QuitDialog)
        assert "tuner-tui resume matmul-20261120-1432" in screen_text(pilot.app)
        await pilot.press("escape")
        await settled(pilot)
        assert not run.closed
        await pilot.press("ctrl+c", "l")
        await pilot.pause()
        assert run.closed
        assert pilot.app.return_value == "interrupted"


async def test_a_second_ctrl_c_leaves_also_while_a_step_awaits(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("r", "ctrl+c")
        await settled(pilot)
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert run.closed
        assert run.decisions == []


async def test_a_finished_session_shows_its_result_and_is_left_at_once(started: Started) -> None:
    async with started(ScriptedRun(scripted.finished())) as pilot:
        text = screen_text(pilot.app)
        for part in ("1.83x [1.80,1.86]", "result.json", "best.*", "tuner-tui replay matmul-20261120-1432"):
            assert part in text
        await pilot.press("escape", "q")
        await pilot.pause()
        assert pilot.app.return_value == "finished"


def test_run_returns_the_status_and_raises_what_broke_the_session() -> None:
    class Broken(ScriptedRun):
        async def events(self, approver: object) -> object:  # type: ignore[override]
            yield scripted.opening()[0]
            raise ConnectionError("runner lost")

    app = TunerApp(Broken([]))
    with pytest.raises(ConnectionError, match="runner lost"):
        app.run(headless=True, size=(80, 24))


async def test_help_shows_and_hides_keys_with_one_key(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await pilot.press("question_mark")
        await settled(pilot)
        assert pilot.app.screen.query("HelpPanel")
        await pilot.press("f1")
        await settled(pilot)
        assert not pilot.app.screen.query("HelpPanel")


async def test_a_keymap_moves_a_key(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run, keymap={"approve": "y"}) as pilot:
        await pilot.press("a")
        await settled(pilot)
        assert run.decisions == []
        assert "y approve" in screen_text(pilot.app)
        await pilot.press("y")
        await settled(pilot)
        assert len(run.decisions) == 1


async def test_the_app_is_readable_without_colour(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with started(ScriptedRun(scripted.awaiting(), stays=True)) as pilot:
        text = screen_text(pilot.app)
        for part in ("✓  1 Tile", "○  2 Vectorised", "awaiting you", "3 + ", "5 - ", "★30", "[diff]"):
            assert part in text


async def test_the_loop_stays_responsive_under_a_thousand_events_a_second(started: Started) -> None:
    def flood() -> list[object]:
        entries: list[object] = []
        for number in range(1, 251):
            entries += scripted.evaluation(number, scripted.measured(scripted.TILES, number, 0.2 - number / 2000))
            entries += [events.ModelText(call=1, text="word "), events.ModelText(call=1, thinking="hm ")] * 3
            entries.append(0.008)
        return entries

    lags: list[float] = []

    async def measure() -> None:
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(0.01)
            lags.append(loop.time() - before - 0.01)

    async with started(ScriptedRun([*scripted.opening(), 0.5, *flood()], stays=True)) as pilot:
        await pilot.pause(0.5)
        task = asyncio.create_task(measure())
        await pilot.pause(2.5)
        task.cancel()
        await settled(pilot)
        assert len(table_text(pilot.app)) > 100
        assert sorted(lags)[int(len(lags) * 0.95)] < 0.05
        assert max(lags) < 1.0


