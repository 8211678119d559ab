"""Who is fast only on inputs that it has seen, and who merely ran while the machine was busy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.evaluate.numpy_device import Kernel, NumpyDevice
from tests.evaluate.test_workbench import as_given, bench, executable
from tui_tuner.evaluate.devices.base import Buffers, LoadedKernel
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.results import DeviceInfo, FailureKind
from tui_tuner.evaluate.runner.workbench import Workbench
from tui_tuner.evaluate.verify.unseen import STALLS, undisturbed
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.load import load_problem


class KeepsByContent:
    """Right for whatever is in the memory, and ten times as fast where it has computed the same before in this load.

    Attributes:
        times: how often it must have had the same inputs before it does so.
        turns: whether it does so, launch after launch, over and over.
    """

    times, turns = 1, (True,)

    def __init__(self) -> None:
        self.kept: dict[bytes, int] = {}
        self.launches = 0

    def __call__(self, y: np.ndarray, x: np.ndarray, n: int) -> float:
        as_given(y, x, n)
        self.launches += 1
        self.kept[x.tobytes()] = before = self.kept.get(x.tobytes(), -1) + 1
        return 0.1 if before >= self.times and self.turns[self.launches % len(self.turns)] else 1.0


class KeepsInTheEnd(KeepsByContent):
    times = 6


class KeepsNowAndThen(KeepsByContent):
    turns = (True, False, True)


class KeepsBeyondALoad(KeepsByContent):
    """What it keeps outlives a load, as on the heap of a device or in shared memory, which nobody clears."""

    everywhere: ClassVar[dict[bytes, int]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.kept = self.everywhere


class KeepsForAMoment(NumpyDevice):
    """A CPU on which `kept` takes a tenth of the time in what is launched right behind a launch of its own."""

    info = DeviceInfo(kind="emulator", name="NumPy", backend="numpy", is_cpu=True)

    def time(self, kernel: LoadedKernel, buffers: Buffers, *others: Any, **more: Any) -> list[float]:
        times = super().time(kernel, buffers, *others, **more)
        return [ms / 10 if kernel.handle is moment else ms for ms in times]

    def time_first(self, kernel: LoadedKernel, buffers: Buffers, geometry: Geometry, timeout_s: float) -> float:
        return super().time(kernel, buffers, geometry, 1, timeout_s)[0]


def moment(y: np.ndarray, x: np.ndarray, n: int) -> float:
    as_given(y, x, n)
    return 0.5


def test_what_is_kept_for_a_moment_only_is_found_where_little_is_saved(tmp_path: Path) -> None:
    workbench = bench(tmp_path, KeepsForAMoment(given=as_given, kept=moment))
    workbench.prepare(executable("given"))
    found = workbench.compare(executable("given"), executable("kept"), 0.01).comparison.failure
    assert found is not None
    assert found.kind is FailureKind.IMPLAUSIBLE
    assert found.message.endswith("0.05 CPU ms on the same soon after: it keeps results")


def depends_on_its_inputs(y: np.ndarray, x: np.ndarray, n: int) -> float:
    as_given(y, x, n)
    return 0.5 + float(np.abs(x[:3]).sum() % 1)


class KeepsOnABusyMachine(KeepsByContent):
    """Nothing of that shows in its first launches beside a load that has seen other inputs."""

    loads: ClassVar[list[KeepsByContent]] = []
    hidden = 3

    def __init__(self) -> None:
        super().__init__()
        self.loads.append(self)

    def __call__(self, y: np.ndarray, x: np.ndarray, n: int) -> float:
        ms, is_timed = super().__call__(y, x, n), self.loads.index(self) == LOADS - 1 < len(self.loads) - 1
        self.hidden -= is_timed
        return 1.0 if is_timed and self.hidden >= 0 else ms


LOADS = 4
"""Of a challenger before it is launched on inputs that it has not seen."""


class MachineThatGetsBusy:
    """From the first load behind the timed one on all takes longer, and this kernel more so than that as given."""

    loads = 0

    def __init__(self) -> None:
        type(self).loads += 1

    def __call__(self, y: np.ndarray, x: np.ndarray, n: int) -> float:
        as_given(y, x, n)
        return 0.8 if self.loads > LOADS else 0.5


def given_there(y: np.ndarray, x: np.ndarray, n: int) -> float:
    return as_given(y, x, n) * (1.2 if MachineThatGetsBusy.loads > LOADS else 1)


def on_a_cpu(tmp_path: Path, **kernels: Kernel | type[Kernel]) -> Workbench:
    device = NumpyDevice(**kernels)
    device.info = DeviceInfo(kind="emulator", name="NumPy", backend="numpy", is_cpu=True)
    workbench = bench(tmp_path, device)
    workbench.prepare(executable("given"))
    return workbench


@pytest.mark.parametrize(
    "kept", [KeepsByContent, KeepsInTheEnd, KeepsNowAndThen, KeepsBeyondALoad, KeepsOnABusyMachine]
)
def test_what_is_fast_only_on_inputs_that_it_has_seen_is_not_accepted(
    tmp_path: Path, kept: type[KeepsByContent]
) -> None:
    workbench = on_a_cpu(tmp_path, given=as_given, kept=kept, honest=depends_on_its_inputs)
    assert workbench.evaluate(executable("kept"), None).failure is None
    found = workbench.compare(executable("given"), executable("kept"), 0.01).comparison.failure
    assert found is not None
    assert found.kind is FailureKind.IMPLAUSIBLE
    assert (
        found.message == "1 CPU ms on inputs that it has not seen, and 0.1 CPU ms on the same again: it keeps results"
    )
    assert workbench.compare(executable("given"), executable("honest"), 0.01).comparison.failure is None


def searches_near_a_place(y: np.ndarray, x: np.ndarray, n: int) -> float:
    as_given(y, x, n)
    return 0.5 if np.abs(x).max(initial=0) < 20 else 5.0


def test_what_takes_longer_for_few_large_numbers_is_not_said_to_keep_results(tmp_path: Path) -> None:
    workbench = on_a_cpu(tmp_path, given=as_given, honest=searches_near_a_place)
    comparison = workbench.compare(executable("given"), executable("honest"), 0.01).comparison
    assert comparison.failure is None
    assert comparison.ratio == pytest.approx(4)


def test_what_gets_slower_with_all_of_the_machine_is_not_said_to_keep_results(tmp_path: Path) -> None:
    workbench = on_a_cpu(tmp_path, given=given_there, honest=MachineThatGetsBusy)
    assert workbench.evaluate(executable("honest"), None).failure is None
    comparison = workbench.compare(executable("given"), executable("honest"), 0.01).comparison
    assert comparison.failure is None
    assert comparison.low > 1.5
    assert MachineThatGetsBusy.loads > LOADS


class ColdBehindALoad(NumpyDevice):
    """A CPU on which a load empties the caches: a few launches behind it, of whatever it is, take 40 us longer."""

    info = DeviceInfo(kind="emulator", name="NumPy", backend="numpy", is_cpu=True)
    cold = 0

    def load(self, artifact: Path, symbol: str) -> LoadedKernel:
        self.cold = 8
        return super().load(artifact, symbol)

    def _once(self, kernel: Kernel, buffers: Buffers) -> float:
        self.cold -= 1
        return super()._once(kernel, buffers) + (0.04 if self.cold >= 0 else 0.0)


def short(y: np.ndarray, x: np.ndarray, n: int) -> float:
    return as_given(y, x, n) * 0.015


def test_a_short_kernel_that_is_slower_behind_a_load_is_not_said_to_keep_results(tmp_path: Path) -> None:
    workbench = bench(tmp_path, ColdBehindALoad(given=as_given, short=short))
    workbench.prepare(executable("given"))
    assert workbench.compare(executable("given"), executable("short"), 0.01).comparison.failure is None


class KeepsByAddress:
    """Whatever was first at an address, in half of the time."""

    def __init__(self) -> None:
        self.kept: dict[int, np.ndarray] = {}

    def __call__(self, y: np.ndarray, x: np.ndarray, n: int) -> float:
        y[...] = self.kept.setdefault(id(x), 2 * x)
        return 0.5


class KeepsBySize(KeepsByContent):
    """Ten times as fast where it has computed as many elements before."""

    def __call__(self, y: np.ndarray, x: np.ndarray, n: int) -> float:
        return super().__call__(y, np.float32(2) * np.arange(n, dtype=np.float32) / 2, n)


def two_thirds(y: np.ndarray, x: np.ndarray, n: int) -> float:
    return as_given(y, x, n) * 0.6


def with_inputs(directory: Path, fill: str, **kernels: Kernel | type[Kernel]) -> Workbench:
    """A bench whose inputs are none of those that have textures."""
    bench(directory, NumpyDevice(), "2 * x")
    text = (directory / "scale.toml").read_text()
    head, name, tail = text.partition('name = "x"\ndtype = "float32"\nshape = ["n"]\n')
    (directory / "scale.toml").write_text(f"{head}{name}{fill}\n{tail}")
    with (directory / "reference.py").open("a") as file:
        file.write("\n\ndef drawn(n, random):\n    return random.standard_normal(n).astype('float32')\n")
    workbench = Workbench(NumpyDevice(**kernels), load_problem(directory / "scale.toml"), lambda *_: None)
    assert workbench.prepare(executable("given")).failure is None
    return workbench


@pytest.mark.slow
def test_what_is_kept_by_an_address_shows_where_inputs_are_made_by_a_function(tmp_path: Path) -> None:
    workbench = with_inputs(tmp_path, 'function = "drawn"', given=as_given, kept=KeepsByAddress, honest=two_thirds)
    assert workbench.evaluate(executable("kept"), None).failure is None
    found = workbench.compare(executable("given"), executable("kept"), 0.01).comparison.failure
    assert found is not None
    assert found.kind is FailureKind.WRONG_RESULT
    assert workbench.compare(executable("given"), executable("honest"), 0.01).comparison.failure is None


@pytest.mark.slow
def test_results_that_are_kept_where_all_inputs_are_given_are_told_by_a_load_that_has_had_another_size(
    tmp_path: Path,
) -> None:
    workbench = with_inputs(tmp_path, 'fill = "arange"', given=as_given, kept=KeepsBySize, honest=two_thirds)
    assert workbench.evaluate(executable("kept"), None).failure is None
    found = workbench.compare(executable("given"), executable("kept"), 0.01).comparison.failure
    assert found is not None
    assert found.kind is FailureKind.IMPLAUSIBLE
    assert workbench.compare(executable("given"), executable("honest"), 0.01).comparison.failure is None


class DeviceWithGaps(NumpyDevice):
    """Between launches that are timed one by one there is time."""

    is_hurried = True

    def time_first(self, kernel: LoadedKernel, buffers: Buffers, geometry: Geometry, timeout_s: float) -> float:
        self.is_hurried = False
        try:
            return super().time_first(kernel, buffers, geometry, timeout_s)
        finally:
            self.is_hurried = True


@pytest.mark.slow
def test_what_is_fast_only_where_launches_come_close_behind_each_other_is_not_accepted(tmp_path: Path) -> None:
    def hurried(y: np.ndarray, x: np.ndarray, n: int) -> float:
        return as_given(y, x, n) * (0.2 if device.is_hurried else 0.9)

    device = DeviceWithGaps(given=as_given, hurried=hurried, honest=two_thirds)
    workbench = bench(tmp_path, device)
    workbench.prepare(executable("given"))
    found = workbench.compare(executable("given"), executable("hurried"), 0.01).comparison.failure
    assert found is not None
    assert found.message == (
        "1.8 ms where it is launched now and then, and 0.4 ms where it is timed: it tells them apart"
    )
    assert workbench.compare(executable("given"), executable("honest"), 0.01).comparison.failure is None


def launched(*came_of_it: FailureKind | None) -> Callable[[], float]:
    """A launch that fails so, one time after another, and then takes 2 ms."""
    left = list(came_of_it)

    def launch() -> float:
        kind = left.pop(0) if left else None
        if kind is not None:
            raise DeviceFault(kind, "it failed")
        return 2.0

    return launch


def test_a_launch_during_which_the_machine_stood_still_is_made_again_and_no_other() -> None:
    stood_still = FailureKind.IMPLAUSIBLE
    assert undisturbed(launched(*[stood_still] * STALLS)) == 2.0
    for faults in ([stood_still] * (STALLS + 1), [FailureKind.ILLEGAL_ACCESS]):
        with pytest.raises(DeviceFault):
            undisturbed(launched(*faults))
