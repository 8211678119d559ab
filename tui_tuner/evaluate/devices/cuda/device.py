"""An NVIDIA GPU: kernel_tuner's backends launch and time, the driver's own library keeps the memory."""

from __future__ import annotations

import itertools
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

import numpy as np

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.devices import constant_mismatch, constant_symbols
from tui_tuner.evaluate.devices.base import (
    Buffers,
    ClockSample,
    Device,
    Inspection,
    KernelArgument,
    LoadedKernel,
    WatchedLaunch,
)
from tui_tuner.evaluate.devices.cuda import CudaError
from tui_tuner.evaluate.devices.cuda.backends import LoadedFunction, Opaque, by_value, open_backend
from tui_tuner.evaluate.devices.cuda.checks import Checks, kernel_for
from tui_tuner.evaluate.devices.cuda.driver import FILLS, Driver, device_info
from tui_tuner.evaluate.devices.cuda.errors import fault_of, fell_off, not_taken
from tui_tuner.evaluate.devices.cuda.guarded_memory import DeviceArrays, GuardedMemory
from tui_tuner.evaluate.devices.cuda.sanitizer import Watchers
from tui_tuner.evaluate.devices.cuda.timing import BATCH, CudaTimer, open_clock
from tui_tuner.evaluate.devices.cuda.transfers import Transfers
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.tolerance import Bound, Verdict, verdict
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.placement import with_addresses


class CudaDevice(Device):
    """One GPU.

    A launch that does not end is not noticed here: whoever started this process ends it, so the time limits
    of `launch` and `time` are not used.

    Args:
        ordinal: number of the device among the visible ones.
        backend: cuda-python, pycuda, cupy, or auto for the first that works.
        uuid: of the device, which counts for more than its number; empty where it has only that.

    Raises:
        DeviceError: no driver, no such device or no such package.
        MachineError: another process has all its memory or holds it for itself, or it failed.
    """

    def __init__(self, ordinal: int = 0, backend: str = "auto", uuid: str = "") -> None:
        self._driver = Driver()
        self._transfers = Transfers(self._driver)
        ordinal = self._driver.ordinal(uuid, ordinal)
        device = self._driver.device(ordinal)
        self.unit = self._driver.uuid(device)
        visible = [self._driver.device(number) for number in range(self._driver.device_count())]
        self.siblings = {f"cuda:{number}": self._driver.uuid(one) for number, one in enumerate(visible)}
        self.pci_bus_id = self._driver.pci_bus_id(device)
        self._clock = open_clock(self.pci_bus_id)
        self._checks: Checks | None = None
        before, self._ours = self._users().keys(), frozenset[int]()
        try:
            self._backend = open_backend(backend, ordinal, self._driver)
            self._errors: tuple[type[Exception], ...] = (CudaError, *self._backend.errors)
            self._ours = frozenset(self._users().keys() - before)
            self.info = device_info(self._driver, device, self._backend.version)
            self._watchers = Watchers(self.unit, self.info.memory_bytes or 0)
            self._memory = GuardedMemory(self._driver, device)
            self._timer = CudaTimer(self._driver, self._backend, self.info.l2_bytes or 0)
            gap = statistics.median(self._timer.time(20, lambda: None, lambda: None))
            self.info = self.info.model_copy(update={"event_gap": gap})
        except (CudaError, DeviceError) as error:
            raise not_taken(error, self.others()) from error

    def use_checks(self, artifact: Path) -> None:
        """Check on the device from now on, with the kernels of `checks_candidate`."""
        with self._faults():
            self._checks = Checks(self._driver, self._transfers, artifact.read_bytes(), self.info.multiprocessors or 1)

    def load(self, artifact: Path, symbol: str) -> LoadedKernel:
        """Load a cubin afresh."""
        with self._faults():
            loaded = self._backend.load(artifact.read_bytes(), symbol)
        return LoadedKernel(loaded, loaded.resources)

    def unload(self, kernel: LoadedKernel) -> None:
        """Unload the module; on a lost context there is nothing to unload."""
        with suppress(CudaError):
            self._backend.unload(kernel.handle)

    def allocate(
        self, arguments: Sequence[KernelArgument], restored: frozenset[int], *, guard_end: bool = True
    ) -> Buffers:
        """Copy the arguments into guarded memory.

        Raises:
            DeviceFault: out of memory.
        """
        buffers = Buffers(arguments, restored, record := DeviceArrays({}, {}, {}, []))
        try:
            with self._faults():
                for index, argument in enumerate(arguments):
                    if isinstance(argument, np.ndarray) or index in self.placement.constants:
                        self._place(record, index, np.atleast_1d(argument), restored, guard_end)
                record.arguments.extend(self._given(record, *one) for one in self.placement.passed(arguments))
        except DeviceFault:
            self.free(buffers)
            raise
        return buffers

    def _place(
        self, record: DeviceArrays, index: int, values: np.ndarray, restored: frozenset[int], guard_end: bool
    ) -> None:
        parts = len(values) if index in self.placement.lists else 0
        array = record.arrays[index] = self._memory.allocate(values.nbytes, guard_end=guard_end, parts=parts)
        if values.size and not any(values.strides) and values.itemsize in FILLS:  # one number throughout
            number = int.from_bytes(values.flat[0].tobytes(), sys.byteorder)
            self._driver.fill(array.address, number, values.nbytes, values.itemsize)
        elif values.nbytes:
            self._transfers.upload(array.address, np.ascontiguousarray(values))  # not before there is room for it
        if index in restored and values.nbytes:
            record.pristine[index] = self._driver.allocate(values.nbytes)
            self._driver.copy_async(record.pristine[index], array.address, values.nbytes, self._backend.stream_handle)
        elif self._checks is not None:
            (record.digests[index],) = self._checks.digest_each([(array.address, values.nbytes)])

    def _given(self, record: DeviceArrays, index: int, argument: KernelArgument) -> Opaque:
        """What a parameter is given: an address, a number, a structure with the addresses of its arrays."""
        if isinstance(argument, np.ndarray):
            return self._backend.pointer(record.arrays[index].given)
        held = self.placement.pointers.get(index, {})
        return by_value(with_addresses(argument, {at: record.arrays[one].address for at, one in held.items()}))

    def _write(self, buffers: Buffers, index: int, values: np.ndarray) -> None:
        record: DeviceArrays = buffers.handle
        address = record.arrays[index].address
        with self._faults():
            self._transfers.upload(address, values)
            if self._checks is not None:
                (record.digests[index],) = self._checks.digest_each([(address, values.nbytes)])

    def download(self, buffers: Buffers, index: int) -> np.ndarray:
        """The present content of an array argument."""
        host = np.empty_like(np.asarray(buffers.arguments[index]), order="C")
        if host.nbytes:
            with self._faults():
                self._transfers.download(host, buffers.handle.arrays[index].address)
        return host

    def pin(self, expected: np.ndarray) -> None:
        """Lock its pages, so that it is copied at the full speed of the bus; it goes on without where that fails."""
        if self._checks is not None and expected.flags.c_contiguous and expected.nbytes:
            with suppress(CudaError):
                self._transfers.pin(expected)

    def compare(self, buffers: Buffers, index: int, expected: np.ndarray, allowed: Bound) -> Verdict:
        """Whether an output is what is expected."""
        dtype = np.asarray(buffers.arguments[index]).dtype
        kernel = kernel_for(dtype, expected.dtype, allowed)
        if self._checks is None or kernel is None or not expected.size:
            return super().compare(buffers, index, expected, allowed)
        address = buffers.handle.arrays[index].address

        def element(place: int) -> np.generic:
            one = np.empty(1, dtype)
            self._driver.download(one, address + place * one.itemsize)
            return cast(np.generic, one[0])

        with self._faults():
            return verdict(self._checks.tally(address, kernel, expected, allowed), element, expected, allowed)

    def changed(self, buffers: Buffers, indices: Sequence[int]) -> int | None:
        """The first of these arrays that does not hold what it held when it was allocated; or None."""
        record: DeviceArrays = buffers.handle
        if self._checks is None or not all(index in record.digests for index in indices):
            return super().changed(buffers, indices)
        arrays = [record.arrays[index] for index in indices]
        with self._faults():
            digests = self._checks.digest_each([(array.address, array.layout.nbytes) for array in arrays])
        held = zip(indices, digests, strict=True)
        return next((index for index, digest in held if digest != record.digests[index]), None)

    def guard_violation(self, buffers: Buffers) -> DeviceFault | None:
        """That an argument's guard was written to; what lies beyond the guards faults at once."""
        find = None if self._checks is None else self._checks.damage
        with self._faults():
            return self._memory.violation(buffers.handle.arrays, find)

    def free(self, buffers: Buffers) -> None:
        """Give the memory back; on a lost context it goes with the process."""
        record: DeviceArrays = buffers.handle
        with suppress(CudaError):
            self._driver.synchronize()  # memory that a queued copy reads must not be unmapped
        for array in record.arrays.values():
            with suppress(CudaError):
                array.release()
        for address in record.pristine.values():
            with suppress(CudaError):
                self._driver.free(address)
        record.arrays.clear()
        record.pristine.clear()

    def launch(self, kernel: LoadedKernel, buffers: Buffers, geometry: Geometry, timeout_s: float) -> None:
        """Restore, launch once and wait; `timeout_s` is the parent's to enforce."""
        with self._faults():
            run = self._prepare(kernel, buffers, geometry)
            self._restore(buffers)
            run()
            self._driver.synchronize()

    def time(
        self,
        kernel: LoadedKernel,
        buffers: Buffers,
        geometry: Geometry,
        launches: int,
        timeout_s: float,
        inspect: Inspection | None = None,
    ) -> list[float]:
        """Times of so many launches, ms, each on restored arrays and a cold L2; `timeout_s` is the parent's."""
        times: list[float] = []
        with self._faults():
            run = self._prepare(kernel, buffers, geometry)
            if inspect is None:
                return self._timer.time(launches, lambda: self._restore(buffers), run)
            while len(times) < launches:
                in_batches = self._checks is not None and inspect.reproducible
                times += self._inspected(buffers, run, min(BATCH, launches - len(times)) if in_batches else 1, inspect)
        return times

    def launch_watched(
        self, tool: str, artifact: Path, symbol: str, launches: Sequence[WatchedLaunch], timeout_s: float
    ) -> None:
        """Launch in a child under compute-sanitizer."""
        self._watchers.launch(tool, artifact, symbol, launches, timeout_s)

    def start_watcher(self, tools: Sequence[str]) -> bool:
        """Start one of compute-sanitizer's, which waits with a context of its own."""
        return self._watchers.start_one(tools)

    def time_warm(
        self, kernel: LoadedKernel, buffers: Buffers, geometry: Geometry, launches: int, timeout_s: float
    ) -> list[float]:
        """Times of launches behind a launch that is not timed; `timeout_s` is the parent's to enforce."""
        with self._faults():
            run = self._prepare(kernel, buffers, geometry)

            def warm() -> None:
                run()
                self._restore(buffers)

            return self._timer.time(launches, lambda: self._restore(buffers), run, warm=warm)

    def _inspected(self, buffers: Buffers, run: Callable[[], None], count: int, inspect: Inspection) -> list[float]:
        """Times of a batch whose outputs are all right; none where that cannot be told but one by one."""
        with self._digests(buffers) as (queue, read):
            times = self._timer.time(count, lambda: self._restore(buffers), run, queue)
            digests = read(count)
        if count == 1:
            inspect.see(digests[0])
        elif new := [digest for digest in digests if not inspect.knows(digest)]:
            inspect.varies(new[0])
            return []
        return times

    def digest(self, buffers: Buffers) -> int:
        """The digest of the restored arrays, made on the device where it can."""
        with self._faults(), self._digests(buffers) as (queue, read):
            queue()
            self._driver.synchronize()
            return read(1)[0]

    @contextmanager
    def _digests(self, buffers: Buffers) -> Iterator[tuple[Callable[[], None], Callable[[int], list[int]]]]:
        """What queues one more digest of the restored arrays, and what reads so many."""
        checks, stream = self._checks, self._backend.stream_handle
        if checks is None:
            yield lambda: None, lambda _: [super(CudaDevice, self).digest(buffers)]
            return
        record: DeviceArrays = buffers.handle
        arrays = [(record.arrays[i].address, record.arrays[i].layout.nbytes) for i in sorted(record.pristine)]
        places = itertools.count()
        checks.begin_digests()
        yield lambda: checks.queue_digest(next(places), arrays, stream), checks.digests

    def _prepare(self, kernel: LoadedKernel, buffers: Buffers, geometry: Geometry) -> Callable[[], None]:
        loaded: LoadedFunction = kernel.handle
        static_bytes = loaded.resources.shared_bytes or 0
        if geometry.shared_bytes + static_bytes > (self.info.shared_bytes or 0):
            self._backend.allow_shared(loaded, geometry.shared_bytes)
        self._backend.smem_size = geometry.shared_bytes
        self._fill_constants(loaded, buffers.handle)
        arguments = buffers.handle.arguments
        return lambda: self._backend.run_kernel(loaded.function, arguments, geometry.block, geometry.grid)

    def _fill_constants(self, loaded: LoadedFunction, record: DeviceArrays) -> None:
        """Before the first of some launches: no kernel can write there."""
        for index, name in self.placement.constants.items():
            array, nbytes = record.arrays[index], record.arrays[index].layout.nbytes
            found = (self._backend.variable(loaded, symbol) for symbol in constant_symbols(name))
            address, there = next(filter(None, found), (0, None))
            if mismatch := constant_mismatch(name, there, nbytes):
                raise DeviceFault(FailureKind.LAUNCH, mismatch)
            self._driver.copy_async(address, array.address, nbytes, self._backend.stream_handle)

    def _restore(self, buffers: Buffers) -> None:
        """Before each launch: what it may change, and nothing that the host copied lies about."""
        self._transfers.wipe()
        record: DeviceArrays = buffers.handle
        for index, source in record.pristine.items():
            array = record.arrays[index]
            self._driver.copy_async(array.address, source, array.layout.nbytes, self._backend.stream_handle)

    def clock(self) -> ClockSample | None:
        """The present clock and what holds it down; None without NVML."""
        return None if self._clock is None else self._clock.sample()

    def others(self) -> list[str]:
        """Other processes that compute on the GPU, where NVML tells them."""
        return [words for pid, words in self._users().items() if pid not in self._ours]

    def _users(self) -> dict[int, str]:
        return {} if self._clock is None else self._clock.users()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            fault = fault_of(error, self._driver.sticky_error())
            if isinstance(fault, DeviceFault) and fault.fatal and self._clock is not None and self._clock.is_lost():
                raise fell_off() from error
            raise fault from error
