from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluate.numpy_device import NumpyDevice
from tests.session.fakes import PROBLEM, SOURCE
from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.devices.base import Buffers, ClockSample, Inspection, KernelArgument, LoadedKernel
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.results import DeviceInfo, Failure, FailureKind
from tui_tuner.evaluate.runner import server
from tui_tuner.evaluate.runner.protocol import (
    Executable,
    LaunchShape,
    SanitizeAnswer,
    SanitizeRequest,
    ToolFinding,
    receive,
    send,
)
from tui_tuner.evaluate.runner.server import Runner
from tui_tuner.evaluate.runner.workbench import DATA_LIMIT_S, SayPhase, Workbench
from tui_tuner.evaluate.tolerance import Bound
from tui_tuner.evaluate.verify import LaunchData, datasets, with_leftovers
from tui_tuner.evaluate.verify.drafts import Drafts
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.load import load_problem

KEPT = 2 * 7 + 3
"""Buffers that stay: at both tests noise and six other textures, at the timed size noise and what has structure."""
CTYPES = {"float32": "float", "int32": "int"}
REFERENCE = "def scale(y, x, n):\n    return {}\n"


def as_given(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[...] = 2 * x
    return 2.0


def twice_as_fast(y: np.ndarray, x: np.ndarray, n: int) -> float:
    as_given(y, x, n)
    return 1.0


def off_by_a_little(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[...] = 2.001 * x
    return 1.0


def skips_the_tail(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[: n // 32 * 32] = 2 * x[: n // 32 * 32]
    return 1.0


def writes_nothing(y: np.ndarray, x: np.ndarray, n: int) -> float:
    return 0.001


def changes_its_input(y: np.ndarray, x: np.ndarray, n: int) -> float:
    as_given(y, x, n)
    x[0] = 0
    return 1.0


class ComputesOnce:
    """Right at first, then leaves the work out: what a check before the timed launches alone would miss."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, y: np.ndarray, x: np.ndarray, n: int) -> float:
        self.calls += 1
        return as_given(y, x, n) if self.calls <= 3 else writes_nothing(y, x, n)


def bench(
    directory: Path,
    device: NumpyDevice,
    reference: str | None = "2 * x",
    say: SayPhase = lambda *_: None,
    output: str = "float32",
    clock: Callable[[], float] = time.monotonic,
) -> Workbench:
    (directory / "scale.cu").write_text(SOURCE.replace("float *y", f"{CTYPES[output]} *y"))
    text = (
        PROBLEM.partition("[[tests]]")[0].replace("float32", output, 1)
        + "[[tests]]\nsizes = { n = 1000 }\n[[tests]]\nsizes = { n = 33 }\n"
    )
    if reference is not None:
        (directory / "reference.py").write_text(REFERENCE.format(reference))
        text += '\n[reference]\npython = "reference.py:scale"\n'
    (directory / "scale.toml").write_text(text)
    return Workbench(device, load_problem(directory / "scale.toml"), say, clock=clock)


def executable(symbol: str) -> Executable:
    return Executable(artifact="none", symbol=symbol, shapes=[LaunchShape(grid=(1, 1, 1), block=(1, 1, 1))] * 3)


def test_a_right_kernel_is_timed(tmp_path: Path) -> None:
    device = NumpyDevice(given=as_given, fast=twice_as_fast)
    workbench = bench(tmp_path, device)
    workbench.prepare(executable("given"))
    outcome = workbench.evaluate(executable("fast"), None)
    assert outcome.timing is not None
    assert outcome.timing.median == 1.0
    assert device.loads.count("fast") == 2
    assert device.alive == KEPT


@pytest.mark.slow
@pytest.mark.parametrize(("share", "draws"), [(0.3, 1), (0.8, 5)])
def test_what_comes_near_to_the_allowed_deviation_is_checked_with_more_inputs(
    tmp_path: Path, share: float, draws: int
) -> None:
    off, seen = 0.0, set[bytes]()

    def is_off(y: np.ndarray, x: np.ndarray, n: int) -> float:
        y[...] = 2 * x.astype(np.float64) * (1 + off)
        if n == 33:
            seen.add(x.tobytes())
        return 1.0

    device = NumpyDevice(given=as_given, off=is_off)
    workbench = bench(tmp_path, device)
    (allowed,) = workbench.prepare(executable("given")).allowed.values()
    assert workbench.compare(executable("given"), executable("off"), 0.01).comparison.failure is None
    loads, inputs = device.loads.count("off"), len(seen)
    seen.clear()
    off = share * allowed.together
    assert workbench.compare(executable("given"), executable("off"), 0.01).comparison.failure is None
    assert device.loads.count("off") - 2 * loads == draws - 1
    assert len(seen) > (draws - 1) * inputs  # not `==`: where all but one is zero, two draws can be the same


def test_a_kernel_that_is_within_what_is_allowed_by_chance_is_refused(tmp_path: Path) -> None:
    off, inputs = 0.0, set[bytes]()

    def is_off(y: np.ndarray, x: np.ndarray, n: int) -> float:
        inputs.add(x.tobytes())
        y[...] = 2 * x.astype(np.float64) * (1 + off * (4 if len(inputs) > 30 else 1))
        return 1.0

    workbench = bench(tmp_path, NumpyDevice(given=as_given, off=is_off))
    (allowed,) = workbench.prepare(executable("given")).allowed.values()
    off = 0.8 * allowed.together
    failure = workbench.compare(executable("given"), executable("off"), 0.01).comparison.failure
    assert failure is not None
    assert failure.kind is FailureKind.WRONG_RESULT


def test_what_is_told_to_be_allowed_is_what_decides(tmp_path: Path) -> None:
    off = 0.0

    def is_off(y: np.ndarray, x: np.ndarray, n: int) -> float:
        y[...] = 2 * x.astype(np.float64) * (1 + off)
        return 1.0

    workbench = bench(tmp_path, NumpyDevice(given=as_given, off=is_off))
    (allowed,) = workbench.prepare(executable("given")).allowed.values()
    assert 1e-7 < allowed.of_element < 1e-5
    for times, passes in ((0.8, True), (2.0, False)):
        off = times * allowed.together
        assert (workbench.evaluate(executable("off"), None).failure is None) == passes
    whole = bench(tmp_path, NumpyDevice(given=as_given), "(2 * x).astype('int32')", output="int32")
    assert whole.prepare(executable("given")).allowed == {}


class Warm(NumpyDevice):
    """A GPU that tells its clock, and whose launches take half the time with warm caches."""

    info = DeviceInfo(kind="cuda", name="NumPy", backend="numpy", l2_bytes=2**20)

    def time_warm(self, kernel: Any, buffers: Any, geometry: Any, launches: int, timeout_s: float) -> list[float]:
        return [ms / 2 for ms in self.time(kernel, buffers, geometry, launches, timeout_s)]

    def clock(self) -> ClockSample:
        return ClockSample(1755, ("power cap",), 64)


def test_a_time_has_the_one_with_warm_caches_beside_it_and_the_state_of_the_device(tmp_path: Path) -> None:
    device = Warm(given=as_given, fast=twice_as_fast, slow=lambda *arrays: 5 * as_given(*arrays))
    workbench = bench(tmp_path, device)
    workbench.prepare(executable("given"))
    timing = workbench.evaluate(executable("fast"), 2.0).timing
    assert timing is not None
    assert (timing.median, timing.warm) == (1.0, 0.5)
    assert (timing.clock_mhz, timing.throttled_by, timing.temperature_c) == (1755, ("power cap",), 64)
    hopeless = workbench.evaluate(executable("slow"), 1.0).timing
    assert hopeless is not None
    assert hopeless.warm is None, "it is not worth it"
    device.info = Warm.info.model_copy(update={"l2_bytes": 64})
    large = workbench.evaluate(executable("fast"), 2.0).timing
    assert large is not None
    assert large.warm is None, "no cache holds it"


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (off_by_a_little, "y["),
        (skips_the_tail, "not written or NaN); wrong: exactly the last 8 elements (behind whole tiles of 32)"),
        (writes_nothing, "not written or NaN); wrong: all elements"),
        (changes_its_input, "changed its input 'x'"),
        (ComputesOnce(), "not written or NaN"),
    ],
)
def test_a_wrong_kernel_is_found_and_named(tmp_path: Path, kernel: Any, said: str) -> None:
    workbench = bench(tmp_path, NumpyDevice(given=as_given, wrong=kernel))
    workbench.prepare(executable("given"))
    outcome = workbench.evaluate(executable("wrong"), None)
    assert outcome.timing is None
    assert outcome.failure is not None
    assert outcome.failure.kind is FailureKind.WRONG_RESULT
    assert said in outcome.failure.message


def test_what_a_wrong_kernel_has_done_to_its_inputs_is_not_blamed_on_the_next(tmp_path: Path) -> None:
    device = NumpyDevice(given=as_given, wrong=changes_its_input, fast=twice_as_fast)
    workbench = bench(tmp_path, device)
    workbench.prepare(executable("given"))
    for _ in range(2):
        assert workbench.evaluate(executable("wrong"), None).failure is not None
        assert workbench.evaluate(executable("fast"), None).failure is None
    assert device.alive == KEPT


def test_an_input_that_is_changed_at_the_timed_size_only_is_found(tmp_path: Path) -> None:
    def sly(y: np.ndarray, x: np.ndarray, n: int) -> float:
        time = twice_as_fast(y, x, n)
        x[-1] += n > 1000
        return time

    workbench = bench(tmp_path, NumpyDevice(given=as_given, sly=sly))
    workbench.prepare(executable("given"))
    failure = workbench.evaluate(executable("sly"), None).failure
    assert failure is not None
    assert "changed its input 'x'" in failure.message


def test_the_kernel_as_given_is_the_reference_where_there_is_none(tmp_path: Path) -> None:
    workbench = bench(tmp_path, NumpyDevice(given=as_given, wrong=off_by_a_little, fast=twice_as_fast), None)
    workbench.prepare(executable("given"))
    assert workbench.evaluate(executable("wrong"), None).failure is not None
    assert workbench.evaluate(executable("fast"), None).failure is None


def test_a_reference_that_disagrees_with_the_kernel_as_given_is_the_users_to_mend(tmp_path: Path) -> None:
    workbench = bench(tmp_path, NumpyDevice(given=as_given), "3 * x")
    with pytest.raises(ProblemError, match=r"does not match its reference at n=1000: y\["):
        workbench.prepare(executable("given"))


def test_a_check_that_zeros_would_pass_is_refused(tmp_path: Path) -> None:
    def zero(y: np.ndarray, x: np.ndarray, n: int) -> float:
        y[...] = 0
        return 1.0

    workbench = bench(tmp_path, NumpyDevice(given=zero), "0 * x")
    with pytest.raises(ProblemError, match="computes nothing would pass"):
        workbench.prepare(executable("given"))


@pytest.mark.slow
def test_a_comparison_gives_the_ratio_with_its_interval(tmp_path: Path) -> None:
    workbench = bench(tmp_path, NumpyDevice(given=as_given, fast=twice_as_fast))
    workbench.prepare(executable("given"))
    comparison = workbench.compare(executable("given"), executable("fast"), 0.01).comparison
    assert comparison.ratio == pytest.approx(2)
    assert comparison.low > 1.99
    assert comparison.pairs >= 6


class LookingCostsTheNext(NumpyDevice):
    """A device on which a launch takes 3% longer behind one whose outputs were looked at, as caches and gaps do it."""

    def time(self, *arguments: Any) -> list[float]:
        inspect = arguments[5] if len(arguments) > 5 else None
        return [ms * (1 if inspect is None else 1.03) for ms in super().time(*arguments)]


@pytest.mark.slow
def test_both_kernels_of_a_comparison_are_looked_at_alike_so_that_a_kernel_is_as_fast_as_itself(tmp_path: Path) -> None:
    workbench = bench(tmp_path, LookingCostsTheNext(given=as_given, fast=twice_as_fast))
    workbench.prepare(executable("given"))
    assert workbench.compare(executable("given"), executable("given"), 0.01).comparison.ratio == 1
    assert workbench.compare(executable("given"), executable("fast"), 0.01).comparison.ratio == pytest.approx(2)


def test_what_the_incumbent_computes_is_not_held_against_the_challenger(tmp_path: Path) -> None:
    workbench = bench(tmp_path, NumpyDevice(given=as_given, wrong=off_by_a_little, fast=twice_as_fast))
    workbench.prepare(executable("given"))
    assert workbench.compare(executable("wrong"), executable("fast"), 0.01).comparison.failure is None


class LastBitsOfChance:
    """Right within what is allowed, and now and then with other bits, as sums by atomic functions are."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, y: np.ndarray, x: np.ndarray, n: int) -> float:
        self.calls += 1
        twice_as_fast(y, x, n)
        y[:3] *= np.float32(1 + self.calls % 2 * 2**-23)
        return 1.0


@pytest.mark.slow
def test_whether_the_bits_are_the_same_each_time_is_told_of_what_is_faster(tmp_path: Path) -> None:
    device = NumpyDevice(given=as_given, fast=twice_as_fast, chance=LastBitsOfChance())
    workbench = bench(tmp_path, device)
    workbench.prepare(executable("given"))
    same = workbench.compare(executable("given"), executable("fast"), 0.01).comparison.determinism
    assert same is not None
    assert (same.launches, same.differing) == (5, 0)
    assert same.in_words == "the same bits in 5 launches on the same inputs"
    other = workbench.compare(executable("given"), executable("chance"), 0.01).comparison.determinism
    assert other is not None
    assert other.in_words == f"differs from launch to launch in up to 3 of {same.elements} elements"
    assert workbench.compare(executable("given"), executable("given"), 0.01).comparison.determinism is None


def test_a_challenger_that_is_wrong_on_fresh_data_fails_the_comparison(tmp_path: Path) -> None:
    workbench = bench(tmp_path, NumpyDevice(given=as_given, wrong=off_by_a_little))
    workbench.prepare(executable("given"))
    comparison = workbench.compare(executable("given"), executable("wrong"), 0.01).comparison
    assert comparison.failure is not None
    assert comparison.failure.kind is FailureKind.WRONG_RESULT


def wrong_at_tests(takes_ms: float) -> Callable[[np.ndarray, np.ndarray, int], float]:
    def launched(y: np.ndarray, x: np.ndarray, n: int) -> float:
        y[...] = (2 if n == 4096 else 3) * x
        return takes_ms

    return launched


def test_what_is_faster_is_checked_at_tests_too_and_what_is_not_only_where_that_is_asked(tmp_path: Path) -> None:
    workbench = bench(tmp_path, NumpyDevice(given=as_given, fast=wrong_at_tests(1.0), same=wrong_at_tests(2.0)))
    workbench.prepare(executable("given"))

    def failure(name: str, *, thorough: bool) -> Failure | None:
        return workbench.compare(executable("given"), executable(name), 0.01, thorough=thorough).comparison.failure

    found = failure("fast", thorough=False), failure("same", thorough=True)
    assert [one.message[: len("at n=1000")] for one in found if one is not None] == ["at n=1000", "at n=1000"]
    assert failure("same", thorough=False) is None


def test_what_is_wrong_where_warps_are_late_is_told_at_tests_whose_blocks_run_at_once(tmp_path: Path) -> None:
    device = NumpyDevice(given=as_given, wrong=off_by_a_little)
    device.info = device.info.model_copy(update={"multiprocessors": 4})
    workbench = bench(tmp_path, device)
    workbench.prepare(executable("given"))
    assert workbench.verify_late(executable("given")) == (ToolFinding(), False)
    found = workbench.verify_late(executable("wrong"))[0].failure
    assert found is not None
    assert found.kind is FailureKind.WRONG_RESULT
    assert found.message.startswith("ordercheck: where blocks and warps are late, each by another time, at n=1000: y[")
    large, small, timed = (LaunchShape(grid=(blocks, 1, 1), block=(1, 1, 1)) for blocks in (5, 4, 9))
    some = executable("wrong").model_copy(update={"shapes": [large, small, timed]})
    found = workbench.verify_late(some)[0].failure
    assert found is not None
    assert "at n=33: " in found.message
    none = some.model_copy(update={"shapes": [large, large, timed]})
    assert workbench.verify_late(none) == (ToolFinding(has_seen=False), False)

    ours, theirs = socket.socketpair()
    with ours, theirs:
        runner = Runner(ours)
        runner._device, runner._workbench = device, workbench
        answer = runner._serve_one(SanitizeRequest(executable=some, tools=["ordercheck"]))
    assert isinstance(answer, SanitizeAnswer)
    assert answer.findings["ordercheck"].failure == found


class KeepsByAddress:
    """Right, and for an array that it has seen it only copies what it computed then: timed launches are all alike."""

    def __init__(self) -> None:
        self.kept: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def __call__(self, y: np.ndarray, x: np.ndarray, n: int) -> float:
        _, y[...] = self.kept.setdefault(x.ctypes.data, (x, 2 * x))
        return 0.5


def test_what_is_kept_of_timed_inputs_is_found_when_others_are_in_the_same_memory(tmp_path: Path) -> None:
    workbench = bench(tmp_path, NumpyDevice(given=as_given, keeps=KeepsByAddress()))
    workbench.prepare(executable("given"))
    assert workbench.evaluate(executable("keeps"), None).failure is None
    comparison = workbench.compare(executable("given"), executable("keeps"), 0.01).comparison
    assert comparison.failure is not None
    assert "inputs with few elements changed: y[" in comparison.failure.message


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_the_results_of_an_earlier_launch_are_right_but_for_few(dtype: str) -> None:
    expected = np.arange(-500, 500).reshape(20, 50).astype(dtype)
    bounds = {0: Bound(2.0, 0.0)}
    data = LaunchData(0, "n=1000", [np.full_like(expected, 7), expected], {0: expected.astype("float64")}, bounds)
    assert with_leftovers(data, []) == []
    (again,) = with_leftovers(data, [0])
    left = again.arguments[0]
    assert isinstance(left, np.ndarray)
    assert left.dtype == dtype
    assert 0 < np.count_nonzero(left != expected) <= 64
    if dtype == "int32":
        assert np.abs(left - expected)[left != expected].min() > 2, "more than may be off"
    assert again.arguments[1] is expected
    assert np.all(data.arguments[0] == expected.dtype.type(7)), "the launch itself is as it was"
    assert again.label == "n=1000, over the results of an earlier launch"


@pytest.mark.parametrize(
    ("dtype", "expected", "left"),
    [
        ("float32", -3.0, [4.0, -4.0]),
        ("float32", 0.25, [1.25, 0.0]),
        ("int32", 0, [1, -1]),
        ("uint8", 255, [254, 254]),
        ("uint8", 0, [1, 1]),
        ("bool", True, [False, False]),
    ],
)
def test_where_the_only_element_was_larger_it_is_smaller_in_another_launch(
    dtype: str, expected: float, left: list[float]
) -> None:
    right = np.array([expected]).astype(dtype)
    data = LaunchData(0, "n=1000", [right], {0: right}, {0: Bound(0.0, 0.0)})
    assert [np.asarray(again.arguments[0])[0] for again in with_leftovers(data, [0])] == left


def least_of_what_is_there(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[0] = np.fmin(y[0], x.min())
    return 1.0


def least(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[0] = x.min()
    return 2.0


def test_a_least_element_that_is_begun_with_the_poison_is_found(tmp_path: Path) -> None:
    device = NumpyDevice(given=least, unset=least_of_what_is_there)
    bench(tmp_path, device, "x.min(keepdims=True)")
    text = (tmp_path / "scale.toml").read_text().replace('shape = ["n"]\noutput = true', "shape = [1]\noutput = true")
    (tmp_path / "scale.toml").write_text(text)
    workbench = Workbench(device, load_problem(tmp_path / "scale.toml"), lambda *_: None)
    workbench.prepare(executable("given"))
    assert workbench.evaluate(executable("unset"), None).failure is None
    failure = workbench.compare(executable("given"), executable("unset"), 0.01).comparison.failure
    assert failure is not None
    assert ", over the results of an earlier launch: y[0] is " in failure.message
    assert workbench.compare(executable("given"), executable("given"), 0.01).comparison.failure is None


def rounded(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[...] = np.rint(2 * x)
    return 2.0


def cut_off(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[...] = np.trunc(2 * x)
    return 1.0


def test_whole_numbers_may_be_off_here_and_there_where_the_problem_says_so(tmp_path: Path) -> None:
    device = NumpyDevice(given=rounded, candidate=cut_off)
    one_is_off = "(2 * x).round() + (x == x.max()) * (abs(x).max() < 5)"
    with pytest.raises(ProblemError, match="the kernel as given does not match its reference"):
        bench(tmp_path, device, one_is_off, output="int32").prepare(executable("given"))
    with (tmp_path / "scale.toml").open("a") as file:
        file.write("\n[tolerance]\nintegers = 1\n")
    workbench = Workbench(device, load_problem(tmp_path / "scale.toml"), lambda *_: None)
    assert workbench.prepare(executable("given")).failure is None
    failure = workbench.evaluate(executable("candidate"), None).failure
    assert failure is not None
    assert "elements differ, allowed is 1" in failure.message


class Sided(NumpyDevice):
    """Tells which side of arrays of each size lies against a guard."""

    def __init__(self, **kernels: Callable[[np.ndarray, np.ndarray, int], float]) -> None:
        super().__init__(**kernels)
        self.sides: set[tuple[int, bool]] = set()

    def allocate(
        self, arguments: Sequence[KernelArgument], restored: frozenset[int], *, guard_end: bool = True
    ) -> Buffers:
        self.sides.add((np.asarray(arguments[1]).size, guard_end))
        return super().allocate(arguments, restored)


def test_at_each_size_either_side_of_arrays_lies_against_a_guard(tmp_path: Path) -> None:
    device = Sided(given=as_given)
    workbench = bench(tmp_path, device)
    workbench.prepare(executable("given"))
    device.sides.clear()
    workbench.compare(executable("given"), executable("given"), 0.01, thorough=True)
    workbench.evaluate(executable("given"), None)
    assert {(size, side) for size in (1000, 33) for side in (False, True)} <= device.sides


class Guarded(NumpyDevice):
    """What a kernel reads in front of its arrays faults where their front lies against a guard."""

    guards_end = True

    def __init__(self, **kernels: Callable[[np.ndarray, np.ndarray, int], float]) -> None:
        super().__init__(**kernels)
        self.sides: dict[int, bool] = {}

    def allocate(
        self, arguments: Sequence[KernelArgument], restored: frozenset[int], *, guard_end: bool = True
    ) -> Buffers:
        buffers = super().allocate(arguments, restored)
        self.sides[id(buffers.handle)] = guard_end
        return buffers

    def time(self, kernel: LoadedKernel, buffers: Buffers, *rest: Any, **named: Any) -> list[float]:
        self.guards_end = self.sides[id(buffers.handle)]
        return super().time(kernel, buffers, *rest, **named)

    def reads_before(self, y: np.ndarray, x: np.ndarray, n: int) -> float:
        if not self.guards_end:
            raise DeviceFault(FailureKind.ILLEGAL_ACCESS, "an illegal memory access", fatal=True)
        as_given(y, x, n)
        y[0] = np.nan
        return 1.0


def test_what_is_wrong_since_it_reads_in_front_of_an_array_is_told_so(tmp_path: Path) -> None:
    device = Guarded(given=as_given, wrong=off_by_a_little)
    device.kernels["early"] = device.reads_before
    workbench = bench(tmp_path, device)
    workbench.prepare(executable("given"))
    answer = workbench.evaluate(executable("early"), None)
    assert answer.failure is not None
    assert answer.failure.in_words == "illegal access: at n=1000: an illegal memory access"
    assert answer.fatal
    answer = workbench.evaluate(executable("wrong"), None)
    assert answer.failure is not None
    assert answer.failure.kind is FailureKind.WRONG_RESULT
    assert device.alive <= KEPT, "what was allocated for that is given back"


def leaves_numbers_alone(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[...] = np.where(np.isnan(y), 2 * x, y)
    return 1.0


def test_what_takes_numbers_in_its_output_for_results_is_found(tmp_path: Path) -> None:
    workbench = bench(tmp_path, NumpyDevice(given=as_given, leaves=leaves_numbers_alone))
    workbench.prepare(executable("given"))
    assert workbench.evaluate(executable("leaves"), None).failure is None
    failure = workbench.compare(executable("given"), executable("leaves"), 0.01).comparison.failure
    assert failure is not None
    assert ", over the results of an earlier launch: y[" in failure.message


def test_a_hopeless_kernel_is_cut_short(tmp_path: Path) -> None:
    def slow(y: np.ndarray, x: np.ndarray, n: int) -> float:
        as_given(y, x, n)
        return 50.0

    workbench = bench(tmp_path, NumpyDevice(given=as_given, slow=slow))
    workbench.prepare(executable("given"))
    timing = workbench.evaluate(executable("slow"), 2.0).timing
    assert timing is not None
    assert timing.samples == 3


@pytest.mark.slow
def test_a_slow_reference_or_check_is_not_held_against_the_launch_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[float] = []
    on_the_host: list[float] = []

    def noting(function: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            if threading.current_thread() is threading.main_thread():
                on_the_host.append(said[-1])
            return function(*arguments)

        return noted

    soon = Drafts._soon
    monkeypatch.setattr(Drafts, "_soon", lambda made, make: noting(soon(made, make)))
    monkeypatch.setattr(datasets.LaunchData, "check", noting(datasets.LaunchData.check))
    device = NumpyDevice(given=as_given, fast=twice_as_fast)
    work = bench(tmp_path, device, say=lambda _, limit_s: said.append(limit_s))
    work.prepare(executable("given"))
    work.compare(executable("given"), executable("fast"), 0.01)
    assert len(on_the_host) > 8
    assert set(on_the_host) == {DATA_LIMIT_S}
    assert min(said) < 10


def test_a_launch_may_take_long_where_the_kernel_as_given_does(tmp_path: Path) -> None:
    """As where equal values make all threads add to one place: who does not end in time there was blamed."""
    now, said = [0.0], dict[str, float]()

    def slow_on_equal(y: np.ndarray, x: np.ndarray, n: int) -> float:
        now[0] += 2.0 if np.all(x == x[0]) else 0.001
        return as_given(y, x, n)

    device = NumpyDevice(given=slow_on_equal, fast=twice_as_fast)
    work = bench(tmp_path, device, None, lambda text, limit_s: said.update({text: limit_s}), clock=lambda: now[0])
    work.prepare(executable("given"))
    said.clear()
    work.evaluate(executable("fast"), None)
    on_equal, on_noise = ", inputs with equal values (the kernel as given: 2000 ms)", " (the kernel as given: 1 ms)"
    assert said[f"verify at n=1000{on_equal}"] == said[f"verify at n=33{on_equal}"] == 100.0
    assert said[f"verify at n=1000{on_noise}"] == said["verify at n=4096"] == 3.1


def test_the_kernel_as_given_may_take_its_time_beside_a_challenger(tmp_path: Path) -> None:
    said: list[tuple[str, float]] = []
    work = bench(tmp_path, NumpyDevice(given=as_given, fast=twice_as_fast), None, lambda *phase: said.append(phase))
    work.prepare(executable("given"))
    said.clear()
    work.compare(executable("given"), executable("fast"), 0.01)
    given = {limit_s for text, limit_s in said if text.startswith("the kernel as given at n=")}
    assert given == {60.0}, "a session stopped where it took longer than a challenger may"


def test_the_time_to_load_a_kernel_belongs_to_what_a_launch_may_take() -> None:
    """A busy machine took longer to load one than a launch may take, and the kernel was blamed."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        runner = Runner(theirs)
        runner._say("verify", 3.0)
        runner._device = NumpyDevice(given=as_given)
        runner._device.load_s = 30.0
        runner._say("verify", 3.0)
        assert [receive(ours)["limit_s"] for _ in range(2)] == [3.0, 33.0]


def test_while_nothing_is_asked_the_tools_are_started_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "REST_S", 0.0)
    left, asked = ["racecheck", "memcheck"], list[Sequence[str]]()
    device = NumpyDevice(given=as_given)

    def start_one(tools: Sequence[str]) -> bool:
        asked.append(tools)
        return bool(left and left.pop())

    monkeypatch.setattr(device, "start_watcher", start_one)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        runner = Runner(theirs)
        runner._use_rest()
        runner._device, runner._tools = device, ["memcheck"]
        send(ours, {"type": "waits"})
        runner._use_rest()
        assert asked == []
        receive(theirs)
        runner._use_rest()
    assert asked == [["memcheck"]] * 3


class BusyElsewhere(NumpyDevice):
    """A device whose first times cannot be true, as on a machine that stood still for a moment."""

    def __init__(self, doubtful: int) -> None:
        super().__init__(given=as_given)
        self.doubtful = doubtful

    def time(
        self,
        kernel: LoadedKernel,
        buffers: Buffers,
        geometry: Geometry,
        launches: int,
        timeout_s: float,
        inspect: Inspection | None = None,
    ) -> list[float]:
        if inspect is not None and self.doubtful:
            self.doubtful -= 1
            raise DeviceFault(FailureKind.IMPLAUSIBLE, "2 launches claim 1.1 ms but 2.22 ms went by")
        return super().time(kernel, buffers, geometry, launches, timeout_s, inspect)


@pytest.mark.parametrize("doubtful", [2, 3])
def test_a_time_of_the_kernel_as_given_that_cannot_be_true_is_taken_again(tmp_path: Path, doubtful: int) -> None:
    outcome = bench(tmp_path, BusyElsewhere(doubtful)).prepare(executable("given"))
    assert (outcome.timing is not None) == (doubtful == 2), outcome.failure
    assert (outcome.failure is not None) == (doubtful == 3)


def test_where_the_kernel_as_given_fails_is_said(tmp_path: Path) -> None:
    def leaves_at_33(y: np.ndarray, x: np.ndarray, n: int) -> float:
        if n == 33:
            raise DeviceFault(FailureKind.ILLEGAL_ACCESS, "it left its array")
        return as_given(y, x, n)

    failure = bench(tmp_path, NumpyDevice(given=leaves_at_33)).prepare(executable("given")).failure
    assert failure is not None
    assert failure.message == "at n=33: it left its array"
