from __future__ import annotations

import numpy as np
import pytest

from tui_tuner.problem import blocks, inputs
from tui_tuner.problem.domains import LOUD, SPIKES
from tui_tuner.problem.inputs import make_arguments
from tui_tuner.problem.model import Argument, Kernel, Launch, Problem
from tui_tuner.problem.textures import ALL_BUT_NOISE, Texture, exchanged, textured

COUNT = 20_000
NARROW = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def problem_of(**argument: object) -> Problem:
    array = Argument(**{"name": "x", "dtype": "float32", "shape": [COUNT], **argument})  # type: ignore[arg-type]
    return Problem(kernel=Kernel(source="k.cu", name="k"), launch=Launch(), arguments=[array])  # type: ignore[arg-type]


def drawn(texture: Texture, seed: int = 3, **argument: object) -> np.ndarray | None:
    problem = problem_of(**argument)
    values = textured(problem, make_arguments(problem, {}, 1), texture, seed)
    return None if values is None else np.asarray(values[0])


@pytest.mark.parametrize("texture", [texture for texture in Texture if texture is not Texture.NOISE])
@pytest.mark.parametrize(
    ("low", "high", "argument"),
    [
        (-np.inf, np.inf, {}),
        (-np.inf, np.inf, {"dtype": "float16"}),
        (-np.inf, np.inf, {"dtype": "float64"}),
        (-2, 3, {"fill": "uniform", "low": -2, "high": 3}),
        (5, 6, {"fill": "uniform", "low": 5, "high": 6}),
        (0, 1, {"fill": "uniform", "dtype": "float16"}),
        *((-np.inf, np.inf, {"dtype": narrow}) for narrow in NARROW),
        *((0, 1, {"fill": "uniform", "dtype": narrow}) for narrow in NARROW),
        *((5, 10, {"fill": "uniform", "dtype": narrow, "low": 5, "high": 10}) for narrow in NARROW),
        (-8, 8, {"fill": "integers", "dtype": "bfloat16", "low": -8, "high": 8}),
        (0, 100, {"dtype": "int32"}),
        (-100, 3, {"dtype": "int8", "low": -100, "high": 3}),
        (7, 9, {"dtype": "uint64", "low": 7, "high": 9}),
        (-9, -7, {"dtype": "int16", "low": -9, "high": -7}),
        (0, 2, {"dtype": "bool"}),
        (0, 50, {"fill": "integers", "high": 50}),
    ],
)
def test_a_texture_stays_within_what_the_argument_declares(
    texture: Texture, low: float, high: float, argument: dict[str, object]
) -> None:
    values = drawn(texture, **argument)
    if values is None:
        return
    assert values.dtype == argument.get("dtype", "float32")
    assert np.isfinite(values.astype(float)).all() or texture is Texture.INFINITE
    assert values.astype(float).min() >= low
    assert values.astype(float).max() < high
    if "integers" in (argument.get("fill"), inputs.fill_of(problem_of(**argument).arguments[0])):
        assert np.array_equal(values, np.round(values.astype(float)))


@pytest.mark.parametrize("dtype", ["float16", *NARROW])
def test_rounding_to_few_bits_reaches_no_upper_bound(dtype: str) -> None:
    values = np.asarray(make_arguments(problem_of(dtype=dtype, fill="uniform", low=5, high=10), {}, 1)[0])
    assert 5 <= float(values.min()) < float(values.max()) < 10


def test_what_a_domain_does_not_allow_is_left_as_it_is() -> None:
    assert drawn(Texture.LARGE, fill="uniform") is None
    assert drawn(Texture.ZEROS, fill="uniform", low=1, high=2) is None
    assert drawn(Texture.INFINITE) is None
    for fill in ("arange", "shuffled", "zeros", "ones"):
        assert all(drawn(texture, fill=fill) is None for texture in ALL_BUT_NOISE)


def test_infinities_of_either_sign_come_where_they_are_declared() -> None:
    found = np.concatenate([drawn(Texture.INFINITE, seed, infinities=True) for seed in range(20)])  # type: ignore[misc]
    assert 0 < np.isinf(found).sum() <= 80
    assert {np.inf, -np.inf} <= set(found[np.isinf(found)].tolist())


@pytest.mark.parametrize("argument", [{}, {"fill": "uniform"}, {"dtype": "float16"}, {"dtype": "bfloat16"}])
def test_nan_of_either_sign_comes_where_it_is_declared(argument: dict[str, object]) -> None:
    assert drawn(Texture.NAN, **argument) is None
    found = np.concatenate([drawn(Texture.NAN, seed, nans=True, **argument) for seed in range(20)])  # type: ignore[misc]
    bits = found[np.isnan(found)].astype(np.float64)
    assert 0 < bits.size <= 80
    assert set(np.signbit(bits).tolist()) == {True, False}
    assert np.isfinite(found[~np.isnan(found)]).all()


def test_the_few_among_equal_ones_are_far_from_them() -> None:
    values = drawn(Texture.MOSTLY_EQUAL, fill="uniform", low=5, high=7)
    assert values is not None
    most = np.median(values)
    assert most in {5.5, 6.0, 6.5}
    assert set(values[values != most].tolist()) == {5.25, 6.75}


def test_spikes_are_all_of_the_sum() -> None:
    """What is silent may be lost in the rounding of one spike: how much of it is, differs from order to order."""
    for argument in ({}, {"fill": "uniform"}, {"dtype": "int32"}, {"dtype": "float64"}):
        values = drawn(Texture.SPIKES, **argument)
        assert values is not None
        rounding = np.finfo(values.dtype).eps if values.dtype.kind == "f" else 0.05
        sizes = np.sort(np.abs(values.astype(float)))
        assert sizes[:-64].sum() < rounding * sizes[-64:].sum()
        assert sizes[-1] >= 0.75 * LOUD or sizes[-1] == 99 or argument == {"fill": "uniform"}
        assert values[-1] == sizes[-1], "a maximum without the tail misses it"


def test_a_profile_begins_quiet_and_ends_loud() -> None:
    values = drawn(Texture.PROFILE, fill="uniform", low=1, high=2)
    assert values is not None
    noise = make_arguments(problem_of(fill="uniform", low=1, high=2), {}, 1)[0]
    assert np.ptp(values[:20]) < 0.01
    assert values[-1] == pytest.approx(noise[-1]) or values[-2] == pytest.approx(noise[-2])  # type: ignore[index]
    assert np.all(values <= noise)


@pytest.mark.slow
def test_one_element_in_four_says_another_sum_of_a_profile() -> None:
    profiles = [drawn(Texture.PROFILE, seed, fill="uniform") for seed in range(200)]
    shares = [4 * values[::4].sum() / values.sum() for values in profiles if values is not None]
    alike = sum(abs(share - 1) < 0.05 for share in shares)
    assert len(shares) == 200
    assert alike <= 12, "a sum of some would be taken for that of all"


def test_scales_are_those_of_the_noise() -> None:
    noise = np.asarray(make_arguments(problem_of(), {}, 1)[0])
    tiny, large = drawn(Texture.TINY), drawn(Texture.LARGE)
    assert tiny is not None
    assert large is not None
    assert np.allclose(tiny, noise * np.float32(1e-30), rtol=1e-6, atol=0)
    third = noise.size // 3
    assert np.allclose(large[: third - 1], noise[: third - 1] * np.float32(1e4), rtol=1e-6, atol=0)
    assert large[third - 1] == large.max(), "a maximum of all but the end is wrong there"
    assert large[third : 2 * third].max() == large[third] < 0, "and one of all but the first, or begun at zero, there"
    assert np.allclose(large[2 * third : 3 * third], noise[2 * third : 3 * third] * 8, rtol=1e-6, atol=0)


def test_zeros_have_either_sign_where_numbers_have() -> None:
    signs = [np.signbit(values).mean() for values in (drawn(Texture.ZEROS), drawn(Texture.ZEROS, fill="uniform"))]  # type: ignore[arg-type]
    assert 0.2 < signs[0] < 0.8
    assert signs[1] == 0


def test_few_values_among_equal_ones_are_not_the_first() -> None:
    """The gains of a layer norm are a few hundred, and the first of them told nothing in one case of five only."""
    for size in (9, 40, 300):
        values = drawn(Texture.MOSTLY_EQUAL, shape=[size])
        assert values is not None
        alike = min(16, size // 2)
        assert np.all(values[:alike] == values[0])
        assert len(set(values.tolist())) > 1


def test_each_row_of_noise_has_one_large_element_and_not_at_its_beginning() -> None:
    noise = np.asarray(make_arguments(problem_of(shape=[50, 300]), {}, 1)[0])
    values = drawn(Texture.LONE, shape=[50, 300])
    assert values is not None
    rows, places = np.nonzero(values != noise)
    assert rows.tolist() == list(range(50))
    assert places.min() >= 16
    assert set(values[rows, places].tolist()) == {1e4}


@pytest.mark.parametrize("seed", range(5))
def test_of_parts_that_lie_behind_each_other_one_has_half_of_all(seed: int) -> None:
    offsets = drawn(Texture.LONE, seed, dtype="int32", fill="offsets", low=5, high=905, shape=[61])
    assert offsets is not None
    parts = np.diff(offsets)
    assert (offsets[0], offsets[-1], parts.min() >= 0) == (5, 905, True)
    assert parts.max() >= 450
    assert np.sort(parts)[-2] < 100
    assert drawn(Texture.LONE, seed, dtype="int32", fill="offsets", low=5, high=905, shape=[1]) is None


def test_rows_in_order_rise_fall_or_have_the_largest_so_many_elements_apart() -> None:
    noise = np.asarray(make_arguments(problem_of(shape=[16, 2048]), {}, 1)[0])
    values = drawn(Texture.ORDERED, shape=[16, 2048])
    assert values is not None
    assert np.array_equal(np.sort(values), np.sort(noise))
    apart = [int(places[-1] - places[-2]) for places in np.argsort(values)]
    assert sorted(apart) == sorted([1, -1, 32, 64, 128, 256, 512, 1024] * 2)


@pytest.mark.parametrize("texture", [Texture.LONE, Texture.ORDERED])
@pytest.mark.parametrize("shape", [[], [1], [3, 1], [2, 3, 4]])
def test_arrays_of_any_extents_have_rows(texture: Texture, shape: list[int]) -> None:
    values = drawn(texture, shape=shape)
    assert values is not None
    assert values.shape == tuple(shape)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_next_to_each_other_differ_in_four_bits(dtype: str) -> None:
    values = drawn(Texture.NEXT, dtype=dtype)
    assert values is not None
    distinct = np.unique(values)
    assert len(distinct) == 16
    assert np.array_equal(np.nextafter(distinct[:-1], distinct.dtype.type(np.inf)), distinct[1:])
    assert drawn(Texture.NEXT, dtype="int32") is None
    assert drawn(Texture.NEXT, fill="integers", high=9) is None


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("int64", -(2**39), 2**40), ("uint32", 5, 2**31), ("float32", 0, 2**20)]
)
def test_whole_numbers_differ_in_one_bit_from_one_of_them(dtype: str, low: int, high: int) -> None:
    values = drawn(Texture.BITS, dtype=dtype, fill="integers", low=low, high=high)
    assert values is not None
    distinct = np.unique(values.astype(np.int64) - low).tolist()
    assert len(distinct) > 14
    assert any(all(bin(one ^ other).count("1") <= 1 for one in distinct) for other in distinct)
    assert drawn(Texture.BITS, dtype=dtype, fill="integers", high=100) is None, "noise has equal ones of these"


@pytest.mark.parametrize(
    ("dtype", "down", "up"), [("float32", 40, 20), ("float64", 40, 20), ("float16", 9, 9), ("float8_e4m3fn", 3, 3)]
)
def test_numbers_are_moved_by_few_octaves_and_by_many(dtype: str, down: int, up: int) -> None:
    for texture, sign, most in ((Texture.SMALLER, -1, down), (Texture.LARGER, 1, up)):
        moved = []
        for seed in range(200):
            values = drawn(texture, seed, dtype=dtype, shape=[50])
            assert values is not None
            moved.append(sign * float(np.log2(np.abs(values.astype(float)).max() / 2.2)))
        assert min(moved) < 2.5
        assert most - 2 < max(moved) < most + 2
    bounded = {"fill": "uniform", "dtype": dtype, "shape": [50]}
    assert drawn(Texture.LARGER, **bounded) is None
    assert drawn(Texture.SMALLER, **bounded) is not None
    assert drawn(Texture.SMALLER, low=1, high=2, **bounded) is None


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn"])
def test_rows_of_larger_numbers_have_either_sign_or_both(dtype: str) -> None:
    values = drawn(Texture.LARGER, dtype=dtype, shape=[60, 50])
    assert values is not None
    signs = [set(np.signbit(row.astype(float)).tolist()) for row in values]
    assert sorted(map(len, signs[:3])) == [1, 1, 2]
    assert all(one == signs[number % 3] for number, one in enumerate(signs))
    assert {True} in signs
    assert {False} in signs


def test_the_seed_decides_and_noise_stays_as_it_was() -> None:
    problem = problem_of()
    noise = make_arguments(problem, {}, 1)
    before = np.array(noise[0])
    for texture in (Texture.SPIKES, Texture.PROFILE):
        assert np.array_equal(drawn(texture, 5), drawn(texture, 5))  # type: ignore[arg-type]
        assert not np.array_equal(drawn(texture, 5), drawn(texture, 6))  # type: ignore[arg-type]
        textured(problem, noise, texture, 5)
    assert np.array_equal(before, noise[0])


def test_how_many_threads_draw_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(shape=[3 * blocks.BLOCK + 5])
    values = []
    for threads in (1, 4):
        monkeypatch.setattr(blocks, "MOST_THREADS", threads)
        monkeypatch.setattr(blocks, "usable_cores", lambda: 8)
        noise = make_arguments(problem, {}, 1)
        profile = textured(problem, noise, Texture.PROFILE, 2)
        assert profile is not None
        values.append((noise[0], profile[0]))
    assert np.array_equal(values[0][0], values[1][0])
    assert np.array_equal(values[0][1], values[1][1])


def test_only_the_first_array_is_changed_where_that_is_asked_for() -> None:
    problem = problem_of()
    two = problem.model_copy(update={"arguments": [problem.arguments[0]] * 2})
    noise = make_arguments(two, {}, 1)
    values = textured(two, noise, Texture.LARGE, 1, first_only=True)
    assert values is not None
    assert values[0] is not noise[0]
    assert values[1] is noise[1]


def test_an_argument_that_declares_nothing_is_written_as_ever() -> None:
    assert not {"infinities", "nans"} & set(problem_of().arguments[0].model_dump())
    assert problem_of(infinities=True).arguments[0].model_dump()["infinities"] is True


@pytest.mark.parametrize(("low", "high", "held"), [(-128, 128, {-128, -127}), (0, 100, {99, 98}), (0, 2, None)])
def test_large_whole_numbers_are_the_two_furthest_from_zero_where_there_are_others(
    low: int, high: int, held: set[int] | None
) -> None:
    values = drawn(Texture.LARGE, dtype="int16", low=low, high=high)
    assert (None if values is None else set(values.tolist())) == held


@pytest.mark.parametrize(
    ("value", "others"),
    [(1.0, {0.75, 1.25}), (0.125, {0.09375, 0.15625}), (0, {0.25}), (-3.0, {-2.25, -3.75}), ("2 * 0.5", {0.75, 1.25})],
)
def test_a_floating_scalar_without_a_size_in_it_is_another_one(value: object, others: set[float]) -> None:
    problem = problem_of()
    scalar = Argument(name="a", dtype="float64", value=value)  # type: ignore[arg-type]
    problem = problem.model_copy(update={"arguments": [*problem.arguments, scalar]})
    found = {float(textured(problem, make_arguments(problem, {}, 1), Texture.SCALARS, seed)[1]) for seed in range(9)}  # type: ignore[index]
    assert found == others


@pytest.mark.parametrize(
    "scalar",
    [
        {"dtype": "int32", "value": 3},
        {"dtype": "float32", "value": 1000.0},
        {"dtype": "float32", "value": "1.0 / n"},
    ],
)
def test_what_may_be_a_count_or_is_made_of_sizes_stays(scalar: dict[str, object]) -> None:
    problem = problem_of()
    arguments = [*problem.arguments, Argument(name="a", **scalar)]  # type: ignore[arg-type]
    problem = problem.model_copy(update={"arguments": arguments, "sizes": {"n": 7}})
    assert textured(problem, make_arguments(problem, {}, 1), Texture.SCALARS, 1) is None


@pytest.mark.parametrize("argument", [{}, {"dtype": "int32"}, {"fill": "uniform", "dtype": "float16"}])
def test_few_elements_are_exchanged_for_others_of_the_same_array_and_the_rest_stays(
    argument: dict[str, object],
) -> None:
    problem = problem_of(**argument)
    [before] = make_arguments(problem, {}, 1)
    [after] = exchanged(problem, [before], 3) or [before]
    assert 0 < np.count_nonzero(before != after) <= SPIKES
    assert np.isin(after, before).all()


def test_nothing_is_exchanged_where_all_are_the_same_or_each_has_its_place() -> None:
    problem = problem_of()
    assert exchanged(problem, [np.full(COUNT, 2, np.float32)], 3) is None
    shuffled = problem_of(fill="shuffled", dtype="int32")
    assert exchanged(shuffled, make_arguments(shuffled, {}, 1), 3) is None
