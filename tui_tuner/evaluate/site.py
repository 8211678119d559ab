"""What an evaluator needs of the machine that it works on, or of several: places that measure, tools that build.

This machine is one such site (`evaluate/local.py`), a cluster is another (`evaluate/cluster/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tui_tuner.evaluate.devices.kind import DeviceChoice, DeviceSelection
from tui_tuner.evaluate.profiling.profiler import Profiler
from tui_tuner.evaluate.results import Build, DeviceInfo
from tui_tuner.evaluate.runner.protocol import DeviceAnswer, RunnerAnswer, RunnerRequest
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Problem


class PlaceLost(Exception):
    """A place is gone with all that it was doing, through no fault that is known of a kernel's."""


class Place(Protocol):
    """Where one device is: a runner of this machine, or of another one."""

    @property
    def doing(self) -> str:
        """What the device is at, in words; empty where that is not known."""

    def news(self) -> list[str]:
        """What happened there since this was asked last, a line each."""

    async def open(self, request: RunnerRequest) -> RunnerAnswer:
        """Ask once now and, unless it fails, again of every runner that follows a crash."""

    async def ask(self, request: RunnerRequest) -> RunnerAnswer:
        """Ask, one request at a time.

        Raises:
            UserError: the runner says that the user must mend something.
            RunnerDied: the request ended the runner; the next request gets a fresh one.
            DeviceError: the device does not come back.
            PlaceLost: it is gone.
        """

    async def close(self) -> None:
        """End the runner."""


@dataclass(frozen=True)
class OtherPlace:
    """A place that is still to be taken.

    Attributes:
        device: as the runner is told to open it.
    """

    place: Place
    title: str
    device: str


class ArtifactBuilder(Protocol):
    """What builds configurations; see `Builder.build`."""

    async def build(self, candidate: Candidate, configuration: Configuration, options: Sequence[str] = ()) -> Build:
        """The artifact of a configuration, or why there is none."""


@dataclass(frozen=True)
class Tools:
    """A builder, its compiler and version, how it is confined, in one line, and how many builds it does at once.

    Attributes:
        profiler: of what is built; None where there are no tools for that, or they are not wanted.
    """

    builder: ArtifactBuilder
    toolchain: str
    sandbox: str
    jobs: int
    profiler: Profiler | None = None


class Site(Protocol):
    """The machine that an evaluator works on, or several.

    Attributes:
        named: whether the user named each of the devices.
        is_here: whether other programs of this machine can use them.
    """

    named: bool
    is_here: bool

    @property
    def first(self) -> Place:
        """Where the first device is."""

    async def chosen(self, problem: Problem) -> tuple[DeviceSelection, str]:
        """The devices, and a note for the user.

        Raises:
            UserError: there is none.
        """

    async def ready(self, choice: DeviceChoice, problem: Problem) -> None:
        """Make ready for the first device to be taken."""

    async def others(self, selection: DeviceSelection, taken: DeviceAnswer) -> tuple[str, Sequence[OtherPlace]]:
        """The name of the first device, which is taken, and the places of the others.

        Raises:
            DeviceError: there is no such device, or it cannot be beside others.
        """

    async def tools(self, choice: DeviceChoice, device: DeviceInfo, problem: Problem) -> Tools:
        """What builds for a device.

        Raises:
            UserError: there is no compiler, or no sandbox.
        """

    async def close(self) -> None:
        """Leave the machine as it was."""
