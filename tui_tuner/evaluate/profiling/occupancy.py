"""Theoretical occupancy: what of a launch a multiprocessor holds at a time.

Limits a compute capability: "Features and Technical Specifications" of the CUDA C++ Programming Guide; where it is
silent (units of allocation, sub-partitions, reserved shared memory) the occupancy calculator that NVIDIA ships as
`cuda_occupancy.h` with CUDA 13.0, whose results these are. Not counted: clusters, named barriers beyond one a block,
and a split of L1 cache and shared memory other than the one with the most shared memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.results import DeviceInfo, Resources

Limiter = Literal["warps", "blocks", "registers", "shared memory", "threads a block"]
_KIB = 1024
_REGISTER_UNIT = 256
"""Registers are allocated to a warp in multiples of this."""
_MAX_REGISTERS = 255
"""Registers that a thread can have."""
_PARTITIONS = 4
"""Parts of a multiprocessor, each with registers of its own."""


@dataclass(frozen=True)
class _Capability:
    """Limits of a multiprocessor that follow from the compute capability; shared memory in KiB."""

    warps: int
    blocks: int
    shared_kib: int
    registers: int = 65536
    registers_per_block: int = 65536
    partitions: int = _PARTITIONS


_HOPPER = _Capability(64, 32, 228)
_CAPABILITIES = {
    50: _Capability(64, 32, 64),
    52: _Capability(64, 32, 96),
    53: _Capability(64, 32, 64, registers_per_block=32768),
    60: _Capability(64, 32, 64, partitions=2),
    61: _Capability(64, 32, 96),
    62: _Capability(64, 32, 64, registers_per_block=32768),
    70: _Capability(64, 32, 96),
    72: _Capability(64, 32, 96),
    75: _Capability(32, 16, 64),
    80: _Capability(64, 32, 164),
    86: _Capability(48, 16, 100),
    87: _Capability(48, 16, 164),
    88: _Capability(48, 16, 100),
    89: _Capability(48, 24, 100),
    90: _HOPPER,
    100: _HOPPER,
    101: _Capability(48, 24, 228),
    103: _HOPPER,
    110: _Capability(48, 24, 228),
    120: _Capability(48, 24, 100),
    121: _Capability(48, 24, 100),
}
_RESERVES_SHARED = 80
"""From this capability on the driver keeps 1 KiB of shared memory a block, and allocates it in smaller units."""


@dataclass(frozen=True)
class Occupancy:
    """What of a launch is on one multiprocessor at a time.

    Attributes:
        blocks: resident blocks; 0 where not even one fits.
        warps: resident warps.
        max_warps: warps that a multiprocessor can hold.
        limiters: the resources that allow no further block, or no block at all; several if they run out together.
    """

    blocks: int
    warps: int
    max_warps: int
    limiters: tuple[Limiter, ...]

    @property
    def fraction(self) -> float:
        """Resident warps of those that the multiprocessor can hold, 0 to 1."""
        return self.warps / self.max_warps


@dataclass(frozen=True)
class Waves:
    """How a grid fills a device.

    Attributes:
        blocks: of the grid.
        resident: blocks that the whole device holds at a time.
        count: rounds in which the blocks run, the last one often not full.
    """

    blocks: int
    resident: int
    count: int


def occupancy(device: DeviceInfo, resources: Resources, threads: int, dynamic_shared: int) -> Occupancy | None:
    """Theoretical occupancy of a launch.

    Args:
        resources: of the built kernel; its registers and static shared memory count.
        threads: of a block.
        dynamic_shared: dynamic shared memory of a block, bytes.

    Returns:
        None where the device is no CUDA device of a known compute capability, or the toolchain does not tell what the
        kernel needs.
    """
    known = _CAPABILITIES.get(device.capability) if kind_named(device.kind).has_warps else None
    if known is None or device.max_threads_per_block is None or device.shared_bytes_optin is None:
        return None
    if resources.registers is None or resources.shared_bytes is None:
        return None
    max_warps = (device.max_threads_per_multiprocessor or known.warps * device.warp_size) // device.warp_size
    warps = math.ceil(threads / device.warp_size)
    reserved, unit = (_KIB, 128) if device.capability >= _RESERVES_SHARED else (0, 256)
    shared = _up(resources.shared_bytes + dynamic_shared + reserved, unit)
    available = device.shared_bytes_per_multiprocessor or known.shared_kib * _KIB
    if threads > device.max_threads_per_block:
        return Occupancy(0, 0, max_warps, ("threads a block",))
    allowed: dict[Limiter, int] = {
        "warps": max_warps // warps,
        "blocks": device.max_blocks_per_multiprocessor or known.blocks,
        "registers": _by_registers(device, known, resources.registers, warps),
        "shared memory": 0 if shared > device.shared_bytes_optin + reserved else available // max(shared, 1),
    }
    blocks = min(allowed.values())
    return Occupancy(blocks, blocks * warps, max_warps, tuple(n for n, count in allowed.items() if count == blocks))


def _by_registers(device: DeviceInfo, known: _Capability, registers: int, warps: int) -> int:
    """Blocks for which there are registers; each partition of a multiprocessor has its own."""
    of_a_warp = _up(max(registers, 1) * device.warp_size, _REGISTER_UNIT)
    if registers > _MAX_REGISTERS or of_a_warp * _up(warps, known.partitions) > known.registers_per_block:
        return 0
    of_all = device.registers_per_multiprocessor or known.registers

    def blocks(partitions: int) -> int:
        return of_all // partitions // of_a_warp * partitions // warps

    # What would not fit into four partitions does not run on 6.0 either, which has two.
    return blocks(known.partitions) if blocks(_PARTITIONS) else 0


def _up(number: int, unit: int) -> int:
    return math.ceil(number / unit) * unit


def waves(device: DeviceInfo, held: Occupancy, blocks: int) -> Waves | None:
    """How a grid of so many blocks fills the device.

    Returns:
        None where no block fits or the device does not tell its multiprocessors.
    """
    resident = held.blocks * (device.multiprocessors or 0)
    if resident == 0:
        return None
    return Waves(blocks, resident, math.ceil(blocks / resident))
