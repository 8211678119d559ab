"""The surrogate in spaces of every kind, small and huge, with failures and with what was measured before."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

from tests.problem.test_space import GEMM, GEMM_RESTRICTIONS
from tests.search.spaces import START, SYNTHETIC, Time, batches, client, distinct, milliseconds, searched
from tests.search.test_process import search_processes
from tests.waiting import processor_s
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.space import SearchSpace
from tui_tuner.search.connection import SearchProcess
from tui_tuner.search.gaussian_process import GaussianProcess

pytestmark = pytest.mark.asyncio(loop_scope="session")


def best(configurations: list[Configuration], measure: Time) -> float:
    return min(found for configuration in configurations if (found := measure(configuration)) is not None)


def matrix_multiply(configuration: Configuration) -> float | None:
    """1 ms at the best of some 10 to the 12 configurations; tiles that fill the registers fail."""
    tile = configuration["MWG"] * configuration["NWG"] / (configuration["MDIMC"] * configuration["NDIMC"])
    if tile > 128:
        return None
    work = 1 + 0.5 * abs(math.log2(tile / 64)) + 0.1 * abs(math.log2(configuration["VWM"] * configuration["VWN"] / 8))
    return work + 0.2 * (not configuration["SA"]) + 0.2 * (not configuration["SB"]) + 0.02 * configuration["free0"]


async def test_the_optimum_of_a_smooth_space_is_found_in_a_tenth_of_it(process: SearchProcess):
    assert best(await searched(process, 40, start=START), milliseconds) == 1.0


@pytest.mark.slow
@pytest.mark.timeout(100)
async def test_a_space_of_10_to_the_12_is_searched_without_listing_it(process: SearchProcess):
    space = SearchSpace(GEMM, GEMM_RESTRICTIONS)
    configurations = await searched(process, 60, matrix_multiply, space)
    assert len(configurations) == distinct(configurations) == 60
    assert all(space.contains(configuration) for configuration in configurations)
    assert best(configurations, matrix_multiply) < 1.2


async def test_a_method_of_kernel_tuner_searches_a_sample_of_a_space_that_is_too_large_to_list(
    process: SearchProcess, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tui_tuner.search.client.LISTED", 2_000)
    space = SearchSpace({f"t{i}": list(range(10)) for i in range(4)}, ["t0 != t1"])
    start = {f"t{i}": 9 - i for i in range(4)}
    configurations = await searched(
        process, 10, lambda c: 1.0 + sum(c.values()), space, method="greedy_mls", start=start
    )
    assert configurations[0] == start
    assert len(configurations) == distinct(configurations) == 10
    assert all(space.contains(configuration) for configuration in configurations)


async def test_one_tunable_is_enough(process: SearchProcess):
    space = SearchSpace({"n": list(range(1, 400))})

    def measure(configuration: Configuration) -> float:
        return 1 + abs(configuration["n"] - 123) / 10

    assert best(await searched(process, 30, measure, space), measure) == 1.0


@pytest.mark.slow
async def test_text_has_no_order_and_is_learnt_all_the_same(process: SearchProcess):
    space = SearchSpace({f"t{i}": list("dbeac") for i in range(6)})
    wrong = dict(zip("abcde", (3, 1, 4, 0, 2), strict=True))

    def measure(configuration: Configuration) -> float:
        return 1 + sum(wrong[letter] * (i + 1) for i, letter in enumerate(configuration.values())) / 10

    assert best(await searched(process, 90, measure, space), measure) == 1.0


async def test_the_optimum_is_found_where_nine_in_ten_configurations_fail(process: SearchProcess):
    space = SearchSpace({"x": list(range(40)), "y": list(range(40))})

    def measure(configuration: Configuration) -> float | None:
        x, y = configuration["x"], configuration["y"]
        return None if x + y > 14 else 1 + ((x - 8) ** 2 + (y - 4) ** 2) / 100

    results = [measure(configuration) for configuration in await searched(process, 40, measure, space)]
    assert results.count(None) < 0.85 * len(results)
    assert min(filter(None, results)) == 1.0


@pytest.mark.parametrize("measured", [None, 1.0])
async def test_results_that_say_nothing_are_no_trouble(measured, process: SearchProcess):
    configurations = await searched(process, 20, lambda _: measured)
    assert distinct(configurations) == 20


KNOWN = [
    ({**START, "block_size_x": 128, "block_size_y": 4, "unroll": unroll, "use_shared": True}, 1.0 + 0.2 * steps)
    for unroll, steps in ((1, 2), (2, 1), (4, 0))
] + [({**START, "layout": "columns"}, None)]


@pytest.mark.parametrize("method", ["surrogate", "hybrid_vndx", "simulated_annealing", "pso", "random_sample"])
async def test_what_is_known_is_never_asked_for_and_costs_nothing(method, process: SearchProcess):
    configurations = await searched(process, 20, method=method, known=KNOWN, start=START)
    assert len(configurations) > 10
    assert distinct(configurations) == len(configurations)
    assert START in configurations
    assert not any(known in configurations for known, _ in KNOWN)


@pytest.mark.parametrize("method", ["surrogate", "greedy_mls"])
async def test_a_search_that_is_told_of_a_good_configuration_looks_near_it(method, process: SearchProcess):
    told = await searched(process, 15, method=method, known=KNOWN[:2], start=START)
    assert best(told, milliseconds) == 1.0


async def test_what_others_had_measured_is_learnt_from_and_what_was_not_measured_may_come_again(process: SearchProcess):
    search = client(process, 20, start=START)
    optimum = next(one for one in SYNTHETIC.configurations() if milliseconds(one) == 1.0)
    near = [one for one, _ in KNOWN]
    taken: list[Configuration] = []
    async with search:
        async for batch in search:
            others = [(one, milliseconds(one)) for one in near if one not in taken]
            own = batch[:2]
            await search.tell([milliseconds(one) for one in own], others)
            taken += [*own, *(one for one, _ in others)]
    assert 20 <= len(taken) == distinct(taken) <= 24
    assert taken.index(optimum) < 14, "it looks near what others found"


async def test_a_search_goes_on_from_what_another_version_of_it_chose(process: SearchProcess):
    before = [one for one in SYNTHETIC.configurations() if one["layout"] == "columns"][:12]
    optimum = next(one for one in SYNTHETIC.configurations() if milliseconds(one) == 1.0)
    search = client(process, 40, start=START)
    taken = [START, *before]
    async with search:
        assert await search.go_on_from([START, *before], [milliseconds(one) for one in taken])
        async for batch in search:
            taken += batch
            await search.tell([milliseconds(one) for one in batch])
    assert len(taken) == distinct(taken) == 40
    assert optimum in taken


async def test_what_is_offered_is_evaluated_with_the_first_ones_where_it_is_valid(process: SearchProcess):
    offered = [KNOWN[2][0], {**START, "block_size_x": 1024, "block_size_y": 8}, KNOWN[1][0], START]
    asked = await searched(process, 10, start=START, offered=offered)
    assert asked[:3] == [START, KNOWN[2][0], KNOWN[1][0]]
    assert len(asked) == distinct(asked) == 10


async def test_methods_that_know_their_own_choices_only_go_on_from_no_others_and_take_whole_batches(
    process: SearchProcess,
):
    async with client(process, 20, start=START, method="random_sample") as search:
        assert not await search.go_on_from([{**START, "unroll": 2}], [1.0])
        with pytest.raises(ValueError, match="0 results for 20 configurations"):
            await search.tell([])
        await search.tell([1.0] * 20)
        async for batch in search:
            await search.tell([1.0] * len(batch))


async def test_the_start_is_evaluated_first_however_much_is_known(process: SearchProcess):
    known = [(one, milliseconds(one)) for one in SYNTHETIC.configurations() if one["layout"] == "columns"]
    assert (await searched(process, 5, known=known, start=START))[0] == START


async def test_known_configurations_that_the_space_does_not_have_are_left_out(process: SearchProcess):
    known = [({"other": 1}, 1.0), ({**START, "block_size_x": 1024, "block_size_y": 8}, 0.1)]
    assert len(await searched(process, 5, known=known)) == 5


async def test_what_is_left_of_a_space_is_evaluated_whole_where_the_budget_allows(process: SearchProcess):
    space = SearchSpace({"a": [1, 2, 3, 4, 5]})
    known = [({"a": 2}, 1.0), ({"a": 4}, None)]
    left = await searched(process, 3, lambda _: 1.0, space, known=known, start={"a": 5})
    assert left == [{"a": 5}, {"a": 1}, {"a": 3}]
    everything = [({"a": value}, 1.0) for value in range(1, 6)]
    assert await searched(process, 3, lambda _: 1.0, space, known=everything) == []


async def test_what_is_believed_of_a_point_changes_no_mean_and_makes_its_neighbourhood_certain():
    random = np.random.default_rng(1)
    points, ask = random.random((12, 2)), random.random((50, 2))
    process = GaussianProcess(np.arange(2))
    process.fit(points, points.sum(1))
    prediction = process.predict(ask)
    mean, deviation = prediction.mean, prediction.deviation
    prediction.believe(3)
    prediction.believe(7)
    assert prediction.mean == pytest.approx(mean)
    assert (prediction.deviation <= deviation + 1e-9).all()
    assert (prediction.deviation[[3, 7]] < 0.5 * deviation[[3, 7]]).all()
    told = process.kernel(ask, np.vstack([points, ask[[3, 7]]]))
    covariances = process.kernel(known := np.vstack([points, ask[[3, 7]]]), known) + process.noise * np.eye(14)
    expected = process.deviation * np.sqrt(1 - (told * np.linalg.solve(covariances, told.T).T).sum(1))
    assert prediction.deviation == pytest.approx(expected, rel=1e-3, abs=1e-4), "as if it had been learnt"


@pytest.mark.slow
async def test_the_same_seed_chooses_the_same_in_a_huge_space(process: SearchProcess):
    space = SearchSpace(GEMM, GEMM_RESTRICTIONS)
    first, again = [await searched(process, 12, matrix_multiply, space, seed=5) for _ in range(2)]
    assert first == again
    assert first != await searched(process, 12, matrix_multiply, space, seed=6)
    assert first == await searched(process, 12, matrix_multiply, space, seed=-5), "as Python's own generator has it"


@pytest.mark.slow
async def test_a_choice_takes_less_than_a_second_with_300_known_results(process: SearchProcess):
    space = SearchSpace({f"t{i}": list(range(1, 8)) for i in range(5)}, ["t0 <= t1"])
    known = [(configuration, 1.0 + sum(configuration.values()) % 17) for configuration in space.enumerate_valid(300)]
    async with client(process, 12, space, known=known) as search:
        await search.tell([1.0] * len(await anext(search)))
        before = sum(map(processor_s, search_processes(os.getpid())))
        last = await anext(search)
        assert sum(map(processor_s, search_processes(os.getpid()))) - before < 3
        await search.tell([1.0] * len(last))
        assert await anext(search, None) is None


@pytest.mark.parametrize(
    ("devices", "sizes"),
    [(1, [8, 4, 4, 4, 4, 8, 3]), (2, [8, 4, 4, 4, 4, 8, 3]), (4, [8, 8, 8, 8, 3]), (5, [8, 10, 10, 7])],
)
async def test_as_many_are_chosen_at_a_time_as_keep_processors_and_devices_busy(process: SearchProcess, devices, sizes):
    asked = await batches(process, 35, devices=devices)
    assert [len(batch) for batch in asked] == sizes
    assert distinct([one for batch in asked for one in batch]) == 35


async def test_what_is_unfinished_comes_again_until_it_is_told_and_is_not_waited_for_meanwhile(process: SearchProcess):
    search = client(process, 60, start=START)
    search.overlaps = True
    told: list[Configuration] = []
    waited_for: list[Configuration] = []
    most = 0
    async with search:
        async for batch in search:
            assert batch[: len(waited_for)] == waited_for
            done = batch[search.unfinished :]
            waited_for, most = batch[: search.unfinished], max(most, search.unfinished)
            told += done
            await search.tell([], [(one, milliseconds(one)) for one in done])
    assert len(told) == distinct(told) == 60
    assert most == 5, "a quarter of what is left or is known beyond sixteen"
    assert not waited_for
    assert best(told, milliseconds) == 1.0
