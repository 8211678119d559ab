"""Builds whose warps are late: where they rest, with the real nvcc, and that a source cannot tell."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from tui_tuner.evaluate.build.builder import Builder
from tui_tuner.evaluate.build.compilers.late_warps import with_late_warps
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.toolkit import LATE_WARPS

SOURCE = """#include <cooperative_groups.h>
#include <cuda/barrier>
template <int N> __global__ void __launch_bounds__(N, 2) __cluster_dims__(2, 1, 1) t(int* x, const int* y) {
    namespace groups = cooperative_groups;
    extern __shared__ int s[];
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    if (threadIdx.x == 0) init(&ready, N);
    if (threadIdx.x < N) s[threadIdx.x] = y[blockIdx.x]; else return;
    asm volatile("bar.sync %0, %1;" :: "r"(1), "r"(N) : "memory");
    int some = __syncthreads_count(s[0]);
    groups::this_thread_block().sync(), groups::this_cluster().sync(), __syncwarp();
    ready.arrive_and_wait();
    x[atomicAdd(x, 1)] = some + s[threadIdx.x ^ 1] + gridDim.x;
}
"""
IN_PTX = ("bar.sync", "barrier.sync", "bar.red", "barrier.cluster.wait", "mbarrier.arrive", "mbarrier.t", "atom.")
SEES = """
#if defined(threadIdx) || defined(__syncthreads) || defined(tuner_late)
#error it is watched
#endif
__global__ void k(int* x) { x[threadIdx.x] = 1; }
"""


@pytest.fixture
def builder(nvcc, policy, tmp_path):
    return Builder(nvcc, cache=tmp_path / "cache", jobs=2, policy=policy)


@pytest.mark.slow
async def test_a_build_with_late_warps_has_the_same_kernel_and_what_rests_besides(builder, candidate):
    late = [LATE_WARPS]
    (plain, rests), wrong, seeing = await asyncio.gather(
        asyncio.gather(*(builder.build(candidate(SOURCE, "t<128>"), {}, options) for options in ([], late))),
        builder.build(candidate(f"{SOURCE}error\n", "t<128>"), {}, late),
        builder.build(candidate(SEES), {}, late),
    )
    assert (plain.failure, rests.failure, seeing.failure) == (None, None, None)
    assert (rests.symbol, rests.key != plain.key) == (plain.symbol, True)
    sizes = [Path(one.artifact).stat().st_size for one in (plain, rests)]
    assert sizes[1] - sizes[0] > 8 * 512, "bytes: each of eight places waits in a loop of its own"
    assert wrong.failure.kind is FailureKind.COMPILE
    assert wrong.failure.message.startswith("kernel.cu:15: error: ")


@pytest.mark.slow
def test_what_headers_make_of_a_source_rests_behind_each_barrier(nvcc, candidate, tmp_path):
    recipe = nvcc.recipe(candidate(SOURCE, "t<128>"), {}, ["-O3", LATE_WARPS])
    for name, text in recipe.files.items():
        (tmp_path / name).write_text(text)
    assert LATE_WARPS not in recipe.between.command
    subprocess.run(recipe.between.command, cwd=tmp_path, check=True)
    ptx = recipe.between.change((tmp_path / recipe.between.file).read_text())
    behind = [text.rstrip().rpartition(";")[0].rpartition("\n")[2] for text in ptx.split("\n{\n.reg .pred %tuner_p")]
    assert [name for name in IN_PTX if not any(name in line for line in behind[:-1])] == []


@pytest.mark.parametrize(
    "instruction",
    [
        "bar.sync \t0;",
        "@%p1 bar.sync 1, 128;",
        "bar.arrive %r1, 384;",
        "barrier.cta.sync 3;",
        "barrier.sync.aligned 1, 64;",
        "bar.red.popc.u32 %r1, 0, %p1;",
        "barrier.cluster.wait.acquire.aligned;",
        "mbarrier.arrive.shared::cta.b64 _, [%r130];",
        "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r1], %r2;",
        "mbarrier.try_wait.parity.shared::cta.b64 P1, [%r1], %r2;",
        "cp.async.wait_group 1;",
        "cp.async.bulk.wait_group.read 0;",
        "atom.global.add.u32 %r1, [%rd1], 1;",
        "red.shared.add.u32 [%r1], 1;",
        "membar.gl;",
        "fence.acq_rel.gpu;",
    ],
)
def test_a_warp_rests_behind_what_orders_memory(instruction):
    before, behind = "\tld.shared.u32 %r1, [%r2];\n\t", "\n\tst.shared.u32 [%r2], %r1;\n"
    late = with_late_warps(before + instruction + behind)
    assert late.startswith(f"{before}{instruction}\n{{\n.reg ")
    assert late.endswith(f"\n}}\n{behind}")
    assert late.count("bra TUNER_RESTS;") == 1


@pytest.mark.parametrize(
    "instruction",
    [
        "bar.warp.sync -1;",
        "mbarrier.init.shared::cta.b64 [%r1], 128;",
        "wgmma.fence.sync.aligned;",
        "wgmma.wait_group.sync.aligned 0;",
        "shfl.sync.down.b32 %r1, %r2, 16, 31, -1;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];",
        "redux.sync.add.s32 %r1, %r2, -1;",
    ],
)
def test_lanes_of_a_warp_stay_in_step(instruction):
    assert with_late_warps(f"\t{instruction}\n") == f"\t{instruction}\n"


def test_each_kernel_rests_where_it_begins_behind_its_declarations():
    head = ".visible .entry k(\n\t.param .u64 k_param_0\n)\n.maxntid 128, 1, 1\n{\n\t.reg .b32 \t%r<3>;\n\t// demoted\n"
    declared = f"{head}\t.shared .align 4 .b8 tile[128];\n"
    late = with_late_warps(f"{declared}\n\tld.param.u64 %rd1, [k_param_0];\n\tret;\n}}\n")
    assert late.startswith(f"{declared}".rstrip("\n"))
    assert late.index("TUNER_RESTS:") < late.index("ld.param")
    assert with_late_warps(".func (.param .b32 r) f()\n{\n\tret;\n}\n").count("TUNER_RESTS") == 0
