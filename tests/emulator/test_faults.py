from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.emulator.bench import KERNELS, Bench
from tests.waiting import LIMIT_S, is_running
from tui_tuner.evaluate.devices.base import LoadedKernel
from tui_tuner.evaluate.devices.faults import DeviceFault, Stray
from tui_tuner.evaluate.devices.native.verdict import checked_times
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.candidate import Geometry

SOURCE = (KERNELS / "faults.cu").read_text()
ONE = Geometry((1, 1, 1), (32, 1, 1))
Load = Callable[[str], LoadedKernel]


@pytest.fixture(scope="module")
def load(emulator: Bench) -> Load:
    return lambda name: emulator.load(SOURCE, name)


def test_a_read_past_the_end_names_argument_distance_and_thread_and_the_device_lives_on(
    emulator: Bench, load: Load
) -> None:
    kernel = load("copy_shifted")
    arrays = [np.zeros(64, np.float32), np.arange(64, dtype=np.float32)]
    fault = emulator.fault(kernel, *arrays, np.int32(64), np.int32(1), block=(64, 1, 1))
    assert (fault.kind, fault.fatal) == (FailureKind.ILLEGAL_ACCESS, False)
    assert fault.message == "touched memory 0 bytes past the end of argument 2 (block 0,0,0, thread 63,0,0)"
    assert np.array_equal(arrays[1], emulator.run(kernel, *arrays, np.int32(64), np.int32(0), block=(64, 1, 1))[0])


def test_a_read_before_the_start_faults_where_the_start_is_guarded(emulator: Bench, load: Load) -> None:
    device, arrays = emulator.device, [np.zeros(64, np.float32), np.zeros(64, np.float32)]
    buffers = device.allocate([*arrays, np.int32(64), np.int32(-1)], frozenset(), guard_end=False)
    with pytest.raises(DeviceFault, match="4 bytes before the start of argument 2"):
        device.launch(load("copy_shifted"), buffers, ONE, 10)
    device.free(buffers)


@pytest.mark.parametrize(
    ("index", "guard_end", "where", "nbytes"),
    [(-1, True, "before its start", 1), (100, False, "past its end", 36 * 4)],
)
def test_a_write_beside_an_array_in_its_own_page_is_found(
    emulator: Bench, load: Load, index: int, guard_end: bool, where: str, nbytes: int
) -> None:
    device = emulator.device
    buffers = device.allocate([np.zeros(64, np.float32), np.int32(index)], frozenset(), guard_end=guard_end)
    assert device.guard_violation(buffers) is None
    device.launch(load("write_at"), buffers, ONE, 10)
    found = device.guard_violation(buffers)
    assert found is not None
    assert found.message == f"argument 1 was written {where}"
    assert found.stray == Stray(0, nbytes, is_before=index < 0)
    device.free(buffers)


def test_a_write_into_the_few_bytes_between_end_and_guard_is_found(emulator: Bench, load: Load) -> None:
    device = emulator.device
    buffers = device.allocate([np.zeros(37, np.uint8), np.int32(37)], frozenset())
    device.launch(load("one_byte_past"), buffers, ONE, 10)
    found = device.guard_violation(buffers)
    assert found is not None
    assert (found.message, found.stray) == ("argument 1 was written past its end", Stray(0, 0, is_before=False))
    device.free(buffers)


def test_what_is_read_in_the_few_bytes_between_end_and_guard_is_a_large_number_of_either_sign(
    emulator: Bench, load: Load
) -> None:
    device, seen = emulator.device, set()
    for _ in range(20):
        buffers = device.allocate(
            [np.zeros(64, np.float32), np.zeros(61, np.float32), np.int32(61), np.int32(1)], frozenset()
        )
        device.launch(load("copy_shifted"), buffers, Geometry((1, 1, 1), (61, 1, 1)), 10)
        behind = float(device.download(buffers, 0)[60])
        assert abs(behind) > 1e30
        seen.add(behind > 0)
        device.free(buffers)
    assert seen == {True, False}


@pytest.mark.slow
def test_an_endless_loop_is_ended_after_the_given_time(emulator: Bench, load: Load) -> None:
    kernel = load("endless")
    began = time.monotonic()
    fault = emulator.fault(kernel, np.zeros(1, np.int32), timeout_s=0.5)
    assert (fault.kind, fault.message) == (FailureKind.TIMEOUT, "did not end within 0.5 s")
    assert 0.4 < time.monotonic() - began < LIMIT_S


def test_threads_at_different_barriers_are_a_deadlock_that_names_both(emulator: Bench, load: Load) -> None:
    fault = emulator.fault(load("split_barrier"), np.zeros(32, np.int32))
    assert fault.kind == FailureKind.TIMEOUT
    assert fault.message.startswith("deadlock: 16 threads wait at __syncthreads in line ")
    assert "16 threads wait at __syncwarp in line " in fault.message


@pytest.mark.parametrize(
    ("name", "message"),
    [("trapped", "__trap() in line"), ("aborted", "died of SIGABRT"), ("left", "ended its own process")],
)
def test_a_kernel_that_ends_itself_is_a_crash(emulator: Bench, load: Load, name: str, message: str) -> None:
    fault = emulator.fault(load(name), np.zeros(1, np.int32))
    assert fault.kind == FailureKind.CRASH
    assert fault.message.startswith(message)


def test_a_division_by_zero_is_a_crash_that_names_the_signal_and_the_thread(emulator: Bench, load: Load) -> None:
    fault = emulator.fault(load("divided"), np.zeros(1, np.int32), np.int32(0))
    assert (fault.kind, fault.message) == (FailureKind.CRASH, "died of SIGFPE (block 0,0,0, thread 31,0,0)")


def test_a_write_past_dynamic_shared_memory_is_an_illegal_access(emulator: Bench, load: Load) -> None:
    kernel = load("shared_overrun")
    emulator.run(kernel, np.zeros(1, np.int32), np.int32(7), shared_bytes=32)
    fault = emulator.fault(kernel, np.zeros(1, np.int32), np.int32(8), shared_bytes=32)
    assert fault.kind == FailureKind.ILLEGAL_ACCESS
    assert "past the end of its 32 bytes of dynamic shared memory" in fault.message


def test_a_misaligned_vector_load_is_an_illegal_access(emulator: Bench, load: Load) -> None:
    fault = emulator.fault(load("misaligned"), np.zeros(4, np.float32), np.zeros(8, np.float32))
    assert fault.kind == FailureKind.ILLEGAL_ACCESS
    assert "misaligned" in fault.message


@pytest.mark.parametrize(("block", "shared_bytes"), [((1025, 1, 1), 0), ((32, 33, 1), 0), ((32, 1, 1), 240_000)])
def test_blocks_that_no_gpu_would_launch_are_refused(
    emulator: Bench, load: Load, block: tuple[int, int, int], shared_bytes: int
) -> None:
    fault = emulator.fault(
        load("write_at"), np.zeros(4, np.float32), np.int32(0), block=block, shared_bytes=shared_bytes
    )
    assert fault.kind == FailureKind.LAUNCH


def test_a_missing_symbol_is_told_when_the_kernel_is_loaded(emulator: Bench) -> None:
    compiled = emulator.compile(SOURCE, "trapped")
    with pytest.raises(DeviceFault, match="undefined symbol: no_such_kernel"):
        emulator.device.load(compiled.artifact, "no_such_kernel")


def test_a_kernel_can_neither_read_nor_write_files_and_what_it_starts_ends_with_it(
    emulator: Bench, tmp_path: Path
) -> None:
    target = tmp_path / "written"
    target.touch()
    source = (KERNELS / "escape.cu").read_text().replace("TARGET_FILE", f'"{target}"')
    (out,) = emulator.run(emulator.load(source, "report"), np.zeros(4, np.int32), block=(1, 1, 1))
    ran, read, wrote, child = out
    assert ran
    assert not read
    assert not wrote
    assert child <= 0 or ended(child)


def ended(process: int) -> bool:
    """Whether a process ends; one that nobody has reaped yet has ended."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        if not is_running(process):
            return True
        time.sleep(0.01)
    return False


def test_times_that_explain_less_than_half_of_what_the_system_counted_are_implausible() -> None:
    assert checked_times([900, 1000], [1, 1], 0, 1) == [900, 1000]
    with pytest.raises(DeviceFault, match=r"2 launches claim 0\.002 ms") as caught:
        checked_times([0.001, 0.001], [1, 1], 0, 1)
    assert caught.value.kind == FailureKind.IMPLAUSIBLE


def test_one_moment_in_which_the_machine_stood_still_is_no_sign_of_a_forged_clock() -> None:
    honest = [1.0, 1.1, 0.9, 1.0, 1.2, 1.0]
    counted_s = [ms / 1e3 for ms in honest]
    assert checked_times(honest, [*counted_s[:5], 0.06], 0, 1) == honest
    with pytest.raises(DeviceFault, match=r"5 launches claim 5\.2 ms but 39 ms went by"):
        checked_times(honest, [*counted_s[:4], 0.04, 0.06], 0, 1)


def test_time_for_restoring_arrays_is_no_sign_of_a_forged_clock() -> None:
    assert checked_times([1, 1], [1, 1], 2**30, 1) == [1, 1]


def test_threads_may_use_as_much_processor_time_as_there_are_cores() -> None:
    assert checked_times([100], [0.8], 0, 8) == [100]
    with pytest.raises(DeviceFault, match="1 launches claim 100 ms"):
        checked_times([100], [0.8], 0, 2)


def test_a_launch_that_takes_no_time_is_implausible() -> None:
    with pytest.raises(DeviceFault, match="no time"):
        checked_times([1, 0], [0.1, 0.1], 0, 1)
