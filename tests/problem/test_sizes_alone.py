"""The sizes of kernels that nobody launches; no kernel is built here."""

from __future__ import annotations

import math

import pytest

from tests.problem.examples import drafted
from tui_tuner.problem.draft.amendments import Amendments
from tui_tuner.problem.inputs import array_bytes

ONE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
LAYERS = """\
__global__ void blur(const float *from, float *to, int nx, int ny, int nz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    for (int k = 0; k < nz; k++) to[(k * ny + j) * nx + i] = from[(k * ny + j) * nx + i];
}
"""


def test_sizes_are_as_large_as_the_arrays_grow_with_them_and_not_as_the_threads_do(tmp_path):
    problem, _ = drafted(tmp_path, LAYERS)
    assert problem.sizes == {"nx": 128, "ny": 128, "nz": 128}


@pytest.mark.parametrize("grown", [False, True])
def test_so_they_are_where_only_a_run_shows_how_large_the_arrays_are(tmp_path, grown):
    hidden = LAYERS.replace("to[(k * ny + j) * nx + i]", "to[at(i, j, k, nx, ny)]")
    shapes = {"to": "nx * ny * nz", "from": "nx * ny * nz"} if grown else {}
    problem, _ = drafted(tmp_path, hidden, Amendments(shapes=shapes))
    assert math.prod(problem.sizes.values()) == (2**21 if grown else 2**30)
    assert not grown or array_bytes(problem, problem.sizes) < 2**25


def test_two_sizes_of_arrays_of_one_extent_are_each_as_large_as_one_alone(tmp_path):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void both(const float *x, float *to, int n, float *more, int m) {{ {ONE}"
        " if (i < n) to[i] = x[i]; for (int j = 0; j < m; j++) more[j] = 1; }",
    )
    assert problem.sizes == {"n": 2**20, "m": 2**20}


def test_a_size_that_no_array_and_no_thread_is_counted_by_is_no_larger_than_ever(tmp_path):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void steps(const float *x, float *to, int n, int times) {{ {ONE}"
        " if (i < n) { float v = x[i]; for (int t = 0; t < times; t++) v = v * v; to[i] = v; } }",
    )
    assert problem.sizes == {"n": 2**20, "times": 1024}


@pytest.mark.parametrize(("how", "tested"), [("", 95), ("half", 64), ("same", 128)])
def test_a_guarded_kernel_is_tested_at_half_its_sizes_or_at_the_same_where_it_can_do_no_others(tmp_path, how, tested):
    problem, _ = drafted(
        tmp_path,
        "__global__ void rows(const float *x, float *to, int n, int m) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;"
        " if (i < n) to[j * n + i] = x[j * n + i]; }",
        Amendments(tested=how),
    )
    emulated = problem.on_emulator()
    assert (emulated.sizes["n"], emulated.tests[0].sizes["n"]) == (128, tested)


@pytest.mark.parametrize("place", ["own = x + row * n", "own = x ? x + row * n : nullptr"])
def test_an_array_of_which_a_place_is_taken_by_rows_has_rows_of_the_only_size(tmp_path, place):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void rows(const float *x, float *to, int n) {{ int row = blockIdx.x; const float *{place};"
        " for (int j = threadIdx.x; j < n; j += blockDim.x) to[row * n + j] = own[j]; }",
    )
    assert [one.shape for one in problem.arguments if one.shape] == [["n", "n"]] * 2


@pytest.mark.parametrize("leaves", ["if (i >= padded) return;", "if (i >= padded || n < 0) { return; }"])
def test_of_several_limits_of_a_thread_that_holds_at_which_it_leaves(tmp_path, leaves):
    problem, _ = drafted(
        tmp_path,
        "__global__ void pad(const float *x, float *to, int n, int padded) {"
        f" int i = blockIdx.x * blockDim.x + threadIdx.x; {leaves} to[i] = i < n ? x[i] : 0; }}",
    )
    assert problem.launch.problem_size == ["padded"]


@pytest.mark.parametrize(
    "guard", ["x > 0 && x < w - 1 && y > 0 && y < h - 1", "!(x < 1 || x >= w - 1 || y < 1 || y >= h - 1)"]
)
def test_threads_along_an_axis_are_as_many_as_what_is_less_by_a_margin(tmp_path, guard):
    problem, _ = drafted(
        tmp_path,
        "__global__ void edges(const float *from, float *to, int h, int w) {"
        " int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;"
        f" if ({guard}) to[y * w + x] = from[y * w + x + 1] - from[(y - 1) * w + x]; }}",
    )
    assert problem.launch.problem_size == ["w", "h"]


@pytest.mark.parametrize("read", ["*n", "(*n)", "n[0]"])
def test_a_pointer_of_which_a_kernel_reads_the_number_alone_holds_a_size_of_its_name(tmp_path, read):
    source = (
        "__global__ void scale(float *x, const int *n)\n{\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"  for (; i < {read}; i += blockDim.x * gridDim.x) x[i] *= 2;\n}}\n"
    )
    problem, _ = drafted(tmp_path, source)
    held = problem.arguments[1]
    assert (held.shape, held.fill, held.low, held.high) == (["1"], "integers", "n", "n + 1")
    assert "n" in problem.sizes


@pytest.mark.parametrize("read", ["n[i]", "*n + n[1]"])
def test_a_pointer_of_which_a_kernel_reads_more_holds_no_size(tmp_path, read):
    source = (
        "__global__ void scale(float *x, const int *n, int m)\n{\n"
        f"  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < {read} && i < m) x[i] *= 2;\n}}\n"
    )
    problem, _ = drafted(tmp_path, source)
    assert (problem.arguments[1].low, [*problem.sizes]) == (None, ["m"])


def test_what_a_grid_divides_by_is_one_at_least_though_a_build_states_what_it_is_made_of(tmp_path):
    source = (
        "__global__ void scale(float *x, int n, int m)\n{\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "  if (i < n && j < m) x[j * n + i] *= 2;\n}\n"
        "void run(float *x, int n, int m) { dim3 t(32, OUR_THREADS / 32); scale<<<dim3((n + 31) / 32,"
        " (m + OUR_THREADS / 32 - 1) / (OUR_THREADS / 32)), t>>>(x, n, m); }\n"
    )
    problem, _ = drafted(tmp_path, source)
    assert problem.sizes["OUR_THREADS"] >= 32


def test_threads_of_a_block_that_are_numbered_through_are_along_one_axis(tmp_path):
    source = (
        "__global__ void doubled(float *x, int n)\n{\n"
        "  int own = threadIdx.z * (blockDim.x * blockDim.y) + threadIdx.y * blockDim.x + threadIdx.x;\n"
        "  for (int i = own; i < n; i += blockDim.x * blockDim.y * blockDim.z) x[i] *= 2;\n}\n"
    )
    problem, _ = drafted(tmp_path, source)
    assert [one for one in problem.tunables if one.startswith("block_size")] == ["block_size_x"]
    assert problem.arguments[0].shape == ["n"]
