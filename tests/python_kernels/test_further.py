"""What a rewritten kernel is checked with besides, on the CPU: a softmax that is told how many rows there are."""

# ruff: noqa: E402 - after the check for torch

from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

from tests.python_kernels.test_child import CpuTimer
from tui_tuner.problem.model import Configuration, Tolerance
from tui_tuner.python_kernels import KernelDescription, Rewritten
from tui_tuner.python_kernels.child import bench as child_bench
from tui_tuner.python_kernels.child.bench import PythonKernelBench
from tui_tuner.python_kernels.child.kernel import Arguments, ReadyKernel, ReportLaunch, TunableKernel

ROWS, COLUMNS, LESS = 512, 40, 37
Write = Callable[[torch.Tensor, torch.Tensor, int], None]


def right(y: torch.Tensor, x: torch.Tensor, rows: int) -> None:
    y[:rows] = torch.softmax(x[:rows], dim=1)


def without_mask(y: torch.Tensor, x: torch.Tensor, rows: int) -> None:
    y[:] = torch.softmax(x, dim=1)


def without_maximum(y: torch.Tensor, x: torch.Tensor, rows: int) -> None:
    power = x[:rows].exp()
    y[:rows] = power / power.sum(dim=1, keepdim=True)


def before_it(y: torch.Tensor, x: torch.Tensor, rows: int) -> None:
    right(y, x, rows)
    y.as_strided((1,), (1,), y.storage_offset() - 1).fill_(0.0)


def behind_it(y: torch.Tensor, x: torch.Tensor, rows: int) -> None:
    right(y, x, rows)
    y.as_strided((1,), (1,), y.storage_offset() + y.numel()).fill_(0.0)


class Ready(ReadyKernel):
    def __init__(self, write: Write, *, is_rewritten: bool = True, largest: int = ROWS) -> None:
        self.key, self.as_written, self.is_rewritten = write.__name__, "", is_rewritten
        self.write, self.least = write, largest

    def fits(self, arguments: Arguments) -> bool:
        return arguments[2] >= self.least

    def jit_launches(self, arguments: Arguments) -> list:
        return []

    def launch(self, arguments: Arguments, report: ReportLaunch) -> list:
        self.write(*arguments)
        return []


class Softmax(TunableKernel):
    """The kernel as given, and what another configuration of it does."""

    framework, name = "triton", "softmax"

    def __init__(self, other: Write = right) -> None:
        self.other = other

    def describe(self) -> KernelDescription:
        raise NotImplementedError

    def ready(self, configuration: Configuration, rewritten: Rewritten | None = None) -> ReadyKernel:
        raise NotImplementedError

    def another(self) -> ReadyKernel | None:
        return Ready(self.other, is_rewritten=False)

    def at_odd_sizes(self, arguments: Arguments) -> Arguments | None:
        y, x, rows = arguments
        return y, x, rows - LESS


@pytest.fixture(autouse=True)
def _on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_bench, "EventTimer", CpuTimer)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (2**40, 2**40))


def arguments(seed: int) -> Arguments:
    torch.manual_seed(seed)
    return torch.zeros(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS), ROWS


def failure_of(write: Write, kernel: TunableKernel | None = None, given: Write = right, **others: int) -> str:
    """Why a rewritten kernel is refused, in words; empty where it is right."""
    bench = PythonKernelBench(kernel or Softmax(), arguments, lambda _: None, Tolerance(), lambda *_: None)
    assert bench.prepare(Ready(given, is_rewritten=False)).failure is None
    failure = bench.evaluate(Ready(write, **{"largest": 0, **others}), None).failure
    return "" if failure is None else f"{failure.kind}: {failure.message}"


def test_a_right_kernel_is_right():
    assert failure_of(right) == ""


def test_what_needs_the_size_that_is_timed_is_wrong_at_others():
    assert failure_of(without_mask).startswith("wrong result: at sizes that nothing divides: element [")


@pytest.mark.parametrize(
    ("kernel", "given", "others"),
    [
        (Softmax(without_mask), right, {}),
        (None, without_mask, {}),
        (None, right, {"largest": ROWS}),
    ],
    ids=["configurations that disagree", "given without a mask", "restrictions that do not hold there"],
)
def test_other_sizes_are_no_measure_where_the_kernel_or_the_configuration_is_not_for_them(kernel, given, others):
    assert failure_of(without_mask, kernel, given, **others) == ""


def test_other_sizes_are_no_measure_where_the_kernel_as_given_looks_behind_them():
    assert failure_of(right, Softmax(without_mask), without_mask) == ""


def test_what_overflows_where_the_kernel_as_given_does_not_is_wrong():
    assert failure_of(without_maximum).startswith("wrong result: with larger inputs: element [")


def test_larger_inputs_are_no_measure_where_the_kernel_as_given_overflows():
    assert failure_of(without_maximum, given=without_maximum) == ""


@pytest.mark.parametrize("write", [before_it, behind_it])
def test_what_is_written_around_an_argument_is_found(write):
    assert failure_of(write) == "illegal access: it writes outside of argument 0, the tensors counted from 0"


def test_a_kernel_as_given_that_writes_around_its_arguments_may_go_on_to():
    assert failure_of(behind_it, given=behind_it) == ""


def test_both_kernels_of_a_comparison_are_held_to_the_kernel_as_given():
    bench = PythonKernelBench(Softmax(), arguments, lambda _: None, Tolerance(), lambda *_: None)
    bench.prepare(Ready(right, is_rewritten=False))
    half = without_maximum  # right with usual inputs

    comparison, _ = bench.compare(Ready(half), Ready(right), 0.01)
    assert comparison.failure is None

    def wrong(y: torch.Tensor, x: torch.Tensor, rows: int) -> None:
        y[:rows] = x[:rows]

    comparison, _ = bench.compare(Ready(wrong), Ready(wrong), 0.01)
    assert comparison.failure is not None
