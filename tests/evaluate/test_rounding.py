from __future__ import annotations

import numpy as np

from tui_tuner.evaluate.verify.rounding import nudged_arguments
from tui_tuner.problem.dtypes import dtype_named


def test_floating_point_arrays_are_off_by_a_unit_and_others_as_they_are() -> None:
    coarse = np.ones(4, dtype_named("bfloat16"))
    places, number = np.arange(4), np.float32(3)
    changed, unit = nudged_arguments([np.ones(4, np.float32), coarse, places, number], 0, refined=False)
    assert unit == 2**-7
    assert np.all(np.asarray(changed[0]) != 1)
    assert np.asarray(changed[1]).dtype == coarse.dtype
    assert changed[2] is places
    assert changed[3] is number
    changed, unit = nudged_arguments([coarse], 0, refined=True)
    assert np.asarray(changed[0]).dtype == np.float32
    assert unit == np.finfo(np.float32).eps


def test_any_two_elements_move_apart_in_some_way_also_of_two_arrays() -> None:
    values = np.ones(40, np.float32)
    values[7] = 0
    ways = [nudged_arguments([values, values], way)[0] for way in range(16)]
    signs = np.array([np.sign(np.concatenate([np.asarray(each) for each in way]) - np.tile(values, 2)) for way in ways])
    assert set(np.unique(signs[:, [7, 47]])) == {0}
    moving = np.delete(signs, [7, 47], axis=1)
    assert set(np.unique(moving)) == {-1, 1}
    assert len({tuple(element) for element in moving.T}) == moving.shape[1]
