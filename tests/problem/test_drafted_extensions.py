"""Kernels as extensions of PyTorch and engines of language models have them: types, templates and structures."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.problem.examples import drafted
from tui_tuner.app.drafting import confirmed
from tui_tuner.app.named import problem_of
from tui_tuner.problem.host_code import device_code
from tui_tuner.problem.load import Written
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings

SCALED = """\
#include <torch/extension.h>
#include <ATen/AccumulateType.h>
#include <c10/cuda/CUDAGuard.h>
template <typename scalar_t>
C10_LAUNCH_BOUNDS_1(256)
__global__ void row_sums(const scalar_t *x, at::acc_type<scalar_t, true> *sums, int rows, int width)
{
    using acc_t = at::acc_type<scalar_t, true>;
    CUDA_KERNEL_LOOP(row, rows) {
        acc_t sum = 0;
        for (int i = 0; i < width; i++) sum += static_cast<acc_t>(x[row * width + i]);
        sums[row] = sum;
    }
}
torch::Tensor sums_of(torch::Tensor x)
{
    const at::cuda::OptionalCUDAGuard guard(device_of(x));
    const int rows = x.size(0), width = x.size(1);
    auto sums = torch::empty({rows}, x.options().dtype(torch::kFloat));
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "row_sums", [&] {
        using acc_t = at::acc_type<scalar_t, true>;
        row_sums<scalar_t><<<(rows + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), sums.data_ptr<acc_t>(), rows, width);
    });
    return sums;
}
"""


def held(directory: Path, source: str) -> Written:
    """The draft of a source that its kernel was run with."""
    file = directory / "kernel.cu"
    file.write_text(source)
    return asyncio.run(confirmed(problem_of(file), SessionOptions(device="emulator"), Settings()))


@pytest.mark.slow
def test_a_kernel_that_takes_types_and_loops_from_pytorch_runs(tmp_path):
    written = held(tmp_path, SCALED)
    assert written.doubts[0].startswith("run on the emulator as given at rows = ")
    assert {one.name: one.shape for one in written.problem.arguments if one.shape}["sums"] == ["rows"]


SWITCHED = """\
#define WIDTH_SWITCH(W, ...) \\
  [&] { \\
    switch (W) { \\
      case 512: { constexpr int kWidth = 512; constexpr int kThreads = 128; return __VA_ARGS__(); } \\
      case 768: { constexpr int kWidth = 768; constexpr int kThreads = 192; return __VA_ARGS__(); } \\
    } \\
  }()
template <typename T, int kWidth, int kThreads> __global__ void twice(const T *x, T *y)
{
    for (int i = threadIdx.x; i < kWidth; i += kThreads) y[blockIdx.x * kWidth + i] = 2 * x[blockIdx.x * kWidth + i];
}
void run(torch::Tensor x, torch::Tensor y)
{
    const int width = x.size(-1), rows = x.numel() / width;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "twice", [&] {
        WIDTH_SWITCH(width, [&] {
            twice<scalar_t, kWidth, kThreads><<<rows, kThreads>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>());
        });
    });
}
"""


def test_a_macro_that_chooses_a_template_says_its_arguments_and_what_it_switches_on(tmp_path):
    problem, _ = drafted(tmp_path, SWITCHED)
    assert problem.kernel.name == "twice<float,512,128>"
    assert problem.launch.block_size == ["128"]
    assert problem.launch.grid_div_x == ["512"]
    assert "width" not in problem.sizes


INSTANCES = """\
namespace engine {
template <typename T, int kGroup> __global__ void k(const T *x, T *y, int n)
{
    static_assert(kGroup % 32 == 0, "whole groups");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
template <typename T, int kGroup> void launch_k(const T *x, T *y, int n, cudaStream_t stream)
{
    k<T, kGroup><<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
template <typename T> void launch_other(const T *x, int n);
#define INSTANTIATE(T) \\
  template void launch_k<T, 32>(const T *, T *, int, cudaStream_t); \\
  template void launch_k<T, 128>(const T *, T *, int, cudaStream_t);
INSTANTIATE(half)
INSTANTIATE(float)
#undef INSTANTIATE
template void launch_other<half>(const half *, int);
}
"""


def test_instances_that_macros_write_say_what_templates_are_given_and_are_not_built(tmp_path):
    problem, _ = drafted(tmp_path, "#include <cuda_fp16.h>\n" + INSTANCES)
    assert problem.kernel.name == "k<float,128>"
    left = device_code(INSTANCES, kernel="k")
    assert "launch_other" not in left
    assert "INSTANTIATE(half)" not in left


def test_classes_of_the_host_that_are_made_of_its_other_classes_are_left_out():
    code = device_code(
        "struct Delete { void operator()(void *p) const { cudaFree(p); } };\n"
        "template <typename T> using managed = std::unique_ptr<T[], Delete>;\n"
        "struct Graph { int n = 0; managed<int> rows; };\n"
        "struct Two { Graph one, other; };\n"
        "struct Own { int n; __device__ int twice() const { return 2 * n; } };\n"
        "__global__ void k(int *x, Own own) { *x = own.twice(); }\n"
        "int main() { Graph g; k<<<1, 1>>>(g.rows.get(), {3}); }\n"
    )
    assert not any(name in code for name in ("Delete", "managed", "Graph", "Two"))
    assert "struct Own" in code


VIEWS = """\
template <typename T> struct View {
    T *base; size_t pitch; int w, h;
    __device__ T *row(int y) const { return reinterpret_cast<T *>(reinterpret_cast<char *>(base) + size_t(y) * pitch); }
};
__global__ void copy(View<unsigned char> from, View<float> to)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < from.w && y < from.h) to.row(y)[x] = from.row(y)[x];
}
"""


def members(problem, name):
    return {one.name: one.value for one in next(one for one in problem.arguments if one.name == name).members}


def test_rows_of_a_pitched_view_lie_as_far_apart_as_they_are_long_in_bytes(tmp_path):
    problem, _ = drafted(tmp_path, VIEWS)
    assert members(problem, "from")["pitch"] == "1 * pitch"
    assert members(problem, "to")["pitch"] == "4 * pitch"
    in_elements = VIEWS.replace(
        "reinterpret_cast<T *>(reinterpret_cast<char *>(base) + size_t(y) * pitch)", "base + y * pitch"
    )
    assert members(drafted(tmp_path, in_elements)[0], "to")["pitch"] == "pitch"
    launched = VIEWS + (
        "int main() { View<unsigned char> a; View<float> b; a.w = b.w = 640; a.h = b.h = 480;"
        " cudaMallocPitch(&b.base, &b.pitch, 640 * 4, 480); copy<<<dim3(20, 60), dim3(32, 8)>>>(a, b); }\n"
    )
    assert members(drafted(tmp_path, launched)[0], "to")["pitch"] in ("4 * w", 2560)


def test_members_have_the_numbers_that_their_structure_declares(tmp_path):
    source = (
        "struct Params { float step = 0.02f, gain; int mode{3}; float far = 1e3f; int kind = KIND; };\n"
        "__global__ void k(const float *x, float *y, Params p, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < n) y[i] = x[i] * p.step + p.gain * (p.mode == 3) + p.far + p.kind; }\n"
    )
    problem, text = drafted(tmp_path, source)
    assert members(problem, "p") == {"step": 0.02, "gain": 1.5, "mode": 3, "far": 1000.0, "kind": 1}
    assert text.count("# as it is declared") == 3


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ("template <typename T> concept Number = sizeof(T) == 4;\n", ["-std=c++20"]),
        ("// a concept = a thought\n", []),
        ("consteval int four() { return 4; }\n", ["-std=c++20"]),
    ],
)
def test_cpp_that_is_newer_than_what_compilers_take_it_for_is_named(tmp_path, more, options):
    source = "__global__ void k(float *x, int n) { int i = threadIdx.x; if (i < n) x[i] = 1; }\n"
    problem, text = drafted(tmp_path, more + source)
    assert problem.kernel.compiler_options == options
    assert ("# which the kernel is written in" in text) == bool(options)


FIELDS = """\
struct Fields { float *ground, *water, *old; int n; };
__device__ int at(int x, int y, int n) { return min(max(y, 0), n - 1) * n + min(max(x, 0), n - 1); }
__global__ void flow(Fields f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = i % f.n, y = i / f.n;
    if (i >= f.n * f.n) return;
    f.ground[at(x, y, f.n)] = f.water[at(x + 1, y, f.n)] + f.old[at(x, y + 1, f.n)];
}
"""


@pytest.mark.slow
def test_arrays_behind_one_structure_grow_together(tmp_path):
    written = held(tmp_path, FIELDS)
    assert written.doubts[0].startswith("run on the emulator as given at n = ")
    assert {tuple(one.shape) for one in written.problem.arguments if one.shape} == {("n * n",)}
