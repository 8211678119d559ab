"""What of a source is made late: each barrier, in whatever words, and nothing else."""

import pytest

from tui_tuner.evaluate.build.compilers.cuda import with_late_warps
from tui_tuner.evaluate.toolkit import LATE_WARPS

LATE = "for (bool tuner_once = true; tuner_once; tuner_once = false, tuner_late()) "
WAIT = """asm volatile("{\\n.reg .pred p;\\nW:\\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\\n"
    "@!p bra W;\\n}" :: "r"(b));"""


@pytest.mark.parametrize(
    "statement",
    [
        'asm volatile("bar.sync 0;");',
        'asm volatile("bar.sync %0, %1;" :: "r"(at(name)), "r"(128) : "memory");',
        '__asm__ __volatile__ ("barrier.cta.sync 3;\\n" ::: "memory");',
        'asm("barrier.cluster.wait.acquire;");',
        'asm volatile("\\tbar.red.popc.u32 %0, 1, p;" : "=r"(n));',
        WAIT,
    ],
)
def test_whoever_comes_from_a_barrier_in_assembler_is_late(candidate, statement):
    source = f"{LINE}if (x) {statement} else return;\n"
    late, options = with_late_warps(candidate(source), ["-O3", LATE_WARPS])
    assert late.source.endswith(f"{LINE}if (x) {LATE}{statement} else return;\n")
    assert options == ["-O3"]
    assert with_late_warps(candidate(source), ["-O3"]) == (candidate(source), ["-O3"])


LINE = 'asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));\n'


@pytest.mark.parametrize(
    "statement",
    [
        'asm volatile("bar.arrive 1, 128;");',
        'asm volatile("{ mbarrier.arrive.shared::cta.b64 s, [%0]; }" :: "r"(b));',
        'asm volatile("cp.async.wait_group 1;");',
        'asm volatile("membar.gl;"); __syncwarp();',
        "int asm_bar = barrier.sync;",
    ],
)
def test_what_waits_for_no_other_warp_stays_as_it_is(candidate, statement):
    late, _ = with_late_warps(candidate(statement), [LATE_WARPS])
    assert late.source.endswith(f"\n{statement}")
