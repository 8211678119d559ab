"""Building with the real NVRTC, where its packages are installed."""

from pathlib import Path

import pytest

from tests.waiting import is_loaded
from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.build.builder import Builder
from tui_tuner.evaluate.build.compilers import UNAVAILABLE, cuda, nvrtc_child
from tui_tuner.evaluate.build.compilers.cuda import Nvcc, Nvrtc
from tui_tuner.evaluate.results import FailureKind

SOURCE = """
namespace a {
template <class T, int N> __global__ void scale(T* x) {
    __shared__ T s[32]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[0] = s[N];
}
}
extern "C" __global__ void plain(float* x) { x[0] = 1; }
"""


@pytest.fixture(scope="session")
def compiler():
    try:
        return Nvrtc.find("sm_90")
    except DeviceError as error:
        pytest.skip(error.message)


@pytest.fixture
def builder(compiler, policy, tmp_path):
    return Builder(compiler, cache=tmp_path / "cache", policy=policy)


@pytest.mark.parametrize(
    ("name", "symbol", "shared"),
    [("a::scale<double, TILE>", "_ZN1a5scaleIdLi4EEEvPT_", 256), ("plain", "plain", 0)],
)
async def test_a_kernel_is_built_with_its_symbol_and_resources(builder, candidate, name, symbol, shared):
    build = await builder.build(candidate(SOURCE, name), {"TILE": 4})

    assert build.failure is None, build.failure
    assert build.symbol == symbol
    assert build.resources.shared_bytes == shared
    assert build.resources.registers > 0
    assert symbol.encode() in Path(build.artifact).read_bytes()


async def test_nvrtc_stays_loaded_from_one_build_to_the_next(builder, compiler, candidate):
    builds = [await builder.build(candidate(SOURCE, "plain"), {"TILE": n}) for n in (1, 2)]

    assert [build.failure for build in builds] == [None, None]
    assert is_loaded(compiler.recipe(candidate(SOURCE), {}, []).warm[0])


async def test_a_compile_error_names_the_line(builder, candidate):
    build = await builder.build(candidate("\n__global__ void k(float* x) { x[0] = y; }"), {})

    assert build.failure.message == 'kernel.cu:2: error: identifier "y" is undefined'


async def test_too_much_shared_memory_is_a_launch_failure(builder, candidate):
    source = "__global__ void k(float* x) { __shared__ float s[90000]; s[threadIdx.x] = x[0]; x[1] = s[int(x[2])]; }"

    build = await builder.build(candidate(source), {})

    assert build.failure.kind is FailureKind.LAUNCH


async def test_a_kernel_that_is_not_there_is_a_compile_error(builder, candidate):
    build = await builder.build(candidate(SOURCE, "nix"), {})

    assert build.failure.kind is FailureKind.COMPILE
    assert '"nix" is undefined' in build.failure.message


@pytest.mark.parametrize("include", ['#include "{file}"', '#define F "{file}"\n#include F', '%:include "{file}"'])
async def test_a_file_outside_is_not_read_though_the_scan_is_bypassed(
    builder, candidate, monkeypatch, tmp_path, include
):
    secret = tmp_path / "secret"
    secret.write_text("open_sesame_4711")
    monkeypatch.setattr("tui_tuner.evaluate.build.builder.refuse", lambda *_: None)

    build = await builder.build(candidate(include.format(file=secret) + "\n__global__ void k() {}"), {})

    assert build.failure.kind is FailureKind.COMPILE
    assert "open_sesame" not in build.model_dump_json()
    assert "could not open" in build.failure.message or "cannot open" in build.failure.message


STANDARD = """
#include <cstdint>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cuda_fp16.h>
extern "C" __global__ void k(float* x, uint8_t* y, int64_t n) {
    half h = __float2half(x[0]);
    x[0] = sqrtf(FLT_MAX) + (n > INT_MAX ? INFINITY : NAN) + __half2float(h) + y[n] + float(M_PI);
}
"""


@pytest.fixture
def both(nvcc, policy, tmp_path):
    if nvcc.sooner is None:
        pytest.skip("no cuda-python")
    return Builder(nvcc, cache=tmp_path / "cache", policy=policy)


async def test_with_nvcc_installed_nvrtc_builds_what_it_can(both, compiler, candidate):
    """Its release is that of nvcc, or nvcc builds this too."""
    build = await both.build(candidate(STANDARD), {})

    assert build.failure is None, build.failure
    assert build.symbol == "k"
    is_same = compiler.toolchain.split()[1] == both._compiler.sooner.release
    assert (both._attempts, both._beyond_attempts) == (is_same, set() if is_same else {STANDARD})


async def test_nvcc_builds_the_rest_and_says_what_is_wrong(both, candidate):
    build = await both.build(candidate("#include <vector>\n__global__ void k(float* x) { x[0] = 1; }"), {})
    wrong = await both.build(candidate("\n__global__ void k(float* x) { x[0] = y; }"), {})

    assert build.symbol == "_Z1kPf"
    assert build.resources.registers > 0
    assert wrong.failure.message == 'kernel.cu:2: error: identifier "y" is undefined'


async def test_what_only_nvrtc_takes_does_not_build_where_it_is_watched(both, candidate):
    """nvcc includes the host's stdlib.h, which has a type of that name."""
    own = candidate("struct div_t { int a; };\n__global__ void k(float* x) { x[0] = div_t{3}.a; }")
    build, watched = await both.build(own, {}), await both.build(own, {}, ["-lineinfo"])

    assert build.failure is None or both._beyond_attempts
    assert "div_t" in watched.failure.message


async def test_an_nvcc_that_the_user_names_builds_everything(nvcc):
    assert Nvcc.find("sm_90", nvcc.program).sooner is None


def test_the_child_ends_an_attempt_that_cannot_be_made_as_the_builder_expects():
    assert nvrtc_child._UNAVAILABLE == UNAVAILABLE


def test_without_the_packages_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(cuda, "_packages", lambda: None)

    with pytest.raises(DeviceError, match="nvidia-cuda-nvrtc"):
        Nvrtc.find("sm_90")
