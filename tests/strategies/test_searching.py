from __future__ import annotations

from unittest.mock import patch

import pytest

from tests.strategies.branch import TUNED
from tests.strategies.world import FIXED, kernel, played, rewrite
from tui_tuner.search.client import SearchClient
from tui_tuner.session.events import EvaluationFinished
from tui_tuner.strategies import parameters
from tui_tuner.strategies.single_step import OnePromptStrategy

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
