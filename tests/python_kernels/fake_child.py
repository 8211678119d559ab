"""A kernel's process without torch: the protocol of the real one, times from a formula, faults on demand.

Started as `python fake_child.py DESCRIPTION MARK REQUESTS ANSWERS`. The number of warps says what happens: at 16 the
process dies, at 32 it hangs, at 2 the device is lost, at 1 the compiler refuses. MARK gets a line for each start.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

from pydantic import TypeAdapter

from tui_tuner.evaluate.results import Ceiling, Comparison, DeviceInfo, Failure, FailureKind, Resources, Timing
from tui_tuner.evaluate.runner.protocol import ChannelClosed, Frame, UserErrorAnswer, receive, send
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.model import Configuration
from tui_tuner.python_kernels import (
    LAUNCHING,
    DescriptionAnswer,
    DescriptionRequest,
    ForgetRequest,
    KernelComparisonAnswer,
    KernelComparisonRequest,
    KernelDescription,
    KernelEvaluationAnswer,
    KernelEvaluationRequest,
    KernelLaunchesAnswer,
    KernelLaunchesRequest,
    KernelOpenAnswer,
    KernelOpenRequest,
    KernelPhase,
    KernelRequest,
    MachineCodeAnswer,
    MachineCodeRequest,
    Rewritten,
)

DEVICE = DeviceInfo(
    kind="cuda",
    name="Fake GPU",
    backend="helion 1.4.0",
    architecture="sm_90",
    toolchain="helion 1.4.0, fake",
    multiprocessors=132,
    max_threads_per_multiprocessor=2048,
    shared_bytes_optin=232448,
    memory_gbs=4000.0,
    flops_gflops=66900.0,
    peaks={"float32": Ceiling(rate=66900.0, measured=False)},
)
LIMIT_S = 0.5
"""For an answer, where there will be none."""
LONG_LIMIT_S = 2.5
"""For all others, which come at once."""
LOST, HANGS = 2, 32
SAYS = os.environ.get("FAKE_MEMCHECK", "")
UNANSWERED = 64


def milliseconds(configuration: Configuration, rewritten: Rewritten | None = None) -> float:
    """A made-up machine: it likes tiles of 128, 8 warps and what is rewritten."""
    tiles = [value for name, value in configuration.items() if name.startswith("block_sizes") or name == "rows"]
    warps = float(configuration.get("num_warps", 4))
    usual = 1.0 + sum(abs(float(tile) - 128) / 128 for tile in tiles) + abs(warps - 8) / 8
    return usual if rewritten is None else usual / 2


def evaluated(request: KernelEvaluationRequest) -> KernelEvaluationAnswer:
    match request.configuration.get("num_warps"):
        case 16:
            os._exit(7)
        case 32:
            time.sleep(60)
        case 2:  # LOST
            failure = Failure(kind=FailureKind.ILLEGAL_ACCESS, message="an illegal memory access was encountered")
            return KernelEvaluationAnswer(id=request.id, failure=failure, fatal=True)
        case 1:
            failure = Failure(kind=FailureKind.COMPILE, message="error: made up")
            return KernelEvaluationAnswer(id=request.id, failure=failure)
    if request.rewritten is not None and "tl.sqrt" in request.rewritten.source:
        failure = Failure(kind=FailureKind.WRONG_RESULT, message="element [0] is 1, expected 2")
        return KernelEvaluationAnswer(id=request.id, failure=failure)
    time_ms = milliseconds(request.configuration, request.rewritten)
    timing = Timing(median=time_ms, low=time_ms * 0.999, high=time_ms * 1.001, samples=20)
    warps = request.configuration.get("num_warps")
    return KernelEvaluationAnswer(
        id=request.id,
        timing=timing,
        as_written=f"helion.Config(num_warps={warps})",
        build_ms=1.0,
        resources=Resources(registers=32, shared_bytes=0),
        geometry=Geometry(grid=(8192, 1, 1), block=(32 * int(warps or 4), 1, 1)),
    )


def compiled(request: MachineCodeRequest, description: Path) -> MachineCodeAnswer:
    """What nvdisasm told of a real kernel, in place of what it is told of."""
    listing = description.with_suffix(".sass")
    if not listing.exists():
        failure = Failure(kind=FailureKind.INVALID, message="2 launches instead of one")
        return MachineCodeAnswer(id=request.id, failure=failure)
    Path(request.artifact).write_bytes(listing.read_bytes())
    return MachineCodeAnswer(id=request.id, symbol="softmax")


def say_out(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def launched(request: KernelLaunchesRequest) -> KernelLaunchesAnswer:
    say_out("========= Invalid __global__ write of size 4 bytes\n=========     of the file's own")
    say_out(LAUNCHING)
    source = "" if request.rewritten is None else request.rewritten.source
    if "# reads behind x" in source or "# as the file does" in SAYS:
        say_out((Path(__file__).parent / "said/memcheck.txt").read_text("utf-8"))
        if "# dies of it" in source:
            os._exit(1)
    if request.configuration.get("num_warps") == LOST:
        return KernelLaunchesAnswer(failure=Failure(kind=FailureKind.ILLEGAL_ACCESS, message="made up"))
    return KernelLaunchesAnswer()


def compared(request: KernelComparisonRequest) -> KernelComparisonAnswer:
    before = milliseconds(request.incumbent, request.incumbent_rewritten)
    ratio = before / milliseconds(request.challenger, request.challenger_rewritten)
    return KernelComparisonAnswer(id=request.id, comparison=Comparison(ratio=ratio, low=ratio, high=ratio, pairs=30))


def main() -> None:
    description, mark, *numbers = sys.argv[1:]
    known = KernelDescription.model_validate_json(Path(description).read_text("utf-8"))
    with Path(mark).open("a", encoding="utf-8") as marks:
        marks.write("started\n")
    requests, answers = (socket.socket(fileno=int(number)) for number in numbers)
    adapter: TypeAdapter[KernelRequest] = TypeAdapter(KernelRequest)

    def say(frame: Frame) -> None:
        send(answers, frame.model_dump(mode="json"))

    while True:
        try:
            request = adapter.validate_python(receive(requests))
        except ChannelClosed:
            return
        if isinstance(request, DescriptionRequest) and request.kernel == "missing":
            say(UserErrorAnswer(message="has no kernel 'missing'", hint="did you mean 'matmul'?", file=request.file))
        elif isinstance(request, DescriptionRequest):
            say(KernelPhase(text="loading", limit_s=100.0))
            notes = [] if request.host is None else [f"ran {request.host}"]
            say(DescriptionAnswer(description=known.model_copy(update={"notes": notes})))
        elif isinstance(request, KernelOpenRequest):
            with Path(mark).open("a", encoding="utf-8") as marks:
                marks.write("" if request.host is None else f"opened with {request.host}\n")
            given = evaluated(KernelEvaluationRequest(id=0, configuration=request.default))
            say(KernelOpenAnswer(device=DEVICE, given=given))
        elif isinstance(request, KernelLaunchesRequest):
            say(launched(request))
            return
        elif isinstance(request, MachineCodeRequest):
            say(compiled(request, Path(description)))
        elif not isinstance(request, ForgetRequest):
            warps = request.configuration.get("num_warps") if isinstance(request, KernelEvaluationRequest) else None
            if warps == UNANSWERED:
                continue
            hangs = warps == HANGS
            say(KernelPhase(id=request.id, text="the first launch", limit_s=LIMIT_S if hangs else LONG_LIMIT_S))
            answer = evaluated(request) if isinstance(request, KernelEvaluationRequest) else compared(request)
            say(answer)
            if answer.fatal:
                return


if __name__ == "__main__":
    main()
