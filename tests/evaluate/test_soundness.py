"""Checks that a kernel which computes nothing would pass are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.evaluate.test_rehearsal import problem_in
from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.tolerance import Bound
from tui_tuner.evaluate.verify.soundness import CHANCE_ELEMENTS, ConstantByChance, refuse_weak

EXACT = Bound(0.0, 0.0)


def checked(directory: Path, expected: np.ndarray) -> None:
    problem = problem_in(directory)
    before = np.zeros_like(expected)
    refuse_weak(problem, "n=9", [before] * len(problem.arguments), {0: expected}, {0: EXACT})


@pytest.mark.parametrize(("value", "dtype"), [(127, "int8"), (255, "uint8"), (1, "int64"), (True, "bool"), (2.5, "f4")])
def test_an_output_that_holds_one_value_is_refused_whatever_its_type(tmp_path: Path, value: float, dtype: str) -> None:
    with pytest.raises(ProblemError, match="computes nothing would pass") as error:
        checked(tmp_path, np.full(CHANCE_ELEMENTS, value, dtype))
    assert not isinstance(error.value, ConstantByChance)
    assert "or a size" not in error.value.hint
    with pytest.raises(ConstantByChance) as by_chance:
        checked(tmp_path, np.full(CHANCE_ELEMENTS - 1, value, dtype))
    assert "or a size" in by_chance.value.hint
    checked(tmp_path, np.full(4, value, dtype))
    other = np.full(CHANCE_ELEMENTS, value, dtype)
    other[9] = 0
    checked(tmp_path, other)
