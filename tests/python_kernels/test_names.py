from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.problem.tunables import value_faults
from tui_tuner.python_kernels import gathered, plain_values, triton_line, value_of
from tui_tuner.subjects import split_name


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 4],
        [False, True],
        [0.5, 1.5],
        ["pointer", "block_ptr"],
        [None, False, True],
        [None, 32, 64],
        ["", "first", "last"],
        [[0, 1], [1, 0]],
        ["1", "None", "x"],
        [1, 1.5],
        ["'quoted'", " padded ", "two\nlines"],
    ],
    ids=repr,
)
def test_any_values_become_values_of_a_tunable_and_come_back(values):
    plain = plain_values(values)

    assert [value_of(value) for value in plain] == values
    assert [*value_faults("tunable", plain)] == []


def test_numbers_stay_numbers_and_words_stay_words():
    assert plain_values([16, 32]) == [16, 32]
    assert plain_values(["flat", "persistent_blocked"]) == ["flat", "persistent_blocked"]
    assert plain_values([None, False, True]) == ["None", "False", "True"]


def test_the_elements_of_a_list_come_together_again_in_their_order():
    flat = {
        "block_sizes_1": 64,
        "num_warps": 4,
        "block_sizes_0": 16,
        "loop_orders_0": "[1, 0]",
        "indexing_0": "pointer",
    }

    assert gathered(flat) == {
        "num_warps": 4,
        "block_sizes": [16, 64],
        "loop_orders": [[1, 0]],
        "indexing": ["pointer"],
    }


def test_a_list_without_its_first_element_is_refused():
    with pytest.raises(KeyError):
        gathered({"block_sizes_1": 64})


def test_a_triton_configuration_is_written_as_the_file_would_have_it():
    line = triton_line({"BLOCK": 64, "num_stages": 2, "EVEN": True, "num_warps": 8})

    assert line == "triton.Config({'BLOCK': 64, 'EVEN': True}, num_warps=8, num_stages=2)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/kernel.py", ("a/kernel.py", None)),
        ("a/kernel.py:matmul", ("a/kernel.py", "matmul")),
        ("kernel.cu", ("kernel.cu", None)),
        ("odd:name.cu", ("odd:name.cu", None)),
        ("kernel.py:not a name", ("kernel.py:not a name", None)),
    ],
)
def test_a_kernel_is_named_behind_its_file(text, expected):
    file, name = split_name(Path(text))

    assert (str(file), name) == expected
