"""A kernel that awaits the user: its diff at full height, the facts beside it, and the keys to read both."""

from __future__ import annotations

import asyncio

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, Static, TextArea

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.kernels import NAIVE, VECTORISED
from tests.tui.looking import focused_pane, notices, screen_text, view_model_of
from tests.tui.scripted import ScriptedRun
from tui_tuner.problem.model import Launch
from tui_tuner.session import events
from tui_tuner.strategies.steps import Decision, Proposal, StepState
from tui_tuner.tui.panes.kernel_pane import KernelPane
from tui_tuner.tui.plan_lines import ReviewFacts, proposal_facts
from tui_tuner.tui.text.diff import diff_picture
from tui_tuner.tui.text.source_views import DiffView

OLD = "".join(f"line {number}\n" for number in range(60))
NEW = OLD.replace("line 5\n", "five\n").replace("line 30\n", "").replace("line 55\n", "line 55\nmore\n")
FAR = Proposal(
    step=scripted.STEPS[1].model_copy(update={"state": StepState.AWAITING}),
    candidate=scripted.VECTORS.model_copy(update={"source": NEW}),
    rationale="Because of **loads**.",
)


def far() -> ScriptedRun:
    """A step of a long kernel with three changes, after another one was the best."""
    given = scripted.opening()
    start = given[0].model_copy(update={"baseline": scripted.BASELINE.model_copy(update={"source": OLD})})
    return ScriptedRun([start, *given[1:], FAR], stays=True)


def diff(pilot: Pilot[str]) -> DiffView:
    return pilot.app.screen_stack[0].query_one(DiffView)


def subtitle(pilot: Pilot[str]) -> str:
    return str(pilot.app.screen_stack[0].query_one(KernelPane).border_subtitle)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (80, 40), (120, 36), (200, 50)])
async def test_the_diff_has_the_height_and_the_facts_stand_beside_it_where_there_is_room(
    started: Started, size: tuple[int, int]
) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True), size=size) as pilot:
        kernel, facts = pilot.app.screen.query_one(KernelPane), pilot.app.screen.query_one(ReviewFacts)
        assert kernel.view == "diff"
        beside, below = size[0] >= 100, size == (80, 40)
        assert kernel.size.height > size[1] * (0.4 if below else 0.7)
        assert facts.display == (beside or below)
        await pilot.press("i")
        await settled(pilot)
        shown = screen_text(pilot.app)
        assert pilot.app.focused is facts
        assert all(words in shown for words in ("128 bits would do", "tunables", "block_size_y", "a approve"))
        await pilot.press("G", "g", "j", "k", "ctrl+d", "ctrl+u", "i")
        await settled(pilot)
        assert focused_pane(pilot.app) == 1
        await pilot.press("escape")
        await settled(pilot)
        assert not facts.display
        await pilot.press("v")
        await settled(pilot)
        assert kernel.size.height > size[1] * (0.4 if below else 0.7)


@pytest.mark.slow
async def test_another_pane_takes_the_place_of_the_facts_and_an_answer_ends_the_review(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("3")
        await settled(pilot)
        shown = screen_text(pilot.app)
        assert "reinterpret_cast" in shown
        assert "evaluations" in shown.lower() or "benchmarks" in shown.lower()
        assert "to measure" not in shown
        await pilot.press("a")
        await settled(pilot)
        assert run.decisions == [Decision(action="approve")]
        assert not pilot.app.screen.has_class("-review")
        assert not pilot.app.screen.check_action("facts", ()), "without a question there are none"


@pytest.mark.slow
async def test_two_keys_go_to_the_hunks_and_a_question_is_about_the_chosen_one(started: Started) -> None:
    async with started(far()) as pilot:
        kernel = pilot.app.screen.query_one(KernelPane)
        assert kernel.selected_hunk == ""
        seen = []
        for _ in range(4):
            await pilot.press("right_square_bracket", "c")
            await settled(pilot)
            seen.append((subtitle(pilot).partition(" · ")[0], kernel.selected_hunk.split("\n")[-1].split()[-1]))
        assert seen == [("hunk 1/3", "five"), ("hunk 2/3", "30"), ("hunk 3/3", "more"), ("hunk 3/3", "more")]
        await pilot.press("left_square_bracket", "c")
        await settled(pilot)
        assert subtitle(pilot).startswith("hunk 2/3")
        await pilot.press("right_square_bracket", "j", "c")
        await settled(pilot)
        assert isinstance(pilot.app.focused, Input)  # c alone is still the key of the chat


@pytest.mark.slow
async def test_the_keys_of_a_pager_move_the_diff(started: Started) -> None:
    async with started(far(), size=(80, 24)) as pilot:
        places = []
        for key in ("j", "ctrl+d", "k", "ctrl+u", "G", "g"):
            await pilot.press(key)
            await settled(pilot)
            places.append(round(diff(pilot).scroll_offset.y))
        assert places[0] == 1
        assert places[1] > 5
        assert places[2] == places[1] - 1
        assert places[3] == 0
        assert places[4] > 5
        assert places[5] == 0


@pytest.mark.slow
async def test_words_are_found_in_the_diff_and_in_a_source(started: Started) -> None:
    async with started(far(), size=(80, 24)) as pilot:
        await pilot.press("slash", *"FIVE", "enter")
        await settled(pilot)
        assert any(span.style == "reverse" for span in diff(pilot).query_one(Static).content.spans)  # type: ignore[union-attr]
        await pilot.press("d", "d", "n")
        await settled(pilot)
        await pilot.press("slash", *"x", "escape", "n")
        await settled(pilot)
        assert notices(pilot.app) == ["There is no 'x' here."]
        await pilot.press("slash", *"Five", "enter", "N")
        await settled(pilot)
        area = pilot.app.screen.query_one("#view-source", TextArea)
        assert area.selected_text == "five"


@pytest.mark.slow
async def test_the_base_of_the_diff_goes_round(started: Started) -> None:
    script = [*scripted.awaiting()[:-1], scripted.PROPOSAL]
    async with started(ScriptedRun(script, stays=True)) as pilot:
        assert "against what this step starts from" in subtitle(pilot)
        assert "+5 -1" in str(diff(pilot).query_one(Static).content)
        await pilot.press("b")
        await settled(pilot)
        assert "against as given" in subtitle(pilot)
        added = diff_picture(NAIVE, VECTORISED, "cuda").content.plain.split("\n")[0]
        assert added in str(diff(pilot).query_one(Static).content)
        await pilot.press("b")
        await settled(pilot)
        assert "against the best so far" in subtitle(pilot)
        await pilot.press("b", "vertical_line")
        await settled(pilot)
        assert " │ " in str(diff(pilot).query_one(Static).content)


def test_a_second_try_is_compared_with_the_first_one() -> None:
    second = scripted.VECTORS.model_copy(update={"source": VECTORISED + "// again\n"})
    view_model = view_model_of([
        *scripted.running(),
        events.CandidateProposed(step=2, candidate=scripted.VECTORS),
        events.CandidateProposed(step=2, candidate=second),
        events.ApprovalAsked(proposal=scripted.PROPOSAL.model_copy(update={"candidate": second})),
    ])  # fmt: skip
    assert view_model.review is not None
    assert view_model.review.before == scripted.VECTORS


def test_side_by_side_has_old_and_new_of_every_line() -> None:
    picture = diff_picture("a\nb\nc\n", "a\nB\nB2\nc\n", "cuda", columns=40)
    assert [line.rstrip() for line in picture.content.plain.split("\n")] == [
        "+2 -1 lines", "1   a  │ 1   a", "2 - b  │ 2 + B", "       │ 3 + B2", "3   c  │ 4   c",
    ]  # fmt: skip
    assert picture.hunks == [(2, 3)]


def test_a_line_that_is_longer_than_its_half_goes_on_below_it() -> None:
    old, new = "x = first + second + third;\nb\n", "x = first;\nb\n"
    picture = diff_picture(old, new, "cuda", columns=51)
    assert [line.rstrip() for line in picture.content.plain.split("\n")] == [
        "+1 -1 lines",
        "1 - x = first + second + │ 1 + x = first;",
        "  -  third;              │",
        "2   b                    │ 2   b",
    ]  # fmt: skip
    assert picture.hunks == [(1, 2)]
    assert max(len(line) for line in picture.content.plain.split("\n")) == 51


def test_the_facts_say_what_is_new_and_what_is_measured() -> None:
    before = scripted.TILES
    candidate = before.model_copy(
        update={
            "tunables": {"block_size_x": [16, 32], "vec": [1, 2]},
            "defaults": {"vec": 2},
            "launch": Launch(problem_size=["n", "n"], grid_div_x=["block_size_x", "vec"]),
            "restrictions": ["vec < block_size_x"],
        }
    )
    proposal = Proposal(step=scripted.STEPS[1], candidate=candidate, rationale="[b]Wider[/b] `loads`")
    text = proposal_facts(proposal, before, 12).plain
    assert "[b]Wider[/b] loads" in text
    assert "block_size_x  16 32  other values" in text
    assert "vec           1 2    new" in text
    assert "no longer: block_size_y, unroll" in text
    assert "grid_div_x    block_size_x x vec" in text
    assert "restriction   vec < block_size_x" in text
    assert "first  block_size_x=16, vec=2" in text
    assert "then   a search of 4 combinations, 1 restriction, 12 evaluations left" in text


@pytest.mark.slow
async def test_a_question_that_comes_while_words_are_typed_leaves_them_where_they_are(started: Started) -> None:
    gate = asyncio.Event()
    async with started(ScriptedRun([*scripted.opening(), gate, scripted.PROPOSAL], stays=True)) as pilot:
        await pilot.press("c", *"hello")
        gate.set()
        await settled(pilot)
        assert isinstance(pilot.app.focused, Input)
        assert "hello" in screen_text(pilot.app)
        assert "float4" in screen_text(pilot.app)


async def test_no_other_diff_is_shown_while_that_of_large_sources_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    class Host(App[None]):
        def compose(self) -> ComposeResult:
            yield DiffView()

    app = Host()
    async with app.run_test() as pilot:
        view = app.query_one(DiffView)
        view.show("a\n", "b\n", "cuda")
        await app.workers.wait_for_complete()
        with monkeypatch.context() as patched:
            patched.setattr(DiffView, "_compute", lambda *_, **__: None)
            view.show("a\n" * 30_000, "c\n", "cuda")
        await pilot.pause()
        assert view.hunks == 0
        assert "working the changes out" in screen_text(app)


@pytest.mark.parametrize("columns", [None, 54, 60])
def test_signs_that_are_two_cells_wide_keep_every_row_in_its_width_and_lose_nothing(columns: int | None) -> None:
    words = "// größe 日本語のコメントのための長い行です🚀 end"
    picture = diff_picture("int a;\n", f"int a;\n{words}\n\tint b;\n", "cuda", columns=columns)
    rows = picture.content.split("\n")[1:]
    assert "".join(row.plain.rpartition("+ ")[2] for row in rows).replace(" ", "").find(words.replace(" ", "")) >= 0
    widths = {row.cell_length for row in rows}
    assert len(widths) == 1
    assert columns is None or max(widths) <= columns


@pytest.mark.slow
async def test_what_awaited_the_user_when_the_driver_was_lost_can_still_be_read(started: Started) -> None:
    lost = events.SessionFinished(
        status="interrupted", reason="the process that drove it is gone", evaluations=31, model_calls=2
    )
    entries = [entry for entry in scripted.awaiting() if not isinstance(entry, Proposal)]
    async with started(ScriptedRun([*entries, lost])) as pilot:
        await pilot.press("escape")
        await settled(pilot)
        assert subtitle(pilot).endswith("not answered: Vectorised loads")
        assert str(diff(pilot).query_one(Static).render()).count(" + ") > 3


@pytest.mark.slow
async def test_a_diff_that_is_drawn_anew_stays_at_its_place_and_its_change(started: Started) -> None:
    async with started(far(), size=(100, 24)) as pilot:
        view = diff(pilot)
        await pilot.press("vertical_line", *["right_square_bracket", "c"] * 3)
        await settled(pilot)
        above = view._picture.hunks[2][0] - round(view.scroll_offset.y)
        assert view.scroll_offset.y > 5
        for _ in range(2):
            await pilot.press("vertical_line")
            await settled(pilot)
            assert view._picture.hunks[2][0] - round(view.scroll_offset.y) == above
        await pilot.resize_terminal(140, 24)
        await settled(pilot)
        assert subtitle(pilot).startswith("hunk 3/3")
        assert view.scroll_offset.y > 5


def test_a_line_is_found_again_in_a_picture_that_needs_more_lines_for_a_change() -> None:
    old, new = "".join(f"{n}\n" for n in range(9)), "".join(f"{n if n != 4 else 'x' * 60}\n" for n in range(9))
    one, two = diff_picture(old, new, "cuda"), diff_picture(old, new, "cuda", columns=40)
    (first, last), (begins, ends) = one.hunks[0], two.hunks[0]
    assert [one.line_in(two, line) for line in (0, first, last + 1)] == [0, begins, ends + 1]
    assert [two.line_in(one, line) for line in (0, begins, ends + 1, ends + 3)] == [0, first, last + 1, last + 3]
    assert one.line_in(one, last) == last


@pytest.mark.slow
async def test_a_key_that_is_about_the_diff_goes_to_it_from_another_view(started: Started) -> None:
    async with started(far()) as pilot:
        kernel = pilot.app.screen.query_one(KernelPane)
        for key, split in (("b", False), ("vertical_line", True), ("vertical_line", True)):
            kernel.view = "source"
            await settled(pilot)
            await pilot.press(key)
            await settled(pilot)
            assert kernel.view == "diff"
            assert (" │ " in str(diff(pilot).query_one(Static).content)) == split
