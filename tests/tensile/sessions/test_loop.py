"""The loop: benchmark, advice, edits, benchmark; the winners of every size, the last runs, what is written."""

from __future__ import annotations

import asyncio
import json
import subprocess
from dataclasses import dataclass
from math import sqrt
from typing import Any

import pytest

from tests.llm.fakes import FakeBackend, said
from tests.tensile.sessions.replies import BEST, DEEPER, SPLIT, STOP
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
    states,
    steps,
    winners,
)
from tui_tuner.session import events
from tui_tuner.strategies.steps import StepState
from tui_tuner.tensile.events import WinnersChanged
from tui_tuner.tensile.results import read_results

MODEL_S = 0.1
"""What the model takes for a reply, at least."""


@dataclass(frozen=True)
class Loop:
    """A session in which the first round helps at both sizes and the second at A only.

    Attributes:
        runs: of Tensile, that it took.
    """

    world: World
    model: FakeBackend
    user: Told
    story: list[events.Event]
    runs: int

    @property
    def result(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.world.path / "result.json").read_text())
        return content


@pytest.fixture(scope="module", params=["4.33", "4.44"])
def loop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Loop:
    world, user = World(tmp_path_factory.mktemp("loop"), layout=request.param), Told()
    backend = model([MODEL_S, *said(DEEPER)], [MODEL_S, *said(SPLIT)], STOP)
    story = asyncio.run(played(world.begin(backend, repeats=2), user))
    return Loop(world, backend, user, story, world.runs)


@pytest.mark.slow
def test_every_edited_configuration_is_measured_and_then_the_finalists(loop: Loop) -> None:
    assert measured(loop.story) == [(0, 2), (1, 4), (2, 8), (1000, 3), (1001, 3)]
    assert loop.runs == 5
    kept = sorted(path.name for path in (loop.world.path / "rounds").iterdir())
    assert kept == ["00", "01", "02", "finals-1", "finals-2"]
    assert (loop.world.path / "rounds" / "01" / "tensile.log").stat().st_size


@pytest.mark.slow
def test_the_winner_of_each_size_is_kept_from_the_round_that_found_it(loop: Loop) -> None:
    told = [{tuple(w.size): w.gflops for w in e.winners} for e in of(loop.story, WinnersChanged)]
    assert told == [{A: 40_000, B: 60_000}, {A: 48_000, B: 72_000}, {A: 72_000, B: 72_000}]
    assert winners(loop.story) == {A: (72_000, 2), B: (72_000, 1)}


def test_the_plan_tells_what_came_of_every_step(loop: Loop) -> None:
    assert states(loop.story) == {
        "Benchmark the configuration as given": StepState.DONE,
        "Round 1": StepState.ACCEPTED,
        "Round 2": StepState.ACCEPTED,
        "Round 3": StepState.SKIPPED,
        "Compare the first winners and the best again": StepState.DONE,
    }
    factor = steps(loop.story)["Round 2"].factor
    assert factor is not None
    assert factor[0] == pytest.approx(sqrt(1.5 * 1.0))


def test_permutations_before_and_after_stand_in_the_step_and_in_the_proposal(loop: Loop) -> None:
    told = "try DepthU 64: 2 -> 4 permutations. It may be faster."
    assert steps(loop.story)["Round 1"].detail == told
    first, second = loop.user.proposals
    assert first.step.detail == told
    assert first.rationale == f"It is bound by memory.\n{told}\nA fifth more."
    assert "4 -> 8 permutations" in second.rationale
    assert first.candidate is not None
    assert first.candidate.source == SMALL_SPACE.replace("DepthU: [32]", "DepthU: [32, 64]")


def test_the_next_prompt_tells_what_the_last_round_did_and_brought(loop: Loop) -> None:
    first, second, third = prompts(loop.model)
    assert "round 0, 2 permutations: the configuration as given" in first
    assert "round 1, 4 permutations: try DepthU 64\n  0 s, +20.0% over the best before it" in second
    assert "1. 48000 GFLOP/s" in second
    assert "round 2, 8 permutations: try GlobalSplitU 4\n  0 s, +22.5% over the best before it" in third


def test_the_session_ends_with_the_gain_of_the_last_runs(loop: Loop) -> None:
    end = finished(loop.story)
    assert (end.status, end.reason) == ("finished", "the model sees nothing left that is worth a run")
    assert (end.evaluations, end.model_calls) == (2 + 4 + 8 + 3 + 3, 3)
    assert end.speedup == pytest.approx((sqrt(1.8 * 1.2),) * 3)
    assert end.result == str(loop.world.path / "result.json")


def test_the_result_holds_winners_rounds_and_metrics(loop: Loop) -> None:
    result = loop.result
    assert (result["status"], result["device"], result["tensile"]) == ("finished", "gfx90a", "4.33.0")
    assert [w["gflops"] for w in result["winners"]] == [72_000, 72_000]
    assert [w["first_gflops"] for w in result["winners"]] == [40_000, 60_000]
    assert [one["permutations"] for one in result["rounds"]] == [2, 4, 8]
    assert [one["gain"] for one in result["rounds"]] == [None, pytest.approx(1.2), pytest.approx(sqrt(1.5))]
    assert [one["edits"] for one in result["rounds"]] == [[], ["try DepthU 64"], ["try GlobalSplitU 4"]]


def test_retention_consistency_and_time_reduction_are_those_of_the_runs(loop: Loop) -> None:
    metrics, rounds = loop.result["metrics"], loop.result["rounds"]
    assert metrics["retention"] == {"256x128x1x4096": 72 / 40, "512x512x1x1024": 72 / 60}
    assert metrics["retention_mean"] == pytest.approx(sqrt(1.8 * 1.2))
    assert metrics["consistency"] == 1.0
    given, edited = rounds[0]["seconds"], [one["seconds"] for one in rounds[1:]]
    assert 2 * MODEL_S < metrics["model_seconds"] < finished(loop.story).elapsed
    assert metrics["given_seconds"] == given
    assert (metrics["edited_seconds"], metrics["session_seconds"]) == (edited[-1], pytest.approx(sum(edited)))
    saved = given - (edited[-1] + metrics["model_seconds"])
    assert metrics["reduction"] * given == pytest.approx(saved, abs=1e-3)
    assert metrics["reduction_of_session"] * given == pytest.approx(saved - edited[0], abs=1e-3)


def test_the_report_says_the_same_for_people(loop: Loop) -> None:
    report = (loop.world.path / "report.md").read_text()
    for line in (
        "| gain, best over first winners, compared again | 1.470 (runs 1.470 to 1.470) |",
        "| performance retention PR, mean of sizes | 1.470 (1.200 to 1.800) |",
        "| winner consistency WC | 100% |",
        "Measured with Tensile 4.33.0 on gfx90a; ",
    ):
        assert line in report.splitlines()
    assert "| 0 | 256x128x1x4096 | 72000.0 | 1.800 | 3.73 | 2 | MatrixInstruction [16, " in report
    assert "| +22.5% | try GlobalSplitU 4 |" in report


def test_the_best_configuration_is_the_given_one_with_its_comments_and_the_edits(loop: Loop) -> None:
    edited = SMALL_SPACE.replace("DepthU: [32]", "DepthU: [32, 64]").replace(
        "GlobalSplitU: [1]", "GlobalSplitU: [1, 4]"
    )
    assert (loop.world.path / "best.yaml").read_bytes() == edited.encode()
    assert loop.world.configuration("best.yaml").permutations == 8


def test_the_winners_file_holds_exactly_the_winners_and_tensile_takes_it(loop: Loop) -> None:
    kept = loop.world.configuration("winners.yaml")
    (group,) = kept.size_groups
    assert group.constants == {"KernelLanguage": "Assembly", "MatrixInstruction": BEST, "DepthU": 64}
    (alternatives,) = group.groups
    assert [*map(dict, alternatives)] == [{"GlobalSplitU": 4}, {"GlobalSplitU": 1}]
    output = loop.world.directory / "again"
    subprocess.run([loop.world.program, kept.file, output], check=True, capture_output=True)
    (table,) = read_results(output)
    assert {row.size: row.winner_gflops for row in table.rows} == {A: 72_000, B: 72_000}
    assert len(table.solutions) == 2
    comments = [line for line in SMALL_SPACE.splitlines() if line.lstrip().startswith("#")]
    assert [line for line in kept.text.splitlines() if line.lstrip().startswith("#")] == comments
