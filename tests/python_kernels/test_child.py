"""The kernel's process with torch, where it is installed; a made-up kernel on the CPU stands in for one on a GPU."""

# ruff: noqa: E402 - after the check for torch

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

from tui_tuner.evaluate.results import DeviceInfo, FailureKind
from tui_tuner.evaluate.runner.protocol import receive, send
from tui_tuner.problem.model import Configuration
from tui_tuner.python_kernels import (
    KernelComparisonRequest,
    KernelDescription,
    KernelEvaluationRequest,
    KernelOpenRequest,
    Rewritten,
)
from tui_tuner.python_kernels.child import bench, builds
from tui_tuner.python_kernels.child import service as child_service
from tui_tuner.python_kernels.child.data import Data
from tui_tuner.python_kernels.child.kernel import (
    Arguments,
    JitLaunch,
    KernelFault,
    ReadyKernel,
    ReportLaunch,
    TunableKernel,
)


class Ready(ReadyKernel):
    """Doubles its argument, in one of several ways."""

    def __init__(self, how: str) -> None:
        self.how = self.key = how
        self.as_written = f"triton.Config({{'HOW': {how!r}}})"

    def jit_launches(self, arguments: Arguments) -> list:
        if self.how == "no code":
            raise ValueError("error: no code for this")
        if self.how == "refused":
            return [JitLaunch(Refused, (), {})]
        return []

    def launch(self, arguments: Arguments, report: ReportLaunch) -> list:
        (x,) = arguments
        match self.how:
            case "wrong":
                return [x * 2 + (torch.arange(x.numel()) == 5)]
            case "unwritten":
                return [torch.empty_like(x)]
            case "in place":
                x *= 2
                return [x.clone()]
            case "out of memory":
                raise RuntimeError("out of resource: shared memory, Required: 300000, Hardware limit: 232448. Reducing")
            case "illegal":
                raise RuntimeError("CUDA error: an illegal memory access was encountered")
        return [x + x]


class Refused:
    """A function that the compiler refuses."""

    device_caches = {0: None}  # noqa: RUF012

    @staticmethod
    def run(**_: object) -> None:
        raise ValueError("at 3:4:\n  code\n  ^\nerror: operand type mismatch")


class Doubling(TunableKernel):
    framework, name = "triton 3.6.0", "doubling"

    def describe(self) -> KernelDescription:
        raise NotImplementedError

    def ready(self, configuration: Configuration, rewritten: Rewritten | None = None) -> ReadyKernel:
        if configuration["HOW"] == "unknown":
            raise KernelFault(FailureKind.INVALID, "there is no such way")
        return Ready(str(configuration["HOW"]))


class Loaded:
    kernel = Doubling()

    def arguments(self, seed: int) -> Arguments:
        torch.manual_seed(seed)
        return (torch.randn(1000),)

    def reference(self, arguments: Arguments) -> object:
        return arguments[0].double() * 2


class CpuTimer:
    """Takes the place of events on a device."""

    def launches(self, before, launch):
        def times(count: int) -> list[float]:
            for _ in range(count):
                before()
                launch()
            return [0.5 + 0.001 * number for number in range(count)]

        return times


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The other end of a served kernel."""
    monkeypatch.setattr(child_service, "_loaded", lambda _opening: Loaded())
    monkeypatch.setattr(child_service, "check_device", lambda: None)
    monkeypatch.setattr(child_service, "device_info", lambda f: DeviceInfo(kind="cuda", name="Fake", backend=f))
    monkeypatch.setattr(bench, "EventTimer", CpuTimer)
    monkeypatch.setattr(builds, "die_with_parent", lambda: None)
    monkeypatch.setattr(builds.driver, "_active", type("Driver", (), {})(), raising=False)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    ours, theirs = socket.socketpair()
    opening = KernelOpenRequest(
        file="x.py", kernel="doubling", source="", default={"HOW": "plain"}, jobs=2, build_limit_s=200
    )

    def say(frame):
        send(theirs, frame.model_dump(mode="json"))

    def serve() -> None:
        try:
            child_service.KernelService.serve_kernel(theirs, opening, say)
        except Exception as error:
            if type(error).__name__ != "ChannelClosed":
                raise

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with ours:
        yield ours
    thread.join(20)
    theirs.close()


def answers(connection: socket.socket, count: int) -> list[dict]:
    found: list[dict] = []
    while len(found) < count:
        frame = receive(connection)
        if frame["type"] != "doing":
            found.append(frame)
    return found


def evaluate(connection: socket.socket, *ways: str) -> dict[str, dict]:
    (opened,) = answers(connection, 1)
    assert opened["given"]["failure"] is None, opened
    for number, how in enumerate(ways, 1):
        send(connection, KernelEvaluationRequest(id=number, configuration={"HOW": how}).model_dump(mode="json"))
    return {ways[answer["id"] - 1]: answer for answer in answers(connection, len(ways))}


def test_what_is_right_is_timed_and_what_is_not_is_classified(service):
    ways = ("sum", "wrong", "unwritten", "out of memory", "no code", "refused", "unknown")
    found = evaluate(service, *ways)
    kinds = {how: answer["failure"] and answer["failure"]["kind"] for how, answer in found.items()}

    assert kinds == {
        "sum": None,
        "wrong": "wrong result",
        "unwritten": "wrong result",
        "out of memory": "launch failure",
        "no code": "compile error",
        "refused": "compile error",
        "unknown": "invalid configuration",
    }
    assert found["sum"]["timing"]["median"] > 0.5
    assert found["sum"]["as_written"] == "triton.Config({'HOW': 'sum'})"
    assert found["wrong"]["failure"]["message"].startswith("element [5] is ")
    assert found["out of memory"]["failure"]["message"] == (
        "300000 bytes of shared memory in a block: the device takes 232448"
    )
    assert found["refused"]["failure"]["message"] == "error: operand type mismatch"


def test_configurations_that_are_the_same_to_the_framework_are_measured_once(service):
    found = evaluate(service, "sum", "plain")

    assert found["plain"]["build_ms"] == 0  # it is the default configuration
    assert found["plain"]["timing"] is not None


def test_a_lost_device_is_told_to_be_fatal(service):
    assert evaluate(service, "illegal")["illegal"]["fatal"]


def test_a_kernel_that_writes_to_its_argument_while_the_default_one_does_not_is_wrong(service):
    found = evaluate(service, "in place", "sum")

    assert found["in place"]["failure"]["message"] == "it writes to argument 0, which is an input"
    assert found["sum"]["failure"] is None


def test_two_configurations_are_timed_in_turns_on_fresh_arguments(service):
    answers(service, 1)
    request = KernelComparisonRequest(id=3, incumbent={"HOW": "plain"}, challenger={"HOW": "sum"}, delta=0.01)
    send(service, request.model_dump(mode="json"))
    (answer,) = answers(service, 1)

    assert (answer["id"], answer["comparison"]["failure"]) == (3, None)
    assert answer["comparison"]["pairs"] >= 6


def test_tensors_of_one_element_are_compared_whatever_their_strides_are():
    one = torch.ones(()).expand(1)
    data = Data((one, torch.rand(3, 4).T))
    data.renew()
    assert data.changed() == []
    data.working[0].fill_(2)
    assert data.changed() == [0]


def test_the_users_file_says_what_is_missing(tmp_path: Path):
    from tui_tuner.errors import ProblemError
    from tui_tuner.python_kernels.child.user_file import UserFile

    file = tmp_path / "kernel_without.py"
    file.write_text("x = 1\n\ndef arguments():\n    raise ValueError('no data')\n", "utf-8")
    loaded = UserFile(file)

    with pytest.raises(ProblemError, match=r"kernel_without\.py:4: arguments\(\) fails: ValueError: no data"):
        loaded.arguments("matmul", 0)
    with pytest.raises(ProblemError, match="has no kernel that can be tuned"):
        loaded.chosen({}, None)
    with pytest.raises(ProblemError, match="has several kernels: a, b"):
        loaded.chosen({"a": 1, "b": 2}, None)
    assert loaded.chosen({"a": 1, "b": 2}, "b") == "b"
    file.write_text("import no_such_package_here\n", "utf-8")
    with pytest.raises(ProblemError, match="cannot be loaded: ModuleNotFoundError") as caught:
        UserFile(file)
    assert caught.value.line == 1


def test_the_telling_line_of_a_compilers_words_is_found():
    from tui_tuner.python_kernels.child.kernel import telling_line

    reason = "ptxas fatal   : (C7600) Register allocation failed"
    ptxas = f"PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\n{reason}"
    assert telling_line(ptxas, "") == reason
    assert (
        telling_line("at 3:4:\n  x\n  ^\narange's range must be a power of 2", "")
        == "arange's range must be a power of 2"
    )
    assert telling_line("", "nothing said") == "nothing said"
