"""Building with the real nvcc: names, resources and failures; the kernel among the symbols."""

import asyncio
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.build.builder import Builder
from tui_tuner.evaluate.build.compilers.cuda import Nvcc, with_macros_in_unrolls
from tui_tuner.evaluate.build.compilers.symbols import find_kernel, symbol_name
from tui_tuner.evaluate.results import FailureKind

SEVERAL = """
namespace a {
__global__ void k(float* y, int n) { __shared__ float q[64]; q[threadIdx.x] = y[n]; __syncthreads(); y[0] = q[n]; }
}
__global__ void other(int* y) { y[1] = 2; }
extern "C" __global__ void plain(float* y) {
    __shared__ float q[100]; q[threadIdx.x] = y[5]; __syncthreads(); y[0] = q[int(y[1])];
}
template <class T, int N> __global__ void scale(T* x) {
    __shared__ T s[32]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[0] = s[N] * T(N);
}
template __global__ void scale<float, 8>(float*);
namespace b {
template <int N> __global__ void inner(int* y) { __shared__ int s[N]; s[y[2]] = y[1]; __syncthreads(); y[0] = s[y[3]]; }
}
static __global__ void hidden(int* y) { y[1] = 3; }
"""
SPILLING = """
__global__ __launch_bounds__(1024, 2) void k(float* x, const float* y) {
    float a[64];
#pragma unroll
    for (int i = 0; i < 64; i++) a[i] = y[i * 1024 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 64; i++) for (int j = 0; j < 64; j += 7) a[i] += a[j] * a[i];
#pragma unroll
    for (int i = 0; i < 64; i++) x[i * 1024 + threadIdx.x] = a[i];
}
"""


@pytest.fixture
def builder(nvcc, policy, tmp_path):
    return Builder(nvcc, cache=tmp_path / "cache", jobs=2, policy=policy)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "symbol", "shared"),
    [
        ("a::k", "_ZN1a1kEPfi", 256),
        ("k", "_ZN1a1kEPfi", 256),
        ("other", "_Z5otherPi", 0),
        ("plain", "plain", 400),
        ("scale<float, 4>", "_Z5scaleIfLi4EEvPT_", 128),
        ("scale<double, TILE>", "_Z5scaleIdLi16EEvPT_", 256),
        ("scale<float, 8>", "_Z5scaleIfLi8EEvPT_", 128),
        ("inner<32>", "_ZN1b5innerILi32EEEvPi", 128),
    ],
)
async def test_the_right_kernel_of_several_is_found_with_its_resources(builder, candidate, name, symbol, shared):
    build = await builder.build(candidate(SEVERAL, name), {"TILE": 16})

    assert build.failure is None, build.failure
    assert build.symbol == symbol
    assert build.resources.shared_bytes == shared
    assert build.resources.registers is not None
    assert 4 <= build.resources.registers <= 64
    assert symbol.encode() in Path(build.artifact).read_bytes()


UNROLLED = """#define HALF (COUNT / 2)
template <int N> __device__ void more(float* x, int n) {
#pragma unroll N
    for (int i = 0; i < n; i++) x[i] *= 3.0f;
}
__global__ void k(float* x, int n) {
  #pragma unroll COUNT // a tunable
    for (int i = 0; i < n; i++) x[i] += 1.0f;
#  pragma unroll(HALF)
    for (int i = 0; i < n; i++) x[i] *= 2.0f;
    more<2>(x, n);
}
"""


@pytest.mark.slow
async def test_a_tunable_says_how_far_a_loop_is_unrolled(builder, candidate):
    few, many, zero, wrong = await asyncio.gather(
        *(builder.build(candidate(UNROLLED), {"COUNT": count}) for count in (2, 32, 0)),
        builder.build(candidate(f"{UNROLLED}error\n"), {"COUNT": 2}),
    )

    assert [build.failure for build in (few, many, zero)] == [None] * 3
    assert Path(many.artifact).stat().st_size > 1.5 * Path(few.artifact).stat().st_size
    assert wrong.failure.message.startswith("kernel.cu:13: error: "), "lines are the user's"


@pytest.mark.parametrize(
    ("line", "count"),
    [("#pragma unroll 4 / N", "4 / N"), ("  # pragma unroll(N) // N", "(N)"), ("#pragma unroll N /* */", "N")],
)
def test_a_count_with_a_name_in_it_is_one_in_which_macros_are_replaced(line, count):
    assert f"TUNER_UNROLL({count})" in with_macros_in_unrolls(f"{line}\nfor").splitlines()[-2]


@pytest.mark.parametrize(
    "source", ["#pragma unroll\nfor", "#pragma unroll 4\nfor", "#pragma unroll (16) // N\nfor", "#pragma once\nUNROLL"]
)
def test_what_names_no_macro_stays_as_it_is(source):
    assert with_macros_in_unrolls(source) == source


@pytest.mark.slow
async def test_spilled_registers_are_reported(builder, candidate):
    build = await builder.build(candidate(SPILLING), {})

    assert build.resources.registers == 32
    assert build.resources.spill_bytes > 500
    assert build.resources.local_bytes > 100


@pytest.mark.slow
async def test_tunables_are_macros_and_each_configuration_has_an_artifact_of_its_own(builder, candidate):
    source = candidate("__global__ void k(TYPE* x) { __shared__ TYPE s[N]; s[threadIdx.x] = x[1]; x[0] = s[FLAG]; }")

    small = await builder.build(source, {"TYPE": "float", "N": 32, "FLAG": True})
    large = await builder.build(source, {"TYPE": "double", "N": 64, "FLAG": False})

    assert small.artifact != large.artifact
    assert (small.resources.shared_bytes, large.resources.shared_bytes) == (128, 512)


@pytest.mark.slow
async def test_a_compile_error_names_the_line_of_the_candidate(builder, candidate):
    build = await builder.build(candidate("\n\n__global__ void k(float* x) { x[0] = y; }\n"), {})

    assert build.failure.kind is FailureKind.COMPILE
    assert build.failure.message == 'kernel.cu:3: error: identifier "y" is undefined'
    assert "work-" not in build.failure.detail


@pytest.mark.slow
async def test_a_compile_error_in_a_template_names_the_line_of_the_candidate(builder, candidate):
    build = await builder.build(candidate("\ntemplate <int N> __global__ void k(float* x) { x[0] = y; }\n", "k<4>"), {})

    assert build.failure.message.startswith("kernel.cu:2: error: ")


@pytest.mark.slow
async def test_too_much_shared_memory_is_a_launch_failure(builder, candidate):
    source = "__global__ void k(float* x) { __shared__ float s[90000]; s[threadIdx.x] = x[0]; x[1] = s[int(x[2])]; }"

    build = await builder.build(candidate(source), {})

    assert build.failure.kind is FailureKind.LAUNCH
    assert build.failure.message.startswith("uses too much shared data (360000 bytes, ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        ("__global__ void other() {}", "k", "the source has no kernel 'k'; it has _Z5otherv"),
        ("__global__ void k(int* x) {}\n__global__ void k(float* x) {}", "k", "several kernels answer to 'k'"),
        ("void k() {}", "k", "the source has no kernel 'k'; it has none at all"),
    ],
)
async def test_a_name_that_is_not_exactly_one_kernel_is_a_compile_error(builder, candidate, source, name, message):
    build = await builder.build(candidate(source, name), {})

    assert build.failure.kind is FailureKind.COMPILE
    assert build.failure.message.startswith(message)


@pytest.mark.parametrize("name", ["k; int x", "k\n#include </etc/passwd>", "k<\n>", 'k<"a">', "", "k<4", "-o"])
async def test_a_name_that_is_no_name_is_not_built(builder, candidate, name):
    build = await builder.build(candidate("__global__ void k() {}", name), {})

    assert build.failure.kind is FailureKind.INVALID


@pytest.mark.parametrize("value", ["a b", "4; int x", "$(id)", "", float("nan"), "x\n#include"])
async def test_a_value_that_is_no_token_is_not_built(builder, candidate, value):
    build = await builder.build(candidate("__global__ void k() {}"), {"T": value})

    assert build.failure.kind is FailureKind.INVALID


async def test_a_source_that_includes_a_file_by_its_path_is_refused_before_it_is_built(builder, candidate):
    build = await builder.build(candidate('#include "/etc/passwd"\n__global__ void k() {}'), {})

    assert build.failure.kind is FailureKind.REFUSED
    assert build.failure.message.startswith("kernel.cu:1: ")


@pytest.mark.slow
async def test_headers_of_the_users_own_directory_can_be_included(builder, candidate, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "own.h").write_text("#define VALUE 7\n")
    source = candidate("#include <own.h>\n#include <cuda_fp16.h>\n__global__ void k(int* x) { x[0] = VALUE; }")

    without = await builder.build(source, {})
    with_it = await builder.build(source, {}, [f"-I{tmp_path / 'mine'}"])

    assert "own.h" in without.failure.message
    assert with_it.failure is None, with_it.failure


def test_the_toolkit_behind_a_wrapper_script_is_found(nvcc, tmp_path):
    wrapper = tmp_path / "nvcc"
    wrapper.write_text(f'#!/bin/sh\nexec {nvcc.program} "$@"\n')
    wrapper.chmod(0o755)

    assert Nvcc.find("sm_90", wrapper) == replace(nvcc, sooner=None)


def test_the_variant_of_an_architecture_is_used_where_the_toolkit_has_one(nvcc):
    assert nvcc.architecture == "sm_90a"
    assert Nvcc.find("sm_80", nvcc.program).architecture == "sm_80"
    assert nvcc.toolchain.startswith("nvcc ")


def test_an_architecture_that_the_toolkit_does_not_know_is_an_error(nvcc):
    with pytest.raises(DeviceError, match="cannot build for sm_1"):
        Nvcc.find("sm_1", nvcc.program)


def test_no_nvcc_where_the_settings_say_is_an_error(tmp_path):
    with pytest.raises(DeviceError, match="no nvcc at"):
        Nvcc.find("sm_90", tmp_path / "nvcc")


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else; as anybody else all tests show it")
def test_an_ordinary_user_builds_too(nvcc, tmp_path):
    repository = Path(__file__).parents[2]
    script = (
        "import asyncio, sys, pathlib, tempfile\nsys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = True\n"
        "from tui_tuner.evaluate.sandbox.run import Policy, run_confined\n"
        "work = pathlib.Path(tempfile.mkdtemp()); (work / 'kernel.cu').write_text('__global__ void k() {}')\n"
        "nvcc = pathlib.Path(sys.argv[2]); command = (str(nvcc), '-cubin', '-arch=sm_90', 'kernel.cu', '-o', 'o')\n"
        "run = run_confined(command, directory=work, policy=Policy(), read=(nvcc.parent.parent,))\n"
        "done = asyncio.run(run); print(done.returncode, (work / 'o').exists(), done.output)"
    )
    command = ["/usr/bin/python3", "-c", script, str(repository), str(nvcc.program)]
    done = subprocess.run(
        command, cwd="/", capture_output=True, text=True, user=65534, group=65534, extra_groups=[], check=False
    )
    if "ModuleNotFoundError" in done.stderr or "SyntaxError" in done.stderr:
        pytest.skip("another user cannot read the package, or the system's Python is too old")

    assert done.stdout.startswith("0 True"), done.stdout + done.stderr


SCALE_4, SCALE_8 = "_Z5scaleIfLi4EEvPT_", "_Z5scaleIfLi8EEvPT_"
SCALE_HALF = "_Z5scaleI6__halfLi4EEvPT_"
ARG_MAX = "_ZN1a3runILi4ENS_5IndexIfEENS_4PairIifEENS_6ArgMaxEEEvT0_T1_PS6_"
SUM, SUM_8 = "_ZN1a3runILi4ENS_4CastIfdEEdNS_3SumEEEvT0_T1_", "_ZN1a3runILi8ENS_4CastIfdEEdNS_3SumEEEvT0_T1_"
IN_A, PLAIN_F = "_ZN1a1fEPfi", "_Z1fPi"


@pytest.mark.parametrize(
    ("symbol", "path", "arguments"),
    [
        ("plain", ("plain",), None),
        ("_Z1kPf", ("k",), None),
        ("_ZL1kPf", ("k",), None),
        ("_ZN5outer5inner1kEPf", ("outer", "inner", "k"), None),
        ("_ZN36_GLOBAL__N__6f55a885_4_k_cu_7f8aae9f4anonEPi", ("anon",), None),
        (SCALE_4, ("scale",), ("float", "4")),
        ("_Z1kILb1ELin3EjEvv", ("k",), ("1", "-3", "unsigned int")),
        ("_ZN1a1fI6__halfEEvPKT_PS2_", ("a", "f"), ("__half",)),
        ("_Z1kIPKfN2ns1TEEvv", ("k",), ("?", "?")),
        ("_Z1kISt4pairIifEEvv", ("k",), ("?",)),
        ("_Zxyz", ("_Zxyz",), None),
        ("_Z99k", ("_Z99k",), None),
    ],
)
def test_a_symbol_is_read_as_namespaces_name_and_template_arguments(symbol, path, arguments):
    name = symbol_name(symbol)

    assert (name.path, name.arguments) == (path, arguments)


@pytest.mark.parametrize(
    ("name", "symbols", "found"),
    [
        ("plain", ["plain", PLAIN_F], ["plain"]),
        ("f", [IN_A, PLAIN_F], [PLAIN_F]),
        ("a::f", [IN_A, PLAIN_F], [IN_A]),
        ("::a :: f", [IN_A, PLAIN_F], [IN_A]),
        ("f", [IN_A, "plain"], [IN_A]),
        ("scale<float, 4>", [SCALE_4, SCALE_8, SCALE_HALF], [SCALE_4]),
        ("scale<float,0x8u>", [SCALE_4, SCALE_8], [SCALE_8]),
        ("scale<half, 4>", [SCALE_4, SCALE_8, SCALE_HALF], [SCALE_HALF]),
        ("scale<float, TILE>", [SCALE_4, "plain"], [SCALE_4]),
        ("scale<element, width>", [SCALE_4], [SCALE_4]),
        ("scale", [SCALE_4, "_Z5scalePf"], ["_Z5scalePf"]),
        ("scale", [SCALE_4], [SCALE_4]),
        ("scale", [SCALE_4, SCALE_8], [SCALE_4, SCALE_8]),
        ("cale", [SCALE_4], []),
        ("no name", [SCALE_4], []),
        ("run<4, a::Cast<float, double>, double, a::Sum>", [ARG_MAX, SUM, SUM_8], [SUM]),
        ("run<4, a::Index<float>, a::Pair<int, float>, a::ArgMax>", [SUM, ARG_MAX], [ARG_MAX]),
    ],
)
def test_a_written_name_finds_the_symbols_that_answer_to_it(name, symbols, found):
    assert find_kernel(name, symbols) == found
