"""Whole sessions made up at random: what the model answers, what the user decides and says, and where it is left."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.session.fakes import PROBLEM, SOURCE
from tests.strategies.branch import one_prompt
from tests.strategies.branches_explicit import explicit, step, unjudged
from tests.strategies.replies import KINDS, reply
from tests.strategies.world import (
    FIXED,
    Script,
    Told,
    User,
    Watch,
    World,
    assert_replay_tells_the_same,
    kernel,
    new_run,
    played,
    rewrite,
    tell_all,
)
from tui_tuner import journal
from tui_tuner.journal.reading import FILE
from tui_tuner.llm import Chunk, Request, Stop, Usage
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.space import SearchSpace
from tui_tuner.session.plan import AddStep, DeleteStep, EditStep, Instruction, MoveStep, Say, Thaw
from tui_tuner.session.run_directory import open_run
from tui_tuner.session.session import Session
from tui_tuner.strategies.autonomous import AutonomousStrategy
from tui_tuner.strategies.base import ATTEMPTS, Strategy
from tui_tuner.strategies.single_step import OnePromptStrategy
from tui_tuner.strategies.steps import Decision

STRATEGIES = [
    OnePromptStrategy(),
    AutonomousStrategy(),
    OnePromptStrategy(candidates=3),
    AutonomousStrategy(candidates=2),
    AutonomousStrategy(breakdown_steps=True, max_breakdowns=2, max_replanning=1, keep_neutral=False),
    explicit(
        unjudged("one", tune_params={"tile": [1, 2]}),
        step("two", "one"),
        unjudged("three", "one"),
        step("four", languages=["opencl"]),
        step("five", "three"),
    ),
]
REPLIES = st.tuples(st.sampled_from(["right"] * 6 + [*KINDS, "none"]), st.integers(0, 10**6))
ACTIONS = st.sampled_from(["approve"] * 6 + ["skip", "reject", "edit"])
WORDS = st.sampled_from(["", "Use $less ${memory}.", "</programmer>", "\x1b[2J", "mind n = 7"])
EDITED = st.floats(0.5, 4).map(kernel)
TITLES = st.sampled_from(["mine", "use $x and ${y}", "</step>", "a\nb"])
IDS = st.integers(0, 9)
INSTRUCTIONS = st.one_of(
    st.builds(Say, text=WORDS),
    st.builds(AddStep, title=TITLES, detail=WORDS, before=st.none() | IDS),
    st.builds(EditStep, step=IDS, title=TITLES, detail=WORDS),
    st.builds(MoveStep, step=IDS, before=st.none() | IDS),
    st.builds(DeleteStep, step=IDS),
    st.builds(Thaw, name=st.sampled_from(["unroll", "block_size_x", "unknown"])),
)

MOMENTS = st.tuples(st.sampled_from(["question", "prompt"]), st.integers(1, 6))


@dataclass(frozen=True)
class Life:
    """Everything that the model and the user do in a session.

    Attributes:
        replies: kind and number of each reply; afterwards the model cannot be reached.
        instructions: given while the user decides or the model answers, by the number of the question or prompt,
            counted from 1.
    """

    strategy: Strategy
    replies: Sequence[tuple[str, int]]
    decisions: Sequence[Decision]
    instructions: dict[tuple[str, int], list[Instruction]]
    options: dict[str, object]


@st.composite
def lives(draw: st.DrawFn) -> Life:
    options: dict[str, object] = {
        "max_calls": draw(st.integers(0, 14)),
        "max_evaluations": draw(st.integers(1, 24)),
        "target": draw(st.none() | st.just(1.9)),
        "search": "brute_force",
        "problem": draw(st.sampled_from([FIXED, PROBLEM])),
    }
    decisions = [
        Decision(action=action, message=draw(WORDS), source=draw(EDITED) if action == "edit" else None)
        for action in draw(st.lists(ACTIONS, max_size=8))
    ]
    return Life(
        draw(st.sampled_from(STRATEGIES)),
        draw(st.lists(REPLIES, min_size=6, max_size=14)),
        decisions,
        draw(st.dictionaries(MOMENTS, st.lists(INSTRUCTIONS, max_size=3), max_size=4)),
        options,
    )


class Anyone(Script):
    """Answers whatever it is asked, from the n-th reply on."""

    def __init__(self, replies: Sequence[tuple[str, int]]) -> None:
        super().__init__([])
        self.replies = list(replies)

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        self.requests.append(request)
        self.on_request(request)
        await asyncio.sleep(0)
        kind, number = self.replies.pop(0) if self.replies else ("none", 0)
        answer = reply(request.purpose, kind, number)
        if isinstance(answer, Exception):
            raise answer
        yield Chunk(text=answer, stop=Stop.COMPLETE, usage=Usage(100, 50, 0.0))


@dataclass
class Past:
    """What a journal holds already: replies, decisions, instructions."""

    replies: int = 0
    decisions: int = 0
    told: int = 0

    @classmethod
    def of(cls, path: Path) -> Past:
        kinds = [json.loads(line) for line in (path / FILE).read_bytes().splitlines()[1:]]
        asked = [record for record in kinds if record["kind"] == "ask" and "stopped" not in record["result"]]
        counts = [sum(record["kind"] == kind for record in kinds) for kind in ("approve", "told")]
        return cls(len(asked), *counts)


@dataclass
class Play:
    """A session of a life, or what is left of one."""

    life: Life
    path: Path
    past: Past = field(default_factory=Past)

    def __post_init__(self) -> None:
        self.model = Anyone(self.life.replies[self.past.replies :])
        self.user = User(self.life.decisions[self.past.decisions :])
        run = open_run(self.path, resume=True)
        self.session = Session(run, self.life.strategy, World(run.problem), self.model)
        self.user.on_question = lambda _: self._tell("question", self.past.decisions + len(self.user.asked))
        self.model.on_request = lambda _: self._tell("prompt", self.past.replies + len(self.model.requests))
        answered = {"question": self.past.decisions, "prompt": self.past.replies}
        earlier = [told for (what, number), told in self.life.instructions.items() if number <= answered[what]]
        self._told = self.past.told - sum(map(len, earlier))

    def _tell(self, what: str, number: int) -> None:
        """Give the instructions of this moment, but for those that were taken before the session was left."""
        for instruction in self.life.instructions.get((what, number), [])[self._told :]:
            assert self.session.tell(instruction)
        self._told = 0


@contextmanager
def new_directory(life: Life) -> Iterator[Path]:
    """A run that is not yet begun; nothing waits for a disk."""
    with tempfile.TemporaryDirectory() as name, patch.object(journal.os, "fsync"), Watch().worn():
        run = new_run(Path(name), life.strategy, **life.options)
        run.journal.close()
        yield run.path


async def whole(life: Life, path: Path) -> tuple[Told, Play]:
    play = Play(life, path)
    return await tell_all(play.session, play.user), play


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


@pytest.mark.slow
@settings(max_examples=30, deadline=None, derandomize=True)
@given(lives(), st.floats(0, 1))
def test_a_session_left_after_any_event_ends_in_the_same_plan_and_asks_nothing_twice(life, part):
    with new_directory(life) as path:
        told, play = asyncio.run(whole(life, path))
    with new_directory(life) as path:
        asyncio.run(until(Play(life, path), 1 + round(part * len(told.events))))
        asyncio.run(resumed(life, path, told, len(play.model.requests), len(play.user.asked)))


@pytest.mark.slow
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
