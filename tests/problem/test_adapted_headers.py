"""Headers of a project that need PyTorch: what is built in their place."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tui_tuner.app.drafting import confirmed
from tui_tuner.app.named import problem_of
from tui_tuner.problem.adapted_headers import with_adapted_headers
from tui_tuner.problem.host_code import device_code
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings

EXTENSION = """\
#include "../tensors.h"
#include "near.cuh"
template <typename T> __global__ void shift(const T *x, T *y, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = nudged(x[i]);
}
torch::Tensor shifted(torch::Tensor x)
{
    CHECK_INPUT(x);
    auto y = torch::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "shift", [&] {
        shift<scalar_t><<<(x.numel() + THREADS - 1) / THREADS, THREADS>>>(
            x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
    });
    return y;
}
"""
NEAR = """\
#pragma once
#include <map>
#include "../tensors.h"
#include "deep/part.cuh"
#define THREADS 256
const std::map<std::string, int> ways = {{"up", 1}, {"down", 2}};
struct Spec { torch::Tensor values; void check() { CHECK_INPUT(values); } };
torch::Tensor shifted(torch::Tensor x);
template <typename T> __device__ T nudged(T v) { return v + part(2); }
"""
TENSORS = (
    "#pragma once\n#include <torch/extension.h>\nusing at::Half;\n#define CHECK_INPUT(x) TORCH_CHECK(x.is_cuda())\n"
)
PART = "#pragma once\n__host__ __device__ inline int part(int i) { return i; }\n"


def extension(directory: Path) -> Path:
    inner = directory / "csrc" / "cuda"
    (inner / "deep").mkdir(parents=True)
    for place, text in (("near.cuh", NEAR), ("deep/part.cuh", PART), ("../tensors.h", TENSORS), ("k.cu", EXTENSION)):
        (inner / place).write_text(text)
    return inner / "k.cu"


def test_headers_that_need_pytorch_are_built_without_what_is_the_hosts(tmp_path):
    file = extension(tmp_path)
    directories = (file.parent, tmp_path / "csrc")
    built = with_adapted_headers(device_code(EXTENSION, directories), directories)
    assert {*built.headers} == {"near.cuh", "tensors.h", "deep_part.cuh", "pytorch_device.h"}
    near = built.headers["near.cuh"]
    assert near.count("\n") == NEAR.count("\n")
    assert not any(word in near for word in ("torch", "ways", "Spec"))
    assert '#include "tensors.h"' in near
    assert '#include "deep_part.cuh"' in near
    assert "nudged" in near
    assert "#define THREADS" in near
    assert "torch/" not in built.headers["tensors.h"]
    assert "at::" not in built.headers["tensors.h"]
    assert '#include "near.cuh"' in built.source


def test_headers_that_need_nothing_of_a_host_stay_where_they_are(tmp_path):
    (tmp_path / "part.cuh").write_text(
        "#include <cmath>\n#include <cuda_fp16.h>\nstatic inline int one() { return 1; }"
    )
    source = '#include "part.cuh"\n'
    assert with_adapted_headers(source, (tmp_path,)) == (source, {})


def test_headers_beside_pytorchs_that_are_nowhere_stay_to_be_told(tmp_path):
    (tmp_path / "part.cuh").write_text('#include "vectors.h"\n#include <cublas_v2.h>\n#include <c10/util/Half.h>\n')
    headers = with_adapted_headers('#include "part.cuh"\n', (tmp_path,)).headers
    lines = [*map(str.strip, headers["part.cuh"].splitlines())]
    assert lines == ['#include "vectors.h"', "", '#include "pytorch_device.h"']
    assert "acc_type" in headers["pytorch_device.h"]


@pytest.mark.slow
def test_a_kernel_of_an_extension_whose_headers_need_pytorch_runs(tmp_path):
    written = asyncio.run(confirmed(problem_of(extension(tmp_path)), SessionOptions(device="emulator"), Settings()))
    shapes = {one.name: one.shape for one in written.problem.arguments if one.shape}
    assert shapes == {"x": ["n"], "y": ["n"]}
    assert written.doubts[0].startswith("run on the emulator as given at n = ")


def test_instances_of_templates_and_data_in_containers_are_the_hosts():
    code = device_code(
        "template void run<at::Half>(int n);\ntemplate void run<float>(int n, S *s);\nstd::vector<int> kept;\n"
        "__global__ void k(int *x) { *x = 1; }\n"
        "void run_it() { k<<<1, 1>>>(0); }\n"
    )
    assert "at::" not in code
    assert "kept" not in code
    assert "__global__" in code


TENSORS_DECLARED = """\
#pragma once
namespace at { class Tensor; }
namespace own {
void launch_it(const at::optional<at::Tensor> which, bool all = false);
__device__ inline int one() { return 1; }
}
"""
OF_OTHERS = "#pragma once\nnamespace vectors { inline int two() { return 2; } }\n"


def test_headers_that_name_tensors_are_built_without_and_those_of_other_projects_as_they_are(tmp_path):
    kept = tmp_path / "third_party" / "vectors"
    kept.mkdir(parents=True)
    (kept / "two.hpp").write_text(OF_OTHERS)
    (tmp_path / "own.h").write_text(f"#include <two.hpp>\n{TENSORS_DECLARED}")
    built = with_adapted_headers('#include "own.h"\n', (tmp_path, kept))
    assert {*built.headers} == {"own.h"}
    assert "optional" not in built.headers["own.h"]
    assert "int one()" in built.headers["own.h"]
    assert '#include "third_party/vectors/two.hpp"' in built.headers["own.h"]


def test_a_project_that_another_keeps_is_built_as_any(tmp_path):
    own = tmp_path / "third_party" / "own" / "csrc"
    (own / "deep").mkdir(parents=True)
    (own / "deep" / "deep.h").write_text('#include "../../beside.h"\n')
    (own.parent / "beside.h").write_text(TENSORS_DECLARED)
    headers = with_adapted_headers('#include "deep/deep.h"\n', (own,)).headers
    assert not any("optional" in text for text in headers.values())


def test_the_builds_own_macros_say_which_headers_need_hosts(tmp_path):
    (tmp_path / "own.h").write_text("#ifdef WITH_NCCL\n#include <nccl.h>\nncclComm_t made(int n);\n#endif\n")
    source = '#include "own.h"\n'
    assert with_adapted_headers(source, (tmp_path,)).headers == {}
    headers = with_adapted_headers(source, (tmp_path,), frozenset({"WITH_NCCL"})).headers
    assert "nccl" not in headers["own.h"].replace("WITH_NCCL", "")
