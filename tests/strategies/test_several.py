"""Several kernels for one step: each has its tries, the fastest of a few configurations is tuned, others are told."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.strategies.branch import YES, apply, declined, no, nonsense, one_prompt, planned
from tests.strategies.world import Answer, Script, Told, User, World, kernel, played, rewrite, tell_all
from tui_tuner.journal.reading import FILE
from tui_tuner.session.events import EvaluationFinished, Note
from tui_tuner.session.run_directory import open_run
from tui_tuner.session.session import Session
from tui_tuner.strategies.autonomous import AutonomousStrategy
from tui_tuner.strategies.rewriting.development import SCREENED
from tui_tuner.strategies.rewriting.failures import RetryPolicy
from tui_tuner.strategies.single_step import OnePromptStrategy
from tui_tuner.strategies.steps import Decision

THREE = AutonomousStrategy(validate_steps=True, with_replanning=False, candidates=3)
ONE_TRY = RetryPolicy(attempts=1)
SKIP = Decision(action="skip")


def idea(name: str, speed: float, *, fail: str = "", purpose: str = "apply_step") -> Answer:
    """A kernel with an idea of this name, and something to search."""
    source = kernel(speed, fail=fail, tunables="width", extra=f"// {name}\n")
    return purpose, rewrite(source, [("width", [1, 2, 3, 4, 5, 6, 7, 8], 1)], summary=f"The idea is {name}.")


def measured(told: Told) -> list[int]:
    """How many configurations were measured of each kernel that was proposed."""
    done = [event.evaluation.candidate for event in told.events if isinstance(event, EvaluationFinished)]
    return [done.count(candidate.id) for candidate in told.proposed]


def notes(told: Told) -> str:
    return "\n".join(event.text for event in told.events if isinstance(event, Note))


async def test_the_fastest_of_all_is_tuned_and_the_others_are_told_of(tmp_path):
    strategy = AutonomousStrategy(validate_steps=True, with_replanning=False, candidates=3, retry_policy=ONE_TRY)
    answers = [
        planned("one", "two"),
        YES,
        idea("a", 2),
        idea("b", 3),
        idea("c", 2.5),
        YES,
        apply(2),
        apply(1),
        apply(1.5),
    ]
    told, script = await played(tmp_path, strategy, answers, max_evaluations=90, search="brute_force")
    assert told.best_speed == 3
    assert [candidate.title for candidate in told.proposed[:3]] == [f"one ({number} of 3)" for number in (1, 2, 3)]
    slower, fastest, other = measured(told)[:3]
    assert slower == other == SCREENED < fastest
    first, second, third = (script.prompt(number) for number in (3, 4, 5))
    assert second.startswith(first), "what providers keep of a prompt is the same"
    assert "<ideas>\n- The idea is a.\n</ideas>" in second
    assert "<ideas>\n- The idea is a.\n- The idea is b.\n</ideas>" in third
    assert "one: kernel 2 of 3 is tuned" in notes(told)
    later = script.prompt(7)
    assert later.count("came of it: right, ") == 2
    assert "another kernel: The idea is a." in later


async def test_each_kernel_is_repaired_within_its_own_tries(tmp_path):
    answers = [planned("one"), YES, idea("a", 9, fail="crash"), idea("a2", 2), nonsense("apply_step")]
    answers += [idea("b", 4), *[idea("c", 9, fail="wrong result")] * 3]
    told, script = await played(tmp_path, THREE, answers, max_evaluations=40, search="brute_force")
    assert told.best_speed == 4
    assert script.answers == []
    assert told.step("one").state == "accepted"
    assert "one (3 of 3): wrong result: told by wrong result" in notes(told)


async def test_the_first_may_be_declined_and_with_it_the_step_and_a_further_one_may_not(tmp_path):
    strategy = AutonomousStrategy(with_replanning=False, candidates=2)
    answers = [planned("one", "two"), declined("Too small."), idea("a", 2), declined("No other."), idea("b", 3)]
    told, script = await played(tmp_path, strategy, answers, max_evaluations=40, search="brute_force")
    assert script.answers == []
    assert (told.step("one").state, told.step("one").reason) == ("skipped", "not worth doing: Too small.")
    assert told.best_speed == 3
    assert "code: " in script.requests[4].messages[-1].content


async def test_where_none_is_right_the_step_is_rejected_with_the_last_reason(tmp_path):
    strategy = AutonomousStrategy(validate_steps=True, with_replanning=False, candidates=2, retry_policy=ONE_TRY)
    answers = [planned("one"), YES, idea("a", 2, fail="crash"), idea("b", 2, fail="compile error")]
    told, _ = await played(tmp_path, strategy, answers, search="brute_force")
    assert (told.step("one").state, told.step("one").reason) == ("rejected", "compile error: told by compile error")


async def test_the_same_kernel_again_is_put_back(tmp_path):
    strategy = OnePromptStrategy(candidates=2)
    same = idea("a", 2, purpose="one_prompt")
    told, script = await played(
        tmp_path, strategy, [same, same, idea("b", 3, purpose="one_prompt")], search="brute_force", max_evaluations=30
    )
    assert told.best_speed == 3
    assert "Take another idea than those that were tried." in script.prompt(3)


async def test_the_one_that_is_tuned_and_not_faster_is_put_back_where_a_slow_one_is(tmp_path):
    strategy = OnePromptStrategy(candidates=2)
    slow = [idea(name, speed, purpose="one_prompt") for name, speed in (("a", 0.5), ("b", 0.7), ("c", 2.0))]
    told, script = await played(tmp_path, strategy, slow, search="brute_force", max_evaluations=40)
    assert told.best_speed == 2
    third = script.requests[2].messages
    assert "b" in third[-2].content and "It is right, but not faster" in third[-1].content  # noqa: PT018


@pytest.mark.parametrize("decision", [SKIP, no("less of it")])
async def test_a_skip_ends_the_step_and_a_rejection_one_kernel(tmp_path, decision):
    strategy = OnePromptStrategy(candidates=2, retry_policy=ONE_TRY)
    answers = [one_prompt(2), one_prompt(3)][: 1 if decision is SKIP else 2]
    decisions = [Decision(action="approve"), decision]
    told, script = await played(tmp_path, strategy, answers, decisions, search="brute_force")
    assert script.answers == []
    state = "skipped" if decision is SKIP else "accepted"
    assert told.step("Rewrite the kernel").state == state


@pytest.mark.parametrize(("limit", "speed"), [({"max_calls": 1}, 2), ({"max_evaluations": 3}, 2)])
async def test_a_budget_that_ends_on_the_way_leaves_what_is_right(tmp_path, limit, speed):
    strategy = OnePromptStrategy(candidates=3)
    answers = [idea(name, speed, purpose="one_prompt") for name in "ab"][: limit.get("max_calls", 2)]
    told, _ = await played(tmp_path, strategy, answers, search="brute_force", **limit)
    assert "no further kernels for this step" in notes(told)
    assert told.best_speed == speed
    assert told.step("Rewrite the kernel").state == "accepted"


@pytest.mark.parametrize("cut", range(2, 13, 2))
async def test_a_session_that_is_killed_between_two_kernels_asks_and_measures_nothing_twice(tmp_path, cut):
    strategy = OnePromptStrategy(candidates=2)
    answers = [idea("a", 2, purpose="one_prompt"), idea("b", 3, purpose="one_prompt")]
    options = {"search": "brute_force", "max_evaluations": 14}
    whole, _ = await played(tmp_path, strategy, answers, **options)
    file = tmp_path / "run" / FILE
    lines = file.read_bytes().splitlines(keepends=True)
    kept = lines[: 1 + cut * (len(lines) - 1) // 14]
    file.write_bytes(b"".join(kept))
    done = Counter(json.loads(line)["kind"] for line in kept[1:])
    run = open_run(tmp_path / "run", resume=True)
    world, script = World(run.problem), Script(answers[done["ask"] :])
    told = await tell_all(Session(run, strategy, world, script), User())
    assert told.plan() == whole.plan()
    assert told.best_speed == 3
    assert len(script.requests) == 2 - done["ask"]
    assert told.finished.evaluations == whole.finished.evaluations
    assert len(world.evaluated) == whole.finished.evaluations - done["evaluate"]
