"""Headers of a project that drafts read: where they are found, and the host's functions in them."""

from __future__ import annotations

import asyncio

import pytest

from tui_tuner.app.drafting import confirmed
from tui_tuner.app.named import problem_of
from tui_tuner.problem.draft.kernel.device_words import header_directories, reached_headers
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.host_code import device_code
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings

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


LOADER = "#pragma once\n#include <fileloader/loader.hpp>\n#include <cuda_fp16.h>\nclass Loader { void load(); };\n"
KEPT = '#pragma once\n#include "loader.h"\nnamespace parts {\nclass Kept { Loader loader; };\n}\n'
HALVES = "#pragma once\n__device__ inline half twice_of(half x) { return __hadd(x, x); }\n"
OF_LOADER = """\
#include "kept.h"
#include "halves.cuh"
__global__ void twice(const half *x, half *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = twice_of(x[i]);
}
void run(parts::Kept kept, half *x, half *y, int n) { twice<<<(n + 255) / 256, 256>>>(x, y, n); }
"""


def test_a_header_that_needs_what_is_nowhere_through_another_is_left_out_where_nothing_of_it_is_named(tmp_path):
    for name, text in (("loader.h", LOADER), ("kept.h", KEPT), ("halves.cuh", HALVES)):
        (tmp_path / name).write_text(text)
    code = device_code(OF_LOADER, (tmp_path,), "twice")
    assert code.splitlines()[:2] == ["#include <cuda_fp16.h>", '#include "halves.cuh"']


@pytest.mark.parametrize(
    "named",
    [
        "template <int N> __device__ inline int twice_of(int x);\n",
        "namespace parts {\ntemplate <int N, Way way = Way::all>\n__device__ int twice_of(int x);\n}\n",
        "#define twice_of(x) (2 * (x))\n",
    ],
)
def test_a_header_that_names_what_the_kernel_does_stays_whatever_it_needs(tmp_path, named):
    (tmp_path / "kept.h").write_text(f'#pragma once\n#include "loader.h"\n{named}')
    (tmp_path / "loader.h").write_text(LOADER)
    assert '#include "kept.h"' in device_code(OF_LOADER, (tmp_path,), "twice")


@pytest.mark.parametrize(
    ("header", "said"),
    [("curand_kernel.h", "curandState own;"), ("cuda/std/limits", "cuda::std::numeric_limits<int>::max();")],
)
def test_headers_of_cuda_that_cost_much_stay_where_they_are_named(header, said):
    kernel = "__global__ void k(int *x) {{ {} x[0] = 1; }}\nvoid run(int *x) {{ k<<<1, 1>>>(x); }}\n"
    for text, is_there in ((said, True), ("", False)):
        code = device_code(f"#include <{header}>\n{kernel.format(text)}", (), "k")
        assert (f"#include <{header}>" in code) == is_there


def test_headers_are_found_in_projects_that_a_project_keeps(tmp_path):
    file = project(tmp_path)
    kept = tmp_path / "third_party" / "vectors"
    (kept / "vectors").mkdir(parents=True)
    (kept / "vectors" / "vec3.hpp").write_text("struct vec3 { float x, y, z; };\n")
    source = "#include <vectors/vec3.hpp>\n" + KERNEL
    file.write_text(source + HOST)
    assert header_directories(source, file) == [tmp_path / "csrc" / "common", kept]


def test_a_loop_by_a_macro_of_a_header_says_how_far_the_kernel_goes(tmp_path):
    (tmp_path / "loops.h").write_text(
        "#define EACH(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)\n"
    )
    for include, loop in (('#include "loops.h"\n', "EACH"), ("#include <ATen/ATen.h>\n", "CUDA_KERNEL_LOOP")):
        (tmp_path / "k.cu").write_text(
            f"{include}__global__ void k(const float *x, float *y, const float *by, int all, int width) {{\n"
            f"    {loop}(i, all) {{ y[i] = x[i] * by[i / width]; }}\n}}\n"
            "void run(at::Tensor x, at::Tensor y, at::Tensor by, int rows, int width) { int all = rows * width;\n"
            "    k<<<std::min((all + 255) / 256, 4096), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(),\n"
            "    by.data_ptr<float>(), all, width); }\n"
        )
        text = scaffold(tmp_path / "k.cu", None)
        assert 'name = "by"\ndtype = "float32"\nshape = ["rows"]' in text
        assert 'name = "y"\ndtype = "float32"\nshape = ["rows * width"]' in text


def test_an_enumerator_that_a_macro_of_a_header_chooses_first_is_what_a_template_is_given(tmp_path):
    (tmp_path / "ways.h").write_text(
        "enum Way { SUM, MOST };\n"
        "#define CHOOSE(way, ...) [&] { switch (ways.at(way)) {"
        " case SUM: { const Way WAY = SUM; return __VA_ARGS__(); }"
        " case MOST: { const Way WAY = MOST; return __VA_ARGS__(); } } }()\n"
    )
    (tmp_path / "k.cu").write_text(
        '#include "ways.h"\ntemplate <typename T, Way WAY> __global__ void k(const T *x, T *y, int n)\n'
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = WAY == SUM ? x[i] + 1 : x[i]; }\n"
        "void run(at::Tensor x, at::Tensor y, std::string way, int n) { CHOOSE(way, [&] {\n"
        "    k<scalar_t, WAY><<<(n + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n); }); }\n"
    )
    assert 'name = "k<float, SUM>"' in scaffold(tmp_path / "k.cu", None).replace("<float,SUM>", "<float, SUM>")


def test_what_cuda_brings_along_and_the_emulator_has_not_is_no_missing_header(tmp_path):
    (tmp_path / "sums.h").write_text(
        "#include <cub/block/block_reduce.cuh>\n__device__ inline int one() { return 1; }\n"
    )
    (tmp_path / "k.cu").write_text(
        '#include "sums.h"\n__global__ void k(int *y, int n)\n'
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = one(); }\n"
        "void run(int *y, int n) { k<<<(n + 255) / 256, 256>>>(y, n); }\n"
    )
    written = asyncio.run(confirmed(problem_of(tmp_path / "k.cu"), SessionOptions(device="emulator"), Settings()))
    (doubt,) = written.doubts
    assert doubt.startswith("not run before: the emulator cannot build it")
    assert "cub/block/block_reduce.cuh" in doubt
