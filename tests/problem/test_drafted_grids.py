"""Grids and blocks as whole programs write them: copies of a `dim3`, a block of one along an axis."""

import pytest

from tests.problem.examples import drafted

PLACE = "int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;"
COPY = (
    f"__global__ void k(const float *x, float *y, int rows, int cols) {{ {PLACE} if (r < rows && c < cols) "
    "y[r * cols + c] = x[r * cols + c]; }\n"
)
HOST = (
    "int main() {{ int rows = 400, cols = 500; float *x, *y; cudaMalloc(&x, rows * cols * sizeof(float));"
    " cudaMalloc(&y, rows * cols * sizeof(float)); {} }}"
)


def test_a_grid_that_is_a_copy_of_another_is_that(tmp_path):
    host = HOST.format(
        "dim3 grid((cols + 15) / 16, (rows + 7) / 8); dim3 block(16, 8);"
        " k<<<dim3(grid), dim3{block}>>>(x, y, rows, cols);"
    )
    problem, _ = drafted(tmp_path, COPY + host)
    assert problem.launch.problem_size == ["cols", "rows"]
    assert problem.defaults == {"block_size_x": 16, "block_size_y": 8}
    assert problem.sizes.keys() == {"rows", "cols"}


@pytest.mark.parametrize("block", ["256", "dim3(256, 1)", "dim3(256)"])
def test_blocks_along_an_axis_in_which_they_have_one_thread_are_threads(tmp_path, block):
    host = HOST.format(f"dim3 grid((cols + 255) / 256, rows); k<<<grid, {block}>>>(x, y, rows, cols);")
    problem, _ = drafted(tmp_path, COPY + host)
    assert problem.launch.problem_size == ["cols", "rows"]
    assert problem.launch.grid_div_y is None
    assert problem.defaults == {"block_size_x": 256, "block_size_y": 1}


def test_a_count_of_blocks_that_is_rounded_up_from_a_fraction_goes_with_the_block(tmp_path):
    host = HOST.format(
        "dim3 grid(ceil(cols / 32.0), ceil(rows / 8.0)), block(32, 8); k<<<grid, block>>>(x, y, rows, cols);"
    )
    problem, _ = drafted(tmp_path, COPY + host)
    assert problem.launch.problem_size == ["cols", "rows"]
    assert (problem.launch.grid_div_x, problem.launch.grid_div_y) == (None, None)


def test_they_stay_blocks_where_the_block_is_fixed(tmp_path):
    kernel = COPY.replace(
        "{ int c = blockIdx.x * blockDim.x", "{ __shared__ float s[BLOCK]; int c = blockIdx.x * BLOCK"
    )
    host = HOST.format("dim3 grid((cols + BLOCK - 1) / BLOCK, rows); k<<<grid, BLOCK>>>(x, y, rows, cols);")
    problem, _ = drafted(tmp_path, f"#define BLOCK 256\n{kernel}{host}")
    assert problem.launch.block_size == ["BLOCK"]
    assert problem.launch.grid_div_y == ["1"]


@pytest.mark.parametrize("later", ["", "if (local[0] * local[1] > 256) { by = 16; local[0] = by; local[1] = by; }"])
def test_a_block_whose_extents_are_elements_of_a_list_is_that_of_the_grid(tmp_path, later):
    host = HOST.format(
        "unsigned by = 16; unsigned all[2] = {cols, rows}; unsigned local[2] = {by, by};"
        f" {later} dim3 grid(all[0] / local[0], all[1] / local[1]); dim3 block(local[0], local[1]);"
        " k<<<grid, block>>>(x, y, rows, cols);"
    )
    problem, _ = drafted(tmp_path, COPY + host)
    assert problem.launch.problem_size == ["cols", "rows"]
    assert (problem.launch.grid_div_x, problem.launch.grid_div_y) == (None, None)
    assert problem.sizes.keys() == {"rows", "cols"}


STEP = (
    f"__global__ void k(float *x, int n, int from) {{ {PLACE} if (from + r < n && from + c < n) "
    "x[(from + r) * n + from + c] *= 2; }\n"
)


@pytest.mark.parametrize(
    ("grid", "problem_size"),
    [
        ("dim3 grid((n - i) / 16, (n - i) / 8);", ["n - (n - 16) // 32 * 16", "n - (n - 16) // 32 * 16"]),
        ("dim3 grid(i, 3);", ["(n - 16) // 32 * 16 * 16", "24"]),
        ("size_t many; many = i; dim3 grid(many, 3);", ["(n - 16) // 32 * 16 * 16", "24"]),
    ],
)
def test_a_grid_that_grows_with_a_loop_is_that_of_the_turn_that_the_kernel_is_passed(tmp_path, grid, problem_size):
    host = (
        "int main() { int n = 512; float *x; cudaMalloc(&x, n * n * sizeof(float)); dim3 block(16, 8);"
        f" for (int i = 0; i < n - 16; i += 16) {{ {grid} k<<<grid, block>>>(x, n, i); }} }}"
    )
    problem, _ = drafted(tmp_path, STEP + host)
    assert problem.arguments[-1].value == "(n - 16) // 32 * 16"
    assert problem.launch.problem_size == problem_size


SHARE = """\
#define BLOCK 256
#define ITEMS 4
#define HALO 3
__global__ void k(const float *x, float *y, int rows, int cols)
{
    int n = rows * cols;
    for (int j = 0; j < ITEMS; j++) {
        int i = (blockIdx.x * ITEMS + j) * BLOCK + threadIdx.x;
        if (i < n) y[i] = x[i] + (i + HALO < n ? x[i + HALO] : 0);
    }
}
"""


def test_a_macro_that_says_how_many_elements_a_thread_takes_is_tuned_beside_the_block(tmp_path):
    host = HOST.format(
        "int n = rows * cols; k<<<(n + BLOCK * ITEMS - 1) / (BLOCK * ITEMS), BLOCK>>>(x, y, rows, cols);"
    )
    problem, _ = drafted(tmp_path, SHARE + host)
    assert problem.tunables == {"BLOCK": [64, 128, 256, 512], "ITEMS": [1, 2, 4, 8]}
    assert problem.defaults == {"BLOCK": 256, "ITEMS": 4}
    assert problem.launch.grid_div_x == ["BLOCK * ITEMS"]


@pytest.mark.parametrize(
    ("source", "launch"),
    [
        (SHARE, "k<<<(n + 1023) / 1024, BLOCK>>>(x, y, rows, cols);"),
        (
            SHARE.replace("BLOCK + threadIdx", "blockDim.x + threadIdx"),
            "k<<<(n + 255) / (256 * ITEMS), 256>>>(x, y, rows, cols);",
        ),
        (SHARE.replace("ITEMS 4", "ITEMS (BLOCK / 64)"), "k<<<n / (BLOCK * ITEMS), BLOCK>>>(x, y, rows, cols);"),
    ],
)
def test_such_a_macro_is_none_where_the_grid_is_not_divided_by_it_or_the_block_makes_it(tmp_path, source, launch):
    problem, _ = drafted(tmp_path, source + HOST.format(f"int n = rows * cols; {launch}"))
    assert "ITEMS" not in problem.tunables


@pytest.mark.parametrize(
    ("template", "given", "name"),
    [
        ("int BX, int BY", "16, 8", "k<block_size_x,block_size_y>"),
        ("int BY, int BX", "8, 16", "k<block_size_y,block_size_x>"),
        ("int BY, int BX", "16, 16", "k<block_size_y,block_size_x>"),
        ("int BX, int BY", "16, 16", "k<block_size_x,block_size_y>"),
    ],
)
def test_two_numbers_of_a_template_that_are_the_block_are_tuned(tmp_path, template, given, name):
    kernel = COPY.replace("__global__", f"template <{template}> __global__").replace(
        PLACE, "__shared__ float s[BY][BX]; int c = blockIdx.x * BX + threadIdx.x, r = blockIdx.y * BY + threadIdx.y;"
    )
    by = 16 if given == "16, 16" else 8
    host = HOST.format(
        f"dim3 block(16, {by}); dim3 grid((cols + 15) / 16, (rows + {by - 1}) / {by});"
        f" k<{given}><<<grid, block>>>(x, y, rows, cols);"
    )
    problem, _ = drafted(tmp_path, kernel + host)
    assert problem.kernel.name == name
    assert problem.launch.block_size == ["block_size_x", "block_size_y"]
    assert problem.launch.grid_div_y == ["block_size_y"]
    assert problem.defaults == {"block_size_x": 16, "block_size_y": by}


def test_two_numbers_of_a_template_that_are_not_the_block_leave_it_fixed(tmp_path):
    kernel = COPY.replace("__global__", "template <int TILE, int ITEMS> __global__").replace(
        PLACE, "__shared__ float s[TILE]; int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y + 0 * ITEMS;"
    )
    host = HOST.format("dim3 grid((cols + 255) / 256, rows); k<256, 4><<<grid, 256>>>(x, y, rows, cols);")
    problem, _ = drafted(tmp_path, kernel + host)
    assert problem.kernel.name == "k<256,4>"
    assert problem.launch.block_size == ["256"]


@pytest.mark.parametrize(
    ("asks", "is_tuned"),
    [
        ("threadIdx.x == 15", False),
        ("t == 15", False),
        ("threadIdx.x == 14", True),
        ("threadIdx.x == blockDim.x - 1", True),
    ],
)
def test_a_block_whose_last_thread_a_kernel_names_by_its_number_is_the_hosts(tmp_path, asks, is_tuned):
    kernel = (
        "__global__ void edges(float *out, const float *in, int n) { __shared__ float tile[1026];"
        " int t = threadIdx.x; int i = blockIdx.x * blockDim.x + t; if (i >= n) return; tile[t + 1] = in[i];"
        f" if ({asks}) tile[t + 2] = i + 1 < n ? in[i + 1] : 0; __syncthreads();"
        " out[i] = tile[t + 1] + tile[t + 2]; }\n"
    )
    host = (
        "int main() { int n = 1 << 20; float *a, *b; cudaMalloc(&a, n * sizeof(float));"
        " cudaMalloc(&b, n * sizeof(float)); edges<<<n / 16, 16>>>(a, b, n); }"
    )
    problem, _ = drafted(tmp_path, kernel + host)
    assert ("block_size_x" in problem.tunables) == is_tuned
    assert is_tuned or problem.launch.block_size == ["16"]


@pytest.mark.parametrize("written", ["(1 << bits) / 256", "(1 << bits) / (2 * 128)", "((1 << bits) + 255) / 256"])
def test_a_grid_of_a_power_of_two_counts_its_threads(tmp_path, written):
    problem, _ = drafted(
        tmp_path,
        "__global__ void k(float *x, int n)"
        " { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = x[i] * 0.5f; }\n"
        "int main() { const int bits = 16; int n = 1 << bits; float *x; cudaMalloc(&x, n * sizeof(float));"
        f" dim3 grid({written}); k<<<grid, 256>>>(x, n); }}\n",
    )
    assert problem.launch.problem_size == ["2 ** bits"]
    assert problem.sizes == {"bits": 16}
    assert problem.launch.grid_div_x is None


STRIDES = """
#define WIDE 128
#define OTHER 64
__global__ void k(const float *x, float *y, int rows, int cols)
{
    __shared__ float s[WIDE];
    int t = threadIdx.x;
    s[t] = 0;
    for (int i = 0; PLACE < cols; i++) s[t] += x[blockIdx.x * cols + PLACE];
    y[blockIdx.x * cols + t] = s[t];
}
"""


@pytest.mark.parametrize(
    ("place", "is_tuned"),
    [
        ("i * WIDE + threadIdx.x", False),
        ("WIDE * i + t", False),
        ("i * blockDim.x + threadIdx.x", True),
        ("i * OTHER + threadIdx.x", True),
    ],
)
def test_a_kernel_that_goes_on_by_a_number_of_its_own_has_the_block_that_is_as_large(tmp_path, place, is_tuned):
    asked = "if (blockDim.x == 0) return; s[t] = 0;"
    kernel = STRIDES.replace("PLACE", place).replace("s[t] = 0;", asked, 1)
    problem, text = drafted(tmp_path, kernel + HOST.format("k<<<rows, 128>>>(x, y, rows, cols);"))
    assert bool(problem.tunables) is is_tuned
    assert ("The kernel's own text fixes the block" in text) is not is_tuned


def test_threads_whose_number_nobody_can_tell_are_as_many_as_elements_are_counted_for_a_block(tmp_path):
    source = (
        "__global__ void k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }\n"
        "void run(float *x, int n) { int threads = 0, blocks = 0;"
        " if (n % 512 == 0) { threads = 512; blocks = n / 512; } else { threads = n % 512; blocks = n / 512; }"
        " k<<<blocks, threads>>>(x, n); }\n"
    )
    problem, _ = drafted(tmp_path, source)
    assert (problem.launch.problem_size, problem.launch.grid_div_x) == (["n"], None)
    assert problem.defaults == {"block_size_x": 512}


def test_a_size_that_is_the_block_is_one_of_arrays_whose_extents_are_guesses(tmp_path):
    problem, text = drafted(
        tmp_path,
        "__global__ void k(int n, const float *x, float *y, size_t width) { extern __shared__ float part[];"
        " for (int u = blockIdx.x; u < n; u += gridDim.x) {"
        " part[threadIdx.x] = x[u * width + threadIdx.x]; y[u * width + threadIdx.x] = part[threadIdx.x]; } }\n"
        "void run(int n, Matrix *x, Matrix *y) { int width = x->columns; int threads = width;"
        " k<<<1024, threads, sizeof(float) * width>>>(n, *x, *y, width); }\n",
    )
    assert [one.shape for one in problem.arguments if one.shape] == [["n", "width"]] * 2, text
