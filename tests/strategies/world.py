"""A made-up machine and a scripted model: a kernel's own comments say how fast it is and what goes wrong with it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from tests.session.fakes import PROBLEM, SOURCE, FakeEvaluator
from tui_tuner.evaluate.results import Comparison, Evaluation, Failure, FailureKind
from tui_tuner.journal import recall
from tui_tuner.llm import Chunk, Request, Stop, Usage
from tui_tuner.llm.errors import Service, TransportError
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Configuration, Problem, Value
from tui_tuner.session.events import (
    CandidateProposed,
    EvaluationFinished,
    Event,
    IncumbentChanged,
    ParametersFrozen,
    PlanOrdered,
    ReplyRefused,
    SessionFinished,
    StepChanged,
)
from tui_tuner.session.plan import Instruction
from tui_tuner.session.run_directory import RunDirectory, create, open_run
from tui_tuner.session.session import Session
from tui_tuner.session_options import SessionOptions
from tui_tuner.strategies.base import Strategy
from tui_tuner.strategies.steps import Decision, Proposal, Step

Answer = tuple[str, str | Exception]
"""The purpose of a prompt and what is answered."""
FIXED = PROBLEM.replace("[32, 64, 128, 256]", "[32]")
"""A problem without anything to search: a kernel of its own tunables takes one evaluation."""


def kernel(speed: float = 1.0, *, fail: str = "", tunables: str = "", extra: str = "") -> str:
    """A source that is so many times as fast as the kernel as given, or fails in some way.

    Args:
        fail: a FailureKind; with " later" behind it, only on the fresh data of a comparison, with " by default"
            only in the default configuration, with " else " and another one that one in all other configurations.
    """
    uses = "".join(f"int use_{name} = {name}; " for name in tunables.split())
    return f"// speed {speed}\n// fail {fail}\n{extra}" + SOURCE.replace("int i =", f"{uses}int i =")


def rewrite(source: str, tunables: Sequence[tuple[str, list[int], int]] = (), **changes: object) -> str:
    content = {
        "summary": "Another kernel.",
        "code": source,
        "tunables": [{"name": n, "values": v, "default": d} for n, v, d in tunables],
        "restrictions": [],
        "block_size": ["block_size_x"],
        "grid_div_x": [],
        "grid_div_y": [],
        "grid_div_z": [],
        "grid": [],
        "shared_memory": "0",
    }
    return json.dumps({**content, **changes})


def plan(*steps: str, summary: str = "The idea.", **changes: object) -> str:
    """A plan of steps by their titles; "!title" is an enabling one, "title<3" builds on step 3."""
    return json.dumps({"summary": summary, "steps": [_planned(step) for step in steps], **changes})


def _planned(step: str) -> dict[str, object]:
    title, _, builds_on = step.removeprefix("!").partition("<")
    return {
        "title": title,
        "description": f"Do {title}.",
        "enabling": step.startswith("!"),
        "builds_on": int(builds_on or 0),
    }


def valid(answer: bool = True, reason: str = "It fits.", parts: Sequence[str] | None = None) -> str:
    content: dict[str, object] = {"valid": answer, "reason": reason}
    if parts is not None:
        content["steps"] = [{"title": part, "description": f"Do {part}."} for part in parts]
    return json.dumps(content)


def worth(answer: bool = True, reason: str = "It fits.", *, already_done: bool = False, **further: str) -> str:
    """A judgement; `further` says of steps behind the one judged why they are not worth doing either."""
    content: dict[str, object] = {"worth_doing": answer, "already_done": already_done, "reason": reason}
    if further:
        skips = ((step, why.startswith("done"), why) for step, why in further.items())
        content["further"] = [{"step": step, "already_done": done, "reason": why} for step, done, why in skips]
    return json.dumps(content)


UNREACHABLE = TransportError("connection refused", Service("scripted", "nowhere"))


class World(FakeEvaluator):
    """Does what the kernels say of themselves."""

    spread = 0.001

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem, _says_failure)

    def milliseconds(self, candidate: Candidate, configuration: Configuration) -> float:
        return _milliseconds(candidate, configuration)

    def _measure(self, candidate: Candidate, configuration: Configuration) -> Evaluation:
        share = _says(candidate.source, "share")
        measured = super()._measure(candidate, configuration)
        return measured.model_copy(update={"share": float(share)}) if share else measured

    async def compare(
        self, incumbent: tuple[Candidate, Configuration], challenger: tuple[Candidate, Configuration], delta: float
    ) -> Comparison:
        await asyncio.sleep(0)
        self.compared += 1
        said = _says(challenger[0].source, "fail")
        if said.endswith(" later"):
            failure = Failure(kind=FailureKind(said.removesuffix(" later")), message="on other data", detail="a log")
            return Comparison.failed(failure)
        ratio = _milliseconds(*incumbent) / _milliseconds(*challenger)
        return Comparison(ratio=ratio, low=ratio * 0.995, high=ratio * 1.005, pairs=30)


def speed_of(source: str) -> float:
    """How many times as fast as the kernel as given a source says it is."""
    return float(_says(source, "speed") or 1.0)


def _says(source: str, what: str) -> str:
    found = re.search(rf"^// {what} ?(.*)$", source, re.MULTILINE)
    return found[1] if found else ""


def _says_failure(candidate: Candidate, configuration: Configuration) -> Failure | None:
    said = _says(candidate.source, "fail")
    if not said or said.endswith(" later"):
        return None
    default, divided, other = said.removesuffix(" by default").partition(" else ")
    if divided or default != said:
        said = default if configuration == candidate.default_configuration else other
    return Failure(kind=FailureKind(said), message=f"told by {said}", detail=f"the log of {said}") if said else None


def _milliseconds(candidate: Candidate, configuration: Configuration) -> float:
    """Larger blocks are a little faster; `matters` doubles the speed each time it is doubled."""
    block = max(1, min(int(configuration.get("block_size_x", 32)), 4096))
    return 100.0 / speed_of(candidate.source) / (1 + block / 2560) / float(configuration.get("matters", 1))


class Script:
    """A model that answers what it is told to, and notes what it was asked."""

    name = "scripted"
    context_tokens = None

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []
        self.on_request: Callable[[Request], None] = lambda _: None

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        self.requests.append(request)
        self.on_request(request)
        await asyncio.sleep(0)
        assert self.answers, f"nobody expects the prompt '{request.purpose}'"
        purpose, answer = self.answers.pop(0)
        assert request.purpose == purpose
        if isinstance(answer, Exception):
            raise answer
        yield Chunk(text=answer, stop=Stop.COMPLETE, usage=Usage(100, 50, 0.0))

    async def aclose(self) -> None:
        pass

    def prompt(self, number: int) -> str:
        """The whole text of a request, counted from 1."""
        return "\n".join(message.content for message in self.requests[number - 1].messages)


class User:
    """Answers each question with the next decision, and approves when there are none left."""

    def __init__(self, decisions: Sequence[Decision] = ()) -> None:
        self.decisions = list(decisions)
        self.asked: list[Proposal] = []
        self.on_question: Callable[[Proposal], None] = lambda _: None

    async def decide(self, proposal: Proposal) -> Decision:
        self.asked.append(proposal)
        self.on_question(proposal)
        await asyncio.sleep(0)
        return self.decisions.pop(0) if self.decisions else Decision(action="approve")


@dataclass
class Told:
    """What a session said.

    Attributes:
        steps: as they ended, by id.
        order: of the plan.
        states: that each step passed through, by title.
        proposed: the kernels that were put to the user.
        best: the source of the incumbent, empty while it is the kernel as given.
    """

    events: list[Event] = field(default_factory=list)
    steps: dict[int, Step] = field(default_factory=dict)
    states: dict[str, list[str]] = field(default_factory=dict)
    proposed: list[Candidate] = field(default_factory=list)
    best: str = ""
    order: list[int] = field(default_factory=list)
    frozen: list[Configuration] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def take(self, event: Event) -> None:
        self.events.append(event)
        match event:
            case StepChanged(step=step):
                if step.id not in self.steps:
                    self.order.append(step.id)
                self.steps[step.id] = step
                self.states.setdefault(step.title, []).append(step.state.value)
            case CandidateProposed(candidate=candidate):
                self.proposed.append(candidate)
            case IncumbentChanged(candidate=candidate):
                self.best = candidate.source
            case PlanOrdered(order=order):
                self.order = list(order)
            case ParametersFrozen(frozen=frozen):
                self.frozen.append(frozen)
            case ReplyRefused(problems=problems):
                self.refused += problems

    @property
    def finished(self) -> SessionFinished:
        last = self.events[-1]
        assert isinstance(last, SessionFinished)
        return last

    @property
    def best_speed(self) -> float:
        """What the incumbent says of its speed, 1 for the kernel as given."""
        return speed_of(self.best)

    def tried(self, candidate: Candidate, name: str) -> list[Value]:
        """The values of a tunable that the measured configurations of a kernel have."""
        measured = [event.evaluation for event in self.events if isinstance(event, EvaluationFinished)]
        return sorted({e.configuration[name] for e in measured if e.candidate == candidate.id})

    def plan(self) -> list[str]:
        """The plan as it stands at the end, a line a step: title, state, reason."""
        steps = [self.steps[i] for i in self.order]
        return [f"{s.title}: {s.state.value}" + (f" ({s.reason})" if s.reason else "") for s in steps]

    def step(self, title: str) -> Step:
        return next(step for step in self.steps.values() if step.title == title)


def new_run(directory: Path, strategy: Strategy, *, problem: str = PROBLEM, **options: object) -> RunDirectory:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "scale.cu").write_text(SOURCE)
    (directory / "scale.toml").write_text(problem)
    chosen = SessionOptions.model_validate({"strategy": strategy.name, **options})
    return create(
        directory / "run", load_problem(directory / "scale.toml"), directory / "scale.toml", chosen, "scripted"
    )


class Watch:
    """The time of a session, which stands still but for what a test makes of it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def worn(self) -> AbstractContextManager[object]:
        return patch.object(recall, "time", self)


async def tell_all(session: Session, user: User | None = None) -> Told:
    told = Told()
    async with aclosing(session.events(user or User())) as stream:
        async for event in stream:
            told.take(event)
    return told


async def played(
    directory: Path,
    strategy: Strategy,
    answers: Sequence[Answer],
    decisions: Sequence[Decision] = (),
    instructions: Mapping[int, Sequence[Instruction]] | None = None,
    *,
    while_asked: Mapping[int, Sequence[Instruction]] | None = None,
    slow_question: int = 0,
    slow_reply: int = 0,
    **options: object,
) -> tuple[Told, Script]:
    """A whole session; at the n-th question to the user they also give instructions, counted from 1.

    It is replayed afterwards, which must tell the same.

    Args:
        while_asked: the instructions that they give while the model answers its n-th prompt.
        slow_question: the user thinks for an hour about this question; without one, the time stands still.
        slow_reply: the model thinks for an hour about this reply.
    """
    run = new_run(directory, strategy, **options)
    script, user, watch = Script(answers), User(decisions), Watch()
    session = Session(run, strategy, World(run.problem), script)

    def on_question(_: Proposal) -> None:
        watch.now += 3600 * (len(user.asked) == slow_question)
        for instruction in (instructions or {}).get(len(user.asked), ()):
            assert session.tell(instruction)

    def on_request(_: Request) -> None:
        watch.now += 3600 * (len(script.requests) == slow_reply)
        for instruction in (while_asked or {}).get(len(script.requests), ()):
            assert session.tell(instruction)

    user.on_question, script.on_request = on_question, on_request
    with watch.worn():
        told = await tell_all(session, user)
    await assert_replay_tells_the_same(run.path, strategy, told)
    return told, script


async def assert_replay_tells_the_same(path: Path, strategy: Strategy, told: Told) -> None:
    again = await tell_all(Session(open_run(path, resume=False), strategy, None, None))
    assert again.plan() == told.plan()
    assert again.best == told.best
    assert again.frozen == told.frozen
    assert again.finished.model_calls == told.finished.model_calls
    assert again.finished.evaluations == told.finished.evaluations
    assert again.finished.status == told.finished.status
    assert again.finished.reason == told.finished.reason
