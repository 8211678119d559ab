"""Measured ceilings of a GPU for the roofline: bandwidth of a copy, and the peak of multiply-add.

The two kernels are built like any candidate; this module says what to build and measures what was built.
"""

from __future__ import annotations

import statistics
from importlib.resources import files
from pathlib import Path

import numpy as np

from tui_tuner.evaluate.devices.base import Device, KernelArgument
from tui_tuner.evaluate.protocol import Executable
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.problem.candidate import Candidate, Geometry
from tui_tuner.problem.model import Launch

CEILING_SOURCE = files("tui_tuner.evaluate.devices.cuda").joinpath("ceilings.cu").read_text()
LEAST_BYTES = 64 * 2**20
LAUNCHES = 20
LIMIT_S = 30.0
"""For each of the two measurements."""

THREADS = 256
_COPIED_BY_A_BLOCK = 4 * 16 * THREADS
_BLOCKS_PER_MULTIPROCESSOR = 16
_ROUNDS = 512
_FLOPS_PER_ROUND = 8 * 8 * 2


def copy_candidate() -> Candidate:
    """What to build for the bandwidth."""
    return _candidate("copy")


def multiply_add_candidate() -> Candidate:
    """What to build for the peak."""
    return _candidate("multiply_add")


def _candidate(kernel: str) -> Candidate:
    return Candidate(
        source=CEILING_SOURCE, kernel=kernel, launch=Launch(grid=[1], block_size=[THREADS]), title=f"ceiling: {kernel}"
    )


def measure_ceilings(device: Device, copy: Executable, multiply_add: Executable, nbytes: int) -> DeviceInfo:
    """The device with its measured bandwidth and peak.

    Args:
        copy: `copy_candidate`, built; its shapes are not used. The same for `multiply_add`.
        nbytes: bytes that the copy moves, read plus written; at least 64 MiB are moved.

    Raises:
        DeviceFault: out of memory, or the kernels do not run.
    """
    return device.info.model_copy(
        update={
            "memory_gbs": copy_bandwidth(device, copy, nbytes),
            "flops_gflops": multiply_add_peak(device, multiply_add),
        }
    )


def copy_bandwidth(device: Device, copy: Executable, nbytes: int) -> float:
    """Bytes read plus bytes written in a second, GB/s."""
    blocks = -(-max(nbytes, LEAST_BYTES) // 2 // _COPIED_BY_A_BLOCK)
    elements = blocks * _COPIED_BY_A_BLOCK // 4
    source = np.ones(elements, np.float32)
    arguments: list[KernelArgument] = [np.zeros(elements, np.float32), source, np.int64(elements // 4)]
    milliseconds = _median_ms(device, copy, arguments, blocks)
    return 2 * source.nbytes / milliseconds / 1e6


def multiply_add_peak(device: Device, multiply_add: Executable) -> float:
    """Additions plus multiplications in a second, GFLOP/s."""
    blocks = _BLOCKS_PER_MULTIPROCESSOR * (device.info.multiprocessors or 1)
    arguments: list[KernelArgument] = [np.zeros(blocks * THREADS, np.float32), np.float32(0.5), np.int32(_ROUNDS)]
    milliseconds = _median_ms(device, multiply_add, arguments, blocks)
    return blocks * THREADS * _ROUNDS * _FLOPS_PER_ROUND / milliseconds / 1e6


def _median_ms(device: Device, executable: Executable, arguments: list[KernelArgument], blocks: int) -> float:
    geometry = Geometry((blocks, 1, 1), (THREADS, 1, 1))
    buffers = device.allocate(arguments, frozenset())
    kernel = device.load(Path(executable.artifact), executable.symbol)
    try:
        device.launch(kernel, buffers, geometry, LIMIT_S)
        return statistics.median(device.time(kernel, buffers, geometry, LAUNCHES, LIMIT_S))
    finally:
        device.unload(kernel)
        device.free(buffers)
