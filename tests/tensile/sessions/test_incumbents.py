"""Which solutions no edit may make impossible: derived solutions are compared, and noise locks nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tensile.sessions.world import SMALL_SPACE, A
from tui_tuner.tensile.document import BenchmarkConfiguration
from tui_tuner.tensile.document.edits import RemoveCandidate, RemoveMultiplicative, SpaceEdit
from tui_tuner.tensile.document.judging import EditLimits, apply_edits
from tui_tuner.tensile.document.reading import parse_configuration
from tui_tuner.tensile.history import History
from tui_tuner.tensile.knowledge.valid_values import tables
from tui_tuner.tensile.outcome import RoundOutcome
from tui_tuner.tensile.result_tables import GroupTable, ResultRow
from tui_tuner.tensile.summary import summarise

TABLE = tables()[1]
INSTRUCTION = {"MatrixInstruction": [16, 16, 16, 1], "MIBlock": [16, 16, 16, 1, 1, 1]} | {
    "MIWaveTile": [2, 2],
    "MIWaveGroup": [2, 2],
}


def config(forks: str) -> BenchmarkConfiguration:
    text = SMALL_SPACE.replace("        - DepthU: [32]   # kept\n", f"        - DepthU: [32]\n        {forks}\n")
    return parse_configuration(text, Path("gemm.yaml"))


def outcome(given: BenchmarkConfiguration, *solutions: tuple[float, dict[str, Any]]) -> RoundOutcome:
    """A run in which Tensile derived these solutions, with their speeds at A."""
    derived = {f"S{number}": {**state, "SolutionIndex": number} for number, (_, state) in enumerate(solutions)}
    speeds: dict[str, float | None] = {f"S{number}": speed for number, (speed, _) in enumerate(solutions)}
    row = ResultRow(A, {}, None, speeds, frozenset(), "S0", None)
    summary = summarise(given, [GroupTable("Cijk_Alik_Bljk_HSS_H_00", 0, "GFlops", [row], derived)])
    return RoundOutcome(seconds=1, sizes=summary.sizes, effects=summary.effects)


def refused(history: History, edit: SpaceEdit) -> list[str]:
    return apply_edits(history.current, [edit], EditLimits(TABLE, 1000, history.incumbents()))[1]


def drop(parameter: str, value: int) -> RemoveCandidate:
    return RemoveCandidate(reason="slow", parameter=parameter, value=value, size_group=0)


def state(width: int, depth: int = 32, group: int = 8) -> dict[str, Any]:
    return {**INSTRUCTION, "VectorWidthB": width, "DepthU": depth, "WorkGroupMapping": group, "GlobalSplitU": 1}


def test_of_two_values_that_made_one_kernel_either_may_go() -> None:
    given = config("- VectorWidthB: [-1, 2]")
    history = History(given, TABLE.default, noise=0.01)
    history.add(0, given, outcome(given, (100, state(2))))
    assert refused(history, drop("VectorWidthB", 2)) == []
    assert refused(history, drop("VectorWidthB", -1)) == []


def test_where_they_made_two_kernels_the_best_stays() -> None:
    given = config("- VectorWidthB: [-1, 2]")
    history = History(given, TABLE.default, noise=0.01)
    history.add(0, given, outcome(given, (100, state(2)), (50, state(1))))
    assert "would no longer be measured" in refused(history, drop("VectorWidthB", 2))[0]
    assert refused(history, drop("VectorWidthB", -1)) == []


def test_the_same_kernel_in_a_later_run_settles_it_too() -> None:
    first, second = config("- VectorWidthB: [2]"), config("- VectorWidthB: [-1, 2, 4]")
    history = History(first, TABLE.default, noise=0.01)
    history.add(0, first, outcome(first, (100, state(2))))
    history.add(1, second, outcome(second, (100, state(2)), (50, state(4))))
    assert history.winners[0, A].round == 0
    hold = RemoveMultiplicative(reason="slow", parameter="VectorWidthB", keep=4, size_group=0)
    assert "would no longer be measured" in refused(history, hold)[0]
    third = config("- VectorWidthB: [-1]")
    history.add(2, third, outcome(third, (99, state(2))))
    assert history.held[0, A].alike["VectorWidthB"] == (-1,)


@pytest.mark.parametrize(("slower", "locked"), [(99.5, False), (98.0, True)])
def test_a_solution_within_the_noise_will_do_as_well(slower: float, locked: bool) -> None:
    given = config("- WorkGroupMapping: [4, 8]")
    history = History(given, TABLE.default, noise=0.01)
    history.add(0, given, outcome(given, (100, state(2)), (slower, state(2, group=4))))
    assert bool(refused(history, drop("WorkGroupMapping", 8))) is locked


def test_what_stood_in_for_the_best_must_stay_in_its_turn() -> None:
    given, edited = config("- WorkGroupMapping: [4, 8]"), config("- WorkGroupMapping: [4, 16]")
    history = History(given, TABLE.default, noise=0.01)
    history.add(0, given, outcome(given, (100, state(2)), (99.5, state(2, group=4))))
    history.add(1, edited, outcome(edited, (99.4, state(2, group=4)), (50, state(2, group=16))))
    assert history.winners[0, A].gflops == 100
    assert "would no longer be measured" in refused(history, drop("WorkGroupMapping", 4))[0]
    assert refused(history, drop("WorkGroupMapping", 16)) == []
