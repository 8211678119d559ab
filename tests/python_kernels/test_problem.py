from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.python_kernels.fakes import DESCRIBED, description, written
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import parse_problem
from tui_tuner.problem.tunables import value_faults
from tui_tuner.python_kernels.flat import gathered, plain_values, triton_line, value_of
from tui_tuner.subjects import split_name


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_description_becomes_a_problem_that_can_be_read_again_without_torch(tmp_path, name):
    first = written(tmp_path, name)
    again = parse_problem(first.text, directory=tmp_path, file=first.file, source_text=first.problem.source_text)

    assert again == first.problem
    assert again.language == "python"
    assert not again.is_compiled
    assert again.default_configuration == description(name).defaults
    assert again.tunables == description(name).tunables


def test_the_fields_of_a_config_spec_are_tunables_with_their_values(tmp_path):
    problem = written(tmp_path).problem

    assert problem.tunables["block_sizes_0"] == [16, 32, 64, 128, 256, 512, 1024, 2048]
    assert problem.tunables["loop_orders_0"] == ["[0, 1]", "[1, 0]"]
    assert problem.tunables["range_flattens_1"] == ["None", "False", "True"]
    assert problem.tunables["load_eviction_policies_0"] == ["''", "first", "last"]
    assert problem.sizes == {"a_0": 2048, "a_1": 2048, "b_0": 2048, "b_1": 2048}


def test_tiles_that_triton_would_refuse_are_outside_of_the_space(tmp_path):
    problem = written(tmp_path).problem
    space = baseline(problem).space(sizes=problem.sizes, max_threads=1024)
    large = {**problem.default_configuration, "block_sizes_0": 2048, "block_sizes_1": 1024}

    assert "block_sizes_0*block_sizes_1 <= 1048576" in (space.is_valid(large) or "")
    assert space.contains({**large, "block_sizes_1": 512})


def test_what_helion_ignores_beside_a_flat_grid_is_held_at_its_default(tmp_path):
    problem = written(tmp_path).problem
    space = baseline(problem).space(sizes=problem.sizes, max_threads=1024)
    flat = {**problem.default_configuration, "num_sm_multiplier": 8}

    assert "pid_type != 'flat' or num_sm_multiplier == 1" in (space.is_valid(flat) or "")
    assert space.contains({**flat, "pid_type": "persistent_blocked"})


def test_the_space_is_too_large_to_enumerate_and_is_not_enumerated(tmp_path):
    problem = written(tmp_path).problem
    combinations = 1
    for values in problem.tunables.values():
        combinations *= len(values)

    assert combinations > 1e12
    assert baseline(problem).space(sizes=problem.sizes, max_threads=1024).contains(problem.default_configuration)


def test_the_default_configuration_of_helion_comes_out_of_its_flat_values():
    assert gathered(description().defaults) == {
        "block_sizes": [16, 16, 16],
        "loop_orders": [[0, 1]],
        "l2_groupings": [1],
        "range_unroll_factors": [0, 0],
        "range_num_stages": [0, 0],
        "range_multi_buffers": [None, None],
        "range_flattens": [None, None],
        "num_warps": 4,
        "num_stages": 1,
        "indexing": ["pointer", "pointer", "pointer"],
        "pid_type": "flat",
        "num_sm_multiplier": 1,
        "load_eviction_policies": ["", ""],
    }


def test_every_combination_of_a_list_of_triton_configurations_is_in_the_space(tmp_path):
    problem = written(tmp_path, "softmax_triton").problem
    listed = description("softmax_triton").seeds
    space = baseline(problem).space(sizes=problem.sizes, max_threads=1024)
    rng = random.Random(1)  # noqa: S311 (a test)

    assert space.size == 3 * 2 * 3 * 2
    assert len(listed) == space.size - 1
    assert all(space.contains(configuration) for configuration in listed)
    assert space.contains({name: rng.choice(values) for name, values in problem.tunables.items()})


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
        ("a/kernel.cuh:scale", ("a/kernel.cuh", "scale")),
        ("odd:name.cu", ("odd:name.cu", None)),
        ("kernel.py:not a name", ("kernel.py:not a name", None)),
    ],
)
def test_a_kernel_is_named_behind_its_file(text, expected):
    file, name = split_name(Path(text))

    assert (str(file), name) == expected
