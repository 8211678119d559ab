from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.library import LibraryTime
from tui_tuner.evaluate.profiling import Profile
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation, Failure, FailureKind, Timing
from tui_tuner.evaluate.tolerance import AllowedError
from tui_tuner.llm import Chunk, Request, Stop, Usage
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Configuration, Problem, Test
from tui_tuner.session.run_directory import RunDirectory, create, open_run
from tui_tuner.session.session import Session
from tui_tuner.session_options import SessionOptions
from tui_tuner.strategies.choose import strategy_named

SOURCE = """\
__global__ void scale(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
"""
PROBLEM = """\
[kernel]
source = "scale.cu"
name = "scale"

[sizes]
n = 4096

[launch]
problem_size = ["n"]

[[arguments]]
name = "y"
dtype = "float32"
shape = ["n"]
output = true

[[arguments]]
name = "x"
dtype = "float32"
shape = ["n"]

[[arguments]]
name = "n"
dtype = "int32"
value = "n"

[tunables]
block_size_x = [32, 64, 128, 256]

[defaults]
block_size_x = 32

[[tests]]
sizes = { n = 1000 }
"""
REWRITE = SOURCE.replace("int i =", "int per_thread = work_per_thread; int i =")
DEVICE = DeviceInfo(kind="cuda", name="Fake GPU", backend="fake", architecture="sm_90", toolchain="fake 1")


def reply(**changes: object) -> str:
    content: dict[str, object] = {
        "summary": "More work a thread.",
        "code": REWRITE,
        "tunables": [
            {"name": "block_size_x", "values": [64, 128], "default": 64},
            {"name": "work_per_thread", "values": [1, 2, 4], "default": 2},
        ],
        "restrictions": [],
        "block_size": ["block_size_x"],
        "grid_div_x": ["block_size_x", "work_per_thread"],
        "grid_div_y": [],
        "grid_div_z": [],
        "grid": [],
        "shared_memory": "0",
    }
    return json.dumps({**content, **changes})


def milliseconds(candidate: Candidate, configuration: Configuration) -> float:
    """A made-up machine: larger blocks are faster, and so is work per thread."""
    return 100.0 / float(configuration["block_size_x"]) / float(configuration.get("work_per_thread", 1)) + 1.0


class FakeEvaluator:
    """Counts what it is asked; the time is a function of the configuration."""

    doing = ""
    spread = 0.01
    """Half an interval, relative to the time."""

    def __init__(self, problem: Problem, fail: Callable[[Candidate, Configuration], Failure | None] | None = None):
        self.problem = problem
        self.fail = fail or (lambda *_: None)
        self.evaluated: list[Configuration] = []
        self.compared = 0
        self.starts = 0
        self.on_evaluate: Callable[[int], None] = lambda _: None
        self.why_dropped: Callable[[Test], str | None] = lambda _: None
        self.proposed: list[Test] = []
        self.devices: list[str] = []
        self.told: list[str] = []
        self.library: LibraryTime | None = None
        self.allowed: dict[str, AllowedError] = {}
        self.profile_found: Profile | None = None
        self.profiled: list[Configuration] = []

    async def sized_problem(self) -> Problem:
        return self.problem

    async def start(self, proposed: Sequence[Test] = ()) -> MachineReport:
        self.starts += 1
        self.proposed = list(proposed)
        candidate = baseline(self.problem)
        given = self._measure(candidate, candidate.default_configuration)
        tried = {} if self.problem.tests else {i: self.why_dropped(test) for i, test in enumerate(proposed)}
        tests = [proposed[i] for i, reason in tried.items() if reason is None]
        dropped = [f"{proposed[i].sizes}: {reason}" for i, reason in tried.items() if reason is not None]
        profiles = self.profile_found is not None
        return MachineReport(
            device=DEVICE,
            sandbox="landlock",
            note="",
            given=given,
            tests=tests,
            dropped=dropped,
            devices=self.devices,
            library=self.library,
            profiles=profiles,
            allowed=self.allowed,
        )

    def milliseconds(self, candidate: Candidate, configuration: Configuration) -> float:
        return milliseconds(candidate, configuration)

    def _measure(self, candidate: Candidate, configuration: Configuration) -> Evaluation:
        failure = self.fail(candidate, configuration)
        ms = self.milliseconds(candidate, configuration)
        timing = Timing(median=ms, low=ms * (1 - self.spread), high=ms * (1 + self.spread), samples=10)
        return Evaluation(
            candidate=candidate.id,
            configuration=configuration,
            timing=None if failure else timing,
            failure=failure,
            build_ms=100.0,
        )

    def news(self) -> Sequence[str]:
        told, self.told = self.told, []
        return told

    async def evaluate(self, candidate: Candidate, configuration: Configuration, best_ms: float | None) -> Evaluation:
        self.on_evaluate(len(self.evaluated) + 1)
        self.evaluated.append(configuration)
        return self._measure(candidate, configuration)

    async def compare(
        self,
        incumbent: tuple[Candidate, Configuration],
        challenger: tuple[Candidate, Configuration],
        delta: float,
        *,
        thorough: bool = False,
    ) -> Comparison:
        self.compared += 1
        ratio = milliseconds(*incumbent) / milliseconds(*challenger)
        return Comparison(ratio=ratio, low=ratio * 0.99, high=ratio * 1.01, pairs=30)

    async def profile(self, candidate: Candidate, configuration: Configuration) -> Profile:
        self.profiled.append(configuration)
        assert self.profile_found is not None
        return self.profile_found

    async def close(self) -> None:
        pass


class ScriptedModel:
    """Answers with the given texts in their order."""

    name = "scripted"
    context_tokens = None

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        self.requests.append(request)
        text = self.replies.pop(0)
        yield Chunk(text=text[:10])
        yield Chunk(text=text[10:], stop=Stop.COMPLETE, usage=Usage(100, 50, 0.0))

    async def aclose(self) -> None:
        pass


def write_problem(directory: Path) -> Path:
    (directory / "scale.cu").write_text(SOURCE)
    (directory / "scale.toml").write_text(PROBLEM)
    return directory / "scale.toml"


def new_run(directory: Path, **options: object) -> RunDirectory:
    file = write_problem(directory)
    chosen = SessionOptions.model_validate({"strategy": "one_prompt", **options})
    model = "scripted" if chosen.strategy == "one_prompt" else None
    return create(directory / "run", load_problem(file), file, chosen, model)


def reopened(directory: Path) -> RunDirectory:
    return open_run(directory / "run", resume=True)


def session_of(run: RunDirectory, evaluator: FakeEvaluator | None, model: ScriptedModel | None = None) -> Session:
    return Session(run, strategy_named(run.options.strategy), evaluator, model)


def wrong_result(*_: object) -> Failure:
    return Failure(kind=FailureKind.WRONG_RESULT, message="at n=4096: y[3] is 0, expected 2")
