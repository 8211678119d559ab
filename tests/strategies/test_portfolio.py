"""Who gets how much of a batch, and a session in which a model and the surrogate share them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.strategies.configurations import ANOTHER, BEST, first, rounds
from tests.strategies.world import Script, Told, World, new_run, played, tell_all
from tui_tuner.prompts import WORDING
from tui_tuner.search.surrogate import AT_ONCE, FIRST
from tui_tuner.session.events import EvaluationFinished, Note
from tui_tuner.session.run_directory import open_run
from tui_tuner.session.session import Session
from tui_tuner.strategies.portfolio import LEAST_SHARE, Earnings, gain
from tui_tuner.strategies.single_step import LlmSearchStrategy

LLM = LlmSearchStrategy()


def earned(*batches: tuple[float | None, list[float | None], list[float | None]], most: float = 0.65) -> Earnings:
    account = Earnings(most)
    for best, model, search in batches:
        account.book(best, model, search)
    return account


def test_a_model_that_has_shown_nothing_yet_has_one_of_four():
    assert earned().share == pytest.approx(0.25)


@pytest.mark.parametrize("search", [[8.0, 11.0, 9.0], [12.0, 11.0, None]])
def test_a_model_whose_first_one_brings_nothing_gets_nothing_more_and_is_not_asked_again(search):
    account = earned((10.0, [11.0], search))
    assert account.share == 0.0
    assert not account.deserves_another


def test_a_model_whose_first_one_is_faster_gets_the_most_that_it_may_have_at_once():
    account = earned((10.0, [5.0], [9.0, 12.0, 11.0]))
    assert account.share == 0.65
    assert account.deserves_another


def test_what_a_model_brings_counts_only_where_it_is_faster_than_what_the_search_brought_by_the_same_batch():
    slower = (100.0, [50.0], [90.0, 25.0, None])
    account = earned(slower)
    assert account.share == 0.0
    assert not account.deserves_another
    trusting = Earnings(0.65, trusts=True)
    trusting.book(*slower)
    assert trusting.share > LEAST_SHARE


def test_a_model_that_gets_another_chance_has_half():
    account = earned((10.0, [11.0], [9.0, 12.0, 11.0]))
    account.begin_anew()
    assert account.share == 0.5


def test_what_a_model_has_lost_does_not_come_back_while_the_search_finds_nothing_either():
    account = earned((10.0, [12.0, 13.0], [5.0, 6.0]), *[(5.0, [], [6.0] * 4)] * 10)
    assert account.share == 0.0


def test_one_lucky_find_is_not_for_ever():
    account = earned((100.0, [1.0, 99.0], [90.0, 91.0]), *[(1.0, [2.0, 2.0], [2.0, 2.0])] * 4)
    assert account.share < LEAST_SHARE
    assert account.deserves_another


def test_a_gain_is_that_of_the_fastest_over_the_best_known():
    assert gain(10.0, [None, 5.0, 20.0]) == pytest.approx(math.log(2))
    assert gain(10.0, [11.0, None]) == gain(10.0, []) == gain(None, [None]) == 0
    assert gain(None, [3.0]) == 1.0


def measured(told: Told) -> int:
    return sum(isinstance(event, EvaluationFinished) for event in told.events)


def shared(**changes: object) -> dict[str, object]:
    return {**rounds(**changes), "search": "hybrid", "max_evaluations": 24}


@pytest.mark.slow
@pytest.mark.parametrize(("wording", "used"), [(WORDING, 1), (6, 2)])
async def test_a_weak_model_is_asked_once_and_the_search_gets_the_rest(tmp_path, wording, used):
    run = replace(new_run(tmp_path, LLM, **shared(initial_batch_size=12, max_rounds=3)), wording=wording)
    script = Script([first(*ANOTHER)])
    told = await tell_all(Session(run, LLM, World(run.problem), script))
    assert len(script.requests) == 1
    assert measured(told) == 24
    proposed = [tuple(one[name] for name in ("block_size_x", "matters", "other")) for one in ANOTHER]
    shared_batch = finished(told)[FIRST - 1 : FIRST - 1 + AT_ONCE]
    assert sum(one in shared_batch for one in proposed) == used


@pytest.mark.slow
async def test_a_session_that_was_cut_in_the_middle_goes_on_with_the_same_choices(tmp_path):
    options = shared(max_rounds=1)
    whole, _ = await played(tmp_path / "whole", LLM, [first(BEST, *ANOTHER[:2])], **options)
    lines = (tmp_path / "whole/run/journal.jsonl").read_text().splitlines(keepends=True)
    evaluations = [number for number, line in enumerate(lines) if '"kind": "evaluate"' in line]
    run = new_run(tmp_path / "cut", LLM, **options)
    run.journal.close()
    (run.path / "journal.jsonl").write_text("".join(lines[: evaluations[14]]))
    again = open_run(run.path, resume=True)
    world = World(again.problem)
    told = await tell_all(Session(again, LLM, world, Script([])))
    assert len(world.evaluated) == 10
    assert configurations(told) == configurations(whole)


def configurations(told: Told) -> list[tuple[object, ...]]:
    return sorted(finished(told))


def finished(told: Told) -> list[tuple[object, ...]]:
    evaluations = [event.evaluation for event in told.events if isinstance(event, EvaluationFinished)]
    return [tuple(one.configuration.values()) for one in evaluations]


@pytest.mark.slow
async def test_without_a_reply_the_search_has_all_of_it_and_the_session_says_so(tmp_path):
    told, _ = await played(
        tmp_path, LLM, [("first_configurations", "Sorry.")] * 3, **{**shared(max_rounds=1), "max_evaluations": 14}
    )
    assert measured(told) == 14
    assert any("the search chooses alone for now" in one.text for one in told.events if isinstance(one, Note))
