from __future__ import annotations

import pytest

from tui_tuner.errors import ProblemError
from tui_tuner.problem.signature import find_kernel, find_kernels, in_namespaces, same_signature

CUDA = r"""
#include <cuda_fp16.h>
#define KERNEL extern "C" __global__ void
typedef unsigned int word;
using real = double;
/* __global__ void in_a_comment(int a) {} */
__device__ __forceinline__ float helper(float x) { return x; }
__global__ void declared_only(int);
KERNEL from_macro(float* a) { a[0] = 1; }
__launch_bounds__(256) __global__ void bounds_first(int n) { }
extern "C" { __global__ void __launch_bounds__(BX * BY, 2) in_a_block(word x, real *p) { if (x) { *p = "}"[0]; } } }
namespace a { namespace { template<typename T, int N = 4> __global__ void generic(T* x, const T* const y) {} } }
static __global__ void nothing(void) {}
__global__
void
__cluster_dims__(2, 1, 1) constants(const __grid_constant__ int a, float const* b) {}
extern "C" __global__ void __launch_bounds__(64) types(
    const float* __restrict__ a,   // the input, const float* b
    float4 *b, unsigned long long c, half* const d, size_t e, std::uint32_t* f,
    const unsigned char*__restrict g, bool h, int i[], __half2* j, long k, const float& l, float (*m)[4], uchar) {}
"""

OPENCL = """
float4 helper(__global const float4 *x) { return x[0]; }
__attribute__((reqd_work_group_size(8, 8, 1))) __kernel void first(
    __global const float *restrict a, global uint *b, __local float *c, const float3 d, __constant ulong *e) {}
kernel __attribute__((vec_type_hint(float4)))
void second(write_only image2d_t image, int n) { }
"""

C = """
static void hidden(int a) {}
extern "C" void plain(float *restrict a, const double b[], int n) { for (;;) {} }
float timed(float* x, long n) { return 0; }
class A { void method(int a) {} };
void A::other(int a) {}
float *returns_a_pointer(int n) { return 0; }
"""


def types_of(kernel):
    return [(p.name, p.pointer, p.const, p.dtype, p.width) for p in kernel.parameters]


def test_only_global_functions_with_a_body_are_cuda_kernels():
    names = [kernel.name for kernel in find_kernels(CUDA, "cuda")]
    assert names == ["from_macro", "bounds_first", "in_a_block", "generic", "nothing", "constants", "types"]


def test_lines_launch_bounds_and_template_parameters_are_found():
    kernels = {kernel.name: kernel for kernel in find_kernels(CUDA, "cuda")}
    assert kernels["from_macro"].line == 9
    assert kernels["from_macro"].launch_bounds is None
    assert kernels["bounds_first"].launch_bounds == "256"
    assert kernels["in_a_block"].launch_bounds == "BX * BY, 2"
    assert kernels["generic"].template == ("typename T", "int N = 4")
    assert kernels["nothing"].parameters == ()
    assert kernels["types"].launch_bounds == "64"


def test_every_cuda_type_is_read_with_its_pointer_const_and_dtype():
    assert types_of(find_kernel(CUDA, "cuda", "types")) == [
        ("a", True, True, "float32", 1),
        ("b", True, False, "float32", 4),
        ("c", False, False, "uint64", 1),
        ("d", True, False, "float16", 1),
        ("e", False, False, "uint64", 1),
        ("f", True, False, "uint32", 1),
        ("g", True, True, "uint8", 1),
        ("h", False, False, "bool", 1),
        ("i", True, False, "int32", 1),
        ("j", True, False, "float16", 2),
        ("k", False, False, "int64", 1),
        ("l", False, True, "float32", 1),
        ("m", True, False, "float32", 1),
        ("", False, False, "uint8", 1),
    ]


def test_typedefs_and_qualifiers_do_not_hide_a_type():
    assert types_of(find_kernel(CUDA, "cuda", "in_a_block")) == [
        ("x", False, False, "uint32", 1),
        ("p", True, False, "float64", 1),
    ]
    assert types_of(find_kernel(CUDA, "cuda", "constants")) == [
        ("a", False, True, "int32", 1),
        ("b", True, True, "float32", 1),
    ]


def test_template_arguments_in_the_name_give_the_types():
    assert [p.dtype for p in find_kernel(CUDA, "cuda", "generic").parameters] == [None, None]
    assert [p.dtype for p in find_kernel(CUDA, "cuda", "a::generic<double, 8>").parameters] == ["float64", "float64"]
    with pytest.raises(ProblemError, match="2 template parameters, not 3"):
        find_kernel(CUDA, "cuda", "generic<float, 1, 2>")


def test_opencl_qualifiers_do_not_confuse_and_local_memory_stays_visible():
    first, second = find_kernels(OPENCL, "opencl")
    assert types_of(first) == [
        ("a", True, True, "float32", 1),
        ("b", True, False, "uint32", 1),
        ("c", True, False, "float32", 1),
        ("d", False, True, "float32", 4),
        ("e", True, False, "uint64", 1),
    ]
    assert first.parameters[2].type_text == "__local float *"
    assert second.name == "second"
    assert second.parameters[0].dtype is None


def test_c_functions_that_are_static_or_methods_are_no_kernels():
    assert [kernel.name for kernel in find_kernels(C, "c")] == ["plain", "timed", "returns_a_pointer"]
    assert types_of(find_kernel(C, "c", "plain")) == [
        ("a", True, False, "float32", 1),
        ("b", True, True, "float64", 1),
        ("n", False, False, "int32", 1),
    ]


def test_a_missing_kernel_is_told_with_what_is_there():
    with pytest.raises(ProblemError) as caught:
        find_kernel(OPENCL, "opencl", "secand")
    assert caught.value.message == "the source has no kernel 'secand'"
    assert caught.value.hint == "did you mean 'second'? there is 'first' (line 3), 'second' (line 6)"
    with pytest.raises(ProblemError, match="there is none at all: a kernel is a function with __global__"):
        find_kernel("void f() {}", "cuda", "f")


@pytest.mark.parametrize(
    "between",
    [
        "\n#if CLUSTER > 1\n__cluster_dims__(CLUSTER, 1, 1)\n#endif\n",
        "\n#ifdef SMALL\n  __launch_bounds__(64)\n#elif SIZE > 2\n__launch_bounds__(128)\n\n# else\n#endif // SMALL\n",
    ],
)
def test_qualifiers_may_stand_in_conditionals(between: str) -> None:
    source = f"__global__ void{between}__launch_bounds__(384, 1)\nk(float *y, int n) {{ }}\n"
    kernel = find_kernel(source, "cuda", "k")
    assert [parameter.name for parameter in kernel.parameters] == ["y", "n"]


def test_text_that_does_not_compile_or_is_no_text_at_all_does_not_crash():
    broken = "__global__ void k(float* a, int n) { int x = 1 \n a[] = ;\n"
    assert [kernel.name for kernel in find_kernels(broken, "cuda")] == ["k"]
    for nonsense in ("", "\0\0", "{{{{((((", "__global__", "__launch_bounds__(", "é" * 9 + "__global__ void k("):
        assert find_kernels(nonsense, "cuda") is not None


def test_characters_beyond_ascii_do_not_shift_what_is_read():
    source = "// größer → ü\n__global__ void k(float *wert /* ü */, int größe) { wert[0] = 1; }"
    assert [p.name for p in find_kernel(source, "cuda", "k").parameters] == ["wert", "größe"]


@pytest.mark.parametrize(
    ("rewritten", "reason"),
    [
        ("const float* __restrict__ in, float* out, int n", None),
        ("float4* x, float* y, int n", None),
        ("const float* x, float* y", "2 arguments"),
        ("const double* x, float* y, int n", "argument 1 is 'const double * x' instead of 'const float * x'"),
        ("const float* x, float* y, unsigned n", "argument 3"),
        ("const float* x, float** y, int n", "argument 2"),
        ("const float* x, float y, int n", "argument 2"),
        ("float* y, const float* x, int n", "another order: y, x, n"),
    ],
)
def test_a_rewrite_may_change_names_and_vector_widths_but_not_the_arguments(rewritten, reason):
    ours, theirs = (
        find_kernel(f"__global__ void k({parameters}) {{}}", "cuda", "k")
        for parameters in ("const float* x, float* y, int n", rewritten)
    )
    found = same_signature(ours, theirs)
    assert found is None if reason is None else reason in found


def test_a_rewrite_that_adds_template_parameters_takes_something_else():
    ours = find_kernel("__global__ void k(int n) {}", "cuda", "k")
    theirs = find_kernel("template<int B> __global__ void k(int n) {}", "cuda", "k")
    assert same_signature(ours, theirs) == "1 template parameters instead of 0"


def test_the_attributes_of_a_kernel_may_be_a_macro():
    source = (
        "#define ATTRS __attribute__((reqd_work_group_size(64, 1, 1)))\n"
        "__kernel ATTRS void hash(__global uint *to) { to[0] = 1; }"
    )
    (found,) = find_kernels(source, "opencl")
    assert (found.name, found.work_group, found.line) == ("hash", "64, 1, 1", 2)


@pytest.mark.parametrize("empty", ["NOTHING ", "NOTHING(x) ", "NOTHING(x) \\\n", "NOTHING \\\n  \\\n", "NOTHING\t\r"])
def test_a_macro_of_nothing_does_not_hide_the_kernel_behind_it(empty):
    source = f"#define {empty}\n__global__ void k(int *to) {{ to[0] = 1; }}\n"
    assert [one.name for one in find_kernels(source, "cuda")] == ["k"]


def test_a_function_of_cpp_has_its_namespaces():
    source = "namespace a { namespace b { void f(float *x) { x[0] = 1; } } }\nvoid g(float *x) { x[0] = 1; }"
    assert [in_namespaces(name, source, "c") for name in ("f", "a::b::f", "g")] == ["a::b::f", "a::b::f", "g"]


def test_template_arguments_of_the_kernels_namespace_get_it_too():
    source = (
        "namespace a { struct Sum {}; template <class T> __device__ T twice(const T &v) { return v + v; }\n"
        "template <class T, T (*F)(const T &), class Op, int N> __global__ void k(T *x) { x[0] = F(x[N]); } }\n"
    )
    assert in_namespaces("k<float, twice<float>, Sum, 4>", source) == "a::k<float, a::twice<float>, a::Sum, 4>"


def test_enumerators_and_constants_of_the_kernels_namespace_get_it_too():
    source = (
        "namespace a { enum class Kind { kSame = 0, kOther }; enum { SMALL, LARGE }; constexpr int WIDTH = 4;\n"
        "template <class T, Kind kind, int N, int M> __global__ void k(T *x) { x[0] = N; } }\n"
    )
    given = "k<float, Kind::kSame, LARGE, WIDTH>"
    assert in_namespaces(given, source) == "a::k<float, a::Kind::kSame, a::LARGE, a::WIDTH>"
    assert in_namespaces("k<float, b::twice, a::Sum, N>", source) == "a::k<float, b::twice, a::Sum, N>"


@pytest.mark.parametrize(
    ("written", "dtype", "width"),
    [
        ("cufftComplex", "float32", 2),
        ("cufftDoubleComplex", "float64", 2),
        ("cufftReal", "float32", 1),
        ("thrust::complex<double>", "float64", 2),
        ("cuda::std::complex<float>", "float32", 2),
        ("Complex", "float32", 2),
        ("c10::Half", "float16", 1),
        ("at::BFloat16", "bfloat16", 1),
        ("Half", None, 1),
    ],
)
def test_numbers_of_libraries_are_known_by_their_names(written, dtype, width):
    source = f"typedef thrust::complex<float> Complex;\n__global__ void k(const {written} *v) {{}}\n"
    [parameter] = find_kernel(source, "cuda", "k").parameters
    assert (parameter.dtype, parameter.width) == (dtype, width)


def test_complex_numbers_of_pyopencl_are_vectors():
    [parameter] = find_kernel("__kernel void k(__global cdouble_t *v) {}\n", "opencl", "k").parameters
    assert (parameter.dtype, parameter.width) == ("float64", 2)
