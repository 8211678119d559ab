"""The plan without a screen: order, lines, held tunables, and what a wish of the user comes to."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui import plans, scripted
from tui_tuner.session import events
from tui_tuner.session.plan import AddStep, MoveStep
from tui_tuner.strategies.steps import ApprovalLevel, Decision, Proposal, Step, StepState
from tui_tuner.tui.plan_lines import (
    MARKS,
    Direction,
    StepWords,
    added,
    frozen_text,
    moved,
    refusal,
    step_lines,
    step_text,
)
from tui_tuner.tui.rationales import Rationales
from tui_tuner.tui.view_model import ViewModel

PLAN = [
    Step(id=1, title="done", state=StepState.ACCEPTED),
    Step(id=4, title="first to come"),
    Step(id=2, title="deleted", state=StepState.SKIPPED),
    Step(id=3, title="second to come"),
    Step(id=5, title="under way", state=StepState.RUNNING),
]


def ordered(*ids: int, then: list[int]) -> list[int]:
    view_model = ViewModel()
    for number in ids:
        view_model.apply(events.StepChanged(step=Step(id=number, title=str(number))))
    view_model.apply(events.PlanOrdered(order=then))
    return [step.id for step in view_model.plan]


def test_the_plan_has_the_order_it_is_given_and_new_steps_come_last() -> None:
    assert ordered(1, 2, 3, then=[3, 1, 2]) == [3, 1, 2]
    assert ordered(1, 2, 3, 4, then=[3, 1]) == [3, 1, 2, 4]
    assert ordered(1, 2, then=[2, 7, 1]) == [2, 1]


def test_a_step_that_changes_keeps_its_place_in_the_order() -> None:
    view_model = ViewModel()
    for event in plans.whole_plan():
        view_model.apply(event)
    view_model.apply(events.StepChanged(step=plans.ALL_STATES[-2].now(StepState.RUNNING)))
    assert [step.id for step in view_model.plan] == [step.id for step in plans.ALL_STATES]


def test_the_held_tunables_are_the_latest_and_none_once_all_are_free() -> None:
    view_model = ViewModel()
    view_model.apply(events.ParametersFrozen(frozen=plans.HELD))
    assert view_model.frozen == plans.HELD
    view_model.apply(events.ParametersFrozen(frozen={}))
    assert view_model.frozen == {}


def test_why_a_step_was_skipped_may_be_the_models_markdown_and_is_told_to_a_few_lines_in_the_list() -> None:
    said = "The **loads** of `A`: " + "wide enough as they are, " * 9 + "the end."
    skipped = Step(id=7, title="Round 2", state=StepState.SKIPPED, reason=said)
    _, *reason = [line.strip() for line in step_lines(skipped, 40).plain.splitlines()]
    assert reason[0].startswith("The loads of A: wide enough")
    assert len(reason) == 3
    assert reason[-1].endswith("…")
    whole = step_text(skipped, "").plain
    assert "The loads of A: wide" in whole
    assert whole.count("wide enough") == 9

    failed = Step(id=8, title="Tiles", state=StepState.REJECTED, reason="x.cu(3): error: **p is no pointer")
    assert "error: **p is no pointer" in step_lines(failed, 80).plain


def test_every_state_has_a_mark_of_its_own() -> None:
    assert set(MARKS) == set(StepState)
    signs = [sign for sign, _ in MARKS.values()]
    assert len(set(signs)) == len(signs)


@pytest.mark.parametrize("state", sorted({*StepState} - {StepState.PROPOSED, StepState.ACCEPTED, StepState.DONE}))
def test_a_state_without_a_factor_is_told_in_words(state: StepState) -> None:
    assert state.value in step_lines(Step(id=1, title="Tiles", state=state), 60).plain


def test_a_step_of_the_user_says_so_before_its_title() -> None:
    step = Step(id=12, title="Unroll", by_user=True)
    assert step_lines(step, 40).plain == "· 12 you> Unroll"


TITLES = st.one_of(
    st.text(max_size=80),
    st.text(st.sampled_from("共有メモリを使う [b]a[/x]\x1b\u202e\t\n"), max_size=80),
    st.just("共有メモリにタイルを読み込んでから行列を掛け合わせる"),
)


@given(TITLES, TITLES, st.integers(1, 2000), st.sampled_from(StepState), st.booleans(), st.integers(25, 90))
def test_no_words_of_a_step_leave_its_lines_or_steer_the_terminal(
    title: str, reason: str, number: int, state: StepState, by_user: bool, width: int
) -> None:
    factor = (1.62, 1.6, 1.64) if state is StepState.REJECTED else None
    step = Step(id=number, title=title, reason=reason, state=state, by_user=by_user, factor=factor)
    lines = step_lines(step, width)
    assert all(line.cell_length <= width for line in lines.split("\n"))
    assert not {unicodedata.category(sign) for sign in lines.plain.replace("\n", "")} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_held_tunables_fit_in_one_line_and_the_way_out_stays() -> None:
    assert frozen_text(plans.HELD, "t", 80).plain == "held: block_size_x=256 tile_size=64 use_padding=1 · t thaws"
    assert frozen_text(plans.HELD, "t", 40).plain == "held: block_size_x=256 tile_s… · t thaws"
    assert frozen_text({"n": 1}, "", 40).plain == "held: n=1 · thaw"


@pytest.mark.parametrize(("selected", "before"), [(4, 4), (3, 3), (1, None), (5, None), (2, None), (None, None)])
def test_a_new_step_goes_before_the_selected_one_or_to_the_end(selected: int | None, before: int | None) -> None:
    words = StepWords("title", "detail")
    assert added(PLAN, selected, words) == AddStep(title="title", detail="detail", before=before)


@pytest.mark.parametrize(
    ("step", "direction", "move"),
    [
        (3, "up", MoveStep(step=3, before=4)),
        (4, "down", MoveStep(step=4, before=5)),
        (4, "up", None),
        (3, "down", None),
    ],
)
def test_a_step_moves_past_its_neighbour_among_those_to_come(
    step: int, direction: Direction, move: MoveStep | None
) -> None:
    chosen = next(each for each in PLAN if each.id == step)
    assert moved(PLAN, chosen, direction) == move


def test_a_step_that_moves_past_the_last_goes_to_the_end() -> None:
    plan = [Step(id=1, title="a"), Step(id=2, title="b")]
    assert moved(plan, plan[0], "down") == MoveStep(step=1, before=None)


def test_only_steps_to_come_can_be_changed_and_the_refusal_names_the_state() -> None:
    assert [step.id for step in PLAN if refusal(step) is None] == [4, 3]
    assert refusal(PLAN[0]) == "Step 1 is accepted: only steps still to come can be changed."


def test_the_words_of_a_question_are_said_of_a_step_only_until_it_is_answered() -> None:
    said, faster = (
        Rationales(),
        Proposal(step=scripted.STEPS[1], rationale="1.2x: take it?", about=ApprovalLevel.ACCEPT),
    )

    def given(action: str) -> events.ApprovalGiven:
        return events.ApprovalGiven(step=2, decision=Decision(action=action))  # type: ignore[arg-type]

    def proposed(words: str) -> events.CandidateProposed:
        return events.CandidateProposed(step=2, candidate=scripted.VECTORS, rationale=words)

    story = [
        (proposed("wider loads"), "wider loads"), (given("edit"), "wider loads"),
        (proposed("Edit it again."), "Edit it again."), (given("reject"), "wider loads"),
        (events.ReplyReceived(call=2, text=""), "wider loads"), (proposed("fewer loads"), "fewer loads"),
        (given("approve"), "fewer loads"), (events.ApprovalAsked(proposal=faster), "1.2x: take it?"),
        (given("approve"), "fewer loads"),
    ]  # fmt: skip
    for event, words in story:
        said.apply(event)
        assert said.of(2) == words
