"""Ceilings of a GPU for the roofline: bandwidths and peaks, measured where a plain kernel reaches them.

The kernels are built like any candidate; this module says what to build and measures what was built. What tensor cores
and shared memory do at most is computed from the number of multiprocessors, the highest clock and what the
architecture does in a clock: no plain kernel reaches it, and no launch goes beyond it.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from tui_tuner.evaluate.devices.base import Device, KernelArgument
from tui_tuner.evaluate.results import Ceiling, DeviceInfo
from tui_tuner.problem.candidate import Candidate, Geometry
from tui_tuner.problem.model import Launch

CEILING_SOURCE = files("tui_tuner.evaluate.devices.cuda").joinpath("ceilings.cu").read_text()
LEAST_BYTES, MOST_BYTES = 64 * 2**20, 2**30
"""Size of the arrays of a measurement: more is no faster or slower."""
LAUNCHES = 20
LIMIT_S = 30.0
"""Time limit of each launch, and of the samples of each measurement."""

THREADS = 256
_BYTES_OF_A_VECTOR = 16
_VECTORS_OF_A_THREAD = 4
_BYTES_OF_A_BLOCK = _VECTORS_OF_A_THREAD * _BYTES_OF_A_VECTOR * THREADS
_UPPER_HALF_OF_ONE = np.uint16(0x3F80)
_BLOCKS_PER_MULTIPROCESSOR = 16
_FIRST_ROUNDS, _MOST_ROUNDS = 16, 512
_PEAK_MS = 1.0
"""A peak is measured over so long, which hides what starting and ending a launch costs."""
_L2_ROUNDS = 16
_STEPS_PER_ROUND = 8 * 8


@dataclass(frozen=True)
class _Chain:
    """A kernel that works on numbers of one type: operations of a step, and the capability from which it has them."""

    symbol: str
    operations: int
    least: int = 0


_CHAINS = {
    "float32": _Chain("multiply_add", 2),
    "float64": _Chain("multiply_add_double", 2),
    "float16": _Chain("multiply_add_half", 4, 53),
    "bfloat16": _Chain("multiply_add_bfloat", 4, 80),
    "int32": _Chain("multiply_add_int", 2),
    "int8": _Chain("multiply_add_bytes", 8, 61),
}
ON_TENSOR_CORES = " on tensor cores"
_TENSOR_TYPES = ("float16", "bfloat16", "tf32", "int8", "float8", "float64")
_TENSOR: dict[int, tuple[int, int, int, int, int, int]] = {
    70: (1024, 0, 0, 0, 0, 0),
    72: (1024, 0, 0, 2048, 0, 0),
    75: (1024, 0, 0, 2048, 0, 0),
    80: (2048, 2048, 1024, 4096, 0, 128),
    86: (1024, 1024, 512, 2048, 0, 0),
    87: (2048, 2048, 1024, 4096, 0, 0),
    88: (1024, 1024, 512, 2048, 0, 0),
    89: (1024, 1024, 512, 2048, 2048, 0),
    90: (4096, 4096, 2048, 8192, 8192, 256),
    100: (8192, 8192, 4096, 16384, 16384, 128),
    103: (8192, 8192, 4096, 16384, 16384, 128),
    110: (8192, 8192, 4096, 16384, 16384, 0),
    120: (1024, 1024, 512, 2048, 2048, 0),
    121: (1024, 1024, 512, 2048, 2048, 0),
}
"""Operations in a clock of a multiprocessor on dense matrices, by compute capability, in the order of `_TENSOR_TYPES`;
0 where there are none. Of devices of one capability that differ (GeForce does half of some) the fastest counts. From
NVIDIA's descriptions of the architectures: the peak they tell over multiprocessors and boost clock."""
_LANES = {60: 64, 70: 64, 72: 64, 75: 64, 80: 64}
"""Multiply-adds of float32 in a clock of a multiprocessor, by compute capability, where they are not `_USUAL_LANES`
(CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions")."""
_USUAL_LANES = 128
_SHARED_BYTES = 128
"""Bytes in a clock of a multiprocessor: 32 banks of four (CUDA C++ Programming Guide, "Shared Memory")."""


def ceilings_candidate() -> Candidate:
    """What to build: all the kernels, with names that are not mangled."""
    launch = Launch(grid=[1], block_size=[THREADS])
    return Candidate(source=CEILING_SOURCE, kernel="copy", launch=launch, title="ceilings")


def measure_ceilings(device: Device, artifact: Path, nbytes: int) -> DeviceInfo:
    """The device with its bandwidths and peaks.

    Args:
        artifact: `ceilings_candidate`, built.
        nbytes: bytes that the copy moves, read plus written, and the others too; 64 MiB to 1 GiB are moved.

    Raises:
        DeviceFault: out of memory, or the kernels do not run.
    """
    kernels = CeilingKernels(device, artifact)
    bandwidths = {name: Ceiling(rate=rate) for name, rate in kernels.bandwidths(nbytes).items()}
    peaks = {name: Ceiling(rate=rate) for name, rate in kernels.peaks().items()}
    shared, tensor = computed_ceilings(device.info)
    return device.info.model_copy(
        update={
            "memory_gbs": bandwidths["copy"].rate,
            "flops_gflops": peaks["float32"].rate,
            "bandwidths": bandwidths | shared,
            "peaks": peaks | tensor,
        }
    )


def computed_ceilings(device: DeviceInfo) -> tuple[dict[str, Ceiling], dict[str, Ceiling]]:
    """Bandwidth of shared memory and peaks of tensor cores, from what the device tells; empty where it does not."""
    clocks = _clocks(device)
    if not clocks:
        return {}, {}
    shared = {"shared memory": Ceiling(rate=_SHARED_BYTES * clocks, measured=False)}
    tensor = zip(_TENSOR_TYPES, _TENSOR.get(device.capability, (0,) * len(_TENSOR_TYPES)), strict=True)
    peaks = {f"{name}{ON_TENSOR_CORES}": Ceiling(rate=of * clocks, measured=False) for name, of in tensor if of}
    return shared, peaks


def computed_peak_of_float32(device: DeviceInfo) -> Ceiling | None:
    """What no kernel without tensor cores goes beyond; None where the device tells too little."""
    rate = 2 * _LANES.get(device.capability, _USUAL_LANES) * _clocks(device)
    return Ceiling(rate=rate, measured=False) if rate else None


def _clocks(device: DeviceInfo) -> float:
    """Clocks of all multiprocessors in a second, 1e9."""
    return (device.multiprocessors or 0) * (device.clock_mhz or 0.0) / 1e3


class CeilingKernels:
    """The built kernels on a device.

    Raises:
        DeviceFault: from every method: out of memory, or the kernels do not run.
    """

    def __init__(self, device: Device, artifact: Path) -> None:
        self._device = device
        self._artifact = artifact

    def bandwidths(self, nbytes: int) -> dict[str, float]:
        """GB/s of each kind of traffic over so many bytes."""
        nbytes = min(max(nbytes, LEAST_BYTES), MOST_BYTES)
        found = {"copy": self.copy(nbytes), "fill": self._fill(nbytes), "read": self._read(nbytes)}
        l2_bytes = self._device.info.l2_bytes or 0
        return found | ({"L2 cache": self._cached(l2_bytes // 2)} if l2_bytes >= 2 * _BYTES_OF_A_BLOCK else {})

    def copy(self, nbytes: int) -> float:
        """Bytes read plus bytes written in a second, GB/s, of the faster of two plain kernels."""
        blocks, array = _array(nbytes // 2)
        ways = (("copy", blocks), ("copy_single", blocks * _VECTORS_OF_A_THREAD))
        least = min(self._median_ms(way, [array, array, _vectors(array)], many) for way, many in ways)
        return 2 * array.nbytes / least / 1e6

    def _fill(self, nbytes: int) -> float:
        blocks, array = _array(nbytes)
        return array.nbytes / self._median_ms("fill", [array, np.float32(0.5), _vectors(array)], blocks) / 1e6

    def _read(self, nbytes: int) -> float:
        blocks, array = _array(nbytes)
        return array.nbytes / self._median_ms("read", _reading(array, 1), blocks) / 1e6

    def _cached(self, nbytes: int) -> float:
        """The bandwidth of reading again what is in the L2 cache: what more rounds take beyond the first."""
        blocks, array = _array(nbytes)
        once, often = (self._median_ms("read", _reading(array, rounds), blocks) for rounds in (1, 1 + _L2_ROUNDS))
        return _L2_ROUNDS * array.nbytes / max(often - once, often * 0.1) / 1e6

    def peaks(self) -> dict[str, float]:
        """Operations in a second, 1e9, of each type that the device has instructions for."""
        capability = self._device.info.capability
        return {name: self._peak(chain) for name, chain in _CHAINS.items() if capability >= chain.least}

    def _peak(self, chain: _Chain) -> float:
        blocks = _BLOCKS_PER_MULTIPROCESSOR * (self._device.info.multiprocessors or 1)
        sums = np.zeros(blocks * THREADS, np.uint32)

        def milliseconds(rounds: int, launches: int) -> float:
            return self._median_ms(chain.symbol, [sums, np.int32(3), np.int32(rounds)], blocks, launches)

        first = max(milliseconds(_FIRST_ROUNDS, 3), 1e-6)
        rounds = min(_MOST_ROUNDS, max(_FIRST_ROUNDS, math.ceil(_FIRST_ROUNDS * _PEAK_MS / first)))
        operations = sums.size * rounds * _STEPS_PER_ROUND * chain.operations
        return operations / milliseconds(rounds, LAUNCHES // 2) / 1e6

    def _median_ms(self, symbol: str, arguments: list[KernelArgument], blocks: int, launches: int = LAUNCHES) -> float:
        geometry = Geometry((blocks, 1, 1), (THREADS, 1, 1))
        buffers = self._device.allocate(arguments, frozenset())
        kernel = self._device.load(self._artifact, symbol)
        try:
            self._device.launch(kernel, buffers, geometry, LIMIT_S)
            return statistics.median(self._device.time(kernel, buffers, geometry, launches, LIMIT_S))
        finally:
            self._device.unload(kernel)
            self._device.free(buffers)


def _array(nbytes: int) -> tuple[int, np.ndarray]:
    """Blocks, each with all its threads at work, and what they cover: numbers near 1 that are never uploaded."""
    blocks = -(-nbytes // _BYTES_OF_A_BLOCK)
    return blocks, np.broadcast_to(_UPPER_HALF_OF_ONE, blocks * _BYTES_OF_A_BLOCK // _UPPER_HALF_OF_ONE.nbytes)


def _vectors(array: np.ndarray) -> np.int64:
    return np.int64(array.nbytes // _BYTES_OF_A_VECTOR)


def _reading(array: np.ndarray, rounds: int) -> list[KernelArgument]:
    return [np.zeros(THREADS, np.float32), array, np.float32(-1.0), np.int32(rounds), _vectors(array)]
