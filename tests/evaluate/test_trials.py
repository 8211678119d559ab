"""Where a draft is tried: on the processor, and on a GPU what the processor cannot build."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate import trials
from tui_tuner.evaluate.devices.kind import DeviceChoice, DeviceSelection
from tui_tuner.evaluate.given_fault import GivenFault, GivenFaultKind
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.evaluate.site import LocalOptions
from tui_tuner.evaluate.trials import TrialResult, Trials
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Problem

RIGHT, WRONG = TrialResult(None), TrialResult(GivenFault(message="wrong result"))
NO_COMPILER = TrialResult(GivenFault(message="nvcc"), is_built=False)
UNBUILT = TrialResult(GivenFault(message="tensor cores are not emulated"), is_built=False)


@dataclass
class Benches:
    """What comes of a trial, by the device; which were opened, asked and given back."""

    results: Mapping[str, TrialResult]
    missing: str = ""
    timed: Callable[[int], TrialResult] = lambda _: TrialResult(GivenFault(message="not asked for"))
    asked: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)

    def bench(self, options: LocalOptions, device: str, where: str, *, is_gpu: bool = False) -> Bench:
        return Bench(self, device, where, is_gpu)


@dataclass
class Bench:
    benches: Benches
    device: str
    where: str
    is_gpu: bool

    async def ready(self, problem: Problem) -> None:
        if self.device == self.benches.missing:
            raise DeviceError("no such GPU")

    async def outcome(self, trial: Problem, *, is_timed: bool = False) -> TrialResult:
        self.benches.asked.append(self.device)
        if is_timed:
            return self.benches.timed(trial.sizes["n"])
        return self.benches.results[self.device]

    async def close(self) -> None:
        self.benches.closed.append(self.device)


Tried = Callable[[Benches, str], Trials]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Tried:
    def make(benches: Benches, device: str) -> Trials:
        async def choose(text: str, language: str) -> tuple[DeviceSelection, str]:
            return DeviceSelection(DeviceChoice(text)), ""

        monkeypatch.setattr(trials, "_Bench", benches.bench)
        monkeypatch.setattr(trials, "choose_device", choose)
        return Trials(LocalOptions(device, tmp_path, tmp_path / "log", 1, Policy()), "cuda")

    return make


@pytest.fixture
def problem() -> Problem:
    return load_problem(Path("sample_kernels/vector_add.toml"))


def later(drafted: Callable[[int], Problem]) -> Callable[[int], Awaitable[Problem]]:
    async def awaited(number: int) -> Problem:
        return drafted(number)

    return awaited


@pytest.mark.parametrize(
    ("results", "device", "told", "asked"),
    [
        ({"emulator": RIGHT}, "cuda", RIGHT, ["emulator"]),
        ({"emulator": WRONG}, "cuda", WRONG, ["emulator"]),
        ({"emulator": UNBUILT, "cuda:0": RIGHT}, "cuda", RIGHT, ["emulator", "cuda:0"]),
        ({"emulator": UNBUILT, "cuda:0": WRONG}, "cuda", WRONG, ["emulator", "cuda:0"]),
        (
            {"emulator": UNBUILT, "cuda:0": NO_COMPILER},
            "cuda",
            UNBUILT,
            ["emulator", "cuda:0"],
        ),
        ({"emulator": UNBUILT}, "emulator", UNBUILT, ["emulator"]),
    ],
)
async def test_what_the_emulator_cannot_build_is_tried_on_the_gpu_of_the_session(
    results: Mapping[str, TrialResult], device: str, told: TrialResult, asked: list[str], tried: Tried, problem: Problem
) -> None:
    benches = Benches(results)
    async with tried(benches, device) as places:
        assert await places.outcome(problem, []) == told
    assert benches.asked == asked
    assert sorted(benches.closed) == sorted(asked), "each is given back once"


async def test_once_on_the_gpu_trials_stay_there(tried: Tried, problem: Problem) -> None:
    benches = Benches({"emulator": UNBUILT, "cuda:0": RIGHT})
    async with tried(benches, "cuda") as places:
        assert places.where == "the emulator"
        await places.outcome(problem, [])
        await places.outcome(problem, [])
        assert places.where == "the GPU"
    assert benches.asked == ["emulator", "cuda:0", "cuda:0"]


async def test_without_a_gpu_the_emulator_has_the_word(tried: Tried, problem: Problem) -> None:
    benches = Benches({"emulator": UNBUILT}, missing="cuda:0")
    async with tried(benches, "cuda") as places:
        assert await places.outcome(problem, []) == UNBUILT


def linear(size: int) -> TrialResult:
    return TrialResult(None, launch_ms=max(0.004, size * 1e-8))


def cubic(size: int) -> TrialResult:
    return (
        TrialResult(GivenFault(message="did not end", kind=GivenFaultKind.LATE))
        if size > 2**16
        else TrialResult(None, launch_ms=(size / 2**13) ** 3)
    )


@pytest.mark.parametrize(
    ("timed", "base", "size"),
    [
        (linear, 2**10, 2**23),  # 0.08 ms
        (linear, 2**25, 2**25),
        (cubic, 2**20, 2**14),
        (lambda _: TrialResult(None, launch_ms=0.001), 2**10, 2**24),  # where the arrays take 192 MiB
        (
            lambda size: linear(size) if size < 2**14 else WRONG,
            2**10,
            2**12,
        ),
        (lambda _: TrialResult(GivenFault(message="wrong result")), 2**10, 2**10),
    ],
)
async def test_guessed_sizes_are_doubled_until_a_launch_keeps_the_gpu_busy(
    timed: Callable[[int], TrialResult], base: int, size: int, tried: Tried, problem: Problem
) -> None:
    benches = Benches({}, timed=timed)

    def drafted(number: int) -> Problem:
        return problem.model_copy(update={"sizes": {"n": base << number if number >= 0 else base >> -number}})

    async with tried(benches, "cuda") as places:
        number, took = await places.doublings(drafted(0), later(drafted))
    assert drafted(number).sizes == {"n": size}
    assert (took == timed(size).launch_ms) or number == 0
    assert set(benches.asked) == {"cuda:0"}
    assert sorted(benches.closed) == ["cuda:0", "emulator"]


async def test_without_a_gpu_sizes_stay(tried: Tried, problem: Problem) -> None:
    benches = Benches({}, missing="cuda:0")
    async with tried(benches, "cuda") as places:
        assert (await places.doublings(problem, later(lambda _: problem)))[0] == 0
    assert benches.asked == []
