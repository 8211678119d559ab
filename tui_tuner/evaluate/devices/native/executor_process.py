"""The process that runs native code made from a candidate: forked for one task, confined, and made to pause.

What it is forked from never had anything of ours but what this folder needs, so that no executor's memory holds what is
expected, other inputs or other kernels. Standard library only.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import resource
import signal
import socket
import time
from collections.abc import Sequence
from typing import NoReturn

from tui_tuner.evaluate.devices.native.calls import MappedLaunch, bound, constants_in
from tui_tuner.evaluate.devices.native.protocol import LaunchStatus, Memory, SharedReport, Task, receive
from tui_tuner.evaluate.sandbox.confinement import confine, leave_network, refuse_processes
from tui_tuner.evaluate.sandbox.launcher import ResourceLimits, apply_limits
from tui_tuner.processes import fork_server

GO, DONE = b"g", b"d"
"""What an executor is told, and says, at each pause."""


def serve(arguments: list[str]) -> NoReturn:
    """Fork executors; see `processes.fork_server`."""
    fork_server.serve(arguments, _execute)


_CHANNEL = 3
_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache")
_ADDRESS_SPACE = 16 << 30
"""Beyond what is mapped already: the stacks of a block, or of OpenMP's threads."""
_MOST_DESCRIPTORS = 64


def _execute(descriptor: int) -> None:
    """Do one task."""
    gc.disable()
    channel = socket.socket(fileno=descriptor)
    task, files = receive(channel)
    report = SharedReport(len(task.sequence), len(task.memories), files[0])
    try:
        _do(task, report, channel, files[1:])
    except Exception as error:
        report.say(LaunchStatus.FAULTY, f"{type(error).__name__}: {error}")


def _do(task: Task, report: SharedReport, channel: socket.socket, files: Sequence[int]) -> None:
    for index, memory in enumerate(task.memories):
        report.bases[index] = _mapped(memory, files[2 * index])
    pristine = [
        _read_only(file, memory.pristine_bytes) for memory, file in zip(task.memories, files[1::2], strict=True)
    ]
    _isolate(task, report, channel)
    _load_and_run(task, report, pristine, socket.socket(fileno=_CHANNEL))


_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_MAP_FIXED, _MAP_NORESERVE = 0x10, 0x4000
_FAILED = ctypes.c_void_p(-1).value


def _mapped(memory: Memory, file: int) -> int:
    """Map arrays between pages that fault; the address where the memory begins.

    Lists of addresses are this process's own, and nobody writes there: elsewhere the memory lies at another address.
    """
    base = _map(None, memory.nbytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE, 0, -1, 0)
    for array in memory.arrays:
        access = mmap.PROT_READ | mmap.PROT_WRITE
        _map(base + array.first, array.last - array.first, mmap.MAP_SHARED | _MAP_FIXED, access, file, array.first)
    for number, own, offsets in memory.lists:
        array, place = memory.arrays[number], memory.arrays[own]
        own_pages = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_FIXED
        _map(base + place.first, place.last - place.first, own_pages, mmap.PROT_READ | mmap.PROT_WRITE, -1, 0)
        listed = (ctypes.c_uint64 * len(offsets)).from_address(base + place.start)
        listed[:] = [base + array.start + offset for offset in offsets]
        if _libc.mprotect(base + place.first, place.last - place.first, mmap.PROT_READ):
            raise MemoryError(os.strerror(ctypes.get_errno()))
    return base


def _read_only(file: int, nbytes: int) -> int:
    """Map what arrays are restored from; its address."""
    return _map(None, nbytes, mmap.MAP_SHARED, mmap.PROT_READ, file, 0) if nbytes else 0


def _map(address: int | None, nbytes: int, flags: int, access: int, file: int, offset: int) -> int:
    mapping = _libc.mmap(address, nbytes, access, flags, file, offset)
    if mapping is None or mapping == _FAILED:
        raise MemoryError(f"{nbytes} bytes: {os.strerror(ctypes.get_errno())}")
    return int(mapping)


def _isolate(task: Task, report: SharedReport, channel: socket.socket) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    _close_descriptors(channel)
    namespace = leave_network()
    _limit(task)
    try:
        confinement = confine(read=[task.artifact, *task.libraries, *_LIBRARIES], write=["/dev/null"])
    except OSError as error:
        _leave(report, LaunchStatus.UNCONFINED, str(error))
    alone = refuse_processes(threads=task.has_threads)
    if task.strict and not confinement.abi:
        _leave(report, LaunchStatus.UNCONFINED, "the operating system has no Landlock")
    if task.strict and not (namespace or confinement.tcp_refused):
        _leave(report, LaunchStatus.UNCONFINED, "the network stays within reach")
    if task.strict and not alone:
        _leave(report, LaunchStatus.UNCONFINED, "processes that it starts could outlive it")


def _close_descriptors(channel: socket.socket) -> None:
    os.dup2(channel.detach(), _CHANNEL)
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - pathlib loads slowly
        os.closerange(max(descriptor, _CHANNEL + 1), descriptor + 1)


def _limit(task: Task) -> None:
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - pathlib loads slowly
        present = int(file.read().split()[0]) * mmap.PAGESIZE
    cores = len(os.sched_getaffinity(0)) if task.has_threads else 1
    cpu_s = (task.timeout_s + 1) * max(1, len(task.sequence)) * cores
    apply_limits(ResourceLimits(int(cpu_s) + 1, present + _ADDRESS_SPACE, 0, _MOST_DESCRIPTORS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if not task.has_threads:
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def _load_and_run(task: Task, report: SharedReport, pristine: Sequence[int], channel: socket.socket) -> None:
    _pause(channel)
    try:
        library = ctypes.CDLL(task.artifact)
        bind = bound(library, task.symbol, emulated=task.emulated)
        launches = [MappedLaunch(one, task.memories[one.memory], report.bases[one.memory]) for one in task.launches]
        constants = [list(constants_in(library, launch)) for launch in launches]
    except (OSError, AttributeError, ValueError) as error:
        _leave(report, LaunchStatus.UNLOADABLE, str(error))
    library.tuner_watch(ctypes.byref(report.page.fault))
    if not launches:
        report.page.shared_bytes = library.tuner_static_shared() if task.emulated else 0
    calls = [bind(launch, report.page) for launch in launches]
    clock = time.thread_time_ns if task.emulated else time.perf_counter_ns  # the other may start threads
    for step, index in enumerate(task.sequence):
        channel.send(DONE)
        _pause(channel)
        launch = launches[index]
        for array, offset in launch.memory.restored:
            place = launch.memory.arrays[array]
            ctypes.memmove(launch.base + place.start, pristine[launch.launch.memory] + offset, place.end - place.start)
        for address, content, nbytes in constants[index]:
            ctypes.memmove(address, content, nbytes)
        began = clock()
        status = calls[index]()
        report.nanoseconds[step] = clock() - began
        if status:
            report.page.status = status
            os._exit(0)
    report.page.status = LaunchStatus.DONE
    if task.sequence:
        channel.send(DONE)
        _pause(channel)


def _pause(channel: socket.socket) -> None:
    """Wait until the parent wants more, and end where it does not."""
    if channel.recv(1) != GO:
        os._exit(0)


def _leave(report: SharedReport, status: LaunchStatus, message: str) -> NoReturn:
    report.say(status, message)
    os._exit(0)
