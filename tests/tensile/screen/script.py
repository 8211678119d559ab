"""A scripted Tensile session: a configuration of three problem sizes, two rounds of edits, one of them a failure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.tui.scripted import Entry, ScriptedRun
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.session import events
from tui_tuner.strategies.steps import Decision, Proposal, Step, StepState
from tui_tuner.tensile import TENSILE
from tui_tuner.tensile.events import (
    BenchmarkFinished,
    BenchmarkOutput,
    BenchmarkStarted,
    ConfigurationText,
    WinnersChanged,
)
from tui_tuner.tensile.outcome import (
    Contender,
    GroupOutcome,
    ParameterValues,
    RoundOutcome,
    RunFailure,
    RunFailureKind,
    SizeOutcome,
    Winner,
)

YAML = """\
GlobalParameters:
  MinimumRequiredVersion: 4.33.0
  NumElementsToValidate: -1   # all of them
  CSVExportWinner: 1

BenchmarkProblems:
  -
    - # ProblemType
      OperationType: GEMM
      DataType: h
      DestDataType: h
      ComputeDataType: s
      TransposeA: True
      TransposeB: False
      Batched: True
    - # BenchmarkProblemSizeGroup
      BenchmarkCommonParameters:
        - KernelLanguage: ["Assembly"]
      ForkParameters:
        - MatrixInstruction:
          - [16, 16, 16, 1, 1, 4, 4, 2, 2]
          - [32, 32, 8, 1, 1, 2, 2, 2, 2]
        - DepthU: [32, 64]
        - PrefetchGlobalRead: [1, 2]
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Exact: [256, 128, 1, 4096]
          - Exact: [1024, 1024, 1, 1024]
          - Exact: [4096, 4096, 1, 8192]
"""
WIDER = YAML.replace("[1, 2]", "[1, 2]\n        - GlobalSplitU: [1, 4, 8]  # split the long K")
DEEPER = WIDER.replace("DepthU: [32, 64]", "DepthU: [64, 128, 256, 512]")

SIZES = ([256, 128, 1, 4096], [1024, 1024, 1, 1024], [4096, 4096, 1, 8192])
MI200 = DeviceInfo(kind="tensile", name="gfx90a", backend="Tensile 4.33.0")
GIVEN = ConfigurationText(source=YAML, file="hgemm_tn.yaml", title="as given")
SPLIT = GIVEN.model_copy(update={"source": WIDER, "title": "Round 1"})
DEEP = GIVEN.model_copy(update={"source": DEEPER, "title": "Round 2"})

WHY = "K is 4096 where M x N has 8 tiles only: without a split along K most compute units have no work."
STEPS = (
    Step(id=1, title="Measure the configuration as given"),
    Step(
        id=2,
        title="Round 1",
        detail="fork GlobalSplitU over 1, 4, 8: 8 -> 24 permutations. K is long where few tiles exist.",
    ),
    Step(
        id=3,
        title="Round 2",
        detail="drop DepthU 32: 24 -> 12 permutations. Never within 20 % of a winner.\n"
        "try DepthU 128: 12 -> 24 permutations. Fewer iterations where K is long.\n"
        "try DepthU 256: 24 -> 36 permutations. The same.\n"
        "try DepthU 512: 36 -> 48 permutations. The same.",
    ),
)
BIG, SMALL = [32, 32, 8, 1, 1, 2, 2, 2, 2], [16, 16, 16, 1, 1, 4, 4, 2, 2]


def values(instruction: list[int], depth: int, split: int | None = None) -> ParameterValues:
    forked: ParameterValues = {"MatrixInstruction": list(instruction), "DepthU": depth, "PrefetchGlobalRead": 2}
    return forked if split is None else {**forked, "GlobalSplitU": split}


def contender(gflops: float, forked: ParameterValues) -> Contender:
    name = f"Cijk_Alik_Bljk_HHS_BH_MT128x128x{forked['DepthU']}_" + ("MI32" if BIG in forked.values() else "MI16")
    return Contender(solution=name, values=forked, gflops=gflops)


def measured(group: int, size: list[int], best: float, splits: Sequence[int | None], failed: int = 0) -> SizeOutcome:
    """A ranking that falls by four per cent a place."""
    forked = [values(mi, depth, split) for split in splits for mi in (BIG, SMALL) for depth in (64, 32)]
    ranked = [contender(best * 0.96**place, each) for place, each in enumerate(forked)]
    return SizeOutcome(
        group=group,
        size=size,
        ranked=ranked[:3],
        slowest=ranked[-1:],
        measured=len(ranked) * 2 - failed,
        failed=failed,
        microseconds=2 * size[0] * size[1] * size[3] / best / 1000,
    )


FIRST = RoundOutcome(
    seconds=47.3,
    groups=[GroupOutcome(group=0, permutations=8, solutions=8)],
    sizes=[measured(0, size, best, [None]) for size, best in zip(SIZES, (7560.0, 48210.0, 119400.0), strict=True)],
    device="gfx90a",
)
SECOND = RoundOutcome(
    seconds=84.1,
    groups=[GroupOutcome(group=0, permutations=24, solutions=20, rejected={"GlobalSplitU needs a workspace": 4})],
    sizes=[
        measured(0, SIZES[0], 9310.0, [8, 4, 1], failed=2),
        measured(0, SIZES[1], 50140.0, [4, 1, 8]),
        measured(0, SIZES[2], 118900.0, [1, 4, 8]),
    ],
    device="gfx90a",
)
TIMED_OUT = RoundOutcome(
    seconds=600.0,
    failure=RunFailure(
        kind=RunFailureKind.TIMEOUT, message="no results after 600 s", detail="# Writing Kernels...\n 41% [12/48]"
    ),
)


def winners(*outcomes: RoundOutcome) -> list[Winner]:
    """The best of all runs at every size."""
    best: dict[tuple[int, ...], Winner] = {}
    for number, outcome in enumerate(outcomes):
        for size in outcome.sizes:
            one, key = size.winner, tuple(size.size)
            if one is None or (key in best and best[key].gflops >= one.gflops):
                continue
            first = best[key].first_gflops if key in best else one.gflops
            best[key] = Winner(
                group=size.group, size=size.size, solution=one.solution, values=one.values, gflops=one.gflops,
                microseconds=size.microseconds, round=number, first_gflops=first,
            )  # fmt: skip
    return list(best.values())


def step(number: int, state: StepState, **changes: object) -> events.StepChanged:
    return events.StepChanged(step=STEPS[number - 1].model_copy(update={"state": state, **changes}))


def opening() -> list[events.Event]:
    return [
        events.SessionStarted(
            run="hgemm_tn-20261120-1432",
            directory="runs/hgemm_tn-20261120-1432",
            kernel="hgemm_tn.yaml",
            language="yaml",
            strategy="tensile",
            model="anthropic:claude-sonnet",
            seed=1,
            baseline=GIVEN,
            max_evaluations=200,
        ),
        events.DeviceReady(device=MI200, sandbox="Tensile in a process group of its own, 10 min a run"),
    ]


def ran(
    number: int, candidate: ConfigurationText, outcome: RoundOutcome, permutations: int, at: float
) -> list[events.Event]:
    return [
        BenchmarkStarted(round=number, candidate=candidate.id, permutations=permutations, sizes=3, elapsed=at),
        *printed(number, at),
        BenchmarkFinished(
            round=number, candidate=candidate.id, outcome=outcome, elapsed=at + outcome.seconds
        ),
    ]  # fmt: skip


def printed(number: int, at: float) -> list[events.Event]:
    lines = ("################################", "# Actual Solutions: 20 / 24 after SolutionStructs", "", " 41% [8/20]")
    return [
        BenchmarkOutput(round=number, text=line, elapsed=at + second) for second, line in enumerate(lines)
    ]  # fmt: skip


def measuring() -> list[events.Event]:
    """Until the first edits are measured."""
    return [
        *opening(),
        step(1, StepState.RUNNING),
        *ran(0, GIVEN, FIRST, 8, 1.0),
        WinnersChanged(round=0, winners=winners(FIRST), elapsed=48.5),
        step(1, StepState.DONE),
        events.PromptSent(call=1, purpose="edit the configuration", text="You edit a configuration.", tokens=3120,
                          elapsed=48.6),
        events.ReplyReceived(call=1, text=WHY, input_tokens=3120, output_tokens=212, cost=0.0125, elapsed=60.0),
        step(2, StepState.PROPOSED),
        events.CandidateProposed(step=2, candidate=SPLIT, rationale=WHY, elapsed=60.0),
        step(2, StepState.RUNNING),
        *ran(1, SPLIT, SECOND, 24, 61.0)[:-1],
    ]  # fmt: skip


def two_runs() -> list[events.Event]:
    """Until the first edits are in force."""
    return [
        *measuring(),
        BenchmarkFinished(round=1, candidate=SPLIT.id, outcome=SECOND, elapsed=146.0),
        WinnersChanged(round=1, winners=winners(FIRST, SECOND), elapsed=146.0),
        step(2, StepState.ACCEPTED, factor=(1.09, 1.09, 1.09)),
    ]


PROPOSAL = Proposal(
    step=STEPS[2].model_copy(update={"state": StepState.AWAITING}), candidate=DEEP, rationale="Deeper tiles."
)


def awaiting() -> list[Entry]:
    """Until the second edits await the user."""
    return [
        *two_runs(),
        events.CandidateProposed(step=3, candidate=DEEP, rationale="Deeper tiles.", elapsed=160.0),
        step(3, StepState.AWAITING),
        PROPOSAL,
    ]


def finished() -> list[events.Event]:
    """A whole session as a replay shows it; its last run fails."""
    return [
        *two_runs(),
        events.CandidateProposed(step=3, candidate=DEEP, rationale="Deeper tiles.", elapsed=160.0),
        events.ApprovalGiven(step=3, decision=Decision(action="approve"), elapsed=165.0),
        step(3, StepState.RUNNING),
        *ran(2, DEEP, TIMED_OUT, 48, 165.0),
        step(3, StepState.REJECTED, reason="no results after 600 s"),
        events.SessionFinished(
            status="finished", reason="the budget is spent", evaluations=80, model_calls=2, cost=0.03,
            speedup=(1.086, 1.04, 1.14), result="runs/hgemm_tn-20261120-1432/result.json", elapsed=766.0,
        ),
    ]  # fmt: skip


def tensile_run(script: Iterable[Entry], **options: Any) -> ScriptedRun:
    """A scripted run that is about a configuration."""
    return ScriptedRun(script, subject=TENSILE, **options)
