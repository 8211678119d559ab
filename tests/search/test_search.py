from __future__ import annotations

import random

import pytest

from tests.search.spaces import START, SYNTHETIC, batches, client, distinct, is_valid, milliseconds, searched
from tui_tuner.errors import SettingsError
from tui_tuner.problem.model import Configuration
from tui_tuner.search import BRUTE_FORCE, DEFAULT_METHOD, METHODS
from tui_tuner.search.client import SearchClient
from tui_tuner.search.connection import SearchProcess

pytestmark = pytest.mark.asyncio(loop_scope="session")

BUDGET = 30


@pytest.mark.parametrize("method", METHODS)
async def test_every_method_asks_for_valid_configurations_once_each_within_the_budget_and_the_start_first(
    method, process: SearchProcess
):
    configurations = await searched(process, BUDGET, method=method, start=START, seed=1)

    assert configurations[0] == START
    assert 1 < len(configurations) <= BUDGET
    assert all(is_valid(configuration) for configuration in configurations)
    assert all(isinstance(configuration["use_shared"], bool) for configuration in configurations)
    assert distinct(configurations) == len(configurations)


@pytest.mark.parametrize("method", [DEFAULT_METHOD, "diff_evo", "bayes_opt", "pso"])
async def test_the_same_seed_and_results_give_the_same_batches_again(method, process: SearchProcess):
    first, again, other = [await batches(process, BUDGET, method=method, seed=seed) for seed in (1, 1, 2)]

    assert first == again
    assert first != other


async def test_other_results_lead_elsewhere(process: SearchProcess):
    usual = await batches(process, 16)
    reversed_ = await batches(process, 16, lambda configuration: 10 - milliseconds(configuration))

    assert usual[0] == reversed_[0]
    assert usual != reversed_


async def test_failures_are_told_and_the_search_goes_on_around_them(process: SearchProcess):
    def failing(configuration: Configuration) -> float | None:
        return None if configuration["layout"] == "columns" else milliseconds(configuration)

    configurations = await searched(process, 40, failing)

    assert len(configurations) == 40
    assert any(failing(configuration) is None for configuration in configurations)
    assert min(filter(None, map(failing, configurations))) < 1.5


@pytest.mark.parametrize("method", ["genetic_algorithm", "simulated_annealing"])
async def test_a_search_in_which_everything_fails_still_ends(method, process: SearchProcess):
    assert 1 < len(await searched(process, BUDGET, lambda _: None, method=method)) <= BUDGET


async def test_a_space_within_the_budget_is_evaluated_whole_in_one_batch_with_the_start_first():
    async with SearchClient(SYNTHETIC, max_evaluations=SYNTHETIC.size, start=START) as search:
        asked = [batch async for batch in search if await search.tell([1.0] * len(batch)) is None]

    assert search.method.name == BRUTE_FORCE
    assert [len(batch) for batch in asked] == [SYNTHETIC.size]
    assert asked[0][0] == START
    assert search.reason == "every configuration evaluated"


async def test_a_start_outside_the_space_is_not_evaluated(process: SearchProcess):
    outside = {**START, "block_size_x": 1024, "block_size_y": 8}
    assert outside not in await searched(process, 5, start=outside)


async def test_the_caller_learns_why_the_search_is_over(process: SearchProcess):
    async with client(process, 60, method="minimize") as search:
        async for batch in search:
            await search.tell([milliseconds(configuration) for configuration in batch])
            assert search.reason == ""

    assert search.reason == "converged"


async def test_results_are_needed_for_each_configuration_before_the_next_batch(process: SearchProcess):
    async with client(process, 5, start=START) as search:
        batch = await anext(search)
        with pytest.raises(RuntimeError, match="tell the results"):
            await anext(search)
        with pytest.raises(ValueError, match=f"{len(batch) + 1} results for {len(batch)} configurations"):
            await search.tell([1.0] * (len(batch) + 1))
        await search.tell([1.0] * len(batch))
        assert await anext(search, None) is None


async def test_the_random_numbers_of_this_process_are_left_alone(process: SearchProcess):
    random.seed(7)
    before = random.getstate()
    await searched(process, 10)

    assert random.getstate() == before


async def test_an_unknown_method_is_refused_with_the_nearest_name_and_the_whole_list():
    with pytest.raises(SettingsError) as caught:
        SearchClient(SYNTHETIC, max_evaluations=5, method="genetic_algoritm")

    assert "did you mean 'genetic_algorithm'?" in caught.value.message
    assert caught.value.hint is not None
    assert all(method in caught.value.hint for method in METHODS)


async def test_an_empty_budget_is_refused():
    with pytest.raises(ValueError, match="at least one evaluation"):
        SearchClient(SYNTHETIC, max_evaluations=0)
