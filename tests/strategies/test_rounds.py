"""Parts of the rounds: when they converge, what replaces the model, the form of a reply, what fits a context."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.session.fakes import DEVICE
from tests.strategies.configurations import ANOTHER, BEST, MIDDLING, first, more, proposal, reply, rounds
from tests.strategies.world import Script, Told, World, assert_replay_tells_the_same, new_run, played, tell_all
from tui_tuner.evaluate.results import Evaluation, FailureKind, Timing
from tui_tuner.llm import Chunk, Request, Stop, Usage
from tui_tuner.llm.errors import Service, TransportError
from tui_tuner.llm.prices import estimate_messages
from tui_tuner.llm.typed import schema_of
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.nearby import pattern_batch, random_batch
from tui_tuner.problem.space import SearchSpace
from tui_tuner.prompts import WORDING
from tui_tuner.session.events import EvaluationFinished, Note
from tui_tuner.session.session import Session
from tui_tuner.session_options import RoundOptions
from tui_tuner.strategies.round_question import reply_type
from tui_tuner.strategies.rounds import RoundProgress
from tui_tuner.strategies.single_step import LlmSearchStrategy

ROOM = 1600
"""Tokens that a prompt may have in a small context."""
SPACE = SearchSpace({"a": list(range(10)), "b": list(range(10)), "text": ["x", "y"]}, ["a + b < 12"])


def dice() -> random.Random:
    return random.Random(0)  # noqa: S311 (chooses what to measure)


def timing(milliseconds: float, spread: float = 0.01) -> Timing:
    low, high = milliseconds * (1 - spread), milliseconds * (1 + spread)
    return Timing(median=milliseconds, low=low, high=high, samples=10)


def progress(*bests: float | None, first: float | None = 10.0, **options: object) -> RoundProgress:
    made = RoundProgress(RoundOptions.model_validate(options), None if first is None else timing(first))
    for best in bests:
        made.round_done(None if best is None else timing(best))
    return made


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (progress(9, 8), ""),
        (progress(9, 8, 7, 6, 5), "5 rounds done"),
        (progress(9.0, 9.0, 9.0), "no improvement in 2 rounds"),
        (progress(9.0, 8.99, 8.98), "no improvement in 2 rounds"),
        (progress(9.0, 8.99, 8.98, patience=3), "less than 1.0% gained in 2 rounds"),
        (progress(9.0, 8.9, patience=9), ""),
        (progress(2.0, target_ms=2.0), "the target of 2 ms is met"),
        (progress(None, None, first=None), "no improvement in 2 rounds"),
        (progress(None, 3.0, 3.0, first=None), ""),
    ],
)
def test_rounds_have_converged(made, reason):
    assert made.converged == reason


def test_the_fallback_takes_real_neighbours_of_the_best_then_of_the_next():
    known = [{"a": 5, "b": 5, "text": "x"}, {"a": 0, "b": 0, "text": "x"}]
    batch = pattern_batch(SPACE, known, known, 8, dice())
    around = [{"a": 4, "b": 5}, {"a": 6, "b": 5}, {"a": 5, "b": 4}, {"a": 5, "b": 6}, {"a": 5, "b": 5}]
    assert [{"a": one["a"], "b": one["b"]} for one in batch[:5]] == around
    assert batch[4]["text"] == "y"
    assert [(one["a"], one["b"], one["text"]) for one in batch[5:]] == [(1, 0, "x"), (0, 1, "x"), (0, 0, "y")]


def test_the_fallback_goes_on_at_random_where_nothing_is_right_yet():
    batch = pattern_batch(SPACE, [], [], 5, dice())
    assert len({repr(one) for one in batch}) == 5
    assert all(SPACE.contains(one) for one in batch)


def test_random_configurations_are_new_and_as_many_as_there_are():
    everything = list(SPACE.configurations())
    assert len(random_batch(SPACE, everything[3:], 10, dice())) == 3
    assert random_batch(SPACE, everything, 10, dice()) == []


def test_the_form_of_a_reply_lists_the_values_and_takes_wrong_ones():
    form = reply_type({"a": [1, 2], "text": ["x", "y"], "flag": [False, True], "json": [0.5, 1.0]})
    fields = schema_of(form)["properties"]["configurations"]["items"]["properties"]
    assert fields["a"] == {"type": "integer", "enum": [1, 2]}
    assert list(fields) == ["a", "text", "flag", "json", "reason"]
    value = form.model_validate_json(
        '{"analysis": "", "configurations": [{"a": 3, "json": "1", "flag": null, "reason": "r"}]}', strict=True
    )
    assert value.proposals == [{"a": 3, "text": None, "flag": None, "json": "1"}]


def test_the_form_of_a_reply_about_a_huge_space_names_types_only():
    form = reply_type({"a": list(range(1000))})
    assert schema_of(form)["properties"]["configurations"]["items"]["properties"]["a"] == {"type": "integer"}


class Streaming(Script):
    """A model that writes one configuration after the other, each when the one before is under way."""

    def __init__(self, evaluator: World, pieces: Sequence[str]) -> None:
        super().__init__([])
        self._evaluator = evaluator
        self._pieces = pieces

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        self.requests.append(request)
        for number, piece in enumerate(self._pieces):
            yield Chunk(text=piece)
            while len(self._evaluator.evaluated) < number:  # would hang if nothing began before the reply is whole
                await asyncio.sleep(0.01)
        yield Chunk(stop=Stop.COMPLETE, usage=Usage(100, 50, 0.0))


async def told_by(directory: Path, pieces: Sequence[str], **options: object) -> tuple[Told, World]:
    run = new_run(directory, LlmSearchStrategy(), **{**rounds(seeds=0, max_rounds=1, **options), "max_evaluations": 2})
    world = World(run.problem)
    told = await tell_all(Session(run, LlmSearchStrategy(), world, Streaming(world, pieces)))
    await assert_replay_tells_the_same(run.path, LlmSearchStrategy(), told)
    return told, world


async def test_each_configuration_is_begun_as_soon_as_it_has_arrived(tmp_path):
    whole = reply(MIDDLING, BEST)
    first_end, second_end = whole.index("}") + 1, whole.rindex("}, {") + 1
    cut = [whole[:first_end], whole[first_end : whole.rindex("}]")], whole[whole.rindex("}]") :]]
    assert first_end == second_end
    told, world = await asyncio.wait_for(told_by(tmp_path, cut), 100)
    assert len(world.evaluated) == 2
    assert told.finished.evaluations == 2


async def test_seeds_are_measured_while_the_first_reply_is_on_its_way(tmp_path):
    run = new_run(tmp_path, LlmSearchStrategy(), **{**rounds(seeds=3, max_rounds=1), "max_evaluations": 6})
    world = World(run.problem)
    told = await asyncio.wait_for(
        tell_all(Session(run, LlmSearchStrategy(), world, Streaming(world, ["", "", "", reply(BEST)]))), 20
    )
    assert told.finished.evaluations == 6  # and two neighbours of the best, for which there was room


async def test_a_reply_that_breaks_off_loses_nothing_that_had_arrived(tmp_path):
    class Broken(Streaming):
        async def stream(self, request: Request) -> AsyncIterator[Chunk]:
            yield Chunk(text=reply(MIDDLING, BEST)[:-20])
            raise TransportError("connection lost", Service("scripted", "nowhere"))

    run = new_run(tmp_path, LlmSearchStrategy(), **{**rounds(seeds=0, max_rounds=1), "max_evaluations": 2})
    world = World(run.problem)
    told = await tell_all(Session(run, LlmSearchStrategy(), world, Broken(world, [])))
    await assert_replay_tells_the_same(run.path, LlmSearchStrategy(), told)
    assert world.evaluated[0]["block_size_x"] == 64
    assert any("the reply broke off, 1 configuration of it" in note for note in notes(told))


async def test_a_model_whose_every_reply_breaks_off_is_of_use_as_long_as_something_complete_had_arrived(tmp_path):
    class Breaking(Script):
        async def stream(self, request: Request) -> AsyncIterator[Chunk]:
            self.requests.append(request)
            yield Chunk(text=reply(proposal(64, 2 * len(self.requests)), BEST)[:-20])
            raise TransportError("it exited with 3", Service("scripted", "nowhere"))

    options = {**rounds(seeds=0, max_rounds=2), "max_evaluations": 4}
    run = new_run(tmp_path, LlmSearchStrategy(), **options)
    script = Breaking([])
    told = await tell_all(Session(run, LlmSearchStrategy(), World(run.problem), script))
    await assert_replay_tells_the_same(run.path, LlmSearchStrategy(), told)
    assert len(script.requests) == 2
    assert {"block_size_x": 64, "matters": 4, "other": 0} in measured(told)
    assert sum("the reply broke off, 1 configuration of it" in note for note in notes(told)) == 2
    assert not told.finished.model_fault


@pytest.mark.parametrize("stop", [Stop.COMPLETE, Stop.LENGTH])
async def test_a_reply_without_its_end_loses_none_of_its_complete_configurations(tmp_path, stop):
    class Cut(Script):
        async def stream(self, request: Request) -> AsyncIterator[Chunk]:
            self.requests.append(request)
            yield Chunk(text=reply(MIDDLING, BEST)[:-20], stop=stop, usage=Usage(100, 50, 0.0))

    run = new_run(tmp_path, LlmSearchStrategy(), **{**rounds(seeds=0, max_rounds=1), "max_evaluations": 2})
    world, script = World(run.problem), Cut([])
    told = await tell_all(Session(run, LlmSearchStrategy(), world, script))
    await assert_replay_tells_the_same(run.path, LlmSearchStrategy(), told)
    assert len(script.requests) == 1, "nothing is asked twice"
    assert world.evaluated[0]["block_size_x"] == 64
    assert any("the reply broke off, 1 configuration of it" in note for note in notes(told))


async def test_what_had_begun_and_nobody_asked_for_is_ended(tmp_path):
    endless, begun = asyncio.Event(), []

    class Slow(World):
        async def evaluate(self, candidate, configuration, best_ms):
            values = (configuration["block_size_x"], configuration["matters"], configuration["other"])
            if values == (128, 8, 0) and not begun:
                begun.append(values)
                await endless.wait()
            return await super().evaluate(candidate, configuration, best_ms)

    class Babbling(Streaming):
        async def stream(self, request: Request) -> AsyncIterator[Chunk]:
            self.requests.append(request)
            text = reply(BEST) + reply(BEST) if len(self.requests) < 4 else reply(*ANOTHER[:2])
            yield Chunk(text=text)
            await asyncio.sleep(0)
            yield Chunk(stop=Stop.COMPLETE, usage=Usage(100, 50, 0.0))

    run = new_run(tmp_path, LlmSearchStrategy(), **rounds(seeds=0, max_rounds=2, patience=3, fallback="random"))
    world = Slow(run.problem)
    session = Session(run, LlmSearchStrategy(), world, Babbling(world, []))
    told = await asyncio.wait_for(tell_all(session), 100)
    assert told.refused
    assert begun
    assert told.finished.status in ("finished", "no_improvement")


@pytest.mark.parametrize(("wording", "asked"), [(WORDING, [20, 10, 10]), (11, [25, 15])])
async def test_no_round_but_the_last_takes_most_of_what_is_left(tmp_path, wording, asked):
    sizes = {"initial_batch_size": 25, "refinement_batch_size": 15, "seeds": 0}
    given = {**rounds(max_rounds=5, patience=9, min_improvement=0.0, **sizes), "max_evaluations": 40}
    run = replace(new_run(tmp_path, LlmSearchStrategy(), **given), wording=wording)
    proposals = [proposal(b, m, o) for o in range(1, 8) for m in (1, 2, 4) for b in (32, 64, 128, 256)]
    batches = [proposals[sum(asked[:place]) :][:count] for place, count in enumerate(asked)]
    script = Script([first(*batches[0]), *[more(*batch) for batch in batches[1:]]])
    await tell_all(Session(run, LlmSearchStrategy(), World(run.problem), script))
    questions = [script.prompt(number) for number in range(1, len(asked) + 1)]
    assert [int(re.search(r"Choose the (\d+) config", text)[1]) for text in questions] == asked
    assert len(script.requests) == len(asked)


@pytest.mark.slow
async def test_the_slowest_rows_then_the_source_are_left_out_where_the_context_is_small(tmp_path):
    class Small(Script):
        context_tokens = 16384 + ROOM

    run = new_run(
        tmp_path, LlmSearchStrategy(), **{**rounds(max_rounds=2, initial_batch_size=30, seeds=0), "max_evaluations": 60}
    )
    proposals = [proposal(32, 1, other) for other in range(1, 8)] + [
        proposal(b, 2, o) for b in (32, 64) for o in range(8)
    ]
    script = Small([("first_configurations", reply(*proposals)), more(BEST)])
    told = await tell_all(Session(run, LlmSearchStrategy(), World(run.problem), script))
    await assert_replay_tells_the_same(run.path, LlmSearchStrategy(), told)
    assert "slower ones left out" in script.prompt(2)
    assert estimate_messages(script.requests[1].messages) <= ROOM
    assert any("has no room for all but the fastest" in note for note in notes(told))


async def test_the_user_may_hide_source_and_device_from_the_model(tmp_path):
    hidden = rounds(max_rounds=1, include_kernel_source=False, hardware_context=False)
    _, script = await played(tmp_path, LlmSearchStrategy(), [("first_configurations", reply(BEST))], **hidden)
    assert "__global__" not in script.prompt(1)
    assert DEVICE.name not in script.prompt(1)


async def test_a_failure_is_told_with_its_reason(tmp_path):
    class Failing(World):
        async def evaluate(self, candidate, configuration, best_ms):
            found = await super().evaluate(candidate, configuration, best_ms)
            return found if configuration["matters"] != 2 else _failed(found)

    run = new_run(tmp_path, LlmSearchStrategy(), **rounds(max_rounds=2, seeds=0))
    script = Script([("first_configurations", reply(proposal(32, 2), proposal(64, 2))), more(BEST)])
    await tell_all(Session(run, LlmSearchStrategy(), Failing(run.problem), script))
    assert (
        "launch failure: too much shared memory (2): all have matters=2, which nothing right has; as in"
        in script.prompt(2)
    )


@pytest.mark.parametrize("calls", [2, 9])
async def test_the_last_question_is_said_to_be_the_last_whether_rounds_or_calls_end_there(tmp_path, calls):
    options = {**rounds(max_rounds=3 if calls == 2 else 2, seeds=0), "max_calls": calls}
    answers = [("first_configurations", reply(proposal(32, 2), proposal(64, 2))), more(BEST)]
    _, script = await played(tmp_path, LlmSearchStrategy(), answers, **options)
    assert "This is round 2 of at most 2." in script.prompt(2)
    assert "You will not be asked again" in script.prompt(2)


async def test_rounds_do_not_end_before_the_neighbours_of_the_best_are_measured_and_the_evaluations_spent(tmp_path):
    answers = [("first_configurations", reply(proposal(64, 8), proposal(64, 4)))]
    told, _ = await played(tmp_path, LlmSearchStrategy(), answers, **rounds(max_rounds=1, seeds=0))
    assert {"block_size_x": 128, "matters": 8, "other": 0} in measured(told)
    assert told.finished.evaluations == 12


async def test_finalists_within_the_noise_are_timed_in_turns(tmp_path):
    answers = [("first_configurations", reply(*({**BEST, "other": other} for other in range(4))))]
    told, _ = await played(tmp_path, LlmSearchStrategy(), answers, **rounds(max_rounds=1, seeds=0))
    compared = [event for event in told.events if event.type == "compared"]
    assert len(compared) >= 4  # three finalists against the best, and the best against the incumbent


async def test_that_no_model_is_asked_where_all_is_measured_is_said(tmp_path):
    run = new_run(tmp_path, LlmSearchStrategy(), **{**rounds(), "max_evaluations": 200})
    told = await tell_all(Session(run, LlmSearchStrategy(), World(run.problem), script := Script([])))
    assert not script.requests
    assert notes(told).count("no model is asked which configurations to measure: the budget has room for all 120") == 1
    await assert_replay_tells_the_same(run.path, LlmSearchStrategy(), told)


def _failed(found: Evaluation) -> Evaluation:
    failure = {"kind": FailureKind.LAUNCH, "message": "too much shared memory"}
    return Evaluation.model_validate({**found.model_dump(), "timing": None, "failure": failure})


def notes(told: Told) -> list[str]:
    return [event.text for event in told.events if isinstance(event, Note)]


def measured(told: Told) -> list[Configuration]:
    return [event.evaluation.configuration for event in told.events if isinstance(event, EvaluationFinished)]
