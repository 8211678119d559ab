"""The screen of a Tensile session: the configuration, the sizes, the question, the end; attached, the same."""

from __future__ import annotations

import asyncio
import csv
from contextlib import aclosing
from pathlib import Path

import pytest
from textual.widgets import Static, TextArea

from tests.tensile.screen import script as tensile_script
from tests.tensile.screen.script import tensile_run
from tests.tensile.sessions.replies import DEEPER, STOP
from tests.tensile.sessions.world import Told, World, model
from tests.tui.conftest import Started, settled
from tests.tui.looking import focused_pane, notices, screen_text, view_model_of
from tests.tui.test_snapshots import MEDIUM, SMALL, Compare, after
from tests.waiting import reached
from tui_tuner.app.attaching import AnswersElsewhere
from tui_tuner.journal.runs import is_driven
from tui_tuner.session.events import ApprovalGiven, Event
from tui_tuner.session.live import WatchedRun
from tui_tuner.session.plan import Say
from tui_tuner.strategies.steps import Decision
from tui_tuner.tensile.events import BenchmarkFinished, BenchmarkOutput
from tui_tuner.tensile.screen import TensileView
from tui_tuner.tensile.screen_table import SizeTable
from tui_tuner.tensile.session import TensileSession
from tui_tuner.tui.app import TunerApp
from tui_tuner.tui.dialogs.control_dialog import choices
from tui_tuner.tui.dialogs.sources import EditorDialog
from tui_tuner.tui.help import HelpPage
from tui_tuner.tui.panes.kernel_pane import KernelPane
from tui_tuner.tui.plan_lines import proposal_facts
from tui_tuner.tui.text import Paragraphs
from tui_tuner.tui.text.highlighting import style_of


def sizes_text(app: TunerApp) -> list[str]:
    table = app.screen_stack[0].query_one(SizeTable)
    return [" ".join(text.strip() for text in table.texts_at(row)) for row in range(table.row_count)]


@pytest.mark.slow
async def test_the_configuration_takes_the_kernels_place_and_its_keys_are_listed_and_no_others(
    started: Started,
) -> None:
    async with started(tensile_run(tensile_script.two_runs(), stays=True)) as pilot:
        pane = pilot.app.screen.query_one(KernelPane)
        assert "1 Configuration" in screen_text(pilot.app)
        assert "measuring" not in screen_text(pilot.app)
        await pilot.press("d")
        await settled(pilot)
        assert "GlobalSplitU: [1, 4, 8]" in str(pane.query_one("#diff-text", Static).content)
        await pilot.press("d")
        await settled(pilot)
        assert pane.query_one("#view-best", TextArea).text == tensile_script.WIDER
        assert "in force since round 1" in screen_text(pilot.app)
        await pilot.press("3")
        assert not {"h", "equals_sign"} & pilot.app.screen.active_bindings.keys(), "nothing to do here"
        assert "chart" not in screen_text(pilot.app).split("\n")[-1]
        await pilot.press("question_mark")
        help_page = str(pilot.app.screen.query_one(HelpPage).query_one(Paragraphs)._content)
        assert "Sort the benchmarks" in help_page
        assert "next chart" not in help_page


@pytest.mark.slow
async def test_what_is_told_of_a_size_goes_on_below_itself_where_it_is_too_long_for_a_line(started: Started) -> None:
    async with started(tensile_run(tensile_script.awaiting(), stays=True), size=(48, 40)) as pilot:
        await pilot.press("3", "enter")
        await settled(pilot)
        lines = [line.strip("│ ╭╮").rstrip() for line in screen_text(pilot.app).split("\n")]
        at = next(number for number, line in enumerate(lines) if line.startswith("1     9,310"))
        below = screen_text(pilot.app).split("\n")[at : at + 2]
        assert below[1].index("[32,32,8") == below[0].index("MatrixInstruction")
        assert "DepthU             = 64" in screen_text(pilot.app)


@pytest.mark.slow
async def test_keys_and_comments_of_a_configuration_are_coloured_where_it_is_shown_and_edited(started: Started) -> None:
    async with started(tensile_run(tensile_script.awaiting(), stays=True)) as pilot:
        await pilot.press("d", "d", "e")
        await settled(pilot)
        variables = pilot.app.theme_variables
        for area in (
            pilot.app.session_screen.query_one("#view-source", TextArea),
            pilot.app.screen.query_one(TextArea),
        ):  # type: ignore[attr-defined]
            number = next(at for at, line in enumerate(area.document.lines) if "# split the long K" in line)
            line = area.get_line(number)
            coloured = {line.plain[span.start : span.end]: span.style for span in line.spans}
            assert coloured == {
                "GlobalSplitU": style_of(variables, "text-secondary", "bold"),
                "# split the long K": style_of(variables, "text-muted", "italic"),
            }


@pytest.mark.slow
async def test_before_the_first_results_there_is_no_configuration_in_force(started: Started) -> None:
    async with started(tensile_run(tensile_script.opening(), stays=True)) as pilot:
        assert "as given" in screen_text(pilot.app)
        await pilot.press("d")
        await settled(pilot)
        assert "nothing to compare with the configuration as given yet" in screen_text(pilot.app)
        assert "no results yet" in screen_text(pilot.app)


@pytest.mark.slow
async def test_problem_sizes_stand_in_place_of_evaluations_and_are_sorted_by_key(started: Started) -> None:
    entries = tensile_script.two_runs()
    swapped = [
        event.model_copy(update={"outcome": event.outcome.model_copy(update={"sizes": event.outcome.sizes[::-1]})})
        if isinstance(event, BenchmarkFinished)
        else event
        for event in entries
    ]
    async with started(tensile_run(swapped, stays=True)) as pilot:
        assert [row.split()[0] for row in sizes_text(pilot.app)] == [
            "4096x4096x1x8192", "1024x1024x1x1024", "256x128x1x4096",
        ]  # fmt: skip
        await pilot.press("o")
        await settled(pilot)
        assert [row.split()[2] for row in sizes_text(pilot.app)] == ["1.23x", "1.04x", "1.00x"]
        assert "[gain]" in screen_text(pilot.app)


@pytest.mark.slow
async def test_a_plan_without_steps_to_come_is_not_offered_to_be_changed(started: Started) -> None:
    run = tensile_run(tensile_script.two_runs(), stays=True)
    async with started(run, size=(160, 50)) as pilot:
        await pilot.press("2", "n", "K", "J", "x", "t")
        await settled(pilot)
        shown = screen_text(pilot.app)
        assert pilot.app.screen is pilot.app.session_screen
        assert notices(pilot.app) == []
        assert "n add" not in shown
        assert "ask, or /hint /stop" in shown
        await pilot.press("question_mark")
        await settled(pilot)
        assert "Add a step of your own" not in screen_text(pilot.app)
        await pilot.press("escape", "c", *"/try it", "enter")
        await settled(pilot)
        assert notices(pilot.app) == ["There are /hint WORDS and /stop."]
        await pilot.press("ctrl+u", *"/hint it", "enter")
        await settled(pilot)
        assert run.told == [Say(text="it")]


def test_there_is_no_other_strategy_and_nothing_else_than_a_configuration_to_accept() -> None:
    words = [each.words for each in choices(view_model_of(tensile_script.two_runs()), plans=TensileView.plans)]
    assert "raise the budget" in words
    assert not [each for each in words if "strategy" in each or "kernel becomes the best" in each]


@pytest.mark.slow
async def test_the_whole_table_is_written_as_a_file(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    begun, *rest = tensile_script.two_runs()
    here = begun.model_copy(update={"directory": str(tmp_path)})
    async with started(tensile_run([here, *rest], stays=True)) as pilot:
        await pilot.press("E")
        await settled(pilot)
    rows = list(csv.DictReader((tmp_path / "table.csv").read_text().splitlines()))
    assert [(row["size"], row["gflops"], row["GlobalSplitU"], row["round"]) for row in rows] == [
        ("256x128x1x4096", "9310.0", "8", "1"),
        ("1024x1024x1x1024", "50140.0", "4", "1"),
        ("4096x4096x1x8192", "119400.0", "", "0"),
    ]


@pytest.mark.slow
async def test_what_is_measured_now_and_the_last_line_of_tensile_are_shown_while_it_runs(started: Started) -> None:
    async with started(tensile_run(tensile_script.measuring(), stays=True)) as pilot:
        assert " · measuring round 1 · 1 run · " in screen_text(pilot.app)
        assert "24 permutations x 3 sizes, 47 s before it · 41% [8/20]" in screen_text(pilot.app)


def test_each_edit_that_awaits_is_told_once_beside_the_diff() -> None:
    lines = tensile_script.STEPS[2].detail
    why = f"Bound by memory:\n\n- **wide** loads\n{lines}\nA fifth more."
    asked = tensile_script.PROPOSAL.model_copy(update={"rationale": why})
    facts = proposal_facts(asked, None, None, lines=True).plain
    assert facts == f"step 3: Round 2\n\nBound by memory:\n\n• wide loads\n\n{lines}\n\nA fifth more."


@pytest.mark.slow
async def test_the_filter_shows_only_matching_sizes(started: Started) -> None:
    async with started(tensile_run(tensile_script.two_runs(), stays=True)) as pilot:
        await pilot.press("3", "slash")
        await settled(pilot)
        shown = screen_text(pilot.app)
        assert "/ filter" in shown
        assert "compare" not in shown, "sizes are not compared"
        assert "words; Esc shows all" in shown
        await pilot.press(*"round=0")
        await settled(pilot)
        assert [row.split()[0] for row in sizes_text(pilot.app)] == ["4096x4096x1x8192"]
        assert "1 of 3 rows" in screen_text(pilot.app)
        await pilot.press("escape")
        await settled(pilot)
        assert len(sizes_text(pilot.app)) == 3


@pytest.mark.slow
async def test_enter_shows_everything_about_a_size_also_after_the_focus_came_before_the_session(
    started: Started,
) -> None:
    async with started(tensile_run([0.2, *tensile_script.two_runs()], stays=True)) as pilot:
        await pilot.press("3")
        await pilot.pause(0.4)
        await settled(pilot)
        assert focused_pane(pilot.app) == 3
        await pilot.press("down", "enter")
        await settled(pilot)
        text = screen_text(pilot.app)
        assert "1024x1024x1x1024" in text
        assert "1.04x the 48,210 of the first run" in text


async def test_what_tensile_prints_cannot_steer_the_terminal(started: Started) -> None:
    evil = BenchmarkOutput(round=1, text="[red]a[/x]\x1b]52;c;eA==\x07\x9b2J")
    async with started(tensile_run([*tensile_script.measuring(), evil], stays=True)) as pilot:
        text = screen_text(pilot.app)
        assert "[red]a[/x]" in text
        assert "\x1b" not in text
        assert "\x9b" not in text


@pytest.mark.slow
async def test_the_question_shows_the_count_of_permutations_and_the_user_may_edit(started: Started) -> None:
    run = tensile_run(tensile_script.awaiting(), stays=True)
    async with started(run, size=SMALL) as pilot:
        assert "[1 Configuration]" in screen_text(pilot.app).split("\n")[1]
        assert "step 3 awaits you: Round 2: 24 -> 48 permutations" in screen_text(pilot.app)
        await pilot.press("e")
        await settled(pilot)
        assert isinstance(pilot.app.screen, EditorDialog)
        await pilot.press("ctrl+home", "x", "ctrl+s")
        await settled(pilot)
        assert run.decisions == [Decision(action="edit", source=f"x{tensile_script.DEEPER}")]


@pytest.mark.slow
async def test_a_failed_run_is_told_with_what_tensile_said_last(started: Started) -> None:
    async with started(tensile_run(tensile_script.finished())) as pilot:
        await pilot.press("escape", "4", "f")
        await settled(pilot)
        assert "! round 2: time-out after 10 min: no results after 600 s" in screen_text(pilot.app)
        await pilot.press("enter")
        await settled(pilot)
        assert "41% [12/48]" in screen_text(pilot.app)


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, MEDIUM], ids=["80x24", "120x36"])
def test_tensile_session(snap_compare: Compare, size: tuple[int, int]) -> None:
    run = tensile_run(tensile_script.awaiting(), title="hgemm_tn.yaml", stays=True)
    app = TunerApp(run, theme="tuner-dark", grace_s=0.0, clock=lambda: 0.0)
    assert snap_compare(app, terminal_size=size, run_before=after("3"))


@pytest.mark.slow
async def test_why_ones_own_version_awaits_one_again_stands_in_the_line_of_the_question(started: Started) -> None:
    why = "Nothing is measured yet: your version of the file cannot be used: line 2: this is not YAML."
    own = tensile_script.DEEP.edited("x" + tensile_script.DEEP.source)
    again = tensile_script.PROPOSAL.model_copy(update={"candidate": own, "rationale": why})
    async with started(tensile_run([*tensile_script.awaiting(), again], stays=True)) as pilot:
        assert why not in screen_text(pilot.app)
        await pilot.press("e", "x", "ctrl+s")
        await settled(pilot)
        assert f"step 3 awaits you: Round 2: {why[:70]}" in screen_text(pilot.app)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_what_tells_the_winners_apart_is_in_view_at_every_size(started: Started, size: tuple[int, int]) -> None:
    async with started(tensile_run(tensile_script.two_runs(), stays=True), size=size) as pilot:
        await pilot.press("3")
        await settled(pilot)
        lines = [line for line in screen_text(pilot.app).split("\n") if "256x128x1x4096" in line]
        assert any("GlobalSplitU 8 Matrix" in line for line in lines)


async def driven(session: TensileSession, told: list[str], story: list[Event]) -> None:
    """The session to its end, with nobody who answers here."""
    async with aclosing(session.events(AnswersElsewhere(told.append))) as stream:
        async for event in stream:
            story.append(event)


@pytest.mark.slow
async def test_the_edits_that_await_are_reviewed_and_approved_from_a_terminal_that_is_attached(
    tmp_path: Path, started: Started
) -> None:
    world, told, story = World(tmp_path), list[str](), list[Event]()
    driving = asyncio.create_task(driven(world.begin(model(DEEPER, STOP)), told, story))
    await reached(lambda: bool(told), driving)
    async with started(WatchedRun(world.path)) as pilot:
        screen = pilot.app.session_screen
        await reached(lambda: screen.is_mounted and "awaits you" in screen_text(pilot.app), driving)
        await settled(pilot)
        assert " gemm.yaml │ attached │ " in screen_text(pilot.app).splitlines()[0]
        shown = screen_text(pilot.app)
        assert "─ Review ─" in shown
        assert "step 2: Round 1" in shown
        await pilot.press("a")
        await driving
    (given,) = [event for event in story if isinstance(event, ApprovalGiven)]
    assert given.decision.action == "approve"


async def test_a_watcher_hears_of_configurations_as_what_they_are(tmp_path: Path) -> None:
    world, here, there = World(tmp_path), list[Event](), Told()
    driving = asyncio.create_task(driven(world.begin(model(DEEPER, STOP)), [], here))
    await reached(lambda: is_driven(world.path), driving)
    async with aclosing(WatchedRun(world.path).events(there)) as stream:
        heard = [event async for event in stream]
    await driving
    assert heard == here
    assert [type(each.candidate).__name__ for each in there.proposals] == ["ConfigurationText"]
