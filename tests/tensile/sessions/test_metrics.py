"""PR, TR and WC of runs that are made up, against values worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tensile.sessions.world import SMALL_SPACE, A, B
from tui_tuner.tensile.document.reading import parse_configuration
from tui_tuner.tensile.finals import Metrics, metrics, tuning_time_reduction
from tui_tuner.tensile.history import History
from tui_tuner.tensile.outcome import Contender, RoundOutcome, RunFailure, RunFailureKind, SizeOutcome

GIVEN = parse_configuration(SMALL_SPACE, Path("gemm.yaml"))
EDITED = parse_configuration(SMALL_SPACE.replace("DepthU: [32]", "DepthU: [32, 64, 128]"), Path("gemm.yaml"))
Speeds = dict[int, float]
"""GFLOP/s by DepthU; MatrixInstruction makes no difference here."""


def outcome(seconds: float, at_a: Speeds, at_b: Speeds) -> RoundOutcome:
    sizes = []
    for size, speeds in ((A, at_a), (B, at_b)):
        order = sorted(speeds, key=speeds.__getitem__, reverse=True)
        ranked = [Contender(solution=f"D{depth}", values={"DepthU": depth}, gflops=speeds[depth]) for depth in order]
        sizes.append(SizeOutcome(group=0, size=list(size), ranked=ranked, measured=len(ranked)))
    return RoundOutcome(seconds=seconds, sizes=sizes)


@pytest.fixture
def history() -> History:
    """The given configuration took 100 s, a failed edit 7 s, an edited one 30 s and the last 40 s; the model 10 s."""
    found = History(GIVEN, {"DepthU": 16}.get)
    found.add(0, GIVEN, outcome(100, {32: 100}, {32: 200}))
    found.add(1, EDITED, RoundOutcome(seconds=7, failure=RunFailure(kind=RunFailureKind.CRASH, message="gone")))
    found.add(2, EDITED, outcome(30, {32: 100, 64: 150}, {32: 200, 64: 190}))
    found.add(3, EDITED, outcome(40, {32: 100, 128: 180}, {32: 210, 128: 252}))
    found.model_seconds = 10
    return found


def test_time_saved_counts_the_models_own_time() -> None:
    assert tuning_time_reduction(50, 24, 20) == pytest.approx(0.12)
    assert tuning_time_reduction(50, 24, 28) == pytest.approx(-0.04)


def test_without_last_runs_retention_is_what_the_rounds_saw(history: History) -> None:
    found = metrics(history, [])
    assert found.retention == {"256x128x1x4096": 1.8, "512x512x1x1024": 1.26}
    assert found.retention_mean == pytest.approx((1.8 * 1.26) ** 0.5)
    assert found.consistency is None


def test_the_time_of_failed_rounds_counts_for_the_session(history: History) -> None:
    found = metrics(history, [])
    assert (found.given_seconds, found.edited_seconds, found.session_seconds) == (100, 40, 77)
    assert found.reduction == pytest.approx(0.5)  # (100 - (40 + 10)) / 100
    assert found.reduction_of_session == pytest.approx(0.13)  # (100 - (77 + 10)) / 100


def test_last_runs_give_the_median_of_ratios_and_the_share_of_wins(history: History) -> None:
    finals = [
        outcome(20, {32: 100, 128: 170}, {32: 200, 128: 220}),  # 1.7 and 1.1
        outcome(20, {32: 100, 128: 190}, {32: 250, 128: 200}),  # 1.9 and 0.8: the first winner wins at B
        outcome(20, {32: 125, 128: 200}, {32: 200, 128: 250}),  # 1.6 and 1.25
    ]
    found = metrics(history, finals)
    assert found.retention == {"256x128x1x4096": 1.7, "512x512x1x1024": 1.1}
    assert found.retention_mean == pytest.approx((1.7 * 1.1) ** 0.5)
    assert found.consistency == pytest.approx(5 / 6)


def test_what_was_not_measured_has_no_metric() -> None:
    assert metrics(History(GIVEN, lambda _: None, model_seconds=3), []) == Metrics(model_seconds=3)
