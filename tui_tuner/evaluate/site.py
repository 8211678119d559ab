"""What an evaluator needs of the machine that it works on, or of several: places that measure, tools that build.

This machine is one such site, a cluster is another (`evaluate/cluster/`)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.build.builder import Builder
from tui_tuner.evaluate.build.compilers import Compiler
from tui_tuner.evaluate.build.compilers.cuda import Nvcc, nvrtc_script
from tui_tuner.evaluate.build.kept_builds import KeptBuilds
from tui_tuner.evaluate.devices.choose import choose_device, compiler_for, titles_of
from tui_tuner.evaluate.devices.kind import DeviceChoice, DeviceSelection
from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.devices.probe import probe_devices
from tui_tuner.evaluate.profiling.profiler import Profiler
from tui_tuner.evaluate.results import Build, DeviceInfo
from tui_tuner.evaluate.runner import send_home
from tui_tuner.evaluate.runner.protocol import DeviceAnswer, Frame, RunnerAnswer, RunnerRequest
from tui_tuner.evaluate.runner.supervisor import Supervisor
from tui_tuner.evaluate.sandbox.run import Policy, SandboxReport
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Problem

AnswerT = TypeVar("AnswerT", bound=Frame)


def expected(kind: type[AnswerT], answer: Frame) -> AnswerT:
    """An answer, which has to be of this kind."""
    if not isinstance(answer, kind):
        raise RuntimeError(f"{kind.__name__} was expected, not {answer!r}")
    return answer


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


@dataclass(frozen=True)
class LocalOptions:
    """Where and how to evaluate.

    Attributes:
        device: as the user names it, "auto", "cuda:0", "emulator".
        cache: directory of built artifacts.
        log: file for what device libraries print.
        jobs: builds at once.
        nvcc: path of the CUDA compiler, None to look for it.
        kept: builds of all runs, None where none are kept.
        run: what others are told that wait for a device of this run.
        profile: whether kernels are profiled where there are tools for that.
        sanitizers: tools that watch a kernel before it is accepted, as far as the device has them.
    """

    device: str
    cache: Path
    log: Path
    jobs: int
    policy: Policy
    nvcc: Path | None = None
    kept: KeptBuilds | None = None
    run: str = ""
    profile: bool = True
    sanitizers: tuple[str, ...] = ()


class ThisMachine:
    """The machine that the program runs on."""

    named = True
    is_here = True

    def __init__(self, options: LocalOptions) -> None:
        self._options = options
        self.first: Supervisor = Supervisor(options.log)
        self._proving: asyncio.Task[SandboxReport] | None = None

    async def chosen(self, problem: Problem) -> tuple[DeviceSelection, str]:
        """What the user named, or the best for the kernel."""
        return await choose_device(self._options.device, problem.language)

    async def ready(self, choice: DeviceChoice, problem: Problem) -> None:
        """Confine the runner, where kernels run in it; how builds are confined is tried while it opens the device."""
        options, kind = self._options, kind_named(choice.kind)
        self._proving = asyncio.create_task(options.policy.prove())
        if kind.has_toolkit and options.nvcc is None:
            options.policy.warm(*nvrtc_script())  # loads while the device opens
        readable = await kind.confinement(choice, problem, options.cache, options.policy, probe_devices)
        if readable is not None:
            send_home()
        self.first.confine(readable)

    async def others(self, selection: DeviceSelection, taken: DeviceAnswer) -> tuple[str, Sequence[OtherPlace]]:
        """A runner for each other device, which is named by what surely finds it."""
        if selection.is_several and taken.device.is_cpu and not kind_named(taken.device.kind).is_emulated:
            message = f"{taken.device.name} is a CPU, where kernels side by side would disturb each other"
            raise DeviceError(message, hint=f"name one: --device {taken.place}")
        titles = titles_of(selection, taken.place, taken.siblings)
        first = titles.pop(taken.place)
        log = self._options.log
        return first, [OtherPlace(Supervisor(log), title, device) for device, title in titles.items()]

    async def tools(self, choice: DeviceChoice, device: DeviceInfo, problem: Problem) -> Tools:
        """The compiler of this machine."""
        options = self._options
        report = await (self._proving or options.policy.prove())
        compiler = compiler_for(choice, device, problem, options.nvcc)
        builder = Builder(
            compiler,
            cache=options.cache,
            policy=options.policy,
            jobs=options.jobs,
            language=problem.language,
            kept=options.kept,
        )
        return Tools(
            builder,
            compiler.toolchain,
            report.line,
            options.jobs,
            profiler=self._profiler(choice, compiler),
        )

    def _profiler(self, choice: DeviceChoice, compiler: Compiler) -> Profiler | None:
        options = self._options
        if not (kind_named(choice.kind).has_toolkit and options.profile):
            return None
        nvcc = compiler.program if isinstance(compiler, Nvcc) else options.nvcc
        return Profiler.find(options.policy, nvcc)

    async def close(self) -> None:
        """End what starts compilers, and remove what is too much of the builds of all runs."""
        if self._proving is not None:
            await asyncio.gather(self._proving, return_exceptions=True)
        self._options.policy.close()
        if self._options.kept is not None:
            await asyncio.to_thread(self._options.kept.shrink)
