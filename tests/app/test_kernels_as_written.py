"""Kernels with their hosts' code, in the manners of public samples and benchmarks: each drafted and run."""

from __future__ import annotations

import asyncio

import pytest

from tui_tuner.app.assumptions import assumptions
from tui_tuner.app.drafting import confirmed
from tui_tuner.app.named import problem_of
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings

GROUPS = """\
#include <cooperative_groups.h>
#include <helper_cuda.h>
namespace cg = cooperative_groups;
template <class T> struct SharedMemory {
    __device__ inline operator T *() { extern __shared__ int all[]; return (T *)all; }
    __device__ inline operator const T *() const { extern __shared__ int all[]; return (T *)all; }
};
template <typename T, unsigned int size>
__global__ void sums(T *in, T *out, unsigned int n)
{
    cg::thread_block block = cg::this_thread_block();
    T *shared = SharedMemory<T>(), sum = 0;
    for (unsigned int i = blockIdx.x * size + threadIdx.x; i < n; i += size * gridDim.x) sum += in[i];
    shared[block.thread_rank()] = sum;
    cg::sync(block);
    for (unsigned int s = size / 2; s >= 32; s /= 2) {
        if (block.thread_rank() < s) shared[block.thread_rank()] = sum = sum + shared[block.thread_rank() + s];
        cg::sync(block);
    }
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    for (int lane = 16; lane > 0; lane /= 2) sum += tile.shfl_down(sum, lane);
    if (block.thread_rank() == 0) out[blockIdx.x] = sum;
}
template <class T> void launch(T *in, T *out, int n, int threads, int blocks)
{
    int bytes = threads <= 32 ? 2 * threads * sizeof(T) : threads * sizeof(T);
    switch (threads) {
    case 512: sums<T, 512><<<blocks, threads, bytes>>>(in, out, n); break;
    case 256: sums<T, 256><<<blocks, threads, bytes>>>(in, out, n); break;
    }
}
int main()
{
    int *in, *out, n = 1 << 22, blocks = 64;
    checkCudaErrors(cudaMalloc(&in, n * sizeof(int)));
    checkCudaErrors(cudaMalloc(&out, blocks * sizeof(int)));
    launch<int>(in, out, n, 256, blocks);
}
"""
POINTED_AT = """\
#define TILE 16
__global__ void copy(float *to, float *from, int width, int height)
{
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    to[y * width + x] = from[y * width + x];
}
int main()
{
    int width = 512, height = 256;
    void (*kernel)(float *, float *, int, int);
    kernel = &copy;
    dim3 grid(width / TILE, height / TILE), threads(TILE, TILE);
    kernel<<<grid, threads>>>(to, from, width, height);
}
"""
COUNTED = """\
template <typename Index, typename Value, unsigned rows_each, unsigned lanes>
__global__ void counts(const Index rows, const unsigned char *from, const Value *weights, Value *to)
{
    __shared__ Value all[256];
    all[threadIdx.x] = 0;
    __syncthreads();
    for (Index i = threadIdx.x; i < rows; i += rows_each * lanes) atomicAdd(&all[from[i]], weights[i]);
    __syncthreads();
    atomicAdd(&(to[threadIdx.x]), all[threadIdx.x]);
}
int main()
{
    const int threads = 256, lanes = 16, rows = 5000;
    cudaMalloc(&dfrom, rows);
    cudaMalloc(&dweights, rows * sizeof(double));
    cudaMalloc(&dto, 256 * sizeof(double));
    counts<int, double, threads / lanes, lanes><<<8, threads>>>(rows, dfrom, dweights, dto);
}
"""
PIXELS = """\
__global__ void brightest(unsigned char *from, unsigned char *to, unsigned height, unsigned width, unsigned channels)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned char pixel[4];
    for (unsigned c = 0; c < channels; c++) pixel[c] = from[channels * (width * y + x) + c];
    for (unsigned c = 0; c < channels; c++) to[channels * (width * y + x) + c] = pixel[c] > pixel[0] ? pixel[c] : 0;
}
int main(int argc, char **argv)
{
    cv::Mat image = cv::imread(argv[1]);
    unsigned height = image.rows, width = image.cols, channels = image.channels();
    cudaMalloc(&from, height * width * channels);
    dim3 threads(16, 16), blocks((width + 15) / 16, (height + 15) / 16);
    brightest<<<blocks, threads>>>(from, to, height, width, channels);
}
"""
CALLED = """\
#define LOG_THREADS 7
extern "C" __global__ void bias(float *data, const float *from, int rows, int columns)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * columns; i += gridDim.x * blockDim.x)
        data[i] = data[i] > from[i % columns] ? data[i] : from[i % columns];
}
extern "C" void launch_bias(float *data, const float *from, int rows, int columns, cudaStream_t stream)
{
    int threads = 1 << LOG_THREADS, blocks = min(65535, (rows * columns + threads - 1) >> LOG_THREADS);
    void *given[] = {&data, (void *)&from, &rows, &columns};
    cudaLaunchKernel((const void *)bias, dim3(blocks), dim3(threads), given, 0, stream);
}
"""
CLASSES = """\
template <typename T> struct Matrix {
    T *data() { return data_; }
    int rows() const { return rows_; }
    int rows_;
    T *data_;
};
template <typename T, int TILE>
__global__ void product(const T *a, const T *b, T *c, int m, int n, int k)
{
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    T sum{};
    for (int l = 0; l < k; ++l) if (row < m && column < n) sum += a[row * k + l] * b[l * n + column];
    if (row < m && column < n) c[row * n + column] = sum;
}
template <typename T> void multiply(Matrix<T> &a, Matrix<T> &b, Matrix<T> &c)
{
    constexpr int TILE = 16;
    const int m = a.rows(), n = c.rows(), k = b.rows();
    dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    product<T, TILE><<<grid, block>>>(a.data(), b.data(), c.data(), m, n, k);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "name", "sizes", "outputs", "defaults"),
    [
        (GROUPS, "sums<int,block_size_x>", {"n": 1 << 22, "blocks": 64}, ["out"], {"block_size_x": 256}),
        (POINTED_AT, "copy", {"width": 512, "height": 256}, ["to"], {"TILE": 16}),
        (COUNTED, "counts<int,double,16,16>", {"rows": 5000}, ["to"], {}),
        (CALLED, "bias", {"rows": 1024, "columns": 1024}, ["data"], {"block_size_x": 128}),
        (CLASSES, "product<float,block_size_x>", dict.fromkeys("mnk", 1024), ["c"], {"block_size_x": 16}),
        (PIXELS, "brightest", {"height": 1024, "width": 1024, "channels": 3}, ["to"], None),
    ],
    ids=["groups", "pointer", "types", "call", "classes", "pixels"],
)
def test_a_kernel_as_people_write_them_holds_as_it_is_drafted(tmp_path, source, name, sizes, outputs, defaults):
    file = tmp_path / "kernel.cu"
    file.write_text(source)
    written = asyncio.run(confirmed(problem_of(file), SessionOptions(device="emulator"), Settings()))
    problem = written.problem
    assert (problem.kernel.name, problem.sizes) == (name, sizes)
    assert [one.name for one in problem.arguments if one.output] == outputs
    assert defaults in (None, problem.defaults)
    assert "run on the emulator as given at" in "\n".join(assumptions(written))


@pytest.mark.slow
def test_rows_of_vectors_have_as_many_elements_as_a_run_shows_by_the_share_of_a_size_that_the_host_passes(tmp_path):
    kernel = tmp_path / "act.cu"
    kernel.write_text(
        "__global__ void act(float *y, const float *x, int stride, int rounds)\n{\n"
        "    const float *from = x;\n"
        "    for (int i = 0; i < rounds; i++)\n"
        "        if (i * blockDim.x + threadIdx.x < stride) {\n"
        "            int at = blockIdx.x * stride + i * blockDim.x + threadIdx.x;\n"
        "            y[at] = 2 * from[at];\n        }\n}\n"
        "void launch(float *y, const float *x, int width, int batch)\n{\n"
        "    int rounds = (width + 1023) / 1024, threads = (width - 1) / (rounds * 4) + 1;\n"
        "    act<<<batch, threads>>>(y, x, width / 4, rounds);\n}\n"
    )
    written = asyncio.run(confirmed(problem_of(kernel), SessionOptions(device="emulator"), Settings()))
    assert {one.name: one.shape for one in written.problem.arguments if one.shape} == {
        "y": ["batch * (width // 4)"],
        "x": ["batch * (width // 4)"],
    }
    assert "every output is written" in "\n".join(written.doubts)
