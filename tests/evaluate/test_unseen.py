"""Who is fast only on inputs that it has seen, and who merely ran while the machine was busy."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from tests.evaluate.numpy_device import Kernel, NumpyDevice
from tests.evaluate.test_workbench import as_given, bench, executable
from tui_tuner.evaluate.results import DeviceInfo, FailureKind
from tui_tuner.evaluate.runner.workbench import Workbench


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


@pytest.mark.parametrize("kept", [KeepsByContent, KeepsInTheEnd, KeepsNowAndThen, KeepsOnABusyMachine])
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


def test_what_gets_slower_with_all_of_the_machine_is_not_said_to_keep_results(tmp_path: Path) -> None:
    workbench = on_a_cpu(tmp_path, given=given_there, honest=MachineThatGetsBusy)
    assert workbench.evaluate(executable("honest"), None).failure is None
    comparison = workbench.compare(executable("given"), executable("honest"), 0.01).comparison
    assert comparison.failure is None
    assert comparison.low > 1.5
    assert MachineThatGetsBusy.loads > LOADS
