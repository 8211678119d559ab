from __future__ import annotations

import numpy as np

from tui_tuner.evaluate.verify.rounding import nudged_arguments
from tui_tuner.problem.dtypes import dtype_named


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
