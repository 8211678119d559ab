"""Where to start: macro tiles with GlobalSplitU or StreamK, ranked by a model of the GPU before anything is built.

A ranking for a first space, no measurement. Counted are, in clocks: the matrix instructions of a tile at the peak, the
bytes of its operands from L2 and out of LDS, and what is lost to quantisation: of the matrix to tiles, of K to DepthU,
and of the work-groups to compute units, those of the XCD that gets most; for split sums the partial results through
memory. Compute units, XCDs, clock, bandwidth and peaks are those of `gpus.toml`. LDS is read at 128 bytes a clock and
compute unit, at twice that on gfx950, L2 at 2 KiB a clock and XCD (AMD CDNA 3 and CDNA 4 white papers; taken for all).
What a pass of the loop takes at least, and a work-group outside of it, are estimates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, prod
from typing import Any

from tui_tuner.tensile.document import BenchmarkConfiguration, ParameterTable
from tui_tuner.tensile.knowledge.known import Gpu, Product

_DEPTH_OF = {"h": (16, 8), "b": (16, 8), "s": (4, 2), "d": (4, 0), "I8": (16, 8), "F8": (32, 16), "B8": (32, 16)}
"""K of the 16x16 and of the 32x32 matrix instruction (MFMA) by data type; 0 where there is none."""
_OTHERS = {
    "gfx908": {"b": (8, 4), "d": (0, 0)},
    "gfx942": {"I8": (32, 16)},
    "gfx950": {"h": (32, 16), "b": (32, 16), "I8": (64, 32), "F8": (128, 64), "B8": (128, 64)},
}
"""The same where an architecture has other ones (AMD instruction set architectures)."""
_BYTES = {"h": 2, "b": 2, "s": 4, "d": 8, "I8": 1, "F8": 1, "B8": 1}
_PEAKS = {"h": "f16", "b": "bf16", "s": "f32", "d": "f64", "I8": "i8", "F8": "f8", "B8": "f8"}
_WAVE_TILES = (1, 2, 3, 4, 6, 8)
_WAVES = ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4))
_DEPTHS = (16, 32, 64, 128, 256)
_SPLITS = (1, 2, 4, 8, 16, 32)
_LANES = 64
_ACCUMULATORS = 256
"""Registers of a lane for the results: half of what a wave may have."""
_LDS_BYTES_A_CLOCK = {"gfx950": 256.0}
_LDS_USUAL = 128.0
_L2_BYTES_A_CLOCK = 48.0
_SHORTEST_PASS = 300.0
"""Clocks: the latency of L2, over two passes that are under way at a time."""
_PASS_OVERHEAD = 40.0
"""Clocks of a pass for its barrier, addresses and branch."""
_LONGEST_SIDE = 4
"""The longest side of a macro tile, in units of its other side."""
_BEGIN_AND_END = 2500.0
"""Clocks of a work-group outside of its loop: addresses, the first loads from memory, the stores."""
_SECOND_KERNEL = 4000.0
"""Clocks that adding up the partial sums of GlobalSplitU takes besides its bytes."""
_BUFFERS = 2
_SIZES = 6


@dataclass(frozen=True)
class Tile:
    """What one work-group computes.

    Attributes:
        instruction: M and N of the matrix instruction, which is square, and its K.
        wave_tile: instructions of a wave along M and N.
        waves: along M and N.
        depth: DepthU.
    """

    instruction: tuple[int, int]
    wave_tile: tuple[int, int]
    waves: tuple[int, int]
    depth: int

    @property
    def macro(self) -> tuple[int, int]:
        """The macro tile."""
        side = self.instruction[0]
        return side * self.wave_tile[0] * self.waves[0], side * self.wave_tile[1] * self.waves[1]

    @property
    def matrix_instruction(self) -> list[int]:
        """The nine numbers of Tensile's MatrixInstruction."""
        side, k = self.instruction
        return [side, side, k, 1, 1, *self.wave_tile, *self.waves]


@dataclass(frozen=True)
class StartingTile:
    """A tile for a problem size.

    Attributes:
        split: GlobalSplitU; 0 for StreamK.
        share: of the GPU's peak that the model expects at most.
        granularity: share of the compute units' time that has work, and of the tiles that lies within the matrix.
    """

    tile: Tile
    split: int
    share: float
    granularity: float

    def words(self) -> str:
        """For a prompt and for people."""
        m, n = self.tile.macro
        how = f"GlobalSplitU {self.split}" if self.split else "StreamK 3"
        return (
            f"tile {m}x{n}, MatrixInstruction {self.tile.matrix_instruction}, DepthU {self.tile.depth}, {how}: "
            f"granularity {self.granularity:.0%}, at most {self.share:.0%} of the peak"
        )


@dataclass(frozen=True)
class GpuModel:
    """A GPU as the model sees it, for one data type.

    Attributes:
        flops: a clock and compute unit, at the peak.
        memory: bytes a clock, of the whole GPU.
        element: bytes of an operand's element.
    """

    units: int
    xcds: int
    lds_bytes: int
    flops: float
    memory: float
    lds_rate: float
    element: int

    @property
    def accumulator(self) -> int:
        """Bytes of a partial sum."""
        return max(4, self.element)

    def rounds(self, groups: int) -> int:
        """How often compute units take a work-group: those of the XCD that gets most, for they are dealt in turn."""
        return ceil(ceil(groups / self.xcds) / (self.units // self.xcds))


def machine_for(gpu: Gpu, data: str) -> tuple[str, GpuModel] | None:
    """The product that is meant, or of several the one that most are like; None where facts are missing."""
    known = {
        name: one
        for name, one in gpu.products.items()
        if one.clock_mhz and one.bandwidth and _PEAKS.get(data) in one.peak
    }
    if not known or gpu.architecture.matrix != "MFMA" or data not in _BYTES:
        return None
    usual, _ = Counter(one.compute_units for one in known.values()).most_common(1)[0]
    name = next(name for name, one in known.items() if one.compute_units == usual)
    return name, _machine(gpu, known[name], data)


def _machine(gpu: Gpu, product: Product, data: str) -> GpuModel:
    clock = (product.clock_mhz or 0) * 1e6
    return GpuModel(
        units=product.compute_units,
        xcds=product.xcds or 1,
        lds_bytes=gpu.architecture.lds_bytes,
        flops=product.peak[_PEAKS[data]] * 1e12 / clock / product.compute_units,
        memory=(product.bandwidth or 0) * 1e9 / clock,
        lds_rate=_LDS_BYTES_A_CLOCK.get(product.architecture, _LDS_USUAL),
        element=_BYTES[data],
    )


def starting_points(
    machine: GpuModel, instructions: Sequence[tuple[int, int]], size: Sequence[int], *, streams: bool, most: int = 5
) -> list[StartingTile]:
    """The best tiles for a problem size, each macro tile once.

    Args:
        size: M, N, batch, K.
        streams: whether there is StreamK.
    """
    best: dict[tuple[int, int], StartingTile] = {}
    for tile in _tiles(machine, instructions):
        for split in (*_SPLITS, *((0,) if streams else ())):
            if split > 1 and size[3] // split < 2 * tile.depth:
                continue
            point = _point(machine, tile, split, size)
            if tile.macro not in best or point.share > best[tile.macro].share:
                best[tile.macro] = point
    return sorted(best.values(), key=lambda point: (-round(point.share, 3), sum(point.tile.macro)))[:most]


def _tiles(machine: GpuModel, instructions: Sequence[tuple[int, int]]) -> Iterator[Tile]:
    """The tiles that fit into LDS and registers."""
    for instruction, first, second, waves in product(instructions, _WAVE_TILES, _WAVE_TILES, _WAVES):
        for depth in _DEPTHS:
            tile = Tile(instruction, (first, second), waves, depth)
            m, n = tile.macro
            lds = _BUFFERS * (m + n) * depth * machine.element
            registers = m * n * machine.accumulator // 4 // (prod(waves) * _LANES)
            if depth % instruction[1] or max(m, n) > _LONGEST_SIDE * min(m, n):
                continue
            if lds <= machine.lds_bytes and registers <= _ACCUMULATORS:
                yield tile


def _point(machine: GpuModel, tile: Tile, split: int, size: Sequence[int]) -> StartingTile:
    m, n, batch, k = size
    tiles = ceil(m / tile.macro[0]) * ceil(n / tile.macro[1]) * batch
    parts = max(1, split)
    iterations = ceil(ceil(k / parts) / tile.depth)
    work = _iteration(machine, tile)
    if split:
        rounds = machine.rounds(tiles * parts)
        clocks = rounds * (iterations * work + _BEGIN_AND_END)
        busy = tiles * parts / (rounds * machine.units)
        partial = 2 * parts * m * n * batch * machine.accumulator if parts > 1 else 0
    else:
        share = ceil(tiles * iterations / machine.units)
        clocks = share * work + _BEGIN_AND_END * (1 + ceil(tiles / machine.units))
        busy = tiles * iterations / (share * machine.units)
        partial = 2 * min(machine.units, tiles * iterations) * prod(tile.macro) * machine.accumulator
    clocks += partial / machine.memory + (_SECOND_KERNEL if parts > 1 else 0)
    needed = batch * (m * k + n * k + m * n) * machine.element
    clocks = max(clocks, needed / machine.memory + _BEGIN_AND_END)
    inside = m * n * batch / (tiles * prod(tile.macro)) * k / (parts * iterations * tile.depth)
    return StartingTile(tile, split, 2 * m * n * batch * k / (clocks * machine.flops * machine.units), busy * inside)


def _iteration(machine: GpuModel, tile: Tile) -> float:
    """Clocks of one pass of the loop: instructions, LDS and L2 at the same time, so the longest of them."""
    m, n = tile.macro
    compute = 2 * m * n * tile.depth / machine.flops
    read = (m * tile.waves[1] + n * tile.waves[0]) * tile.depth * machine.element
    loaded = (m + n) * tile.depth * machine.element
    return max(compute, read / machine.lds_rate, loaded / _L2_BYTES_A_CLOCK, _SHORTEST_PASS) + _PASS_OVERHEAD


def starting_facts(
    configuration: BenchmarkConfiguration, gpu: Gpu | None, table: ParameterTable, *, most: int = 3
) -> str:
    """The best for the sizes of every group, those with most work first; empty where facts are missing."""
    lines: list[str] = []
    named = ""
    for group in configuration.size_groups:
        data = _letter(group.problem_type)
        found = None if gpu is None else machine_for(gpu, data)
        if gpu is None or found is None:
            continue
        named, machine = found
        instructions = _instructions(gpu, data, table)
        if not instructions:
            continue
        streams = table.fault("StreamK", 3) is None
        sizes = sorted((size[:4] for size in group.sizes.listed if len(size) >= 4), key=prod, reverse=True)
        for size in sizes[:_SIZES]:
            lines.append(f"size group {group.number}, {'x'.join(map(str, size))}:")
            points = starting_points(machine, instructions, size, streams=streams, most=most)
            lines += [f"  {place}. {point.words()}" for place, point in enumerate(points, start=1)]
    if not lines:
        return ""
    return "\n".join([f"Where to start, computed for {named} and not measured:", *lines])


def _letter(problem: Mapping[str, Any]) -> str:
    told = str(problem.get("DataType", "s"))
    upper = told.upper()
    return upper if upper in _BYTES else told.lower()


def _instructions(gpu: Gpu, data: str, table: ParameterTable) -> list[tuple[int, int]]:
    """Side and K of the matrix instructions that the architecture and Tensile have."""
    name = next((one.architecture for one in gpu.products.values()), gpu.name)
    depths = _OTHERS.get(name, {}).get(data, _DEPTH_OF[data])
    told = [(side, k) for side, k in zip((16, 32), depths, strict=True) if k]
    return [(side, k) for side, k in told if table.fault("MatrixInstruction", [side, side, k, 1]) is None]
