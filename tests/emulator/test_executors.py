"""Executors know nothing but their task, however many of them there are, and whatever became of their server."""

from __future__ import annotations

import gc
import mmap
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.emulator.bench import Bench, descendants
from tests.waiting import is_running
from tui_tuner.evaluate.build.compilers.gnu import CCompiler
from tui_tuner.evaluate.devices.native.code import C_FUNCTION
from tui_tuner.evaluate.devices.native.device import NativeDevice
from tui_tuner.evaluate.devices.native.memory import SharedMemory
from tui_tuner.problem.candidate import Geometry

ONE = Geometry((1, 1, 1), (1, 1, 1))
SEARCH = """
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* Whether bytes stand in a page that can be read; they are told turned over, so that they stand nowhere but there. */
static int is_there(const unsigned char *turned, unsigned long low, unsigned long high) {
    for (unsigned long page = low; page < high; page += 1 << 20) {
        if (madvise((void *)page, 4096, 22 /* MADV_POPULATE_READ */)) continue;
        const unsigned char *bytes = (const unsigned char *)page;
        for (int at = 0; at < 64; at++) {
            int same = 0;
            while (same < 16 && bytes[at + same] == (unsigned char)~turned[same]) same++;
            if (same == 16) return 1;
        }
    }
    return 0;
}
void search(int *out, const unsigned char *turned, const void *given) {
    unsigned long heap = (unsigned long)sbrk(0) & ~4095ul, libraries = (unsigned long)&madvise & ~4095ul;
    unsigned long array = (unsigned long)given & ~4095ul;
    out[0] = is_there(turned, heap - (1ul << 30), heap) || is_there(turned, libraries - (4ul << 30), libraries);
    out[1] = is_there(turned, array, array + (2ul << 20));
}
"""


def test_a_kernel_finds_nothing_of_ours_in_its_memory_where_expected_results_are(cpu: Bench) -> None:
    mark = np.frombuffer(os.urandom(16), np.uint8)
    ours, given = np.tile(mark, 1 << 20), np.tile(mark, 1 << 17)
    search, told = cpu.load(SEARCH, "search"), ~mark
    assert cpu.run(search, np.zeros(2, np.int32), told, np.zeros_like(given))[0].tolist() == [0, 0]
    assert cpu.run(search, np.zeros(2, np.int32), told, given)[0][1] == 1, "it finds what it is given"
    assert ours.nbytes == 1 << 24


def test_what_arrays_are_restored_from_cannot_be_changed() -> None:
    memory = SharedMemory([np.arange(4)], [0], guard_end=True)
    pristine = memory.descriptors[1]
    assert np.frombuffer(os.pread(pristine, 32, 0), np.int64).tolist() == [0, 1, 2, 3]
    with pytest.raises(PermissionError):
        os.pwrite(pristine, bytes(32), 0)
    with pytest.raises(PermissionError):
        mmap.mmap(pristine, 32)
    memory.close()


def test_arrays_that_the_machine_has_no_memory_for_are_refused_at_once() -> None:
    endless = np.broadcast_to(np.float32(0), (1 << 45,))
    with pytest.raises(MemoryError, match="bytes: "):
        SharedMemory([endless], [], guard_end=True)


def test_a_task_has_as_many_memories_as_it_needs(cpu: Bench) -> None:
    kernel = cpu.load("void next(int *x) { x[0]++; }", "next")
    jobs = [(cpu.device.allocate([np.array([i], np.int32)], frozenset({0})), ONE) for i in range(300)]
    for _ in cpu.device.launch_each(kernel, jobs, 20):
        pass
    assert [int(cpu.device.download(buffers, 0)[0]) for buffers, _ in jobs] == list(range(1, 301))
    for buffers, _ in jobs:
        cpu.device.free(buffers)


@pytest.mark.slow
def test_kernels_that_are_timed_in_turns_run_on_one_core(emulator: Bench) -> None:
    kernels = [emulator.load(f"__global__ void next(int *x) {{ x[0] += {one}; }}", "next") for one in (1, 2)]
    buffers, before = emulator.device.allocate([np.zeros(1, np.int32)], frozenset({0})), descendants()
    for kernel in kernels:
        emulator.device.time(kernel, buffers, ONE, 3, 20)
    executors = descendants() - before
    assert len(executors) == 2
    (cores,) = {frozenset(os.sched_getaffinity(int(one))) for one in executors}
    assert len(cores) == 1
    emulator.device.free(buffers)


def test_what_is_freed_is_given_back(cpu: Bench) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        cpu.device.free(cpu.device.allocate([np.zeros(1000), np.zeros(10)], frozenset({0})))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.slow
def test_a_server_that_was_killed_is_replaced(tmp_path: Path) -> None:
    bench, before = Bench(NativeDevice(C_FUNCTION), CCompiler.find(".c"), tmp_path), descendants()
    kernel = bench.load("void next(int *x) { x[0]++; }", "next")
    (server,) = descendants() - before
    buffers = bench.device.allocate([np.zeros(1, np.int32)], frozenset({0}))
    assert len(bench.device.time(kernel, buffers, ONE, 3, 20)) == 3  # in an executor that is kept
    for _ in range(2):
        os.kill(int(server), signal.SIGKILL)
        assert bench.run(kernel, np.zeros(1, np.int32))[0].tolist() == [1]
        assert not is_running(int(server))
        assert len(bench.device.time(kernel, buffers, ONE, 3, 20)) == 3
        server = min(descendants() - before, key=int)
    bench.device.free(buffers)


def test_the_server_ends_with_its_device(tmp_path: Path) -> None:
    before = descendants()
    bench = Bench(NativeDevice(C_FUNCTION), CCompiler.find(".c"), tmp_path)
    bench.load("void next(int *x) { x[0]++; }", "next")
    (server,) = descendants() - before
    del bench
    gc.collect()
    assert server not in descendants()
