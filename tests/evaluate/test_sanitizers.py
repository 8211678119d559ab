"""Kernels that are watched before they are accepted: who is accused, and who is told that nothing can be said."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tui_tuner.evaluate import sanitizers
from tui_tuner.evaluate.local import LocalEvaluator
from tui_tuner.evaluate.results import Build, Comparison, Failure, FailureKind
from tui_tuner.evaluate.runner.protocol import (
    Executable,
    RunnerAnswer,
    RunnerRequest,
    SanitizeAnswer,
    SanitizeRequest,
    ToolFinding,
)
from tui_tuner.evaluate.runner.supervisor import RunnerDied
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.evaluate.sanitizers import Sanitizers
from tui_tuner.evaluate.site import LocalOptions
from tui_tuner.evaluate.toolkit import LATE_WARPS, WARPCHECK
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Configuration, Launch, Problem

RACE = Failure(kind=FailureKind.RACE, message="racecheck: a race")
KERNEL = """__global__ void shift(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + 1;
}
"""
PROBLEM = """
[kernel]
source = "shift.cu"
name = "shift"
[sizes]
n = 300
[launch]
problem_size = ["n"]
block_size = [64]
grid_div_x = [64]
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
[[tests]]
sizes = { n = 100 }
"""


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    (tmp_path / "shift.cu").write_text(KERNEL)
    (tmp_path / "shift.toml").write_text(PROBLEM)
    return load_problem(tmp_path / "shift.toml")


def _named(name: str) -> tuple[Candidate, Configuration]:
    return Candidate(source=name, kernel="k", launch=Launch()), {}


@dataclass
class Tools:
    """A builder and a runner that answer by the kernel's source."""

    answers: dict[str, ToolFinding]
    told: list[str] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    unbuilt: tuple[str, ...] = ()
    unbuilt_as: FailureKind = FailureKind.COMPILE

    async def build(
        self, candidate: Candidate, _: Configuration, options: Sequence[str]
    ) -> tuple[Build, Executable | None]:
        if candidate.source in self.unbuilt:
            return Build(key="", failure=Failure(kind=self.unbuilt_as, message="no")), None
        build = Build(key="", artifact=candidate.source, symbol="k")
        return build, Executable(artifact=candidate.source, symbol="k", shapes=[])

    async def ask(self, request: RunnerRequest) -> RunnerAnswer:
        assert isinstance(request, SanitizeRequest)
        self.asked += [(tool, request.executable.artifact) for tool in request.tools]
        finding = self.answers.get(request.executable.artifact, ToolFinding())
        return SanitizeAnswer(findings=dict.fromkeys(request.tools, finding))

    def sanitizers(self, *tools: str) -> Sanitizers:
        options = dict.fromkeys(tools, "-lineinfo")
        return Sanitizers(options, _named("given"), self.build, self.ask, Policy(), self.told.append)


def _accusations(tools: Tools, *names: str, tool: str = "racecheck") -> list[Failure | None]:
    watching = tools.sanitizers(tool)

    async def all_of_them() -> list[Failure | None]:
        return [await watching.accusation(_named(name)) for name in names]

    return asyncio.run(all_of_them())


def test_who_is_found_guilty_is_accused_and_looked_at_once() -> None:
    tools = Tools({"racy": ToolFinding(failure=RACE)})
    assert _accusations(tools, "racy", "honest", "racy") == [RACE, None, RACE]
    assert tools.asked == [("racecheck", name) for name in ("racy", "given", "honest")]
    assert tools.told == []


def test_a_tool_that_accuses_the_kernel_as_given_judges_nobody() -> None:
    tools = Tools({"racy": ToolFinding(failure=RACE), "given": ToolFinding(failure=RACE)})
    assert _accusations(tools, "racy", "racy") == [None, None]
    assert tools.told == ["the kernel as given does not pass racecheck: a race: others are not judged by racecheck"]


def test_a_tool_that_cannot_say_anything_is_told_once_and_accuses_nobody() -> None:
    tools = Tools({name: ToolFinding(unknown="it is not there") for name in ("one", "other", "given")})
    assert _accusations(tools, "one", "other") == [None, None]
    assert tools.told == ["kernels are accepted without racecheck: it is not there"]


def test_a_tool_that_cannot_say_anything_of_one_kernel_goes_on_with_others() -> None:
    """A candidate that took a minute under a tool had it dropped for all that came later."""
    tools = Tools({"slow": ToolFinding(unknown="it was not done within 60 s"), "racy": ToolFinding(failure=RACE)})
    assert _accusations(tools, "slow", "racy", "slow") == [None, RACE, None]
    assert tools.told == ["a kernel is judged without racecheck: it was not done within 60 s"]
    assert tools.asked == [("racecheck", name) for name in ("slow", "given", "racy")]


@pytest.mark.parametrize(
    "ordered_by", ['asm volatile("ldmatrix")', "cuda::pipeline<> p", "nvcuda::wmma::fragment<>", "cuda::barrier<> b"]
)
def test_lanes_are_not_judged_where_instructions_order_them_that_nobody_tried_the_tool_on(ordered_by: str) -> None:
    racy = {name: ToolFinding(failure=RACE) for name in ("plain", ordered_by)}
    assert _accusations(Tools(racy), "plain", ordered_by, tool=WARPCHECK) == [RACE, None]
    assert _accusations(Tools(racy), "plain", ordered_by) == [RACE, RACE], "others judge all"


def test_a_source_that_does_not_build_to_be_watched_is_refused_unless_the_one_given_does_not_either() -> None:
    (refused,) = _accusations(Tools({}, unbuilt=("hides",)), "hides")
    assert refused is not None
    assert refused.kind is FailureKind.COMPILE
    tools = Tools({}, unbuilt=("hides", "given"))
    assert _accusations(tools, "hides", "honest") == [None, None]
    assert len(tools.told) == 1


def test_a_source_that_does_not_build_where_ours_is_put_before_it_is_not_refused() -> None:
    tools = Tools({"late": ToolFinding(failure=RACE)}, unbuilt=("own",))
    watching = tools.sanitizers()
    watching.tools = {"ordercheck": LATE_WARPS}
    assert asyncio.run(watching.accusation(_named("own"))) is None
    assert asyncio.run(watching.accusation(_named("late"))) == RACE
    assert tools.told == []


ARRIVES, MEETS = "asm(mbarrier.arrive)", "asm(bar.sync 1, 96)"
DIVERGENT = Failure(kind=FailureKind.RACE, message="synccheck: barrier error detected. Divergent thread(s) in block.")


def _with_late_warps(source: str, accused: ToolFinding, late: ToolFinding) -> tuple[Failure | None, list[str]]:
    """What came of a source that one tool accuses and another launches with late warps."""
    tools = Tools({})

    async def ask(request: RunnerRequest) -> RunnerAnswer:
        assert isinstance(request, SanitizeRequest)
        watched = {"racecheck": accused, "ordercheck": late}
        is_given = request.executable.artifact == "given"
        return SanitizeAnswer(findings={tool: ToolFinding() if is_given else watched[tool] for tool in request.tools})

    watching = tools.sanitizers("racecheck")
    watching.tools["ordercheck"] = LATE_WARPS
    watching.ask = ask
    outcomes = [asyncio.run(watching.accusation(_named(source))) for _ in range(2)]
    assert outcomes[0] == outcomes[1]
    return outcomes[0], tools.told


@pytest.mark.parametrize(("source", "failure"), [(ARRIVES, RACE), (MEETS, DIVERGENT)])
def test_what_a_tool_does_not_follow_is_right_where_it_is_with_late_warps(source: str, failure: Failure) -> None:
    accused = ToolFinding(failure=failure)
    outcome, told = _with_late_warps(source, accused, ToolFinding())
    assert outcome is None
    assert told == [f"{failure.message}: racecheck does not follow such barriers, and with late warps all is right"]
    plain, told = _with_late_warps("x", accused, ToolFinding())
    assert (plain, told) == (failure, [])


def test_what_a_tool_does_not_follow_is_refused_where_no_late_warp_was_seen_or_one_made_it_wrong() -> None:
    wrong = Failure(kind=FailureKind.WRONG_RESULT, message="ordercheck: off")
    unseen = [ToolFinding(has_seen=False), ToolFinding(unknown="busy"), ToolFinding(failure=wrong)]
    for late in unseen:
        outcome, _ = _with_late_warps(ARRIVES, ToolFinding(failure=RACE), late)
        assert outcome is not None
        assert outcome.message == RACE.message
        assert "let each thread arrive" in outcome.detail


def test_without_nvcc_nothing_is_judged_by_late_warps_which_is_told_once() -> None:
    names = ("one", "other", "given")
    tools = Tools({}, unbuilt=names, unbuilt_as=FailureKind.INVALID)
    watching = tools.sanitizers()
    watching.tools = {"ordercheck": LATE_WARPS}
    assert [asyncio.run(watching.accusation(_named(name))) for name in names[:2]] == [None, None]
    assert tools.told == ["kernels are accepted without ordercheck: no"]


def test_a_source_whose_warps_cannot_be_made_late_in_time_is_judged_without_which_is_told() -> None:
    tools = Tools({}, unbuilt=("long",), unbuilt_as=FailureKind.BUILD_TIMEOUT)
    watching = tools.sanitizers()
    watching.tools = {"ordercheck": LATE_WARPS}
    assert [asyncio.run(watching.accusation(_named("long"))) for _ in range(2)] == [None, None]
    assert tools.told == ["a kernel is judged without ordercheck: no build for it in time"]
    assert watching.tools == {"ordercheck": LATE_WARPS}


@pytest.mark.parametrize("kind", [FailureKind.TIMEOUT, FailureKind.LAUNCH])
def test_that_it_takes_longer_or_more_registers_where_ours_is_put_before_it_is_no_fault(kind: FailureKind) -> None:
    found = ToolFinding(failure=Failure(kind=kind, message="it does not end"))
    tools = Tools({"late": found})
    watching = tools.sanitizers()
    watching.tools = {"ordercheck": LATE_WARPS}
    assert asyncio.run(watching.accusation(_named("late"))) is None
    assert tools.told == ["a kernel is judged without ordercheck: with late warps, it does not end"]
    watching.tools = {"racecheck": "-lineinfo"}
    assert asyncio.run(watching.accusation(_named("late"))) == found.failure


def test_tools_that_watch_the_same_build_look_at_once_and_alone_where_that_ends_the_runner() -> None:
    tools = Tools({})
    groups: list[tuple[str, ...]] = []

    async def ask(request: RunnerRequest) -> RunnerAnswer:
        assert isinstance(request, SanitizeRequest)
        groups.append(tuple(request.tools))
        if {"racecheck", "memcheck"} <= {*request.tools} or request.tools == ["racecheck"]:
            raise RunnerDied(RACE)
        return await tools.ask(request)

    watching = tools.sanitizers("memcheck", "racecheck")
    watching.ask = ask
    assert asyncio.run(watching.accusation(_named("racy"))) is None
    alone = [("memcheck",), ("racecheck",)]
    assert groups == [("memcheck", "racecheck"), *alone, ("racecheck",)]
    assert tools.told == ["the kernel as given does not pass racecheck: a race: others are not judged by racecheck"]


OUTSIDE = Failure(kind=FailureKind.ILLEGAL_ACCESS, message="an illegal memory access was encountered")
PLACE = Failure(kind=FailureKind.ILLEGAL_ACCESS, message="memcheck: at n=100: invalid read in line 3")


@pytest.mark.parametrize(
    ("failure", "finding", "detail"),
    [
        (OUTSIDE, ToolFinding(failure=PLACE), PLACE.message),
        (OUTSIDE.model_copy(update={"detail": "Xid 31"}), ToolFinding(failure=PLACE), f"Xid 31\n{PLACE.message}"),
        (OUTSIDE.model_copy(update={"kind": FailureKind.CRASH}), ToolFinding(failure=PLACE), PLACE.message),
        (OUTSIDE.model_copy(update={"kind": FailureKind.WRONG_RESULT}), ToolFinding(failure=PLACE), ""),
        (OUTSIDE, ToolFinding(), ""),
        (OUTSIDE, ToolFinding(unknown="it is not there"), ""),
        (OUTSIDE, ToolFinding(failure=Failure(kind=FailureKind.TIMEOUT, message="no answer")), ""),
    ],
)
def test_a_fault_of_memory_is_told_with_its_place(failure: Failure, finding: ToolFinding, detail: str) -> None:
    watching = Tools({"new": finding}).sanitizers("memcheck")
    located = asyncio.run(watching.located(_named("new"), failure))
    assert (located.kind, located.message, located.detail) == (failure.kind, failure.message, detail)
    assert "memcheck" in watching.tools, "a kernel that crashes does not say that the tool is of no use"


def test_the_place_of_a_fault_is_looked_for_once_a_candidate_and_where_memcheck_is_wanted() -> None:
    tools = Tools({"new": ToolFinding(failure=PLACE)})
    watching, without = tools.sanitizers("memcheck"), tools.sanitizers("racecheck")
    assert asyncio.run(without.located(_named("new"), OUTSIDE)) == OUTSIDE
    assert asyncio.run(watching.located(_named("new"), OUTSIDE)).detail == PLACE.message
    assert asyncio.run(watching.located(_named("new"), OUTSIDE)) == OUTSIDE
    assert tools.asked == [("memcheck", "new")]


def test_builds_to_be_watched_are_begun_meanwhile_and_given_up_after() -> None:
    begun: list[str] = []
    ended: list[str] = []

    async def build(candidate: Candidate, _: Configuration, options: Sequence[str]) -> Failure:
        begun.append(*options)
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(candidate.source)
        return RACE

    async def compare() -> None:
        watching = Tools({}).sanitizers("memcheck", "racecheck")
        watching.build = build
        async with watching.building_for(_named("new")):
            await asyncio.sleep(0)
            assert (begun, ended) == (["-lineinfo"], [])

    asyncio.run(compare())
    assert ended == ["new"]


async def test_places_are_looked_up_a_few_times_whatever_a_kernel_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    async def line(place: str, *_: object) -> str:
        looked.append(place)
        return "7"

    monkeypatch.setattr(sanitizers, "_line", line)
    said = Failure(kind=FailureKind.RACE, message=" ".join(f"{{{n:x}}}" for n in range(300)))
    told = await sanitizers.with_lines(said, tmp_path, Policy())
    assert len(looked) == 4
    assert told.message.startswith("7 7 7 7 ? ?")


def _evaluator(problem: Problem, directory: Path, *tools: str) -> LocalEvaluator:
    options = LocalOptions("emulator", directory / "builds", directory / "log", 1, Policy(), sanitizers=tools)
    return LocalEvaluator(problem, options)


@pytest.mark.parametrize(("low", "failure"), [(2.0, RACE), (1.0, None)])
def test_what_would_be_accepted_is_watched_first(
    low: float, failure: Failure | None, problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluator = _evaluator(problem, tmp_path)

    async def compared(*_: object) -> Comparison:
        return Comparison(ratio=2.0, low=low, high=3.0, pairs=9)

    async def accused(*_: object) -> Failure:
        return RACE

    monkeypatch.setattr(evaluator, "_timed", compared)
    monkeypatch.setattr(evaluator, "accusation", accused)
    assert asyncio.run(evaluator.compare(_named("a"), _named("b"), 0.01)).failure == failure


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_a_race_that_does_no_harm_today_is_found_with_its_lines(problem: Problem, tmp_path: Path) -> None:
    async def found() -> Failure | None:
        evaluator = _evaluator(problem, tmp_path, "racecheck")
        try:
            await evaluator.start()
            given = baseline(problem)
            racy = given.source.replace(
                "{", "{\n__shared__ int last; if (last == 99999) return; last = threadIdx.x;", 1
            )
            assert await evaluator.accusation(given, given.default_configuration) is None
            changed = given.model_copy(update={"source": racy})
            return await evaluator.accusation(changed, changed.default_configuration)
        finally:
            await evaluator.close()

    failure = asyncio.run(found())
    assert failure is not None
    assert failure.kind is FailureKind.RACE
    assert failure.message.count("line 2") == 2


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
async def test_an_evaluation_that_leaves_its_array_says_in_which_line(problem: Problem, tmp_path: Path) -> None:
    evaluator = _evaluator(problem, tmp_path, "memcheck")
    try:
        await evaluator.start()
        given = baseline(problem)
        beyond = given.model_copy(update={"source": given.source.replace("x[i] + 1", "x[i + 1]")})
        evaluation = await evaluator.evaluate(beyond, beyond.default_configuration, None)
    finally:
        await evaluator.close()
    assert evaluation.failure is not None
    assert evaluation.failure.kind is FailureKind.ILLEGAL_ACCESS
    assert evaluation.failure.detail.startswith("memcheck: ")
    assert "line 3 reads" in evaluation.failure.detail


def test_the_lines_of_an_accusation_are_shown() -> None:
    found = Failure(kind=FailureKind.RACE, message="racecheck: a race between a write in line 1 and a read in line 2")
    (told,) = _accusations(Tools({"int a;\nint b;": ToolFinding(failure=found)}), "int a;\nint b;")
    assert told is not None
    assert told.detail == "line 1: int a;\nline 2: int b;"
