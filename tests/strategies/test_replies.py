from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.session.fakes import SOURCE
from tests.strategies.branch import one_prompt
from tests.strategies.lives import Life, Past, Play, lives, new_directory, whole
from tests.strategies.world import (
    FIXED,
    Told,
    assert_replay_tells_the_same,
    kernel,
    played,
    rewrite,
    tell_all,
)
from tui_tuner.journal.reading import FILE
from tui_tuner.llm import Request
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.space import SearchSpace
from tui_tuner.strategies.base import ATTEMPTS
from tui_tuner.strategies.single_step import OnePromptStrategy


def longest_question(requests: Sequence[Request]) -> int:
    """The most calls of one question: what goes on with a conversation has more than its two first messages."""
    lengths: list[int] = []
    for request in requests:
        if len(request.messages) == 2:
            lengths.append(0)
        lengths[-1] += 1
    return max(lengths, default=0)


def assert_the_incumbent_is_saved(path: Path, told: Told) -> None:
    result = json.loads((path / "result.json").read_text())
    best = result["best"]
    assert result["status"] == told.finished.status == ("finished" if result["speedup"][1] > 1 else "no_improvement")
    assert (path / "best.cu").read_text().endswith(told.best or SOURCE)
    definitions = [f"#define {name} {value}\n" for name, value in best["configuration"].items()]
    assert [text for text in definitions if text not in (path / "best.cu").read_text()] == []
    assert (path / "best.toml").is_file()


@settings(max_examples=80, deadline=None, derandomize=True)
@given(lives())
def test_whatever_a_model_answers_the_session_ends_within_its_limits_with_the_incumbent_saved(life):
    with new_directory(life) as path:
        told, play = asyncio.run(whole(life, path))

        assert told.finished.status in ("finished", "no_improvement")
        assert [event.type for event in told.events].count("session_finished") == 1
        assert len(play.model.requests) == told.finished.model_calls <= life.options["max_calls"]
        assert longest_question(play.model.requests) <= ATTEMPTS
        assert told.finished.evaluations <= life.options["max_evaluations"]
        assert_the_incumbent_is_saved(path, told)
        asyncio.run(assert_replay_tells_the_same(path, life.strategy, told))


async def test_a_reply_with_half_of_a_character_pair_is_one_that_cannot_be_used(tmp_path):
    answers = [("one_prompt", '{"summary": "\ud800"}'), one_prompt()]
    told, script = await played(tmp_path, OnePromptStrategy(), answers, problem=FIXED)
    assert told.best_speed == 2
    assert len(told.refused) > 0
    assert '{"summary": "?"}' in script.prompt(2)


async def test_half_of_a_character_pair_in_a_good_reply_is_a_question_mark(tmp_path):
    answers = [("one_prompt", rewrite(kernel(2, extra="// so HALF\n")).replace("HALF", "\ud83d"))]
    told, _ = await played(tmp_path, OnePromptStrategy(), answers, problem=FIXED)
    assert "// so ?\n" in told.best
    assert told.refused == []


def walked_at_most(limit: int) -> Callable[[SearchSpace], Iterator[Configuration]]:
    def configurations(space: SearchSpace) -> Iterator[Configuration]:
        for number, configuration in enumerate(every(space)):
            assert number < limit, "the space is walked to its end"
            yield configuration

    every = SearchSpace.configurations
    return configurations


async def test_a_kernel_with_a_huge_space_is_refused_without_walking_it(tmp_path):
    names = "abcdefgh"
    source = kernel(2, tunables=" ".join(names))
    answers = [
        ("one_prompt", rewrite(source, [(name, list(range(16)), 1) for name in names])),
        one_prompt(),
    ]
    with patch.object(SearchSpace, "configurations", walked_at_most(200_000)):
        told, _ = await played(tmp_path, OnePromptStrategy(), answers, problem=FIXED)
    assert told.best_speed == 2
    assert told.refused == [f"tunables: {16**8} combinations of values, at most 200000: offer fewer"]


async def until(play: Play, events: int) -> None:
    """Leave a session after so many events."""
    async with aclosing(play.session.events(play.user)) as stream:
        for _ in range(events):
            if await anext(stream, None) is None:
                return


async def resumed(life: Life, path: Path, whole_told: Told, calls: int, questions: int) -> None:
    past = Past.of(path)
    play = Play(life, path, past)
    told = await tell_all(play.session, play.user)
    assert told.plan() == whole_told.plan()
    assert told.best == whole_told.best
    assert told.frozen == whole_told.frozen
    assert told.finished.reason == whole_told.finished.reason
    assert past.replies + len(play.model.requests) == calls
    assert past.decisions + len(play.user.asked) == questions


@settings(max_examples=30, deadline=None, derandomize=True)
@given(lives(), st.floats(0, 1))
def test_a_session_left_after_any_event_ends_in_the_same_plan_and_asks_nothing_twice(life, part):
    with new_directory(life) as path:
        told, play = asyncio.run(whole(life, path))
    with new_directory(life) as path:
        asyncio.run(until(Play(life, path), 1 + round(part * len(told.events))))
        asyncio.run(resumed(life, path, told, len(play.model.requests), len(play.user.asked)))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(lives(), st.floats(0, 1))
def test_a_session_killed_after_any_record_ends_in_the_same_plan_and_asks_nothing_twice(life, part):
    with new_directory(life) as path:
        told, play = asyncio.run(whole(life, path))
        file = path / FILE
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(lines[: 1 + round(part * (len(lines) - 1))]))
        shutil.rmtree(path / "kernels", ignore_errors=True)
        asyncio.run(resumed(life, path, told, len(play.model.requests), len(play.user.asked)))
