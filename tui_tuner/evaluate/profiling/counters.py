"""What the hardware counted while a kernel ran: which units were busy, what warps waited for, what was moved.

The counters are those of Nsight Compute, named as in its "Metrics Reference"; a device that lacks one leaves it out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from tui_tuner.evaluate.results import ResultModel

_ELAPSED = "avg.pct_of_peak_sustained_elapsed"
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
_DRAM_READ, _DRAM_WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
_L1_HITS, _L2_HITS = "l1tex__t_sector_hit_rate.pct", "lts__t_sector_hit_rate.pct"
_LOADED, _STORED = (f"smsp__sass_average_data_bytes_per_sector_mem_global_op_{way}.pct" for way in ("ld", "st"))
_SHARED = "smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct"
_WARPS, _THREADS = (
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
)
_WARP = 32
_TOLD = 0.02
"""A unit that is busy less, and a wait that is a smaller share, is not told."""
_MOST_STALLS = 3
_READ_BY_NOBODY = 1.0
"""Percent of the width of shared memory up to which threads themselves read next to nothing."""
_WELL_USED = 90.0
"""Accesses of which so many percent are data have nothing to gain."""


@dataclass(frozen=True)
class Unit:
    """A part of the device that can be busy.

    Attributes:
        holds: the bottleneck that it is.
        metrics: of which the largest is its share of its peak, in percent.
        way: what helps where it is the bottleneck.
    """

    name: str
    holds: Literal["memory", "l2", "l1", "issue", "compute"]
    metrics: tuple[str, ...]
    way: str


MEMORY = Unit(
    "device memory",
    "memory",
    (f"dram__throughput.{_ELAPSED}",),
    "Only moving less helps much: fewer passes, narrower types, what is read twice kept on the chip.",
)
L2 = Unit(
    "the L2 cache",
    "l2",
    (f"lts__throughput.{_ELAPSED}",),
    "Take more from shared memory and registers, use whole sectors, and let blocks that share data run together.",
)
L1 = Unit(
    "the path to L1 and shared memory",
    "l1",
    (f"l1tex__throughput.{_ELAPSED}",),
    "Each thread loads too often: keep operands in registers (several results a thread), load wider, avoid conflicts "
    "of banks and scattered accesses.",
)
ISSUE = Unit(
    "the issue of instructions",
    "issue",
    (f"sm__issue_active.{_ELAPSED}",),
    "Fewer instructions help: wider loads, unrolling, cheaper addresses, fused or packed operations.",
)
_TENSOR_CORES = Unit(
    "the tensor cores",
    "compute",
    (
        f"sm__pipe_tensor_cycles_active.{_ELAPSED}",
        f"sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.{_ELAPSED}",
    ),
    "Fewer operations, or a narrower type.",
)
PIPES = (
    Unit(
        "the floating-point pipe",
        "compute",
        (f"sm__pipe_fma_cycles_active.{_ELAPSED}",),
        "Fewer operations, packed ones of a narrower type, or tensor cores.",
    ),
    Unit(
        "the integer and logic pipe",
        "compute",
        (f"sm__pipe_alu_cycles_active.{_ELAPSED}",),
        "Fewer comparisons, logic and integer operations: cheaper addresses, less guarding in the inner loop.",
    ),
    Unit(
        "the double-precision pipe",
        "compute",
        (f"sm__pipe_fp64_cycles_active.{_ELAPSED}",),
        "Fewer double-precision operations, and none by accident (a constant without f).",
    ),
    Unit(
        "the special functions",
        "compute",
        (f"sm__inst_executed_pipe_xu.{_ELAPSED}",),
        "Fewer conversions, exponentials, roots and divisions.",
    ),
    _TENSOR_CORES,
)
UNITS = (MEMORY, L2, L1, ISSUE, *PIPES)


@dataclass(frozen=True)
class Stall:
    """Why a warp does not go on, and what helps."""

    reason: str
    way: str


_LATENCY = (
    "more of them under way at once (unrolling, several elements a thread, asynchronous copies), or fewer of them"
)
STALLS = {
    "long_scoreboard": Stall("for global or local memory", _LATENCY),
    "short_scoreboard": Stall(
        "for shared memory or special functions",
        "fewer or wider accesses, no conflicts of banks, more independent work",
    ),
    "lg_throttle": Stall(
        "since the queue of accesses to global memory is full",
        "fewer and wider accesses that coalesce, reuse in registers",
    ),
    "mio_throttle": Stall(
        "since the queue of accesses to shared memory is full", "fewer and wider accesses, no conflicts of banks"
    ),
    "barrier": Stall("for other warps at a barrier", "fewer barriers, smaller blocks, work that is shared out evenly"),
    "math_pipe_throttle": Stall("for an arithmetic pipe", "other instructions between, or another pipe"),
    "wait": Stall("for the instruction before it", "more independent work in each thread"),
    "gmma": Stall("for the tensor cores", "larger tiles, more stages under way"),
    "drain": Stall(
        "for stores and atomic operations at its end",
        "stores that coalesce, more work a thread; few atomic operations, added up before in shared memory",
    ),
    "no_instruction": Stall("for instructions to be fetched", "shorter code: less unrolling"),
    "branch_resolving": Stall("for branches", "fewer branches"),
    "dispatch_stall": Stall("for the dispatcher", "fewer accesses at once"),
    "imc_miss": Stall("for constants", "fewer different constants"),
    "membar": Stall("for memory fences", "fewer fences"),
    "tex_throttle": Stall("since the queue of textures is full", "fewer texture accesses"),
    "sleeping": Stall("asleep", "shorter sleeps"),
}

QUEUED = frozenset(STALLS[name] for name in ("lg_throttle", "drain", "membar"))
"""Waits that atomic operations on one word cause, as each holds up those behind it."""
METRICS = (
    *(metric for unit in UNITS for metric in unit.metrics),
    *(_STALL.format(name) for name in STALLS),
    *(_DRAM_READ, _DRAM_WRITTEN, _L1_HITS, _L2_HITS, _LOADED, _STORED, _SHARED, _WARPS, _THREADS),
)
"""All that are asked for: so few that a kernel runs four or five times."""


class Counters(ResultModel):
    """What was counted in one launch, its caches cold, by Nsight Compute's names."""

    values: dict[str, float]

    def busy(self) -> list[tuple[Unit, float]]:
        """Units with the share of their peak, the busiest first."""
        shares = [(unit, self._share(unit)) for unit in UNITS]
        return sorted(((u, s) for u, s in shares if s is not None), key=lambda pair: -pair[1])

    @property
    def memory_busy(self) -> float:
        """Share of its peak of the busiest unit on the way to global memory; 0 where none was counted."""
        return max(self._share(unit) or 0.0 for unit in (MEMORY, L2, L1))

    def of(self, *, tensor: bool, copies: bool) -> Counters:
        """Without what means nothing for code that has no instructions of tensor cores, or has asynchronous copies.

        Other instructions run on the pipe of tensor cores, too. What copies ask for of sectors is not counted, nor what
        tensor cores read of shared memory by themselves.
        """
        lost = {*(() if tensor else _TENSOR_CORES.metrics), *((_LOADED,) if copies else ())}
        if tensor and self.values.get(_SHARED, 0.0) < _READ_BY_NOBODY:
            lost.add(_SHARED)
        return Counters(values={name: value for name, value in self.values.items() if name not in lost})

    def waits(self) -> list[tuple[Stall, float]]:
        """Why warps wait, with the share of all their waiting, most at the start."""
        known = {stall: self.values.get(_STALL.format(name), 0.0) for name, stall in STALLS.items()}
        total = sum(known.values())
        shares = [(stall, value / total) for stall, value in known.items()] if total else []
        return sorted(shares, key=lambda pair: -pair[1])

    @property
    def moved(self) -> float | None:
        """Bytes from and to device memory."""
        read, written = self.values.get(_DRAM_READ), self.values.get(_DRAM_WRITTEN)
        return None if read is None or written is None else read + written

    @property
    def loaded(self) -> float | None:
        """Share of the sectors loaded from global memory that is asked for."""
        return self._part(_LOADED)

    @property
    def stored(self) -> float | None:
        """Share of the sectors stored to global memory that is data."""
        return self._part(_STORED)

    @property
    def together(self) -> float | None:
        """Threads of a warp, of 32, that take part in an instruction."""
        return self.values.get(_THREADS)

    @property
    def at_barriers(self) -> float:
        """Share of the waiting of warps that is for others at a barrier."""
        return dict(self.waits()).get(STALLS["barrier"], 0.0)

    def _part(self, metric: str) -> float | None:
        return self.values[metric] / 100 if metric in self.values else None

    def _share(self, unit: Unit) -> float | None:
        known = [self.values[metric] for metric in unit.metrics if metric in self.values]
        return max(known) / 100 if known else None


def read_counters(text: str) -> Counters | None:
    """The counters of the first launch in what `ncu --csv --page raw --print-units base` writes.

    Returns:
        None where there is none.
    """
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.reader(io.StringIO("\n".join(lines))))
    if len(rows) < 3:  # names, units, values
        return None
    found = dict(zip(rows[0], rows[2], strict=False))
    values = {name: number for name in METRICS if (number := _number(found.get(name))) is not None}
    return Counters(values=values) if values else None


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text.replace(",", ""))
    except ValueError:
        return None


def counter_facts(counters: Counters, declared: float | None) -> Iterator[str]:
    """The counters in words, a few lines.

    Args:
        declared: bytes that a launch must move, as the problem says.
    """
    busy = [f"{unit.name} {share:.0%}" for unit, share in counters.busy() if share >= _TOLD]
    if busy:
        yield f"busy, as a share of its peak: {', '.join(busy)}"
    waits = [f"{stall.reason} {share:.0%}" for stall, share in counters.waits()[:_MOST_STALLS] if share >= _TOLD]
    if waits:
        yield f"warps wait, as a share of their waiting: {', '.join(waits)}"
    used = [*_used(counters.values), *_moved(counters, declared)]
    if used:
        yield "; ".join(used)


def _used(values: Mapping[str, float]) -> Iterator[str]:
    for metric, what in (
        (_LOADED, "of the sectors loaded from global memory {} is data that is asked for"),
        (_STORED, "of the sectors stored to global memory {} is data"),
        (_SHARED, "accesses to shared memory reach {} of its width (conflicts of banks, narrow accesses)"),
    ):
        if 0 < values.get(metric, 0.0) < _WELL_USED:
            yield what.format(f"{values[metric]:.0f}%")
    hits = [
        f"{name} {values[metric]:.0f}%" for name, metric in (("L1", _L1_HITS), ("L2", _L2_HITS)) if metric in values
    ]
    if hits:
        yield f"found in {', in '.join(hits)}"
    if _WARPS in values:
        yield f"{values[_WARPS]:.0f}% of the warps that a multiprocessor can hold are there"
    if values.get(_THREADS, _WARP) < _WARP * _WELL_USED / 100:
        yield f"{values[_THREADS]:.1f} of {_WARP} threads of a warp take part in an instruction"


def _moved(counters: Counters, declared: float | None) -> Iterator[str]:
    if counters.moved is None:
        return
    times = f", {counters.moved / declared:.2g} times what is declared" if declared else ""
    yield f"{counters.moved / 1e6:.4g} MB from and to device memory{times}"
