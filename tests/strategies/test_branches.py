from __future__ import annotations

from collections import Counter

import pytest

from tests.strategies import (
    branches_explicit,
    branches_llm_search,
    branches_one_prompt,
    branches_planning,
    branches_steps,
)
from tests.strategies.branch import WORTH, YES, Branch, apply, follow, parts, planned, rows
from tests.strategies.world import played
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.strategies.autonomous import AutonomousStrategy
from tui_tuner.strategies.steps import StepState

ROWS = (
    *branches_one_prompt.ROWS,
    *branches_planning.ROWS,
    *branches_steps.ROWS,
    *branches_explicit.ROWS,
    *branches_llm_search.ROWS,
)
STRATEGIES_THAT_ASK = ("one_prompt", "autonomous", "explicit")


@pytest.mark.parametrize("branch", rows(ROWS))
async def test_a_strategy_ends_as_its_branch_says_and_so_does_its_replay(tmp_path, branch: Branch):
    await follow(branch, tmp_path)


def test_no_two_rows_have_the_same_name():
    twice = [name for name, count in Counter((row.strategy.name, row.name) for row in ROWS).items() if count > 1]
    assert twice == []


def test_every_state_of_a_step_occurs_in_the_table():
    assert {str(state) for state in StepState} - set().union(*(row.states for row in ROWS)) == set()


@pytest.mark.parametrize("strategy", STRATEGIES_THAT_ASK)
def test_every_kind_of_failure_occurs_in_the_table_of_each_strategy(strategy):
    answers = "".join(str(answer) for row in ROWS if row.strategy.name == strategy for _, answer in row.answers)
    assert [kind for kind in FailureKind if f"// fail {kind}\\n" not in answers] == []
    assert [kind for kind in FailureKind if f"// fail {kind} later\\n" not in answers] == []


@pytest.mark.parametrize(
    ("strategy", "answers", "purposes"),
    [
        (AutonomousStrategy(with_replanning=False), [planned("one", "two"), apply(2), apply(3)], ["apply_step"]),
        (
            AutonomousStrategy(with_replanning=False, validate_steps=True),
            [planned("one", "two"), YES, apply(2), YES, apply(3)],
            ["validate_step", "apply_step"],
        ),
        (
            AutonomousStrategy(with_replanning=False, breakdown_steps=True),
            [planned("one", "two"), parts(), apply(2), parts(), apply(3)],
            ["break_down", "apply_step"],
        ),
        (branches_explicit.TWO, [WORTH, apply(2), WORTH, apply(3)], ["worth_step", "apply_step"]),
        (branches_explicit.QUICK, [apply(2), apply(3)], ["apply_step"]),
    ],
    ids=[
        "autonomous",
        "autonomous with validation",
        "autonomous with breakdown",
        "explicit",
        "explicit without judgement",
    ],
)
async def test_a_step_that_goes_well_takes_two_calls_of_the_model_at_most(tmp_path, strategy, answers, purposes):
    told, script = await played(tmp_path, strategy, answers, search="brute_force")
    asked = [request.purpose for request in script.requests if request.purpose != "plan"]
    assert asked == purposes * 2
    assert len(purposes) <= 2
    assert [told.step(title).state for title in ("one", "two")] == [StepState.ACCEPTED] * 2
