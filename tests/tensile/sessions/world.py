"""Whole sessions on the stand-in, with a scripted model and people who decide as they are told to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, TypeVar

import yaml

from tests.llm.fakes import FakeBackend, said
from tests.tensile.clocks import OwnTime
from tests.tensile.sessions.replies import BEST, SMALL
from tests.tensile.stand_in import sample, write_program
from tui_tuner.headless import ApproveAll
from tui_tuner.llm import Chunk
from tui_tuner.llm.errors import Service, TransportError, Unreachable
from tui_tuner.session import events
from tui_tuner.session_options import SessionOptions
from tui_tuner.strategies.steps import Approver, Decision, Proposal, Step, StepState
from tui_tuner.tensile.document import BenchmarkConfiguration
from tui_tuner.tensile.document.reading import parse_configuration, parse_sizes, read_text
from tui_tuner.tensile.events import BenchmarkFinished, BenchmarkStarted, WinnersChanged
from tui_tuner.tensile.knowledge.known import knowledge_for
from tui_tuner.tensile.measure import TensileBench
from tui_tuner.tensile.outcome import RunFailure
from tui_tuner.tensile.program import Tensile
from tui_tuner.tensile.run_directory import TensileOptions, TensileRun, create, open_run
from tui_tuner.tensile.session import TensileSession
from tui_tuner.text import clean

EventType = TypeVar("EventType", bound=events.Event)
Script = Sequence[Chunk | TransportError | float]
A, B = (256, 128, 1, 4096), (512, 512, 1, 1024)
"""The problem sizes. Among the two permutations of SMALL_SPACE the best has 40,000 GFLOP/s at A and 60,000 at B;
DepthU 64 makes both 1.2 times as fast, GlobalSplitU 4 makes A 1.5 times as fast."""
GIVEN = sample.configuration().partition("      ForkParameters:")[0]
SPACE = "# kept\n".join(
    [
        "      ForkParameters:  ",
        f"        - MatrixInstruction: [{SMALL}, {BEST}]  ",
        "        - DepthU: [32]   ",
        "        - GlobalSplitU: [1] ",
        "",
    ]
)
FINAL = "      BenchmarkJoinParameters:" + sample.configuration().partition("      BenchmarkJoinParameters:")[2]
SMALL_SPACE = f"# At the top.\n{GIVEN}{SPACE}{FINAL}# At the end.\n"
UNREACHABLE = Unreachable("connection refused", Service("ollama", "fake"))


class World:
    """A directory with a configuration, a table of speeds and a Tensile.

    Args:
        options: of the stand-in, as of `tests.tensile.stand_in.options.Options`.
    """

    def __init__(self, directory: Path, text: str = SMALL_SPACE, sizes: str | None = None, **options: object) -> None:
        self.directory = directory
        self.file = directory / "gemm.yaml"
        self.file.write_bytes(text.encode())
        self.sizes = sizes
        self.table = sample.write_table(directory / "measured.csv")
        self.program = write_program(directory / "bin", script=False, measured=self.table, **options)
        self.path = directory / "run"
        self.version = "4.33.0"
        self.limit_s: float | None = None
        self.clock = OwnTime(self.program.with_name("hangs")).clock

    @property
    def runs(self) -> int:
        """How often Tensile was run."""
        counter = self.directory / "bin" / "runs"
        return int(counter.read_text() or 0) if counter.exists() else 0

    def begin(self, model: FakeBackend | None, **options: Any) -> TensileSession:
        """A new session; `options` are those of either kind, a single final run and not three by default."""
        own = {name: value for name, value in options.items() if name in TensileOptions.model_fields}
        shared = SessionOptions(**{name: value for name, value in options.items() if name not in own})
        tensile = TensileOptions(**{"repeats": 0, "rehearse": False, **own})
        self.limit_s = tensile.max_run_seconds
        sizes = None if self.sizes is None else parse_sizes(self.sizes, self.file)
        given = parse_configuration(read_text(self.file), self.file, sizes)
        run = create(self.path, given, self.sizes, shared, tensile, None if model is None else model.name)
        return self._session(run, model)

    def resume(self, model: FakeBackend | None) -> TensileSession:
        run = open_run(self.path, resume=True)
        run.journal.forget_undone()
        return self._session(run, model)

    def replay(self) -> TensileSession:
        run = open_run(self.path, resume=False)
        return TensileSession(run, knowledge_for(run.configuration), None, None)

    def _session(self, run: TensileRun, model: FakeBackend | None) -> TensileSession:
        bench = TensileBench(Tensile((str(self.program),), self.version), self.sizes, self.limit_s, self.clock)
        return TensileSession(run, knowledge_for(run.configuration), bench, model)

    def configuration(self, name: str) -> BenchmarkConfiguration:
        """A configuration that the session wrote, which PyYAML reads too."""
        text = read_text(self.path / name)
        assert yaml.safe_load(text)
        sizes = None if self.sizes is None else parse_sizes(self.sizes, self.file)
        return parse_configuration(text, self.path / name, sizes)


class Told:
    """Decides as it is told to, then approves."""

    def __init__(self, *decisions: Decision) -> None:
        self.proposals: list[Proposal] = []
        self._decisions = list(decisions)

    async def decide(self, proposal: Proposal) -> Decision:
        self.proposals.append(proposal)
        return self._decisions.pop(0) if self._decisions else Decision(action="approve")


def model(*replies: str | Script) -> FakeBackend:
    """Gives these replies one after the other; a script may also fail or wait."""
    backend = FakeBackend(*(said(reply) if isinstance(reply, str) else reply for reply in replies))
    backend.context_tokens = None
    return backend


def prompts(backend: FakeBackend) -> list[str]:
    """What it was asked: the last message of each request, the round's own prompt before it where that is put back."""
    return [request.messages[-1].content for request in backend.requests]


async def played(
    session: TensileSession, approver: Approver | None = None, *, on: Callable[[events.Event], None] | None = None
) -> list[events.Event]:
    """All events; `on` sees each as it comes and may end the session by an exception."""
    seen: list[events.Event] = []
    async with aclosing(session.events(approver or ApproveAll())) as stream:
        async for event in stream:
            seen.append(event)
            if on is not None:
                on(event)
    return seen


def of(story: Sequence[events.Event], kind: type[EventType]) -> list[EventType]:
    """The events of a kind."""
    return [event for event in story if isinstance(event, kind)]


def finished(story: Sequence[events.Event]) -> events.SessionFinished:
    last = story[-1]
    assert isinstance(last, events.SessionFinished)
    return last


def winners(story: Sequence[events.Event]) -> dict[tuple[int, ...], tuple[float, int]]:
    """Speed and round of the best at every size, at the end."""
    return {tuple(w.size): (w.gflops, w.round) for w in of(story, WinnersChanged)[-1].winners}


def failures(story: Sequence[events.Event]) -> list[RunFailure | None]:
    """Of every run, why it gave no results."""
    return [event.outcome.failure for event in of(story, BenchmarkFinished)]


def measured(story: Sequence[events.Event]) -> list[tuple[int, int]]:
    """Round and permutations of every run."""
    return [(event.round, event.permutations) for event in of(story, BenchmarkStarted)]


def steps(story: Sequence[events.Event]) -> dict[str, Step]:
    """The steps of the plan as they are at the end."""
    return {event.step.title: event.step for event in of(story, events.StepChanged)}


def states(story: Sequence[events.Event]) -> dict[str, StepState]:
    return {title: step.state for title, step in steps(story).items()}


def notes(story: Sequence[events.Event]) -> str:
    """What people are told, beside the events of rounds."""
    return clean("\n".join(event.text for event in of(story, events.Note)))
