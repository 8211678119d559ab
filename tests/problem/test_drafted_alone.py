"""What drafts read of kernels that nobody launches: rows that others say, numbers with names, steps of filters."""

from __future__ import annotations

import pytest

from tests.problem.examples import drafted

ROTATED = """
__global__ void rotate(float *q, const float *table, const int *positions, int tokens, int heads, int dim) {
    int token = blockIdx.x, half = dim / 2, position = positions[token];
    for (int i = threadIdx.x; i < heads * half; i += blockDim.x) {
        int h = i / half, d = i % half, base = (token * heads + h) * dim;
        float c = table[position * half + d], a = q[base + d], b = q[base + d + half];
        q[base + d] = a * c - b;
        q[base + d + half] = b * c + a;
    }
}
"""
SCATTERED = """
__global__ void scatter(const float *from, const long long *index, float *to, int sources, int targets, int dim) {
    int one = blockIdx.x;
    long long target = index[one];
    for (int d = threadIdx.x; d < dim; d += blockDim.x) atomicAdd(&to[target * dim + d], from[one * dim + d]);
}
"""
STATES = """
#define STATES 9
__constant__ int left[STATES] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__global__ void stream(const float *f, float *g, int nx, int ny) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    for (int s = 0; s < STATES; s++) g[(s * ny + y) * nx + x] = f[(s * ny + y) * nx + (x - left[s] + nx) % nx];
}
"""
FIXED = """
#define N 2000
#define TILE 16
__global__ void product(const float *a, float *b) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N && col < N) {
        float sum = 0;
        for (int k = 0; k < N; k++) sum += a[row * N + k];
        b[row * N + col] = sum;
    }
}
"""
POOLED = """
__global__ void pool(const float *in, float *out, int height, int width, int k, int s, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c >= columns || r >= rows) return;
    float best = -1e30f;
    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++) {
            int y = r * s + i, x = c * s + j;
            if (y < height && x < width) best = fmaxf(best, in[y * width + x]);
        }
    out[r * columns + c] = best;
}
"""
COLUMNS = """
__global__ void columns(const float *in, float *out, int n, int height, int width, int kernel_h, int stride_h) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int begin = i * stride_h;
    if (i < n) for (int y = 0; y < kernel_h; y++) out[i * kernel_h + y] = begin + y < height ? in[begin + y] : 0;
}
"""
CONVOLVED = """
__global__ void convolve(
    const float *x, const float *w, float *y, int n, int c, int h, int k, int r, int stride, int pad
) {
    int p = (h + 2 * pad - r) / stride + 1;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * k * p) return;
    int at = i % p, filter = (i / p) % k, image = i / (k * p);
    float sum = 0;
    for (int j = 0; j < c; j++)
        for (int s = 0; s < r; s++) {
            int row = at * stride + s - pad;
            if (row >= 0 && row < h) sum += x[(image * c + j) * h + row] * w[(filter * c + j) * r + s];
        }
    y[i] = sum;
}
"""
PLACES = "((h + 2 * pad - r) // stride + 1)"


@pytest.mark.parametrize(
    ("source", "shapes"),
    [
        (CONVOLVED, {"x": "c * h * n", "w": "c * k * r", "y": f"{PLACES} * k * n"}),
        (ROTATED, {"q": "dim * heads * tokens", "table": "(dim // 2) * tokens", "positions": "tokens"}),
        (SCATTERED, {"from": "dim * sources", "to": "dim * targets", "index": "sources"}),
        (STATES, {"f": "9 * nx * ny", "g": "9 * nx * ny"}),
        (FIXED, {"a": "4000000", "b": "4000000"}),
    ],
)
def test_arrays_are_as_large_as_the_text_says(tmp_path, source, shapes):
    problem, _ = drafted(tmp_path, source)
    assert {one.name: one.shape for one in problem.arguments if one.shape} == {n: [text] for n, text in shapes.items()}


def test_threads_are_as_many_as_a_name_of_the_text_says_that_sizes_make(tmp_path):
    problem, _ = drafted(tmp_path, CONVOLVED)
    assert problem.launch.problem_size == [f"n * k * {PLACES}"]
    assert (problem.sizes["r"], problem.sizes["stride"], problem.sizes["pad"]) == (9, 1, 1)


@pytest.mark.parametrize(("source", "high"), [(ROTATED, "tokens"), (SCATTERED, "targets")])
def test_who_says_a_row_says_one_of_those_that_there_are(tmp_path, source, high):
    problem, _ = drafted(tmp_path, source)
    (said,) = (one for one in problem.arguments if one.name in ("positions", "index"))
    assert (said.fill, said.high) == ("integers", high)


@pytest.mark.parametrize("index", ["blockIdx.x * 64 + threadIdx.x", "64 * begin + threadIdx.x"])
def test_a_number_by_which_blocks_are_multiplied_is_their_extent(tmp_path, index):
    problem, _ = drafted(
        tmp_path,
        "__global__ void k(float *x, int n) { const int begin = blockIdx.x; "
        f"int i = {index}; if (i < n) x[i] *= 2; }}",
    )
    assert (problem.launch.problem_size, problem.launch.block_size) == (["n"], ["64"])
    assert problem.launch.grid_div_x in (None, ["64"])


def test_a_row_of_blocks_covers_as_much_as_a_column_of_them(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "__global__ void k(const float *x, float *y, int n) { const int row = blockIdx.y, col = blockIdx.x; "
        "int i = 64 * col + threadIdx.x; if (i < n) for (int j = 64 * row; j < min(n, 64 * row + 64); j++) "
        "y[j * n + i] = x[j] * x[i]; }",
    )
    assert (problem.launch.block_size, problem.launch.grid_div_y) == (["64"], ["64"])


def test_a_kernel_whose_file_says_all_its_extents_has_no_sizes(tmp_path):
    problem, _ = drafted(tmp_path, FIXED)
    assert (problem.sizes, problem.launch.problem_size) == ({}, ["2000", "2000"])


@pytest.mark.parametrize(
    "left_open", ["#ifndef N\n#define N 2000\n#endif\n", "#define N 2000\n#undef N\n#define N 900\n"]
)
def test_what_a_build_may_state_otherwise_keeps_its_name(tmp_path, left_open):
    problem, _ = drafted(tmp_path, FIXED.replace("#define N 2000\n", left_open))
    assert "2000" not in problem.launch.problem_size


def test_a_macro_that_makes_the_block_is_no_number_of_an_array(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "#define TILE 16\n__global__ void k(const float *x, float *y, int n, int m) {"
        " int i = blockIdx.x * TILE + threadIdx.x; float s = 0;"
        " for (int j = 0; j < TILE; j++) s += x[i * TILE + j]; if (i < n) y[i] = s; }\n",
    )
    assert problem.defaults == {"TILE": 16}
    assert not any("16" in extent for one in problem.arguments for extent in one.shape or ())


@pytest.mark.parametrize(
    ("source", "few"),
    [(POOLED, {"k": 9, "s": 1}), (COLUMNS, {"kernel_h": 9, "stride_h": 1})],
)
def test_a_filter_and_its_steps_are_small(tmp_path, source, few):
    problem, _ = drafted(tmp_path, source)
    assert {name: problem.sizes[name] for name in few} == few
    assert problem.sizes["height"] > 500


def test_rows_of_a_matrix_are_no_steps_of_a_filter(tmp_path):
    source = POOLED.replace("y < height && x < width", "y < rows").replace("int y = r * s + i", "int y = r * k + i")
    problem, _ = drafted(tmp_path, source)
    assert problem.sizes["k"] > 100
