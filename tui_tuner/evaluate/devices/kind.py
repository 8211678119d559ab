"""What all devices of a kind have in common: how they are named, told, sized, opened and built for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

from tui_tuner.errors import DeviceError
from tui_tuner.format import time_unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tui_tuner.evaluate.build.compilers import Compiler
    from tui_tuner.evaluate.devices.base import Device
    from tui_tuner.evaluate.devices.probe import DeviceReport, Probe
    from tui_tuner.evaluate.results import Ceiling, DeviceInfo
    from tui_tuner.evaluate.sandbox.run import Policy
    from tui_tuner.problem.languages import Language
    from tui_tuner.problem.model import Problem


class Address(Enum):
    """What stands behind a kind's name on the command line."""

    NONE = ""
    INDEX = ":N"
    PLATFORM = ":PLATFORM.N"
    CORE = ":CORE"
    FILE = ":FILE"


@dataclass(frozen=True)
class DeviceChoice:
    """One device, as it is named on the command line.

    Attributes:
        kind: name of its kind.
        index: number of the device, of an OpenCL device on its platform.
        platform: number of the OpenCL platform.
        backend: package that drives the device, or auto for the first that works.
        unit: what names it whatever the others are: the UUID of a GPU, the core of an emulator; `ALL` for the first
            of all that are there; empty where the number does.
    """

    kind: str
    index: int = 0
    platform: int = 0
    backend: str = "auto"
    unit: str = ""

    @property
    def uuid(self) -> str:
        """What names the device among all of its kind; empty where its number does."""
        return "" if self.unit == ALL else self.unit


ALL = "all"


@dataclass(frozen=True)
class DeviceSelection:
    """The devices that the user named, all of one kind; with `all` what is there says which the others are."""

    first: DeviceChoice
    others: tuple[DeviceChoice, ...] = ()

    @property
    def is_several(self) -> bool:
        """Whether more than one device may be meant."""
        return bool(self.others) or self.first.unit == ALL


class DeviceKind:
    """Traits of all devices of a kind; those of this class are a GPU's.

    Attributes:
        name: on the command line, in `DeviceInfo.kind` and in journals.
        noun: what is missing where there is none, as in "CUDA GPU".
        languages: that its devices run.
        address: how they are told apart.
        has_uuids: whether a device can be named by its UUID.
        has_several: whether several devices can be named, to measure side by side.
        is_record: whether times were taken before and stand in a file.
        has_blocks: whether a launch is a grid of blocks of threads, with limits of the device.
        has_warps: whether blocks run in warps, of which occupancy is told.
        has_ceilings: whether its bandwidth and its peak are measured by the runner.
        has_toolkit: whether NVIDIA's profilers and libraries in other processes can use it.
        is_emulated: whether it is so slow that a problem has other sizes there.
        sanitizers: tools that watch what a kernel does to memory, by the option of the compiler that a build for them
            needs; see `evaluate/sanitizers.py`.
        time_note: what is said of the unit over a column of times; may be empty.
        substitution: what the user is told where it replaces a device that is not there.
    """

    name = ""
    noun = "device"
    languages: tuple[Language, ...] = ()
    address = Address.NONE
    has_uuids = False
    has_several = False
    is_record = False
    has_blocks = True
    has_warps = False
    has_ceilings = False
    has_toolkit = False
    is_emulated = False
    sanitizers: Mapping[str, str] = MappingProxyType({})
    time_note = ""
    substitution = ""

    def backends(self) -> Iterable[str]:
        """Packages that can be named to drive its devices."""
        return ()

    def is_spelled(self, platform: str | None, index: str | None, backend: str | None) -> bool:
        """Whether a device of this kind can be named with these parts; None for one that was left out."""
        if self.address is Address.FILE or (platform is not None and self.address is not Address.PLATFORM):
            return False
        if index is not None and self.address is Address.NONE:
            return False
        return backend is None or backend in self._named_backends()

    def _named_backends(self) -> tuple[str, ...]:
        backends = (*self.backends(),)
        return ("auto", *backends) if backends else ()

    def spelled(self, choice: DeviceChoice) -> str:
        """A device of this kind as it is named on the command line."""
        index = {Address.INDEX: f":{choice.index}", Address.PLATFORM: f":{choice.platform}.{choice.index}"}
        place = f":{choice.unit}" if choice.unit else index.get(self.address, "")
        backend = "" if choice.backend == "auto" else f"@{choice.backend}"
        return f"{self.name}{place}{backend}"

    def spellings(self) -> Iterable[str]:
        """The forms in which its devices can be named."""
        if self.address is not Address.FILE:
            yield self.name
        if self.address is not Address.NONE:
            yield f"{self.name}{self.address.value}"
        if self.has_several:
            yield f"{self.name}:all"

    def missing(self, report: DeviceReport) -> str:
        """Why no such device can be used on this machine; empty where one can."""
        return ""

    def toolchain(self, report: DeviceReport) -> str:
        """What builds for its devices on this machine, in words; may take a second.

        Raises:
            DeviceError: nothing does.
        """
        return "built by its driver"

    def sized(self, problem: Problem) -> Problem:
        """A problem at the sizes that such a device is tuned for."""
        return problem.on_emulator() if self.is_emulated else problem

    def time_label(self, device: DeviceInfo) -> str:
        """The unit over a column of times."""
        unit = time_unit(cpu=device.is_cpu)
        return f"{unit} ({self.time_note})" if self.time_note else unit

    def facts(self, device: DeviceInfo) -> str:
        """A device and its limits, in words for a model."""
        return "\n".join(self._limits(device))

    def means(self, device: DeviceInfo, *, tensor_maps: bool = True) -> str:
        """What the code of a kernel may use beside its plain language, and what has no place there; may be empty.

        Args:
            tensor_maps: whether to tell how a kernel makes a tensor map, where the device has them.
        """
        return ""

    def _limits(self, device: DeviceInfo) -> Iterable[str]:
        yield f"{device.name} ({device.architecture or device.kind}), {device.toolchain}"
        if device.is_cpu:
            yield (
                "it is a CPU: its cores share the work-groups, the items of a group are vectorised or run one after "
                "another, and local memory is ordinary memory; times are wall-clock times of one launch"
            )
        warp = f", {device.warp_size} a warp" if self.has_warps else ""
        yield f"threads a block: at most {device.max_threads_per_block}{warp}"
        yield f"shared memory a block: {device.shared_bytes} bytes static, up to {device.shared_bytes_optin} dynamic"
        for what, value, unit in (
            ("multiprocessors", device.multiprocessors, ""),
            ("registers a multiprocessor", device.registers_per_multiprocessor, ""),
            ("shared memory a multiprocessor", device.shared_bytes_per_multiprocessor, " bytes"),
            ("L2 cache", device.l2_bytes, " bytes"),
            ("measured bandwidth of a copy", device.memory_gbs, " GB/s"),
            ("measured peak of float32 multiply-add", device.flops_gflops, " GFLOP/s"),
        ):
            if value is not None:
                yield f"{what}: {value:.0f}{unit}"
        yield from _ceilings("bandwidths", "GB/s", device.bandwidths, without="copy")
        yield from _ceilings("peaks", "1e9 operations a second", device.peaks, without="float32")

    def open(self, choice: DeviceChoice, *, allow_unconfined: bool) -> Device:
        """Take a device; only inside the runner process, since drivers stay loaded.

        Args:
            allow_unconfined: whether kernels that run on the CPU may run where they cannot be confined.

        Raises:
            DeviceError: it is not there, or a package or driver is missing, or its kernels cannot be confined.
        """
        raise DeviceError(f"a device of the kind '{choice.kind}' cannot be opened")

    def compiler(self, choice: DeviceChoice, device: DeviceInfo, problem: Problem, nvcc: Path | None) -> Compiler:
        """What builds for a device.

        Args:
            nvcc: the CUDA compiler of the settings; None to look for one.

        Raises:
            DeviceError: no compiler for it is installed.
        """
        raise DeviceError(f"nothing builds for a device of the kind '{choice.kind}'")

    async def confinement(
        self, choice: DeviceChoice, problem: Problem, builds: Path, policy: Policy, probe: Probe
    ) -> tuple[Path, ...] | None:
        """What a runner may read that must be confined since kernels run in it; None where none run there.

        Args:
            builds: directory of the artifacts.
            probe: looks for devices.

        Raises:
            ProblemError: the reference cannot be used.
            SandboxError: the runner must be confined and cannot be.
        """
        return None


def _ceilings(what: str, unit: str, ceilings: Mapping[str, Ceiling], without: str) -> Iterable[str]:
    """The measured ceilings in a line, and those that are computed in another."""
    for how, measured in (("measured", True), ("computed from clock and architecture", False)):
        told = (f"{name} {c.rate:.0f}" for name, c in ceilings.items() if c.measured is measured and name != without)
        if line := ", ".join(told):
            yield f"{what}, {how}, {unit}: {line}"
