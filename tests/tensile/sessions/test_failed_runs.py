"""Whatever goes wrong in a run of Tensile costs that run and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tensile.sessions.replies import BEST, DEEPER, SPLIT, STOP
from tests.tensile.sessions.world import (
    A,
    B,
    World,
    failures,
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
from tui_tuner.strategies.steps import StepState
from tui_tuner.tensile.events import BenchmarkFinished
from tui_tuner.tensile.outcome import RunFailureKind

LIMIT_S = 1.0
FAULTS = [
    ("crash", RunFailureKind.CRASH, "Tensile was ended by SIGSEGV, while the kernels ran"),
    ("hang", RunFailureKind.TIMEOUT, "Tensile was ended after 1 s, while the kernels ran"),
    ("truncated_csv", RunFailureKind.MALFORMED, ".csv: line "),
    ("all_failed", RunFailureKind.NOTHING_VALID, "no solution has a time: 8 failed validation"),
    ("fatal", RunFailureKind.REFUSED, "Invalid parameter value: DepthU = 7"),
]


@pytest.mark.parametrize(("fault", "kind", "words"), FAULTS, ids=[fault for fault, _, _ in FAULTS])
async def test_a_failed_round_loses_nothing_but_itself(
    tmp_path: Path, fault: str, kind: RunFailureKind, words: str
) -> None:
    world, backend = World(tmp_path, fault=f"2:{fault}"), model(DEEPER, SPLIT, STOP)
    limit = LIMIT_S if fault == "hang" else None
    story = await played(world.begin(backend, max_run_seconds=limit))

    given, failed, last = failures(story)
    assert (given, last) == (None, None)
    assert failed is not None
    assert failed.kind is kind
    assert words in failed.message
    first = steps(story)["Round 1"]
    assert (first.state, first.reason) == (StepState.REJECTED, f"{kind}: {failed.message}")
    told = f"try DepthU 64\n  failed, so its edits are not in force: {kind}: {failed.message}"
    assert told in prompts(backend)[1]
    assert "forked, 2 values: DepthU" not in prompts(backend)[1]
    assert measured(story) == [(0, 2), (1, 4), (2, 4)], "the last round goes on from the given configuration"
    assert winners(story) == {A: (60_000, 2), B: (60_000, 0)}
    assert finished(story).status == "finished"
    assert world.configuration("best.yaml").size_groups[0].values_of("DepthU") == [32]
    rounds = json.loads((world.path / "result.json").read_text())["rounds"]
    assert [one["failure"] for one in rounds] == [None, f"{kind}: {failed.message}", None]


async def test_edits_that_failed_may_be_tried_again(tmp_path: Path) -> None:
    story = await played(World(tmp_path, fault="2:crash").begin(model(DEEPER, DEEPER, STOP)))
    assert winners(story) == {A: (48_000, 2), B: (72_000, 2)}
    assert not of(story, events.ReplyRefused)


async def test_of_a_run_with_failed_validations_the_rest_counts(tmp_path: Path) -> None:
    world = World(tmp_path)
    wrong = f'256,128,4096,"{BEST}",64,1,'
    rows = [f"{wrong}-1" if row.startswith(wrong) else row for row in world.table.read_text().splitlines()]
    world.table.write_text("\n".join(rows) + "\n")
    backend = model(DEEPER, STOP)
    story = await played(world.begin(backend))
    assert failures(story) == [None, None], "Tensile ended with an error, but its tables are whole"
    assert winners(story) == {A: (40_000, 0), B: (72_000, 1)}
    sizes = of(story, BenchmarkFinished)[1].outcome.sizes
    assert [(size.measured, size.failed) for size in sizes] == [(3, 1), (4, 0)]
    assert "256x128x1x4096: 3 solutions timed, 1 failed validation" in prompts(backend)[1]


@pytest.mark.parametrize("fault", ["crash", "all_failed"])
async def test_when_the_first_run_fails_the_next_one_is_the_first(tmp_path: Path, fault: str) -> None:
    world, backend = World(tmp_path, fault=f"1:{fault}"), model(DEEPER, SPLIT, STOP)
    story = await played(world.begin(backend, repeats=1))

    first, *others = failures(story)
    assert first is not None
    assert others == [None, None, None]
    asked = of(story, events.PromptSent)
    assert [one.purpose for one in asked] == ["tensile_first", "tensile_next", "tensile_next"]
    assert f"failed, so its edits are not in force: {first.kind}: {first.message}" in asked[0].text
    assert steps(story)["Benchmark the configuration as given"].state is StepState.REJECTED
    assert steps(story)["Round 1"].reason == "the first results"
    assert winners(story) == {A: (72_000, 2), B: (72_000, 1)}
    result = json.loads((world.path / "result.json").read_text())
    assert [winner["first_gflops"] for winner in result["winners"]] == [48_000, 72_000]
    assert [result["metrics"][name] for name in ("given_seconds", "reduction")] == [None, None]
    assert result["gain"] == pytest.approx([(1.5 * 1.0) ** 0.5] * 3)


async def test_two_runs_without_any_result_end_the_session_as_failed(tmp_path: Path) -> None:
    world = World(tmp_path, fault="fatal=no such thing")
    story = await played(world.begin(model(DEEPER)))
    assert finished(story).status == "failed"
    assert finished(story).reason == "no run gave results; the last one: no such thing"
    assert measured(story) == [(0, 2), (1, 4)]
    assert json.loads((world.path / "result.json").read_text())["winners"] == []
    assert not (world.path / "winners.yaml").exists()
    assert world.configuration("best.yaml").permutations == 2


async def test_the_only_run_that_fails_is_the_reason_why_the_session_does(tmp_path: Path) -> None:
    story = await played(World(tmp_path, fault="fatal=no such thing").begin(None, max_rounds=0))
    assert finished(story).status == "failed"
    assert finished(story).reason == "no run gave results; the last one: no such thing"


async def test_a_last_run_that_fails_leaves_the_others(tmp_path: Path) -> None:
    story = await played(World(tmp_path, fault="4:crash").begin(model(DEEPER, STOP), repeats=3))
    assert [failure is None for failure in failures(story)] == [True, True, True, False, True]
    assert finished(story).speedup == pytest.approx((1.2, 1.2, 1.2))
