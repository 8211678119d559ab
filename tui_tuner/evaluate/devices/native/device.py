"""The CPU as a device: compiled C kernels, and CUDA kernels built for the emulator.

The candidate is native code that a model wrote, so it is never loaded into this process: every launch happens
in a confined executor, over arrays in memory that both share.
"""

from __future__ import annotations

import os
import platform
import secrets
import time
from collections.abc import Collection, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.build.compilers.gnu import Gnu, cpu_model, find_gnu
from tui_tuner.evaluate.devices.base import (
    Buffers,
    CannotWatch,
    Device,
    Inspection,
    KernelArgument,
    LaunchJob,
    LoadedKernel,
    WatchedLaunch,
    digest_of,
)
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.devices.kind import ALL
from tui_tuner.evaluate.devices.native.code import NativeArguments, NativeCode, NativeLaunch
from tui_tuner.evaluate.devices.native.executors import Executor, KeptExecutors, executor_server
from tui_tuner.evaluate.devices.native.memory import SharedArray, SharedMemory
from tui_tuner.evaluate.devices.native.protocol import Task
from tui_tuner.evaluate.devices.native.races import BlockTrace, RestoredArrays, lost_between, pairs_of_blocks
from tui_tuner.evaluate.devices.native.verdict import check_end, checked_times
from tui_tuner.evaluate.results import DeviceInfo, FailureKind, Resources
from tui_tuner.problem.candidate import Geometry

_LOAD_TIMEOUT_S = 30.0
_ALONE_LIMIT_S = 1.0
_SHARED_BYTES, _SHARED_BYTES_OPTIN = 49152, 232448


@dataclass(frozen=True, eq=False)
class _Library:  # of one load: each has executors of its own
    artifact: Path
    symbol: str


@dataclass(frozen=True, eq=False)
class _SharedArguments:
    """Arguments as an executor sees them; `restored` pairs a shared array with its untouched copy."""

    values: NativeArguments
    memory: SharedMemory
    restored: RestoredArrays

    @property
    def restored_bytes(self) -> int:
        return sum(array.nbytes for array, _ in self.restored)


class _Turn(NamedTuple):
    """What an executor is timed with."""

    library: _Library
    shared: _SharedArguments
    geometry: Geometry


class NativeDevice(Device):
    """This machine's CPU.

    Args:
        code: the form of the kernels that it runs.
        allow_unconfined: whether kernels may run where the operating system cannot confine them.
        core: the only one that this process and what it starts run on, `ALL` for the first; empty for any.

    Raises:
        DeviceError: no compiler for it is installed, or there is no such core.
    """

    load_s = _LOAD_TIMEOUT_S

    def __init__(self, code: NativeCode, *, allow_unconfined: bool = False, core: str = "") -> None:
        if core:
            self.siblings = {f"{code.kind}:{one}": str(one) for one in sorted(os.sched_getaffinity(0))}
            self.unit = _keep_to(core)
        self._code, self._strict = code, not allow_unconfined
        self._server, self._held = executor_server(), KeptExecutors()
        self._tried: dict[tuple[Path, str, int, int], Resources] = {}
        gnu = find_gnu(code.compiler)
        self._libraries = [str(gnu.program.parent.parent / name) for name in ("lib", "lib64")]
        self.info = _device_info(code, gnu)

    def load(self, artifact: Path, symbol: str) -> LoadedKernel:
        """Try the artifact in an executor of its own, once: whoever launches or times it from now on loads it afresh.

        Raises:
            DeviceFault: it cannot be loaded, lacks the symbol or fails while it is loaded.
            SandboxError: the executor cannot be confined.
        """
        library = _Library(artifact.resolve(), symbol)
        try:
            state = artifact.stat()
        except OSError as error:
            raise DeviceFault(FailureKind.LAUNCH, f"{artifact.name}: {error.strerror}") from error
        tried = (library.artifact, symbol, state.st_mtime_ns, state.st_ino)
        if tried not in self._tried:
            self._tried[tried] = self._try(library)
        return LoadedKernel(library, self._tried[tried])

    def _try(self, library: _Library) -> Resources:
        executor = self._executor(library, [], _LOAD_TIMEOUT_S)
        executor.step(_LOAD_TIMEOUT_S)
        ended = executor.end()
        check_end(ended, None, _LOAD_TIMEOUT_S)
        return Resources(shared_bytes=ended.report.page.shared_bytes if self._code.is_emulated else None)

    def unload(self, kernel: LoadedKernel) -> None:
        """End the executor in which it was timed; all others load it afresh."""
        self._held.end(lambda turn: turn.library is kernel.handle)

    def allocate(
        self, arguments: Sequence[KernelArgument], restored: frozenset[int], *, guard_end: bool = True
    ) -> Buffers:
        """Copy the arrays to shared memory between pages that fault.

        Raises:
            DeviceError: there is not enough memory.
            DeviceFault: a scalar has a type that C does not have.
        """
        arrays = {index: one for index, one in enumerate(arguments) if isinstance(one, np.ndarray)}
        scalars = {i: self._code.scalar(one) for i, one in enumerate(arguments) if not isinstance(one, np.ndarray)}
        kept = [number for number, index in enumerate(arrays) if index in restored]
        parts = {n: len(arrays[index]) for n, index in enumerate(arrays) if index in self.placement.lists}
        try:
            memory = SharedMemory(list(arrays.values()), kept, guard_end=guard_end, listed=parts)
        except (MemoryError, OSError) as error:
            raise DeviceError(f"not enough memory: {error}", hint="make the sizes of the problem smaller") from error
        shared = dict(zip(arrays, memory.arrays, strict=True))
        values = [scalars[index] if index in scalars else shared[index] for index in range(len(arguments))]
        pristine = [(shared[index], np.ascontiguousarray(arrays[index])) for index in arrays if index in restored]
        return Buffers(arguments, restored, _SharedArguments(values, memory, pristine))

    def _write(self, buffers: Buffers, index: int, values: np.ndarray) -> None:
        buffers.handle.values[index].bytes_view()[:] = values.reshape(-1).view(np.uint8)

    def download(self, buffers: Buffers, index: int) -> np.ndarray:
        """The present content of an array argument, as a copy."""
        original = buffers.arguments[index]
        content: np.ndarray = buffers.handle.values[index].bytes_view().view(original.dtype)
        return content.reshape(original.shape).copy()

    def guard_violation(self, buffers: Buffers) -> DeviceFault | None:
        """That an array was written beside, in the bytes that do not fault."""
        arrays = ((i, value) for i, value in enumerate(buffers.handle.values) if isinstance(value, SharedArray))
        return next((fault for index, array in arrays if (fault := array.damage(index)) is not None), None)

    def free(self, buffers: Buffers) -> None:
        """Give the memory back."""
        self._held.end(lambda turn: turn.shared is buffers.handle)
        buffers.handle.memory.close()

    def launch(self, kernel: LoadedKernel, buffers: Buffers, geometry: Geometry, timeout_s: float) -> None:
        """Restore, launch once and wait; `timeout_s` is for all of it.

        Raises:
            DeviceFault: it failed or did not end in time; a deadlock counts as the latter.
            SandboxError: the executor cannot be confined.
        """
        once = [self._launch((buffers, geometry))]
        with closing(self._paused(self._executor(kernel.handle, once, timeout_s), once, timeout_s)) as running:
            next(running)

    def launch_each(
        self, kernel: LoadedKernel, jobs: Sequence[LaunchJob], timeout_s: float
    ) -> Generator[None, None, None]:
        """Launch each job in one executor, with blocks and threads in an order of chance; `timeout_s` is for each.

        Raises:
            DeviceFault: as `launch`.
            SandboxError: the executor cannot be confined.
        """
        launches = [self._launch(job, order=secrets.randbits(31) | 1) for job in jobs]
        yield from self._paused(self._executor(kernel.handle, launches, timeout_s), launches, timeout_s)

    def launch_watched(
        self, tool: str, artifact: Path, symbol: str, launches: Sequence[WatchedLaunch], timeout_s: float
    ) -> None:
        """Launch a kernel that was built to watch itself; `timeout_s` is for all, of which one must be done, twice.

        Raises:
            DeviceFault: it was found to do something wrong.
            CannotWatch: nothing can be said.
        """
        end = time.monotonic() + timeout_s
        try:
            kernel = self.load(artifact, symbol)
        except DeviceFault as fault:
            raise CannotWatch(fault.message) from fault
        for number, launch in enumerate(launches):
            if number and time.monotonic() > end:
                return
            self._launch_watched(kernel, launch, end - time.monotonic(), must_end=number == 0)

    def _launch_watched(self, kernel: LoadedKernel, launch: WatchedLaunch, left_s: float, *, must_end: bool) -> None:
        buffers = self.allocate(launch.arguments, launch.outputs)
        try:
            for _ in self.launch_each(kernel, [(buffers, launch.geometry)] * (1 + must_end), max(left_s, 0.0)):
                pass
        except DeviceFault as fault:
            if fault.kind is FailureKind.TIMEOUT and not must_end:
                return
            if fault.kind is FailureKind.TIMEOUT:
                raise CannotWatch(f"it was not done in time at {launch.label}") from fault
            raise fault.at(launch.label) from fault
        finally:
            self.free(buffers)

    def time(
        self,
        kernel: LoadedKernel,
        buffers: Buffers,
        geometry: Geometry,
        launches: int,
        timeout_s: float,
        inspect: Inspection | None = None,
        uncounted: int = 1,
    ) -> list[float]:
        """Times of so many launches, ms, after some that are not counted; `timeout_s` is for all of them.

        Raises:
            DeviceFault: as `launch`, or the times cannot be true.
            SandboxError: the executor cannot be confined.
        """
        steps = launches + uncounted
        launch, turn = self._launch((buffers, geometry)), _Turn(kernel.handle, buffers.handle, geometry)
        with self._held.turn(turn, steps, lambda n: self._executor(kernel.handle, [launch] * n, timeout_s)) as executor:
            for _ in self._steps(executor, [launch] * steps, timeout_s, each=False):
                if inspect is not None:
                    inspect.see(self.digest(buffers))
        done = len(executor.cpu_s) - 1
        cores = len(os.sched_getaffinity(0)) if not self._code.is_emulated else 1
        claimed = [ns / 1e6 for ns in executor.report.nanoseconds[done - steps : done]]
        return checked_times(claimed, executor.cpu_s[-steps:], buffers.handle.restored_bytes, cores)[uncounted:]

    def time_first(self, kernel: LoadedKernel, buffers: Buffers, geometry: Geometry, timeout_s: float) -> float:
        """The time of one launch, ms, with none before it."""
        return self.time(kernel, buffers, geometry, 1, timeout_s, uncounted=0)[0]

    def race(
        self, kernel: LoadedKernel, buffers: Buffers, geometry: Geometry, unordered: Collection[int] = ()
    ) -> str | None:
        """Try a few pairs of blocks alone, each from the same memory; what only one of them can have written."""
        restored: RestoredArrays = buffers.handle.restored

        def run(pair: tuple[int, int], behind: bool) -> list[BlockTrace]:
            launches = [self._launch((buffers, geometry), alone=block, behind=behind) for block in pair]
            executor, traces = self._executor(kernel.handle, launches, _ALONE_LIMIT_S), []
            try:
                for _ in self._paused(executor, launches, _ALONE_LIMIT_S):
                    base = executor.bases[buffers.handle.memory]
                    traces.append(BlockTrace.taken(restored, executor.report.page.atomics, base))
            finally:  # what all blocks together leave as it was, as a counter
                self.rewrite(buffers, [one.view() if isinstance(one, np.ndarray) else one for one in buffers.arguments])
            return traces

        pairs = pairs_of_blocks(geometry) if self._code.is_emulated else []
        return lost_between(pairs, run, buffers.handle.values, restored, unordered)

    def digest(self, buffers: Buffers) -> int:
        """The digest of the shared arrays, without a copy."""
        return digest_of(array.bytes_view() for array, _ in buffers.handle.restored)

    def _launch(self, job: LaunchJob, *, order: int = 0, alone: int = 0, behind: bool = False) -> NativeLaunch:
        buffers, geometry = job
        if self._code.is_emulated and geometry.shared_bytes > _SHARED_BYTES_OPTIN:
            message = f"{geometry.shared_bytes} bytes of dynamic shared memory: a block has {_SHARED_BYTES_OPTIN}"
            raise DeviceFault(FailureKind.LAUNCH, message)
        shared: _SharedArguments = buffers.handle
        return NativeLaunch(shared.values, shared.memory, geometry, order, alone, behind, self.placement)

    def _executor(self, library: _Library, launches: Sequence[NativeLaunch], timeout_s: float) -> Executor:
        once = list(dict.fromkeys(launches))
        memories = list(dict.fromkeys(launch.memory for launch in once))
        task = Task(
            emulated=self._code.is_emulated,
            artifact=str(library.artifact),
            symbol=library.symbol,
            memories=[memory.told for memory in memories],
            launches=[launch.told(memories) for launch in once],
            sequence=[once.index(launch) for launch in launches],
            timeout_s=timeout_s,
            libraries=self._libraries,
            strict=self._strict,
        )
        return Executor(self._server, task, memories)

    def _paused(
        self, executor: Executor, launches: Sequence[NativeLaunch], timeout_s: float
    ) -> Generator[None, None, None]:
        """Go on launching; a pause after each. The executor ends with the last one, or when nobody wants more."""
        try:
            yield from self._steps(executor, launches, timeout_s)
        finally:
            executor.end()

    def _steps(
        self, executor: Executor, launches: Sequence[NativeLaunch], timeout_s: float, *, each: bool = True
    ) -> Generator[None, None, None]:
        """Launch, in one that has loaded the artifact or is yet to, `each` within the limit; a pause after each."""
        loaded, left_s = bool(executor.cpu_s) or executor.step(_LOAD_TIMEOUT_S), timeout_s
        for launch in launches:
            began = time.monotonic()
            if not loaded or not executor.step(max(left_s, 0.0)):
                check_end(executor.end(), launch, timeout_s)
            left_s -= 0.0 if each else time.monotonic() - began
            yield


def _keep_to(core: str) -> str:
    """Run on this core alone from now on; which it is."""
    usable = os.sched_getaffinity(0)
    number = min(usable) if core == ALL else int(core)
    if number not in usable:
        hint = f"usable here: {', '.join(map(str, sorted(usable)))}"
        raise DeviceError(f"there is no core {number} to run on", hint=hint)
    os.sched_setaffinity(0, {number})
    return str(number)


def _device_info(code: NativeCode, gnu: Gnu) -> DeviceInfo:
    return DeviceInfo(
        kind=code.kind,
        name=code.name.format(cpu=cpu_model()),
        backend=gnu.name,
        architecture=platform.machine(),
        toolchain=gnu.line,
        shared_bytes=_SHARED_BYTES,
        shared_bytes_optin=_SHARED_BYTES_OPTIN if code.is_emulated else _SHARED_BYTES,
        is_cpu=True,
    )
