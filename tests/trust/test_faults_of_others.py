"""A fault of the kernel as given, or of the best so far, is never held against a candidate that is judged beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluate.numpy_device import NumpyDevice
from tests.evaluate.test_workbench import as_given, bench, executable, twice_as_fast
from tests.trust.test_machine_faults import GOOD, evaluator
from tui_tuner.errors import DeviceLost, MachineError
from tui_tuner.evaluate.devices.base import Buffers, LoadedKernel
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Failure, FailureKind
from tui_tuner.evaluate.runner.protocol import INCUMBENT, ComparisonAnswer
from tui_tuner.evaluate.runner.supervisor import RunnerDied
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import load_problem

SPOILT, TIMED = 1e30, 4096


class Fails:
    """As given, and from one of its launches on it fails."""

    def __init__(self, fault: Exception, launches: int) -> None:
        self.fault, self.launches = fault, launches

    def __call__(self, *arrays: Any) -> float:
        self.launches -= 1
        if self.launches < 0:
            raise self.fault
        return as_given(*arrays)


@pytest.mark.parametrize("fatal", [True, False])
def test_a_fault_of_the_kernel_that_another_is_compared_with_is_not_the_others(tmp_path: Path, fatal: bool) -> None:
    fault, kind = DeviceFault(FailureKind.ILLEGAL_ACCESS, "address", fatal=fatal), DeviceLost if fatal else MachineError
    failing = Fails(fault, 0)
    work = bench(tmp_path, NumpyDevice(given=as_given, failing=failing, fast=twice_as_fast))
    work.prepare(executable("given"))
    for sound in (0, 5, 200):
        failing.launches = sound
        with pytest.raises(MachineError, match=r"the best so far .* failed .*illegal access: address") as caught:
            work.compare(executable("failing"), executable("fast"), 0.01)
        assert type(caught.value) is kind
    failure = work.compare(executable("given"), executable("failing"), 0.01).comparison.failure
    assert failure is not None
    assert failure.kind is FailureKind.ILLEGAL_ACCESS


class Spoils:
    """As given, and from one of its launches at the timed size on it changes its input."""

    def __init__(self, launches: int, milliseconds: float = 2.0) -> None:
        self.launches, self.milliseconds = launches, milliseconds

    def __call__(self, y: np.ndarray, x: np.ndarray, n: int) -> float:
        as_given(y, x, n)
        self.launches -= n == TIMED
        if self.launches < 0:
            x[0] = SPOILT
        return self.milliseconds


def spoils_in_each_load(launches: int, milliseconds: float) -> type[Spoils]:
    class Loaded(Spoils):
        def __init__(self) -> None:
            super().__init__(launches, milliseconds)

    return Loaded


class LosesDevice:
    """Leaves its arrays, and the device is lost, where its inputs were changed."""

    def __call__(self, y: np.ndarray, x: np.ndarray, n: int) -> float:
        if x[0] == SPOILT:
            raise DeviceFault(FailureKind.ILLEGAL_ACCESS, "address", fatal=True)
        return twice_as_fast(y, x, n)


class Guarded(NumpyDevice):
    """Has a guard where the input begins."""

    def guard_violation(self, buffers: Buffers) -> DeviceFault | None:
        is_spoilt = buffers.handle[1][0] == SPOILT
        return DeviceFault(FailureKind.ILLEGAL_ACCESS, "argument 2: its guard") if is_spoilt else None


class Uncounted(NumpyDevice):
    """A processor, which launches once before what it tells the times of."""

    info = DeviceInfo(kind="c", name="NumPy", backend="numpy", is_cpu=True)

    def time(self, kernel: LoadedKernel, buffers: Buffers, *arguments: Any) -> list[float]:
        self._once(kernel.handle, buffers)
        return super().time(kernel, buffers, *arguments)


@pytest.mark.parametrize(
    ("kind", "words"),
    [(NumpyDevice, "wrong result: at n=4096: it changed its input 'x'"), (Guarded, "illegal access: .* its guard")],
    ids=["input", "guard"],
)
@pytest.mark.parametrize("sound", [0, 1, 8])
def test_who_spoils_the_memory_that_both_have_is_found_out(
    tmp_path: Path, kind: type[NumpyDevice], words: str, sound: int
) -> None:
    slow, quick = spoils_in_each_load(sound, 2.0), spoils_in_each_load(sound, 1.0)
    work = bench(tmp_path, kind(given=as_given, fast=twice_as_fast, slow=slow, quick=quick))
    work.prepare(executable("given"))
    with pytest.raises(MachineError, match=f"the best so far .* failed now: {words}"):
        work.compare(executable("slow"), executable("fast"), 0.01)
    failure = work.compare(executable("given"), executable("quick"), 0.01).comparison.failure
    assert failure is not None
    assert re.search(words, failure.in_words)


def test_who_spoils_it_late_is_launched_as_often_again(tmp_path: Path) -> None:
    """Six turns and two before are sixteen launches, of which half are told."""
    work = bench(tmp_path, Uncounted(given=as_given, fast=twice_as_fast, late=spoils_in_each_load(12, 2.0)))
    work.prepare(executable("given"))
    with pytest.raises(MachineError, match=r"the best so far .* it changed its input"):
        work.compare(executable("late"), executable("fast"), 0.01)


def test_a_challenger_that_fails_on_what_the_best_so_far_spoilt_at_once_is_not_blamed(tmp_path: Path) -> None:
    work = bench(tmp_path, NumpyDevice(given=as_given, spoils=Spoils(0), led=LosesDevice()))
    work.prepare(executable("given"))
    with pytest.raises(MachineError, match=r"the best so far .* it changed its input"):
        work.compare(executable("spoils"), executable("led"), 0.01)


@pytest.mark.parametrize("fatal", [True, False])
def test_a_best_so_far_that_cannot_be_loaded_any_more_is_not_the_challengers_failure(
    tmp_path: Path, fatal: bool
) -> None:
    said = [""]

    class Unloadable(NumpyDevice):
        def load(self, artifact: Path, symbol: str) -> LoadedKernel:
            if symbol == "best":
                raise DeviceFault(FailureKind.LAUNCH, "no such file", fatal=fatal)
            return super().load(artifact, symbol)

    device = Unloadable(given=as_given, fast=twice_as_fast)
    work = bench(tmp_path, device, say=lambda text, _: said.append(text))
    work.prepare(executable("given"))
    with pytest.raises(MachineError, match=r"the best so far .* failed now: .*no such file") as caught:
        work.compare(executable("best"), executable("fast"), 0.01)
    assert isinstance(caught.value, DeviceLost) is fatal
    assert said[-1].startswith(INCUMBENT), "nor is a runner's that dies of that"
    failure = work.compare(executable("given"), executable("best"), 0.01).comparison.failure
    assert failure is not None
    assert failure.message == "no such file"


def test_a_fault_of_the_best_so_far_on_inputs_that_no_launch_has_had_is_not_the_others(tmp_path: Path) -> None:
    class Fresh(NumpyDevice):
        def time_first(self, kernel: Any, *_: Any) -> float:
            if kernel.handle is as_given:
                raise DeviceFault(FailureKind.CRASH, "it ended")
            return 1.0

    work = bench(tmp_path, Fresh(given=as_given, fast=twice_as_fast))
    work.prepare(executable("given"))
    with pytest.raises(MachineError, match="the best so far"):
        work.compare(executable("given"), executable("fast"), 0.01)


@pytest.mark.parametrize("fatal", [True, False])
def test_a_fault_of_the_kernel_as_given_on_fresh_inputs_is_no_candidates(tmp_path: Path, fatal: bool) -> None:
    failing = Fails(DeviceFault(FailureKind.CRASH, "it ended", fatal=fatal), 10**6)
    work = bench(tmp_path, NumpyDevice(given=failing, fast=twice_as_fast), None)
    work.prepare(executable("given"))
    failing.launches = 0
    with pytest.raises(MachineError, match=r"the kernel as given .* failed .*crash: it ended") as caught:
        work.compare(executable("fast"), executable("fast"), 0.01)
    assert isinstance(caught.value, DeviceLost) is fatal


def test_a_kernel_as_given_that_fails_from_the_start_is_told_as_such(tmp_path: Path) -> None:
    fault = DeviceFault(FailureKind.CRASH, "it ended", fatal=True)
    answer = bench(tmp_path, NumpyDevice(given=Fails(fault, 0))).prepare(executable("given"))
    assert answer.failure is not None
    assert (answer.failure.kind, answer.fatal) == (FailureKind.CRASH, True)


class Hangs(Exception):
    """In the place of a launch that never ends, for which the runner is killed."""


@pytest.mark.parametrize(
    ("hanging", "is_candidates"),
    [("given", False), ("best", False), ("fast", True)],
    ids=["given", "best", "candidate"],
)
async def test_a_runner_that_dies_while_another_kernel_runs_is_not_held_against_the_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hanging: str, is_candidates: bool
) -> None:
    said = [""]
    kernels: dict[str, Any] = {"given": as_given, "best": as_given, "fast": twice_as_fast}
    device = NumpyDevice(**kernels)
    work = bench(tmp_path, device, None, lambda text, _: said.append(text))
    work.prepare(executable("given"))
    device.kernels[hanging] = Fails(Hangs(), 0)  # type: ignore[assignment]
    with pytest.raises(Hangs):
        work.compare(executable("best"), executable("fast"), 0.01)
    died = RunnerDied(Failure(kind=FailureKind.TIMEOUT, message=f"{said[-1]}: no end after 3 s"))
    made = evaluator(tmp_path, monkeypatch, died, died, died)
    kernel = (baseline(load_problem(tmp_path / "scale.toml")), {})
    if is_candidates:
        assert (await made.compare(kernel, kernel, 0.01)).failure == died.failure
        return
    with pytest.raises(MachineError, match="no end after 3 s"):
        await made.compare(kernel, kernel, 0.01)


async def test_a_comparison_beside_which_another_kernel_failed_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    died = RunnerDied(Failure(kind=FailureKind.TIMEOUT, message="incumbent against challenger: no end after 3 s"))
    same = Comparison(ratio=1.0, low=0.99, high=1.01, pairs=6, incumbent=GOOD.timing, challenger=GOOD.timing)
    made = evaluator(tmp_path, monkeypatch, died, ComparisonAnswer(comparison=same))
    kernel = (baseline(load_problem(tmp_path / "scale.toml")), {})
    assert await made.compare(kernel, kernel, 0.01) == same
