"""A build whose blocks begin late, each by another time: what takes them to run in order is wrong then.

A GPU begins blocks in the order of their numbers, so that a block which does not wait for what those before it publish
mostly finds it there. Here a block that asks for its number waits first, up to `_LONGEST_NS` from the begin of the
launch on, by chance anew at each launch. No block takes the place of another, since clusters are made of neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence

from tui_tuner.evaluate.toolkit import LATE_BLOCKS
from tui_tuner.problem.candidate import Candidate

_LONGEST_NS, _NEXT_LAUNCH_NS = 65536, 250_000
_PRELUDE = f"""
static __device__ unsigned long long tuner_begun;
static __device__ unsigned long long tuner_now() {{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}}
static __device__ void tuner_wait() {{
    unsigned long long begun = atomicAdd(&tuner_begun, 0ull), now = tuner_now();
    if ((long long)(now - begun) > {_NEXT_LAUNCH_NS}) {{
        atomicCAS(&tuner_begun, begun, now);
        begun = atomicAdd(&tuner_begun, 0ull);
    }}
    unsigned mixed = (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) ^ (unsigned)(begun / 32);
    mixed = (mixed ^ (mixed >> 16)) * 0x7feb352du;
    mixed = (mixed ^ (mixed >> 15)) * 0x846ca68bu;
    begun += (mixed >> 8) % {_LONGEST_NS};
    while ((long long)(begun - tuner_now()) > 0) {{}}
}}
#define blockIdx (tuner_wait(), blockIdx)
#line 1 "kernel.cu"
"""


def with_late_blocks(candidate: Candidate, options: Sequence[str]) -> tuple[Candidate, list[str]]:
    """The candidate and the compiler's options of a build: as they are, but where the options ask for late blocks."""
    if LATE_BLOCKS not in options:
        return candidate, [*options]
    source = _PRELUDE.lstrip() + candidate.source
    return candidate.model_copy(update={"source": source}), [one for one in options if one != LATE_BLOCKS]
