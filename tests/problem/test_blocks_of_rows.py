"""Kernels that nobody launches and that take the number of a block for a row, a head, a pair."""

import pytest

from tests.problem.examples import drafted

ROWS = """
__global__ void scaled(const float *x, const float *w, float *y, int rows, int cols)
{
    BEGIN
    for (int i = threadIdx.x; i < cols; i += blockDim.x) y[row * cols + i] = x[row * cols + i] * w[i];
}
"""


@pytest.mark.parametrize(
    "begin",
    [
        "int row = blockIdx.x;",
        "const long long row = (long long)blockIdx.x; if (row >= rows) return;",
        "auto row = static_cast<int>(blockIdx.x);",
        "for (int row = blockIdx.x; row < rows; row += gridDim.x)",
    ],
)
def test_a_block_has_a_row_where_its_number_is_one(tmp_path, begin):
    problem, text = drafted(tmp_path, ROWS.replace("BEGIN", begin))
    assert problem.launch.problem_size == ["rows"]
    assert problem.launch.grid_div_x == ["1"]
    assert 'grid_div_x = ["1"]  # a guess: check' in text
    assert {one.name: one.shape for one in problem.arguments if one.shape} == {
        "x": ["cols * rows"],
        "w": ["cols"],
        "y": ["cols * rows"],
    }
    assert [one.value for one in problem.arguments if not one.shape] == ["rows", "cols"]
    assert "the model's" not in text
    assert problem.tunables.keys() == {"block_size_x"}


@pytest.mark.parametrize(
    "index",
    [
        "blockIdx.x * blockDim.x + threadIdx.x",
        "__mul24(blockIdx.x, blockDim.x) + threadIdx.x",
        "(blockIdx.x << 8) + threadIdx.x",
        "blockIdx.x * 256 + threadIdx.x",
        "blockIdx.x * (blockDim.x * 2) + threadIdx.x",
        "blockIdx.x * block_width + threadIdx.x",
    ],
)
def test_a_block_has_a_share_where_its_number_is_multiplied_by_its_extent(tmp_path, index):
    source = "__global__ void k(float *x, int n, int block_width) { int i = INDEX; if (i < n) x[i] *= 2.0f; }"
    problem, _ = drafted(tmp_path, source.replace("INDEX", index))
    assert problem.launch.problem_size == ["n"]
    assert problem.launch.grid_div_x is None


def test_rows_of_several_axes_are_as_many_as_the_text_multiplies_by(tmp_path):
    problem, _ = drafted(
        tmp_path,
        """
__global__ void moved(const float *x, float *y, int dim, int heads, int tokens)
{
    int token = blockIdx.x, head = blockIdx.y;
    for (int i = threadIdx.x; i < dim; i += blockDim.x)
        y[(token * heads + head) * dim + i] = x[(token * heads + head) * dim + i];
}
""",
    )
    assert problem.launch.problem_size == ["tokens", "heads"]
    assert (problem.launch.grid_div_x, problem.launch.grid_div_y) == (["1"], ["1"])


def test_a_guard_says_that_the_number_of_a_block_is_one_whatever_it_is_multiplied_by(tmp_path):
    problem, _ = drafted(
        tmp_path,
        """
__global__ void pairs(const float *x, const int *from, float *y, int n, int count)
{
    int pair = blockIdx.x;
    if (pair >= count) return;
    int begin = from[pair * 2], end = from[pair * 2 + 1];
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[end * n + i] = x[begin * n + i];
}
""",
    )
    assert problem.launch.problem_size == ["count"]
    assert problem.launch.grid_div_x == ["1"]


def test_a_kernel_that_knows_no_threads_has_blocks_of_one(tmp_path):
    problem, _ = drafted(tmp_path, "__global__ void k(float *x, int n) { int i = blockIdx.x; x[i] = x[i] * 2.0f; }")
    assert problem.launch.block_size == ["1"]
    assert problem.launch.grid_div_x == ["1"]
    assert not problem.tunables


def test_what_the_host_launches_is_as_it_says(tmp_path):
    host = "void run(float *x, float *w, float *y, int cols) { scaled<<<96, 64>>>(x, w, y, 96, cols); }"
    problem, _ = drafted(tmp_path, ROWS.replace("BEGIN", "int row = blockIdx.x;") + host)
    assert (problem.launch.problem_size, problem.sizes["rows"]) == (["rows"], 96)


@pytest.mark.parametrize(
    ("lanes", "index", "elements"),
    [
        ("const int lanes = 4;", "t * lanes", "dim * rows"),
        ("constexpr unsigned int lanes = 4;", "lanes * t", "dim * rows"),
        ("int lanes = 4; lanes = dim;", "t * lanes", ""),
    ],
)
def test_parts_of_a_row_of_a_constant_of_the_kernels_own_make_up_the_row(tmp_path, lanes, index, elements):
    problem, text = drafted(
        tmp_path,
        f"""
__global__ void moved(const float *x, float *y, int rows, int dim)
{{
    {lanes}
    const int row = blockIdx.x, t = threadIdx.x;
    const int parts = dim / lanes, begin = row * dim;
    if (row >= rows) return;
    if (t < parts) y[begin + {index}] = x[begin + {index}];
    for (int i = parts * lanes; i < dim; i++) y[begin + i] = x[begin + i];
}}
""",
    )
    assert ([one.shape for one in problem.arguments if one.shape] == [[elements]] * 2) is bool(elements)
    assert ("as far as the kernel's loops and guards go" in text) is bool(elements)


@pytest.mark.parametrize(
    ("body", "is_alone"),
    [
        ("for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= 2.0f;", True),
        ("for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 256) x[i] *= 2.0f;", False),
        ("auto grid = cg::this_grid(); for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= 2.0f;", False),
    ],
)
def test_a_kernel_that_tells_no_blocks_apart_is_one_block(tmp_path, body, is_alone):
    problem, _ = drafted(tmp_path, f"__global__ void k(float *x, int n) {{ {body} }}")
    assert (problem.launch.problem_size == ["1"] and problem.launch.grid_div_x == ["1"]) is is_alone
    assert problem.arguments[0].shape == ["n"]
    assert problem.sizes["n"] >= 2**16
