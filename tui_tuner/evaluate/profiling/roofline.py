"""The roofline of a launch: what its declared work takes at the least, at the device's ceilings for its data type.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", CACM 52(4), 2009. The ceilings are the device's own (`DeviceInfo`): measured there, or computed from its
properties where no plain kernel reaches them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tui_tuner.evaluate.results import Ceiling, DeviceInfo
from tui_tuner.problem.dtypes import dtype_named
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.inputs import is_blank, shape_of
from tui_tuner.problem.model import Problem
from tui_tuner.problem.syntax import code_only

IMPOSSIBLE_SHARE = 1.5
"""A launch this much faster than its bytes allow has not moved them."""
ALL_MOVED = 1.1
"""A launch faster than all of its arrays can be moved by more than this does with a part of them."""


@dataclass(frozen=True)
class Roofline:
    """What the declared work of a launch takes at the device's ceilings, ms: of its memory traffic, of its arithmetic.

    An estimate and no bound: a kernel may do with less work than is declared, or do it in units that are faster.

    Attributes:
        dtype: the type that the operations are counted in.
        memory: the bandwidth, in words.
        compute: the peak, in words.
    """

    memory_ms: float
    compute_ms: float
    dtype: str = "float32"
    memory: str = "the measured bandwidth of a copy"
    compute: str = "the measured peak"

    @property
    def bound_ms(self) -> float:
        """The larger of the two."""
        return max(self.memory_ms, self.compute_ms)

    @property
    def limiter(self) -> str:
        """Which of them it is, "memory" or "compute"."""
        return "memory" if self.memory_ms >= self.compute_ms else "compute"

    def share(self, milliseconds: float) -> float:
        """How much of the roofline a time reaches; above 1 where the kernel has found a faster way."""
        return self.bound_ms / milliseconds

    def impossible(self, milliseconds: float) -> bool:
        """Whether a time is below what moving the bytes takes."""
        return self.memory_ms > IMPOSSIBLE_SHARE * milliseconds


def roofline(problem: Problem, device: DeviceInfo) -> Roofline | None:
    """The roofline of a problem on a device; None without `[work]` or without measured ceilings."""
    work = problem.work
    if work is None or device.memory_gbs is None or device.flops_gflops is None:
        return None
    moved = float(evaluate(work.bytes, problem.sizes))
    operations = float(evaluate(work.flops, problem.sizes))
    memory_ms, memory = traffic_ms(problem, device, moved)
    dtype = working_type(problem)
    peak_name, peak = _peak(device, dtype)
    limits = Roofline(memory_ms, operations / peak.rate / 1e6, dtype, memory, peak_name)
    return limits if limits.bound_ms > 0 else None


@dataclass(frozen=True)
class Moved:
    """All arrays, the inputs read and the outputs written once.

    Attributes:
        ms: that it takes at the bandwidth.
        bandwidth: in words.
    """

    nbytes: int
    ms: float
    bandwidth: str

    def share(self, milliseconds: float) -> float:
        """How much of a time it is; above 1 where a kernel does with a part of the arrays, or finds them in caches."""
        return self.ms / milliseconds


def moved_once(problem: Problem, device: DeviceInfo) -> Moved | None:
    """What is known of the traffic where no `[work]` declares it; None without arrays or a measured bandwidth too."""
    nbytes = sum(_traffic(problem)) or problem.kernel.tensor_bytes
    if problem.work is not None or device.memory_gbs is None or not nbytes:
        return None
    return Moved(nbytes, *traffic_ms(problem, device, nbytes))


def expected_bytes(problem: Problem) -> int:
    """What a launch moves, at the sizes that are timed: as it is declared, else each array once."""
    return sum(_traffic(problem)) if problem.work is None else int(evaluate(problem.work.bytes, problem.sizes))


def traffic_ms(problem: Problem, device: DeviceInfo, moved: float) -> tuple[float, str]:
    """What moving so many bytes takes, ms, and the bandwidth that it is counted at, of a device that has one.

    As much as is both read and written goes at the bandwidth of a copy, the rest at that of reading or writing alone.
    """
    copy = Roofline.memory, device.memory_gbs or 0.0
    bandwidths = device.bandwidths
    read, written = _traffic(problem)
    if not read + written or not {"read", "fill"} <= bandwidths.keys():
        return moved / copy[1] / 1e6, copy[0]
    more, words = ("read", "reading") if read >= written else ("fill", "writing")
    alone = abs(read - written) / (read + written)
    per_byte = (1 - alone) / copy[1] + alone / max(bandwidths[more].rate, copy[1])
    mixed = f"the measured bandwidths of a copy and of {words}"
    name = copy[0] if alone == 0 else f"the measured bandwidth of {words}" if alone == 1 else mixed
    return moved * per_byte / 1e6, name


def _traffic(problem: Problem) -> tuple[int, int]:
    """Bytes of the arrays that are read, and of those that are written; what starts with a content may be both."""
    read = written = 0
    for argument in problem.arguments:
        if argument.shape is not None:
            nbytes = math.prod(shape_of(argument, problem.sizes)) * dtype_named(argument.dtype).itemsize
            written += nbytes if argument.output else 0
            read += 0 if is_blank(argument) else nbytes
    return read, written


def _peak(device: DeviceInfo, dtype: str) -> tuple[str, Ceiling]:
    """The highest peak for a type, which may be that of tensor cores; else that of float32."""
    ours = {name: peak for name, peak in device.peaks.items() if name.split(" ")[0] == dtype}
    if not ours:
        return "the measured peak of float32", Ceiling(rate=device.flops_gflops or 0.0)
    name = max(ours, key=lambda name: ours[name].rate)
    return f"the {'measured' if ours[name].measured else 'computed'} peak of {name}", ours[name]


_FLOATS = {
    "float8_e4m3fn": "float8",
    "float8_e5m2": "float8",
    "bfloat16": "bfloat16",
    "float16": "float16",
    "float32": "float32",
    "float64": "float64",
}
"""What each type of an array is worked in, the narrowest first: it is the fastest, so that none is beyond it."""
_NAMED: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("float8", re.compile(r"__nv_fp8|\be[45]m[32]\b")),
    ("bfloat16", re.compile(r"__nv_bfloat16|\b__bf16\b|\bbf16\b|\bnv_bfloat16")),
    ("float16", re.compile(r"\b(?:__)?half2?\b|\bf16\b")),
    ("tf32", re.compile(r"\btf32\b")),
    ("float32", re.compile(r"\bfloat[2-8]?\b")),
    ("float64", re.compile(r"\bdouble[2-8]?\b")),
)
"""What the source calls a type, the fastest first."""


def working_type(problem: Problem) -> str:
    """The data type that a problem's operations are in.

    What `[work]` declares; else the narrowest floating type of the arrays, but tf32 where the source says so of
    float32; of integers the type that the source names, since types of one or two bytes may be held in them, else their
    own.
    """
    if problem.work is not None and problem.work.dtype is not None:
        return problem.work.dtype
    arrays = [argument.dtype for argument in problem.arguments if argument.shape is not None]
    named = _named_types(problem.source_text)
    floats = [worked_in for name, worked_in in _FLOATS.items() if name in arrays]
    if floats:
        return "tf32" if floats[0] == "float32" and "tf32" in named else floats[0]
    if named and arrays:
        return named[0]
    return "int8" if any(dtype_named(dtype).itemsize == 1 for dtype in arrays) else "int32" if arrays else "float32"


@lru_cache(maxsize=16)
def _named_types(source: str) -> Sequence[str]:
    """Types that a source names, the fastest first; the same few sources are asked about for every evaluation."""
    code = code_only(source)
    return [name for name, pattern in _NAMED if pattern.search(code)]
