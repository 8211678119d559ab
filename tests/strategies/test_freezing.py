from __future__ import annotations

import itertools
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies.branch import TUNED
from tests.strategies.world import FIXED, kernel, played, rewrite
from tui_tuner.evaluate.results import Evaluation, Failure, FailureKind, Timing
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Launch
from tui_tuner.problem.space import SearchSpace
from tui_tuner.search.client import SearchClient
from tui_tuner.session.events import EvaluationFinished
from tui_tuner.strategies import parameters
from tui_tuner.strategies.parameters import freeze, spreads, to_freeze
from tui_tuner.strategies.single_step import OnePromptStrategy

DEVICE = {"sizes": {"n": 4096}, "max_threads": 1024}
TUNABLES = {"block_size_x": [32, 64, 128, 256], "unroll": [1, 2, 4], "layout": ["row", "column"], "stages": [1, 2]}


def candidate_with(tunables=TUNABLES, restrictions=(), defaults=None):
    return Candidate(
        source="",
        kernel="k",
        launch=Launch(),
        tunables=tunables,
        restrictions=list(restrictions),
        defaults=defaults or {},
    )


def timed(configuration, ms):
    timing = Timing(median=ms, low=ms, high=ms, samples=7)
    return Evaluation(candidate="c", configuration=configuration, timing=timing)


def failed(configuration):
    failure = Failure(kind=FailureKind.WRONG_RESULT, message="wrong at n=4096")
    return Evaluation(candidate="c", configuration=configuration, failure=failure)


def measured(tunables, milliseconds):
    """Every configuration, its time from a function of its values."""
    names = list(tunables)
    for values in itertools.product(*tunables.values()):
        configuration = dict(zip(names, values, strict=True))
        yield timed(configuration, milliseconds(**configuration))


def mostly_block_size(block_size_x, unroll, layout, stages):
    return 1000 / block_size_x * (1 + 0.05 * unroll) * (1.005 if layout == "row" else 1) * (1.3 if stages == 2 else 1)


BEST = {"block_size_x": 256, "unroll": 1, "layout": "column", "stages": 1}


def test_a_spread_compares_the_best_times_of_the_values_and_failures_do_not_count():
    evaluations = [
        timed({"a": 1, "b": 1}, 8.0),
        timed({"a": 1, "b": 2}, 2.0),
        timed({"a": 2, "b": 1}, 3.0),
        failed({"a": 2, "b": 2}),
        failed({"a": 3, "b": 2}),
    ]
    assert spreads(evaluations) == {"a": pytest.approx(1.5), "b": pytest.approx(1.5)}
    assert spreads(evaluations[:2]) == {"b": pytest.approx(4.0)}
    assert spreads([]) == {}


@given(st.permutations(range(12)), st.integers(2, 12))
def test_spreads_are_at_least_one_and_do_not_depend_on_the_order_of_the_evaluations(order, count):
    evaluations = [timed({"a": i % 3, "b": i % 4}, 1.0 + (7 * i) % 5) for i in order[:count]]
    found = spreads(evaluations)
    assert all(spread >= 1 for spread in found.values())
    assert found == spreads(evaluations[::-1])


def test_in_a_large_enough_budget_only_tunables_known_not_to_matter_are_frozen():
    evaluations = list(measured(TUNABLES, mostly_block_size))
    assert to_freeze(candidate_with(), BEST, evaluations, 1000, **DEVICE) == {"layout": "column"}
    assert to_freeze(candidate_with(), BEST, evaluations, 1000, 0.001, **DEVICE) == {}
    assert to_freeze(candidate_with(), BEST, evaluations, 1000, 0.2, **DEVICE) == {"unroll": 1, "layout": "column"}


def test_further_tunables_are_frozen_by_their_spread_until_the_space_is_small_enough():
    evaluations = list(measured(TUNABLES, mostly_block_size))
    found = spreads(evaluations)
    assert found["layout"] < found["unroll"] < found["stages"] < found["block_size_x"]
    frozen = [list(to_freeze(candidate_with(), BEST, evaluations, most, **DEVICE)) for most in (24, 23, 8, 7, 4, 3)]
    assert frozen == [
        ["layout"],
        ["layout", "unroll"],
        ["layout", "unroll"],
        ["layout", "unroll", "stages"],
        ["layout", "unroll", "stages"],
        ["layout", "unroll", "stages", "block_size_x"],
    ]


def test_restrictions_sizes_and_thread_limit_count_for_how_many_configurations_are_left():
    restrictions = ["block_size_x * unroll * 32 <= n", "stages == 1"]
    candidate = candidate_with(restrictions=restrictions)
    best = {**BEST, "block_size_x": 32}
    evaluations = list(measured(TUNABLES, mostly_block_size))
    assert list(to_freeze(candidate, best, evaluations, 6, **DEVICE)) == ["layout"]
    assert list(to_freeze(candidate, best, evaluations, 5, **DEVICE)) == ["layout", "unroll"]
    assert list(to_freeze(candidate, best, evaluations, 5, sizes={"n": 4096}, max_threads=64)) == ["layout"]


def test_a_tunable_with_too_few_measurements_is_not_said_to_be_without_effect():
    tunables = {"a": [1, 2, 3], "b": [1, 2]}
    evaluations = [timed({"a": 1, "b": 1}, 1.0), timed({"a": 1, "b": 2}, 1.0), timed({"a": 2, "b": 1}, 1.0)]
    candidate, best = candidate_with(tunables), {"a": 1, "b": 1}
    assert to_freeze(candidate, best, evaluations, 100, **DEVICE) == {}
    assert to_freeze(candidate, best, [*evaluations, failed({"a": 2, "b": 2})], 100, **DEVICE) == {}
    assert to_freeze(candidate, best, [*evaluations, timed({"a": 2, "b": 2}, 1.0)], 100, **DEVICE) == best


def test_what_nothing_is_known_of_is_frozen_last_and_only_where_the_space_is_too_large():
    tunables = {"unknown": [1, 2, 4], "known": [1, 2, 4]}
    evaluations = [timed({"unknown": 1, "known": known}, float(known)) for known in (1, 2, 4)]
    best = {"unknown": 1, "known": 1}
    assert [list(to_freeze(candidate_with(tunables), best, evaluations, most, **DEVICE)) for most in (9, 8, 3, 2)] == [
        [],
        ["known"],
        ["known"],
        ["known", "unknown"],
    ]


def test_tunables_with_one_value_and_those_that_the_best_has_otherwise_are_not_frozen():
    tunables = {"single": [8], "moved": [1, 2], "new": [1, 2]}
    frozen = to_freeze(candidate_with(tunables), {"single": 8, "moved": 3, "old": 1}, [], 1, **DEVICE)
    assert frozen == {}


def test_freezing_leaves_one_value_and_moves_the_default():
    candidate = candidate_with(defaults={"unroll": 4, "stages": 2})
    frozen = freeze(candidate, {"unroll": 2, "layout": "column", "of_another_kernel": 1}, **DEVICE)
    assert frozen.tunables == {**TUNABLES, "unroll": [2], "layout": ["column"]}
    assert frozen.default_configuration == {"block_size_x": 32, "unroll": 2, "layout": "column", "stages": 2}
    assert candidate.tunables == TUNABLES


def test_a_value_that_the_candidate_does_not_offer_leaves_its_name_free():
    candidate = candidate_with()
    assert freeze(candidate, {"unroll": 3, "stages": True}, **DEVICE) == candidate
    assert freeze(candidate, {"unroll": 3, "stages": 2}, **DEVICE).tunables == {**TUNABLES, "stages": [2]}


def test_values_that_would_leave_nothing_change_nothing():
    candidate = candidate_with(restrictions=["block_size_x * unroll <= 128"])
    assert freeze(candidate, {"block_size_x": 256}, **DEVICE) is candidate
    wide = candidate_with({"block_size_x": [32, 2048], "unroll": [1, 2]})
    assert freeze(wide, {"block_size_x": 2048}, **DEVICE) is wide


def test_a_default_that_the_frozen_values_make_invalid_moves_as_little_as_it_must():
    candidate = candidate_with(
        restrictions=["block_size_x % (unroll * 64) == 0 or unroll == 1"], defaults={"stages": 2}
    )
    frozen = freeze(candidate, {"unroll": 2}, **DEVICE)
    assert frozen.default_configuration == {"block_size_x": 128, "unroll": 2, "layout": "row", "stages": 2}


@pytest.mark.slow
@given(
    st.dictionaries(st.sampled_from([*TUNABLES, "other"]), st.sampled_from([1, 2, 4, 64, 256, "row", "no"])),
    st.sampled_from([[], ["block_size_x * unroll <= 128"], ["unroll <= stages or layout == 'column'"]]),
)
def test_a_frozen_candidate_has_a_valid_default_and_only_configurations_that_the_free_one_has(values, restrictions):
    candidate = candidate_with(restrictions=restrictions)
    frozen = freeze(candidate, values, **DEVICE)
    whole, part = (SearchSpace(c.tunables, c.restrictions, max_threads=1024) for c in (candidate, frozen))
    assert part.contains(frozen.default_configuration)
    assert all(whole.contains(configuration) for configuration in part.configurations())


VALUES = [2**i for i in range(16)]
WIDE = ("one_prompt", rewrite(kernel(2, tunables="matters work"), [("matters", VALUES, 1), ("work", VALUES, 1)]))
"""A kernel with 256 configurations."""


class Seeded(SearchClient):
    """Notes the seed of each search."""

    seeds: list[int]

    def __init__(self, *arguments: object, seed: int, **named: object) -> None:
        super().__init__(*arguments, seed=seed, **named)
        self.seeds.append(seed)


@pytest.mark.parametrize("method", ["brute_force", "random_sample", "genetic_algorithm"])
async def test_the_last_tuning_searches_with_another_seed_and_what_is_known_costs_nothing(tmp_path, method):
    Seeded.seeds = []
    with patch.object(parameters, "SearchClient", Seeded):
        told, _ = await played(
            tmp_path, OnePromptStrategy(), [WIDE], problem=FIXED, search=method, max_evaluations=30, seed=7
        )
    assert Seeded.seeds[:2] == [7, 8]
    assert told.step("Tune the parameters of the best kernel").state.value in ("accepted", "rejected", "neutral")
    measured = [event.evaluation for event in told.events if isinstance(event, EvaluationFinished)]
    assert len({(e.candidate, *sorted(e.configuration.items())) for e in measured}) == len(measured)
    assert told.finished.evaluations == 30


async def test_no_last_tuning_of_a_kernel_of_which_every_configuration_is_known(tmp_path):
    small = rewrite(kernel(2, tunables="matters"), [("matters", [1, 2, 4], 1)])
    told, _ = await played(tmp_path, OnePromptStrategy(), [("one_prompt", small)])
    assert told.plan() == [TUNED, "Rewrite the kernel: accepted"]
