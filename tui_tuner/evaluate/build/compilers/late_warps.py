"""A build whose warps are late, each by another time: what takes them to run in order or in step is wrong then.

A GPU begins blocks in the order of their numbers and warps of a block nearly at once, so that a barrier or a wait for
another block that is left out mostly does no harm. Here chance lets whole blocks and single warps rest, for windows of
time: who asks for an index, or comes from a barrier, waits until it does not rest. No block takes the place of another,
since clusters are made of neighbours, and no warp is divided, since its threads may rightly run in step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui_tuner.evaluate.toolkit import LATE_WARPS
from tui_tuner.problem.candidate import Candidate

_BLOCKS_NS_LOG2, _WARPS_NS_LOG2 = 14, 12
"""How long a window is: 16 and 4 microseconds."""
_PRELUDE = f"""static __device__ bool tuner_rests(unsigned who, unsigned window) {{
    unsigned mixed = who * 0x9e3779b1u + window * 0x85ebca6bu;
    mixed = (mixed ^ (mixed >> 16)) * 0x7feb352du;
    mixed = (mixed ^ (mixed >> 15)) * 0x846ca68bu;
    return (mixed ^ (mixed >> 16)) & 1;
}}
// Nobody rests in one millisecond of eight, so that nothing takes more than about eight times as long.
static __device__ __noinline__ void tuner_late() {{
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned warp = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32;
    unsigned long long now;
    do {{
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) : : "memory");
    }} while ((now >> 20) % 8 && (tuner_rests(block, (unsigned)(now >> {_BLOCKS_NS_LOG2}))
                               || tuner_rests(~(block * 32 + warp), (unsigned)(now >> {_WARPS_NS_LOG2}))));
}}
static __device__ int tuner_then(int value) {{
    tuner_late();
    return value;
}}
#define blockIdx (tuner_late(), blockIdx)
#define threadIdx (tuner_late(), threadIdx)
#define __syncthreads() (__syncthreads(), tuner_late())
#define __syncthreads_count(value) tuner_then(__syncthreads_count(value))
#define __syncthreads_and(value) tuner_then(__syncthreads_and(value))
#define __syncthreads_or(value) tuner_then(__syncthreads_or(value))
#define __barrier_sync(id) (__barrier_sync(id), tuner_late())
#define __barrier_sync_count(id, count) (__barrier_sync_count(id, count), tuner_late())
#define __cluster_barrier_wait() (__cluster_barrier_wait(), tuner_late())
#line 1 "kernel.cu"
"""
_BARRIER_IN_ASSEMBLER = re.compile(
    r"\b(?:asm|__asm__)\b(?=(?:(?!\)\s*;).){0,800}?(?:\b|\\n|\\t)(?:bar|m?barrier)(?:\.\w+)*\.(?:sync|red|wait|\w+_wait)\b)",
    re.DOTALL,
)
_OF_WARP_GROUPS = re.compile(r"wgmma|tcgen05|\b(?:cute|cutlass)\b")
"""Products with which ptxas takes minutes for a call, or more registers than there are. Elsewhere a call builds faster,
by a factor of four where loops are unrolled that ask for an index."""
_ONCE_AND_LATE = r"for (bool tuner_once = true; tuner_once; tuner_once = false, tuner_late()) \g<0>"


def with_late_warps(candidate: Candidate, options: Sequence[str]) -> tuple[Candidate, list[str]]:
    """The candidate and the compiler's options of a build: as they are, but where the options ask for late warps."""
    if LATE_WARPS not in options:
        return candidate, [*options]
    inlined = _OF_WARP_GROUPS.search(candidate.source) is not None
    prelude = _PRELUDE.replace("__noinline__", "__forceinline__") if inlined else _PRELUDE
    source = prelude + _BARRIER_IN_ASSEMBLER.sub(_ONCE_AND_LATE, candidate.source)
    return candidate.model_copy(update={"source": source}), [one for one in options if one != LATE_WARPS]
