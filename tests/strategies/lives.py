"""Whole sessions made up at random: what the model answers, what the user decides and says, and where it is left."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from hypothesis import strategies as st

from tests.session.fakes import PROBLEM
from tests.strategies.branches_explicit import explicit, step, unjudged
from tests.strategies.replies import KINDS, reply
from tests.strategies.world import (
    FIXED,
    Script,
    Told,
    User,
    Watch,
    World,
    kernel,
    new_run,
    tell_all,
)
from tui_tuner import journal
from tui_tuner.journal.reading import FILE
from tui_tuner.llm import Chunk, Request, Stop, Usage
from tui_tuner.session.plan import AddStep, DeleteStep, EditStep, Instruction, MoveStep, Say, Thaw
from tui_tuner.session.run_directory import open_run
from tui_tuner.session.session import Session
from tui_tuner.strategies.autonomous import AutonomousStrategy
from tui_tuner.strategies.base import Strategy
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
