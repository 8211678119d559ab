from __future__ import annotations

import pytest

from tui_tuner.app.drafting import assumptions
from tui_tuner.app.sessions import problem_of
from tui_tuner.errors import ProblemError
from tui_tuner.problem.host_code import device_code, launch_of, quotient

WITH_HOST = """\
#include <cuda_runtime.h>
#include <helper_cuda.h>
#include "ours.h"
#include "../common/theirs.h"
#define BLOCK 128
typedef struct point { float x; float y; } Point;
struct Wide { float f; int g() { return 1; } };
int load(char *name, float **data);
__device__ float twice(float v) { return 2 * v; }
namespace inner { constexpr int four() { return 4; } void host() { } }
template <typename T> void check(T *data) { if (data) { } }
extern "C" __global__ void scale(float *out, const Point *in, int n, int t)
{
    __shared__ float kept[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float *place = out + i;
    if (i < n) { kept[threadIdx.x] = twice(in[i].x); *place = kept[threadIdx.x] + t; }
}
int main()
{
    int count = 1000;
    size_t bytes = count * sizeof(float);
    cudaMalloc((void **)&d_out, bytes);
    cudaMalloc((void **)&d_in, sizeof(Point) * count);
    dim3 threads(BLOCK);
    dim3 grid((count + threads.x - 1) / threads.x);
    scale<<<grid, threads>>>(d_out, d_in, count, 3);
}
"""


@pytest.fixture
def kernel(tmp_path):
    (tmp_path / "ours.h").write_text("#define LENGTH 4\n")
    file = tmp_path / "scale.cu"
    file.write_text(WITH_HOST)
    return file


def test_what_only_the_host_runs_is_blanked_line_for_line(kernel):
    text = device_code(WITH_HOST, (kernel.parent,))
    assert text.count("\n") == WITH_HOST.count("\n")
    for gone in ("main", "<<<", "load(", "check(", "host()", "helper_cuda", "theirs.h"):
        assert gone in WITH_HOST
        assert gone not in text
    for kept in (
        "cuda_runtime.h",
        '"ours.h"',
        "twice(float v)",
        "four()",
        "struct Wide",
        'extern "C" __global__',
        "Point;",
    ):
        assert kept in text


def test_a_source_without_host_code_stays_as_it_is():
    source = '#include "missing.h"\nfloat helper(float v) { return v; }\n__global__ void k(float *v) { v[0] = 1; }\n'
    assert device_code(source) == source


def test_a_launch_is_read_with_what_its_names_stand_for():
    launch = launch_of(WITH_HOST, "scale")
    assert launch.block == ("BLOCK",)
    assert quotient(launch.grid[0]) == ("count", "BLOCK")
    assert launch.arguments == ("d_out", "d_in", "count", "3")
    assert launch_of(WITH_HOST, "other") is None


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("(n + 256 - 1) / 256", ("n", "256")),
        ("CEIL_DIV(n * m, b)", ("n * m", "b")),
        ("(ceil( (n) / (b) ))", ("n", "b")),
        ("w / (STEPS * X)", ("w", "STEPS * X")),
        ("n", None),
    ],
)
def test_divisions_rounded_up_are_known_as_hosts_write_them(written, meant):
    assert quotient(written) == meant


def test_a_kernel_without_a_problem_file_gets_one_from_its_host(kernel):
    written = problem_of(kernel)
    problem = written.problem
    arguments = {one.name: one for one in problem.arguments}
    assert written.is_drafted
    assert not written.file.exists()
    assert problem.launch.problem_size == ["n"]
    assert (problem.launch.block_size, problem.launch.grid_div_x) == (["BLOCK"], ["BLOCK"])
    assert problem.tunables["BLOCK"] == [32, 64, 128, 256]
    assert problem.defaults == {"BLOCK": 128}
    assert (arguments["out"].output, arguments["in"].output) == (True, False)
    assert (arguments["out"].shape, arguments["in"].shape) == (["n"], ["2 * n"])
    assert problem.sizes["t"] == 1
    told = "\n".join(assumptions(written))
    assert "no scale.toml beside it" in told
    assert "tuner-tui init scale.cu --kernel scale" in told


def test_of_several_kernels_one_is_named_behind_the_file(tmp_path):
    file = tmp_path / "two.cu"
    file.write_text(
        "__global__ void a(float *v, int n) { v[0] = n; }\n__global__ void b(float *v, int n) { v[1] = n; }\n"
    )
    with pytest.raises(ProblemError, match="2 kernels") as caught:
        problem_of(file)
    assert "two.cu:NAME" in caught.value.hint
    assert "a, b" in caught.value.hint
    assert problem_of(tmp_path / "two.cu:b").problem.kernel.name == "b"
