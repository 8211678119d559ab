"""OpenCL devices."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
from kernel_tuner.backends.opencl import OpenCLFunctions

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.devices.base import LEAST_FLUSH_BYTES, Buffers, Device, Inspection, KernelArgument, LoadedKernel
from tui_tuner.evaluate.devices.cuda.backends import by_value
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.devices.guard_bands import LOUD, PATTERN, Layout, band_layout, damage
from tui_tuner.evaluate.results import DeviceInfo, FailureKind, Resources
from tui_tuner.evaluate.sandbox.launcher import is_confined
from tui_tuner.problem.candidate import Geometry

LOST = frozenset({-14, -36})
"""Errors after which the queue is of no more use, whichever call returned them: of an event, of the queue."""


def fault(code: int, *, waiting: bool) -> DeviceFault:
    """The fault that a status stands for.

    Args:
        waiting: whether it came while the kernel ran; drivers report an illegal access
            then, with whatever status, and the context does not recover.
    """
    name = cl.status_code.to_string(code, "status %d")  # type: ignore[operator]  # a method of the class at run time
    if waiting or code in LOST:
        return DeviceFault(FailureKind.CRASH, f"the kernel failed while it ran (CL {name})", fatal=True)
    return DeviceFault(FailureKind.LAUNCH, f"CL {name}")


@dataclass(frozen=True)
class BandedBuffer:
    """One array on the device.

    Attributes:
        whole: the buffer with its bands.
        part: the array alone, a sub-buffer; what the kernel gets.
        word: what the bands are filled with.
        pristine: an untouched copy of a restored array.
    """

    whole: cl.Buffer
    part: cl.Buffer
    layout: Layout
    word: int
    pristine: cl.Buffer | None

    def release(self) -> None:
        """Give the memory back."""
        self.part.release()
        self.whole.release()
        if self.pristine is not None:
            self.pristine.release()


def allocate(queue: cl.CommandQueue, host: np.ndarray, alignment: int, word: int, *, restored: bool) -> BandedBuffer:
    """Copy a contiguous host array to the device.

    Args:
        alignment: of where a sub-buffer may begin, bytes.
        word: what the bands are filled with.

    Raises:
        cl.Error: out of memory.
    """
    layout = band_layout(max(host.nbytes, 1), alignment)  # a sub-buffer has a byte at least
    whole = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, layout.mapped)
    cl.enqueue_fill_buffer(queue, whole, np.array([word], np.uint16), 0, layout.mapped)
    part = whole.get_sub_region(layout.offset, layout.nbytes)
    pristine = cl.Buffer(queue.context, cl.mem_flags.READ_ONLY, layout.nbytes) if restored and host.nbytes else None
    for target in (part, pristine):
        if target is not None and host.nbytes:
            cl.enqueue_copy(queue, target, host)
    return BandedBuffer(whole, part, layout, word, pristine)


def violation(queue: cl.CommandQueue, argument: int, buffer: BandedBuffer) -> DeviceFault | None:
    """That the bands beside an argument's array were written over, or None."""
    layout = buffer.layout
    before, after = np.empty(layout.offset, np.uint8), np.empty(layout.after, np.uint8)
    cl.enqueue_copy(queue, before, buffer.whole, src_offset=0)
    cl.enqueue_copy(queue, after, buffer.whole, src_offset=layout.offset + layout.nbytes)
    return damage(argument, layout, before, after, buffer.word)


BATCH = 20
QUICK_BYTES = 16 * 2**20
"""Outputs up to so many bytes are looked at after every launch."""


@dataclass(frozen=True)
class ClArguments:
    """The arguments of one launch: arrays by index, and what the kernel is called with."""

    arrays: dict[int, BandedBuffer]
    values: list[Any]


class OpenCLDevice(Device):
    """One OpenCL device.

    A launch that does not end is not noticed here: whoever started this process ends it, so the time limits
    of `launch` and `time` are not used.

    Args:
        platform: number of the platform.
        index: number of the device on it.
        allow_unconfined: whether the device may be the CPU where this process is not confined: its driver
            runs a kernel as native code in this process.

    Raises:
        DeviceError: there is no such platform or device, or it is the CPU and may not be.
    """

    def __init__(self, platform: int, index: int, *, allow_unconfined: bool) -> None:
        try:
            self._backend = OpenCLFunctions(device=index, platform=platform)
        except (cl.Error, IndexError) as error:
            raise DeviceError(
                f"there is no OpenCL device {platform}.{index}", hint="`tuner-tui doctor` lists them"
            ) from error
        self._queue: cl.CommandQueue = self._backend.queue
        self._device: cl.Device = self._backend.ctx.devices[0]
        self.info = _info(self._device)
        count = len(self._device.platform.get_devices())
        self.siblings = {f"opencl:{platform}.{number}": "" for number in range(count)}
        if self.info.is_cpu and not (allow_unconfined or is_confined()):
            raise DeviceError(
                f"OpenCL device {platform}.{index} is the CPU, where a kernel could read your files",
                hint="use an OpenCL device that is a GPU, or accept the risk with --allow-unconfined",
            )
        self._alignment = max(1, self._device.mem_base_addr_align // 8)
        self._scratch = self._flush_buffer()

    def _flush_buffer(self) -> cl.Buffer | None:
        if self.info.is_cpu:
            return None  # the caches of a CPU stay warm, as on the other CPU devices
        nbytes = max(LEAST_FLUSH_BYTES, 2 * self._device.global_mem_cache_size) // 4 * 4
        return cl.Buffer(self._backend.ctx, cl.mem_flags.READ_WRITE, nbytes)

    def load(self, artifact: Path, symbol: str) -> LoadedKernel:
        """Load a binary afresh."""
        with _faults():
            program = cl.Program(self._backend.ctx, [self._device], [artifact.read_bytes()]).build()
            kernel = cl.Kernel(program, symbol)
            info, device = cl.kernel_work_group_info, self._device
            resources = Resources(
                shared_bytes=kernel.get_work_group_info(info.LOCAL_MEM_SIZE, device),
                local_bytes=kernel.get_work_group_info(info.PRIVATE_MEM_SIZE, device),
            )
        return LoadedKernel(kernel, resources)

    def unload(self, kernel: LoadedKernel) -> None:
        """Nothing: the program goes with its last reference."""

    def allocate(
        self, arguments: Sequence[KernelArgument], restored: frozenset[int], *, guard_end: bool = True
    ) -> Buffers:
        """Copy the arguments between bands on both sides: of no numbers, or where `guard_end` is not, of large ones.

        Raises:
            DeviceFault: out of memory.
        """
        record = ClArguments({}, [])
        buffers = Buffers(arguments, restored, record)
        word = PATTERN if guard_end else secrets.choice(LOUD)
        try:
            with _faults():
                for index, argument in enumerate(arguments):
                    record.values.append(self._place(record, index, argument, word, index in restored))
                self._queue.finish()
        except DeviceFault:
            self.free(buffers)
            raise
        return buffers

    def _place(
        self, record: ClArguments, index: int, argument: KernelArgument, word: int, restored: bool
    ) -> cl.Buffer | np.generic:
        if not isinstance(argument, np.ndarray):
            return by_value(argument)
        buffer = allocate(self._queue, np.ascontiguousarray(argument), self._alignment, word, restored=restored)
        record.arrays[index] = buffer
        return buffer.part

    def _write(self, buffers: Buffers, index: int, values: np.ndarray) -> None:
        with _faults():
            cl.enqueue_copy(self._queue, buffers.handle.arrays[index].part, values)

    def download(self, buffers: Buffers, index: int) -> np.ndarray:
        """The present content of an array argument."""
        host = np.empty_like(np.asarray(buffers.arguments[index]), order="C")
        if host.nbytes:
            with _faults(waiting=True):
                cl.enqueue_copy(self._queue, host, buffers.handle.arrays[index].part)
        return host

    def guard_violation(self, buffers: Buffers) -> DeviceFault | None:
        """That an argument's bands were written to."""
        with _faults(waiting=True):
            found = (violation(self._queue, index, buffer) for index, buffer in buffers.handle.arrays.items())
            return next((fault for fault in found if fault is not None), None)

    def free(self, buffers: Buffers) -> None:
        """Give the memory back."""
        for buffer in buffers.handle.arrays.values():
            buffer.release()
        buffers.handle.arrays.clear()

    def launch(self, kernel: LoadedKernel, buffers: Buffers, geometry: Geometry, timeout_s: float) -> None:
        """Restore, launch once and wait; `timeout_s` is the parent's to enforce."""
        self._enqueue(kernel, buffers, geometry)
        with _faults(waiting=True):
            self._queue.finish()

    def time(
        self,
        kernel: LoadedKernel,
        buffers: Buffers,
        geometry: Geometry,
        launches: int,
        timeout_s: float,
        inspect: Inspection | None = None,
    ) -> list[float]:
        """Times of so many launches by the device's own clock, ms; `timeout_s` is the parent's to enforce.

        Every launch is inspected where its outputs are small. Larger ones would take longer to fetch than all
        launches: then the last of a batch is, and how long a batch is nobody knows before.
        """
        times: list[float] = []
        size = sum(np.asarray(buffers.arguments[index]).nbytes for index in buffers.restored)
        while len(times) < launches:
            count = min(_batch(size, inspected=inspect is not None), launches - len(times))
            events = [self._enqueue(kernel, buffers, geometry) for _ in range(count)]
            with _faults(waiting=True):
                self._queue.finish()
                times += [(event.profile.end - event.profile.start) * 1e-6 for event in events]
            if inspect is not None:
                inspect.see(self.digest(buffers))
        return times

    def _enqueue(self, kernel: LoadedKernel, buffers: Buffers, geometry: Geometry) -> cl.Event:
        if geometry.shared_bytes:
            message = "[launch] shared_memory must be 0: OpenCL kernels declare local memory or are passed it"
            raise DeviceFault(FailureKind.LAUNCH, message)
        values = list(buffers.handle.values)
        for index, nbytes in geometry.local:
            values[index] = cl.LocalMemory(nbytes)
        with _faults():
            for buffer in buffers.handle.arrays.values():
                if buffer.pristine is not None:
                    cl.enqueue_copy(self._queue, buffer.part, buffer.pristine, byte_count=buffer.layout.nbytes)
            if self._scratch is not None:
                cl.enqueue_fill_buffer(self._queue, self._scratch, np.zeros(1, np.uint32), 0, self._scratch.size)
            self._backend.run_kernel(kernel.handle, values, geometry.block, geometry.grid)
        event: cl.Event = self._backend.event
        return event


def _batch(output_bytes: int, *, inspected: bool) -> int:
    if not inspected:
        return BATCH
    return 1 if output_bytes <= QUICK_BYTES else 1 + secrets.randbelow(BATCH)


@contextmanager
def _faults(*, waiting: bool = False) -> Iterator[None]:
    try:
        yield
    except cl.Error as error:
        raise fault(error.code, waiting=waiting) from error
    except TypeError as error:  # pyopencl counts a kernel's arguments itself
        raise DeviceFault(FailureKind.LAUNCH, str(error).splitlines()[0]) from error


def _info(device: cl.Device) -> DeviceInfo:
    return DeviceInfo(
        kind="opencl",
        name=device.name.strip(),
        backend=f"pyopencl {cl.VERSION_TEXT}",
        architecture=f"{device.platform.name.strip()} {device.driver_version.strip()}",
        multiprocessors=device.max_compute_units,
        max_threads_per_block=device.max_work_group_size,
        shared_bytes=device.local_mem_size,
        shared_bytes_optin=device.local_mem_size,
        l2_bytes=device.global_mem_cache_size or None,
        memory_bytes=device.global_mem_size,
        clock_mhz=float(device.max_clock_frequency) or None,
        is_cpu=bool(device.type & cl.device_type.CPU),
    )
