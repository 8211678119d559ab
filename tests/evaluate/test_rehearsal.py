from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluate.numpy_device import NumpyDevice
from tests.evaluate.test_workbench import REFERENCE, as_given, executable, off_by_a_little, skips_the_tail
from tests.session.fakes import PROBLEM, SOURCE
from tui_tuner.evaluate.devices.faults import DeviceFault, Stray
from tui_tuner.evaluate.given import kept_tests
from tui_tuner.evaluate.given_fault import GivenFault, GivenFaultKind
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.runner.protocol import RehearsalAnswer
from tui_tuner.evaluate.runner.workbench import Workbench
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import InputFill, Problem, Test

ODD = Test(sizes={"n": 33})


def problem_in(directory: Path, reference: str | None = None) -> Problem:
    (directory / "scale.cu").write_text(SOURCE)
    text = PROBLEM
    if reference is not None:
        (directory / "reference.py").write_text(REFERENCE.format(reference))
        text += '\n[reference]\npython = "reference.py:scale"\n'
    (directory / "scale.toml").write_text(text)
    return load_problem(directory / "scale.toml").with_tests([])


def rehearsed(problem: Problem, kernel: Any, test: Test = ODD) -> RehearsalAnswer:
    device = NumpyDevice(given=kernel)
    bench = Workbench(device, problem.with_tests([test, test]), lambda *_: None)
    outcome = bench.rehearse(executable("given"))
    assert device.alive == 0
    return outcome


def faults(*, fatal: bool) -> Any:
    def kernel(y: np.ndarray, x: np.ndarray, n: int) -> float:
        raise DeviceFault(FailureKind.ILLEGAL_ACCESS, "a read past the end", fatal=fatal)

    return kernel


def strays(*, is_before: bool) -> Any:
    def kernel(y: np.ndarray, x: np.ndarray, n: int) -> float:
        raise DeviceFault(FailureKind.ILLEGAL_ACCESS, "touched", stray=Stray(1, 12, is_before))

    return kernel


def endless(y: np.ndarray, x: np.ndarray, n: int) -> float:
    raise DeviceFault(FailureKind.TIMEOUT, "did not end")


def zero(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[...] = 0
    return 1.0


def infinite(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[...] = np.inf
    return 1.0


def other_each_time(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[...] = np.random.default_rng().standard_normal(n)
    return 1.0


def test_a_test_at_which_the_kernel_as_given_can_be_checked_has_no_reason_against_it(tmp_path: Path) -> None:
    assert rehearsed(problem_in(tmp_path), as_given) == RehearsalAnswer()
    assert rehearsed(problem_in(tmp_path, "2 * x"), as_given) == RehearsalAnswer()


@pytest.mark.parametrize(
    ("kernel", "kind", "argument", "message"),
    [
        (faults(fatal=False), GivenFaultKind.OUTSIDE, "", "illegal access: a read past the end"),
        (strays(is_before=False), GivenFaultKind.BEHIND, "x", "illegal access: touched"),
        (strays(is_before=True), GivenFaultKind.BEFORE, "x", "illegal access: touched"),
        (skips_the_tail, GivenFaultKind.UNWRITTEN, "y", "the kernel as given leaves 1 of 33 elements of 'y' unwritten"),
        (zero, GivenFaultKind.CONSTANT, "y", "a kernel that computes nothing would pass the check of 'y'"),
        (infinite, GivenFaultKind.NOT_FINITE, "y", "no element of 'y' is a finite number"),
        (other_each_time, GivenFaultKind.RACY, "", "not even right against itself"),
        (endless, GivenFaultKind.LATE, "", "time-out: did not end"),
    ],
)
def test_what_the_kernel_as_given_fails_at_is_the_reason_against_a_test(
    tmp_path: Path, kernel: Any, kind: GivenFaultKind, argument: str, message: str
) -> None:
    outcome = rehearsed(problem_in(tmp_path), kernel)
    assert outcome.fault is not None
    assert message in outcome.fault.message
    assert (outcome.fault.kind, outcome.fault.argument, outcome.fatal) == (kind, argument, False)
    assert outcome.fault.nbytes == (12 if "touched" in message else 0)


def test_a_fault_that_costs_the_device_costs_the_runner_too(tmp_path: Path) -> None:
    assert rehearsed(problem_in(tmp_path), faults(fatal=True)).fatal


@pytest.mark.parametrize("reference", ["3 * x", "[][0]"])
def test_a_reference_that_disagrees_or_raises_at_a_proposed_test_is_a_reason_and_no_error(
    tmp_path: Path, reference: str
) -> None:
    fault = rehearsed(problem_in(tmp_path, reference), as_given).fault
    assert fault is not None
    assert "reference" in fault.message


def test_arrays_that_do_not_fit_are_a_reason(tmp_path: Path) -> None:
    def too_large(y: np.ndarray, x: np.ndarray, n: int) -> float:
        raise MemoryError

    assert rehearsed(problem_in(tmp_path), too_large).fault == GivenFault(message="its arrays do not fit in memory")


def test_the_kernel_sees_the_inputs_of_the_test_and_its_sizes(tmp_path: Path) -> None:
    seen: list[np.ndarray] = []

    def looks(y: np.ndarray, x: np.ndarray, n: int) -> float:
        seen.append(x.copy())
        return as_given(y, x, n)

    test = Test(sizes={"n": 7}, inputs={"x": InputFill(fill="arange")})
    assert rehearsed(problem_in(tmp_path), looks, test).fault is None
    assert len(seen) == 4  # for the result, and checked: with either guard
    assert all(x.tolist() == list(range(7)) for x in seen)


def test_chance_that_makes_the_data_of_a_small_test_worthless_is_given_another_chance(tmp_path: Path) -> None:
    test = Test(sizes={"n": 1}, inputs={"x": InputFill(fill="integers", high=2)})  # zero every other time
    problem = problem_in(tmp_path).with_tests([test] * 8)
    workbench = Workbench(NumpyDevice(given=as_given), problem, lambda *_: None)
    baseline = executable("given").model_copy(update={"shapes": executable("given").shapes * 3})
    assert workbench.prepare(baseline).failure is None
    assert workbench.compare(baseline, baseline, 0.01).comparison.failure is None  # on fresh data


def test_a_wrong_result_names_the_inputs_of_the_test(tmp_path: Path) -> None:
    test = Test(sizes={"n": 7}, inputs={"x": InputFill(fill="uniform", low=1.0, high=2)})
    device = NumpyDevice(given=as_given, wrong=off_by_a_little)
    workbench = Workbench(device, problem_in(tmp_path).with_tests([test]), lambda *_: None)
    workbench.prepare(executable("given"))
    failure = workbench.evaluate(executable("wrong"), None).failure
    assert failure is not None
    assert failure.message.startswith("at n=7, x uniform from 1.0 below 2: y[")


async def test_each_proposed_test_is_kept_or_dropped_with_its_reason(tmp_path: Path) -> None:
    problem = problem_in(tmp_path)
    tried: list[Problem] = []

    async def rehearse(trial: Problem) -> str | None:
        tried.append(trial)
        return "at n=33: y[0] is 1" if trial.tests[0] == ODD else None

    good = Test(sizes={"n": 7}, inputs={"x": InputFill(fill="ones")})
    proposed = [
        ODD,
        good,
        Test(sizes={"m": 7}),
        Test(sizes={"n": 0}),
        Test(sizes={"n": 4097}),
        Test(sizes={"n": 4096}),
        Test(sizes={}, inputs={"y": InputFill(fill="ones")}),
    ]
    kept, dropped = await kept_tests(problem, proposed, rehearse)
    assert kept == [good]
    assert [trial.tests for trial in tried] == [[ODD] * 2, [good] * 2]
    assert dropped == [
        "n=33: y[0] is 1",
        "n=4096, m=7: 'm' is not in [sizes] (known sizes: n)",
        "n=0: 'n' is not from 1 up, or has more than 63 bits (change it)",
        "n=4097: its arrays take 32776 bytes, more than the 32768 of the timed size",
        "n=4096: it changes neither sizes nor inputs",
        "n=4096, y ones: the output 'y' starts poisoned, so that what is not written is found "
        "(take it out; an array that the kernel also reads needs fill in [[arguments]])",
    ]


async def test_nothing_proposed_is_tried_where_the_problem_has_tests(tmp_path: Path) -> None:
    async def rehearse(_: Problem) -> str | None:
        raise AssertionError

    assert await kept_tests(problem_in(tmp_path).with_tests([ODD]), [Test(sizes={"n": 7})], rehearse) == ([], [])
