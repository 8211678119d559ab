from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tui_tuner.app.assumptions import assumptions
from tui_tuner.app.named import problem_of
from tui_tuner.problem.draft.arithmetic.c_expressions import UNREAD, NotArithmetic, arithmetic
from tui_tuner.problem.draft.constants import constants_of_host, drafted_constants
from tui_tuner.problem.draft.kernel.device_words import header_directories
from tui_tuner.problem.draft.launch.drafting import drafted_launch
from tui_tuner.problem.headers import missing_headers, without_climbing
from tui_tuner.problem.host_code import device_code
from tui_tuner.problem.signature import find_kernel
from tui_tuner.problem.syntax import without_own_values

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
    for gone in ("main", "<<<", "load(", "struct Wide", "check(", "host()", "helper_cuda", "theirs.h"):
        assert gone in WITH_HOST
        assert gone not in text
    for kept in (
        "cuda_runtime.h",
        '"ours.h"',
        "twice(float v)",
        "four()",
        'extern "C" __global__',
        "Point;",
    ):
        assert kept in text


def test_a_class_that_asks_the_runtime_is_the_hosts():
    timer = "struct Timer { cudaEvent_t e; void start() { cudaEventRecord(e, 0); } };\n"
    both = "struct Both { float v; __device__ float get() { return v; } void up() { cudaMalloc(&p, 4); } };\n"
    source = f"{timer}{both}__global__ void k(float *v) {{ v[0] = 1; }}\nint main() {{ k<<<1, 1>>>(v); }}\n"
    assert ("Timer" in device_code(source), "Both" in device_code(source)) == (False, True)


def test_a_class_that_nothing_else_names_is_left_out_with_what_it_needs_of_the_host():
    options = "struct Options {\n  int n;\n  Options(int c, char **v) { n = getopt(c, v, optarg); }\n};\n"
    pair = "template <typename T> struct Pair { T a, b; T sum() const { return a + b; } };\n"
    source = (
        f"{options}{pair}__global__ void k(Pair<float> *v) {{ v[0].a = 1; }}\n"
        "int main(int c, char **v) { Options o(c, v); k<<<1, 1>>>(v); }\n"
    )
    text = device_code(source)
    assert ("Options" in text, "Pair" in text) == (False, True)
    assert text.count("\n") == source.count("\n")


def test_a_header_whose_name_no_file_can_have_is_missing(tmp_path):
    source = (
        f'#include "{"a" * 5000}.h"\n__global__ void k(float *v) {{ v[0] = 1; }}\nint main() {{ k<<<1, 1>>>(v); }}\n'
    )
    assert "#include" not in device_code(source, (tmp_path,))
    assert len(missing_headers(source, (tmp_path,))) == 1


def test_a_source_without_host_code_loses_no_more_than_headers_that_are_nowhere(tmp_path):
    (tmp_path / "ours.h").write_text("#define LENGTH 4\n")
    code = '#include "ours.h"\nfloat helper(float v) { return v; }\n__global__ void k(float *v) { v[0] = 1; }\n'
    assert device_code(f'#include "missing.h"\n{code}', (tmp_path,)).lstrip() == code


@pytest.mark.parametrize("path", ["/etc/passwd", "../../secret", "~/key", "C:/key", "a/../../key"])
def test_a_file_by_its_path_is_not_left_out_of_a_source_without_host_code(tmp_path, path):
    source = f'#include "{path}"\n__global__ void k(float *v) {{ v[0] = 1; }}\n'
    assert device_code(source, (tmp_path,)) == source


@pytest.mark.parametrize(
    ("included", "stays"),
    [
        ("<wb.h>", False),
        ('"cuda_utils.h"', False),
        ("<opts/parse.hpp>", False),
        ("<vector>", True),
        ("<stdio.h>", True),
        ("<float.h>", True),
        ("<cuda_fp16.h>", True),
        ("<cooperative_groups.h>", True),
        ("<cub/cub.cuh>", True),
        ('"device_launch_parameters.h"', True),
    ],
)
def test_headers_that_are_nowhere_are_left_out_beside_host_code(tmp_path, included, stays):
    source = f"#include {included}\n__global__ void k(float *v) {{ v[0] = 1; }}\nint main() {{ k<<<1, 1>>>(v); }}\n"
    assert (included in device_code(source, (tmp_path,))) is stays
    assert missing_headers(source, (tmp_path,)) == ([] if stays else [included[1:-1]])


def test_a_name_for_a_class_of_the_hosts_is_left_out_with_it():
    source = (
        "template <typename T> struct Free { void operator()(T *p) const { cudaFree(p); } };\n"
        "template <typename T> using owned = std::unique_ptr<T[], Free<T>>;\ntypedef float real;\n"
        "using pair = float2;\n__global__ void k(real *v) { v[0] = 1; }\nint main() { k<<<1, 1>>>(v); }\n"
    )
    kept = device_code(source).splitlines()
    assert [line.strip() for line in kept] == [";", "", *source.splitlines()[2:5], ""]


def test_what_kernels_take_of_opencv_stays_where_its_headers_are_left_out(tmp_path):
    source = (
        "#include <opencv2/opencv.hpp>\nusing namespace cv;\n"
        "__global__ void k(uchar *v) { v[0] = 1; }\nint main() { cv::Mat m; k<<<1, 1>>>(v); }\n"
    )
    code = device_code(source, (tmp_path,))
    assert code.splitlines()[0] == "typedef unsigned char uchar; namespace cv {}"
    assert code.splitlines()[1:3] == source.splitlines()[1:3]


@pytest.mark.parametrize("header", ["<cufft.h>", '"cufftXt.h"'])
def test_what_kernels_take_of_cufft_stays_where_its_headers_are_left_out(tmp_path, header):
    source = (
        f"#include {header}\n__global__ void k(cufftComplex *v, cufftReal f) {{ v[0] = cuCmulf(v[1], v[2]); }}\n"
        "int main() { cufftHandle plan; cufftComplex *v; k<<<1, 1>>>(v, 1); }\n"
    )
    code = device_code(source, (tmp_path,)).splitlines()
    assert code[0] == "#include <cuComplex.h>"
    assert code[1] == source.splitlines()[1].replace("cufftComplex", "cuFloatComplex").replace("cufftReal", "float")
    assert not code[2].strip()


def test_a_header_of_cufft_that_no_kernel_needs_is_left_out(tmp_path):
    source = "#include <cufft.h>\n__global__ void k(float *v) { v[0] = 1; }\nint main() { k<<<1, 1>>>(v); }\n"
    assert "#include" not in device_code(source, (tmp_path,))


def launch_in(source: str, kernel: str):
    signature = find_kernel(source, "cuda", kernel)
    return drafted_launch(source, signature, Path("k.cu"), "cuda")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("(n + 256 - 1) / 256", "ceil_div(n, 256)"),
        ("(n - 1 + 256) / 256", "ceil_div(n, 256)"),
        ("(n - m + 1 + 7) / 8", "ceil_div(n - m + 1, 8)"),
        ("(n + 1 + 1) / 2", "(n + 1 + 1) // 2"),
        ("(b - 1 + n) / b", "ceil_div(n, b)"),
        ("(n - 1 + b) / b", "ceil_div(n, b)"),
        ("((b - 1) + n - m) / b", "ceil_div(n - m, b)"),
        ("(n + b) / b", "(n + b) // b"),
        ("(n - b - 1) / b", "(n - b - 1) // b"),
        ("(n + 256) / 256", "(n + 256) // 256"),
        ("(unsigned int)ceil(((float)n) / ((float)b))", "ceil_div(n, b)"),
        ("ceil(n / 32.0)", "ceil_div(n, 32)"),
        ("(int)std::ceil(1.0 * n / 256.0f)", "ceil_div(n, 256)"),
        ("ceil(n / 2.5)", "ceil_div(n, 2.5)"),
        ("cols / b + ((cols % b == 0) ? 0 : 1)", "ceil_div(cols, b)"),
        ("(n - 1) / b + 1", "ceil_div(n, b)"),
        ("CEIL_DIV(n * m, b)", "ceil_div(n * m, b)"),
        ("1 << 10", "1024"),
        ("std::min(32, 4 * 9)", "32"),
        ("0xFF + 1'000u", "1255"),
        ("a > 1 ? b : c", "b if a > 1 else c"),
        ("(w + 31) & ~31", "ceil_div(w, 32) * 32"),
        ("(w + b - 1) & ~(b - 1)", "ceil_div(w, b) * b"),
        ("w & -32", "w // 32 * 32"),
        ("w & 31", "w % 32"),
        ("a > 1 ? f(b) : c", f"{UNREAD} if a > 1 else c"),
    ],
)
def test_arithmetic_of_c_is_read_as_ours(written, meant):
    assert ast.unparse(arithmetic(written)) == meant


@pytest.mark.parametrize(
    "written", ["atoi(argv[1])", "x = 3", "f(", "a b", "1" * 500, "1 << 70", "w & 5", "w & b", "a > 1 ? f(b) : g(c)"]
)
def test_what_is_no_arithmetic_is_refused(written):
    with pytest.raises(NotArithmetic):
        arithmetic(written)


CALLED = """\
const int TILE = 32;
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
template <typename T>
__global__ void move(T *to, const T *from, int rows, int cols, int steps, float factor)
{
    __shared__ T tile[TILE][TILE];
    for (int j = 0; j < TILE; j += 8) tile[threadIdx.y + j][threadIdx.x] = from[j];
    to[(blockIdx.y * TILE + threadIdx.y) * cols + blockIdx.x * TILE + threadIdx.x] = factor;
}
void launch(float *to, float *from, int height, int width, int most)
{
    dim3 block(TILE, 8), grid(width / TILE, (height + TILE - 1) / TILE);
    for (int t = 0; t < 10; t += 2)
        move<<<grid, block>>>(to, from, height, width, LEAST(most, height - t), 0.5f);
}
int main(int argc, char **argv)
{
    int h = 512, w = 2048, most = atoi(argv[1]);
    size_t bytes = h * w * sizeof(float);
    float *d_to, *d_from;
    check(cudaMalloc((void **)&d_to, bytes));
    check(cudaMalloc(&d_from, sizeof(float) * (h * w + w)));
    launch(d_to, d_from, h, w, most);
}
"""


def test_a_launch_is_read_through_calls_constants_and_macros():
    launch = launch_in(CALLED, "move")
    assert launch.keys["problem_size"] == ["cols", "rows"]
    assert (launch.keys["grid_div_x"], launch.keys["grid_div_y"]) == (["TILE"], ["TILE"])
    assert launch.keys["block_size"] == ["TILE", "8"]
    assert launch.defaults == {"TILE": 32}
    assert launch.sizes == {"rows": 512, "cols": 2048}
    assert launch.shapes == {"to": "rows * cols", "from": "rows * cols + cols"}
    assert launch.values["factor"] == 0.5
    assert launch.values["steps"] == "min(1, rows)"


def test_of_several_launches_the_largest_is_the_one():
    source = (
        "__global__ void k(int *v) { v[blockIdx.x] = threadIdx.x / blockDim.x; }\n"
        "int main() { int n = 1 << 16; const int T = 128; int *d;\n cudaMalloc(&d, n * sizeof(int));\n"
        "k<<<1, T>>>(d);\n k<<<n / T, T>>>(d);\n k<<<2, T>>>(d); }\n"
    )
    launch = launch_in(source, "k")
    assert (launch.line, launch.keys, launch.defaults) == (5, {"problem_size": ["n"]}, {"block_size_x": 128})


@pytest.mark.parametrize(
    ("loop", "sizes"),
    [
        ("for (int i = 0; i < 3; i++) { int n = all[i], m = wide[i];", {"n": 1 << 22, "m": 64}),
        ("for (size_t i = 0, e = 3; i < e; ++i) { int n = all[i], m = wide[i];", {"n": 1 << 22, "m": 64}),
        ("for (int n : {1, 2}) { int n = all[1], m = wide[0];", {"n": 1 << 20, "m": 16}),
    ],
)
def test_of_sizes_that_a_host_goes_through_the_last_is_meant(loop, sizes):
    source = (
        "__global__ void k(int *v, int n, int m) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < n) v[i] = m; }\n"
        "int main() { int all[] = {65536, 1048576, 4194304}; int wide[] = {16, 32, 64}; int *d;\n"
        f"{loop} cudaMalloc(&d, n * m * sizeof(int)); k<<<(n + 127) / 128, 128>>>(d, n, m); }} }}\n"
    )
    assert launch_in(source, "k").sizes == sizes


@pytest.mark.parametrize(
    ("filled", "bounds"),
    [
        ("for (int i = 0; i < n; i++) h[i] = rand() % BINS;", (0, "BINS")),
        ("for (int i = 0; i < n; i++) h[i] = (int)(((long long)i * 7 + rand()) % BINS);", (0, "BINS")),
        ("for (int i = 0; i < n; i++) h[i] = BINS - (i * 37) % (BINS / 2);", ("BINS - BINS // 2 + 1", "BINS + 1")),
        ("for (int i = 0; i < n; i++) h[i] = i % BINS - 5;", None),
        ("generate(begin(h), end(h), []() { return 'a' + (rand() % 26); });", (97, "123")),
        ("std::uniform_int_distribution<int> label(0, n - 1); for (auto &one : h) one = label(gen);", (0, "n")),
        ("std::uniform_int_distribution<> dice(1, 6); for (int i = 0; i < n; i++) h[i] = dice(gen);", (1, "7")),
        ("std::uniform_real_distribution<> half(0, 6); for (int i = 0; i < n; i++) h[i] = half(gen);", None),
        ("std::iota(h.begin(), h.end(), 0);", (0, "n")),
        ("std::iota(h.begin(), h.end(), 1);", None),
        ("for (int i = 0; i < n; i++) h[i] = i;", None),
    ],
)
def test_random_whole_numbers_of_the_host_say_what_an_array_holds(filled, bounds):
    source = (
        "#define BINS 7\n__global__ void k(int *to, const int *from) { to[from[threadIdx.x]] = 1; }\n"
        f"int main() {{ int n = 4096; int *d, *to; vector<int> h(n);\n{filled}\n"
        "cudaMalloc(&d, n * sizeof(int)); cudaMalloc(&to, BINS * sizeof(int));\n"
        "cudaMemcpy(d, h.data(), n, cudaMemcpyHostToDevice); k<<<n / 64, 64>>>(to, d); }\n"
    )
    launch = launch_in(source, "k")
    assert launch.shapes == {"to": "BINS", "from": "n"}
    assert launch.drawn == ({} if bounds is None else {"from": bounds})


def test_constant_memory_that_the_host_fills_is_known():
    source = (
        "__constant__ int mask[9];\n__constant__ int set[2] = {1, 2};\n void f() { cudaMemcpyToSymbol(mask, h, 36); }\n"
    )
    assert constants_of_host(source) == ["mask"]
    source += "__global__ void k(int *x) { *x = mask[0]; }\n__global__ void other(int *x) { *x = 1; }\n"
    assert [constants_of_host(source, kernel) for kernel in ("k", "other")] == [["mask"], []]


def test_fractions_in_constant_memory_that_no_host_here_fills_are_drafted():
    source = (
        "__constant__ float2 corners[3], shift;\n__constant__ float set[2] = {1, 2};\n"
        "__constant__ int places[4];\nextern __constant__ float other[5];\n"
    )
    drafted = drafted_constants(source)
    assert [(one.name, one.elements, one.is_of_host) for one in drafted] == [("corners", 6, False), ("shift", 2, False)]


@pytest.mark.slow
def test_names_that_stand_for_names_many_times_over_end():
    doubled = " ".join(f"int a{i + 1} = a{i} + a{i};" for i in range(60))
    source = f"__global__ void k(int *v) {{ v[threadIdx.x] = 1; }}\nvoid f(int a0) {{ {doubled} k<<<a60, 32>>>(p); }}\n"
    assert launch_in(source, "k").defaults == {"block_size_x": 32}


def test_a_block_made_of_a_size_fixes_the_sizes():
    source = (
        "__global__ void k(int *v, int n) { v[threadIdx.x] = n; }\n"
        "int main() { const int n = 64; int *d; cudaMalloc(&d, n * sizeof(int)); k<<<1, n>>>(d, n); }\n"
    )
    launch = launch_in(source, "k")
    assert (launch.keys["block_size"], launch.sizes, launch.of_block) == (["n"], {"n": 64}, {"n"})


def test_a_build_of_one_kernel_leaves_out_the_others_and_what_only_they_include():
    source = (
        "#include <cooperative_groups.h>\n__global__ void a(float *v) { v[0] = 1; }\n"
        "template <int N> __global__ void __launch_bounds__(64) b(float *v)\n{ cooperative_groups::this_grid(); }\n"
        "int main() { a<<<1, 1>>>(0); }\n"
    )
    text = device_code(source, (), "a")
    assert ("void a(" in text, "void b(" in text, "cooperative_groups" in text) == (True, False, False)
    assert "cooperative_groups.h" in device_code(source, (), "b<4>")
    assert text.count("\n") == source.count("\n")


def test_a_header_that_only_the_host_needs_is_left_out_if_it_needs_a_library_of_the_hosts(tmp_path):
    kernel = "__global__ void k(float *v) { v[0] = CALL; }\nint main() { check(0); k<<<1, 1>>>(0); }\n"
    (tmp_path / "common.h").write_text(
        "#include <cublas_v2.h>\n#define CHECKED(e) check(e)\nenum Kind { SMALL, LARGE };\n"
        "template <class T> __host__ __device__ T half(T v) { if (v) { return v / 2; } return v; }\n"
        "inline void check(int error) { if (error) { exit(1); } }\nconst int LIMIT = 4;\n"
    )

    def is_kept(call):
        return "common.h" in device_code('#include "common.h"\n' + kernel.replace("CALL", call), (tmp_path,), "k")

    assert [is_kept(call) for call in ("1", "half(1)", "LIMIT", "SMALL", "T(1)")] == [False, True, True, True, False]


def test_a_class_that_launches_and_headers_of_libraries_that_no_kernel_names_are_left_out():
    source = (
        "#include <torch/extension.h>\n#include <thrust/sort.h>\n#include <cub/cub.cuh>\n"
        "class Matrix : public Base {\n public:\n  Matrix(int n) : n_(n) { cudaMalloc(&data_, n); }\n"
        "  void run() { k<<<1, 1>>>(data_); }\n private:\n  int n_;\n};\n"
        "struct Plain { int n; };\n__global__ void k(float *v) { v[0] = cub::one(); }\n"
    )
    text = device_code(source, (), "k")
    assert [one for one in ("torch", "thrust", "cub/cub", "Matrix", "struct Plain") if one in text] == [
        "cub/cub",
        "struct Plain",
    ]
    assert text.count("\n") == source.count("\n")


def test_a_macro_of_the_host_needs_no_header_and_an_aligned_type_and_what_cuda_has_stay():
    source = (
        "#include <torch/extension.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n"
        "#define CHECKED(x) at::check(x)\n#define TWICE(x) (2 * (x))\n"
        "template <typename T, int N>\nstruct alignas(sizeof(T) * N) Packed {\n  T v[N];\n};\n"
        "__global__ void k(Packed<float, 4> *p) { p[0].v[1] = TWICE(p[0].v[0]); }\n"
        "void run(at::Tensor x) { CHECKED(x); k<<<1, 1>>>(x.data_ptr()); }\n"
    )
    text = device_code(source, (), "k")
    named = ("torch", "cuda_bf16.h", "cuda_fp8.h", "struct alignas(sizeof(T) * N) Packed", "at::Tensor")
    assert [one for one in named if one in text] == [
        "cuda_bf16.h",
        "cuda_fp8.h",
        "struct alignas(sizeof(T) * N) Packed",
    ]


HOST_OF_K = "__global__ void k(float *v, int n) { if (threadIdx.x < n) v[blockIdx.x] = n; }\n"


@pytest.mark.parametrize(
    "host",
    [
        "void run(float *v, int n, int threads = 128, cudaStream_t s = 0)\n"
        "{ k<<<(n + threads - 1) / threads, threads, 0, s>>>(v, n); }\nint main() { run(d, 70000); }\n",
        "int main() { int n = 70000; dim3 block(n, n), grid(1); if (n > 512) { block.x = 128; block.y = 1;\n"
        "grid.x = ceil(double(n) / double(block.x)); } k<<<grid, block>>>(d, n); }\n",
        "int main() { int n = 70000; dim3 grid, block; block.x = 128; grid.x = (n + block.x - 1) / block.x;\n"
        "k<<<grid, block>>>(d, n); }\n",
    ],
    ids=["default arguments", "members set later", "members alone"],
)
def test_what_a_launch_takes_from_defaults_and_members_is_read(host):
    launch = launch_in(HOST_OF_K + host, "k")
    assert (launch.keys["problem_size"], launch.sizes, launch.defaults) == (["n"], {"n": 70000}, {"block_size_x": 128})


def test_a_number_of_the_template_that_makes_the_block_is_tuned_and_its_own_launch_is_read():
    source = (
        "template <int T> __global__ void k(float *v, int w) { v[threadIdx.y * T + threadIdx.x] = w; }\n"
        "void run(int side, const dim3 &shape) { dim3 block(side, side), grid(shape.x / block.x, shape.y / block.y);\n"
        "if (side == 8) k<8><<<grid, block>>>(d, shape.x);\nelse k<16><<<grid, block>>>(d, shape.x); }\n"
        "int main() { int side = 16; dim3 shape(4 * side, 2 * side); run(side, shape); }\n"
    )
    launch = launch_in(source, "k")
    assert (launch.line, launch.template) == (4, "<block_size_x>")
    assert launch.keys["block_size"] == launch.keys["grid_div_x"] * 2 == ["block_size_x", "block_size_x"]
    assert (launch.tunables, launch.defaults) == ({"block_size_x": [4, 8, 16, 32]}, {"block_size_x": 16})
    assert (launch.keys["problem_size"], launch.values["w"]) == (["64", "32"], 64)


def test_arguments_of_a_launch_for_another_version_of_the_kernel_say_nothing():
    launch = launch_in(HOST_OF_K + "int main() { int n = 4096; Shape s; k<<<n / 128, 128>>>(d, s, n); }\n", "k")
    assert launch.values == {}


def test_what_is_tunable_has_no_value_of_its_own_in_the_source():
    source = "#define A 4\n#ifndef B\n#define B 5\n#endif\nconst int C = 6;\n// #define A 7\n"
    text = without_own_values(source, ["A", "B", "C"])
    assert text == "\n#ifndef B\n#define B 5\n#endif\n" + " " * 16 + "\n// #define A 7\n"


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (["A"], ["constexpr int", "B = 2, C = 3;"]),
        (["C"], ["constexpr int A = 1, B = 2", ";"]),
        (["A", "C"], ["constexpr int", "B = 2", ";"]),
        (["A", "B", "C"], []),
    ],
)
def test_a_part_of_a_list_of_constants_may_be_tunable(names, left):
    text = without_own_values("constexpr int A = 1, B = 2, C = 3;\nint after;\n", names)
    assert re.split(r"\s{2,}", text.splitlines()[0].strip()) == (left or [""])
    assert text.splitlines()[1] == "int after;"


def test_a_block_of_a_constant_in_a_list_is_tuned():
    source = (
        "constexpr int EACH = 4, THREADS = 128;\n__global__ void k(float *to) { __shared__ float all[THREADS];"
        " all[threadIdx.x] = 1.f; to[blockIdx.x * THREADS + threadIdx.x] = all[threadIdx.x] * EACH; }\n"
        "int main() { int n = 4096; float *d; cudaMalloc(&d, n * sizeof(float)); k<<<n / THREADS, THREADS>>>(d); }\n"
    )
    launch = launch_in(source, "k")
    assert (launch.keys["block_size"], launch.defaults) == (["THREADS"], {"THREADS": 128})


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
    assert (problem.sizes, arguments["t"].value) == ({"n": 2**20}, 3)
    told = "\n".join(assumptions(written))
    assert "no scale.toml beside it" in told
    assert "tuner-tui init scale.cu --kernel scale" in told


def test_of_several_kernels_the_one_that_does_most_is_taken_and_the_others_told(tmp_path):
    file = tmp_path / "two.cu"
    file.write_text(
        "__global__ void a(float *v, int n) { v[0] = n; }\n"
        "__global__ void b(float *v, int n) { for (int i = 0; i < n; i++) v[i] = n; }\n"
    )
    written = problem_of(file)
    assert (written.problem.kernel.name, written.alternatives) == ("b", ("a",))
    assert "for another: tuner-tui two.cu:NAME, as in a" in "\n".join(assumptions(written))
    assert problem_of(tmp_path / "two.cu:a").problem.kernel.name == "a"


UP = '#include "../real.h"\n__global__ void k(real *x, int n) { x[0] = n; }\nvoid run() { k<<<1, 1>>>(0, 1); }\n'


def test_a_header_above_is_included_as_its_directory_has_it(tmp_path: Path) -> None:
    inner = tmp_path / "csrc" / "cuda"
    inner.mkdir(parents=True)
    (tmp_path / "csrc" / "real.h").write_text("typedef float real;\n")
    assert '#include "real.h"' in device_code(UP, (inner, tmp_path / "csrc"))
    assert "include" not in device_code(UP, (inner,))  # it cannot be read, and is left out as others that are nowhere

    (inner / "real.h").write_text("typedef double real;\n")
    assert '#include "../real.h"' in without_climbing(UP, (inner, tmp_path / "csrc"))  # the name alone is another's
    (tmp_path / "csrc" / "real.h").unlink()
    assert '#include "real.h"' in without_climbing(UP, (inner, tmp_path / "csrc"))


def test_headers_above_that_headers_include_give_their_directory(tmp_path: Path) -> None:
    inner = tmp_path / "csrc" / "cuda"
    inner.mkdir(parents=True)
    (tmp_path / "csrc" / "real.h").write_text("typedef float real;\n")
    (inner / "k.h").write_text('#include "../real.h"\n')
    file = inner / "k.cu"
    for names, expected in (
        (["k.h"], [inner, tmp_path / "csrc"]),
        (["../real.h"], [tmp_path / "csrc"]),
        (["../none.h"], []),
    ):
        included = "".join(f'#include "{name}"\n' for name in names)
        assert header_directories(UP.replace('#include "../real.h"\n', included), file) == expected


def test_functions_that_a_macro_has_built_for_types_are_left_out_with_their_templates(tmp_path):
    source = """\
template <typename T> __global__ void scale(T *out, const T *in, int n) { out[threadIdx.x] = in[n - 1]; }
template <typename T> void launch(T *out, const T *in, int n, cudaStream_t stream)
{
    scale<T><<<1, n, 0, stream>>>(out, in, n);
}
#define BUILT_FOR(T)                             \\
    template void launch<T>(T * out, const T *in, \\
                            int n, cudaStream_t stream)
#define BUILT_TOO(T) template void launch<T>(T *, const T *, int, cudaStream_t);
#define OF_THE_DEVICE(T) __device__ T twice(T v) { return v + v; }
BUILT_FOR(float);
BUILT_TOO(double)
BUILT_TOO(
    __half)
OF_THE_DEVICE(float)
"""
    left = device_code(source)
    assert len(left) == len(source)
    assert [one for one in left.splitlines() if re.match(r"\s*[A-Z_]+\(|\s+__half", one)] == ["OF_THE_DEVICE(float)"]
    assert "__global__ void scale" in left
    assert "launch<T>(T *out" not in left


OVERLOADED = """\
__global__ void scale(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }
__global__ void scale(__half *x, int n)
{
    if (threadIdx.x < n) x[threadIdx.x] *= __float2half(2);
}
void both(float *x, __half *y, int n) { scale<<<1, 64>>>(x, n); scale<<<1, 64>>>(y, n); }
"""


def test_of_kernels_of_one_name_the_first_is_built_as_it_is_the_one_that_is_drafted():
    left = device_code(OVERLOADED, kernel="scale")
    assert left.strip() == OVERLOADED.splitlines()[0]
    assert left.count("\n") == OVERLOADED.count("\n")
    assert find_kernel(OVERLOADED, "cuda", "scale").parameters[0].dtype == "float32"
    other = "#ifdef WIDE\n" + OVERLOADED.replace("\n__global__", "\n#else\n__global__").replace(
        "}\nvoid", "}\n#endif\nvoid"
    )
    assert device_code(other, kernel="scale").count("__global__") == 2


def test_host_functions_that_a_macro_writes_between_kernels_are_left_out():
    source = (
        "#include <torch/extension.h>\n"
        "#define BIND(kind, type) void run_##kind(torch::Tensor x) { \\\n"
        "  run_##kind##_kernel<<<x.numel(), 64>>>(x.data_ptr<float>()); }\n"
        "#define TWICE(name) __device__ float name(float x) { return 2 * x; }\n"
        "#define FIRST(x) else if (threadIdx.x == 0) { v[1] = x; }\n"
        "TWICE(twice)\n"
        "__global__ void run_f32_kernel(float *v) { if (v[0] > 0) v[0] = twice(v[0]);\nFIRST(3)\n}\n"
        "BIND(f32, torch::kFloat32)\n"
        "__global__ void other(float *v) { v[0] = 0; }\n"
        "BIND(other, torch::kHalf);\n"
    )
    built = device_code(source, (), "run_f32_kernel")
    assert [line for line in built.splitlines() if line.startswith(("BIND", "TWICE", "FIRST"))] == [
        "TWICE(twice)",
        "FIRST(3)",
    ]
    assert "torch/extension.h" not in built
