"""Templates that nobody launches: what the file instantiates of them, and blocks that a number of theirs makes."""

from __future__ import annotations

import pytest

from tests.problem.examples import drafted

SUM = """
namespace sums {
template <typename T, int BLOCK>
__global__ void sum(const T *__restrict__ from, T *to, int rows, int n) {
    HELD
    T own = 0;
    for (int i = threadIdx.x; i < n; i += STEP) own += from[blockIdx.x * n + i];
    atomicAdd(&to[blockIdx.x], own);
}
INSTANCE
}
"""
TURN = """
template <int TILE> __global__ void turn(const float *in, float *out, int rows, int columns) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
    __syncthreads();
    if (x < columns && y < rows) out[x * rows + y] = tile[threadIdx.y][threadIdx.x];
}
"""
SCALE = """
template <typename T, int EACH> __global__ void scale(const T *from, T *to, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * EACH;
    for (int j = 0; j < EACH && i + j < n; j++) to[i + j] = 2 * from[i + j];
}
"""


@pytest.mark.parametrize(
    ("instance", "name", "dtype"),
    [
        ("template __global__ void scale<double, 4>(const double *, double *, int);", "scale<double,4>", "float64"),
        ("extern template __global__ void scale<int, 2>(const int *, int *, int n);", "scale<int,2>", "int32"),
        ("constexpr int FEW = 8;\ntemplate void scale<double, FEW>(", "scale<double,8>", "float64"),
        ("// template __global__ void scale<double, 4>(const double *, double *, int);", "scale<float,16>", "float32"),
        ("", "scale<float,16>", "float32"),
    ],
    ids=["numbers and types", "elsewhere", "a constant", "a comment", "none"],
)
def test_what_a_file_instantiates_is_what_is_drafted_of_a_template(tmp_path, instance, name, dtype):
    instance += "const double *, double *, int);" if instance.endswith("(") else ""
    problem, _ = drafted(tmp_path, SCALE + instance + "\n")
    assert problem.kernel.name.replace(" ", "") == name
    assert problem.arguments[0].dtype == dtype


@pytest.mark.parametrize("listed", ["const double *from, double *to, int", "const double *__restrict__, double *, int"])
def test_a_type_that_an_instance_leaves_out_is_that_of_its_arguments(tmp_path, listed):
    source = SCALE.replace("typename T, int EACH", "int EACH, typename T")
    problem, _ = drafted(tmp_path, f"{source}template __global__ void scale<4>({listed});\n")
    assert problem.kernel.name.replace(" ", "") == "scale<4,double>"


def test_a_launch_says_more_of_a_template_than_an_instance(tmp_path):
    launched = "void run(float *x, float *y, int n) { scale<float, 1><<<(n + 127) / 128, 128>>>(x, y, n); }\n"
    instance = "template __global__ void scale<double, 4>(const double *, double *, int);\n"
    problem, _ = drafted(tmp_path, SCALE + instance + launched)
    assert problem.kernel.name.replace(" ", "") == "scale<float,1>"


@pytest.mark.parametrize(
    ("held", "step"),
    [
        ("__shared__ T kept[BLOCK]; kept[threadIdx.x] = 0;", "blockDim.x"),
        ("int t = threadIdx.x; __shared__ T kept[BLOCK]; kept[t] = 0;", "blockDim.x"),
        ("", "BLOCK"),
    ],
    ids=["a shared array", "by a name", "a loop"],
)
@pytest.mark.parametrize(("given", "threads"), [("double, 128", 128), ("", 256)])
def test_a_number_of_the_template_that_is_the_block_is_tuned_as_that(tmp_path, held, step, given, threads):
    instance = f"template __global__ void sum<{given}>(const double *, double *, int, int);" if given else ""
    problem, _ = drafted(tmp_path, SUM.replace("HELD", held).replace("STEP", step).replace("INSTANCE", instance))
    assert problem.kernel.name.replace(" ", "") == f"sum<{'double' if given else 'float'},block_size_x>"
    assert problem.launch.block_size == ["block_size_x"]
    assert problem.defaults == {"block_size_x": threads}
    assert (problem.launch.problem_size, problem.launch.grid_div_x) == (["rows"], ["1"])


def test_a_number_of_the_template_that_is_both_extents_of_a_block_is_one_tunable(tmp_path):
    problem, _ = drafted(tmp_path, TURN + "template __global__ void turn<32>(const float *, float *, int, int);\n")
    assert problem.kernel.name == "turn<block_size_x>"
    assert problem.launch.block_size == ["block_size_x", "block_size_x"]
    assert problem.defaults == {"block_size_x": 32}


def test_a_number_of_the_template_that_is_no_extent_of_the_block_leaves_that_free(tmp_path):
    problem, _ = drafted(tmp_path, SCALE)
    assert problem.launch.block_size is None
    assert problem.defaults == {"block_size_x": 256}
