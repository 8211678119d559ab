"""A scripted run: events with fixed times, some of which wait for an answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field

from tests.tui.kernels import NAIVE, TILED, VECTORISED
from tui_tuner.evaluate.results import DeviceInfo, Evaluation, Failure, FailureKind, Resources, Timing
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Launch
from tui_tuner.session import events
from tui_tuner.session.events import Event
from tui_tuner.session.plan import Instruction
from tui_tuner.strategies.steps import Approver, Decision, Proposal, Step, StepState
from tui_tuner.subjects import KERNEL, Subject

LAUNCH = Launch(problem_size=["n", "n"])
TUNABLES = {"block_size_x": [16, 32, 64], "block_size_y": [1, 2, 4, 8, 16, 32], "unroll": [1, 2, 4]}
BASELINE = Candidate(source=NAIVE, kernel="matmul", launch=LAUNCH, tunables=TUNABLES, title="baseline")
TILES = Candidate(source=TILED, kernel="matmul", launch=LAUNCH, tunables=TUNABLES, title="Tile through shared memory")
VECTORS = Candidate(source=VECTORISED, kernel="matmul", launch=LAUNCH, tunables=TUNABLES, title="Vectorised loads")
H200 = DeviceInfo(kind="cuda", name="NVIDIA H200", backend="cuda-python 13.0", architecture="sm_90")
EMULATOR = DeviceInfo(kind="emulator", name="emulator", backend="g++ 12.2", is_cpu=True)

RATIONALE = (
    "The loads of A are 4 bytes wide, so a warp issues 32 transactions where 8 of 128 bits would do. "
    "Reading `float4` moves four elements at once; the tile stays in **shared memory**."
)
REPLY = f"{RATIONALE}\n\n- one load for four elements\n- no new registers\n\n```cuda\n{VECTORISED}```\n"
PROMPT = "You improve a CUDA kernel.\n\nKernel:\n" + TILED

STEPS = (
    Step(id=1, title="Tile through shared memory", detail="Each block reads its tiles once."),
    Step(id=2, title="Vectorised loads", detail="Load A as float4, 128 bits at once."),
    Step(id=3, title="Double buffering", detail="Load the next tile while this one is multiplied."),
    Step(id=4, title="Unroll the inner loop", detail="Let the compiler keep sums in registers."),
)


Entry = Event | Proposal | float | asyncio.Event


@dataclass
class ScriptedRun:
    """Yields its events; puts a Proposal among them to the approver; waits for an asyncio.Event or some seconds.

    Keeps what it is told, unless it plays a replay.
    """

    script: Iterable[Entry]
    title: str = "matmul.cu"
    subject: Subject = KERNEL
    decisions: list[Decision] = field(default_factory=list)
    stays: bool = False
    closed: bool = False
    told: list[Instruction] = field(default_factory=list)
    is_replay: bool = False
    seen_as: tuple[str, ...] = ()
    behind_s: float = 0.0

    def tell(self, instruction: Instruction) -> bool:
        if not self.is_replay:
            self.told.append(instruction)
        return not self.is_replay

    async def events(self, approver: Approver) -> AsyncGenerator[Event, None]:
        try:
            for entry in self.script:
                if isinstance(entry, Proposal):
                    yield events.ApprovalAsked(proposal=entry)
                    decision = await approver.decide(entry)
                    self.decisions.append(decision)
                    yield events.ApprovalGiven(step=entry.step.id, decision=decision)
                elif isinstance(entry, float):
                    await asyncio.sleep(entry)
                elif isinstance(entry, asyncio.Event):
                    await entry.wait()
                else:
                    yield entry
            if self.stays:
                await asyncio.Event().wait()
        finally:
            self.closed = True


def step(number: int, state: StepState, **changes: object) -> events.StepChanged:
    return events.StepChanged(step=STEPS[number - 1].model_copy(update={"state": state, **changes}))


def configuration(number: int) -> dict[str, int]:
    return {"block_size_x": (16, 32, 64)[number % 3], "block_size_y": 2 ** (number % 6), "unroll": 1 + number % 4}


def measured(candidate: Candidate, number: int, median: float, *, cpu: bool = False) -> Evaluation:
    return Evaluation(
        candidate=candidate.id,
        configuration=configuration(number),
        timing=Timing(median=median, low=median * 0.997, high=median * 1.004, samples=60, cpu=cpu),
        resources=Resources(registers=32 + number, spill_bytes=0, shared_bytes=8192),
        share=0.055 / median,
        build_ms=812.0,
        verify_ms=40.0,
        measure_ms=95.0,
    )


def failed(candidate: Candidate, number: int, kind: FailureKind, message: str, detail: str = "") -> Evaluation:
    failure = Failure(kind=kind, message=message, detail=detail)
    return Evaluation(candidate=candidate.id, configuration=configuration(number), failure=failure)


def evaluation(number: int, result: Evaluation) -> list[Event]:
    started = events.EvaluationStarted(
        number=number, candidate=result.candidate, configuration=result.configuration, elapsed=10.0 * number
    )
    return [started, events.EvaluationFinished(number=number, evaluation=result, elapsed=10.0 * number + 6)]


def opening(device: DeviceInfo = H200) -> list[Event]:
    return [
        events.SessionStarted(
            run="matmul-20261120-1432",
            directory="runs/matmul-20261120-1432",
            kernel="matmul.cu",
            language="cuda",
            strategy="autonomous",
            model="anthropic:claude-sonnet",
            seed=1,
            baseline=BASELINE,
            max_evaluations=80,
            max_calls=100,
            max_seconds=1200,
            max_cost=2.0,
        ),
        events.DeviceReady(device=device, sandbox="bubblewrap, no network"),
        events.Note(text="baseline measured, 0.1651 ms as given", elapsed=8.0),
    ]


def first_evaluations() -> list[Event]:
    """Thirty evaluations of the baseline and of the tiled kernel; three of them fail."""
    entries: list[Event] = []
    for number in range(1, 31):
        candidate = BASELINE if number <= 10 else TILES
        best = 0.1651 - 0.003 * number if number <= 10 else 0.128 - 0.0009 * number
        result = measured(candidate, number, best + 0.004 * (number * 7 % 5))
        if number == 9:
            result = failed(candidate, number, FailureKind.LAUNCH, "2048 threads a block, the device allows 1024")
        if number == 17:
            result = failed(candidate, number, FailureKind.WRONG_RESULT, "C[3,17] is 0.5, expected 12.25, at n=1000")
        if number == 23:
            log = "matmul.cu(7): error: identifier 'tile' is undefined\n  sum += tile[i] = a[k];"
            result = failed(candidate, number, FailureKind.COMPILE, "identifier 'tile' is undefined", log)
        entries += evaluation(number, result)
    return entries


def incumbent(number: int, candidate: Candidate, median: float, speedup: tuple[float, float, float]) -> Event:
    return events.IncumbentChanged(
        candidate=candidate, evaluation=measured(candidate, number, median), speedup=speedup, elapsed=10.0 * number + 8
    )


def best_of_first() -> float:
    return 0.128 - 0.0009 * 30 + 0.004 * (210 % 5)


def running() -> list[Event]:
    """Until the first step is accepted and the model streams its words about the second."""
    return [
        *opening(),
        *(step(number, StepState.PROPOSED) for number in (1, 2, 3, 4)),
        events.CandidateProposed(step=1, candidate=TILES, rationale="Every element is read n times from memory."),
        step(1, StepState.RUNNING),
        *first_evaluations(),
        incumbent(30, TILES, best_of_first(), (1.62, 1.60, 1.64)),
        step(1, StepState.ACCEPTED, factor=(1.62, 1.60, 1.64)),
        events.PromptSent(call=2, purpose="one_prompt", text=PROMPT, tokens=2341, elapsed=320.0),
        events.ModelText(call=2, thinking="The inner loop is bound by loads. ", elapsed=321.0),
        events.ModelText(call=2, text=RATIONALE, elapsed=322.0),
        *evaluation(31, measured(TILES, 31, 0.1032)),
        events.EvaluationStarted(number=32, candidate=TILES.id, configuration=configuration(32), elapsed=322.0),
    ]


PROPOSAL = Proposal(
    step=STEPS[1].model_copy(update={"state": StepState.AWAITING}), candidate=VECTORS, rationale=RATIONALE
)


def awaiting() -> list[Event | Proposal]:
    """Until the second step awaits the user."""
    return [
        *running(),
        events.ReplyReceived(
            call=2, text=REPLY, thinking="The inner loop is bound by loads. ", input_tokens=2341, output_tokens=612,
            cost=0.0162, elapsed=330.0,
        ),
        events.CandidateProposed(step=2, candidate=VECTORS, rationale=RATIONALE, elapsed=330.0),
        step(2, StepState.AWAITING),
        PROPOSAL,
    ]  # fmt: skip


def finished() -> list[Event]:
    """A whole session as a replay shows it."""
    done = [entry for entry in awaiting() if not isinstance(entry, Proposal)]
    return [
        *done,
        events.ApprovalGiven(step=2, decision=Decision(action="approve"), elapsed=341.0),
        *evaluation(32, measured(TILES, 32, 0.1044)),
        *evaluation(33, measured(VECTORS, 33, 0.0899)),
        *evaluation(34, measured(VECTORS, 34, 0.0931)),
        incumbent(33, VECTORS, 0.0899, (1.83, 1.80, 1.86)),
        step(2, StepState.ACCEPTED, factor=(1.13, 1.11, 1.15)),
        step(3, StepState.REJECTED, factor=(0.97, 0.95, 0.99), reason="slower than the best: the second buffer halves "
             "the blocks a multiprocessor holds"),
        events.ReplyRefused(call=4, problems=["the kernel `matmul` is missing", "grid_div_x names no tunable"]),
        step(4, StepState.SKIPPED, reason="skipped by you"),
        events.SessionFinished(
            status="finished", reason="every step of the plan is decided", evaluations=34, model_calls=5, cost=0.31,
            speedup=(1.83, 1.80, 1.86), times=(0.1645, 0.0899), result="runs/matmul-20261120-1432/result.json",
            elapsed=761.0,
        ),
    ]  # fmt: skip
