from __future__ import annotations

import numpy as np
import pytest

from tui_tuner.evaluate.verify.rounding import loses_more, nudged_arguments
from tui_tuner.problem.dtypes import dtype_named


@pytest.mark.parametrize("of_noise", [0.0, 1e-5])
def test_it_loses_more_than_at_noise_where_it_errs_by_more_than_a_few_times_that_or_the_last_bit(
    of_noise: float,
) -> None:
    expected = {0: np.linspace(1, 2, 100), 1: np.arange(3)}
    least = max(of_noise, float(np.finfo(np.float32).eps))
    for share, loses in ((2 * least, False), (8 * least, True)):
        outputs = {0: (expected[0] * (1 + share)).astype(np.float32), 1: np.arange(3)}
        assert loses_more(outputs, expected, of_noise) is loses


def test_floating_point_arrays_are_off_by_a_unit_and_others_as_they_are() -> None:
    coarse = np.ones(4, dtype_named("bfloat16"))
    places, number = np.arange(4), np.float32(3)
    changed, unit = nudged_arguments([np.ones(4, np.float32), coarse, places, number], refined=False)
    assert unit == 2**-7
    assert np.all(np.asarray(changed[0]) != 1)
    assert np.asarray(changed[1]).dtype == coarse.dtype
    assert changed[2] is places
    assert changed[3] is number
    changed, unit = nudged_arguments([coarse], refined=True)
    assert np.asarray(changed[0]).dtype == np.float32
    assert unit == np.finfo(np.float32).eps
