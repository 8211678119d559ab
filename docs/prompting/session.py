"""Sessions on a made-up device with a scripted model, to see what a model is asked: nothing is built, run or timed."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.profiling import MachineCode, Profile
from tui_tuner.evaluate.profiling.counters import Counters
from tui_tuner.evaluate.profiling.roofline import Roofline, roofline
from tui_tuner.evaluate.results import Ceiling, Comparison, DeviceInfo, Evaluation, Resources, Timing
from tui_tuner.evaluate.tolerance import AllowedError
from tui_tuner.llm import Chunk, Request, Stop, Usage
from tui_tuner.problem.candidate import Candidate, baseline, geometry
from tui_tuner.problem.load import load_problem, problem_text
from tui_tuner.problem.model import Configuration, Problem, Test
from tui_tuner.resources import samples_directory
from tui_tuner.search import BRUTE_FORCE
from tui_tuner.session.plan import Instruction
from tui_tuner.session.run_directory import create
from tui_tuner.session.session import Session
from tui_tuner.session_options import RoundOptions, SessionOptions
from tui_tuner.strategies.base import Strategy
from tui_tuner.strategies.steps import Decision, Proposal

H200 = DeviceInfo(
    kind="cuda",
    name="NVIDIA H200",
    backend="cuda-python 13.5.0",
    architecture="sm_90",
    toolchain="nvcc 13.0.88 sm_90a",
    multiprocessors=132,
    registers_per_multiprocessor=65536,
    shared_bytes_optin=232448,
    shared_bytes_per_multiprocessor=233472,
    l2_bytes=62914560,
    memory_gbs=3720.0,
    flops_gflops=61000.0,
    bandwidths={"copy": Ceiling(rate=3720), "fill": Ceiling(rate=4100), "read": Ceiling(rate=4300)},
    peaks={
        "float32": Ceiling(rate=61000),
        "float64": Ceiling(rate=30500),
        "float16 on tensor cores": Ceiling(rate=1070530, measured=False),
        "tf32 on tensor cores": Ceiling(rate=535265, measured=False),
    },
)
"""An example of a device, with the figures that such a one has."""
PROFILE = Profile(
    code=MachineCode(
        instructions=203,
        mix={"global load of 4 bytes": 58, "global store of 4 bytes": 1},
        loop_instructions=73,
        loop={
            "global load of 4 bytes": 32,
            "integer, address or move": 24,
            "floating-point operation": 16,
            "jump": 1,
        },
    ),
    counters=Counters(
        values={
            "l1tex__throughput.avg.pct_of_peak_sustained_elapsed": 97.0,
            "sm__issue_active.avg.pct_of_peak_sustained_elapsed": 37.0,
            "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed": 25.3,
            "lts__throughput.avg.pct_of_peak_sustained_elapsed": 19.5,
            "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio": 16.5,
            "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": 13.3,
            "smsp__average_warps_issue_stalled_dispatch_stall_per_issue_active.ratio": 3.1,
            "l1tex__t_sector_hit_rate.pct": 87.5,
            "lts__t_sector_hit_rate.pct": 98.7,
            "sm__warps_active.avg.pct_of_peak_sustained_active": 97.9,
            "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct": 56.3,
        }
    ),
)
"""Of a plain matrix product, as nvdisasm and ncu told it on such a device."""
FASTER = 1.6
"""How many times as fast as the kernel as given a candidate is of which nothing else is said."""
CUT = "…"
"""An answer that ends so is cut off at the limit of tokens."""


def sample(name: str) -> Problem:
    """A sample kernel, as in "matmul"."""
    return load_problem(samples_directory() / f"{name}.toml")


class ExampleMachine:
    """An evaluator that makes its times up.

    Args:
        speeds: how many times as fast as the kernel as given the candidate of a title is.
    """

    def __init__(self, problem: Problem, speeds: Mapping[str, float]) -> None:
        self.device = H200.model_copy(update={"kind": problem.language})
        if not problem.is_compiled:
            self.device = H200.model_copy(update={"toolchain": "triton 3.6.0, torch 2.11.0", "peaks": {}})
        self._problem = problem
        self._speeds = {"baseline": 1.0, **speeds}
        self._roofline = roofline(problem, self.device) or Roofline(1.0, 1.0)

    async def sized_problem(self) -> Problem | None:
        """The problem as it is; none of which a model can propose arguments."""
        return self._problem if self._problem.is_compiled else None

    async def start(self, proposed: Sequence[Test] = ()) -> MachineReport:
        """The device and the time of the kernel as given; every proposed test is taken."""
        given = baseline(self._problem)
        evaluation = self._evaluation(given, given.default_configuration)
        profiles = self._problem.language == "cuda"
        allowed = {"C": AllowedError(of_usual=5.6e-06, of_element=9.5e-07)}
        tests = list(proposed)
        return MachineReport(self.device, "nothing is built", "", evaluation, tests, profiles=profiles, allowed=allowed)

    def news(self) -> list[str]:
        """Nothing happens to it."""
        return []

    async def evaluate(self, candidate: Candidate, configuration: Configuration, best_ms: float | None) -> Evaluation:
        """A time that depends on the extents of a block."""
        del best_ms  # nothing is cut short
        return self._evaluation(candidate, configuration)

    async def compare(
        self, incumbent: tuple[Candidate, Configuration], challenger: tuple[Candidate, Configuration], delta: float
    ) -> Comparison:
        """The ratio of the two times, with a narrow interval."""
        del delta
        ratio = self._milliseconds(*incumbent) / self._milliseconds(*challenger)
        return Comparison(ratio=ratio, low=ratio * 0.997, high=ratio * 1.003, pairs=30)

    async def profile(self, candidate: Candidate, configuration: Configuration) -> Profile:
        """The same for every kernel."""
        return PROFILE

    async def close(self) -> None:
        """There is nothing to give back."""

    def _evaluation(self, candidate: Candidate, configuration: Configuration) -> Evaluation:
        ms = self._milliseconds(candidate, configuration)
        return Evaluation(
            candidate=candidate.id,
            configuration=configuration,
            timing=Timing(median=ms, low=ms * 0.999, high=ms * 1.001, samples=20),
            resources=Resources(registers=40, spill_bytes=0, shared_bytes=0),
            share=self._roofline.share(ms),
        )

    def _milliseconds(self, candidate: Candidate, configuration: Configuration) -> float:
        block = geometry(candidate.launch, self._problem.sizes, configuration).block
        narrow = 1.5 if block[0] < self.device.warp_size else 1.0
        off = abs(math.log2(math.prod(block) / 512)) + 0.1 * abs(math.log2(block[0] / 64))
        return self._roofline.bound_ms * 9 * narrow * (1 + 0.03 * off) / self._speeds.get(candidate.title, FASTER)


class ScriptedModel:
    """Answers by the purpose of a prompt, and keeps what it was asked.

    Args:
        answers: to each purpose one after the other; the last one again and again.
    """

    name = "example"
    context_tokens: int | None = None

    def __init__(self, answers: Mapping[str, Sequence[str]]) -> None:
        self._answers = {purpose: list(texts) for purpose, texts in answers.items()}
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """The next answer."""
        self.requests.append(request)
        texts = self._answers[request.purpose]
        text = texts.pop(0) if len(texts) > 1 else texts[0]
        stop = Stop.LENGTH if text.endswith(CUT) else Stop.COMPLETE
        yield Chunk(text=text, stop=stop, usage=Usage(output=request.max_tokens))

    async def aclose(self) -> None:
        """There is no connection."""


class _Programmer:
    """Decides as told, and approves when there is nothing more to say."""

    def __init__(self, decisions: Sequence[Decision]) -> None:
        self._decisions = list(decisions)

    async def decide(self, proposal: Proposal) -> Decision:
        """The next decision."""
        del proposal
        return self._decisions.pop(0) if self._decisions else Decision(action="approve")


@dataclass(frozen=True)
class Scene:
    """What happens in an example session.

    Attributes:
        answers: of the model, by purpose.
        speeds: of candidates, by the title of their step.
        decisions: of the programmer, in their order; they approve all else.
        told: what the programmer says right at the beginning.
        max_evaluations: configurations measured at most.
    """

    problem: Problem
    strategy: Strategy
    answers: Mapping[str, Sequence[str]]
    speeds: Mapping[str, float] = field(default_factory=dict)
    decisions: Sequence[Decision] = ()
    told: Sequence[Instruction] = ()
    max_evaluations: int = 85


async def requests_of(scene: Scene) -> list[Request]:
    """All that the model is asked in a session, from its beginning to its end."""
    problem = scene.problem
    model = ScriptedModel(scene.answers)
    file = problem.directory / problem.kernel.source.with_suffix(".toml")
    options = SessionOptions(
        strategy=scene.strategy.name,
        search=BRUTE_FORCE,  # which needs no process of its own
        max_evaluations=scene.max_evaluations,
        rounds=RoundOptions(initial_batch_size=6, refinement_batch_size=3, max_rounds=2),
    )
    with TemporaryDirectory() as directory:
        text = None if problem.is_compiled else problem_text(problem)
        run = create(Path(directory) / "run", problem, file, options, model.name, problem_text=text)
        session = Session(run, scene.strategy, ExampleMachine(problem, scene.speeds), model)
        for instruction in scene.told:
            session.tell(instruction)
        async with aclosing(session.events(_Programmer(scene.decisions))) as events:
            async for _ in events:
                pass
    return model.requests


def is_first(request: Request) -> bool:
    """Whether a request asks, and does not ask again with what was wrong before."""
    return [message.role for message in request.messages] == ["system", "user"]
