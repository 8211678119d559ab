"""A model that makes bad edits is told every reason and asked again; without any that can be used, all goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.llm.fakes import said
from tests.tensile.sessions.replies import (
    BEST,
    DEEPER,
    INSTRUCTION,
    MORE_TILES,
    SMALL_32,
    SPLIT,
    STOP,
    advice,
    drop,
    fork,
    hold,
    try_value,
)
from tests.tensile.sessions.world import (
    UNREACHABLE,
    A,
    B,
    World,
    finished,
    measured,
    model,
    notes,
    of,
    played,
    prompts,
    states,
    steps,
    winners,
)
from tui_tuner.headless import ApproveAll
from tui_tuner.llm import Stop
from tui_tuner.session import events
from tui_tuner.strategies.steps import ModelTrouble, Remedy, StepState

DROPS_THE_BEST = advice(drop(INSTRUCTION, BEST))
NONE = advice()


async def test_every_reason_is_told_at_once_and_a_good_reply_is_taken(tmp_path: Path) -> None:
    many = advice(
        try_value("DephtU", 64),
        fork("PrefetchGlobalRead", [1, 99]),
        fork("WorkGroupMapping", [1, 4]),
        try_value("DepthU", 32),
        hold("GlobalSplitU", 2),
        try_value("DepthU", 64, group=3),
    )
    backend = model(many, DEEPER, STOP)
    story = await played(World(tmp_path).begin(backend))
    (refused,) = of(story, events.ReplyRefused)
    assert [problem.partition(": ")[0] for problem in refused.problems] == [
        "edit 1 (try DephtU 64)",
        "edit 2 (fork PrefetchGlobalRead over [1, 99])",
        "edit 4 (try DepthU 32)",
        "edit 5 (hold GlobalSplitU at 2)",
        "edit 6 (try DepthU 64)",
        "the best so far at 256x128x1x4096, 512x512x1x1024 would no longer be measured",  # WorkGroupMapping was 8
    ]
    told = prompts(backend)[1]
    assert all(problem in told for problem in refused.problems)
    for words in ("PrefetchGlobalRead cannot be 99", "has the value 32 already", "there is no size group 3"):
        assert words in told
    assert measured(story) == [(0, 2), (1, 4)]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (advice(fork("StaggerU", [0, 4, 32])), "the edits together make 6 permutations, and 4 are allowed"),
        (DROPS_THE_BEST, "the best so far at 256x128x1x4096, 512x512x1x1024 would no longer be measured: Matrix"),
        (NONE, "there is no edit: give one at least, or set stop to true"),
        (advice(try_value("DepthU", 64), drop("DepthU", 64)), "the edits together change nothing"),
        (advice(fork("CustomKernelName", ["", "mine"])), "CustomKernelName is not yours to set"),
        (advice(fork("WorkGroupMapping", [1, 4])), "WorkGroupMapping 8 is not among 1, 4"),
        ("I would try DepthU 64.", "JSON"),
        (advice({"kind": "rewrite_file", "reason": "Why not."}), "rewrite_file"),
    ],
)
async def test_a_bad_reply_is_put_back_with_its_reason(tmp_path: Path, reply: str, words: str) -> None:
    backend = model(reply, DEEPER, STOP)
    story = await played(World(tmp_path).begin(backend, max_permutations=4))
    (refused,) = of(story, events.ReplyRefused)
    assert words in "; ".join(refused.problems)
    assert words in prompts(backend)[1]
    assert winners(story)[A] == (48_000, 1)


async def test_a_configuration_that_was_measured_is_not_measured_again(tmp_path: Path) -> None:
    backend = model(MORE_TILES, advice(drop(INSTRUCTION, SMALL_32)), DEEPER, STOP)
    story = await played(World(tmp_path).begin(backend, patience=3))
    (refused,) = of(story, events.ReplyRefused)
    assert refused.problems == ["this very configuration was measured before"]
    assert measured(story) == [(0, 2), (1, 3), (2, 6)]


async def test_a_round_without_a_usable_reply_is_skipped_and_the_next_goes_on(tmp_path: Path) -> None:
    world = World(tmp_path)
    cut = said('{"analysis": "Let me', stop=Stop.LENGTH)
    backend = model(NONE, DROPS_THE_BEST, cut, DEEPER, STOP)
    story = await played(world.begin(backend))
    assert [call.call for call in of(story, events.ReplyRefused)] == [1, 2, 3]
    first = steps(story)["Round 1"]
    assert first.state is StepState.SKIPPED
    assert first.reason.startswith("the model failed: no usable reply in 3 calls: the reply was cut off")
    assert states(story)["Round 2"] is StepState.ACCEPTED
    assert "Your reply cannot be used" not in prompts(backend)[3], "a new round begins a new conversation"
    assert winners(story) == {A: (48_000, 2), B: (72_000, 2)}
    assert finished(story).status == "finished"
    assert world.configuration("best.yaml").permutations == 4


async def test_a_model_that_never_gives_a_usable_reply_leaves_what_was_measured(tmp_path: Path) -> None:
    world = World(tmp_path)
    story = await played(world.begin(model(*[NONE] * 6)))
    assert (finished(story).status, finished(story).reason) == ("no_improvement", "2 rounds without a gain")
    assert winners(story) == {A: (40_000, 0), B: (60_000, 0)}
    assert world.configuration("winners.yaml").permutations == 1


async def test_without_any_result_a_model_without_a_usable_reply_ends_the_session(tmp_path: Path) -> None:
    story = await played(World(tmp_path, fault="1:crash").begin(model(*[NONE] * 3)))
    assert finished(story).status == "failed"
    assert finished(story).reason.startswith("the model failed: no usable reply in 3 calls")


async def test_a_call_that_breaks_down_costs_its_round(tmp_path: Path) -> None:
    story = await played(World(tmp_path).begin(model([UNREACHABLE], DEEPER, [UNREACHABLE], SPLIT, STOP)))
    reasons = [steps(story)[f"Round {number}"].reason for number in range(1, 6)]
    failed = "the model failed: ollama: connection refused (fake)"
    assert reasons == [failed, "", failed, "", "Nothing is left to try."]
    assert winners(story) == {A: (72_000, 4), B: (72_000, 2)}


async def test_who_goes_on_without_the_model_is_told_that_nothing_else_edits(tmp_path: Path) -> None:
    class Without(ApproveAll):
        async def help(self, trouble: ModelTrouble) -> Remedy:
            return Remedy(action="without")

    world = World(tmp_path)
    story = await played(world.begin(model(DEEPER, [UNREACHABLE]), repeats=1), Without())
    end = finished(story)
    assert end.reason == "you chose to ask the model nothing more, and nothing else edits the configuration"
    assert (end.status, measured(story)) == ("finished", [(0, 2), (1, 4), (1000, 2)])
    assert finished(await played(world.replay())).reason == end.reason


async def test_when_the_model_is_gone_the_session_ends_with_what_it_has(tmp_path: Path) -> None:
    world = World(tmp_path)
    story = await played(world.begin(model(DEEPER, [UNREACHABLE], [UNREACHABLE]), repeats=1))
    end = finished(story)
    assert end.status == "finished"
    assert end.reason == "the model is gone: ollama: connection refused (fake)"
    assert measured(story) == [(0, 2), (1, 4), (1000, 2)]
    assert world.configuration("best.yaml").permutations == 4
    assert "the model failed" not in notes(story)
