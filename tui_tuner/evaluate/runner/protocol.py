"""What the evaluator asks of the runner and what the runner answers, as length-prefixed JSON over a socket."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tui_tuner.evaluate.given_fault import GivenFault
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Failure, Timing
from tui_tuner.evaluate.tolerance import AllowedError
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.model import Problem


class Frame(BaseModel):
    """One message between evaluator and runner."""

    model_config = ConfigDict(frozen=True, extra="forbid")


SayPhase = Callable[[str, float], None]
"""Tells the parent what is done now and within how many seconds it hears again."""


class LaunchShape(Frame):
    """Blocks, threads of a block and dynamic shared memory (bytes) of one launch; `local` as in `Geometry`."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0
    local: tuple[tuple[int, int], ...] = ()

    @property
    def geometry(self) -> Geometry:
        """The shape as a device is told it."""
        return Geometry(self.grid, self.block, self.shared_bytes, self.local)


class Executable(Frame):
    """A built configuration: `shapes` holds one launch for each test and, last, one for the timed size."""

    artifact: str
    symbol: str
    shapes: list[LaunchShape]

    @property
    def timed(self) -> tuple[str, str, LaunchShape]:
        """What is launched at the timed size."""
        return self.artifact, self.symbol, self.shapes[-1]


class OpenRequest(Frame):
    """Take the device; `allow_unconfined` says whether native code may run where it cannot be confined.

    Attributes:
        run: what others are told that wait for the device.
        problem: whose inputs are drawn meanwhile, if it is the one that is prepared next.
        tools: that watch kernels later, to be started ahead.
    """

    type: Literal["open"] = "open"
    device: str
    allow_unconfined: bool = False
    run: str = ""
    problem: Problem | None = None
    tools: list[str] = []


class ChecksRequest(Frame):
    """Check on the device from now on, with the kernels of this artifact."""

    type: Literal["checks"] = "checks"
    artifact: str


class CeilingsRequest(Frame):
    """Measure bandwidths, over so many bytes, and peaks with the built ceiling kernels."""

    type: Literal["ceilings"] = "ceilings"
    artifact: str
    bytes: int


class RehearsalRequest(Frame):
    """Run the kernel as given at the problem's tests, which are only proposed, and keep nothing.

    Attributes:
        is_timed: whether a launch at the last of them is timed, too.
    """

    type: Literal["rehearse"] = "rehearse"
    problem: Problem
    baseline: Executable
    is_timed: bool = False


class PreparationRequest(Frame):
    """Check the kernel as given against its reference and keep what the checks of candidates need.

    Attributes:
        draws: how often the data of a test are drawn before it is given up.
    """

    type: Literal["prepare"] = "prepare"
    problem: Problem
    baseline: Executable
    draws: int = 1


class EvaluationRequest(Frame):
    """Verify and measure; `best_ms` is the incumbent's time, for stopping hopeless ones early."""

    type: Literal["evaluate"] = "evaluate"
    executable: Executable
    best_ms: float | None = None


class ComparisonRequest(Frame):
    """Time challenger and incumbent, interleaved, on data that neither has seen."""

    type: Literal["compare"] = "compare"
    incumbent: Executable
    challenger: Executable
    delta: float
    thorough: bool = False


class ProfileRequest(Frame):
    """Launch so often at the timed size, under a profiler, which counts; nothing is checked."""

    type: Literal["profile"] = "profile"
    problem: Problem
    executable: Executable
    launches: int


class SanitizeRequest(Frame):
    """Launch at the tests under each of some tools that watch what the kernel does to memory."""

    type: Literal["sanitize"] = "sanitize"
    executable: Executable
    tools: list[str]


class Phase(Frame):
    """What the runner does now; it must say the next thing within `limit_s`.

    Attributes:
        notice: whether it is for the user to read.
    """

    type: Literal["phase"] = "phase"
    text: str
    limit_s: float
    notice: bool = False


INCUMBENT, AS_GIVEN = "incumbent against challenger", "the kernel as given"
FRESH, EXPECTED = "fresh inputs", "the expected outputs"
BESIDE_CHALLENGER = (INCUMBENT, AS_GIVEN, FRESH, EXPECTED)
"""How the phases of a comparison begin in which nothing of the challenger runs."""


class DeviceAnswer(Frame):
    """The device is taken.

    Attributes:
        place: how it is named so that it is surely found again.
        siblings: by their numbers, the devices that were to be seen, and how each is surely found.
        others: other processes that use it, a line each.
    """

    type: Literal["opened"] = "opened"
    device: DeviceInfo
    place: str = ""
    siblings: dict[str, str] = {}
    others: list[str] = []


class RehearsalAnswer(Frame):
    """Whether the kernel as given can be checked at the tests; `fatal` as in `EvaluationAnswer`.

    Attributes:
        fault: why it cannot; None if it can.
        no_numbers: outputs with elements that are no number, though the kernel can be checked.
        launch_ms: what a launch takes at the last test, where that was asked.
        hardly_changed: outputs of which a launch changes few elements, and how many of how many these are.
    """

    type: Literal["rehearsed"] = "rehearsed"
    fault: GivenFault | None = None
    fatal: bool = False
    no_numbers: list[str] = []
    launch_ms: float | None = None
    hardly_changed: dict[str, tuple[int, int]] = {}


class EvaluationAnswer(Frame):
    """Outcome of prepare and evaluate; `fatal` means that this runner must be replaced.

    Attributes:
        left_out: inputs at which the kernel as given fails, so that no candidate is checked there, a line each.
        allowed: what is told of the bounds of outputs, of `prepare`; see `MachineReport.allowed`.
    """

    type: Literal["evaluated"] = "evaluated"
    timing: Timing | None = None
    failure: Failure | None = None
    error: float | None = None
    verify_ms: float = 0.0
    measure_ms: float = 0.0
    fatal: bool = False
    left_out: list[str] = []
    allowed: dict[str, AllowedError] = {}


class ToolFinding(Frame):
    """What a tool found, None for nothing; `unknown` is why it cannot say, `has_seen` whether a launch was watched."""

    failure: Failure | None = None
    unknown: str = ""
    has_seen: bool = True


class SanitizeAnswer(Frame):
    """What each tool found."""

    type: Literal["sanitized"] = "sanitized"
    findings: dict[str, ToolFinding]
    fatal: bool = False


class ComparisonAnswer(Frame):
    """Outcome of compare."""

    type: Literal["compared"] = "compared"
    comparison: Comparison
    fatal: bool = False


class ProfileAnswer(Frame):
    """It was launched."""

    type: Literal["profiled"] = "profiled"


class UserErrorAnswer(Frame):
    """The request could not be served, for a reason that is the user's to mend.

    Attributes:
        machine: whether it is the machine's fault and may go better another time.
        fatal: whether the device is lost, so that this runner must be replaced.
    """

    type: Literal["failed"] = "failed"
    message: str
    hint: str | None = None
    file: str | None = None
    line: int | None = None
    machine: bool = False
    fatal: bool = False


RunnerRequest = Annotated[
    OpenRequest
    | ChecksRequest
    | CeilingsRequest
    | RehearsalRequest
    | PreparationRequest
    | EvaluationRequest
    | ComparisonRequest
    | ProfileRequest
    | SanitizeRequest,
    Field(discriminator="type"),
]
RunnerAnswer = Annotated[
    Phase
    | DeviceAnswer
    | RehearsalAnswer
    | EvaluationAnswer
    | ComparisonAnswer
    | ProfileAnswer
    | SanitizeAnswer
    | UserErrorAnswer,
    Field(discriminator="type"),
]

HEADER, MAX_BYTES = struct.Struct("!I"), 64 * 2**20


class ChannelClosed(Exception):
    """The other side is gone."""


def encode(message: dict[str, Any]) -> bytes:
    """One frame: four bytes of length, then the JSON text."""
    body = json.dumps(message, allow_nan=True).encode()
    return HEADER.pack(len(body)) + body


def _length(header: bytes) -> int:
    (length,) = HEADER.unpack(header)
    if length > MAX_BYTES:
        raise ChannelClosed(f"a frame of {length} bytes is more than the {MAX_BYTES} allowed")
    return int(length)


def _decode(body: bytes) -> dict[str, Any]:
    message = json.loads(body)
    if not isinstance(message, dict):
        raise ChannelClosed("a frame that is no JSON object")
    return message


def send(connection: socket.socket, message: dict[str, Any]) -> None:
    """Send one frame, blocking."""
    connection.sendall(encode(message))


def receive(connection: socket.socket) -> dict[str, Any]:
    """Wait for one frame, blocking; raises `ChannelClosed` where the other side is gone."""
    return _decode(_exactly(connection, _length(_exactly(connection, HEADER.size))))


def _exactly(connection: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        piece = connection.recv(min(count - len(received), 2**16))
        if not piece:
            raise ChannelClosed("the connection was closed")
        received += piece
    return bytes(received)


async def receive_async(reader: asyncio.StreamReader) -> dict[str, Any]:
    """Wait for one frame; raises `ChannelClosed` where the other side is gone."""
    try:
        header = await reader.readexactly(HEADER.size)
        return _decode(await reader.readexactly(_length(header)))
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise ChannelClosed("the connection was closed") from error
