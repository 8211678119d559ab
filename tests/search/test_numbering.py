from __future__ import annotations

from tests.search.spaces import START, SYNTHETIC
from tui_tuner.search import numbered


def test_numbers_stand_for_themselves_in_ascending_order_and_other_values_for_their_place():
    space = numbered(SYNTHETIC.tunables, SYNTHETIC.configurations())

    assert space.axes == {
        "block_size_x": [16, 32, 64, 128, 256, 512, 1024],
        "block_size_y": [1, 2, 4, 8],
        "unroll": [1, 2, 4, 8],
        "use_shared": [0, 1],
        "layout": [0, 1],
    }
    assert space.points[space.position(START)] == (256, 1, 1, 0, 0)


def test_true_and_one_are_different_values():
    space = numbered({"mode": [1, True]}, [{"mode": 1}, {"mode": True}])

    assert space.points == ((0,), (1,))
    assert space.position({"mode": True}) == 1


def test_values_that_no_valid_configuration_has_are_left_out():
    space = numbered({"a": [1, 2, 3], "b": [1, 2]}, [{"a": 1, "b": 2}, {"a": 3, "b": 2}])

    assert space.axes == {"a": [1, 3]}


def test_a_configuration_that_is_listed_twice_is_one_point():
    space = numbered({"a": [1, 2]}, [{"a": 1}, {"a": 2}, {"a": 1}])

    assert space.points == ((1,), (2,))
