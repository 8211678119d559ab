"""Where numbers are so large that rounding decides between two of them, no order of operations is the right one."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluate.numpy_device import Kernel
from tests.evaluate.test_honest_bounds import bench
from tests.evaluate.test_workbench import executable
from tui_tuner.evaluate.devices.base import KernelArgument
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.runner.checked_launches import ResultMismatch
from tui_tuner.evaluate.verify import LaunchData
from tui_tuner.evaluate.verify.doubts import Doubt
from tui_tuner.problem import textures
from tui_tuner.problem.domains import Domain
from tui_tuner.problem.inputs import make_arguments
from tui_tuner.problem.model import Problem
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


@pytest.mark.slow
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
    other = {0: wrong_at_a_tie(data)}
    ask = partial(doubts.of, data, other, work._timed, is_kept=True)
    assert ask() is not None
    while ask() is not None:
        pass
    doubts.another_candidate()
    assert ask() is not None


def test_who_is_wrong_where_the_kernel_as_given_is_right_by_chance_is_excused_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = bench(tmp_path, REFERENCE, given=leading(), rounds=leading(2**-23))
    data = next(data for data in work._tests if data.texture is Texture.LARGE)
    monkeypatch.setattr(work._datasets, "asked", lambda asked, _: [asked])
    assert work._timed is not None
    doubt = work._doubts.of(data, {0: wrong_at_a_tie(data)}, work._timed, is_kept=True)
    assert doubt == Doubt([], is_founded=True)
    everywhere = {0: np.ones_like(data.expected[0])}
    assert work._doubts.of(data, everywhere, work._timed, is_kept=True) == Doubt([data], is_founded=False)


def test_what_only_comparisons_have_is_drawn_anew_for_the_next_one(tmp_path: Path) -> None:
    work = bench(tmp_path, REFERENCE, given=leading(), rounds=leading(2**-23))
    large = next(data for data in work._tests if data.texture is Texture.LARGE)
    work._tests = [data for data in work._tests if data is not large]
    work._keep([])
    work._rest = [large]
    assert work._is_doubtful(ResultMismatch("wrong", large, {0: wrong_at_a_tie(large)}))
    assert work._rest is None
    assert not any("large values" in line for line in work._datasets.left_out)


def wrong_at_a_tie(data: LaunchData) -> np.ndarray:
    """What is expected, but where the largest two are alike."""
    output, x = data.expected[0].copy(), np.asarray(data.arguments[1])
    output[1 + APART * int(np.argmax(np.abs(x[1::APART])))] = 1
    return output


def test_noise_in_which_rounding_decides_is_drawn_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 4001 numbers one lies at the limit, in the noise that is drawn first."""
    limit, drawn = np.float32(1.7), []

    def within(share: float) -> Kernel:
        def kernel(y: np.ndarray, x: np.ndarray, n: int) -> float:
            y[...] = np.where(x * np.float32(1 + share) <= limit, x, 0)
            return 1.0

        return kernel

    def made(problem: Problem, changed: Any, seed: int) -> list[KernelArgument]:
        values = make_arguments(problem, changed, seed)
        if problem.sizes["n"] == 4001 and not drawn:
            x = np.asarray(values[1])
            x[7] = limit
            drawn.append(x)
        return values

    monkeypatch.setattr("tui_tuner.evaluate.verify.drafts.make_arguments", made)
    work = bench(
        tmp_path, "np.where(x <= np.float32(1.7), x, 0)", given=within(0), rounds=within(2**-23), wrong=within(2**-4)
    )
    assert work._tests[0].arguments[1] is drawn[0]
    assert work.evaluate(executable("wrong"), None).failure is not None
    assert work._tests[0].arguments[1] is drawn[0]
    assert work.evaluate(executable("rounds"), None).failure is None
    assert work._tests[0].texture is Texture.NOISE
    assert work._tests[0].arguments[1] is not drawn[0]
