"""What the runner needs of a device: load, allocate, launch, time. One file a device beside this one."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.results import DeviceInfo, Resources
from tui_tuner.evaluate.tolerance import Bound, Verdict, compare
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.placement import Placement

KernelArgument = np.ndarray | np.generic
"""An array (copied to the device) or a NumPy scalar (passed by value)."""


@dataclass(frozen=True)
class LoadedKernel:
    """A built kernel on the device."""

    handle: Any
    resources: Resources


@dataclass(frozen=True)
class Buffers:
    """The arguments of one launch on the device.

    Attributes:
        arguments: the host values they were made from, in the kernel's order.
        restored: indices of the arrays that are reset to their host value before every launch.
        handle: the device's own record.
    """

    arguments: Sequence[KernelArgument]
    restored: frozenset[int]
    handle: Any


@dataclass(frozen=True)
class ClockSample:
    """The clock of the multiprocessors, MHz, why it is lower than it could be, and the temperature, degrees Celsius."""

    sm_mhz: int
    throttled_by: tuple[str, ...]
    temperature_c: int | None = None

    @property
    def is_held_down(self) -> bool:
        """Whether something slows it down that no kernel should be judged by: all but its limit of power, at which a
        kernel that uses the device well runs all the time."""
        return any(reason != POWER_CAP for reason in self.throttled_by)


POWER_CAP = "power cap"
LEAST_FLUSH_BYTES = 64 * 2**20
"""At least so much is written between two launches, so that the next one finds its cache cold."""


class Inspection:
    """Looks at the outputs of a kernel's launches: in full where their bits are not those of outputs found right.

    Args:
        check: looks at the outputs that are there now, in full.
        beside: of the kernel that this one is timed against: both are looked at in the same manner, or their times
            would differ by what looking costs the next launch.
    """

    def __init__(self, check: Callable[[], object], beside: Inspection | None = None) -> None:
        self._check = check
        self._right: set[int] = set()
        self._varied: list[int] = [] if beside is None else beside._varied

    @property
    def reproducible(self) -> bool:
        """Whether every launch had outputs of known bits until now, beside this one too."""
        return not self._varied

    def varies(self, digest: int) -> None:
        """Note outputs of other bits."""
        self._varied.append(digest)

    def knows(self, digest: int) -> bool:
        """Whether outputs with this digest were found right."""
        return digest in self._right

    def see(self, digest: int) -> None:
        """Look at the outputs that are there now, which have this digest; raises what the check raises."""
        if digest not in self._right:
            self._check()
            self._right.add(digest)


LaunchJob = tuple["Buffers", Geometry]
"""What a kernel is launched with."""


@dataclass(frozen=True)
class WatchedLaunch:
    """A launch under a tool that watches what the kernel does to memory.

    Attributes:
        label: names it, as in "n=17".
        arguments: in the kernel's order.
        outputs: which of them the kernel writes.
        geometry: of the launch.
        poisoned: the outputs that start with nothing that a kernel may read.
        placement: as `Device.placement`.
    """

    label: str
    arguments: Sequence[KernelArgument]
    outputs: frozenset[int]
    geometry: Geometry
    poisoned: frozenset[int] = frozenset()
    placement: Placement = field(default_factory=Placement)


class CannotWatch(Exception):
    """A tool that is not there, does not work or was not done in time; nothing is known of the kernel."""


class Device(ABC):
    """One device inside the runner process; used from one thread only.

    Attributes:
        unit: as `DeviceChoice.unit`.
        siblings: the devices of its kind that can be used here, itself included: how each is named by its number, and
            its unit; empty where nothing tells.
        load_s: how long a launch may take before it begins, where each loads its kernel anew, seconds.
    """

    info: DeviceInfo
    unit: str = ""
    load_s: float = 0.0
    siblings: Mapping[str, str] = {}
    placement = Placement()
    """Which arguments of launches are no parameters, and where they are put."""

    def use_checks(self, artifact: Path) -> None:
        """Check outputs, inputs and guards with these kernels from now on."""
        raise NotImplementedError("this device is checked on the host")

    @abstractmethod
    def load(self, artifact: Path, symbol: str) -> LoadedKernel:
        """Load a built kernel afresh, so that no state of an earlier load is left.

        Raises:
            DeviceFault: the artifact cannot be loaded (too much shared memory, missing symbol).
        """

    @abstractmethod
    def unload(self, kernel: LoadedKernel) -> None:
        """Give the kernel's module back."""

    @abstractmethod
    def allocate(
        self, arguments: Sequence[KernelArgument], restored: frozenset[int], *, guard_end: bool = True
    ) -> Buffers:
        """Copy the arguments to the device between guards.

        Args:
            guard_end: whether the end of every array (else its start) lies against
                memory that must not be touched.
        """

    def rewrite(self, buffers: Buffers, arguments: Sequence[KernelArgument]) -> Buffers:
        """Put other values where the arrays are that no launch restores; the buffers as they are then."""
        for index, (old, new) in enumerate(zip(buffers.arguments, arguments, strict=True)):
            if isinstance(new, np.ndarray) and new is not old and new.nbytes and index not in buffers.restored:
                self._write(buffers, index, np.ascontiguousarray(new))
        return replace(buffers, arguments=arguments)

    @abstractmethod
    def _write(self, buffers: Buffers, index: int, values: np.ndarray) -> None:
        """Copy contiguous values to where an array argument is."""

    @abstractmethod
    def download(self, buffers: Buffers, index: int) -> np.ndarray:
        """The present content of an array argument."""

    def pin(self, expected: np.ndarray) -> None:
        """Prepare an array that will be compared with for as long as the process lives; nothing where it is no use."""
        del expected

    def compare(self, buffers: Buffers, index: int, expected: np.ndarray, allowed: Bound) -> Verdict:
        """Whether an output is what is expected: on the host, where the device has no way of its own.

        What is expected is in the memory of the device only while no launch runs.
        """
        return compare(self.download(buffers, index), expected, allowed)

    def changed(self, buffers: Buffers, indices: Sequence[int]) -> int | None:
        """The first of these arrays that does not hold what it held when it was allocated, bit by bit; or None."""
        for index in indices:
            if not _same_bytes(self.download(buffers, index), np.asarray(buffers.arguments[index])):
                return index
        return None

    @abstractmethod
    def guard_violation(self, buffers: Buffers) -> DeviceFault | None:
        """That a guard was written to, or None. Guards that fault at once need no check."""

    @abstractmethod
    def free(self, buffers: Buffers) -> None:
        """Give the memory back."""

    @abstractmethod
    def launch(self, kernel: LoadedKernel, buffers: Buffers, geometry: Geometry, timeout_s: float) -> None:
        """Restore, launch once and wait.

        Raises:
            DeviceFault: it could not be launched, or it failed or hung.
        """

    def launch_each(
        self, kernel: LoadedKernel, jobs: Sequence[LaunchJob], timeout_s: float
    ) -> Generator[None, None, None]:
        """Launch each job in one load of the module; after each the caller looks at what it left.

        Raises:
            DeviceFault: as `launch`.
        """
        for buffers, geometry in jobs:
            self.launch(kernel, buffers, geometry, timeout_s)
            yield

    def launch_watched(
        self, tool: str, artifact: Path, symbol: str, launches: Sequence[WatchedLaunch], timeout_s: float
    ) -> None:
        """Launch a kernel that was built so that it, or a tool, finds what it does wrong; `timeout_s` is for all.

        Raises:
            DeviceFault: it was found to do something wrong.
            CannotWatch: nothing can be said.
        """
        raise CannotWatch(f"{tool} cannot be had for this device")

    def start_watcher(self, tools: Sequence[str]) -> bool:
        """Start one of these tools ahead of `launch_watched`, where that takes long; whether one was left to start."""
        return False

    @abstractmethod
    def time(
        self,
        kernel: LoadedKernel,
        buffers: Buffers,
        geometry: Geometry,
        launches: int,
        timeout_s: float,
        inspect: Inspection | None = None,
    ) -> list[float]:
        """Times of so many launches, ms; before each the arrays are restored and the cache is cold
        (except on CPU devices, whose caches stay warm).

        Args:
            inspect: sees the outputs of every launch, outside of what is timed.

        Raises:
            DeviceFault: as `launch`.
        """

    def time_first(self, kernel: LoadedKernel, buffers: Buffers, geometry: Geometry, timeout_s: float) -> float:
        """The time of one launch, ms, with none before it that is not told; otherwise as `time`."""
        return self.time(kernel, buffers, geometry, 1, timeout_s)[0]

    def time_warm(
        self, kernel: LoadedKernel, buffers: Buffers, geometry: Geometry, launches: int, timeout_s: float
    ) -> list[float]:
        """Times of so many launches, ms, each right behind another one on the same arrays, which are restored between.

        Returns:
            None at all where caches are warm anyway.

        Raises:
            DeviceFault: as `launch`.
        """
        return []

    def race(
        self, kernel: LoadedKernel, buffers: Buffers, geometry: Geometry, unordered: Collection[int] = ()
    ) -> str | None:
        """Which update is lost where blocks run at once, in words; None where none is known to be.

        For devices that run blocks one after the other: on others a wrong result shows it.

        Args:
            unordered: arrays in which blocks that are alone find the same place, as where they append.
        """
        return None

    def digest(self, buffers: Buffers) -> int:
        """A number that tells the present bits of the restored arrays from others."""
        return digest_of(self.download(buffers, index) for index in sorted(buffers.restored))

    def others(self) -> list[str]:
        """Other processes that use the device, each with what it holds, in words; empty where nothing tells."""
        return []

    def clock(self) -> ClockSample | None:
        """The present clock and what holds it down; None where the device does not tell."""
        return None


def digest_of(arrays: Iterable[np.ndarray]) -> int:
    """A number that changes with nearly every change of their bits, at the speed of memory."""
    hashed = hashlib.blake2b(digest_size=8)
    for array in arrays:
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        words = content[: content.size // 8 * 8].view(np.uint64)
        sums = (np.add.reduce(words), np.bitwise_xor.reduce(words), np.add.reduce(words[::3]))
        hashed.update(np.array(sums, np.uint64).tobytes() + content[words.size * 8 :].tobytes())
    return int.from_bytes(hashed.digest(), "little")


def _same_bytes(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(a.reshape(-1).view(np.uint8), np.ascontiguousarray(b).reshape(-1).view(np.uint8))
