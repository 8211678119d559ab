from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

from tests.emulator.bench import Bench
from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.build.compilers import BuildRefusal, compile_failure
from tui_tuner.evaluate.build.compilers.emulated_source import rewritten
from tui_tuner.evaluate.build.compilers.emulator import INCLUDE
from tui_tuner.evaluate.build.compilers.gnu import find_gnu
from tui_tuner.evaluate.results import FailureKind


@pytest.mark.parametrize(
    ("line", "feature"),
    [
        ('asm volatile("mov.u32 %0, %%laneid;" : "=r"(i));', "inline PTX"),
        ("nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> f;", "tensor cores"),
        ("float v = tex1Dfetch<float>(t, i);", "textures"),
        ("__pipeline_arrive_on(&b);", "asynchronous barriers"),
        ("k<<<1, 32>>>(x);", "kernel launches in the source"),
        ("curandState s; curand_init(1, i, 0, &s);", "cuRAND"),
    ],
)
def test_what_the_emulator_cannot_run_is_refused_with_its_line(line: str, feature: str) -> None:
    with pytest.raises(BuildRefusal) as caught:
        rewritten(f"__global__ void k(float* x) {{\n  int i = 0;\n  {line}\n}}\n")
    assert caught.value.failure.kind == FailureKind.REFUSED
    assert caught.value.failure.message == f"the emulator cannot run {feature} (line 3): use a CUDA GPU"


@pytest.mark.parametrize(
    "header", ["mma.h", "cooperative_groups/scan.h", "cuda/pipeline", "cuda_awbarrier.h", "cub/cub.cuh"]
)
def test_headers_of_what_the_emulator_cannot_run_are_refused(header: str) -> None:
    with pytest.raises(BuildRefusal, match=r"the emulator cannot run .+ \(line 2\): use a CUDA GPU"):
        rewritten(f"\n#include <{header}>\n__global__ void k() {{}}\n")


def test_headers_of_curand_do_no_harm_where_nothing_of_it_is_used(emulator: Bench) -> None:
    source = "#include <curand.h>\n#include <curand_kernel.h>\n__global__ void k(float* x) { x[threadIdx.x] = 1; }\n"
    assert emulator.compile(source, "k").ok


@pytest.mark.parametrize(
    "header",
    [
        "driver_functions.h",
        "driver_types.h",
        "cuda_texture_types.h",
        "sm_20_atomic_functions.h",
        "texture_fetch_functions.h",
        "surface_functions.h",
    ],
)
def test_headers_that_cudas_own_includes_are_there(emulator: Bench, header: str) -> None:
    source = f"#include <{header}>\n__global__ void k(float* x) {{ atomicAdd(x, 1); }}\n"
    assert emulator.compile(source, "k").ok


def test_what_the_host_code_of_headers_names_of_cublas_does_no_harm(emulator: Bench) -> None:
    source = (
        "#include <cublas_v2.h>\n#include <cublasLt.h>\ncublasHandle_t handle;\nstatic cublasComputeType_t type;\n"
        "inline void check(cublasStatus_t status) { if (status != CUBLAS_STATUS_SUCCESS) abort(); }\n"
        "void start() { check(cublasCreate(&handle)); check(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH)); }\n"
        "void begin() { cublasLtHandle_t light; check(cublasLtCreate(&light)); type = CUBLAS_COMPUTE_32F_FAST_TF32; }\n"
        "int most(cudaDeviceProp device) { return device.maxThreadsPerMultiProcessor + device.l2CacheSize; }\n"
        "__global__ void k(half* x) { x[threadIdx.x] = __float2half(1); }\n"
    )
    assert emulator.compile(source, "k").ok


def test_what_the_host_code_of_headers_names_of_cufft_does_no_harm(emulator: Bench) -> None:
    source = (
        "#include <cufft.h>\nstruct Plan { cufftHandle handle; cufftDoubleComplex *spectrum; };\n"
        "inline bool is_made(cufftResult made) { return made == CUFFT_SUCCESS; }\n"
        "__global__ void k(cufftComplex *x, cufftReal by) { x[threadIdx.x] = make_cuComplex(by, cuCimagf(x[0])); }\n"
    )
    assert emulator.compile(source, "k").ok


def test_what_the_host_code_of_headers_names_of_the_driver_and_of_pitched_memory_does_no_harm(emulator: Bench) -> None:
    source = (
        "#include <cuda.h>\ninline const char *said(CUresult of) { const char *text;"
        " return cuGetErrorString(of, &text) == CUDA_SUCCESS ? text : 0; }\n"
        "inline float *row(cudaPitchedPtr of, cudaExtent most, int y) {"
        " return y < most.height ? (float *)((char *)of.ptr + y * of.pitch) : 0; }\n"
        "struct Stream { cudaStream_t own; Stream() { cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking); } };\n"
        "__global__ void k(float *x) { x[threadIdx.x] = 1; }\n"
    )
    assert emulator.compile(source, "k").ok


def test_a_variable_that_is_called_texture_is_none() -> None:
    source = "__global__ void k(const float *all, float *y) { const float *texture = &all[8]; *y = texture[1]; }\n"
    assert rewritten(source) == source
    with pytest.raises(BuildRefusal, match=r"the emulator cannot run textures \(line 1\)"):
        rewritten(f"texture<float, 2> image;\n{source}")


@pytest.mark.slow
def test_what_is_left_to_old_compilers_is_left_out(emulator: Bench) -> None:
    for asked in ("__CUDACC_VER_MAJOR__ < 11", "CUDART_VERSION < 9000", "CUDA_VERSION < 9000"):
        source = f"#include <cuda.h>\n#if {asked}\nnothing known;\n#endif\n__global__ void k(float* x) {{ *x = 1; }}\n"
        assert emulator.compile(source, "k").ok


def test_ptx_in_comments_and_strings_is_no_ptx() -> None:
    source = '// asm("x");\nconst char* s = "asm";\n__global__ void k() {}\n'
    assert rewritten(source) == source


def test_ptx_for_newer_architectures_is_left_out_and_other_ptx_named_by_the_compiler(emulator: Bench) -> None:
    source = '__global__ void k(int* x) {\n#if __CUDA_ARCH__ >= 800\n  asm("bad;");\n#endif\n  *x = 1;\n}\n'
    assert emulator.compile(source, "k").ok
    log = emulator.compile(source.replace("800", "600"), "k").log
    assert "kernel.cu:3:" in log
    assert "the emulator cannot run inline PTX: use a CUDA GPU" in log


def test_ptx_in_a_function_that_nothing_calls_does_no_harm(emulator: Bench) -> None:
    source = (
        "#if 1\n"
        '__device__ inline int lane() { int i; asm volatile("mov.u32 %0, %%laneid;" : "=r"(i)); return i; }\n'
        "template <int N> __device__ float power(float x, unsigned short y, double z)\n"
        '{ if (x) asm("ex2.approx.f32 %0, %0; %1 %2 %3" : "+f"(x) : "h"(y), "d"(z), "n"(N)); else x = 1; return x; }\n'
        "#endif\n"
        "__global__ void k(int* x) { *x = 1; }\n"
    )
    assert emulator.compile(source, "k").ok
    called = emulator.compile(source.replace("*x = 1", "*x = lane() + power<3>(*x, 1, 2)"), "k")
    told = compile_failure(called.log, emulator.directory, [INCLUDE])
    assert re.fullmatch(r"kernel\.cu:[24]:\d+: error: the emulator cannot run inline PTX: use a CUDA GPU", told.message)
    assert "kernel.cu:4:" in told.detail
    assert "run_ptx" not in told.detail


def test_what_headers_name_of_addresses_and_of_the_runtime_for_launches_is_there(emulator: Bench) -> None:
    source = (
        "inline int most() {\n"
        "  int n = 0; cudaDeviceGetAttribute(&n, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0); return n;\n"
        "}\n"
        "template <class K> void start(K* k, float* x) {\n"
        "  cudaLaunchAttribute one; one.id = cudaLaunchAttributeProgrammaticStreamSerialization;\n"
        "  one.val.programmaticStreamSerializationAllowed = 1;\n"
        "  cudaLaunchConfig_t config = {dim3(1), dim3(32), 0, 0, &one, 1};\n"
        "  cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, most());\n"
        "  cudaLaunchKernelEx(&config, k, x);\n"
        "}\n"
        "__device__ unsigned place(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }\n"
        "__global__ void k(float* x) { *x = place(x) ? 1 : 2; }\n"
    )
    assert emulator.compile(source, "k").ok


SPELLINGS = """
extern __shared__ float a[];
extern __shared__ __align__(16) float b[];
extern __shared__ alignas(16) unsigned char c[][4];
__shared__ extern float d[];
extern __align__(16) __shared__ float e[], f[];
extern volatile __shared__ float g[];
"""
USE = "a[0] = *x; *x = a[1] + b[2] + c[3][1] + d[4] + e[5] + f[6] + g[7];"


@pytest.mark.parametrize("template", ["", "template <class T> "], ids=["kernel", "template"])
def test_every_spelling_of_dynamic_shared_memory_is_one_stretch_of_it_inside_of_kernels(
    emulator: Bench, template: str
) -> None:
    kernel = f"{template}__global__ void k(float* x) {{ {SPELLINGS} a[1] = *x; a[4] = 5; *x = d[1] + f[4]; }}"
    loaded = emulator.load(kernel, "k<float>" if template else "k")
    (out,) = emulator.run(loaded, np.ones(1, np.float32), block=(1, 1, 1), shared_bytes=64)
    assert out[0] == 6


def test_every_spelling_of_dynamic_shared_memory_compiles_outside_of_kernels(emulator: Bench) -> None:
    outside = emulator.compile(f"{SPELLINGS} __global__ void k(float* x) {{ {USE} }}", "k")
    assert outside.ok, outside.log


def test_rewriting_keeps_every_line_and_the_columns_before_the_brackets() -> None:
    source = "__global__ void k() {\n  extern __shared__ float s[];\n  s[0] = 1;\n}\n"
    before, after = source.splitlines(), rewritten(source).splitlines()
    assert len(before) == len(after)
    assert after[1].index("float s[]") == before[1].index("float s[]")
    assert after[2] == before[2]


NOT_INLINE = """
#include <memory>
#define APART __noinline__
__noinline__ __device__ int one(int x) { return x + 1; }
static __device__ __noinline__ int two(int x) { return x + 2; }
__attribute__((__noinline__)) __device__ int three(int x) { return x + 3; }
APART __device__ int four(int x) { return x + 4; }
__global__ void k(int* x) { *x = one(two(three(four(*x)))); }
"""


@pytest.mark.slow
def test_noinline_is_no_macro_since_the_headers_of_gxx_have_an_attribute_of_that_name(emulator: Bench) -> None:
    compiled = emulator.compile(NOT_INLINE, "k")
    assert compiled.ok, compiled.log


def test_a_syntax_error_is_told_with_the_line_of_the_kernel(emulator: Bench) -> None:
    compiled = emulator.compile("__global__ void k(int* x) {\n  *x = 1\n}\n", "k")
    assert not compiled.ok
    assert "kernel.cu:2:" in compiled.log


@pytest.mark.parametrize(
    "option",
    ["-fplugin=/x/evil.so", "-Xcompiler=-fplugin=evil.so", "-B/x", "-specs=/x", "-wrapper", "-Wl,-plugin,/x.so", "@/x"],
)
def test_an_option_that_loads_code_is_refused(emulator: Bench, option: str) -> None:
    with pytest.raises(BuildRefusal, match="load code or run a program: take it out of compiler_options") as caught:
        emulator.compile("__global__ void k() {}", "k", {}, ["-Dok=@", "-I/a,-B", option])
    assert caught.value.failure.message.startswith(f"'{option}' has the compiler")
    assert caught.value.failure.kind == FailureKind.REFUSED


def test_tunables_are_macros_of_any_name_and_options_only_nvcc_knows_are_left_out(emulator: Bench) -> None:
    source = """
    #include <cuda_fp16.h>
    static_assert(kernel_tuner == 1 && x == 8 && flag == 1 && width == 2 && geometry == 3, "");
    __global__ void k(half* out) { out[0] = __shfl_sync(1u, *out, 0); }
    """
    options = ["-lineinfo", "--use_fast_math", "-Dwidth=2", "-arch=sm_90"]
    compiled = emulator.compile(source, "k", {"x": 8, "flag": True, "geometry": 3}, options)
    assert compiled.ok, compiled.log


def test_a_number_that_the_source_states_is_another_where_the_options_take_it_out(emulator: Bench) -> None:
    source = """
    #define N 4096
const int rows = 64;
    static_assert(N == 8 && rows == 4, "");
    __global__ void k(float* out) { out[0] = N * rows; }
    """
    compiled = emulator.compile(source, "k", {}, ["-UN", "-DN=8", "-Urows", "-Drows=4"])
    assert compiled.ok, compiled.log


def test_a_missing_compiler_is_told_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    find_gnu.cache_clear()
    with pytest.raises(DeviceError) as caught:
        find_gnu("g++")
    find_gnu.cache_clear()
    assert caught.value.hint == "apt install g++"


def test_a_specialised_function_that_is_always_inlined_builds(emulator: Bench) -> None:
    kernel = (
        "template <typename T> __device__ __forceinline__ float as_float(T v);\n"
        "template <> __device__ __forceinline__ float as_float<float>(float v) { return v; }\n"
        "template <typename T> __global__ void k(T* x) { x[threadIdx.x] = as_float<T>(x[threadIdx.x]) + 1; }\n"
    )
    assert emulator.load(kernel, "k<float>")


def test_functions_of_the_host_that_a_header_has_build(emulator: Bench) -> None:
    kernel = (
        "#define CHECK(call) check((call), __FILE__, __LINE__)\n"
        "void check(cudaError_t error, const char *file, int line) {\n"
        '    if (error != cudaSuccess) { printf("%s:%d %s\\n", file, line, cudaGetErrorString(error)); exit(1); }\n}\n'
        "inline float *on_device(size_t n) { float *p; CHECK(cudaMalloc(&p, n * sizeof(float))); return p; }\n"
        "__device__ float more(float x) { return x + 1; }\n"
        "__global__ void k(float* x) { x[threadIdx.x] = more(x[threadIdx.x]); }\n"
    )
    assert emulator.load(kernel, "k")
