from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.search.spaces import START, SyntheticSpace, is_valid, milliseconds
from tui_tuner.errors import SettingsError
from tui_tuner.problem.model import Configuration
from tui_tuner.search import BRUTE_FORCE, DEFAULT_METHOD, METHODS
from tui_tuner.search.client import SearchClient
from tui_tuner.search.connection import SearchProcess

pytestmark = pytest.mark.asyncio(loop_scope="session")

BUDGET = 60
Batches = list[list[Configuration]]


async def asked(
    process: SearchProcess,
    method: str = DEFAULT_METHOD,
    *,
    seed: int = 1,
    budget: int = BUDGET,
    time: Callable[[Configuration], float | None] = milliseconds,
) -> Batches:
    batches = []
    search = SearchClient(SyntheticSpace(), method=method, seed=seed, max_evaluations=budget, start=START)
    search.process = process
    async with search:
        async for batch in search:
            batches.append(batch)
            await search.tell([time(configuration) for configuration in batch])
    return batches


def flat(batches: Batches) -> list[Configuration]:
    return [configuration for batch in batches for configuration in batch]


@pytest.mark.parametrize("method", METHODS)
async def test_every_method_asks_for_valid_configurations_once_each_within_the_budget_and_the_start_first(
    method, process: SearchProcess
):
    configurations = flat(await asked(process, method))

    assert configurations[0] == START
    assert 1 < len(configurations) <= BUDGET
    assert all(is_valid(configuration) for configuration in configurations)
    assert all(isinstance(configuration["use_shared"], bool) for configuration in configurations)
    assert len({tuple(configuration.values()) for configuration in configurations}) == len(configurations)


async def test_the_default_method_finds_the_known_optimum_of_a_smooth_space(process: SearchProcess):
    times = [milliseconds(configuration) for configuration in flat(await asked(process, budget=150))]

    assert min(times) == 1.0
    assert len(times) < 200


@pytest.mark.parametrize("method", [DEFAULT_METHOD, "diff_evo", "bayes_opt", "pso"])
async def test_the_same_seed_and_results_give_the_same_batches_again(method, process: SearchProcess):
    first, again, other = [await asked(process, method, seed=seed) for seed in (1, 1, 2)]

    assert first == again
    assert first != other


async def test_other_results_lead_elsewhere(process: SearchProcess):
    usual = await asked(process)
    reversed_ = await asked(process, time=lambda configuration: 10 - milliseconds(configuration))

    assert usual[0] == reversed_[0]
    assert usual != reversed_


async def test_failures_are_told_and_the_search_goes_on_around_them(process: SearchProcess):
    def failing(configuration: Configuration) -> float | None:
        return None if configuration["layout"] == "columns" else milliseconds(configuration)

    configurations = flat(await asked(process, time=failing, budget=120))

    assert len(configurations) == 120
    assert any(failing(configuration) is None for configuration in configurations)
    assert min(filter(None, map(failing, configurations))) < 1.5


@pytest.mark.parametrize("method", [DEFAULT_METHOD, "genetic_algorithm", "simulated_annealing"])
async def test_a_search_in_which_everything_fails_still_ends(method, process: SearchProcess):
    assert 1 < len(flat(await asked(process, method, time=lambda _: None))) <= BUDGET


async def test_a_space_within_the_budget_is_evaluated_whole_in_one_batch_with_the_start_first():
    size = len(list(SyntheticSpace().configurations()))
    search = SearchClient(SyntheticSpace(), max_evaluations=size, start=START)
    async with search:
        batches = [batch async for batch in search if await search.tell([1.0] * len(batch)) is None]

    assert search.method.name == BRUTE_FORCE
    assert [len(batch) for batch in batches] == [size]
    assert batches[0][0] == START
    assert search.reason == "every configuration evaluated"


async def test_a_start_outside_the_space_is_not_evaluated():
    outside = {**START, "block_size_x": 1024, "block_size_y": 8}
    async with SearchClient(SyntheticSpace(), max_evaluations=5, start=outside) as search:
        batch = await anext(search)

    assert outside not in batch


async def test_the_caller_learns_why_the_search_is_over():
    async with SearchClient(SyntheticSpace(), method="minimize", max_evaluations=BUDGET) as search:
        async for batch in search:
            await search.tell([milliseconds(configuration) for configuration in batch])
            assert search.reason == ""

    assert search.reason == "converged"


async def test_results_are_needed_for_each_configuration_before_the_next_batch():
    async with SearchClient(SyntheticSpace(), max_evaluations=5, start=START) as search:
        batch = await anext(search)
        with pytest.raises(RuntimeError, match="tell the results"):
            await anext(search)
        with pytest.raises(ValueError, match=f"{len(batch) + 1} results for {len(batch)} configurations"):
            await search.tell([1.0] * (len(batch) + 1))


async def test_the_random_numbers_of_this_process_are_left_alone(process: SearchProcess):
    random.seed(7)
    before = random.getstate()
    await asked(process, budget=10)

    assert random.getstate() == before


async def test_an_unknown_method_is_refused_with_the_nearest_name_and_the_whole_list():
    with pytest.raises(SettingsError) as caught:
        SearchClient(SyntheticSpace(), max_evaluations=5, method="genetic_algoritm")

    assert "did you mean 'genetic_algorithm'?" in caught.value.message
    assert caught.value.hint is not None
    assert all(method in caught.value.hint for method in METHODS)


async def test_an_empty_budget_is_refused():
    with pytest.raises(ValueError, match="at least one evaluation"):
        SearchClient(SyntheticSpace(), max_evaluations=0)
