"""Drafts of kernels whose blocks each leave a part of the result, or whose threads append what they find."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.amendments import Amendments
from tui_tuner.problem.draft.kernel.order import Appended, appended
from tui_tuner.problem.draft.kernel.parts import parts_of
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.load import problem_in_text
from tui_tuner.problem.model import Problem
from tui_tuner.problem.signature import find_kernel, find_kernels

HALVING = "for (int s = blockDim.x / 2; s > 0; s /= 2) { if (threadIdx.x < s) %s; __syncthreads(); }"
SUMMED = HALVING % "sdata[threadIdx.x] += sdata[threadIdx.x + s]"
SHARE = "int i = blockIdx.x * blockDim.x + threadIdx.x; sdata[threadIdx.x] = i < n ? in[i] : 0; __syncthreads();"
REDUCE = (
    "__global__ void reduce(const float *in, float *out, int n) { extern __shared__ float sdata[]; "
    f"{SHARE} {SUMMED} if (threadIdx.x == 0) out[blockIdx.x] = sdata[0]; }}\n"
)
HOST = (
    "int main() { int n = 1 << 22, threads = 256, blocks = (n + threads - 1) / threads; float *in, *out;\n"
    " cudaMalloc(&in, n * sizeof(float)); cudaMalloc(&out, blocks * sizeof(float));\n"
    " reduce<<<blocks, threads, threads * sizeof(float)>>>(in, out, n); }\n"
)
WARPS = (
    "__device__ float most(float v) { for (int o = 16; o > 0; o /= 2)"
    " v = fmaxf(v, __shfl_down_sync(~0u, v, o)); return v; }\n"
    "__global__ void largest(const float *in, float *out, int n) { __shared__ float near[32]; float m = -1e30f;"
    " for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) m = fmaxf(m, in[i]);"
    " m = most(m); if (threadIdx.x % 32 == 0) near[threadIdx.x / 32] = m; __syncthreads();"
    " m = threadIdx.x < blockDim.x / 32 ? near[threadIdx.x] : -1e30f; m = most(m);"
    " if (threadIdx.x == 0) out[blockIdx.x] = m; }\n"
)


def problem_of(directory: Path, source: str, name: str = "parts.cu") -> Problem:
    file = directory / name
    file.write_text(source)
    return problem_in_text(scaffold(file, None), file.with_suffix(".toml"))


def test_the_block_of_a_kernel_that_leaves_partial_sums_is_tuned(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, REDUCE + HOST)
    out = problem.arguments[1]
    assert (out.compare, out.shape, out.fill) == ("sum", ["ceil_div(n, 32)"], None)
    assert problem.tunables == {"block_size_x": [32, 64, 128, 256, 512, 1024]}
    assert problem.launch.shared_memory == "block_size_x * 4"


def test_a_kernel_alone_has_as_many_parts_as_blocks_and_an_element_of_shared_memory_a_thread(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, REDUCE)
    assert (problem.arguments[1].compare, problem.arguments[1].shape) == ("sum", ["ceil_div(n, 32)"])
    assert problem.launch.shared_memory == "4 * block_size_x"


def test_a_constant_that_makes_the_block_is_tuned_and_there_are_parts_for_the_smallest(tmp_path: Path) -> None:
    kernel = REDUCE.replace("blockDim.x", "threads").replace(
        "extern __shared__ float sdata[]", "__shared__ float sdata[threads]"
    )
    host = HOST.replace("threads = 256, ", "").replace(", threads * sizeof(float)", "").replace("1 << 22", "5000")
    problem = problem_of(tmp_path, f"const int threads = 256;\n{kernel}{host}")
    assert problem.tunables == {"threads": [64, 128, 256, 512]}
    assert (problem.arguments[1].compare, problem.arguments[1].shape) == ("sum", ["ceil_div(n, 64)"])
    grown = scaffold(tmp_path / "parts.cu", None, Amendments(shapes={"out": "256"}))  # where the host has too few
    assert problem_in_text(grown, tmp_path / "parts.toml").arguments[1].shape == ["ceil_div(n, 64)"]


def test_partial_sums_of_opencl_are_such(tmp_path: Path) -> None:
    problem = problem_of(
        tmp_path,
        "__kernel void sums(__global const float *in, __global float *out, const int n, __local float *near) {"
        " int l = get_local_id(0); float v = 0; for (int i = get_global_id(0); i < n; i += get_global_size(0))"
        " v += in[i]; near[l] = v; barrier(CLK_LOCAL_MEM_FENCE);"
        " for (int s = get_local_size(0) / 2; s > 0; s >>= 1) { if (l < s) near[l] += near[l + s];"
        " barrier(CLK_LOCAL_MEM_FENCE); } if (l == 0) out[get_group_id(0)] = near[0]; }\n",
        "parts.cl",
    )
    assert (problem.arguments[1].compare, problem.arguments[1].shape) == ("sum", ["ceil_div(n, 32)"])


def of_sum(change: str, by: str) -> str:
    assert change in REDUCE
    return REDUCE.replace(change, by)


LEAST = HALVING % "sdata[threadIdx.x] = min(sdata[threadIdx.x], sdata[threadIdx.x + s])"
NAMELESS = REDUCE.replace("reduce(", "k(")
LAUNCH = "k<<<9, 64>>>(a, d, n);"
CASES = {
    "a sum": (REDUCE, {"out": "sum"}),
    "a maximum": (WARPS, {"out": "max"}),
    "a minimum": (WARPS.replace("fmaxf", "fminf"), {"out": "min"}),
    "one in shared memory": (of_sum(SUMMED, LEAST), {"out": "min"}),
    "a block by another name": (
        of_sum("out[blockIdx.x] = sdata[0]", "{ unsigned block = blockIdx.x; out[block] = sdata[0]; }"),
        {"out": "sum"},
    ),
    "threads that are called as their axis": (
        of_sum("int i =", "int x = blockIdx.x * blockDim.x + threadIdx.x, i ="),
        {"out": "sum"},
    ),
    "a root of a sum is no part of one": (of_sum("= sdata[0]", "= sqrtf(sdata[0])"), {}),
    "two ways of combining": (of_sum(SUMMED, SUMMED + LEAST), {}),
    "a row for each block": (of_sum("blockIdx.x * blockDim.x + threadIdx.x", "blockIdx.x * n + threadIdx.x"), {}),
    "blocks along two axes": (of_sum("out[blockIdx.x]", "out[blockIdx.y * gridDim.x + blockIdx.x]"), {}),
    "an element for each thread beside": (
        of_sum(SUMMED, SUMMED + " other[i] = sdata[threadIdx.x];").replace("int n)", "float *other, int n)"),
        {},
    ),
    "nobody says that they are combined": (NAMELESS, {}),
    "or shows them": (f"{NAMELESS} void f() {{ {LAUNCH} show(d); }}", {}),
    "or scans them": (f"{NAMELESS} void f() {{ {LAUNCH} scan<<<1, 64>>>(d, e, 9); }}", {}),
    "but the host": (
        f"{NAMELESS} void f() {{ {LAUNCH} cudaMemcpy(h, d, 36, down); for (int i = 0; i < 9; i++) s += h[i]; }}",
        {"out": "sum"},
    ),
    "and the kernel itself": (f"{NAMELESS} void f() {{ {LAUNCH} k<<<1, 64>>>(d, e, 9); }}", {"out": "sum"}),
}


@pytest.mark.parametrize(("source", "parts"), CASES.values(), ids=CASES)
def test_parts_are_told_from_results_by_what_makes_them(source: str, parts: dict[str, str]) -> None:
    (kernel,) = find_kernels(source, "cuda")
    assert parts_of(kernel, source) == parts


FOUND = (
    "__global__ void find(const float *in, int *found, int *count, int n) {"
    " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n && in[i] > 1) { %s } }\n"
)


@pytest.mark.parametrize(
    "body", ["int at = atomicAdd(count, 1); found[at] = i;", "found[atomicAdd(&count[0], 1)] = i;"]
)
def test_what_threads_append_is_compared_in_any_order(tmp_path: Path, body: str) -> None:
    problem = problem_of(tmp_path, FOUND % body)
    found, count = problem.arguments[1:3]
    assert (found.compare, found.shape, found.output) == ("sorted", ["n"], True)
    assert (count.compare, count.fill, count.output) == (None, "zeros", True)


@pytest.mark.parametrize(
    "body",
    [
        "int at = atomicAdd(count, 1); found[at] = i; other[at] = in[i];",  # which belong together
        "if (atomicCAS(&count[i], 0, 1) == 0) found[i] = threadIdx.x;",
    ],
)
def test_what_else_depends_on_the_order_of_threads_is_refused(tmp_path: Path, body: str) -> None:
    source = (FOUND % body).replace("int n)", "float *other, int n)")
    assert appended(find_kernel(source, "cuda", "find")) is None
    with pytest.raises(ProblemError, match="so that no two launches need agree in it"):
        problem_of(tmp_path, source)


def test_what_counts_is_named() -> None:
    source = FOUND % "int at = atomicInc(&count[0], n); found[at] = i;"
    assert appended(find_kernel(source, "cuda", "find")) == Appended("found", "count")
