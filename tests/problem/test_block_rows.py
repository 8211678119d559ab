"""The rows of a block where the host writes their number, which other blocks must have others of."""

import pytest

from tests.problem.examples import drafted

WARP = "int lane = threadIdx.x % 32, warp = threadIdx.x / 32;"
ALL = "blockIdx.x * blockDim.x + threadIdx.x"
BY_WARPS = {
    "by the block's extent": f"{WARP} int row = blockIdx.x * (blockDim.x / 32) + warp;",
    "by a name for its warps": f"{WARP} const int warps = blockDim.x >> 5; int row = (int)blockIdx.x * warps + warp;",
    "by all threads": f"int lane = threadIdx.x & 31, row = ({ALL}) / warpSize;",
    "by a name for all threads": f"size_t t = (size_t){ALL}; int lane = t % 32; int row = t >> 5;",
}
BY_NUMBERS = {
    "by a number": f"{WARP} int row = blockIdx.x * 8 + warp;",
    "by other shares": f"int lane = threadIdx.x % 16, row = ({ALL}) / 16;",
}


def launch_of(tmp_path, rows, blocks, block):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void k(const float *x, float *y, int rows, int cols) {{ {rows} if (row >= rows) return;"
        " float s = 0; for (int c = lane; c < cols; c += 32) s += x[(size_t)row * cols + c];"
        " for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o); if (lane == 0) y[row] = s; }\n"
        "int main() { int rows = 4096, cols = 1000; float *x, *y; cudaMalloc(&x, rows * cols * 4);"
        f" cudaMalloc(&y, rows * 4); dim3 block({block}); k<<<{blocks}, block>>>(x, y, rows, cols); }}\n",
    )
    return problem.launch


@pytest.mark.parametrize("rows", BY_WARPS.values(), ids=BY_WARPS)
def test_warps_that_have_a_row_each_are_as_many_as_the_block_has(tmp_path, rows):
    launch = launch_of(tmp_path, rows, "(rows + 7) / 8", "256")
    assert (launch.problem_size, launch.grid_div_x) == (["rows"], ["block_size_x // 32"])


@pytest.mark.parametrize("rows", BY_NUMBERS.values(), ids=BY_NUMBERS)
def test_rows_that_the_kernel_counts_otherwise_are_as_many_as_the_host_says(tmp_path, rows):
    assert launch_of(tmp_path, rows, "(rows + 7) / 8", "256").grid_div_x == ["8"]


def test_rows_along_y_of_the_block_are_as_many_as_it_has_there(tmp_path):
    rows = "int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;"
    assert launch_of(tmp_path, rows, "(rows + 7) / 8", "32, 8").grid_div_x == ["block_size_y"]
    assert launch_of(tmp_path, rows, "(rows + 3) / 4", "32, 8").grid_div_x == ["4"]


def test_a_limit_of_blocks_that_is_asked_of_the_device_leaves_the_block_its_extent(tmp_path):
    rows = f"int lane = 0, row = {ALL};"
    blocks = "min((rows + 255) / 256, device.maxGridSize[0])"
    launch = launch_of(tmp_path, rows, blocks, "256")
    assert (launch.problem_size, launch.grid_div_x) == (["rows"], None)


FOUR_EACH = {
    "in parentheses": f"int i = ({ALL}) * 4;",
    "by a name for the thread": f"const int t = {ALL}; int i = 4 * t;",
}


@pytest.mark.parametrize("begin", FOUR_EACH.values(), ids=FOUR_EACH)
def test_elements_of_a_block_whose_threads_have_some_each_are_as_many_as_it_has_threads_for(tmp_path, begin):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void k(float *y, const float *x, int n) {{ {begin}"
        " if (i + 3 < n) for (int j = 0; j < 4; j++) y[i + j] = x[i + j]; }\n"
        "void run(float *y, float *x, int n) { k<<<(n + 255) / 256, 256 / 4>>>(y, x, n); }\n",
    )
    assert (problem.launch.problem_size, problem.launch.grid_div_x) == (["n"], ["block_size_x * 4"])
    assert problem.defaults == {"block_size_x": 64}


def test_elements_of_a_block_are_the_hosts_number_where_the_kernel_has_others_each(tmp_path):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void k(float *y, const float *x, int n) {{ int i = ({ALL}) * 2;"
        " if (i + 1 < n) y[i] = x[i + 1]; }\n"
        "void run(float *y, float *x, int n) { k<<<(n + 255) / 256, 64>>>(y, x, n); }\n",
    )
    assert problem.launch.grid_div_x == ["256"]


LOOP = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = x[i];"
LIMITED = (
    "const int THREADS = 128, MOST = 65535;\n"
    "inline int blocks_of(const int n) { return std::min(MOST, (n + THREADS - 1) / THREADS); }\n"
    "__global__ void k(float *y, const float *x, int n) { %s }\n"
    "void run(float *y, float *x, int n) { k<<<blocks_of(n), THREADS>>>(y, x, n); }\n"
)


def test_a_limit_of_blocks_that_a_loop_over_the_grid_makes_up_for_is_left_out(tmp_path):
    problem, _ = drafted(tmp_path, LIMITED % LOOP)
    assert (problem.launch.problem_size, problem.launch.grid_div_x) == (["n"], None)
    assert (list(problem.sizes), problem.defaults) == (["n"], {"block_size_x": 128})


@pytest.mark.parametrize(
    ("source", "limit"),
    [
        (LIMITED % f"int i = {ALL}; if (i < n) y[i] = x[i];", "MOST"),
        (LIMITED.replace("65535", "4096") % LOOP, "MOST"),
    ],
    ids=["no loop", "fewer blocks than grids may have"],
)
def test_another_limit_of_blocks_is_the_hosts(tmp_path, source, limit):
    assert f"min({limit}" in drafted(tmp_path, source)[0].launch.problem_size[0]
