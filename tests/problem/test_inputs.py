from __future__ import annotations

import numpy as np
import pytest

from tui_tuner.errors import ProblemError
from tui_tuner.problem.check_inputs import fill_fault
from tui_tuner.problem.inputs import array_bytes, bounds_of, make_arguments, poisoned, untouched
from tui_tuner.problem.model import Argument, Kernel, Launch, Problem


def problem_of(*arguments, **sizes):
    listed = [Argument(**{"name": f"a{i}", "dtype": "float32", **a}) for i, a in enumerate(arguments)]
    return Problem(kernel=Kernel(source="k.cu", name="k"), launch=Launch(), arguments=listed, sizes=sizes)


def made(argument, seed=1, **sizes):
    return make_arguments(problem_of(argument, **sizes), {}, seed)[0]


def test_arguments_come_in_order_with_their_shapes_and_dtypes_at_the_given_sizes():
    problem = problem_of(
        {"shape": ["n", "2 * m"]}, {"dtype": "int32", "value": "n * m"}, {"dtype": "float16", "value": 0.5}, n=3, m=4
    )
    array, product, half = make_arguments(problem, {"m": 5}, 1)
    assert (array.shape, array.dtype) == ((3, 10), np.float32)
    assert (product, product.dtype) == (15, np.int32)
    assert (half, half.dtype) == (0.5, np.float16)
    assert array_bytes(problem, {"m": 5}) == 3 * 10 * 4


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floating_point_inputs_are_normal_with_full_entropy(dtype):
    values = made({"dtype": dtype, "shape": [100_000]})
    assert values.dtype == dtype
    assert abs(values.astype(float).mean()) < 0.02
    assert abs(values.astype(float).std() - 1) < 0.02
    if dtype != "float16":
        assert len(np.unique(values)) > 99_000


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integer_inputs_are_from_0_to_99(dtype):
    values = made({"dtype": dtype, "shape": [10_000]})
    assert values.dtype == dtype
    assert set(np.unique(values)) == set(range(100))


def test_truth_values_are_of_both_kinds():
    assert 400 < made({"dtype": "bool", "shape": [1000]}).sum() < 600


@pytest.mark.parametrize(
    ("fill", "low", "high", "expected"),
    [
        ("zeros", None, None, (0, 0)),
        ("ones", None, None, (1, 1)),
        ("arange", None, None, (0, 9999)),
        ("shuffled", None, None, (0, 9999)),
        ("uniform", -2.0, "n", (-2, 7)),
        ("uniform", None, None, (0, 1)),
        ("integers", -3, 4, (-3, 3)),
    ],
)
def test_a_fill_stays_within_its_bounds_and_reaches_them(fill, low, high, expected):
    values = made({"shape": [10_000], "fill": fill, "low": low, "high": high}, n=7)
    assert values.min() == pytest.approx(expected[0], abs=0.01)
    assert values.max() == pytest.approx(expected[1], abs=0.01)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_what_is_shuffled_holds_each_number_once_and_hardly_any_at_its_place(dtype):
    values = made({"dtype": dtype, "shape": [16, "n"], "fill": "shuffled"}, n=16)
    assert (values.dtype, values.shape, sorted(values.flat)) == (dtype, (16, 16), [*range(256)])
    assert (values.reshape(-1) == np.arange(256)).sum() < 16


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "uint16"])
def test_offsets_divide_what_there_is_into_parts_of_different_length_some_of_them_empty(dtype):
    values = made({"dtype": dtype, "shape": ["n + 1"], "fill": "offsets", "high": "8 * n"}, n=1000)
    lengths = np.diff(values.astype(np.int64))
    assert values.dtype == dtype
    assert (values[0], values[-1], lengths.min(), lengths.sum()) == (0, 8000, 0, 8000)
    assert len(np.unique(lengths)) > 10
    assert made({"dtype": dtype, "shape": [2], "fill": "offsets", "low": 1, "high": 9}).tolist() == [1, 9]


@pytest.mark.parametrize(
    ("dtype", "high", "message", "hint"),
    [
        ("float32", 9, "offsets are whole numbers, float32 is none", 'use fill = "integers"'),
        ("bool", 9, "offsets are whole numbers, bool is none", 'use fill = "integers"'),
        ("int32", None, "the last of offsets is not given", "add high = ..., the number of elements they divide"),
    ],
)
def test_offsets_that_cannot_be_made_are_refused_with_what_to_write(dtype, high, message, hint):
    fault = fill_fault(Argument(name="rows", dtype=dtype, shape=[9], fill="offsets", high=high))
    assert (fault.key, fault.message, fault.hint) == ("fill", message, hint)


def test_a_single_offset_is_the_first():
    assert made({"dtype": "int32", "shape": [1], "fill": "offsets", "low": 3, "high": 9}).tolist() == [3]


def test_the_seed_decides_and_arguments_differ_from_each_other():
    problem = problem_of({"shape": [100]}, {"shape": [100]})
    first, second = make_arguments(problem, {}, 5)
    again = make_arguments(problem, {}, 5)
    assert np.array_equal(first, again[0])
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, make_arguments(problem, {}, 6)[0])


def test_outputs_start_poisoned_unless_they_have_a_fill():
    for dtype in ("float16", "float32", "float64"):
        assert np.isnan(made({"dtype": dtype, "shape": [5], "output": True})).all()
    assert (made({"dtype": "uint32", "shape": [2, 3], "output": True}) == 0xA5A5A5A5).all()
    assert made({"dtype": "bool", "shape": [4], "output": True}).tolist() == [True, False, True, False]
    assert (made({"shape": [5], "output": True, "fill": "zeros"}) == 0).all()
    assert poisoned(Argument(name="a", dtype="int8", shape=[1], output=True))
    assert not poisoned(Argument(name="a", dtype="int8", shape=[1], output=True, fill="ones"))
    assert not poisoned(Argument(name="a", dtype="int8", shape=[1]))


def test_elements_that_no_kernel_wrote_are_told_from_written_ones():
    for dtype in ("float32", "int64"):
        argument = Argument(name="a", dtype=dtype, shape=[2, 3], output=True)
        array = np.array(make_arguments(problem_of(argument.model_dump()), {}, 1)[0])
        array[1, 2] = 7
        assert untouched(argument, array).tolist() == [[True] * 3, [True, True, False]]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"dtype": "int32", "value": "n ** 3"}, "does not fit into int32"),
        ({"dtype": "uint8", "value": -1}, "does not fit into uint8"),
        ({"dtype": "int32", "value": 0.5}, "does not fit into int32"),
        ({"dtype": "bool", "value": 2}, "does not fit into bool"),
        ({"dtype": "float16", "value": 1e6}, "does not fit into float16"),
        ({"dtype": "float32", "value": "n / 0"}, "division by zero"),
        ({"shape": ["n - 4096"]}, "at least 1"),
        ({"shape": [9], "fill": "uniform", "low": 2}, "nothing between low = 2"),
        ({"dtype": "int8", "shape": [9], "high": 300}, "does not fit into int8"),
        ({"dtype": "uint8", "shape": [9], "low": -1}, "does not fit into uint8"),
        ({"dtype": "int8", "shape": [900], "fill": "arange"}, "does not fit into int8"),
        ({"dtype": "int8", "shape": [900], "fill": "shuffled"}, "does not fit into int8"),
        ({"dtype": "int8", "shape": [900], "fill": "offsets", "high": 128}, "128 does not fit into int8"),
        ({"dtype": "int8", "shape": [900], "fill": "offsets", "low": 5, "high": 4}, "nothing between low = 5"),
    ],
)
def test_what_does_not_fit_is_an_error_that_names_the_argument(argument, message):
    with pytest.raises(ProblemError, match=f"argument 'a0': .*{message}"):
        made(argument, n=4096)


def test_the_lower_bound_of_a_fill_may_be_made_of_sizes():
    argument = Argument(name="n", dtype="int32", shape=["1"], fill="integers", low="rows * 2", high="rows * 2 + 1")
    assert bounds_of(argument, {"rows": 7}) == (14, 15)
    assert Argument(name="x", dtype="float32", shape=["1"], fill="uniform", low=1).model_dump()["low"] == 1.0
