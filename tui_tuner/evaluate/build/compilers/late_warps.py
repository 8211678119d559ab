"""Builds whose warps are late, each by another time: what takes them to run in order or in step is wrong then.

A GPU begins blocks in the order of their numbers and warps of a block nearly at once, so that a barrier or a wait for
another block that is left out mostly does no harm. Here chance lets whole blocks and single warps rest, for windows of
time: who begins, or comes from what orders memory among threads, waits until it does not rest. No block takes the place
of another, since clusters are made of neighbours, and no warp is divided, since its threads may rightly run in step.

That is put into the PTX, on its way from nvcc to ptxas, so that headers are late as well and no source can see it.
"""

from __future__ import annotations

import re

_REST = """
{
.reg .pred %tuner_p<3>;
.reg .b32 %tuner_r<8>;
.reg .b64 %tuner_t<2>;
mov.u32 %tuner_r0, %ctaid.z; mov.u32 %tuner_r1, %nctaid.y; mov.u32 %tuner_r2, %ctaid.y;
mad.lo.u32 %tuner_r0, %tuner_r0, %tuner_r1, %tuner_r2; mov.u32 %tuner_r1, %nctaid.x; mov.u32 %tuner_r2, %ctaid.x;
mad.lo.u32 %tuner_r0, %tuner_r0, %tuner_r1, %tuner_r2; // the block
mov.u32 %tuner_r3, %tid.z; mov.u32 %tuner_r1, %ntid.y; mov.u32 %tuner_r2, %tid.y;
mad.lo.u32 %tuner_r3, %tuner_r3, %tuner_r1, %tuner_r2; mov.u32 %tuner_r1, %ntid.x; mov.u32 %tuner_r2, %tid.x;
mad.lo.u32 %tuner_r3, %tuner_r3, %tuner_r1, %tuner_r2; shr.u32 %tuner_r3, %tuner_r3, 5;
shl.b32 %tuner_r1, %tuner_r0, 5; add.u32 %tuner_r3, %tuner_r3, %tuner_r1; not.b32 %tuner_r3, %tuner_r3; // the warp
TUNER_RESTS:
mov.u64 %tuner_t0, %globaltimer;
shr.u64 %tuner_t1, %tuner_t0, 20; cvt.u32.u64 %tuner_r1, %tuner_t1; // milliseconds
and.b32 %tuner_r2, %tuner_r1, 3; shl.b32 %tuner_r2, %tuner_r2, 1; add.u32 %tuner_r2, %tuner_r2, 10;
shr.u64 %tuner_t1, %tuner_t0, %tuner_r2; cvt.u32.u64 %tuner_r4, %tuner_t1; // the window of warps, and that of blocks
shr.u32 %tuner_r5, %tuner_r4, 2;
mul.lo.u32 %tuner_r6, %tuner_r3, 0x9e3779b1; mad.lo.u32 %tuner_r6, %tuner_r4, 0x85ebca6b, %tuner_r6;
shr.u32 %tuner_r7, %tuner_r6, 16; xor.b32 %tuner_r6, %tuner_r6, %tuner_r7; mul.lo.u32 %tuner_r6, %tuner_r6, 0x7feb352d;
mul.lo.u32 %tuner_r4, %tuner_r0, 0x9e3779b1; mad.lo.u32 %tuner_r4, %tuner_r5, 0x85ebca6b, %tuner_r4;
shr.u32 %tuner_r7, %tuner_r4, 16; xor.b32 %tuner_r4, %tuner_r4, %tuner_r7; mul.lo.u32 %tuner_r4, %tuner_r4, 0x7feb352d;
or.b32 %tuner_r4, %tuner_r4, %tuner_r6; setp.lt.s32 %tuner_p0, %tuner_r4, 0; // the first bit of either
and.b32 %tuner_r1, %tuner_r1, 7; setp.ne.u32 %tuner_p1, %tuner_r1, 0; and.pred %tuner_p0, %tuner_p0, %tuner_p1;
@%tuner_p0 bra TUNER_RESTS;
}
"""
"""In PTX: rest for a half of the windows, by chance. Those of warps last 1, 4, 16 and 65 microseconds, in turns of a
millisecond each, those of blocks four times as long. Nobody rests in one millisecond of eight, so that nothing takes
more than about eight times as long."""
_REST_OF_IT = r"[^;]{0,400};"  # of bounded length, since a text in assembler comes here before ptxas has seen it
_ORDERS = re.compile(
    rf"(?<![\w.:])(?:(?:bar|barrier)(?:\.cta|\.cluster)?\.(?:sync|red|arrive|wait)\b{_REST_OF_IT}"
    rf"|mbarrier\.(?:arrive|test_wait|try_wait)\w*\b{_REST_OF_IT}"
    rf"|cp\.async\.(?:bulk\.)?wait_\w+{_REST_OF_IT}"
    rf"|(?:atom|red|fence|membar)\.{_REST_OF_IT})"
)
"""What orders memory among the threads of a block or more; lanes of a warp stay in step."""
_BEGINS = re.compile(
    rf"\.entry\b[^{{]{{0,99999}}\{{(?:\s*(?://[^\n]*\n|\.(?:reg|local|shared)\b{_REST_OF_IT}))*",
)


def with_late_warps(ptx: str) -> str:
    """PTX whose kernels rest by chance where they begin and behind what orders memory."""
    return _BEGINS.sub(rf"\g<0>{_REST}", _ORDERS.sub(rf"\g<0>{_REST}", ptx))
