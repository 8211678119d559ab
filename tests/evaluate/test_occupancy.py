"""Theoretical occupancy against NVIDIA's own figures."""

from __future__ import annotations

import pytest

from tests.devices.fake_cuda import FakeDriver
from tui_tuner.evaluate.devices.cuda import CudaError
from tui_tuner.evaluate.devices.cuda.driver import device_info
from tui_tuner.evaluate.profiling.occupancy import Occupancy, occupancy, waves
from tui_tuner.evaluate.results import DeviceInfo, Resources

OPT_IN = {50: 48, 52: 48, 53: 48, 60: 48, 61: 48, 62: 48, 70: 96, 72: 96, 75: 64, 80: 163, 86: 99, 87: 163, 88: 99}
OPT_IN |= {89: 99, 90: 227, 100: 227, 101: 227, 103: 227, 110: 227, 120: 99, 121: 99}
"""Shared memory that a block can opt in to, KiB."""

# From `cudaOccMaxActiveBlocksPerMultiprocessor` of the cuda_occupancy.h in CUDA 13.0, compiled for the host:
# capability, threads, registers, shared bytes, blocks, limiting factors (1 warps, 2 registers, 4 shared memory,
# 8 blocks). A sample of 191268 cases, all of which agreed.
CALCULATOR = """\
50 96 129 40000 1 4
50 100 32 1024 16 3
50 1024 100 4096 0 2
52 33 80 1024 12 2
53 64 63 49152 1 4
53 256 168 131072 0 6
60 192 129 0 2 2
60 320 192 0 0 2
61 64 16 49152 2 4
62 192 112 49153 0 4
70 32 65 102400 0 4
70 128 16 1 16 1
72 32 48 0 32 8
75 160 64 10000 6 7
75 1024 33 1024 1 3
80 33 224 1 4 2
80 640 65 102400 1 6
86 224 40 8192 6 3
87 320 100 131072 1 6
88 160 40 1 9 3
89 768 40 49152 2 7
89 768 129 232449 0 6
90 32 129 100 12 2
90 192 24 8192 10 1
90 640 128 49153 0 2
100 32 56 8192 25 4
101 640 48 101376 2 7
103 640 32 101376 2 4
110 1000 48 10000 1 3
120 64 24 1 24 9
120 96 63 90000 1 4
121 640 168 100 0 2
"""

# From cudaOccupancyMaxActiveBlocksPerMultiprocessor on an H200 (CUDA 13.0): threads, registers, dynamic shared bytes,
# blocks. A sample of 512 cases, all of which agreed.
H200 = """\
32 16 0 32
96 16 200000 1
96 56 10000 12
128 16 101376 2
256 56 10000 4
256 128 1024 2
320 128 0 1
32 56 232448 1
512 220 0 0
640 56 32768 1
640 128 0 0
1024 16 65536 2
"""


def cases(text: str) -> list[tuple[int, ...]]:
    return [tuple(map(int, line.split())) for line in text.splitlines()]


def device(capability: int, **changes: object) -> DeviceInfo:
    known = {"kind": "cuda", "name": "GPU", "backend": "fake", "architecture": f"sm_{capability}"}
    return DeviceInfo.model_validate({**known, "shared_bytes_optin": OPT_IN[capability] * 1024, **changes})


def held(capability: int, threads: int, registers: int, shared: int) -> Occupancy:
    found = occupancy(device(capability), Resources(registers=registers, shared_bytes=0), threads, shared)
    assert found is not None
    return found


@pytest.mark.parametrize("case", cases(CALCULATOR), ids=str)
def test_blocks_and_what_limits_them_are_those_of_nvidias_calculator(case):
    capability, threads, registers, shared, blocks, factors = case
    found = held(capability, threads, registers, shared)
    bits = {"warps": 1, "registers": 2, "shared memory": 4, "blocks": 8}
    assert (found.blocks, sum(bits[name] for name in found.limiters)) == (blocks, factors)


@pytest.mark.parametrize("case", cases(H200), ids=str)
def test_blocks_are_those_that_the_driver_of_an_h200_gives(case):
    threads, registers, shared, blocks = case
    assert held(90, threads, registers, shared).blocks == blocks


def test_static_and_dynamic_shared_memory_count_alike():
    static = occupancy(device(90), Resources(registers=32, shared_bytes=40000), 128, 0)
    mixed = occupancy(device(90), Resources(registers=32, shared_bytes=10000), 128, 30000)
    assert static == mixed == held(90, 128, 32, 40000)


def test_the_fraction_is_of_the_warps_that_a_multiprocessor_can_hold():
    found = held(90, 256, 128, 0)
    assert (found.warps, found.max_warps, found.fraction) == (16, 64, 0.25)
    assert held(86, 512, 32, 0).fraction == 1.0


def test_a_block_of_too_many_threads_does_not_fit():
    found = occupancy(device(90), Resources(registers=16, shared_bytes=0), 2048, 0)
    assert found == Occupancy(0, 0, 64, ("threads a block",))


def test_what_the_driver_tells_goes_before_the_table():
    small = device(90, max_threads_per_multiprocessor=1024, max_blocks_per_multiprocessor=3)
    found = occupancy(small, Resources(registers=16, shared_bytes=0), 64, 0)
    assert found == Occupancy(3, 6, 32, ("blocks",))


@pytest.mark.parametrize(
    ("where", "needs"),
    [
        (device(90, kind="opencl"), Resources(registers=32, shared_bytes=0)),
        (device(90, architecture=""), Resources(registers=32, shared_bytes=0)),
        (device(90, architecture="sm_990"), Resources(registers=32, shared_bytes=0)),
        (device(90), Resources(shared_bytes=0)),
        (device(90), Resources(registers=32)),
    ],
)
def test_where_device_or_resources_do_not_tell_there_is_none(where, needs):
    assert occupancy(where, needs, 128, 0) is None


def test_the_last_wave_may_be_mostly_empty():
    h200 = device(90, multiprocessors=132)
    found = waves(h200, held(90, 256, 128, 0), 265)
    assert found is not None
    assert (found.resident, found.count) == (264, 2)
    full = waves(h200, held(90, 256, 128, 0), 528)
    assert full is not None
    assert full.count == 2
    less = waves(h200, held(90, 256, 128, 0), 66)
    assert less is not None
    assert less.count == 1


def test_no_waves_where_no_block_fits_or_the_multiprocessors_are_unknown():
    assert waves(device(90, multiprocessors=132), held(90, 640, 128, 0), 10) is None
    assert waves(device(90), held(90, 256, 32, 0), 10) is None


class Telling(FakeDriver):
    """A driver that knows the limits of a multiprocessor, or is too old to."""

    def __init__(self, told: dict[int, int]) -> None:
        super().__init__()
        self.told = told

    def attribute(self, device: int, number: int) -> int:
        if number not in (39, 106):
            return super().attribute(device, number)
        if number not in self.told:
            raise CudaError(1, "cuDeviceGetAttribute")
        return self.told[number]


def test_the_driver_tells_threads_and_blocks_of_a_multiprocessor():
    found = device_info(Telling({39: 2048, 106: 32}), 0, "fake")
    assert (found.max_threads_per_multiprocessor, found.max_blocks_per_multiprocessor) == (2048, 32)


def test_a_driver_that_does_not_know_them_is_no_error():
    found = device_info(Telling({39: 2048}), 0, "fake")
    assert (found.max_threads_per_multiprocessor, found.max_blocks_per_multiprocessor) == (2048, None)


def test_a_device_of_an_older_journal_still_loads():
    old = device(90).model_dump(exclude={"max_threads_per_multiprocessor", "max_blocks_per_multiprocessor"})
    assert DeviceInfo.model_validate(old) == device(90)
