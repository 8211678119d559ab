"""Headers of a project that drafts read: where they are found, and the host's functions in them."""

from __future__ import annotations

from tui_tuner.problem.draft.kernel.device_words import header_directories, reached_headers
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.host_code import device_code

KERNEL = """\
#include "launching.h"
__global__ void twice(const float *x, float *y, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) y[i] = 2 * x[i];
}
"""
HOST = """\
#include "launching.h"
void run(torch::Tensor x, torch::Tensor y) {
    int count = x.numel();
    twice<<<blocks_of(count), THREADS>>>(x.data_ptr<float>(), y.data_ptr<float>(), count);
}
"""
LAUNCHING = '#pragma once\n#include "numbers.h"\n__device__ inline int warp_of(int i) { return i / 32; }\n' + (
    "inline int blocks_of(const int n, const int threads = THREADS) {\n"
    "    int blocks = (n + threads - 1) / threads;\n    int most = 4096;\n    return min(blocks, most);\n}\n"
)


def project(directory, marked=True):
    for name in ("csrc/cuda", "csrc/common"):
        (directory / name).mkdir(parents=True)
    if marked:
        (directory / "setup.py").touch()
    (directory / "csrc" / "common" / "launching.h").write_text(LAUNCHING)
    (directory / "csrc" / "common" / "numbers.h").write_text("#define THREADS 512\n")
    (directory / "csrc" / "cuda" / "twice.cu").write_text(KERNEL + HOST)
    (directory / "csrc" / "cuda" / "twice_kernel.cuh").write_text(KERNEL)
    (directory / "csrc" / "cuda" / "run.cu").write_text(HOST)
    return directory / "csrc" / "cuda" / "twice.cu"


def test_a_header_beside_a_directory_above_is_found_as_far_as_the_project_goes(tmp_path):
    file, other = project(tmp_path / "a"), project(tmp_path / "b", marked=False)
    common = tmp_path / "a" / "csrc" / "common"
    assert header_directories(KERNEL, file) == [common]
    assert reached_headers(KERNEL, file) == [common / "launching.h", common / "numbers.h"]
    assert header_directories(KERNEL, other) == []


def test_a_header_of_the_project_in_angle_brackets_is_found_as_one_in_quotes(tmp_path):
    file = project(tmp_path / "a")
    include = tmp_path / "a" / "csrc" / "include"
    include.mkdir()
    for name in ("twice.cuh", "vector"):  # the standard library has one of this name
        (include / name).write_text('#include "launching.h"\n')
    kernel = KERNEL.replace('"launching.h"', "<twice.cuh>\n#include <vector>")
    assert header_directories(kernel, file) == [include, tmp_path / "a" / "csrc" / "common"]
    assert include / "vector" not in reached_headers(kernel, file)


def test_functions_of_the_host_in_headers_say_how_many_blocks_there_are(tmp_path):
    file = project(tmp_path)
    drafts = [
        scaffold(file, None),
        scaffold(file.with_name("twice_kernel.cuh"), None, host=file.with_name("run.cu")),
    ]
    for draft in drafts:
        assert "[launch]  # as the host launches it" in draft
        assert 'problem_size = ["count"]' in draft
        assert "block_size_x = 512" in draft


def test_half_precision_stays_where_the_header_that_includes_it_is_the_hosts(tmp_path):
    (tmp_path / "layers.h").write_text("#include <cuda_fp16.h>\n#include <cublas_v2.h>\nclass Layer;\n")
    kernel = "__global__ void k(__half *x) { x[0] = x[1]; }\nvoid run() { k<<<1, 1>>>(0); }\n"
    assert "#include <cuda_fp16.h>" in device_code('#include "layers.h"\n' + kernel, (tmp_path,), "k")
