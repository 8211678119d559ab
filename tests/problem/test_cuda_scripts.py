"""Scripts that launch kernels of CUDA through CuPy, PyCUDA or PyTorch: what their text says of a launch."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.inputs import shape_of
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Problem

SCALE = """\
extern "C" __global__ void scale(float *to, const float *from, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = by * from[i];
}
"""
CUPY = """\
import cupy as cp
scale = cp.RawKernel(open("scale.cu").read(), "scale")
n = 1 << 20
x = cp.random.rand(n, dtype=cp.float32)
y = cp.zeros_like(x)
threads = 128
scale((ROUNDED,), (threads,), (y, x, cp.float32(2), n))
"""
IMPORTED = """\
import numpy as np, pycuda.autoinit, pycuda.driver as drv, pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule
module = SourceModule(open("scale.cu").read(), options=["-DUNROLL=4", "-lineinfo"])
scale = module.get_function("scale")
n = np.int32(1 << 20)
x = np.random.randn(n).astype(np.float32)
blocks = int(np.ceil(n / 256))
"""
COPIED = """\
x_gpu = drv.mem_alloc(x.nbytes)
y_gpu = drv.mem_alloc(n * 4)
drv.memcpy_htod(x_gpu, x)
"""


def drafted(directory: Path, source: str, script: str, kernel: str | None = None) -> Problem:
    file, host = directory / "scale.cu", directory / "host.py"
    file.write_text(source)
    host.write_text(script)
    file.with_suffix(".toml").write_text(scaffold(file, kernel, host=host))
    return load_problem(file.with_suffix(".toml"))


@pytest.mark.parametrize(
    "blocks",
    [
        "(n + threads - 1) // threads",
        "math.ceil(n / threads)",
        "-(-n // threads)",
        "n // threads + (n % threads != 0)",
        "int(np.ceil(x.size / threads))",
        "divided(x.shape[0], threads)",
        "divided(len(x), threads)",
    ],
)
def test_a_launch_of_cupy_is_read_however_its_blocks_are_rounded_up(tmp_path, blocks):
    script = "def divided(a, b):\n    return a // b + 1 if a % b else a // b\n" + CUPY.replace("ROUNDED", blocks)
    problem = drafted(tmp_path, SCALE, script)
    assert (problem.sizes, problem.launch.problem_size) == ({"n": 1 << 20}, ["n"])
    assert [one.shape for one in problem.arguments] == [["n"], ["n"], None, None]
    assert problem.arguments[2].value == 2.0
    assert "in line 9" in (tmp_path / "scale.toml").read_text()
    assert 128 in problem.tunables["block_size_x"]


@pytest.mark.parametrize(
    "launch",
    [
        "y = np.empty_like(x)\nscale(drv.Out(y), drv.In(x), np.float32(2), n, block=(256, 1, 1), grid=(blocks, 1))",
        COPIED + "scale(y_gpu, x_gpu, np.float32(2), n, grid=(blocks, 1), block=(256, 1, 1))",
        COPIED + "scale.prepare('PPfi')\nscale.prepared_call((blocks, 1), (256, 1, 1), y_gpu, x_gpu, 2.0, n)",
        COPIED
        + "scale.prepare('PPfi', block=(256, 1, 1))\ngiven = [x_gpu, 2.0, n]\n"
        + "scale.prepared_call((blocks, 1), y_gpu, *given)",
        "x_gpu = gpuarray.to_gpu(x)\ny_gpu = gpuarray.zeros(n, np.float32)\n"
        "scale(y_gpu.gpudata, x_gpu, np.float32(2), n, block=(256, 1, 1), grid=(blocks, 1))",
    ],
)
def test_a_launch_of_pycuda_is_read_however_memory_is_passed(tmp_path, launch):
    problem = drafted(tmp_path, SCALE, IMPORTED + launch)
    assert (problem.sizes, problem.launch.problem_size[0]) == ({"n": 1 << 20}, "n")
    assert [one.shape for one in problem.arguments] == [["n"], ["n"], None, None]
    assert problem.arguments[2].value == 2.0
    assert problem.kernel.compiler_options == ["-DUNROLL=4"]


CALLED = """\
import argparse, cupy as cp
SOURCE = open("scale.cu").read()
class Scaled:
    def __init__(self, count):
        self.count = count
        self.kernel = cp.RawModule(code=SOURCE).get_function("scale")
        self.to = cp.empty(count, "float32")
    def run(self, array, by=BY):
        if self.count > 1 << 30:
            blocks = 7
        else:
            blocks = (self.count + THREADS - 1) // THREADS
        args = (self.to, array, cp.float32(by), self.count)
        self.kernel((blocks,), (THREADS,), args, shared_mem=THREADS * 4)
def made(count):
    array = cp.ones(count, dtype=cp.float32)
    return array
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=500_000)
    given = parser.parse_args()
    array = made(given.count)
    Scaled(given.count).run(array)
BY, THREADS = 3, 64
if __name__ == "__main__":
    main()
"""


def test_functions_are_read_where_they_are_called_with_what_they_are_given(tmp_path):
    problem = drafted(tmp_path, SCALE, CALLED)
    assert [*problem.sizes.values()] == [500_000]
    assert [one.shape for one in problem.arguments[:2]] == [problem.launch.problem_size] * 2
    assert (problem.arguments[2].value, problem.arguments[3].value) == (3.0, problem.launch.problem_size[0])
    assert problem.default_configuration["block_size_x"] == 64


MULTIPLIED = """\
__global__ void product(const float *a, const float *b, float *c, int M, int N, int K) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < K; k++) sum += a[y * K + k] * b[k * N + x];
    if (y < M && x < N) c[y * N + x] = sum;
}
"""


def test_extents_that_a_script_asks_of_arrays_from_outside_are_those_of_the_arrays(tmp_path):
    script = """\
product = cp.RawKernel(source, "product")
def multiplied(a, b, c):
    a_gpu = cp.asarray(a)
    rows, depth = a.shape
    depth, width = b.shape
    product(((width + 15) // 16, (rows + 15) // 16), (16, 16), (a_gpu, cp.asarray(b), c, rows, width, depth))
"""
    problem = drafted(tmp_path, MULTIPLIED, script)
    assert problem.launch.problem_size == ["N", "M"]
    assert [one.shape for one in problem.arguments[:2]] == [["M * K"], ["K * N"]]
    text = (tmp_path / "scale.toml").read_text()
    assert text.count("as the host allocates it") == 2


def test_a_grid_of_extents_that_the_kernel_has_nothing_to_do_with_is_a_guess(tmp_path):
    script = CUPY.replace("n = 1 << 20", "n = given()").replace("ROUNDED", "image.shape[1] // 16 + 1")
    problem = drafted(tmp_path, SCALE, script)
    assert (problem.launch.problem_size, [*problem.sizes]) == (["n"], ["n"])


SUMMED = """\
__global__ void summed(const float *from, float *to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(to, from[i]);
}
"""


def test_an_array_of_zeros_is_filled_with_0_where_threads_add_to_it(tmp_path):
    script = """\
to = cp.zeros(1, cp.float32)
x = cp.linspace(0, 1, 300000, dtype=cp.float32)
cp.RawKernel(source, "summed")((cdiv(x.size, 256),), (256,), (x, to, x.size))
"""
    drafted(tmp_path, SUMMED, script)
    assert (
        'fill = "zeros"  # the kernel seems to read it too: its content before each launch, as the host'
        in (tmp_path / "scale.toml").read_text()
    )


WRAPPED = """\
#include <torch/extension.h>
__global__ void halved(const float *x, float *y, int n, float by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * by;
}
torch::Tensor halved_of(torch::Tensor x, double by) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    halved<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, by);
    return y;
}
"""
MODULE = """\
import torch, torch.nn as nn
from torch.utils.cpp_extension import load_inline
halved = load_inline(name="halved", cpp_sources="", cuda_sources=source, functions=["halved_of"],
                     extra_cuda_cflags=["-O3", "--use_fast_math"])
class Model(nn.Module):
    def forward(self, x):
        return x * self.by
class ModelNew(nn.Module):
    def __init__(self, by):
        super().__init__()
        self.by = by
        self.module = halved
    def forward(self, x):
        x = x.cuda()
        return self.module.halved_of(x.contiguous(), self.by)
batch_size, shape = 32, (2000,)
def get_inputs():
    x = torch.randn(batch_size, *shape)
    return [x]
def get_init_inputs():
    return [0.25]
"""


def test_inputs_of_a_module_of_torch_say_the_extents_of_its_tensors(tmp_path):
    problem = drafted(tmp_path, WRAPPED, MODULE)
    assert problem.sizes == {"batch_size": 32}
    assert problem.launch.problem_size == [problem.arguments[0].shape[0]]
    assert problem.arguments[3].value == 0.25
    assert problem.kernel.compiler_options == ["--use_fast_math"]
    assert "in line 9" in (tmp_path / "scale.toml").read_text()


def test_a_tensor_that_another_layer_has_changed_is_not_taken_for_what_it_was(tmp_path):
    script = MODULE.replace("x = x.cuda()", "x = self.convolution(x)")
    problem = drafted(tmp_path, WRAPPED, script)
    assert (problem.launch.problem_size, [*problem.sizes]) == (["n"], ["n"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        "def f(n): return f(n) + f(n) + f(n)\nscale((f(3),), (f(3),), (x, y, f(2), f(1)))\n" + CUPY,
        "def f(n):\n    f(n)\n    f(n + 1)\n    f(n)\nf(0)\n" + CUPY,
        "class A:\n    def __init__(self): self.a = A()\n    def forward(self, x): return self.forward(x)\nA()\n"
        + CUPY,
        "x, y = y, x\nx, x = x\na, b = b, a\nfor x in y: scale(x)\nwith x as (y, z): pass\n" + CUPY,
        "scale()\nscale(*x)\nscale(block=1)\nscale((), (), ())\nmemcpy_htod(1, 2)\nprepare(x)\n" + CUPY,
        "a0 = '__global__'\n"
        + "".join(f"a{i + 1} = a{i} + a{i}\n" for i in range(60))
        + "RawKernel(a60, 'k')\n"
        + CUPY,
        "t = '%s' + f()\nRawModule(t % t)\nSourceModule(f'{t}{t!r}{t:>3}')\nRawKernel('{' .format(*x), **y)\n" + CUPY,
        "def get_inputs(): return get_inputs()\nclass M:\n    def forward(self, *x): return x\n" + CUPY,
    ],
)
def test_what_cannot_be_run_is_left_out(tmp_path, script):
    problem = drafted(tmp_path, SCALE, script.replace("ROUNDED", "n // threads"))
    assert problem.sizes == {"n": 1 << 20}


@pytest.mark.parametrize(
    "loop",
    ["for n in [1000, 70000, 5000]:", "counts = (1000, 70000)\nfor n in counts:", "for n, _ in [(70000, 1), (5, 5)]:"],
)
def test_a_loop_over_numbers_that_are_written_out_is_gone_through_with_the_largest(tmp_path, loop):
    head, _, body = CUPY.replace("ROUNDED", "(n + threads - 1) // threads").partition("n = 1 << 20\n")
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    problem = drafted(tmp_path, SCALE, f"{head}{loop}\n{indented}")
    assert (problem.sizes, problem.launch.problem_size) == ({"n": 70000}, ["n"])


def test_a_usual_number_stays_where_an_option_of_the_program_may_set_another(tmp_path):
    options = "for opt, arg in getopt.getopt(argv, 'n:')[0]:\n    if opt == '-n':\n        n = int(arg)\n"
    script = CUPY.replace("x = cp", f"{options}x = cp").replace("ROUNDED", "(n + threads - 1) // threads")
    problem = drafted(tmp_path, SCALE, script)
    assert problem.sizes == {"n": 1 << 20}
    assert [one.shape for one in problem.arguments[:2]] == [["n"], ["n"]]


def test_a_grid_of_numbers_is_one_of_threads_where_blocks_are_numbered_by_all_their_threads(tmp_path):
    place = "threadIdx.x + blockIdx.x * (blockDim.x * blockDim.y)"
    source = f"__global__ void twice(float *x) {{ int i = {place}; x[i] *= 2; }}\n"
    launch = "module.get_function('twice')(drv.InOut(x), block=(400, 1, 1), grid=(1000, 1))"
    problem = drafted(tmp_path, source, f"x = np.random.randn(400000).astype(np.float32)\n{launch}\n")
    assert (problem.launch.problem_size[0], problem.arguments[0].shape) == ("400000", ["400000"])
    assert 128 in problem.tunables["block_size_x"]


def test_a_fraction_of_whole_numbers_is_no_whole_number(tmp_path):
    script = CUPY.replace("ROUNDED", "(n + threads - 1) // threads").replace("cp.float32(2)", "cp.float32(1 / 8)")
    problem = drafted(tmp_path, SCALE, script)
    assert problem.arguments[2].value == 0.125
    halves = script.replace("n = 1 << 20", "n = int((1 << 21) / 2)").replace("1 / 8", "n / 4096")
    problem = drafted(tmp_path, SCALE, halves)
    assert problem.sizes == {"n": 1 << 20}


GATED = """\
__global__ void gated(const float *x, const float *by, float *to, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) to[i] = x[i] * by[i % cols];
}
torch::Tensor run(torch::Tensor x, torch::Tensor by) {
    auto to = torch::empty_like(x);
    int rows = x.size(0), cols = x.size(1);
    gated<<<(rows * cols + 127) / 128, 128>>>(
        x.data_ptr<float>(), by.data_ptr<float>(), to.data_ptr<float>(), rows, cols);
    return to;
}
"""
GATE = """\
from torch.utils.cpp_extension import load_inline
module = load_inline(name="gated", cpp_sources="", cuda_sources=source, functions=["run"])
class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.by = nn.Parameter(torch.ones(width))
    def forward(self, x):
        return module.run(x, self.by)
batch, width = 128, 4096
def get_inputs():
    return [torch.randn(batch, width)]
def get_init_inputs():
    return [width]
"""


def test_a_parameter_is_a_tensor_and_one_made_before_its_extents_are_asked_for_has_them(tmp_path):
    problem = drafted(tmp_path, GATED, GATE)
    assert problem.sizes == {"rows": 128, "cols": 4096}
    assert [one.shape for one in problem.arguments[:3]] == [["rows * cols"], ["cols"], ["rows * cols"]]


LAYERED = """\
from torch.utils.cpp_extension import load_inline
module = load_inline(name="run", cpp_sources="", cuda_sources=source, functions=["run"])
class ModelNew(nn.Module):
    def __init__(self, channels, outputs):
        super().__init__()
        self.layer = nn.LAYER
    def forward(self, x):
        return module.run(x, self.layer.weight, self.layer.bias)
def get_inputs():
    return [torch.randn(16, 5000)]
def get_init_inputs():
    return [24, 48]
"""
RUN = """\
__global__ void k(const float *x, const float *w, const float *b, float *to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = x[i] * w[i % 24] + b[i % 24];
}
torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    auto to = torch::empty_like(x);
    int n = x.numel();
    k<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), to.data_ptr<float>(), n);
    return to;
}
"""


@pytest.mark.parametrize(
    ("layer", "weight", "bias"),
    [
        ("Linear(channels, outputs)", 48 * 24, 48),
        ("Linear(out_features=outputs, in_features=channels, bias=True)", 48 * 24, 48),
        ("Conv2d(channels, outputs, 3, padding=1)", 48 * 24 * 9, 48),
        ("Conv2d(channels, outputs, kernel_size=(3, 5))", 48 * 24 * 15, 48),
        ("Conv1d(channels, outputs, 7)", 48 * 24 * 7, 48),
        ("LayerNorm(channels)", 24, 24),
        ("LayerNorm((outputs, channels))", 48 * 24, 48 * 24),
        ("BatchNorm2d(channels)", 24, 24),
        ("GroupNorm(8, channels)", 24, 24),
    ],
)
def test_weights_of_a_layer_are_as_large_as_it_is_made(tmp_path, layer, weight, bias):
    problem = drafted(tmp_path, RUN, LAYERED.replace("LAYER", layer))
    sizes = [math.prod(shape_of(one, problem.sizes)) for one in problem.arguments[1:3]]
    assert sizes == [weight, bias]
