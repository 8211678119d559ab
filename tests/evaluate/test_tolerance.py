from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tui_tuner.evaluate.in_pieces import PIECE, are_equal, magnitude
from tui_tuner.evaluate.tolerance import (
    TIMED_MARGIN,
    Bound,
    OwnError,
    bound,
    compare,
    own_error,
    wrong_elements,
)
from tui_tuner.problem.dtypes import dtype_named
from tui_tuner.problem.model import Tolerance

FLOAT = np.dtype(np.float32)
RNG = np.random.default_rng(3)


def own(expected: np.ndarray, operations: float = 1.0, error: float = 0.0) -> Bound:
    return bound(expected, FLOAT, operations, Tolerance(), OwnError(error, error))


def test_another_order_of_summation_passes() -> None:
    data = RNG.random((64, 4096), dtype=np.float32)
    expected = data.astype(np.float64).sum(axis=1)
    got = np.add.reduce(data[:, ::-1], axis=1, dtype=np.float32)
    assert compare(got, expected, own(expected, 4096))[1] is None


def test_results_of_bfloat16_may_round_the_other_way_and_no_further() -> None:
    dtype = dtype_named("bfloat16")
    expected = np.abs(RNG.standard_normal(1000)) + 1
    got = expected.astype(dtype)
    allowed = bound(expected, dtype, 4096, Tolerance(), own_error(got, expected))
    other_way = np.nextafter(got, dtype.type(2 * got.max()))
    assert compare(other_way, expected, allowed)[1] is None
    assert compare(other_way, got, bound(got, dtype, 4096, Tolerance(), None))[1] is None, "without a reference too"
    assert compare((expected * 1.03).astype(dtype), expected, allowed)[1] is not None


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_results_of_a_byte_are_next_to_what_is_expected(name: str) -> None:
    dtype = dtype_named(name)
    expected = np.abs(RNG.standard_normal(1000)) + 1
    got = expected.astype(dtype)
    next_one = np.nextafter(got, dtype.type(2 * got.max()))
    beside_exact = bound(expected, dtype, 4096, Tolerance(), own_error(got, expected))
    twice_rounded = expected.astype(dtype_named("bfloat16")).astype(dtype)
    assert compare(twice_rounded, expected, beside_exact)[1] is None
    assert compare(next_one, expected, beside_exact)[1] is not None
    for rounded in (got, got.astype(np.float64)):  # the kernel as given, or a reference that rounds
        beside_rounded = bound(rounded, dtype, 4096, Tolerance(), None)
        assert compare(next_one, rounded, beside_rounded)[1] is None
        assert compare(np.nextafter(next_one, dtype.type(2 * got.max())), rounded, beside_rounded)[1] is not None


def test_a_bit_less_than_a_type_of_a_byte_has_is_found() -> None:
    dtype = dtype_named("float8_e4m3fn")
    expected = RNG.standard_normal(1000)
    allowed = bound(expected, dtype, 2, Tolerance(), own_error(expected.astype(dtype), expected))
    assert compare(expected.astype(dtype_named("float8_e5m2")).astype(dtype), expected, allowed)[1] is not None


def test_half_precision_where_single_is_asked_for_fails() -> None:
    expected = RNG.standard_normal(1000)
    got = expected.astype(np.float16).astype(np.float32)
    assert compare(got, expected, own(expected))[1] is not None


def test_small_outputs_are_judged_by_their_own_magnitude() -> None:
    expected = RNG.random(1000) * 1e-6
    assert compare(np.zeros(1000, np.float32), expected, own(expected))[1] is not None


def test_the_error_of_the_kernel_as_given_widens_the_bound() -> None:
    expected = np.ones(100)
    got = np.full(100, 1.003, np.float32)
    assert compare(got, expected, own(expected))[1] is not None
    assert compare(got, expected, own(expected, error=0.001))[1] is None


def test_an_element_that_was_not_written_is_found_with_its_index() -> None:
    expected = np.ones((4, 5))
    got = expected.astype(np.float32)
    got[2, 3] = np.nan
    share, mismatch = compare(got, expected, own(expected))
    assert share == float("inf")
    assert mismatch is not None
    assert mismatch.index == (2, 3)
    assert "not written or NaN" in str(mismatch)


def test_nan_and_infinity_must_stand_where_they_are_expected() -> None:
    expected = np.array([1.0, np.nan, np.inf, -np.inf])
    right = expected.astype(np.float32)
    assert compare(right, expected, own(expected))[1] is None
    assert compare(-right, expected, own(expected))[1] is not None


def test_integers_must_match_exactly() -> None:
    expected = np.arange(10, dtype=np.int32)
    got = expected.copy()
    got[7] += 1
    allowed = bound(expected, expected.dtype, 1.0, Tolerance(relative=0.5), None)
    _, mismatch = compare(got, expected, allowed)
    assert mismatch is not None
    assert (mismatch.index, mismatch.got, mismatch.expected) == ((7,), 8, 7)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("of_reference", [None, "float64", "int64"])
def test_whole_numbers_may_be_off_by_what_the_user_says(dtype: str, of_reference: str | None) -> None:
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    expected = np.array([least, most, 5, 7], dtype)
    if of_reference is not None and np.dtype(dtype).itemsize < 8:
        expected = expected.astype(of_reference)
    allowed = bound(expected, np.dtype(dtype), 1.0, Tolerance(integers=2), None)
    for got, wrong in (
        ([least + 2, most - 2, 3, 9], ""),
        ([least, most, 5, 10], "[3] is 10, expected 7 (1 of 4 elements differ, "),
        ([most, most, 5, 7], f"[0] is {float(most):.9g}, expected {float(least):.9g} (1 of 4 elements differ, "),
    ):
        mismatch = compare(np.array(got, dtype), expected, allowed)[1]
        assert str(mismatch or "") == wrong + bool(wrong) * "allowed is 2, of noise in one of 100)"
        assert wrong_elements(np.array(got, dtype), expected, allowed).sum() == bool(wrong)


def test_of_noise_few_whole_numbers_may_be_off() -> None:
    expected = np.arange(1000, dtype=np.int32)
    allowed = replace(bound(expected, expected.dtype, 1.0, Tolerance(integers=1), None), rarely=True)
    few, many = (expected + (expected < count) for count in (10, 11))
    assert compare(few, expected, allowed)[1] is None
    assert "11 of 1000 elements differ" in str(compare(many, expected, allowed)[1])
    assert compare(many, expected, replace(allowed, rarely=False))[1] is None
    assert compare(expected[:3] + 1, expected[:3], allowed)[1] is not None
    assert compare(expected[:3] + (expected[:3] == 1), expected[:3], allowed)[1] is None, "one of any few"


def test_what_a_reference_does_not_know_is_no_whole_number() -> None:
    allowed = bound(np.zeros(1), np.dtype("int8"), 1.0, Tolerance(integers=2), None)
    assert compare(np.zeros(1, np.int8), np.array([np.nan]), allowed)[1] is not None


def test_booleans_match_exactly_whatever_whole_numbers_may_do() -> None:
    got, expected = np.array([True, False]), np.array([True, True])
    assert compare(got, expected, bound(expected, got.dtype, 1.0, Tolerance(integers=2), None))[1] is not None


def test_the_users_tolerance_replaces_ours() -> None:
    expected = np.ones(3)
    loose = bound(expected, FLOAT, 1.0, Tolerance(relative=0.1), None)
    assert compare(np.full(3, 1.05, np.float32), expected, loose)[1] is None


def softmax(rows: np.ndarray) -> np.ndarray:
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def test_another_way_to_sum_long_rows_passes_at_the_timed_size() -> None:
    small, large = (RNG.standard_normal((64, columns), dtype=np.float32) for columns in (1000, 4096))
    powers = np.exp(large - large.max(axis=1, keepdims=True))
    one_by_one = powers / np.cumsum(powers, axis=1, dtype=np.float32)[:, -1:]
    small_powers = np.exp(small - small.max(axis=1, keepdims=True))
    as_given = small_powers / np.cumsum(small_powers, axis=1, dtype=np.float32)[:, -1:]
    error = own_error(as_given, softmax(small.astype(np.float64))).scaled_to(magnitude(one_by_one))
    allowed = bound(one_by_one, FLOAT, 5.0, Tolerance(), error, TIMED_MARGIN)
    assert compare(softmax(large), one_by_one, allowed)[1] is None
    assert compare(softmax(large) * np.float32(1.001), one_by_one, allowed)[1] is not None


def test_a_large_output_with_one_wrong_element_in_its_last_piece_fails() -> None:
    expected = RNG.standard_normal(2**18 + 5)
    got = expected.astype(np.float32)
    assert compare(got, expected, own(expected))[1] is None
    got[-1] += 1
    _, mismatch = compare(got, expected, own(expected))
    assert mismatch is not None
    assert mismatch.index == (2**18 + 4,)


@pytest.mark.parametrize("operations", [1e3, 1e12])
def test_no_number_of_operations_makes_zeros_pass(operations: float) -> None:
    expected = RNG.standard_normal(1000)
    assert compare(np.zeros(1000, np.float32), expected, own(expected, operations))[1] is not None


@pytest.mark.parametrize("place", [0, PIECE - 1, PIECE, 2 * PIECE + 5])
def test_equal_arrays_are_told_from_such_as_differ_anywhere(place: int) -> None:
    one = RNG.random(2 * PIECE + 6, np.float32)
    other = one.copy()
    assert are_equal(one, other)
    assert own_error(one, other) == OwnError(0.0, 0.0, is_whole=True)
    other[place] += 1
    assert not are_equal(one, other)
    error = own_error(other, one)
    assert error.absolute == pytest.approx(1, rel=1e-6)
    assert error.is_within(Bound(1.001, 0.0))
    assert not error.is_within(Bound(0.999, 1.0))


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("is_on_both", [True, False])
def test_of_what_is_not_finite_no_error_says_that_all_is_well(number: float, is_on_both: bool) -> None:
    one = np.ones(5, np.float32)
    one[3] = number
    error = own_error(one, one if is_on_both else np.ones(5))
    assert error.absolute == 0
    assert not error.is_within(Bound(1.0, 1.0))
