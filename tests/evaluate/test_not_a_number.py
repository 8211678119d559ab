"""Inputs that are no numbers, where the problem declares them: what a launch makes of them, and of nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.evaluate.numpy_device import NumpyDevice
from tests.evaluate.test_workbench import REFERENCE, as_given, executable, twice_as_fast
from tests.session.fakes import PROBLEM, SOURCE
from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.runner.workbench import Workbench
from tui_tuner.problem.load import load_problem

INPUT = 'name = "x"\n'


def bench(
    directory: Path, device: NumpyDevice, reference: str | None = None, declared: str = "nans = true"
) -> Workbench:
    text = PROBLEM.replace(INPUT, f"{INPUT}{declared}\n")
    (directory / "scale.cu").write_text(SOURCE)
    if reference is not None:
        (directory / "reference.py").write_text("import numpy as np\n" + REFERENCE.format(reference))
        text += '\n[reference]\npython = "reference.py:scale"\n'
    (directory / "scale.toml").write_text(text)
    return Workbench(device, load_problem(directory / "scale.toml"), lambda *_: None)


def bounded_by_fmax(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[...] = np.fmax(2 * x, -np.inf)
    return 1.0


def skipped(y: np.ndarray, x: np.ndarray, n: int) -> float:
    np.copyto(y, 2 * x, where=~np.isnan(x))
    return 1.0


@pytest.mark.parametrize("reference", [None, "2 * x"])
@pytest.mark.parametrize("cheat", [bounded_by_fmax, skipped])
def test_what_differs_for_nan_only_is_found_where_nan_is_declared(tmp_path: Path, reference: str | None, cheat) -> None:
    device = NumpyDevice(given=as_given, cheat=cheat, honest=twice_as_fast)
    work = bench(tmp_path, device, reference)
    prepared = work.prepare(executable("given"))
    assert (prepared.failure, prepared.left_out) == (None, [])
    assert work.evaluate(executable("honest"), None).failure is None
    failure = work.evaluate(executable("cheat"), None).failure
    assert failure is not None
    assert failure.kind is FailureKind.WRONG_RESULT
    assert failure.message.startswith("at n=1000, inputs with NaN: y")


def test_what_differs_for_nan_only_is_accepted_where_nobody_declares_it(tmp_path: Path) -> None:
    work = bench(tmp_path, NumpyDevice(given=as_given, other=bounded_by_fmax), declared="infinities = true")
    work.prepare(executable("given"))
    assert work.evaluate(executable("other"), None).failure is None


@pytest.mark.parametrize("reference", [None, "2 * x"])
def test_where_chance_decides_what_becomes_of_nan_nobody_is_checked_with_it(
    tmp_path: Path, reference: str | None
) -> None:
    def by_chance(y: np.ndarray, x: np.ndarray, n: int) -> float:
        return (as_given if device.launches % 3 else bounded_by_fmax)(y, x, n)

    device = NumpyDevice(given=by_chance, other=bounded_by_fmax)
    work = bench(tmp_path, device, reference)
    assert [line.partition(":")[0] for line in work.prepare(executable("given")).left_out] == [
        "n=1000, inputs with NaN"
    ]
    assert work.evaluate(executable("other"), None).failure is None


def test_a_kernel_as_given_that_differs_from_its_reference_for_nan_is_no_measure_there(tmp_path: Path) -> None:
    device = NumpyDevice(given=bounded_by_fmax, other=as_given)
    work = bench(tmp_path, device, "2 * x")
    (line,) = work.prepare(executable("given")).left_out
    assert line.startswith("n=1000, inputs with NaN: ")
    assert work.evaluate(executable("other"), None).failure is None


@pytest.mark.parametrize("fill", ["ones", "integers", "arange"])
def test_nan_is_declared_of_arrays_that_may_hold_fractions(tmp_path: Path, fill: str) -> None:
    with pytest.raises(ProblemError, match="only an array of floats that is filled normal or uniform may hold NaN"):
        bench(tmp_path, NumpyDevice(given=as_given), declared=f'nans = true\nfill = "{fill}"')
