"""Where numbers are so large that rounding decides between two of them, no order of operations is the right one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.evaluate.numpy_device import Kernel
from tests.evaluate.test_honest_bounds import bench
from tests.evaluate.test_workbench import executable
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem import textures
from tui_tuner.problem.domains import Domain
from tui_tuner.problem.textures import Texture

APART = 100
REFERENCE = "1 / (1 + np.exp(np.clip(np.square(np.roll(x, 1).astype(float)) - np.square(x.astype(float)), -50, 50)))"


def leading(rounding: float = 0.0, *, wrong_at: int | None = None) -> Kernel:
    """By how much each square leads the one before it, between 0 and 1, where squares are off by a share."""

    def kernel(y: np.ndarray, x: np.ndarray, n: int) -> float:
        square = np.square(x)
        behind = np.roll(square, 1) - square * np.float32(1 + rounding)
        y[...] = 1 / (1 + np.exp(np.clip(behind, -50, 50)))
        if wrong_at is not None and np.abs(x).max() > 1e3:
            y[wrong_at] += np.float32(0.25)
        return 1.0

    return kernel


@pytest.fixture(autouse=True)
def ties(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of large values one in a hundred is the same as the one before it."""
    usual = textures._MAKERS[Texture.LARGE]

    def large(noise: np.ndarray, domain: Domain, random: np.random.Generator) -> np.ndarray | None:
        values = usual(noise, domain, random)
        if values is not None:
            values[1::APART] = values[0::APART][: len(values[1::APART])]
        return values

    monkeypatch.setitem(textures._MAKERS, Texture.LARGE, large)  # type: ignore[arg-type]


def test_who_rounds_otherwise_where_the_kernel_as_given_moves_as_far_is_right_and_that_is_said(tmp_path: Path) -> None:
    work = bench(tmp_path, REFERENCE, given=leading(), rounds=leading(2**-23))
    outcome = work.evaluate(executable("rounds"), None)
    assert outcome.failure is None
    told = "n=4001, inputs with large values: inputs off by a unit in the last place change its results as far"
    assert told in outcome.left_out
    for _ in range(8):
        comparison = work.compare(executable("given"), executable("rounds"), 0.01).comparison
        assert comparison.failure is None


def test_one_element_that_is_wrong_elsewhere_is_not_excused(tmp_path: Path) -> None:
    work = bench(tmp_path, REFERENCE, given=leading(), wrong=leading(2**-23, wrong_at=7))
    failure = work.evaluate(executable("wrong"), None).failure
    assert failure is not None
    assert failure.kind is FailureKind.WRONG_RESULT


def test_where_all_of_it_moves_as_far_nothing_is_excused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.evaluate.test_doubts.APART", 10)
    work = bench(tmp_path, REFERENCE, given=leading(), rounds=leading(2**-23))
    failure = work.evaluate(executable("rounds"), None).failure
    assert failure is not None
    assert "inputs with large values" in failure.message


def test_who_is_wrong_in_each_comparison_is_not_excused_for_ever(tmp_path: Path) -> None:
    work = bench(tmp_path, REFERENCE, given=leading(), rounds=leading(2**-23))
    doubts, data = work._doubts, next(data for data in work._tests if data.texture is Texture.LARGE)
    assert work._timed is not None
    other = {0: data.expected[0].copy()}
    x = np.asarray(data.arguments[1])
    other[0][1 + APART * int(np.argmax(np.abs(x[1::APART])))] = 1
    assert doubts.of(data, other, work._timed) is not None
    while doubts.of(data, other, work._timed) is not None:
        pass
    doubts.another_candidate()
    assert doubts.of(data, other, work._timed) is not None
