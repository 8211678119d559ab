"""What ends a session: rounds, permutations, time, calls, a target, patience; and what is too large to measure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.llm.fakes import said
from tests.tensile.sessions.replies import (
    BEST,
    DEEPER,
    INSTRUCTION,
    MORE_TILES,
    SPLIT,
    STOP,
    advice,
    drop,
    fork,
    hold,
    try_value,
)
from tests.tensile.sessions.world import (
    SMALL_SPACE,
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
from tests.tensile.stand_in import sample
from tui_tuner.session import events
from tui_tuner.strategies.steps import StepState

GAINS_NOTHING = [advice(fork("StaggerU", [0, 32])), advice(try_value("StaggerU", 4)), advice(try_value("StaggerU", 8))]


async def test_rounds(tmp_path: Path) -> None:
    story = await played(World(tmp_path).begin(model(DEEPER, SPLIT), max_rounds=1))
    assert (finished(story).status, finished(story).reason) == ("finished", "the round is done")
    assert measured(story) == [(0, 2), (1, 4)]


async def test_measuring_alone_needs_no_model(tmp_path: Path) -> None:
    world = World(tmp_path)
    story = await played(world.begin(None, max_rounds=0))
    assert finished(story).reason == "only the configuration as given was to be measured"
    assert winners(story) == {A: (40_000, 0), B: (60_000, 0)}
    assert world.configuration("winners.yaml").permutations == 1


async def test_permutations_that_are_measured(tmp_path: Path) -> None:
    world, backend = World(tmp_path), model(DEEPER, SPLIT)
    story = await played(world.begin(backend, max_measured=12, repeats=2))
    assert finished(story).reason == "the run would measure 8 permutations, 6 are left"
    assert steps(story)["Round 2"].state is StepState.SKIPPED
    assert "To be measured in all: 10 more." in prompts(backend)[0]
    assert measured(story) == [(0, 2), (1, 4), (1000, 2), (1001, 2)]
    assert finished(story).evaluations == 10
    assert world.configuration("best.yaml").permutations == 4


async def test_permutations_that_leave_no_room_for_the_first_run(tmp_path: Path) -> None:
    world = World(tmp_path)
    story = await played(world.begin(model(), max_measured=1))
    assert finished(story).status == "failed"
    assert finished(story).reason == "the run would measure 2 permutations, 1 are left"
    assert world.runs == 0
    assert states(story)["Benchmark the configuration as given"] is StepState.SKIPPED


@pytest.mark.slow
async def test_time(tmp_path: Path) -> None:
    world = World(tmp_path)
    story = await played(world.begin(model([6.1, *said(DEEPER)], SPLIT), max_seconds=6.0))
    assert finished(story).reason.startswith("the time is up")
    assert winners(story) == {A: (40_000, 0), B: (60_000, 0)}


async def test_calls(tmp_path: Path) -> None:
    story = await played(World(tmp_path).begin(model(DEEPER, SPLIT), max_calls=1, repeats=1))
    assert finished(story).reason == "the 1 model calls allowed are made"
    second = steps(story)["Round 2"]
    assert (second.state, second.reason) == (StepState.SKIPPED, "the 1 model calls allowed are made")
    assert measured(story) == [(0, 2), (1, 4), (1000, 2)]


async def test_cost(tmp_path: Path) -> None:
    backend = model(DEEPER)
    backend.name = "openai:of-unknown-price"
    story = await played(World(tmp_path).begin(backend, max_cost=1.0))
    assert finished(story).reason == "the model's price is unknown, so --max-cost allows no call"


async def test_a_target_that_is_met(tmp_path: Path) -> None:
    backend = model(DEEPER, SPLIT)
    story = await played(World(tmp_path).begin(backend, target=1.2))
    assert finished(story).reason == "the target of 1.2x is met"
    assert (len(backend.requests), finished(story).status) == (1, "finished")


async def test_patience(tmp_path: Path) -> None:
    story = await played(World(tmp_path).begin(model(*GAINS_NOTHING), patience=2))
    assert (finished(story).status, finished(story).reason) == ("no_improvement", "2 rounds without a gain")
    assert measured(story) == [(0, 2), (1, 4), (2, 6)]
    assert states(story)["Round 2"] is StepState.NEUTRAL


@pytest.mark.slow
async def test_a_gain_begins_patience_anew(tmp_path: Path) -> None:
    first, second, third = GAINS_NOTHING
    backend = model(first, DEEPER, second, third, STOP)
    story = await played(World(tmp_path).begin(backend, patience=2))
    assert [number for number, _ in measured(story)] == [0, 1, 2, 3, 4]
    told = ["The last one brought no gain." in prompt for prompt in prompts(backend)]
    assert told == [False, True, False, True]


async def test_a_gain_that_is_too_small_counts_for_the_winners_and_not_for_patience(tmp_path: Path) -> None:
    story = await played(World(tmp_path).begin(model(DEEPER, SPLIT), min_gain=0.5, patience=2))
    assert finished(story).reason == "2 rounds without a gain"
    assert steps(story)["Round 1"].reason == "a gain of 20.0% at the mean"
    assert winners(story) == {A: (72_000, 2), B: (72_000, 1)}


async def test_a_configuration_that_is_too_large_is_reduced_before_it_is_measured(tmp_path: Path) -> None:
    world = World(tmp_path, sample.configuration())
    too_many = advice(hold("GlobalSplitU", 1))
    fewer = advice(hold("DepthU", 64), *[drop(INSTRUCTION, list(one)) for one in sample.INSTRUCTIONS[2:]])
    backend = model(too_many, fewer, STOP)
    story = await played(world.begin(backend, max_permutations=4))
    assert "has 16 permutations, more than the 4 allowed: it is reduced before it is measured" in notes(story)
    assert "The configuration has 16 permutations, too many to measure: only 4 are allowed." in prompts(backend)[0]
    assert "the edits together make 8 permutations, and 4 are allowed" in prompts(backend)[1]
    assert measured(story) == [(1, 4)]
    assert "16 -> 8 permutations" in steps(story)["Round 1"].detail
    assert winners(story) == {A: (72_000, 1), B: (72_000, 1)}
    metrics = json.loads((world.path / "result.json").read_text())["metrics"]
    assert (metrics["given_seconds"], metrics["reduction"]) == (None, None)


async def test_the_configuration_as_given_need_not_be_measured(tmp_path: Path) -> None:
    backend = model(DEEPER, SPLIT, STOP)
    story = await played(World(tmp_path).begin(backend, measure_given=False))
    purposes = [event.purpose for event in of(story, events.PromptSent)]
    assert purposes == ["tensile_first", "tensile_next", "tensile_next"]
    assert "Choose a first space that is worth a run" in prompts(backend)[0]
    assert measured(story) == [(1, 4), (2, 8)]
    assert winners(story) == {A: (72_000, 2), B: (72_000, 1)}


async def test_nothing_to_measure_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    story = await played(World(tmp_path).begin(model(STOP), measure_given=False))
    assert finished(story).status == "failed"
    assert finished(story).reason == "the model sees nothing left that is worth a run"


@pytest.mark.parametrize("text", [SMALL_SPACE.replace(f", {BEST}", "")])
async def test_a_single_permutation_is_a_space_too(tmp_path: Path, text: str) -> None:
    world, backend = World(tmp_path, text), model(advice(try_value(INSTRUCTION, BEST)), MORE_TILES, STOP)
    story = await played(world.begin(backend))
    assert measured(story) == [(0, 1), (1, 2), (2, 3)]
    assert winners(story) == {A: (40_000, 1), B: (60_000, 1)}
