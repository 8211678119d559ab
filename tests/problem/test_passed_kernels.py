"""Kernels that a host passes to functions of its own, or lambdas, which launch them."""

import pytest

from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.load import load_problem

KERNELS = """
__global__ void once(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
__global__ void k(const float *x, float *y, int n)
{
    extern __shared__ float part[];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        part[threadIdx.x % 300] = x[i];
        y[i] = 2.0f * part[threadIdx.x % 300];
    }
}
"""
BUFFERS = "float *x, *y; cudaMalloc(&x, N * sizeof(float)); cudaMalloc(&y, N * sizeof(float));"
RUNS = "(once, x, y, 0, 64); run(k, x, y, 1200, 128); run(once, x, y, 4, 32);"
BY_FUNCTION = "{{ kernel<<<80, threads, bytes>>>(x, y, N); }}\nint main() {{ {buffers} run{runs} }}"
PARAMETERS = "const float *x, float *y, size_t bytes, int threads"
HOSTS = {
    "a function of a template": f"template <typename F> void run(F kernel, {PARAMETERS}) {BY_FUNCTION}",
    "by a pointer": f"void run(void (*kernel)(const float *, float *, int), {PARAMETERS}) {BY_FUNCTION}",
    "a lambda": "int main() {{ {buffers} auto run = [&](auto kernel, const float *a, float *b, int bytes, int threads)"
    " {{ kernel<<<80, threads, bytes>>>(a, b, N); }}; run{runs} }}",
}


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_a_kernel_that_is_passed_is_launched_as_what_it_is_passed_to_does(tmp_path, host):
    kernel = tmp_path / "kernel.cu"
    kernel.write_text(f"{KERNELS}const int N = 100000;\n{host.format(buffers=BUFFERS, runs=RUNS)}")
    kernel.with_suffix(".toml").write_text(scaffold(kernel, "k"))
    problem = load_problem(kernel)
    arguments = {one.name: one for one in problem.arguments}
    assert (problem.launch.problem_size, problem.launch.grid_div_x) == (["80"], ["1"])
    assert (problem.defaults, problem.launch.shared_memory) == ({"block_size_x": 128}, "1200")
    assert (arguments["x"].shape, arguments["n"].value, problem.sizes) == (["n"], "n", {"n": 100000})
