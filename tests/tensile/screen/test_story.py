"""A Tensile session in lines: what a user over SSH reads, and what a program gets."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncGenerator
from typing import cast

from tests.tensile.screen import script as tensile_script
from tui_tuner.headless import run_headless
from tui_tuner.session import events
from tui_tuner.session.session import Session
from tui_tuner.story import Story
from tui_tuner.tensile import TENSILE
from tui_tuner.tensile.events import BenchmarkOutput, WinnersChanged
from tui_tuner.tensile.report import SIZES_TOLD, TensileStory


class Played:
    """Events in place of a session."""

    subject = TENSILE

    async def events(self, approver: object) -> AsyncGenerator[events.Event, None]:
        for event in tensile_script.finished():
            yield event


async def played(*, as_json: bool) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    assert await run_headless(cast(Session, Played()), json=as_json, out=out, err=err) == 0
    return out.getvalue(), err.getvalue()


async def test_every_run_is_told_in_a_few_lines() -> None:
    _, err = await played(as_json=False)
    lines = [line.split(" ", 1)[1] for line in err.splitlines() if " round " in line]
    assert lines == [
        "round 0: Tensile measures 8 permutations x 3 sizes",
        "round 0: Tensile: # Actual Solutions: 20 / 24 after SolutionStructs",
        "round 0: 8 permutations x 3 sizes measured in 47 s",
        "round 0: mean of the best at 3 sizes 35,174 GFLOP/s",
        "round 1: Tensile measures 24 permutations x 3 sizes",
        "round 1: Tensile: # Actual Solutions: 20 / 24 after SolutionStructs",
        "round 1: 24 permutations x 3 sizes measured in 84 s, 4 rejected, 2 failed validation",
        "round 1: mean of the best at 3 sizes 38,198 GFLOP/s, 1.09x over the first run, 2 of 3 better",
        "round 2: Tensile measures 48 permutations x 3 sizes",
        "round 2: Tensile: # Actual Solutions: 20 / 24 after SolutionStructs",
        "round 2: time-out after 10 min: no results after 600 s",
    ]


async def test_the_result_has_a_line_a_problem_size_and_the_gain_in_gflops() -> None:
    out, _ = await played(as_json=False)
    assert out.splitlines() == [
        "finished: the budget is spent",
        "256x128x1x4096    9,310 GFLOP/s    1.23x  round 1  "
        "MatrixInstruction [32,32,8,1,1,2,2,2,2] DepthU 64 PrefetchGlobalRead 2 GlobalSplitU 8",
        "1024x1024x1x1024  50,140 GFLOP/s   1.04x  round 1  "
        "MatrixInstruction [32,32,8,1,1,2,2,2,2] DepthU 64 PrefetchGlobalRead 2 GlobalSplitU 4",
        "4096x4096x1x8192  119,400 GFLOP/s  1.00x  round 0  "
        "MatrixInstruction [32,32,8,1,1,2,2,2,2] DepthU 64 PrefetchGlobalRead 2",
        "gain      1.09x [1.04, 1.14] in GFLOP/s over the configuration as given, geometric mean of 3 sizes",
        "effort    80 permutations in 3 runs, 12 min, 2 model calls, 0.0300 $",
        "written   runs/hgemm_tn-20261120-1432/result.json and best.* beside it",
    ]


async def test_ndjson_has_every_event_but_tensiles_output() -> None:
    out, _ = await played(as_json=True)
    types = [json.loads(line)["type"] for line in out.splitlines()]
    assert "benchmark_output" not in types
    assert types.count("benchmark_finished") == 3
    assert types[-1] == "session_finished"


def test_of_tensiles_output_one_line_with_words_in_ten_seconds_is_told() -> None:
    story = Story(TensileStory())
    texts = [
        (0.0, "#####"),
        (1.0, "# Tensile"),
        (5.0, "# Writing"),
        (11.5, " 40%"),
        (12.0, "# Kernels"),
        (60.0, "Done"),
    ]
    told = [story.line(BenchmarkOutput(round=1, text=text, elapsed=at)) for at, text in texts]
    assert [line is not None for line in told] == [False, True, False, False, True, True]


def test_of_many_problem_sizes_the_result_tells_some_and_counts_the_rest() -> None:
    winner = tensile_script.winners(tensile_script.FIRST)[0]
    story = TensileStory()
    many = [winner.model_copy(update={"size": [256, number, 1, 64]}) for number in range(1, SIZES_TOLD + 8)]
    story.line(WinnersChanged(round=0, winners=many))
    last = tensile_script.finished()[-1]
    assert isinstance(last, events.SessionFinished)
    lines = story.result(last)
    assert len(lines) == SIZES_TOLD + 2
    assert lines[-2] == "and 7 more problem sizes"


def test_a_session_that_failed_at_once_has_a_result_without_sizes() -> None:
    story = TensileStory()
    end = events.SessionFinished(status="interrupted", reason="by you", evaluations=0, model_calls=0)
    assert story.result(end) == []
    assert story.effort(end) == "0 permutations in 0 runs, 0.0 s"
