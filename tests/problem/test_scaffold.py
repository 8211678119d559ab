from __future__ import annotations

import re

import pytest

from tui_tuner.errors import ProblemError
from tui_tuner.problem.conditionals import active_source, asked_around
from tui_tuner.problem.draft.kernel.files import file_of_kernels, ranked_kernels
from tui_tuner.problem.draft.problem_file import launched_first, scaffold
from tui_tuner.problem.load import load_problem

SIGNATURES = {
    "sizes": ("k.cu", "__global__ void k(float *c, const float *a, const float *b, int m, long n, size_t p)", 1),
    "no_size": ("k.cu", "__global__ void k(double *out, float a, bool b, unsigned char c, half d)", 1),
    "vectors": ("k.cu", 'extern "C" __global__ void __launch_bounds__(64) k(float4 *v, const int3 *w, int n)', 2),
    "tiny_bounds": ("k.cu", "__global__ void __launch_bounds__(4) k(int8_t *v, int n)", 3),
    "macro_bounds": ("k.cu", "__global__ void __launch_bounds__(B) k(bool *v, short s)", 3),
    "template": ("k.cu", "template<typename T, int N, bool F, int M = 2> __global__ void k(T *v, const T w)", 1),
    "unknown_types": ("k.cu", "__global__ void k(REAL *v, const REAL w, void *x)", 2),
    "no_names": ("k.cu", "__global__ void k(float *, const float *, int)", 1),
    "keywords": ("k.cu", "__global__ void k(float *in, int lambda, int is, int size)", 1),
    "own_block": ("k.cu", "__global__ void k(float *v, int block_size_x, int n)", 2),
    "arrays": ("k.cu", "__global__ void k(float v[], int w[4], unsigned long long n)", 1),
    "opencl": ("k.cl", "__kernel void k(__global float *v, __constant ushort *w, const uint n)", 3),
    "c": ("k.c", "void k(float *restrict v, const double w[], int n)", 1),
    "cpp": ("k.cpp", 'extern "C" float k(float *v, std::size_t n)', 1),
}


def body_of(file, dimensions):
    if file.endswith(".cl"):
        return " ".join(f"int i{axis} = get_global_id({axis});" for axis in range(dimensions))
    return " ".join(f"int i{axis} = threadIdx.{axis};" for axis in "xyz"[:dimensions])


@pytest.mark.parametrize("shape", SIGNATURES)
def test_the_first_problem_file_of_every_signature_loads_again(tmp_path, shape):
    name, signature, dimensions = SIGNATURES[shape]
    kernel = tmp_path / name
    kernel.write_text(f"{signature} {{ {body_of(name, dimensions)} }}")
    text = scaffold(kernel, None)
    kernel.with_suffix(".toml").write_text(text)
    problem = load_problem(kernel)
    assert "a guess: check" in text
    assert any(argument.output for argument in problem.arguments)
    assert len(problem.tunables) in (0, dimensions)


MATMUL = """
__device__ int helper(int i) { return i; }
__global__ void matmul(float *C, float *A, const float *B, unsigned *count, float alpha, int n) {
    int x = blockIdx.x * block_size_x + threadIdx.x;
    int y = blockIdx.y * block_size_y + threadIdx.y;
    if (x >= n || y >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; k++) sum += A[y * n + k] * B[k * n + x];
    C[y * n + x] = alpha * sum;
    atomicAdd(&count[0], 1u);
}
__global__ void other(float *C) {}
"""


def test_sizes_shapes_outputs_and_dimensions_are_guessed_from_the_kernel(tmp_path):
    kernel = tmp_path / "matmul.cu"
    kernel.write_text(MATMUL)
    kernel.with_suffix(".toml").write_text(scaffold(kernel, "matmul"))
    problem = load_problem(kernel)
    arguments = {argument.name: argument for argument in problem.arguments}
    assert problem.sizes == {"n": 1024}
    assert problem.launch.problem_size == ["n", "n"]
    assert [name for name, argument in arguments.items() if argument.output] == ["C", "count"]
    assert (arguments["C"].fill, arguments["count"].fill) == (None, "integers")
    assert arguments["A"].shape == ["n", "n"]
    assert arguments["count"].dtype == "uint32"
    assert arguments["n"].value == "n"
    assert problem.default_configuration == {"block_size_x": 16, "block_size_y": 16}
    assert problem.tests[0].sizes == {"n": 1000}


@pytest.mark.parametrize(
    ("name", "body"),
    [("k.cu", "atomicAdd(out, v[n]);"), ("k.cu", "atomicMax_block( out, v[n]);"), ("k.cl", "atomic_inc(out);")],
)
def test_what_an_atomic_operation_changes_is_read_as_well(tmp_path, name, body):
    head = "__global__" if name.endswith("cu") else "__kernel"
    space = "" if name.endswith("cu") else "__global "
    kernel = tmp_path / name
    kernel.write_text(f"{head} void k({space}int *out, {space}const int *v, int n) {{ {body} }}")
    kernel.with_suffix(".toml").write_text(scaffold(kernel, None))
    out = load_problem(kernel).arguments[0]
    assert (out.output, out.fill) == (True, "integers")


def test_several_kernels_need_a_choice_and_the_hint_lists_them(tmp_path):
    kernel = tmp_path / "matmul.cu"
    kernel.write_text(MATMUL)
    with pytest.raises(ProblemError) as caught:
        scaffold(kernel, None)
    assert caught.value.hint == "choose one with --kernel NAME: matmul, other"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("void host() {}", "there is none at all"),
        ("__global__ void k() {}", "no array to write to"),
        ("__global__ void k(const float *a, int n) {}", "no array to write to"),
        ("__global__ void k(float ***a) {}", "is a pointer to pointers of pointers, which only a host can set"),
        ("__global__ void k(float *a, int (*b)[3]) {}", "is a pointer to something that is no plain array"),
    ],
)
def test_a_kernel_that_cannot_be_tuned_is_refused_with_the_reason(tmp_path, source, message):
    kernel = tmp_path / "k.cu"
    kernel.write_text(source)
    with pytest.raises(ProblemError, match=message):
        scaffold(kernel, None)


@pytest.mark.parametrize(
    ("source", "reason", "instead"),
    [
        (
            "struct In { int n; };\nstruct Box { In in[2]; };\n__global__ void k(float *a, Box p) { a[0] = p.in->n; }",
            "its member 'in' is an array of In",
            "take in as scalars and arrays in its place",
        ),
        (
            "struct Box { Box box; int n; };\n__global__ void k(float *a, Box p) { a[0] = p.n; }",
            "too deep within others",
            "take n as scalars and arrays in its place",
        ),
        (
            "struct E { int n; }; struct D { E a, b, c, d; }; struct C { D a, b, c, d; }; struct B { C a, b, c, d; };"
            " struct Box { B a, b, c, d; };\n__global__ void k(float *a, Box p) { a[0] = p.a.b.c.d.n; }",
            "has more than 64 elements",
            "take a as scalars and arrays in its place",
        ),
        (
            "struct Box { int n[99]; };\n__global__ void k(float *a, Box p) { a[p.n[0]] = 1; }",
            "it has more than 64 elements",
            "take n as scalars and arrays in its place",
        ),
        (
            "struct Box { float **v; int n; };\n__global__ void k(float *a, Box p) { a[0] = p.v[0][p.n]; }",
            "holds the device pointer 'v', which only a host can set",
            "take v, n as arrays and scalars of the kernel's own in place of 'p'",
        ),
        (
            "struct Box { float *v[99]; int n; };\n__global__ void k(float *a, Box p) { a[0] = p.v[0][p.n]; }",
            "its member 'v' is a list of pointers that is not of one extent, stated as a number up to 64",
            "have fewer of them in it, or its extent as a number; else take v, n as scalars and arrays in its place",
        ),
        (
            "struct Box { float *v; int n; };\n__global__ void k(float *a, const Box *p) { a[0] = p[1].v[p->n]; }",
            "holds the device pointer 'v', which only a host can set",
            "take v, n as arrays and scalars of the kernel's own in place of 'p' and read them there",
        ),
        (
            "struct Read { cudaTextureObject_t t; };\n__global__ void k(float *a, Read r) { a[0] = r.t; }",
            "passed by value: its member 't' is of type cudaTextureObject_t, which only a host can make",
            "leave 'r' out, and read from an array instead, as in: const float *image, int width, with "
            "image[y * width + x] for tex2D() and image[i] for tex1Dfetch()",
        ),
        (
            '#include "nowhere.h"\n__global__ void k(float *a, const Batch b) { a[0] = b.from[b.count - 1]; }',
            "is of type const Batch, passed by value, whose members no file here declares",
            "take from, count as scalars and arrays in its place; or put the header that declares it beside the kernel",
        ),
        (
            "template <typename F> __global__ void k(float *a, F f) { a[0] = f(a[1]); }",
            "passed by value",
            "leave 'f' out and begin the body with: TYPE f;, with its type as the host has it for TYPE; "
            "of a lambda, write the body in place of f(...) and take what it captures as arguments",
        ),
    ],
)
def test_a_structure_that_cannot_be_passed_is_refused_with_what_to_write(tmp_path, source, reason, instead):
    kernel = tmp_path / "k.cu"
    kernel.write_text(source)
    with pytest.raises(ProblemError, match=re.escape(reason)) as caught:
        scaffold(kernel, None)
    assert caught.value.hint == instead


@pytest.mark.parametrize(
    ("name", "source", "message", "instead"),
    [
        (
            "k.cl",
            "__kernel void k(read_only image2d_t from, write_only image2d_t to) { write_imagef(to, (int2)(0, 0), 1); }",
            "argument 'from' of k() is of type read_only image2d_t, which only a host can make",
            "use an array instead, as in: image[y * width + x]",
        ),
        ("k.c", "double k(const double *x, int n) { return x[n - 1]; }", "k() has no array", "a function returns"),
    ],
)
def test_images_and_results_that_are_returned_are_refused_with_what_to_write(tmp_path, name, source, message, instead):
    kernel = tmp_path / name
    kernel.write_text(source)
    with pytest.raises(ProblemError, match=re.escape(message)) as caught:
        scaffold(kernel, None)
    assert instead in caught.value.hint


def test_a_function_has_the_macros_tuned_that_its_source_leaves_to_builds(tmp_path):
    kernel = tmp_path / "k.c"
    kernel.write_text(
        "#ifndef BS\n#define BS 32\n#endif\n#ifndef FAST\n#define FAST 0\n#endif\n#ifndef N\n# define N 64\n#endif\n"
        "#ifndef UNUSED\n#define UNUSED 3\n#endif\n#define FIXED 8\n#ifndef K_H\n#define K_H\n#endif\n"
        "void k(float a[N], int n) { for (int i = 0; i < n; i += BS)\n"
        "#if FAST\n a[i] = FIXED;\n#else\n a[i] = 1;\n#endif\n }"
    )
    kernel.with_suffix(".toml").write_text(text := scaffold(kernel, None))
    assert load_problem(kernel).tunables == {"BS": [32, 8, 16, 64, 128], "FAST": [0, 1]}
    assert "Nothing is there to tune" not in text
    kernel.write_text("void k(float *a, int n) { for (int i = 0; i < n; i++) a[i] = 1; }")
    assert "# Nothing is there to tune" in scaffold(kernel, None)


def test_rows_behind_a_list_of_addresses_count_where_a_size_is_guessed(tmp_path):
    kernel = tmp_path / "k.c"
    kernel.write_text("void k(float **a, float **b, int n) { for (int i = 0; i < n; i++) b[i][0] = a[i][n - 1]; }")
    text = scaffold(kernel, None)
    assert int(re.search(r"n = (\d+)", text)[1]) <= 1024
    assert re.findall(r"shape = (.*?\])", text) == ['["n", "n"]', '["n", "1"]']


def test_a_file_that_is_missing_or_of_no_language_is_refused(tmp_path):
    with pytest.raises(ProblemError, match="cannot be read"):
        scaffold(tmp_path / "k.cu", None)
    with pytest.raises(ProblemError, match="says no language"):
        scaffold(tmp_path / "k.txt", None)


def test_a_source_that_is_never_built_is_refused_before_it_is_read_for_its_kernels(tmp_path):
    kernel = tmp_path / "long.cu"
    kernel.write_text(
        "// " + "lorem ipsum (dolor) " * 15_000 + "\n" + "__global__ void k(float *v, int n) { v[0] = n; }\n"
    )
    for read in (ranked_kernels, lambda file: scaffold(file, None)):
        with pytest.raises(ProblemError, match="longer than 256 KiB") as caught:
            read(kernel)
        assert (caught.value.file, caught.value.hint) == (kernel, "take out of it what this kernel does not need")


@pytest.mark.parametrize(
    ("body", "shapes"),
    [
        ("for (int i = 0; i < n; i++) to[i] = from[i];", {"to": ["n"], "from": ["n"]}),
        ("for (int i = 0; i < n; i++) to[i] += from[i * n + i];", {"to": ["n"], "from": ["n", "n"]}),
        ("long at = i * n + j; to[at] = from[(k * n + j) * n + i];", {"to": ["n", "n"], "from": ["n"] * 3}),
        ("to[2 * i] = from[i + n] + from[i * 16 + j];", {"to": ["n"], "from": ["n"]}),
        ("to[i * n * n + j * n + k] = from[place(n) * n];", {"to": ["n"] * 3, "from": ["n"]}),
    ],
)
def test_an_array_grows_with_the_only_size_as_what_it_is_indexed_with(tmp_path, body, shapes):
    kernel = tmp_path / "k.c"
    kernel.write_text(f"void k(double *to, const double *from, int n) {{ {body} }}\n")
    kernel.with_suffix(".toml").write_text(scaffold(kernel, None))
    problem = load_problem(kernel)
    assert {one.name: one.shape for one in problem.arguments if one.shape} == shapes
    assert problem.sizes["n"] < (2**20 if max(map(len, shapes.values())) > 1 else 2**21)


def test_an_array_that_a_pointer_only_reads_is_no_output(tmp_path):
    kernel = tmp_path / "gray.c"
    kernel.write_text(
        "void gray(int w, int h, float *image, float *out) { for (int i = 0; i < w * h; i++) {"
        " float *pixel = &image[3 * i]; out[i] = pixel[0] + pixel[1]; } }\n"
    )
    kernel.with_suffix(".toml").write_text(scaffold(kernel, None))
    assert [one.name for one in load_problem(kernel).arguments if one.output] == ["out"]


def test_an_array_of_which_the_text_only_reads_elements_is_no_output(tmp_path):
    kernel = tmp_path / "gather.cu"
    kernel.write_text(
        "__device__ void move(float *to, float *from) { *to = *from; }\n"
        "__global__ void gather(float *to, float *from, int *which, int *shift, int n) {"
        " int row = which[blockIdx.x * n + blockIdx.y]; int by = 2 * shift[row] + 1;"
        " move(to + row * n + threadIdx.x, from + by * n + threadIdx.x); }\n"
    )
    kernel.with_suffix(".toml").write_text(scaffold(kernel, None))
    assert [one.name for one in load_problem(kernel).arguments if one.output] == ["to", "from"]


def test_an_array_that_is_written_through_a_pointer_to_its_element_is_an_output(tmp_path):
    kernel = tmp_path / "gray.c"
    kernel.write_text("void gray(float *to, float *from, int n) { float *p = &to[n / 2]; p[0] = from[0]; }\n")
    kernel.with_suffix(".toml").write_text(scaffold(kernel, None))
    assert [one.name for one in load_problem(kernel).arguments if one.output] == ["to"]


def test_the_main_function_of_a_program_is_no_kernel(tmp_path):
    kernel = tmp_path / "program.c"
    kernel.write_text(
        "void mainly(float *to, int n) { for (int i = 0; i < n; i++) to[i] = i; }\n"
        "int main(int argc, char **argv) { for (;;) for (;;) for (;;) mainly(0, argc); }\n"
    )
    assert ranked_kernels(kernel) == ["mainly"]


@pytest.mark.parametrize(
    ("source", "shapes", "sizes"),
    [
        ("#define N 64\nvoid k(double a[N][N], const double b[N]) { a[0][0] = b[0]; }", [["64", "64"], ["64"]], []),
        ("void k(int n, double a[n][n + 1], const double b[]) { a[0][0] = b[0]; }", [["n", "n + 1"], ["n"]], ["n"]),
    ],
)
def test_an_array_that_is_declared_with_its_extents_has_these(tmp_path, source, shapes, sizes):
    kernel = tmp_path / "k.c"
    kernel.write_text(source)
    kernel.with_suffix(".toml").write_text(scaffold(kernel, None))
    problem = load_problem(kernel)
    assert ([one.shape for one in problem.arguments if one.shape], list(problem.sizes)) == (shapes, sizes)


REALS = """\
#ifdef SINGLE
typedef float real;
#else
typedef double real;
#endif
#if WIDE > 1
typedef int index;
#endif
void k(real *to, const real *from, int n) { for (int i = 0; i < n; i++) to[i] = from[i]; }
"""


@pytest.mark.parametrize(("before", "dtype"), [("", "float64"), ("#define SINGLE\n", "float32")])
def test_a_type_that_depends_on_a_macro_is_that_of_the_build(tmp_path, before, dtype):
    kernel = tmp_path / "k.c"
    kernel.write_text(before + REALS)
    text = scaffold(kernel, None)
    for said in (text, text.replace(dtype, "float32"), text.replace(dtype, "float64")):  # a problem file knows better
        kernel.with_suffix(".toml").write_text(said)
        load_problem(kernel)
    assert text.count(f'dtype = "{dtype}"') == 2


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("#ifndef A\n1\n#else\n2\n#endif\n", "1"),
        ("#ifdef B\n1\n#elif defined(A)\n2\n#elif defined B\n3\n#else\n4\n#endif\n", "4"),
        ("#define A\n#if defined(A)\n1\n#ifdef B\n2\n#else\n3\n#endif\n#else\n4\n#ifndef B\n5\n#endif\n#endif\n", "13"),
        ("#if !defined(GIVEN)\n1\n#undef GIVEN\n#else\n2\n#endif\n#ifdef GIVEN\n3\n#endif\n", "23"),
        ("#if 0\n1\n#define A\n#endif\n#ifdef A\n2\n#elif 1\n3\n#endif\n", "3"),
        ("#ifdef __CUDA_ARCH__\n1\n#elif VERSION > 3\n2\n#else\n3\n#endif\n#endif\n#else\n", "123"),
        ("/*\n#ifdef A\n*/\n1\n#if N > 2\n2\n#endif\n", "12"),
    ],
)
def test_branches_are_left_out_where_it_is_certain(source, kept):
    active = active_source(source, {"GIVEN"})
    assert "".join(line for line in active.split("\n") if line.strip().isdecimal()) == kept
    assert all(active.count(one) == source.count(one) for one in ("#if", "#else", "#endif"))
    assert active.count("\n") == source.count("\n")


def test_a_kernel_behind_branches_that_are_left_out_keeps_its_template(tmp_path):
    file = tmp_path / "k.cu"
    branches = "#ifdef OTHER\n#define N 1\n#else\n#ifdef THIRD\n#define N 2\n#else\n#define N 3\n#endif // 3\n#endif\n"
    file.write_text(branches + "/*** it ***/\ntemplate <typename T>\n__global__ void k(T *x) { x[threadIdx.x] = N; }\n")
    assert 'name = "k<float>"' in scaffold(file, None)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("#ifdef GPU\n#include <stdio.h>\nHERE\n#endif\n", {"GPU"}),
        ("#if defined(GPU) && WITH_CUDA\nHERE\n#endif\n", {"GPU", "WITH_CUDA"}),
        ("#if GOOGLE_CUDA || TENSORFLOW_USE_ROCM\nHERE\n#endif\n", {"GOOGLE_CUDA"}),
        ("#ifdef A\n#ifdef B\n#endif\n#if (defined(C))\nHERE\n#endif\n#endif\n", {"A", "C"}),
        ("#ifndef K_CUH\n#define K_CUH\n#ifdef __CUDACC__\nHERE\n#endif\n#endif\n", set()),
        ("#ifdef A\n1\n#else\nHERE\n#endif\n", set()),
        ("#ifdef A\n1\n#elif defined B\nHERE\n#endif\n", {"B"}),
        ("#define A\n#ifdef A\nHERE\n#endif\n", set()),
        ("#if N > 2\nHERE\n#endif\n", set()),
    ],
)
def test_what_a_build_has_to_define_for_a_line_is_known(source, names):
    assert asked_around(source, source[: source.index("HERE")].count("\n") + 1) == names


def test_a_file_whose_kernels_are_all_below_a_macro_is_built_with_it(tmp_path):
    file = tmp_path / "k.cu"
    one = "__global__ void NAME(float *x) { x[threadIdx.x] = 1; }\n"
    file.write_text(f"#ifdef GPU\n{one.replace('NAME', 'a')}#ifdef MORE\n{one.replace('NAME', 'b')}#endif\n#endif\n")
    assert 'compiler_options = ["-DGPU"]  # GPU, without which it has no kernel: check' in scaffold(file, "a")
    file.write_text(f"{file.read_text()}{one.replace('NAME', 'c')}")
    assert "compiler_options" not in scaffold(file, "c")


def test_a_kernel_that_nothing_uses_is_not_the_first_choice(tmp_path):
    file = tmp_path / "k.cu"
    loops = "for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++) a[i] = j;"
    old = f"__global__ void old(float *a);\n__global__ void old(float *a) {{ {loops} }}\n"
    file.write_text(f"{old}template <typename T> __global__ void now(T *a) {{ a[threadIdx.x] = 1; }}\n")
    assert ranked_kernels(file) == ["old", "now"]
    file.write_text(f"{file.read_text()}void run(float *a) {{ now<float><<<64, 16>>>(a); }}\n")
    assert ranked_kernels(file) == ["now", "old"]


def test_a_program_whose_kernels_stand_in_a_file_beside_it_leads_there(tmp_path):
    one = "__global__ void NAME(T *a) { a[threadIdx.x] = 1; }\n"
    (tmp_path / "a.cu").write_text(one.replace("NAME", "other").replace("T", "int"))
    (tmp_path / "b.cu").write_text(b"\xff\xfe".decode("latin1") * 9, encoding="latin1")
    (tmp_path / "k.cu").write_text("template <typename T, int N>\n" + one.replace("NAME", "inner"))
    (tmp_path / "k.cuh").write_text("template <typename T, int N> __global__ void inner(T *a);\n")
    main = tmp_path / "main.cu"
    main.write_text('#include "k.cuh"\nint main() { float *a; inner<float, 4><<<64, 16>>>(a); }\n')
    assert file_of_kernels(main) == tmp_path / "k.cu"
    main.write_text('#include "k.cuh"\nint main() { }\n')
    assert file_of_kernels(main) == main


def test_a_kernel_that_another_file_launches_is_the_first_choice(tmp_path):
    file, host = tmp_path / "k.cu", tmp_path / "main.cu"
    loops = "for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++) a[i] = j;"
    file.write_text(
        f"__global__ void much(int *a) {{ {loops} }}\n__global__ void one(int *a) {{ a[threadIdx.x] = 1; }}\n"
    )
    host.write_text("int main() { int *a; one<<<64, 16>>>(a); }\n")
    assert launched_first(file, ranked_kernels(file), host) == ["one", "much"]
