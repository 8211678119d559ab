"""What drafts read of the host's code in the many ways that people write it; no kernel is built here."""

from __future__ import annotations

import math
import re

import pytest

from tests.problem.examples import drafted
from tui_tuner.app.named import check_kernel, problem_of
from tui_tuner.errors import ProblemError
from tui_tuner.problem.by_value import alignment_of, layout
from tui_tuner.problem.c_types import dtype_of, type_aliases
from tui_tuner.problem.draft.amendments import Amendments
from tui_tuner.problem.draft.kernel.files import ranked_kernels
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.load import load_problem

SCALED = "float *to, const float *from, int n"
ONE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
SCALE = f"__global__ void k(float *to, const float *from, int n) {{ {ONE} if (i < n) to[i] = from[i]; }}\n"
GATHER = f"__global__ void k(float *to, const int *at, int n) {{ {ONE} if (i < n) to[i] = at[i]; }}\n"
DATA = "cudaMalloc(&to, n * sizeof(float)); cudaMalloc(&from, n * sizeof(float));"


GROWN = (
    "__global__ void k(int rows, const int *begins, const int *columns, const float *values, const float *x, float *y)"
    f" {{ {ONE} if (i < rows) {{ float s = 0; for (int j = begins[i]; j < begins[i + 1]; j++)"
    " s += values[j] * x[columns[j]]; y[i] = s; } }\n"
    "struct Sparse { std::vector<int> begins, columns; std::vector<float> values; };\n"
    "Sparse made(int rows) { Sparse m; m.begins.push_back(0); for (int r = 0; r < rows; r++) {"
    " for (int c = r % 5; c < rows; c += 1 + rand() % 99) { m.columns.push_back(c); m.values.push_back(1.f / c); }"
    " m.begins.push_back((int)m.columns.size()); } return m; }\n"
    "int main() { const int rows = 20000; Sparse a = made(rows); int *b, *c; float *v, *x, *y; HELD"
    " cudaMalloc(&x, rows * sizeof(float)); cudaMalloc(&y, rows * sizeof(float));"
    " k<<<(rows + 255) / 256, 256>>>(rows, b, c, v, x, y); }"
)
GROWN_HELD = (
    "cudaMalloc(&b, a.begins.size() * sizeof(int)); cudaMalloc(&c, a.columns.size() * sizeof(int));"
    " cudaMalloc(&v, a.values.size() * sizeof(float));"
)
GROWN_DRAFTED = {
    "begins": ["rows + 1"],
    "fill begins": ("offsets", None, "a_columns_size"),
    "columns": ["a_columns_size"],
    "fill columns": ("integers", None, "rows"),
    "values": ["a_columns_size"],
    "sizes": {"rows": 20000, "a_columns_size": 160000},
    "emulated": {"rows": 10000, "a_columns_size": 80000},
}
UPLOAD = (
    "template <class T> T *upload(const std::vector<T> &v) { T *d; cudaMalloc(&d, v.size() * sizeof(T));"
    " cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice); return d; }\n"
)
BUFFER = """\
template <class T> class Buffer {
public:
  explicit Buffer(size_t n) : n_(n) { cudaMalloc(&p_, n * sizeof(T)); }
  T *get() { return p_; }
  size_t size() const { return n_; }
private:
  T *p_ = nullptr; size_t n_;
};
"""
IMAGES = """\
struct Picture {
  int width, height; size_t pitch; void *data;
  Picture(int w, int h, int each) : width(w), height(h) { cudaMallocPitch(&data, &pitch, w * each, h); }
};
"""
CASES = {
    "numbers and types of a function template that launches": (
        "template <typename T, typename I, unsigned N> __global__ void k(T *to, const T *from, I n) {"
        " for (I i = blockIdx.x * N + threadIdx.x; i < n; i += N * gridDim.x) to[i] = from[i]; }\n"
        "template <typename T, unsigned EACH> void run(const int count) { const unsigned ALL = 128, N = ALL / EACH;"
        " const size_t groups = std::min<size_t>(64, (count + N - 1) / N);"
        " k<T, int, N> <<<groups, N>>>(to(), from(), count); }\n"
        "int main(int c, char **v) { run<double, 2>(atoi(v[1])); }",
        {"name": "k<double,int,block_size_x>", "defaults": {"block_size_x": 64}, "to": ["n"], "from": ["n"]},
    ),
    "numbers that stand in the launch alone": (
        "__global__ void k(float *y, const float *a, const float *x, int rows, int cols) {"
        f" {ONE} if (i < rows) {{ float s = 0; for (int j = 0; j < cols; j++) s += a[i * cols + j] * x[j]; y[i] = s; }}"
        " }\n"
        "void run(float *y, float *x) { float *a; cudaMalloc(&a, 4 * 8388608); "
        "k<<<(4096 + 255) / 256, 256>>>(y, a, x, 4096, 2048); }",
        {
            "sizes": {"rows": 4096, "cols": 2048},
            "problem_size": ["rows"],
            "a": ["cols * rows"],
            "x": ["cols"],
            "y": ["rows"],
            "rows": "rows",
        },
    ),
    "as many blocks as a number that is passed and asked for nowhere": (
        "__global__ void k(float *y, const float *a, int rows, int cols) {"
        " for (int j = threadIdx.x; j < cols; j += blockDim.x) y[blockIdx.x * cols + j] = a[blockIdx.x * cols + j]; }\n"
        "int main() { float *y, *a; cudaMalloc(&y, 2048 * 4096 * sizeof(float));"
        " cudaMalloc(&a, 2048 * 4096 * sizeof(float)); k<<<2048, 256>>>(y, a, 2048, 4096); }",
        {
            "sizes": {"rows": 2048, "cols": 4096},
            "problem_size": ["rows"],
            "grid_div_x": ["1"],
            "a": ["cols * rows"],
            "y": ["cols * rows"],
        },
    ),
    "bytes by a name, and numbers that stand in the launch": (
        "__global__ void k(float *y, const float *x, int rows, int cols) {"
        f" {ONE} int j = blockIdx.y * blockDim.y + threadIdx.y; if (i < cols && j < rows) y[j * cols + i] = x[j]; }}\n"
        "int main() { float *y, *x; size_t b = 512ull * 1024 * 4; cudaMalloc(&y, b); cudaMalloc(&x, 512 * 4);"
        " k<<<dim3(64, 64), dim3(16, 8)>>>(y, x, 512, 1024); }",
        {
            "sizes": {"rows": 512, "cols": 1024},
            "problem_size": ["cols", "rows"],
            "y": ["cols * rows"],
            "x": ["rows"],
        },
    ),
    "blocks whose count stands in the launch, of rows of threads": (
        "__global__ void k(float *y, const float *a, int rows, int cols) {"
        " int r = blockIdx.x * blockDim.y + threadIdx.y; if (r < rows)"
        " for (int j = threadIdx.x; j < cols; j += 32) y[r * cols + j] = a[r * cols + j]; }\n"
        "void run(float *y, float *a) { k<<<1024, dim3(32, 4)>>>(y, a, 4096, 4096); }",
        {
            "sizes": {"rows": 4096, "cols": 4096},
            "problem_size": ["rows"],
            "grid_div_x": ["block_size_y"],
            "a": ["cols * rows"],
        },
    ),
    "a class of the host's own that takes memory": (
        BUFFER + SCALE + "int main() { const int all = 70000; Buffer<float> from(all), to(all);"
        " k<<<64, 128>>>(to.get(), from.get(), from.size()); }",
        {"sizes": {"n": 70000}, "to": ["n"], "from": ["n"], "problem_size": ["8192"]},
    ),
    "members of an object that a function is given": (
        IMAGES + "__global__ void k(unsigned char *to, size_t pitch, int w, int h) {"
        f" {ONE} int j = blockIdx.y * 8 + threadIdx.y; if (i < w && j < h) to[j * pitch + i] = i; }}\n"
        "void run(Picture &p) { dim3 b(32, 8), g((p.width + 31) / 32, (p.height + 7) / 8);"
        " k<<<g, b>>>((unsigned char *)p.data, p.pitch, p.width, p.height); }\n"
        "int main() { int w = 640, h = 480; Picture out(w, h, 1); run(out); }",
        {"sizes": {"w": 640, "h": 480}, "to": ["w * h"], "pitch": "w"},
    ),
    "members of the program's options that are set at once": (
        SCALE + "struct Options { int rows, columns; Options(int c, char **v) { rows = columns = 300;"
        " if (c > 1) rows = columns = atoi(v[1]); } };\n"
        f"int main(int c, char **v) {{ Options o(c, v); int n = o.rows * o.columns; {DATA}"
        " k<<<(n + 255) / 256, 256>>>(to, from, n); }",
        {"sizes": {"n": 90000}, "to": ["n"]},
    ),
    "a launch that a macro of a macro makes, for a kind and a type of the host's template": (
        "enum class Kind { ALL, HALF };\n"
        f"template <typename T, typename I, Kind KIND> __global__ void k(T *to, const T *from, I n) {{ {ONE}"
        " if (i < n) to[i] = from[i] * (KIND == Kind::ALL ? 1 : 2); }\n"
        "#define RUN(kind, each) k<T, I, \\\n kind><<<(n + each - 1) / each, each>>>( \\\n to, from, n)\n"
        "#define CHOOSE(kind) switch (kind) { case Kind::ALL: RUN(Kind::ALL, 128); break; default: RUN(kind, 64); }\n"
        f"template <typename T, typename I> void run(I n) {{ {DATA} CHOOSE(Kind::HALF) }}\n"
        "int main() { run<float, int>(5000); }",
        {"name": "k<float,int,Kind::ALL>", "sizes": {"n": 5000}, "defaults": {"block_size_x": 128}, "to": ["n"]},
    ),
    "a launch that a macro makes of the kernel's name and all that it is given": (
        SCALE
        + "#define LAUNCH(kernel, blocks, threads, ...) kernel<<<blocks, threads, 0, stream>>>(__VA_ARGS__); check()\n"
        f"int main() {{ int n = 5000; {DATA} LAUNCH(k, (n + 127) / 128, 128, to, from, n); }}",
        {"sizes": {"n": 5000}, "defaults": {"block_size_x": 128}, "to": ["n"], "problem_size": ["n"]},
    ),
    "a count of blocks that is kept to a limit": (
        SCALE + f"int main() {{ int n = 5000, blocks = (n + 127) / 128; cudaDeviceProp prop; {DATA}"
        " if (blocks > prop.maxGridSize[0]) { blocks = prop.maxGridSize[0]; } k<<<blocks, 128>>>(to, from, n); }",
        {"problem_size": ["n"], "sizes": {"n": 5000}, "defaults": {"block_size_x": 128}},
    ),
    "a loop over the grid that a macro makes": (
        "#define EACH(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)\n"
        f"__global__ void k({SCALED}) {{ EACH(i, n) {{ to[i] = from[i]; }} }}\n"
        f"int main() {{ int n = 5000; {DATA} k<<<(n + 127) / 128, 128>>>(to, from, n); }}",
        {"tunables": ["block_size_x"], "defaults": {"block_size_x": 128}, "tested": {"n": 3749}},
    ),
    "a function among the arguments of the template": (
        "static __device__ float add(float a, float b) { return a + b; }\n"
        "static __device__ float multiply(float a, float b) { return a * b; }\n"
        f"template <float (*op)(const float, const float), typename T> __global__ void k(T *to, const T *from, int n)"
        f" {{ {ONE} if (i < n) to[i] = op(from[i], 2); }}\n"
        "template <float (*f)(float, float)> struct Of { template <typename T> void operator()(T *to, T *from, int n)"
        " { k<f, T><<<n / 64, 64>>>(to, from, n); } };\n"
        "template <float (*f)(float, float)> void run(int n) { float *to, *from;"
        f" {DATA} k<f><<<n / 64, 64>>>(to, from, n); }}\n"
        "int main() { int n = 4096; run<multiply>(n); }",
        {"name": "k<multiply,float>", "to": ["n"], "sizes": {"n": 4096}},
    ),
    "a function and a kind that no launch names": (
        "enum Kind { SUM, MOST };\n__device__ float twice(float a) { return a + a; }\n"
        "template <float (*op)(float), Kind kind, int R> __global__ void k(float *to)"
        " { to[threadIdx.x] = op(kind + R); }",
        {"name": "k<twice, SUM, 16>"},
    ),
    "tensors, by their sizes, by a list and like others": (
        f"__global__ void k(const float *from, float *sums, float *to, int n, int d) {{ {ONE}"
        " if (i < n) { to[i * d] = from[i * d]; sums[i] = d; } }\n"
        "torch::Tensor run(torch::Tensor x) { const int b = x.size(0), n = x.size(1), d = x.size(2);"
        " auto sums = torch::zeros({b, n}); auto y = torch::empty_like(x); k<<<b, 128>>>("
        "x.data_ptr<float>(), sums.data_ptr<float>(), y.data_ptr<float>(), n, d); }",
        {"from": ["x_size_0 * n * d"], "sums": ["x_size_0 * n"], "to": ["x_size_0 * n * d"], "n": "n"},
    ),
    "tensors, a product of whose sizes has a name": (
        f"__global__ void k(const float *from, float *to, int c, int hw) {{ {ONE} if (i < c * hw) to[i] = from[i]; }}\n"
        "torch::Tensor run(torch::Tensor x) { const int c = x.size(1), hw = x.size(2) * x.size(3); auto y ="
        " torch::empty_like(x); k<<<x.size(0), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), c, hw); }",
        {
            "from": ["x_size_0 * c * x_size_2 * x_size_3"],
            "to": ["x_size_0 * c * x_size_2 * x_size_3"],
            "hw": "x_size_2 * x_size_3",
        },
    ),
    "tensors of which nothing is asked, beside the one whose sizes are": (
        f"__global__ void k(const float *q, const float *v, float *to, int n, int d) {{ {ONE}"
        " if (i < n) to[i] = q[i * d] + v[i * d]; }\n"
        "torch::Tensor run(torch::Tensor q, torch::Tensor v, torch::Tensor to) { int n = q.size(0), d = q.size(1);"
        " TORCH_CHECK(to.numel() == n); k<<<(n + 63) / 64, 64>>>("
        "q.data_ptr<float>(), v.data_ptr<float>(), to.data_ptr<float>(), n, d); }",
        {"q": ["n * d"], "v": ["n * d"], "to": ["n"]},
    ),
    "tensors of which nothing is asked, as far as the kernel goes": (
        "__global__ void k(const float *x, const float *bias, float *to, int d) {"
        " int j = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;"
        " if (j < d) to[row * d + j] = x[row * d + j] * bias[j] + bias[d + j]; }\n"
        "torch::Tensor run(torch::Tensor x, torch::Tensor bias) { const auto n = x.size(0); const auto d = x.size(1);"
        " auto to = torch::empty_like(x); const dim3 blocks((d + 255) / 256, n); k<<<blocks, 256>>>("
        "x.data_ptr<float>(), bias.data_ptr<float>(), to.data_ptr<float>(), d); }",
        {"x": ["x_size_0 * d"], "bias": ["2 * d"], "to": ["x_size_0 * d"]},
    ),
    "types that a compiler works out": (
        "template <typename T> struct Axpb { T a; __device__ T operator()(T x) const { return a * x; } };\n"
        f"template <typename T, typename F> __global__ void k(T *to, const T *from, int n, F f) {{ {ONE}"
        " if (i < n) to[i] = f(from[i]); }\n"
        "template <typename T, typename F> void run(T *to, const T *from, int n, F f)"
        " { k<<<(n + 63) / 64, 64>>>(to, from, n, f); }\n"
        "int main() { int n = 4096; double *a, *b; cudaMalloc(&a, n * sizeof(double));"
        " cudaMalloc(&b, n * sizeof(double)); run(a, b, n, Axpb<double>{2.0}); }",
        {"name": "k<double,Axpb<double>>", "dtype to": "float64", "to": ["n"]},
    ),
    "what a structure's own declaration sets": (
        SCALE + "struct Options { int rows = 500, turns = 3; size_t columns{120}; };\nint main() { Options o;"
        " int n = o.rows * o.columns;" + f" {DATA} k<<<(n + 63) / 64, 64>>>(to, from, n); }}",
        {"sizes": {"n": 60000}, "to": ["n"]},
    ),
    "sizes from outside that shared memory has room for": (
        f"__global__ void k(float *to, const float *from, int n, int d) {{ extern __shared__ float s[]; {ONE}"
        " if (i < n) to[i] = from[i] * s[d]; }\nint main(int c, char **v) { int n = atoi(v[1]), d = atoi(v[2]);"
        f" {DATA} k<<<(n + 63) / 64, 64, d * 32 * sizeof(float)>>>(to, from, n, d); }}",
        {"sizes": {"n": 1048576, "d": 256}, "shared_memory": "d * 32 * 4"},
    ),
    "a size from outside that makes a block's share of the elements smaller": (
        f"#define BLOCK 256\n__global__ void k({SCALED}, int edge) {{ int i = blockIdx.x * (BLOCK - 2 * edge)"
        " + threadIdx.x - edge; if (i >= 0 && i < n) to[i] = from[i]; }\n"
        f"int main(int c, char **v) {{ int edge = atoi(v[1]), n = atoi(v[2]), each = BLOCK - 2 * edge; {DATA}"
        " k<<<n / each + (n % each == 0 ? 0 : 1), BLOCK>>>(to, from, n, edge); }",
        {"sizes": {"n": 1 << 20, "edge": 64}, "grid_div_x": ["BLOCK - 2 * edge"]},
    ),
    "how far a filter goes at once, and what is added around an image": (
        "__global__ void k(float *to, const float *from, int H, int W, int kernel_size, int stride, int padding) {"
        f" {ONE} int j = blockIdx.y * blockDim.y + threadIdx.y; if (i < W && j < H) to[j * W + i] = from[i]; }}\n"
        "void run(const float *from, float *to, int H, int W, int kernel_size, int stride, int padding) {"
        " int h = (H + 2 * padding - kernel_size) / stride + 1, w = (W + 2 * padding - kernel_size) / stride + 1;"
        " dim3 b(16, 16), g((w + 15) / 16, (h + 15) / 16);"
        " k<<<g, b>>>(to, from, H, W, kernel_size, stride, padding); }",
        {"sizes": {"H": 1024, "W": 1024, "kernel_size": 9, "stride": 1, "padding": 1}},
    ),
    "sizes that are whole multiples on the emulator too": (
        f"__global__ void k(float *to, const float *from, int n) {{ {ONE} if (i * 48 < n) to[i] = from[i]; }}\n"
        f"int main() {{ int n = 48 * 2000; assert(n % 96 == 0); {DATA} k<<<n / 48 / 64, 64>>>(to, from, n); }}",
        {"sizes": {"n": 96000}, "emulated": {"n": 96000}, "tested": {"n": 71904}},
    ),
    "a count that a loop raises until it is enough": (
        SCALE + "int main() { const int rows = 50000, each = 27, n = rows * each; int b = 1; "
        "while (b * 128 < n) b *= 2;" + f" {DATA} k<<<b, 128>>>(to, from, n); }}",
        {"sizes": {"n": 1350000}, "to": ["n"], "problem_size": ["n"]},
    ),
    "a function that raises a count until it is enough": (
        "constexpr int BITS = 7;\nconstexpr int TILE = 1 << BITS;\n" + SCALE + "int tiles(int n) "
        "{ int t = 0; while (t * TILE < n) ++t; return t; }\n"
        f"int main() {{ int n = 50000; {DATA} k<<<tiles(n), 64>>>(to, from, n); }}",
        {"sizes": {"n": 50000, "TILE": 128}, "problem_size": ["n"], "grid_div_x": ["TILE"]},
    ),
    "a number that a loop takes step by step is the one halfway": (
        f"__global__ void k(float *to, int n, int at, int by) {{ {ONE} if (i < n) to[i] = i * at + by; }}\n"
        "int main() { int n = 4096; cudaMalloc(&to, n * sizeof(float)); for (int at = 1; at < 2 * n; at++) { "
        "for (int by = 0; by < 32; by += 8) { k<<<n / 64, 64>>>(to, n, at, by); } } }",
        {"sizes": {"n": 4096}, "at": "(1 + 2 * n) // 2", "by": 16},
    ),
    "a constant that only another constant of the host is made of": (
        SCALE + "const int N = 70000;\nconst int BYTES = N * sizeof(float);\n"
        "int main() { cudaMalloc(&to, BYTES); cudaMalloc(&from, BYTES); k<<<(N + 255) / 256, 256>>>(to, from, N); }",
        {"sizes": {"n": 70000}, "to": ["n"]},
    ),
    "a variable of the host with the name of an argument": (
        SCALE + f"int n = 70000;\nint main() {{ {DATA} k<<<(n + 255) / 256, 256>>>(to, from, n); }}",
        {"sizes": {"n": 70000}, "to": ["n"]},
    ),
    "a name that is a word of Python": (
        SCALE + "int main() { int in = 4096; cudaMalloc(&to, in * sizeof(float)); k<<<in / 64, 64>>>(to, from, in); }",
        {"sizes": {"n": 4096}, "to": ["n"]},
    ),
    "memory that is taken for another type than the kernel's": (
        f"__global__ void k(float2 *to, int n) {{ {ONE} if (i < n / 2) to[i].x = i; }}\n"
        "int main() { int n = 8192; cudaMalloc((void **)&d, n * sizeof(float));"
        " k<<<(n / 2 + 127) / 128, 128>>>((float2 *)d, n); }",
        {"to": ["2 * (n // 2)"]},
    ),
    "pointers to void that the kernel takes for structures, also of its template, and for numbers": (
        "#define N 32\ntypedef struct { half d; uint8_t q[N / 2]; } Packed;\n"
        "template <typename P> __global__ void k(float *to, const void *__restrict__ x, void *y, int n) {"
        f" {ONE} const P *packed = (P const *) x; if (i < n) to[i] = packed[i].q[1] * static_cast<double *>(y)[i]; }}\n"
        "int main() { int n = 8192; cudaMalloc(&to, n * 4); cudaMalloc(&x, (size_t)n / N * sizeof(Packed));"
        " cudaMalloc(&y, n * sizeof(double)); k<Packed><<<(n + 127) / 128, 128>>>(to, x, y, n); }",
        {"x": ["n // 32", 18], "y": ["n"]},
    ),
    "shared memory for structures, and a count of blocks by conversions": (
        "struct Part { float a; int b; };\n"
        f"__global__ void k(float *to, Part *parts, int n, int kinds) {{ extern __shared__ Part own[]; {ONE}"
        " if (threadIdx.x < kinds) own[threadIdx.x] = parts[threadIdx.x]; if (i < n) to[i] = own[0].a; }\n"
        "int main() { int n = 8192, kinds = 34; cudaMalloc(&to, n * 4); cudaMalloc(&parts, kinds * sizeof(Part));"
        " size_t shared = kinds * sizeof(Part); size_t blocks = std::ceil(n / static_cast<double>(2));"
        " blocks = std::ceil(static_cast<double>(blocks) / 64);"
        " k<<<blocks, 64, shared>>>(to, parts, n, kinds); }",
        {"problem_size": ["ceil_div(n, 2)"], "shared_memory": "kinds * 8", "parts": ["kinds", 8]},
    ),
    "as many blocks as a device holds, which CUDA says": (
        SCALE + f"int main() {{ int n = 8192, sms = 0, fit = 0; {DATA}"
        " cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);"
        " cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, k, 256, 0); k<<<sms * fit, 256>>>(to, from, n); }",
        {"sizes": {"n": 8192, "sms": 128, "fit": 1}, "problem_size": ["sms * fit * 256"]},
    ),
    "a block that CUDA works out": (
        SCALE + f"int main() {{ int n = 8192, least, block; {DATA}"
        " cudaOccupancyMaxPotentialBlockSize(&least, &block, k, 0, 0);"
        " k<<<(n + block - 1) / block, block>>>(to, from, n); }",
        {"problem_size": ["n"], "defaults": {"block_size_x": 256}},
    ),
    "a number of its template made of the bytes of a type that a dispatcher leaves open": (
        f"template <typename T, int V> __global__ void k(T *to, int n) {{ {ONE} if (i < n / V) to[i * V] = V; }}\n"
        'int main() { int n = 8192; AT_DISPATCH_FLOATING_TYPES(to.scalar_type(), "k", [&] {'
        " constexpr int V = 16 / sizeof(scalar_t);"
        " k<scalar_t, V><<<at::ceil_div(n / V, 128), 128>>>(to.data_ptr<scalar_t>(), n); }); }",
        {"name": "k<float,4>", "problem_size": ["n // 4"]},
    ),
    "members of the object whose function launches, made with a constructor's defaults": (
        BUFFER
        + SCALE
        + "class Scaler { public: Scaler(int rows, int each = 100) : all_(rows * each), to_(rows * each) {}\n"
        "  void run(Buffer<float> &from, cudaStream_t s = 0) { k<<<(all_ + 127) / 128, 128, 0, s>>>(to_.get(),"
        " from.get(), all_); }\n private: int all_; Buffer<float> to_; };\n"
        "int main() { const int rows = 700; std::vector<float> h(rows * 100); Buffer<float> other(h.size()),"
        " from(h.size()); Scaler scaler(rows); scaler.run(from); }",
        {"to": ["rows * 100"], "from": ["rows * 100"], "problem_size": ["rows * 100"], "n": "rows * 100"},
    ),
    "members of an object whose function is defined outside of its class": (
        SCALE + "struct Scaler { int n_; float *to_, *from_; explicit Scaler(int n); void run(); };\n"
        "Scaler::Scaler(int n) { n_ = n; cudaMalloc(&to_, n * sizeof(float));"
        " cudaMalloc(&from_, n_ * sizeof(float)); }\n"
        "void Scaler::run() { k<<<(n_ + 127) / 128, 128>>>(to_, from_, n_); }\n"
        "int main() { auto one = std::make_unique<Scaler>(70000); one->run(); }",
        {"sizes": {"n": 70000}, "to": ["n"], "from": ["n"], "problem_size": ["n"], "n": "n"},
    ),
    "memory behind a conversion in the words of C++": (
        "__global__ void k(float2 *to, const float2 *from, int n) {"
        f" {ONE} if (i < n) to[i] = from[i]; }}\n"
        f"int main() {{ const int n = 5000; float *to, *from; {DATA.replace('n *', '2 * n *')}"
        " k<<<(n + 127) / 128, 128>>>(reinterpret_cast<float2*>(to), reinterpret_cast<const float2*>(from), n); }",
        {"sizes": {"n": 5000}, "to": ["2 * n"], "from": ["2 * n"]},
    ),
    "a list to which so many elements are appended": (
        GATHER + "int main() { std::vector<int> some; some.push_back(3); some.emplace_back(5); int *at; float *to;"
        " cudaMalloc(&at, some.size() * sizeof(int)); cudaMalloc(&to, some.size() * sizeof(float));"
        " k<<<1, 32>>>(to, at, (int)some.size()); }",
        {"to": ["2"], "at": ["2"], "n": 2},
    ),
    "a list to which a loop appends": (
        GATHER
        + "int main() { std::vector<int> some; for (int i = 0; i < 9; i++) { some.push_back(i); } int *at; float *to;"
        " cudaMalloc(&at, some.size() * sizeof(int)); cudaMalloc(&to, some.size() * sizeof(float));"
        " k<<<1, 32>>>(to, at, (int)some.size()); }",
        {"to": ["n"], "at": ["n"], "n": "n"},
    ),
    "members of an object that a function of the host reads": (
        "__global__ void k(unsigned char *to, const unsigned char *from, int w, int h) {"
        f" {ONE} int j = blockIdx.y; if (i < w && j < h) to[j * w + i] = from[j * w + i]; }}\n"
        "struct Image { int width, height; };\n"
        'Image read(const char *path) { Image im; fscanf(open(path), "%d %d", &im.width, &im.height); return im; }\n'
        "int main(int c, char **v) { Image im = read(v[1]); size_t bytes = im.width * im.height;"
        " cudaMalloc(&to, bytes); cudaMalloc(&from, bytes); dim3 b(256), g((im.width + 255) / 256, im.height);"
        " k<<<g, b>>>(to, from, im.width, im.height); }",
        {"sizes": {"w": 1024, "h": 1024}, "to": ["w * h"], "from": ["w * h"]},
    ),
    "a structure that a function copies to the device, with a name of its own for a product": (
        "struct Sparse { int rows, most; float *value; };\n"
        f"__global__ void k(float *to, Sparse a) {{ {ONE} float sum = 0; if (i < a.rows) {{"
        " for (int j = 0; j < a.most; j++) sum += a.value[j * a.rows + i]; to[i] = sum; } }\n"
        "Sparse made(int n) { Sparse a; a.rows = n * n; a.most = 5; return a; }\n"
        "Sparse copied(const Sparse *h) { Sparse d = *h; size_t n = (size_t)h->rows * h->most;"
        " cudaMalloc(&d.value, n * sizeof(float)); return d; }\n"
        "int main() { int n = 512; Sparse h = made(n), d = copied(&h); cudaMalloc(&to, sizeof(float) * h.rows);"
        " k<<<(h.rows + 127) / 128, 128>>>(to, d); }",
        {"sizes": {"n": 512, "most": 5}, "to": ["n * n"], "a_value": ["n * n * most"]},
    ),
    "numbers that say where by a name for one of them": (
        f"__global__ void k(float *to, const float *from, const int *at, int n) {{ {ONE} if (i < n) {{"
        " int c = at[i]; if (c >= 0) to[i] = from[c]; } }\n"
        f"int main() {{ const int n = 5000; int *at; {DATA} cudaMalloc(&at, n * sizeof(int));"
        " k<<<(n + 127) / 128, 128>>>(to, from, at, n); }",
        {"sizes": {"n": 5000}, "at": ["n"], "fill at": ("integers", None, "n")},
    ),
    "template arguments that are templates themselves": (
        "namespace of { template <typename T> struct Square { __device__ T operator()(T x) const { return x * x; } };\n"
        "template <typename T, typename F> __global__ void k(T *to, const T *from, int n, F f) {"
        f" {ONE} if (i < n) to[i] = f(from[i]); }} }}\n"
        f"int main() {{ const int n = 5000; {DATA}"
        " of::k<float, of::Square<float>><<<(n + 127) / 128, 128>>>(to, from, n, of::Square<float>()); }",
        {"name": "k<float,of::Square<float>>", "sizes": {"n": 5000}, "to": ["n"], "dtype f": "struct"},
    ),
    "vectors": (
        SCALE + "int main() { std::vector<float> h(50000); thrust::device_vector<float> a = h, b(50000);"
        " k<<<391, 128>>>(thrust::raw_pointer_cast(b.data()), thrust::raw_pointer_cast(&a[0]), 50000); }",
        {"sizes": {"n": 50000}, "problem_size": ["n"], "to": ["n"], "from": ["n"]},
    ),
    "as many as vectors of the host have": (
        SCALE
        + "int main() { const int rows = 256, columns = 512; std::vector<float> x(rows * columns), w(columns), y(x);"
        " cudaMalloc(&from, w.size() * sizeof(float)); cudaMalloc(&to, y.size() * sizeof(float));"
        " int n = x.size(); k<<<(n + 127) / 128, 128>>>(to, from, n); }",
        {"sizes": {"rows": 256, "columns": 512}, "to": ["rows * columns"], "from": ["columns"], "n": "rows * columns"},
    ),
    "as many as a vector that a function is given has": (
        SCALE + "void run(const std::vector<float> &x) { cudaMalloc(&from, x.size() * sizeof(float));"
        " cudaMalloc(&to, sizeof(float) * x.size()); k<<<(x.size() + 63) / 64, 64>>>(to, from, (int)x.size()); }\n"
        "int main() { int n = 3000; std::vector<float> data(n, 1.0f); run(data); }",
        {"sizes": {"n": 3000}, "to": ["n"], "from": ["n"], "n": "n"},
    ),
    "rows with a pitch": (
        "__global__ void k(unsigned char *to, size_t pitch, int w, int h) {"
        f" {ONE} int j = blockIdx.y * 8 + threadIdx.y;"
        " unsigned char *row = (unsigned char *)((char *)to + j * pitch); if (i < w && j < h) row[i] = i; }\n"
        "int main() { size_t pitch; int w = 640, h = 480; cudaMallocPitch(&to, &pitch, w * sizeof(char), h);"
        " dim3 b(32, 8), g((w + 31) / 32, (h + 7) / 8); k<<<g, b>>>(to, pitch, w, h); }",
        {"sizes": {"w": 640, "h": 480}, "to": ["w * h"], "pitch": "w", "outputs": ["to"]},
    ),
    "numbers that a function draws": (
        GATHER
        + "int *drawn(int n, int most) { int *a = new int[n]; for (int i = 0; i < n; i++) a[i] = rand() % most; }\n"
        "int main() { int n = 4096, rows = 300; int *h = drawn(n, rows); cudaMalloc(&at, n * sizeof(int));"
        " cudaMemcpy(at, h, n * sizeof(int), cudaMemcpyHostToDevice); k<<<n / 64, 64>>>(to, at, n); }",
        {"fill at": ("integers", 0, "rows")},
    ),
    "numbers that a generator draws": (
        GATHER
        + "int main() { int n = 4096; std::vector<int> h(n); std::mt19937 rng(1); for (auto &one : h) one = rng() % 9;"
        " thrust::device_vector<int> d = h; k<<<n / 64, 64>>>(to, thrust::raw_pointer_cast(d.data()), n); }",
        {"fill at": ("integers", 0, "9")},
    ),
    "offsets": (
        f"__global__ void k(float *to, const int *rows, int n) {{ {ONE} if (i < n)"
        " for (int j = rows[i]; j < rows[i + 1]; j++) to[i] = j; }\n"
        "int main() { int n = 4096; cudaMalloc(&rows, (n + 1) * sizeof(int)); k<<<n / 64, 64>>>(to, rows, n); }",
        {"rows": ["n + 1"], "fill rows": ("arange", None, None)},
    ),
    "offsets of what is read between them": (
        "__global__ void k(float *to, const int *rows, const float *values, int n) {"
        f" {ONE} if (i < n) {{ float sum = 0; for (int j = rows[i]; j < rows[i + 1]; j++) sum += values[j];"
        " to[i] = sum; } }\n"
        "int main() { int n = 4096, nnz = 50000; cudaMalloc(&rows, (n + 1) * sizeof(int));"
        " cudaMalloc(&values, nnz * sizeof(float)); k<<<n / 64, 64>>>(to, rows, values, n); }",
        {"rows": ["n + 1"], "values": ["nnz"], "fill rows": ("offsets", None, "nnz")},
    ),
    "lists that grow": (GROWN.replace("HELD", GROWN_HELD), GROWN_DRAFTED),
    "lists that grow, and copies of them": (
        GROWN.replace(
            "int *b, *c; float *v, *x, *y; HELD",
            "thrust::device_vector<int> e = a.begins, f = a.columns;"
            " thrust::device_vector<float> g = a.values; float *x, *y;",
        ).replace(
            "b, c, v, x, y);", "{0}e.data()), {0}f.data()), {0}g.data()), x, y);".format("thrust::raw_pointer_cast(")
        ),
        GROWN_DRAFTED,
    ),
    "lists that grow, and a function that copies them": (
        UPLOAD
        + GROWN.replace(
            "int *b, *c; float *v, *x, *y; HELD",
            "int *b = upload(a.begins), *c = upload(a.columns); float *v = upload(a.values), *x, *y;",
        ),
        GROWN_DRAFTED,
    ),
    "lists that grow, and a block for each row": (
        "__global__ void k(const int *begins, const float *values, float *y) { int i = blockIdx.x; float s = 0;"
        " for (int j = begins[i] + threadIdx.x; j < begins[i + 1]; j += 64) s += values[j]; atomicAdd(&y[i], s); }\n"
        "int main() { const int rows = 20000; std::vector<int> h; std::vector<float> all; h.push_back(0);"
        " for (int i = 0; i < rows; i++) { for (int j = rand() % 9; j > 0; j--) all.push_back(1.f / j);"
        " h.push_back(all.size()); } int *b; float *v, *y; cudaMalloc(&b, h.size() * sizeof(int));"
        " cudaMalloc(&v, all.size() * sizeof(float)); cudaMalloc(&y, rows * sizeof(float));"
        " k<<<rows, 64>>>(b, v, y); }",
        {"begins": ["rows + 1"], "values": ["all_size"], "sizes": {"rows": 20000, "all_size": 160000}},
    ),
    "lists that grow, with a name for how many there are": (
        GROWN.replace(
            "HELD",
            "const size_t nnz = a.values.size(); cudaMalloc(&b, a.begins.size() * sizeof(int));"
            " cudaMalloc(&c, nnz * sizeof(int)); cudaMalloc(&v, nnz * sizeof(float));",
        ),
        {"begins": ["rows + 1"], "columns": ["nnz"], "values": ["nnz"], "sizes": {"rows": 20000, "nnz": 160000}},
    ),
    "a list that grows up to where the kernel goes": (
        SCALE + "int main() { int n = 5000, m = 3; std::vector<float> h; for (int i = 0; i < n; i++) h.push_back(i);"
        " cudaMalloc(&to, n * sizeof(float)); cudaMalloc(&from, h.size() * sizeof(float));"
        " k<<<(n + 255) / 256, 256>>>(to, from, n); }",
        {"sizes": {"n": 5000}, "from": ["n"], "to": ["n"]},
    ),
    "offsets with names for the two, where the host says nothing of them": (
        "__global__ void k(float *to, const int *rows, const float *values, const float *near, int n) {"
        f" {ONE} if (i < n) {{ const int first = rows[i], last = rows[i + 1]; to[i] = near[i] - near[i + 1];"
        " for (int j = first + threadIdx.x % 2; j < last; j += 2) to[i] += values[j]; } }\n",
        {"rows": ["n + 1"], "values": ["8 * n"], "near": ["n"], "fill rows": ("offsets", None, "8 * n")},
    ),
    "a count of blocks where threads are counted": (
        f"__global__ void k(float *to, int j) {{ {ONE} to[i ^ j] = i; }}\n"
        "#define BLOCKS 512\n#define THREADS 128\n"
        "int main() { cudaMalloc(&to, BLOCKS * THREADS * sizeof(float)); k<<<BLOCKS, THREADS>>>(to, 1); }",
        {"problem_size": ["BLOCKS * 128"], "grid_div_x": None, "to": ["BLOCKS * 128"]},
    ),
    "a count of blocks where blocks are counted": (
        f"__global__ void k(float *to, int n) {{ {ONE} for (; i < n; i += gridDim.x * blockDim.x) to[i] = i; }}\n"
        "int main() { int n = 1 << 20; cudaMalloc(&to, n * sizeof(float)); k<<<240, 128>>>(to, n); }",
        {"problem_size": ["240"], "grid_div_x": ["1"]},
    ),
    "one block more than rounds down": (
        SCALE + f"int main() {{ int n = 5000; {DATA} k<<<n / 128 + 1, 128>>>(to, from, n); }}",
        {"problem_size": ["n + 1"], "defaults": {"block_size_x": 128}},
    ),
    "a block that a limit of the device bounds": (
        SCALE + f"int main() {{ int n = 5000; cudaDeviceProp p; int t = std::min(p.maxThreadsPerBlock, 256); {DATA}"
        " k<<<(n + t - 1) / t, t>>>(to, from, n); }",
        {"problem_size": ["n"], "defaults": {"block_size_x": 256}},
    ),
    "a block that a condition chooses": (
        SCALE + f"int main() {{ int n = 5000, t = n < 512 ? n : 512; {DATA} k<<<(n + t - 1) / t, t>>>(to, from, n); }}",
        {"problem_size": ["n"], "defaults": {"block_size_x": 512}},
    ),
    "blocks in two dimensions of threads in one": (
        "__global__ void k(float *to) { to[blockIdx.y * blockDim.x + threadIdx.x] = 1; }\n"
        "int main() { k<<<dim3(1, 32), 64>>>(to); }",
        {"tunables": ["block_size_x"]},
    ),
    "members, roots and fractions": (
        "struct View { float left, right; };\n"
        "__global__ void k(float *to, float a, float b, float c, int n)"
        " { if (threadIdx.x < n) to[threadIdx.x] = a + b + c; }\n"
        "void show(const View &v, int n)"
        " { k<<<n / 64, 64>>>(to, v.left, (v.right - v.left) / n, 1.0f / sqrtf(16.f), n); }\n"
        "int main() { View view{-2.5, 1.5}; show(view, 4096); }",
        {"a": -2.5, "b": 4 / 4096, "c": 0.25},
    ),
    "types that the host's own template is called with": (
        "template <typename T, typename V> __global__ void k(V *to, T a, int n)"
        " { if (threadIdx.x < n) to[threadIdx.x].x = a; }\n"
        "template <typename T, typename V> void run(int n)"
        " { cudaMalloc(&to, n * sizeof(V)); k<T, V><<<n / 64, 64>>>(to, 2, n); }\n"
        "int main() { run<double, double4>(4096); }",
        {"name": "k<double,double4>", "to": ["4 * n"], "dtype to": "float64"},
    ),
    "alias templates": (
        "template <typename T> using in = const T *__restrict__;\n"
        "template <typename T> using out = T *__restrict__;\n"
        "template <typename T> __global__ void k(out<T> to, in<T> from, int n)"
        f" {{ {ONE} if (i < n) to[i] = from[i]; }}\n"
        f"int main() {{ int n = 4096; {DATA} k<float><<<n / 64, 64>>>(to, from, n); }}",
        {"outputs": ["to"], "dtype from": "float32"},
    ),
    "a structure of several types that is only written": (
        "struct Best { float value; int index; bool operator>(const Best &o) const { return value > o.value; } };\n"
        f"__global__ void k(Best *to, const float *from, int n) {{ {ONE} if (i < n) to[i] = Best{{from[i], i}}; }}\n"
        "int main() { int n = 4096; cudaMalloc(&to, n * sizeof(Best)); k<<<n / 64, 64>>>(to, from, n); }",
        {"to": ["2 * n"], "dtype to": "int32"},
    ),
    "elements that are changed through a reference": (
        "struct Body { float3 at, speed; float mass; };\n"
        f"__global__ void k(Body *all, int n) {{ {ONE}"
        " if (i < n) { Body &one = all[i]; one.at.x += one.speed.x; } }\n"
        "int main() { int n = 4096; cudaMalloc(&all, n * sizeof(Body)); k<<<n / 64, 64>>>(all, n); }",
        {"all": ["7 * n"], "outputs": ["all"], "fill all": ("normal", None, None)},
    ),
    "an output that may be left out": (
        f"__global__ void k(float *to, float *mean, int n) {{ {ONE}"
        " if (i < n) { to[i] = 1; if (mean != nullptr) mean[i] = 2; } }\n"
        "int main() { int n = 4096; k<<<n / 64, 64>>>(to, mean, n); }",
        {"outputs": ["to", "mean"], "fill mean": (None, None, None)},
    ),
    "memory that a function takes": (
        SCALE
        + "template <typename T> T *taken(int count) { T *p; cudaMalloc((void **)&p, sizeof(T) * count); return p; }\n"
        "int main() { int n = 4096; float *to = taken<float>(n * 3), *from; from = taken<float>(n);"
        " k<<<n / 64, 64>>>(to, from, n); }",
        {"to": ["n * 3"], "from": ["n"]},
    ),
    "what a function makes of sizes": (
        SCALE + "static int blocks_for(int count, int each) { return (count + each - 1) / each; }\n"
        f"int main() {{ int n = 70000; {DATA} k<<<blocks_for(n, 256), 256>>>(to, from, n); }}",
        {"problem_size": ["n"], "grid_div_x": None},
    ),
    "a size that is made anew of what comes from outside": (
        SCALE + "int main(int argc, char **argv) { int n = atoi(argv[1]); n = n * 1024 / sizeof(float);"
        f" {DATA} k<<<(n + 255) / 256, 256>>>(to, from, n); }}",
        {"sizes": {"n": 1 << 20}, "to": ["n"]},
    ),
    "a size that begins as 0 and is read in": (
        SCALE + f'int main() {{ int n = 0; fscanf(file, "%d", &n); {DATA} k<<<(n + 255) / 256, 256>>>(to, from, n); }}',
        {"sizes": {"n": 1 << 20}, "to": ["n"]},
    ),
    "several that are set at once": (
        f"__global__ void k(float *to, float by, int rows, int columns) {{ {ONE} to[i] = by * rows * columns; }}\n"
        "int main() { int rows, columns; float by, other; rows = columns = 96; by = other = 0.5f;"
        " cudaMalloc(&to, rows * columns * 4); k<<<rows * columns / 64, 64>>>(to, by, rows, columns); }",
        {"sizes": {"rows": 96, "columns": 96}, "by": 0.5, "to": ["rows * columns"]},
    ),
    "an axis that an option may set": (
        SCALE + 'int main() { dim3 shape(4096, 2); if (asked("x")) shape.x = option("x"); cudaMalloc(&to, shape.x * 4);'
        " k<<<shape.x / 64, 64>>>(to, from, shape.x); }",
        {"sizes": {"n": 4096}, "problem_size": ["n"], "to": ["n"], "n": "n"},
    ),
    "the bytes of structures in what is divided": (
        "typedef struct { half d; signed char q[32]; } block;\n"
        f"__global__ void k(float *to, const void *from, int n) {{ const block *b = (const block *)from; {ONE}"
        " if (i < n) to[i] = b[i / 32].q[i % 32]; }\n"
        "int main() { const int n = 8192, m = 64; cudaMalloc(&to, n * m * 4);"
        " cudaMalloc(&from, sizeof(block) * n / 32 * m); k<<<n * m / 256, 256>>>(to, from, n * m); }",
        {"sizes": {"n": 8192, "m": 64}, "from": ["n // 32 * m", 34], "n": "n * m"},
    ),
    "a step at which a kernel does more than at others": (
        f"__global__ void k(int *to, int n, bool more, bool less) {{ {ONE} if (more && !less && i < n) to[i] = i; }}\n"
        "int main() { int n = 4096; cudaMalloc(&to, n * 4); for (int s = 0; s < 900; s++) {"
        " bool save = (s + 1) % 100 == 0; k<<<n / 64, 64>>>(to, n, save, false); } }",
        {"sizes": {"n": 4096}, "more": 1.0, "less": 0.0},
    ),
    "an element of sums": (
        f"__global__ void k(float *to, int n, int least) {{ {ONE} if (i < n) to[i] = i - least; }}\n"
        "int main() { int n = 4096, all[9], sum = 0; for (int i = 0; i < 9; i++) { sum += i * i; all[i] = sum; }"
        " cudaMalloc(&to, n * 4); k<<<n / 64, 64>>>(to, n, all[0]); }",
        {"sizes": {"n": 4096}, "least": 1},
    ),
    "members that a constructor sets before its body": (
        f"__global__ void k({SCALED}, int m) {{ {ONE} if (i < n) to[i] = from[i % m]; }}\n"
        "struct Layer { int rows, cols; float *from; Layer(int r, int c) : rows(r), cols(c) {"
        " cudaMalloc(&from, size_t(r) * c * 4); }\n"
        "void run(float *to, int n) { k<<<n / 64, 64>>>(to, from, n, cols); } };\n"
        "int main() { const int a = 4096, b = 96; Layer one(a, b); float *to; cudaMalloc(&to, a * 4);"
        " one.run(to, a); }",
        {"sizes": {"n": 4096, "m": 96}, "from": ["n * m"], "to": ["n"]},
    ),
    "a function with a default that counts blocks, and a tensor of which nothing is known": (
        "int blocks(const int n, const int threads = 512) { int all = (n + threads - 1) / threads; int most = 4096;"
        " return std::min(all, most); }\n"
        f"__global__ void k({SCALED}, int classes) {{ {ONE} if (i < n) to[i] = from[i / classes] * (i % classes); }}\n"
        "torch::Tensor run(torch::Tensor x) { auto y = torch::zeros_like(x); int all = y.numel(), classes = x.size(1);"
        " k<<<blocks(all), 512>>>(y.data_ptr<float>(), x.data_ptr<float>(), all, classes); return y; }",
        {"sizes": {"n": 1 << 20, "classes": 64}, "problem_size": ["n"], "to": ["n"], "from": ["ceil_div(n, classes)"]},
    ),
    "elements that a kernel only asks for, and what it writes into an array of a structure": (
        "struct Four { unsigned h[4]; };\n"
        "__global__ void k(Four *to, const unsigned char *solid, int n)"
        f" {{ {ONE} if (i >= n || solid[i]) return; to[i].h[0] = 2; to[i].h[3] = i; }}\n"
        "int main() { int n = 4096; cudaMalloc(&to, n * sizeof(Four)); cudaMalloc(&solid, n);"
        " k<<<n / 64, 64>>>(to, solid, n); }",
        {"fill solid": ("integers", None, 2), "to": ["4 * n"], "outputs": ["to"]},
    ),
    "halfway through a loop that a function is called in": (
        f"__global__ void k(int turn, float *to, int n) {{ {ONE} to[i] = turn; }}\n"
        "void run(int turn, float *to, int n) { k<<<dim3(n / 64), 64>>>(turn, to, n); }\n"
        "int main() { int n = 64 * (count / 64); for (int turn = 0; turn < 3; turn++) run(turn, to, n); }",
        {"sizes": {"n": 1 << 20}, "turn": 1, "to": ["n"], "problem_size": ["n"]},
    ),
    "a number of the template that has nothing to do with the block": (
        f"template <int R> __global__ void k({SCALED}) {{ {ONE} if (i < n) to[i] = R * from[i]; }}\n"
        f"int main() {{ int n = 4096; {DATA} k<3><<<n / 64, 64>>>(to, from, n); }}",
        {"name": "k<3>", "tunables": ["block_size_x"], "defaults": {"block_size_x": 64}},
    ),
    "numbers of the template that the kernel does not read, and a block in braces": (
        f"template <int X, int Y> __global__ void k({SCALED}) {{ {ONE} if (i < n) to[i] = from[i]; }}\n"
        f"int main() {{ int n = 4096; {DATA} k<64, 1><<<n / 64, {{64, 1, 1}}>>>(to, from, n); }}",
        {"name": "k<64,1>", "tunables": ["block_size_x"], "defaults": {"block_size_x": 64}},
    ),
    "a scalar that memory is made of": (
        f"__global__ void k(float *to, int each) {{ {ONE} for (int j = 0; j < each; j++) to[i + j * 512] = j; }}\n"
        "int main() { const int all = 100000, each = (all + 511) / 512, count = each * 512;"
        " cudaMalloc(&to, count * sizeof(float)); k<<<4, 128>>>(to, each); }",
        {"to": ["each * 512"], "each": "each"},
    ),
    "bytes of a type that the host's template leaves open": (
        "template <typename T> __global__ void k(T *to, int n) { extern __shared__ char s[]; to[threadIdx.x] = n; }\n"
        "template <typename T> void run(int n) { cudaMalloc(&to, n * sizeof(T));"
        " k<T><<<n / 64, 64, 64 * sizeof(T)>>>(to, n); }\nint main() { run<double>(4096); }",
        {"name": "k<double>", "shared_memory": "512", "to": ["n"]},
    ),
    "the extent of a filter, and a small number and bounds by their names": (
        f"__global__ void k(float *to, const float *by, int maskWidth, int n, float eps, float minvalue, float vMax) {{"
        f" {ONE} to[i] = by[i % maskWidth]; }}\n"
        "void run(int n, int maskWidth, float eps) { cudaMalloc(&to, n * 4); cudaMalloc(&by, maskWidth * 4);"
        " k<<<n / 64, 64>>>(to, by, maskWidth, n, eps, *min_element(h, h + n), *max_element(h, h + n)); }",
        {"sizes": {"n": 1 << 20, "maskWidth": 9}, "by": ["maskWidth"], "eps": 1e-5, "minvalue": -2.0, "vMax": 2.0},
    ),
    "types that macros stand for, and constant memory of structures": (
        "#define REAL double\nstruct Tap { float at, by; };\n__constant__ __device__ Tap taps[8];\n"
        f"__global__ void k(REAL *y, int n) {{ {ONE} if (i < n) y[blockIdx.y * n + i] = taps[i % 8].by; }}\n"
        "int main() { int n = 4096; cudaMemcpyToSymbol(taps, h, 64); cudaMalloc(&y, n * sizeof(REAL));"
        " k<<<n / 64, 64>>>(y, n); }",
        {"dtype y": "float64", "y": ["n"], "fill y": (None, None, None), "taps": [16]},
    ),
    "a member of an element of an array, and a constant of the block that is passed": (
        f"__global__ void k(float *to, int n, int each, int pitch) {{ {ONE} if (i < n) to[i] = each + i * pitch; }}\n"
        "struct Part { float *to; int n; };\n"
        "void run(Part *parts, int pitch, dim3 shape = dim3(1)) { const int each = 128;"
        " k<<<(parts[0].n + each - 1) / each, each>>>(parts[0].to, parts[0].n, each, pitch); }\n"
        "int main() { Part parts[1]; parts[0].n = 5000; cudaMalloc((void **)&parts[0].to, 5000 * 4);"
        " run(parts, atoi(argv[1])); }",
        {"sizes": {"n": 5000, "pitch": 1024}, "each": 128, "problem_size": ["n"], "tunables": [], "to": ["5000"]},
    ),
    "what tensor cores store": (
        "__global__ void k(half *a, float *c, int n) { wmma::load_matrix_sync(x, a, n);"
        " wmma::store_matrix_sync(c + threadIdx.x / blockDim.x, y, n, wmma::mem_col_major); }\n"
        "int main() { dim3 block(64); dim3 grid; grid.x = (1024 + (16 * block.x / 32 - 1)) / (16 * block.x / 32);"
        " k<<<grid, block>>>(a, c, 1024); }",
        {"outputs": ["c"], "grid_div_x": ["16 * block_size_x // 32"]},
    ),
    "elements that are counted with numbers of the device code": (
        "#define BATCH 64\n#define ROWS 2048\n#define COLS 1024\n"
        "__global__ void k(float *y, const float *a) { int row = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (row < ROWS) for (int j = 0; j < COLS; j++) y[blockIdx.y * ROWS + row] += a[row * COLS + j]; }\n"
        "int main() { const size_t all = (size_t)BATCH * ROWS * COLS, ny = (size_t)BATCH * ROWS;"
        " cudaMalloc(&a, all * sizeof(float)); cudaMalloc(&y, ny * sizeof(float));"
        " k<<<dim3((ROWS + 255) / 256, BATCH), 256>>>(y, a); }",
        {
            "sizes": {"BATCH": 64},
            "problem_size": ["2048", "BATCH"],
            "a": ["BATCH * 2048 * 1024"],
            "y": ["BATCH * 2048"],
        },
    ),
    "a launch by a macro in an object's function, of a structure that the object copies": (
        "struct Grid { int nx, ny; };\n"
        "__global__ void k(Grid g, float *to) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " int j = blockIdx.y * blockDim.y + threadIdx.y; if (i < g.nx && j < g.ny) to[j * g.nx + i] = i; }\n"
        "#define LAUNCH(kernel, grid, block, ...) do { kernel<<<(grid), (block)>>>(__VA_ARGS__); } while (0)\n"
        "class Solver { public: explicit Solver(const Grid &g) : grid_(g) {}\n"
        " void step(float *to) { const dim3 block(32, 4);"
        " const dim3 grid((grid_.nx + block.x - 1) / block.x, (grid_.ny + block.y - 1) / block.y);"
        " LAUNCH(k, grid, block, grid_, to); }\n private: Grid grid_; };\n"
        "int main() { Grid g; g.nx = 640; g.ny = 480; Solver solver(g); float *to;"
        " cudaMalloc(&to, g.nx * g.ny * sizeof(float)); solver.step(to); }",
        {"sizes": {"nx": 640, "ny": 480}, "problem_size": ["nx", "ny"], "to": ["nx * ny"]},
    ),
    "two members that a constructor is given the same number for": (
        "__global__ void k(float *to, int w, int h) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < w * h) to[i] = i; }\n"
        "struct Field { int w_, h_; float *to_; Field(int w, int h) : w_(w), h_(h) {"
        " cudaMalloc(&to_, w_ * h_ * sizeof(float)); }\n"
        " void run() { k<<<(w_ * h_ + 127) / 128, 128>>>(to_, w_, h_); } };\n"
        "int main() { Field field(512, 512); field.run(); }",
        {"sizes": {"w": 512, "h": 512}, "problem_size": ["w * h"], "to": ["w * h"]},
    ),
    "numbers that a function hands back, in a choice that is made of another": (
        SCALE + "void choose(int n, int most, int &blocks, int &threads) {"
        " threads = n < most * 2 ? next_power(n) : most; blocks = (n + threads - 1) / threads; }\n"
        "int fallback(int argc, char **argv, const char *name, int otherwise) {"
        " for (int i = 1; i < argc; i++) if (!strcmp(argv[i], name)) return atoi(argv[i + 1]); return otherwise; }\n"
        'int main(int argc, char **argv) { int n = fallback(argc, argv, "n", 1 << 20); int blocks = 0, threads = 0;'
        f" choose(n, 256, blocks, threads); {DATA} k<<<blocks, threads>>>(to, from, n); }}",
        {"sizes": {"n": 2**20}, "problem_size": ["n"], "grid_div_x": None, "defaults": {"block_size_x": 256}},
    ),
    "numbers that a function hands back for one of two launches say nothing of the other": (
        SCALE + "void choose(int n, int &blocks) { blocks = (n + 255) / 256; }\n"
        f"int main() {{ int n = 5000, m = 70, one, other; {DATA} choose(m, other); choose(n, one);"
        " k<<<other, 256>>>(to, from, m); }",
        {"problem_size": ["other * 256"]},  # a size of its own, guessed
    ),
    "constants of the class that a template is given, by default": (
        "template <int M, int N> struct Tiles { static constexpr int ROWS = M, EACH = 4;"
        " enum { THREADS = N / EACH, MORE = 1 }; static constexpr int COLS = N; };\n"
        "using Usual = Tiles<32, 64>;\n"
        "template <class C> __global__ void k(float *to, int w, int h) {"
        " int i = blockIdx.x * C::COLS + threadIdx.x * 4, j = blockIdx.y * C::ROWS + threadIdx.y;"
        " if (i < w && j < h) to[j * w + i] = i; }\n"
        "template <class C = Usual> void run(float *to, int w, int h) { dim3 block(C::THREADS, C::ROWS);"
        " dim3 grid((w + C::COLS - 1) / C::COLS, (h + C::ROWS - 1) / C::ROWS); k<C><<<grid, block>>>(to, w, h); }\n"
        "int main() { int w = 640, h = 480; float *to; cudaMalloc(&to, w * h * sizeof(float)); run<>(to, w, h); }",
        {
            "name": "k<Tiles<32, 64>>",
            "problem_size": ["w", "h"],
            "grid_div_x": ["64"],
            "block_size": ["16", "32"],
            "sizes": {"w": 640, "h": 480},
        },
    ),
    "a block that the kernel's numbers are written for": (
        "__global__ void k(float *to, const float *from, int n) { __shared__ float s[64];"
        " s[threadIdx.x] = from[blockIdx.x * 64 + threadIdx.x]; __syncthreads();"
        " to[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x]; }\n"
        f"int main() {{ int n = 4096; {DATA} k<<<n / 64, 64>>>(to, from, n); }}",
        {"tunables": [], "block_size": ["64"], "problem_size": ["n"], "grid_div_x": ["64"]},
    ),
    "a block that a function of the kernel's asks for": (
        "__device__ int own() { return blockIdx.x * blockDim.x + threadIdx.x; }\n"
        "__global__ void k(float *to, const float *from, int n) {"
        " if (own() < n && threadIdx.x >= 0) to[own()] = from[own()]; }\n"
        f"int main() {{ int n = 4096; {DATA} k<<<n / 64, 64>>>(to, from, n); }}",
        {"tunables": ["block_size_x"], "defaults": {"block_size_x": 64}},
    ),
    "a pointer to one of its template": (
        f"template <int W> __global__ void k(float *to, int n) {{ {ONE} if (i < n) to[i] = W; }}\n"
        "void run(float *to) { int n = 5000; auto kernel = &k<4>; kernel<<<(n + 63) / 64, 64>>>(to, n); }",
        {"name": "k<4>", "sizes": {"n": 5000}, "problem_size": ["n"], "defaults": {"block_size_x": 64}},
    ),
    "a pointer that a function chooses": (
        f"template <int W> __global__ void k(float *to, int n) {{ {ONE} if (i < n) to[i] = W; }}\n"
        "typedef void (*pointer)(float *, int);\n"
        "pointer chosen(int w) { if (w == 2) return k<2>; if (w == 8) return k<8>; return NULL; }\n"
        "void run(float *to) { int n = 5000; pointer kernel = chosen(n / 2500);"
        " kernel<<<(n + 63) / 64, 64>>>(to, n); }",
        {"name": "k<2>", "sizes": {"n": 5000}, "problem_size": ["n"], "defaults": {"block_size_x": 64}},
    ),
    "a pointer of the same name that is another kernel's elsewhere": (
        f"__global__ void k(float *to, int n) {{ {ONE} if (i < n) to[i] = n; }}\n"
        "template <typename T> void other(T *to) { auto kernel = &elsewhere; kernel<<<99, 512>>>(to, 99 * 512); }\n"
        "void run(float *to) { int n = 5000; auto kernel = &k; kernel<<<(n + 63) / 64, 64>>>(to, n); }",
        {"sizes": {"n": 5000}, "problem_size": ["n"], "defaults": {"block_size_x": 64}},
    ),
    "numbers that constant memory is filled with": (
        "__constant__ int by[4];\nstatic const int listed[2][2] = {{0, -1}, {3, 2}};\n"
        f"__global__ void k(float *to, int n) {{ {ONE} if (i < n) to[i] = by[i % 4]; }}\n"
        "int main() { int n = 5000; cudaMemcpyToSymbol(by, listed, sizeof listed); cudaMalloc(&to, n * 4);"
        " k<<<(n + 63) / 64, 64>>>(to, n); }",
        {"fill by": ("integers", -1, 4), "by": [4]},
    ),
    "members of a structure that a constructor copies and works with": (
        "struct Sizes { int w, h; };\n"
        f"__global__ void k(float *to, Sizes s) {{ {ONE} if (i < s.w * s.h) to[i] = 1; }}\n"
        "struct Field { Sizes sizes; float *to; Field(const Sizes &s) : sizes(s) {"
        " const size_t cells = size_t(sizes.w) * sizes.h; cudaMalloc(&to, cells * sizeof(float)); }\n"
        " void run() { k<<<(sizes.w * sizes.h + 63) / 64, 64>>>(to, sizes); } };\n"
        "int main() { Sizes s; s.w = 640; s.h = 480; Field field(s); field.run(); }",
        {"sizes": {"w": 640, "h": 480}, "to": ["w * h"], "problem_size": ["w * h"]},
    ),
    "halfway through a loop around another that has no braces either": (
        f"__global__ void k(int turn, float *to, int n) {{ {ONE} if (i < n) to[i] = turn; }}\n"
        "void run(int turn, float *to, int n) { k<<<n / 64, 64>>>(turn, to, n); }\n"
        "int main() { int n = 4096; for (int turn = 0; turn < 40; turn++)"
        " for (int l = 0; l < 3; l++) run(turn, to, n); }",
        {"turn": 20},
    ),
    "arrays of one of two sizes, of which the kernel is given the other": (
        "__global__ void k(float *to, const float *from, const float *bias, int each) {"
        " from += blockIdx.x * each; to += blockIdx.x * each;"
        " for (int i = threadIdx.x; i < each; i += blockDim.x) to[i] = from[i] + bias[i]; }\n"
        "void run(torch::Tensor x, torch::Tensor y) { int each = x.size(-1), rows = x.numel() / each;"
        " k<<<rows, 256>>>(y.data_ptr<float>(), x.data_ptr<float>(), b.data_ptr<float>(), each); }",
        {"bias": ["each"], "from": ["x_numel"], "to": ["x_numel"]},
    ),
    "a block of a namespace, and threads that macros tell apart and launch": (
        "namespace own { constexpr int X = 32, Y = 8; }\n"
        "#define EACH(i, j, w, h) int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + \\\n"
        " threadIdx.y; if (i < (w) && j < (h))\n"
        "#define RUN(k, w, h, ...) k<<<dim3((w + own::X - 1) / own::X, (h + own::Y - 1) / own::Y), \\\n"
        " dim3(own::X, own::Y)>>>(__VA_ARGS__)\n"
        "struct Options { int w = 640, h = 480; };\n"
        "Options parse(int argc, char **argv) { Options o; if (argc > 1) o.w = atoi(argv[1]); return o; }\n"
        "__global__ void k(float *to, int w, int h) { EACH(x, y, w, h) to[y * w + x] = x; }\n"
        "int main(int argc, char **argv) { const Options o = parse(argc, argv);"
        " cudaMalloc(&to, sizeof(float) * o.w * o.h); RUN(k, o.w, o.h, to, o.w, o.h); }",
        {"sizes": {"w": 640, "h": 480}, "tunables": ["block_size_x", "block_size_y"], "to": ["w * h"]},
    ),
    "a grid and a block that a function hands back": (
        SCALE + "static void choose(size_t n, dim3 *grid, dim3 *block) { *block = dim3(128, 1, 1);"
        " *grid = dim3((unsigned)((n + block->x - 1) / block->x), 1, 1); }\n"
        f"int main() {{ int n = 5000; {DATA} dim3 grid, block; choose(n, &grid, &block);"
        " k<<<grid, block>>>(to, from, n); }",
        {"sizes": {"n": 5000}, "problem_size": ["n"], "grid_div_x": None, "defaults": {"block_size_x": 128}},
    ),
    "defaults of a function template that is called without arguments": (
        "template <int BLOCK, int EACH> __global__ void k(float *to, int n) {"
        " int i = blockIdx.x * BLOCK * EACH + threadIdx.x;"
        " for (int j = 0; j < EACH; j++) if (i + j * BLOCK < n) to[i + j * BLOCK] = j; }\n"
        "template <int BLOCK = 128, int EACH = 4> void run(float *to, int n) { constexpr int all = BLOCK * EACH;"
        " k<BLOCK, EACH><<<(n + all - 1) / all, BLOCK>>>(to, n); }\n"
        "int main() { int n = 5000; cudaMalloc(&to, n * 4); run(to, n); }",
        {"name": "k<128,4>", "sizes": {"n": 5000}, "grid_div_x": ["512"], "block_size": ["128"]},
    ),
    "the type that an object's class is given": (
        "template <typename T> __global__ void k(T *to, int n) {"
        f" {ONE} if (i < n) to[i] = 1; }}\n"
        "template <typename Real> class Field { public: explicit Field(int n) : n_(n) {"
        " cudaMalloc(&to_, n * sizeof(Real)); }\n"
        " void run() { k<Real><<<(n_ + 63) / 64, 64>>>(to_, n_); }\n private: int n_; Real *to_; };\n"
        "int main() { Field<double> field(5000); field.run(); }",
        {"name": "k<double>", "sizes": {"n": 5000}, "dtype to": "float64", "to": ["n"]},
    ),
    "numbers of an enumeration": (
        "enum Way { C = 0, E, N, W = 7, S, ALL };\nenum class Kind { ONE = 2, TWO };\n"
        "__global__ void k(float *to, int n) {"
        f" {ONE} if (i < n) for (int q = 0; q < ALL; q++) to[q * n + i] = q; }}\n"
        "int main() { int n = 5000; cudaMalloc(&to, ALL * n * sizeof(float)); k<<<(n + 63) / 64, 64>>>(to, n); }",
        {"sizes": {"n": 5000}, "to": ["9 * n"]},
    ),
    "bytes of which neighbours are read are no offsets": (
        "__global__ void k(unsigned char *to, const unsigned char *from, int n) {"
        f" {ONE} if (i < n - 1) to[i] = from[i] / 2 + from[i + 1] / 2; }}\n"
        "int main() { int n = 5000; cudaMalloc(&to, n); cudaMalloc(&from, n); k<<<(n + 63) / 64, 64>>>(to, from, n); }",
        {"sizes": {"n": 5000}, "fill from": (None, None, None)},
    ),
    "a warp is as wide as it is": (
        "#define WARP_SIZE 32\n#define ROWS 4\n__global__ void k(float *to, const float *from, int n) {"
        " int i = blockIdx.x * ROWS + threadIdx.y; if (i < n && threadIdx.x % WARP_SIZE == 0) to[i] = from[i]; }\n"
        f"int main() {{ int n = 5000; {DATA} dim3 block(WARP_SIZE, ROWS);"
        " k<<<(n + ROWS - 1) / ROWS, block>>>(to, from, n); }",
        {"tunables": ["ROWS"], "block_size": ["32", "ROWS"]},
    ),
    "a vector that is made of the beginning of another": (
        f"__global__ void k(float *to, const float *from, int n, int m) {{ {ONE} if (i < n) to[i] = from[i % m]; }}\n"
        "int main() { int n = 5000, m = 48; thrust::host_vector<float> all(n); thrust::device_vector<float> to(n);"
        " thrust::device_vector<float> from(all.begin(), all.begin() + m);"
        " k<<<(n + 255) / 256, 256>>>(raw_pointer_cast(to.data()), raw_pointer_cast(from.data()), n, m); }",
        {"to": ["n"], "from": ["m"]},
    ),
    "an output with an element for each block is another with other blocks": (
        "#define THREADS 128\n__global__ void k(float *to, const float *from, int n) { __shared__ float s[THREADS];"
        " int i = blockIdx.x * THREADS + threadIdx.x; s[threadIdx.x] = i < n ? from[i] : 0; __syncthreads();"
        " if (threadIdx.x == 0) { float sum = 0; for (int j = 0; j < THREADS; j++) sum += s[j];"
        " to[blockIdx.x] = sum; } }\n"
        "int main() { int n = 5000, blocks = (n + THREADS - 1) / THREADS; float *to, *from;"
        " cudaMalloc(&to, blocks * sizeof(float)); cudaMalloc(&from, n * sizeof(float));"
        " k<<<blocks, THREADS>>>(to, from, n); }",
        {"tunables": [], "block_size": ["128"], "to": ["ceil_div(n, 128)"]},
    ),
    "and so where the block is a number, and nobody allocates the output here": (
        "__global__ void k(float *to, const float *from, int n) { extern __shared__ float s[];"
        " int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x; s[threadIdx.x] = i < n ? from[i] : 0; __syncthreads();"
        " if (threadIdx.x == 0) { float sum = 0; for (int j = 0; j < blockDim.x; j++) sum += s[j];"
        " to[blockIdx.x] = sum; } }\n"
        "void sums(float *to, const float *from, int n) { k<<<(n + 511) / 512, 256, 256 * 4>>>(to, from, n); }",
        {"tunables": [], "block_size": ["256"], "shared_memory": "1024"},
    ),
    "the bytes of an array are those of its elements": (
        "#define N 70000\nstruct Table { int next[40][26]; int hits[40]; };\n"
        f"__global__ void k(float *to, const float *from, const int *next, int n) {{ {ONE}"
        " if (i < n) to[i] = from[i] + next[i % 1040]; }\n"
        "int main() { static Table t; float h[N], other[500][140]; size_t bytes = sizeof h; float *to, *from;"
        " int *next;"
        " cudaMalloc(&to, bytes); cudaMalloc(&from, sizeof(other)); cudaMalloc(&next, sizeof(t.next));"
        " int n = sizeof(h) / sizeof(h[0]); k<<<(n + 255) / 256, 256>>>(to, from, next, n); }",
        {"sizes": {"N": 70000}, "to": ["N"], "from": ["70000"], "next": ["1040"]},
    ),
    "what the host adds to a number counts, as in the first turn of a loop": (
        f"__global__ void k(float *to, const float *from, int n, float phase, float mean) {{ {ONE}"
        " if (i < n) to[i] = from[i] * phase + mean; }\n"
        f"int main() {{ int n = 5000; {DATA} float phase = 0.0f, total = 1; total += 0.5f;"
        " total *= 3; float mean = total / 2;"
        " for (int t = 0; t < 9; t++) { phase += 0.25f; k<<<(n + 255) / 256, 256>>>(to, from, n, phase, mean); } }",
        {"phase": 0.25, "mean": 2.25},
    ),
    "and what it makes of a number in a way that is not read leaves a guess": (
        f"__global__ void k(float *to, const float *from, int n, float scale, int step) {{ {ONE}"
        " if (i < n) to[i] = from[i] / scale + i / step; }\n"
        f"int main() {{ int n = 5000, dims[4] = {{8, 4, 2, 2}}; {DATA} float most = 0.0f; int step = 0;"
        " for (int i = 0; i < n; i++) most = fmaxf(most, fabsf(from[i])); float scale = most / 7.0f;"
        " if (n > 1) step = std::stoi(optarg); k<<<(n + 255) / 256, 256>>>(to, from, n, scale, step); }",
        {"scale": 1.5, "step": 1},
    ),
    "an output with some elements for each block is another with other blocks": (
        "#define BINS 32\n__global__ void k(unsigned *to, const unsigned char *from, int n) {"
        f" {ONE} if (i < n) atomicAdd(&to[blockIdx.x * BINS + from[i] % BINS], 1u); }}\n"
        "int main() { int n = 5000, threads = 256, blocks = (n + threads - 1) / threads; unsigned *to;"
        " unsigned char *from; cudaMalloc(&to, blocks * BINS * sizeof(unsigned)); cudaMalloc(&from, n);"
        " k<<<blocks, threads>>>(to, from, n); }",
        {"tunables": [], "block_size": ["256"], "to": ["ceil_div(n, 256) * 32"]},
    ),
    "and one of whole blocks is the same": (
        f"__global__ void k(float *to, const float *from, int n) {{ {ONE} to[i] = i < n ? from[i] : 0; }}\n"
        "int main() { int n = 5000, threads = 256, blocks = (n + threads - 1) / threads; float *to, *from;"
        " cudaMalloc(&to, blocks * threads * 4); cudaMalloc(&from, n * 4); k<<<blocks, threads>>>(to, from, n); }",
        {"tunables": ["block_size_x"]},
    ),
    "an output with an element for each thread, behind those of the rows before, is the same with other blocks": (
        "__global__ void k(float *to, const float *from, int n, int m) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " for (int j = i; j < m; j += gridDim.x * blockDim.x) { int place = min(j, m);"
        " to[blockIdx.y * m + place] = from[blockIdx.y * m + j]; } }\n"
        "int main() { int n = 50, m = 300; float *to, *from; cudaMalloc(&to, n * m * 4); cudaMalloc(&from, n * m * 4);"
        " dim3 grid((m + 127) / 128, n); k<<<grid, 128>>>(to, from, n, m); }",
        {"tunables": ["block_size_x"], "to": ["n * m"], "from": ["n * m"]},
    ),
    "an output with an element for each block that has a row is the same with other blocks": (
        "__global__ void k(float *to, const float *from, int n, int m) { float sum = 0;"
        " for (int j = threadIdx.x; j < m; j += blockDim.x) sum += from[blockIdx.x * m + j];"
        " __shared__ float all; if (threadIdx.x == 0) all = 0; __syncthreads(); atomicAdd(&all, sum); __syncthreads();"
        " if (threadIdx.x == 0) to[blockIdx.x] = all; }\n"
        "int main() { int n = 500, m = 300; float *to, *from; cudaMalloc(&to, n * 4); cudaMalloc(&from, n * m * 4);"
        " k<<<n, 128>>>(to, from, n, m); }",
        {"tunables": ["block_size_x"], "to": ["n"], "from": ["n * m"]},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_hosts_code_says(tmp_path, case):
    source, expected = case
    problem, text = drafted(tmp_path, source)
    arguments = {one.name: one for one in problem.arguments}
    said = {
        "sizes": problem.sizes,
        "name": problem.kernel.name,
        "problem_size": problem.launch.problem_size,
        "emulated": problem.on_emulator().sizes,
        "tested": problem.on_emulator().tests[0].sizes if problem.on_emulator().tests else {},
        "grid_div_x": problem.launch.grid_div_x,
        "block_size": problem.launch.block_size,
        "shared_memory": problem.launch.shared_memory,
        "defaults": problem.defaults,
        "tunables": list(problem.tunables),
        "outputs": [name for name, one in arguments.items() if one.output],
        **{name: one.value if one.shape is None else one.shape for name, one in arguments.items()},
        **{f"fill {name}": (one.fill, one.low, one.high) for name, one in arguments.items()},
        **{f"dtype {name}": one.dtype for name, one in arguments.items()},
    }
    assert {key: said[key] for key in expected} == expected, text


@pytest.mark.parametrize(
    ("guard", "smaller"), [("if (i < a && j < b)", lambda size: size * 3 // 4), ("", lambda size: size // 2)]
)
def test_sizes_of_tests_may_be_apart_so_that_one_taken_for_another_shows(tmp_path, guard, smaller):
    source = (
        "__global__ void k(float *to, int a, int b) { int i = blockIdx.x * blockDim.x + threadIdx.x,"
        f" j = blockIdx.y * blockDim.y + threadIdx.y; {guard} to[j * a + i] = 1; }}\n"
        "int main() { int a = 1024, b = 1024; cudaMalloc(&to, a * b * 4); dim3 t(16, 16), g(a / 16, b / 16);"
        " k<<<g, t>>>(to, a, b); }"
    )
    alike, apart = (drafted(tmp_path, source, Amendments(tested=way))[0] for way in ("", "apart"))
    assert apart.sizes == alike.sizes == {"a": 1024, "b": 1024}
    for one, other in zip(alike.tests, apart.tests, strict=True):
        size = one.sizes["a"]
        assert one.sizes == {"a": size, "b": size}
        assert other.sizes["a"] == size
        assert abs(other.sizes["b"] - smaller(size)) < 16  # which its block divides


def test_sizes_of_the_emulators_tests_are_apart_however_small(tmp_path):
    source = (
        "__global__ void k(float *to, const float *x, const float *y, int a, int b, int c, int d) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;"
        " int z = blockIdx.z * blockDim.z + threadIdx.z;"
        " if (i >= a || j >= b || z >= d) return; float sum = 0; for (int l = 0; l < c; l++)"
        " sum += x[(z * b + j) * c + l] * y[(z * c + l) * a + i]; to[(z * b + j) * a + i] = sum; }\n"
        "int main() { int a = 96, b = 128, c = 64, d = 32; cudaMalloc(&to, a * b * d * 4);"
        " cudaMalloc(&x, b * c * d * 4); cudaMalloc(&y, c * a * d * 4); dim3 t(16, 16, 2);"
        " dim3 g(a / 16, b / 16, (d + 1) / 2); k<<<g, t>>>(to, x, y, a, b, c, d); }"
    )
    alike, apart = (drafted(tmp_path, source, Amendments(tested=way))[0].on_emulator() for way in ("", "apart"))
    assert alike.sizes == apart.sizes
    assert alike.tests[-1].sizes == {"a": 32, "b": 16, "c": 23, "d": 23}
    assert apart.tests[-1].sizes == {"a": 32, "b": 16, "c": 17, "d": 12}


def test_the_emulator_has_whole_blocks_and_fewer_rows_of_them(tmp_path):
    source = (
        "__global__ void k(float *to, const float *from, int rows, int depth, int n) { __shared__ float s[256];"
        " int i = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.z * depth + blockIdx.y;"
        " s[threadIdx.x] = i < n ? from[row * n + i] : 0; __syncthreads();"
        " if (i < n) to[row * n + i] = s[threadIdx.x / 2]; }\n"
        "int main() { int rows = 16, depth = 2048, n = 8192; cudaMalloc(&to, (size_t)rows * depth * n * 4);"
        " cudaMalloc(&from, (size_t)rows * depth * n * 4);"
        " k<<<dim3((n + 255) / 256, depth, rows), 256>>>(to, from, rows, depth, n); }"
    )
    sizes = drafted(tmp_path, source)[0].on_emulator().sizes
    assert sizes["n"] >= 2 * 256
    assert math.prod(sizes.values()) <= 2**14


def test_the_work_that_a_draft_proposes_is_what_its_threads_and_arrays_are(tmp_path):
    source = (
        "struct Cell { float at[2]; int of; };\n"
        "__global__ void k(double *to, const float *from, const Cell *cells, const float *const *more, int n, int m)"
        f" {{ {ONE} int j = blockIdx.y;"
        " if (i < n) to[j * n + i] += from[i] * cells[i].at[1] * cells[i].of * more[j][i]; }\n"
        "int main() { int n = 4096, m = 6; cudaMalloc(&to, n * m * 8); cudaMalloc(&from, n * 4); float *one[6], **more;"
        " cudaMalloc(&cells, n * sizeof(Cell)); cudaMalloc(&more, m * sizeof(float *));"
        " for (int i = 0; i < m; i++) cudaMalloc(&one[i], n * 4); cudaMemcpy(more, one, m * 8, cudaMemcpyHostToDevice);"
        " k<<<dim3(n / 64, m), 64>>>(to, from, cells, more, n, m); }"
    )
    _, text = drafted(tmp_path, source)
    (tmp_path / "kernel.toml").write_text(re.sub(r"(?m)^# (\[work\]|flops|bytes)", r"\1", text))
    work = load_problem(tmp_path / "kernel.cu").work
    assert work.flops == "2 * n * m"
    assert work.bytes == "16 * n * m + 16 * n + 4 * m * n"


def test_constant_memory_holds_no_negative_numbers_where_these_made_what_is_no_number(tmp_path):
    source = (
        "__constant__ float by[8];\n"
        f"__global__ void k(float *to, int n) {{ {ONE} if (i < n) to[i] = sqrtf(by[i % 8]); }}\n"
        "int main() { int n = 4096; cudaMemcpyToSymbol(by, h, 32); cudaMalloc(&to, n * 4); k<<<n / 64, 64>>>(to, n); }"
    )
    found = [drafted(tmp_path, source, Amendments(positive=positive))[0].arguments[-1] for positive in (False, True)]
    assert [(one.name, one.constant, one.fill) for one in found] == [("by", True, None), ("by", True, "uniform")]


def test_a_kernel_in_a_text_of_python_is_refused_with_what_to_do(tmp_path):
    file = tmp_path / "blur.py"
    (tmp_path / "other.py").write_text("import triton\n")
    file.write_text("import cupy\nblur = cupy.RawKernel(r'''\nextern \"C\" __global__\nvoid blur(float *to) {}\n''')\n")
    for refuses in (lambda: scaffold(file, None), lambda: check_kernel(file)):
        with pytest.raises(ProblemError, match=r"blur\(\) is CUDA in a text of Python") as caught:
            refuses()
        assert caught.value.line == 3
        written = f"tuner-tui init {file} writes it into blur.cu, and its problem file"
        assert caught.value.hint == f"{written}; then: tuner-tui {tmp_path / 'blur.cu'}"
    with pytest.raises(ProblemError, match=r"other\.py needs no problem file") as caught:
        scaffold(tmp_path / "other.py", None)
    assert caught.value.hint == f"kernels in Python are tuned by: tuner-tui {tmp_path / 'other.py'}"
    file.write_text(f"import triton\n# instead of __global__ void blur()\n{'@triton.jit'}\ndef blur(): pass\n")
    check_kernel(file)


@pytest.mark.parametrize(
    ("script", "line", "message", "hint"),
    [
        (
            'p = cl.Program(c, """\n__kernel void add(__global float *to) {}\n""")',
            2,
            "add() is OpenCL in a",
            "script.cl",
        ),
        (
            'p = """kernel __attribute__((reqd_work_group_size(64, 1, 1))) void add(global float *to) {}"""',
            1,
            "add() is OpenCL in a text of Python",
            "writes it into script.cl, and its problem file; then: tuner-tui ",
        ),
        (
            'def f():\n    """A kernel"""\nk = """__global__ void add(float *to) {}"""\ncupy.RawKernel(k, "add")',
            3,
            "add() is CUDA in a text of Python",
            "writes it into script.cu",
        ),
        (
            'from kernel_tuner import tune_kernel\nk = """__global__ void add(float *to) {}"""\ntune_kernel("add", k)',
            2,
            "add() is CUDA",
            "writes it into script.cu",
        ),
        (
            'import kernel_tuner\nk = """__global__ void add(%s *to) {}""" % "float"\ntune_kernel("add", k)',
            2,
            "add() is CUDA",
            "write that text into script.cu, and run: tuner-tui ",
        ),
        (
            "import cupy\nadd = cupy.ElementwiseKernel('float32 x', 'float32 y', 'y = x + 1', 'add')",
            2,
            "of this ElementwiseKernel a library writes the loop and the launch",
            "write it as a __global__ kernel, in script.cu or for RawKernel in this script",
        ),
        (
            "import cupy, os\nadd = cupy.RawKernel(open(os.path.dirname(__file__) + '/add.cu').read(), 'add')",
            2,
            "the kernel of this script is in add.cu",
            " --host ",
        ),
        ("@cuda.jit\ndef add(x):\n    x[0] = 1", 2, "add() is Numba", "write it as CUDA into script.cu"),
        (
            'import kernel_tuner\ntune_kernel("add", "add.cu", 8)',
            2,
            "the kernel of this script is in add.cu",
            " --host ",
        ),
    ],
)
def test_a_script_whose_kernel_is_elsewhere_is_refused_with_what_to_do(tmp_path, script, line, message, hint):
    (tmp_path / "add.cu").write_text("__global__ void add(float *to) {}")
    (tmp_path / "script.py").write_text(script + "\n")
    with pytest.raises(ProblemError) as caught:
        check_kernel(tmp_path / "script.py")
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("arguments", "reason", "instead"),
    [
        ("float *to, cudaTextureObject_t from", "which only a host can make", "read from an array instead"),
        ("float *to, curandState *from", "whose states only cuRAND makes", "inside the kernel, by curand_init()"),
    ],
)
def test_what_only_a_host_makes_is_refused_with_what_to_write(tmp_path, arguments, reason, instead):
    with pytest.raises(ProblemError, match=reason) as caught:
        drafted(tmp_path, f"__global__ void k({arguments}) {{ to[0] = 1; }}")
    assert instead in caught.value.hint
    assert caught.value.line == 1


@pytest.mark.parametrize("kind", ["texture<float, 2>", "static texture<float, cudaTextureType2D>"])
def test_a_texture_that_the_host_binds_is_refused_with_what_to_write(tmp_path, kind):
    source = f"{kind} image;\n__global__ void k(float *to) {{ to[threadIdx.x] = tex2D(image, threadIdx.x, 0); }}\n"
    with pytest.raises(ProblemError, match="reads the texture 'image', which only a host can make") as caught:
        drafted(tmp_path, source)
    assert "image[y * width + x] for tex2D()" in caught.value.hint
    assert caught.value.line == 1
    drafted(tmp_path, source.replace("tex2D(image, threadIdx.x, 0)", "1"))


@pytest.mark.parametrize(
    "text",
    [
        '"__kernel void twice(__global float *to)\\n"\n"{ to[get_global_id(0)] *= 2; }\\n"',
        'R"(__kernel void twice(__global float *to) { to[get_global_id(0)] *= 2; })"',
    ],
)
def test_a_text_of_opencl_in_a_host_is_refused_with_what_to_do(tmp_path, text):
    host = tmp_path / "main.cpp"
    host.write_text(
        f'int main() {{\nconst char *source = {text};\ncl_kernel k = clCreateKernel(program, "twice", &e); }}'
    )
    with pytest.raises(ProblemError, match=r"twice\(\) is OpenCL in a text of C or C\+\+") as caught:
        check_kernel(host)
    assert "into main.cl, and run: tuner-tui" in caught.value.hint
    assert caught.value.line == 2
    host.write_text("// __kernel void twice(\nvoid twice(float *to, int n) { for (int i = 0; i < n; i++) to[i] *= 2; }")
    check_kernel(host)


@pytest.mark.parametrize("barrier", ["all.sync();", "cg::sync(all);", "step(to, all);", "cg::this_grid().sync();"])
def test_a_barrier_of_the_whole_grid_is_refused_with_the_way_out(tmp_path, barrier):
    source = (
        "__device__ void step(float *to, cg::grid_group &g) { cg::sync(g); }\n"
        "__global__ void k(float *to) { cg::grid_group all = cg::this_grid(); to[all.thread_rank()] = 1;"
        f" {barrier} }}\n"
    )
    with pytest.raises(ProblemError, match="waits for the whole grid") as caught:
        drafted(tmp_path, source)
    assert caught.value.line == 2
    assert drafted(tmp_path, source.replace(barrier, ""))[0].arguments[0].output


def test_a_pointer_in_what_a_structure_is_derived_of_is_told_though_the_kernel_calls_it(tmp_path):
    source = (
        "template <typename T> struct Step { T *data; size_t step; };\n"
        "template <typename T> struct Sized : public Step<T>, Other { int rows; T &operator()(int y, int x); };\n"
        "template <typename T> __global__ void k(const Sized<T> from, float *to) { to[0] = from(0, 1); }\n"
    )
    with pytest.raises(ProblemError, match="holds the device pointer 'data'"):
        drafted(tmp_path, source)


IMAGE = "struct Image { int width, height; float gain; int at(int x, int y) const { return y * width + x; } };\n"
BRIGHTER = (
    f"__global__ void k(float *to, const float *from, const Image p) {{ {ONE} int j = blockIdx.y * blockDim.y;"
    " if (i < p.width && j < p.height) to[p.at(i, j)] = p.gain * from[p.at(i, j)]; }\n"
)
LAUNCHED = (
    " cudaMalloc(&to, sizeof(float) * p.width * p.height); cudaMalloc(&from, p.width * p.height * sizeof(float));"
    " dim3 b(32, 8), g((p.width + 31) / 32, (p.height + 7) / 8); k<<<g, b>>>(to, from, p); }"
)
SET = "p.width = 640; p.height = 480; p.gain = 0.5f;"


@pytest.mark.parametrize(
    "host",
    ["b.low = make_float3(0, 1, 2);", "b.low = {0, 1, 2};", "b.low.x = 0; b.low.y = 1; b.low.z = 2;"],
)
def test_a_vector_in_a_structure_has_the_hosts_values(tmp_path, host):
    box = "struct Box { float3 low; int n; };\n"
    kernel = f"__global__ void k(float *to, Box b, int n) {{ {ONE} if (i < n) to[i] = b.low.y; }}\n"
    problem, text = drafted(tmp_path, box + kernel + f"int main() {{ Box b; {host} k<<<n / 64, 64>>>(to, b, n); }}")
    assert problem.arguments[1].members[0].value == [0, 1, 2], text


@pytest.mark.parametrize(
    "host",
    [
        f"int main() {{ Image p; {SET}{LAUNCHED}",
        f"int main() {{ Image p{{640, 480, 0.5f}};{LAUNCHED}",
        f"void run(Image p) {{{LAUNCHED}\nint main() {{ Image q; {SET.replace('p.', 'q.')} run(q); }}",
        f"void run(const Image *p) {{{LAUNCHED.replace('p.', 'p->').replace(', p)', ', *p)')}\n"
        f"int main() {{ Image p; {SET} run(&p); }}",
    ],
    ids=["by assignments", "by braces", "through a function", "through a pointer"],
)
@pytest.mark.parametrize("where", ["kernel.cu", "image.h"])
def test_a_structure_that_is_passed_by_value_has_the_hosts_values(tmp_path, host, where):
    (tmp_path / "image.h").write_text(IMAGE)
    declared = IMAGE if where == "kernel.cu" else '#include "image.h"\n'
    problem, text = drafted(tmp_path, declared + BRIGHTER + host)
    (given,) = [one for one in problem.arguments if one.members]
    assert [(one.name, one.dtype, one.value) for one in given.members] == [
        ("width", "int32", "width"),
        ("height", "int32", "height"),
        ("gain", "float32", 0.5),
    ]
    assert problem.sizes == {"width": 640, "height": 480}, text
    assert problem.launch.problem_size == ["width", "height"]


def test_a_class_template_by_value_has_the_members_of_its_arguments(tmp_path):
    source = (
        "template <typename T, int N> struct Box { T size; T at[2]; };\n"
        "__global__ void k(double *to, Box<double, 2> p) { to[threadIdx.x] = p.at[0]; }\n"
        "int main() { Box<double, 2> p; p.size = 2; k<<<4, 64>>>(to, p); }"
    )
    problem, _ = drafted(tmp_path, source)
    assert [(one.dtype, one.value) for one in problem.arguments[1].members] == [
        ("float64", 2.0),
        ("float64", [1.5, 1.5]),
    ]


def test_an_object_that_the_kernel_calls_is_passed_with_its_members_or_none(tmp_path):
    source = (
        "struct Twice { __device__ float operator()(float v) const { return 2 * v; } };\n"
        "struct Plus { float by; __device__ float operator()(float v) const { return v + by; } };\n"
        f"template <typename F, typename G> __global__ void k({SCALED}, F f, G g) {{ {ONE}"
        " if (i < n) to[i] = f(g(from[i])); }\n"
        f"int main() {{ int n = 4096; Twice twice; Plus plus; plus.by = 3; {DATA}"
        " k<Twice, Plus><<<n / 64, 64>>>(to, from, n, twice, plus); }"
    )
    problem, text = drafted(tmp_path, source)
    f, g = problem.arguments[3:]
    assert (problem.kernel.name, f.members, layout(f.members).itemsize) == ("k<Twice,Plus>", [], 1), text
    assert [(one.name, one.value) for one in g.members] == [("by", 3.0)]


def test_arrays_and_vectors_within_a_structure_and_vectors_alone_are_passed_by_value(tmp_path):
    source = (
        "struct Two { char mark; float4 at; int n[3]; float3 by; };\n"
        "__global__ void k(float *to, Two p, float2 q) { to[threadIdx.x] = p.at.x + p.n[1] + q.y; }\n"
        "int main() { Two p; p.n[0] = 3; p.n[1] = 4; float2 q = make_float2(0.5f, 2); k<<<4, 64>>>(to, p, q); }"
    )
    problem, text = drafted(tmp_path, source)
    p, q = (layout(one.members) for one in problem.arguments if one.members)
    assert ({name: p.fields[name][1] for name in p.names}, p.itemsize) == ({"mark": 0, "at": 16, "n": 32, "by": 44}, 64)
    assert (q.itemsize, alignment_of(q), alignment_of(p)) == (8, 8, 16)
    assert problem.arguments[1].members[2].value[:2] == [3, 4], text
    assert [one.value for one in problem.arguments[2].members] == [0.5, 2.0]


NESTED = """\
struct Point { double x; float w; };
struct View { Point at; float near_by; };
struct Scene { char mark; View view; int width; };
__global__ void k(float *to, Scene s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < s.width) to[i] = s.view.at.w + s.view.near_by;
}
"""


@pytest.mark.parametrize(
    "host",
    [
        "Scene s{'a', {{0.5, 2}, 3.0f}, 4096};",
        "Scene s; s.mark = 'a'; s.view = {{0.5, 2}, 3.0f}; s.width = 4096;",
        "Scene s; s.mark = 'a'; s.view.at = Point{0.5, 2}; s.view.near_by = 3; s.width = 4096;",
    ],
)
def test_a_structure_within_a_structure_is_passed_by_its_own_members_and_lies_as_c_has_it(tmp_path, host):
    main = f"int main() {{ {host} cudaMalloc(&to, s.width * sizeof(float)); k<<<(s.width + 63) / 64, 64>>>(to, s); }}"
    problem, text = drafted(tmp_path, NESTED + main)
    members = problem.arguments[1].members
    assert [(one.name, one.value) for one in members[1:]] == [
        ("view.at.x", 0.5),
        ("view.at.w", 2.0),
        ("view.near_by", 3.0),
        ("width", "width"),
    ], text
    lies = layout(members)
    assert ([lies.fields[name][1] for name in lies.names], lies.itemsize) == ([0, 8, 16, 24, 32], 40)


def test_a_structure_lies_in_memory_like_its_numbers_only_where_it_has_no_gaps():
    code = "struct A { float4 a; float b; }; struct B { float b; float4 a; }; struct C { float2 a[2]; float4 b; };"
    aliases = type_aliases(code)
    assert [dtype_of(name, "cuda", aliases) for name in "ABC"] == [(None, 1), (None, 1), ("float32", 8)]


def test_a_problem_file_may_call_a_structures_bytes_what_it_likes(tmp_path):
    problem, text = drafted(tmp_path, CASES["elements that are changed through a reference"][0])
    file = tmp_path / "kernel.toml"
    file.write_text(
        text.replace('"float32"', '"uint8"').replace('"7 * n"', '"28 * n"').replace('"normal"', '"integers"')
    )
    assert load_problem(file).arguments[0].dtype == "uint8"
    assert problem.arguments[0].dtype == "float32"


POLY = """\
#define NI 1024
#define NJ 512
#define TILE 16
__global__ void k(float *a, float *c)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < NI && j < NJ) for (int m = 0; m < TILE; m++) c[i * NJ + j] = a[i * NJ + j];
}
int main()
{
    const int n = NI * NJ;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&c, sizeof(float) * NI * NJ);
    dim3 block(32, 8), grid((size_t)ceil((float)NJ / block.x), (size_t)ceil((float)NI / block.y));
    k<<<grid, block>>>(a, c);
}
"""


def test_numbers_that_the_source_states_are_smaller_on_the_emulator_where_that_is_asked_for(tmp_path):
    problem, _ = drafted(tmp_path, POLY)
    assert (problem.sizes, problem.launch.problem_size) == ({}, ["512", "1024"])
    problem, _ = drafted(tmp_path, POLY, Amendments(stated_too=True))
    assert (problem.sizes, problem.launch.problem_size) == ({"NI": 1024, "NJ": 512}, ["NJ", "NI"])
    emulated = problem.on_emulator()
    assert problem.emulator.macros == emulated.sizes == {"NI": 128, "NJ": 128}
    assert emulated.kernel.compiler_options == ["-UNI", "-DNI=128", "-UNJ", "-DNJ=128"]
    assert all(test.sizes == problem.sizes for test in problem.tests)


def test_what_divides_another_size_where_the_emulator_tests_it_does_so_where_a_gpu_does(tmp_path):
    """A kernel of groups of channels leaves elements unwritten where the groups do not divide the channels."""
    problem, text = drafted(
        tmp_path,
        f"__global__ void k(float *to, int frames, int channels, int side, int groups) {{ {ONE}"
        " for (int c = 0; c < channels / groups; c++) if (i < side) to[i + c * groups * frames] = 0; }\n"
        "int main() { int frames = 16, channels = 256, side = 56, groups = 32;"
        " cudaMalloc(&to, (size_t)frames * channels * side * side * 4);"
        " k<<<frames * groups, 256>>>(to, frames, channels, side, groups); }",
    )
    larger, small = (test.sizes for test in problem.tests)
    assert (small, text) == (problem.on_emulator().tests[0].sizes, text)
    assert small == {"frames": 16, "channels": 23, "side": 41, "groups": 23}
    assert larger == {**small, "channels": 92}


def test_a_kernel_of_a_single_block_is_not_the_first_choice(tmp_path):
    kernel = tmp_path / "kernel.cu"
    loops = "for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++) a[i] = j;"
    kernel.write_text(
        f"__global__ void edge(float *a) {{ {loops} }}\n__global__ void inner(float *a) {{ a[threadIdx.x] = 1; }}\n"
        "int main() { edge<<<1, 16>>>(a); inner<<<64, 16>>>(a); }\n"
    )
    assert ranked_kernels(kernel) == ["inner", "edge"]


@pytest.mark.parametrize(
    ("name", "text", "message", "hint"),
    [
        ("k.cpp", f"// __global__\n{SCALE}", "k() is CUDA in a file of C or C++", "name it k.cu, and run: tuner-tui"),
        (
            "k.cpp",
            f"#include <hip/hip_runtime.h>\n{SCALE}",
            "k() is HIP, which no device here runs",
            "write it as CUDA",
        ),
        (
            "k.hip",
            f"// a kernel\n{SCALE} int main() {{ hipMalloc(&to, 4); }}",
            "k() is HIP",
            "write it as CUDA into k.cu",
        ),
    ],
)
def test_a_kernel_in_another_language_than_the_ending_says_is_refused_with_what_to_do(
    tmp_path, name, text, message, hint
):
    file = tmp_path / name
    file.write_text(text)
    for refuses in (lambda: scaffold(file, None), lambda: problem_of(file)):
        with pytest.raises(ProblemError) as caught:
            refuses()
        assert (caught.value.line, caught.value.message[: len(message)]) == (2, message)
        assert caught.value.hint.startswith(hint)


def test_an_ending_of_no_language_is_told_as_such_and_not_as_a_problem_file_that_is_missing(tmp_path):
    (tmp_path / "k.metal").write_text("kernel void k() {}\n")
    with pytest.raises(ProblemError, match=r"the ending of .*k\.metal says no language"):
        problem_of(tmp_path / "k.metal")


@pytest.mark.parametrize("order", [("float OF(a, n), int n", "a, rows"), ("int n, float OF(a, n)", "rows, a")])
def test_a_function_whose_parameters_a_macro_declares_is_given_what_its_caller_has(tmp_path, order):
    parameters, given = order
    problem, _ = drafted(
        tmp_path,
        "#define OF(a, n) a[n]\n"
        "__global__ void k(float *x, int n)"
        " { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = x[i] * 0.5f; }\n"
        f"void run({parameters})\n{{\n float *x; cudaMalloc(&x, n * sizeof(float));"
        " cudaMemcpy(x, a, n * sizeof(float), cudaMemcpyHostToDevice); k<<<(n + 255) / 256, 256>>>(x, n);\n}\n"
        f"int main() {{ int rows = 40000; float *a = read(); run({given}); }}\n",
    )
    assert [*problem.sizes.values()] == [40000]
    assert problem.arguments[1].value in problem.sizes
