"""Kernels whose warps load for others and wait by barriers of their own, under all tools of a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.evaluate.local import LocalEvaluator
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.evaluate.site import LocalOptions
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import load_problem
from tui_tuner.settings.models import BuildSettings

GIVEN = """extern "C" __global__ void turned(float* y, const float* x, int chunks) {
    for (int c = blockIdx.x * chunks; c < (blockIdx.x + 1) * chunks; c++)
        for (int i = threadIdx.x; i < 256; i += blockDim.x) y[c * 256 + i] = 2.0f * x[c * 256 + 255 - i] + 1.0f;
}
"""
PROBLEM = """
[kernel]
name = "turned"
source = "turned.cu"
[sizes]
blocks = 264
chunks = 64
[launch]
block_size = [128]
grid = ["blocks"]
[[arguments]]
name = "y"
dtype = "float32"
shape = ["blocks * chunks * 256"]
output = true
[[arguments]]
name = "x"
dtype = "float32"
shape = ["blocks * chunks * 256"]
[[arguments]]
name = "chunks"
dtype = "int32"
value = "chunks"
[[tests]]
sizes = { blocks = 8, chunks = 40 }
[[tests]]
sizes = { blocks = 1, chunks = 5 }
"""
RING = """extern "C" __global__ void __launch_bounds__(128) turned(float* y, const float* x, int chunks) {
    __shared__ float ring[2][256];
    BARRIERS
    if (threadIdx.x < 64) {
        for (int c = 0; c < chunks; c++) {
            WAIT_EMPTY
            for (int i = threadIdx.x; i < 256; i += 64) ring[c % 2][i] = x[(blockIdx.x * chunks + c) * 256 + i];
            TELL_FULL
        }
    } else {
        const int first = threadIdx.x - 64;
        for (int c = 0; c < chunks; c++) {
            WAIT_FULL
            float v[4];
            for (int j = 0; j < 4; j++) v[j] = ring[c % 2][255 - first - 64 * j];
            TELL_EMPTY
            for (int j = 0; j < 4; j++) y[(blockIdx.x * chunks + c) * 256 + first + 64 * j] = 2.0f * v[j] + 1.0f;
        }
    }
}
"""
MBARRIERS = """typedef unsigned long long u64;
__device__ unsigned at(u64* b) { return (unsigned)__cvta_generic_to_shared(b); }
__device__ void begin(u64* b) { asm volatile("mbarrier.init.shared.b64 [%0], 2;" :: "r"(at(b)) : "memory"); }
__device__ void tell(u64* b) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at(b)) : "memory");
}
__device__ void wait(u64* b, int phase) {
    int done;
    do asm volatile("{\\n.reg .pred p;\\nmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\\nselp.u32 %0, 1, 0, p;\\n}"
                    : "=r"(done) : "r"(at(b)), "r"(phase) : "memory"); while (!done);
}
"""
ONE_LANE = {
    "BARRIERS": "__shared__ u64 full[2], empty[2]; if (threadIdx.x < 2) begin(full + threadIdx.x), "
    "begin(empty + threadIdx.x); __syncthreads();",
    "WAIT_EMPTY": "wait(empty + c % 2, c / 2 % 2 ^ 1);",
    "TELL_FULL": "tell(full + c % 2);",
    "WAIT_FULL": "wait(full + c % 2, c / 2 % 2);",
    "TELL_EMPTY": "tell(empty + c % 2);",
}
NAMED = {
    "BARRIERS": """if (threadIdx.x >= 64) asm volatile("bar.arrive 3, 128;\\nbar.arrive 4, 128;" ::: "memory");""",
    "WAIT_EMPTY": """asm volatile("bar.sync %0, 128;" :: "r"(3 + c % 2) : "memory");""",
    "TELL_FULL": """asm volatile("bar.arrive %0, 128;" :: "r"(1 + c % 2) : "memory");""",
    "WAIT_FULL": """asm volatile("bar.sync %0, 128;" :: "r"(1 + c % 2) : "memory");""",
    "TELL_EMPTY": """if (c + 2 < chunks) asm volatile("bar.arrive %0, 128;" :: "r"(3 + c % 2) : "memory");""",
}
IN_TURNS = {
    "BARRIERS": "",
    "WAIT_EMPTY": "",
    "TELL_FULL": """asm volatile("bar.sync 0;" ::: "memory");""",
    "WAIT_FULL": """asm volatile("bar.sync 0;" ::: "memory");""",
    "TELL_EMPTY": "",
}


def ring(barriers: dict[str, str], *, too_early: bool = False) -> str:
    """The source; too early: a stage is told to be empty before it is read."""
    source = RING
    if too_early:
        source = source.replace("            TELL_EMPTY\n", "").replace(
            "WAIT_FULL", "WAIT_FULL\n            TELL_EMPTY"
        )
    for word, code in barriers.items():
        source = source.replace(word, code)
    return MBARRIERS + source


@pytest.mark.gpu
async def test_barriers_that_tools_do_not_follow_are_judged_by_late_warps(tmp_path: Path) -> None:
    (tmp_path / "turned.cu").write_text(GIVEN)
    (tmp_path / "turned.toml").write_text(PROBLEM)
    problem = load_problem(tmp_path / "turned.toml")
    tools = tuple(BuildSettings().sanitizers)
    options = LocalOptions(
        device="cuda", cache=tmp_path / "b", log=tmp_path / "log", jobs=4, policy=Policy(), sanitizers=tools
    )
    evaluator = LocalEvaluator(problem, options)
    given = baseline(problem)
    said: list[str] = []
    try:
        await evaluator.start()
        for source in (
            ring(ONE_LANE), ring(NAMED), ring(IN_TURNS), ring(ONE_LANE, too_early=True), ring(NAMED, too_early=True)
        ):  # fmt: skip
            candidate = given.model_copy(update={"source": source})
            evaluation = await evaluator.evaluate(candidate, {}, None)
            assert evaluation.failure is None, evaluation.failure
            failure = await evaluator.accusation(candidate, {})
            said.append("" if failure is None else failure.message.partition(":")[0])
    finally:
        await evaluator.close()
    assert said[:3] == ["", "", ""]
    assert all(said[3:]), said
