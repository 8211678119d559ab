from __future__ import annotations

import numpy as np
import pytest

from tui_tuner.evaluate.in_pieces import magnitude
from tui_tuner.evaluate.verify import LaunchData
from tui_tuner.evaluate.verify.output_sizes import FEW_ELEMENTS, OutputSizes
from tui_tuner.problem.textures import Texture


def of(*numbers: float) -> dict[int, np.ndarray]:
    return {2: np.array(numbers, np.float32)}


def test_a_sum_that_is_nothing_by_chance_counts_as_much_as_at_other_noise() -> None:
    sizes = OutputSizes()
    assert not sizes.knows(0, of(30))
    sizes.note(0, of(-30))
    sizes.note(0, of(0.003))
    assert sizes.knows(0, of(30))
    assert not sizes.knows(1, of(30)), "at another size"
    (size,) = sizes.of_noise(0, of(0.003)).values()
    assert size is not None
    assert size(np.array([0.003])) == 30
    assert size(np.array([-40.0])) == 40
    noise = LaunchData(0, "", [], of(0.003), {})
    size = sizes.of(Texture.ORDERED, noise)[2]
    assert size is not None
    assert size(np.array([0.001])) == 30


@pytest.mark.parametrize("output", [np.ones(FEW_ELEMENTS, np.float32), np.ones(1, np.int32)])
def test_of_many_elements_and_of_whole_numbers_each_output_tells_its_size(output: np.ndarray) -> None:
    sizes = OutputSizes()
    assert sizes.knows(0, {0: output}), "nothing has to be learnt"
    assert sizes.of_noise(0, {0: output}) == {0: None}


def test_where_numbers_may_cancel_noise_says_how_large_they_are() -> None:
    noise = LaunchData(0, "", [], {0: np.full(100, 7, np.float32)}, {})
    size = OutputSizes().of(Texture.EQUAL, noise)[0]
    assert size is not None
    assert size(np.zeros(100)) == magnitude(noise.expected[0]) == 7


def test_where_a_texture_leaves_few_of_many_elements_noise_says_how_large_their_numbers_may_be() -> None:
    """All points of a clustering whose distances come to 0 are added to the first centre; the rest stays 0."""
    noise = LaunchData(0, "", [], {0: np.full(5, 7, np.float32)}, {})
    size = OutputSizes().of(Texture.TINY, noise)[0]
    assert size is not None
    assert size(np.array([3e-29, 0, 0, 0, 0])) == pytest.approx(7)
    assert size(np.full(5, 3e-29)) == pytest.approx(3e-29), "none is left out"
    assert size(np.zeros(5)) == 0, "nothing is no sum that came to little"
