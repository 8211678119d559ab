"""How the user answers the steps that await them."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest
from textual.app import App
from textual.widgets import Input, TextArea

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import focused_pane, notices, screen_text
from tests.tui.scripted import ScriptedRun
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.session import events
from tui_tuner.strategies.steps import ApprovalLevel, Decision, Proposal, StepState
from tui_tuner.tui.dialogs import sources
from tui_tuner.tui.dialogs.sources import EditorDialog, FailedBuild, WhichDialog, line_of
from tui_tuner.tui.panes.kernel_pane import KernelPane

ANSWERS = [
    (["a"], Decision(action="approve")),
    (["f2"], Decision(action="approve")),
    (["s"], Decision(action="skip")),
    (["f4"], Decision(action="skip")),
    (["r", "enter"], Decision(action="reject")),
    (["r", *"b[i]", "enter"], Decision(action="reject", message="b[i]")),
    (["f5", *"a r", "enter"], Decision(action="reject", message="a r")),
]


async def test_keys_answer_the_steps_that_await(started: Started) -> None:
    run = ScriptedRun([*scripted.opening(), *[scripted.PROPOSAL] * len(ANSWERS)], stays=True)
    async with started(run) as pilot:
        for number, (keys, decision) in enumerate(ANSWERS, start=1):
            assert "awaits you" in screen_text(pilot.app)
            await pilot.press(*keys)
            await pilot.pause()
            assert len(run.decisions) == number
            assert run.decisions[-1] == decision
        assert "awaits you" not in screen_text(pilot.app)


@pytest.mark.slow
async def test_approve_all_answers_this_step_and_those_that_follow_until_asked_again(started: Started) -> None:
    second, third = (Proposal(step=scripted.STEPS[index], candidate=scripted.VECTORS) for index in (2, 3))
    gate = asyncio.Event()
    run = ScriptedRun([*scripted.awaiting(), second, gate, third], stays=True)
    async with started(run) as pilot:
        await pilot.press("A")
        await settled(pilot)
        assert [decision.action for decision in run.decisions] == ["approve", "approve"]
        assert notices(pilot.app) == ["Every step is approved from here on; A has you asked again."]  # type: ignore[arg-type]
        await pilot.press("A")
        gate.set()
        await settled(pilot)
        assert len(run.decisions) == 2
        assert "step 4 awaits you" in screen_text(pilot.app)


@pytest.mark.slow
@pytest.mark.parametrize("is_over", [False, True])
async def test_nobody_is_offered_to_be_asked_again_once_the_session_is_over(started: Started, is_over: bool) -> None:
    end = [event for event in scripted.finished() if isinstance(event, events.SessionFinished)] if is_over else []
    run = ScriptedRun([*scripted.awaiting(), *end], stays=True)
    async with started(run) as pilot:
        await pilot.press("A")
        await settled(pilot)
        await pilot.press("escape")
        await settled(pilot)
        assert pilot.app.session_screen._desk.approves_all
        assert ("A ask again" in screen_text(pilot.app)) is not is_over


@pytest.mark.slow
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


@pytest.mark.slow
async def test_approval_keys_do_nothing_while_no_step_awaits(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run) as pilot:
        await pilot.press("a", "s", "r", "e", "A")
        await settled(pilot)
        assert pilot.app.screen.query_one("#reason", Input).disabled
        assert not isinstance(pilot.app.screen, EditorDialog)
        assert not pilot.app.session_screen._desk.approves_all


@pytest.mark.slow
async def test_a_step_without_a_kernel_says_that_there_is_none_to_edit_or_to_look_at(started: Started) -> None:
    run = ScriptedRun([*scripted.running(), Proposal(step=scripted.STEPS[2])], stays=True)
    async with started(run) as pilot:
        for key in ("e", "v", "i", "f3"):
            pilot.app.clear_notifications()
            await pilot.press(key, key)
            await settled(pilot)
            assert notices(pilot.app) == ["Step 3 comes without a kernel: there is none to edit or to look at."]
        assert "e edit" not in screen_text(pilot.app)
        await pilot.press("2", "e", "4", "v")
        assert len(notices(pilot.app)) == 1


@pytest.mark.slow
async def test_keys_of_a_session_say_when_it_is_over(started: Started) -> None:
    async with started(ScriptedRun(scripted.finished(), stays=True)) as pilot:
        await pilot.press("escape")
        for key in ("a", "e", "p", "m", "c"):
            pilot.app.clear_notifications()
            await pilot.press(key)
            assert notices(pilot.app) == ["The session is over: nothing can be changed any more."]


@pytest.mark.slow
async def test_esc_leaves_the_reason_without_rejecting_and_goes_back_to_the_pane(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("3", "r", *"no")
        assert isinstance(pilot.app.focused, Input)
        await pilot.press("escape")
        await settled(pilot)
        assert run.decisions == []
        assert focused_pane(pilot.app) == 3


@pytest.mark.slow
async def test_function_keys_answer_while_the_reason_is_being_typed(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("r", "a", "f2")
        await settled(pilot)
        assert run.decisions == [Decision(action="approve")]


@pytest.mark.slow
async def test_editing_in_the_app_approves_the_changed_source(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("e")
        await settled(pilot)
        assert isinstance(pilot.app.screen, EditorDialog)
        await pilot.press("x", "ctrl+s")
        await settled(pilot)
        assert run.decisions == [Decision(action="edit", source="x" + scripted.VECTORS.source)]
        shown = pilot.app.screen.query_one(KernelPane)._source()[0]
        assert shown is not None
        assert shown.source == "x" + scripted.VECTORS.source
        assert "+ x// C = A * B" in screen_text(pilot.app)


@pytest.mark.slow
async def test_an_unchanged_or_given_up_edit_leaves_the_step_waiting(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        for keys in (["ctrl+s"], ["escape"], ["x", "escape", "escape"]):
            await pilot.press("e")
            await settled(pilot)
            assert isinstance(pilot.app.screen, EditorDialog)
            await pilot.press(*keys)
            await settled(pilot)
            assert not isinstance(pilot.app.screen, EditorDialog), keys
            assert run.decisions == [], keys
            assert "step 2 awaits you" in screen_text(pilot.app)


@pytest.mark.slow
async def test_changes_are_not_forgotten_by_one_esc(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("e")
        await settled(pilot)
        await pilot.press("x", "escape")
        await settled(pilot)
        assert "Esc again forgets your changes" in screen_text(pilot.app)
        await pilot.press("y")
        await settled(pilot)
        assert notices(pilot.app) == [], "two are needed again"
        await pilot.press("escape")
        await settled(pilot)
        assert isinstance(pilot.app.screen, EditorDialog)
        await pilot.press("ctrl+s")
        await settled(pilot)
        assert notices(pilot.app) == []
        assert run.decisions == [Decision(action="edit", source="xy" + scripted.VECTORS.source)]


@pytest.mark.slow
async def test_a_notice_goes_when_what_it_says_is_over(started: Started) -> None:
    unchanged = "The kernel is unchanged; the step still awaits you."
    async with started(ScriptedRun(scripted.awaiting(), stays=True)) as pilot:
        await pilot.press("e", "x", "escape", "escape")
        await settled(pilot)
        assert notices(pilot.app) == [unchanged]
        await pilot.press("e")
        await settled(pilot)
        assert notices(pilot.app) == []
        await pilot.press("escape")
        await settled(pilot)
        assert notices(pilot.app) == [unchanged]
        await pilot.press("a")
        await settled(pilot)
        assert notices(pilot.app) == []


async def test_whether_to_take_what_is_faster_is_asked_in_the_line_of_the_question(started: Started) -> None:
    words = "2.09x [1.98,2.11] over the best so far, block_size_x=8, block_size_y=32, unroll=2: take it as the best?"
    step = scripted.STEPS[1].model_copy(update={"state": StepState.AWAITING})
    asked = Proposal(step=step, rationale=words, about=ApprovalLevel.ACCEPT)
    async with started(ScriptedRun([*scripted.running(), asked], stays=True), size=(80, 24)) as pilot:
        shown = screen_text(pilot.app)
    assert "○ step 2 awaits you: take it as the best? 2.09x [1.98,2.11] over the best so" in shown


@pytest.mark.slow
async def test_an_editor_that_the_terminal_cannot_be_handed_to_gives_way_to_the_dialog(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("e")
        await settled(pilot)
        assert isinstance(pilot.app.screen, EditorDialog)


@pytest.mark.slow
async def test_what_an_editor_that_fails_wrote_is_left_out_and_that_is_told(
    started: Started, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "// mine" >> "$1"\nexit 3\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.setattr(App, "suspend", lambda _: nullcontext())
    monkeypatch.setattr(sources, "run_on_terminal", run_alone)
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("e")
        await pilot.app.workers.wait_for_complete()
        await settled(pilot)
        assert run.decisions == []
        assert notices(pilot.app)[0] == f"{editor} ended with status 3: what it wrote is left out."


async def run_alone(argv: list[str], environment: dict[str, str]) -> int:
    """An editor that needs no terminal."""
    return subprocess.run(argv, env=environment, check=False).returncode


@pytest.mark.slow
async def test_an_edit_that_did_not_compile_can_be_tried_again_with_the_cursor_on_its_fault(started: Started) -> None:
    broken = scripted.VECTORS.edited("xy" + scripted.VECTORS.source)
    log = "In file included from launch.cpp:5:\nkernel.cu: In function 'x':\nkernel.cu:3:5: error: 'xy' is no type"
    failed = scripted.failed(broken, 40, FailureKind.COMPILE, "kernel.cu:3:5: error: 'xy' is no type", log)
    again = scripted.VECTORS.model_copy(update={"source": scripted.VECTORS.source + "// again\n"})
    entries = [
        *scripted.awaiting(), *scripted.evaluation(40, failed),
        events.CandidateProposed(step=2, candidate=again, rationale="Mended."),
        scripted.PROPOSAL.model_copy(update={"candidate": again}),
    ]  # fmt: skip
    run = ScriptedRun(entries, stays=True)
    async with started(run) as pilot:
        await pilot.press("e", "x", "y", "ctrl+s")
        await settled(pilot)
        assert run.decisions == [Decision(action="edit", source=broken.source)]
        assert "against what this step tried before" in screen_text(pilot.app)
        await pilot.press("e")
        await settled(pilot)
        assert isinstance(pilot.app.screen, WhichDialog)
        assert "kernel.cu:3:5: error: 'xy' is no type" in screen_text(pilot.app)
        await pilot.press("escape", "e", "down", "enter")
        await settled(pilot)
        assert isinstance(pilot.app.screen, EditorDialog)
        area = pilot.app.screen.query_one(TextArea)
        assert (area.text, area.cursor_location) == (broken.source, (2, 0))
        await pilot.press("ctrl+s")  # unchanged, and it would not compile again
        await settled(pilot)
        assert len(run.decisions) == 1
        await pilot.press("e", "down", "enter", "z", "ctrl+s")
        await settled(pilot)
        first, second, rest = broken.source.split("\n", 2)
        assert run.decisions[1:] == [Decision(action="edit", source=f"{first}\n{second}\nz{rest}")]


@pytest.mark.slow
async def test_an_edit_that_did_not_compile_and_awaits_the_user_is_edited_on_from_its_fault(started: Started) -> None:
    broken = scripted.VECTORS.edited("xy" + scripted.VECTORS.source)
    log = "kernel.cu:3:5: error: 'xy' is no type"
    entries = [
        *scripted.awaiting(), *scripted.evaluation(40, scripted.failed(broken, 40, FailureKind.COMPILE, log)),
        events.CandidateProposed(step=2, candidate=broken, rationale="Your edit cannot be built."),
        scripted.PROPOSAL.model_copy(update={"candidate": broken}),
    ]  # fmt: skip
    run = ScriptedRun(entries, stays=True)
    async with started(run) as pilot:
        await pilot.press("e", "x", "y", "ctrl+s")
        await settled(pilot)
        assert f"step 2 awaits you: Vectorised loads: does not compile: {log}" in screen_text(pilot.app)
        await pilot.press("e")
        await settled(pilot)
        assert isinstance(pilot.app.screen, EditorDialog)
        assert log in screen_text(pilot.app)
        area = pilot.app.screen.query_one(TextArea)
        assert (area.text, area.cursor_location) == (broken.source, (2, 0))


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("kernel.cu:11:1: error: x", 11),
        ("k.cl:7:3: fatal error: x", 7),
        ("a.cu(23): error: x", 23),
        ("a.cu:4: error: x", 4),
        ("ptxas", None),
    ],
)
def test_the_line_of_a_complaint_is_found_as_compilers_write_it(log: str, line: int | None) -> None:
    assert line_of(Failure(kind=FailureKind.COMPILE, message=f"says {log}")) == line


@pytest.mark.slow
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


@pytest.mark.slow
async def test_the_place_of_the_fault_is_in_the_middle_of_the_editor_as_far_as_there_are_lines_above(
    started: Started,
) -> None:
    source = "".join(f"int a{number};\n" for number in range(1, 101))
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        for line, top in ((5, 0), (60, 46)):
            pilot.app.push_screen(EditorDialog(source, "title", "cuda", FailedBuild(source, line, "expected ';'")))
            await settled(pilot)
            area = pilot.app.screen.query_one(TextArea)
            assert area.cursor_location == (line - 1, 0)
            assert area.scroll_offset.y == top
            await pilot.app.pop_screen()


@pytest.mark.slow
async def test_a_line_that_goes_on_beyond_the_editor_says_so(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        pilot.app.push_screen(EditorDialog(f"int a; // {'word ' * 40}\nint b;\n", "title", "cuda"))
        await settled(pilot)
        first = next(line for line in screen_text(pilot.app).split("\n") if "int a;" in line)
        assert first.rpartition("word")[2].partition("│")[0].strip().endswith("…")
