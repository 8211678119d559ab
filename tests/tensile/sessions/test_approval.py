"""What the user decides on every round: approve, skip, reject with words, edit the file by hand; and what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.tensile.sessions.replies import BEST, DEEPER, MORE_TILES, SMALL_32, SPLIT, STOP
from tests.tensile.sessions.world import (
    SMALL_SPACE,
    A,
    B,
    Told,
    World,
    finished,
    measured,
    model,
    of,
    played,
    prompts,
    steps,
    winners,
)
from tui_tuner.session import events
from tui_tuner.session.plan import Say
from tui_tuner.strategies.steps import Decision, StepState
from tui_tuner.tensile.events import BenchmarkStarted

BY_HAND = SMALL_SPACE.replace("DepthU: [32]", "DepthU: [32, 64]  # mine")


def edited(text: str) -> Decision:
    return Decision(action="edit", source=text)


async def test_the_user_sees_the_edited_file_and_the_edits_before_anything_runs(tmp_path: Path) -> None:
    world, user = World(tmp_path), Told()
    story = await played(world.begin(model(DEEPER, STOP)), user)
    (proposal,) = user.proposals
    assert proposal.candidate is not None
    assert "DepthU: [32, 64]" in proposal.candidate.source
    (asked,) = [number for number, event in enumerate(story) if isinstance(event, events.ApprovalAsked)]
    begun = [number for number, event in enumerate(story) if isinstance(event, BenchmarkStarted)]
    assert begun[0] < asked < begun[1]
    assert of(story, BenchmarkStarted)[1].candidate == proposal.candidate.id


async def test_a_step_that_is_skipped_is_not_measured(tmp_path: Path) -> None:
    backend = model(DEEPER, SPLIT, STOP)
    story = await played(World(tmp_path).begin(backend), Told(Decision(action="skip")))
    assert (steps(story)["Round 1"].state, steps(story)["Round 1"].reason) == (StepState.SKIPPED, "by hand")
    assert measured(story) == [(0, 2), (2, 4)]


async def test_words_with_a_rejection_reach_the_next_prompt(tmp_path: Path) -> None:
    backend = model(DEEPER, SPLIT, STOP)
    no = Decision(action="reject", message="We ship DepthU 32 only.")
    story = await played(World(tmp_path).begin(backend), Told(no))
    assert steps(story)["Round 1"].reason == "We ship DepthU 32 only."
    assert "round 1: the programmer rejected the edits: We ship DepthU 32 only." in prompts(backend)[1]
    assert winners(story) == {A: (60_000, 2), B: (60_000, 0)}


async def test_rounds_that_the_user_refuses_are_no_rounds_without_a_gain(tmp_path: Path) -> None:
    no, backend = Decision(action="reject"), model(DEEPER, SPLIT, MORE_TILES)
    story = await played(World(tmp_path).begin(backend, max_rounds=3, patience=1), Told(no, no, no))
    assert finished(story).reason == "the 3 rounds are done"
    assert "brought no gain" not in "".join(prompts(backend))
    assert measured(story) == [(0, 2)]


async def test_the_users_own_version_is_measured_and_gone_on_from(tmp_path: Path) -> None:
    world, backend = World(tmp_path), model(MORE_TILES, SPLIT, STOP)
    story = await played(world.begin(backend), Told(edited(BY_HAND)))
    assert (world.path / "rounds" / "01" / "gemm.yaml").read_text() == BY_HAND
    assert steps(story)["Round 1"].detail == "as you edited it"
    assert "round 1: the programmer edited the file by hand" in prompts(backend)[1]
    assert measured(story) == [(0, 2), (1, 4), (2, 8)]
    assert winners(story) == {A: (72_000, 2), B: (72_000, 1)}
    assert "DepthU: [32, 64]  # mine" in world.configuration("best.yaml").text
    report = (world.path / "report.md").read_text().splitlines()
    assert [line.split(" | ")[-1] for line in report[-3:]] == ["as given |", "by hand |", "try GlobalSplitU 4 |"]


OTHER_GROUPS = BY_HAND + BY_HAND.partition("BenchmarkProblems:\n")[2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("BenchmarkProblems: [", "your version of the file cannot be used: line 2: this is not YAML"),
        (BY_HAND.replace("[32, 64]", "32"), "line 24: DepthU must have a list of values, it is 32"),
        (BY_HAND.replace("JoinParameters:", "JoinParameters: [MacroTile]"), "is no longer supported by Tensile"),
        ("", "your version of the file cannot be used"),
        (OTHER_GROUPS, "your version of the file has other size groups: begin a session of its own with it"),
    ],
    ids=["broken", "no list", "dead key", "empty", "other size groups"],
)
async def test_a_version_of_the_file_that_cannot_be_used_costs_the_round(tmp_path: Path, text: str, words: str) -> None:
    backend = model(MORE_TILES, DEEPER, STOP)
    story = await played(World(tmp_path).begin(backend), Told(edited(text)))
    assert steps(story)["Round 1"].state is StepState.REJECTED
    assert words in steps(story)["Round 1"].reason
    assert measured(story) == [(0, 2), (2, 4)]
    assert winners(story) == {A: (48_000, 2), B: (72_000, 2)}


@pytest.mark.parametrize("asks_again", [True, False], ids=["now", "a session of before"])
async def test_who_writes_a_version_that_cannot_be_used_is_asked_again(tmp_path: Path, asks_again: bool) -> None:
    broken, world = edited("BenchmarkProblems: ["), World(tmp_path)
    user, session = Told(broken, edited(BY_HAND)), world.begin(model(MORE_TILES, STOP))
    session._run = replace(session._run, asks_again=asks_again)
    story = await played(session, user)
    assert steps(story)["Round 1"].state is (StepState.ACCEPTED if asks_again else StepState.REJECTED)
    assert [proposal.candidate and proposal.candidate.source for proposal in user.proposals[1:]] == (
        [broken.source] if asks_again else []
    )
    if asks_again:
        assert "cannot be used: line 2: this is not YAML" in user.proposals[1].rationale
        assert (world.path / "rounds" / "01" / "gemm.yaml").read_text() == BY_HAND
        assert steps(await played(world.replay())) == steps(story)


async def test_what_the_user_says_is_in_every_prompt_from_then_on(tmp_path: Path) -> None:
    world, backend = World(tmp_path), model(DEEPER, SPLIT, STOP)
    session = world.begin(backend)

    def speak(event: events.Event) -> None:
        if isinstance(event, BenchmarkStarted) and event.round == 1:
            session.tell(Say(text="Try a split of K."))

    story = await played(session, on=speak)
    assert ["Try a split of K." in prompt for prompt in prompts(backend)] == [False, True, True]
    assert [said.text for said in of(story, events.UserSaid)] == ["Try a split of K."]


async def test_what_the_user_takes_out_by_hand_stays_out(tmp_path: Path) -> None:
    world, backend = World(tmp_path), model(MORE_TILES, SPLIT, STOP)
    smaller = SMALL_SPACE.replace(f", {BEST}", f", {SMALL_32}")
    story = await played(world.begin(backend, repeats=1), Told(edited(smaller)))
    assert not of(story, events.ReplyRefused), "the best so far need not come back"
    assert measured(story) == [(0, 2), (1, 2), (2, 4), (1000, 2)]
    assert winners(story)[A] == (57_000, 2)
    assert winners(story)[B] == (60_000, 0)


async def test_the_user_may_also_change_the_problem_sizes(tmp_path: Path) -> None:
    world, backend = World(tmp_path), model(MORE_TILES, SPLIT, STOP)
    one_size = BY_HAND.replace(f"          - Exact: {list(B)}\n", "")
    story = await played(world.begin(backend, repeats=1), Told(edited(one_size)))
    assert measured(story) == [(0, 2), (1, 4), (2, 8), (1000, 2)]
    assert winners(story) == {A: (72_000, 2), B: (60_000, 0)}
    assert finished(story).speedup == pytest.approx((1.8, 1.8, 1.8))
