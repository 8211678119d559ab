"""What hosts say by elements of arrays, members of structures and macros, and what they fill arrays with."""

import pytest

from tests.problem.examples import drafted
from tui_tuner.errors import ProblemError

PLACE = "int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;"
COPY = (
    f"__global__ void k(const float *x, float *y, int rows, int cols) {{ {PLACE} if (r < rows && c < cols) "
    "y[r * cols + c] = x[r * cols + c]; }\n"
)
LAUNCH = "k<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(x, y, rows, cols);"


@pytest.mark.parametrize(
    ("host", "sizes"),
    [
        (
            "void run(float *x, float *y, const int *shape) { int rows = shape[0], cols = shape[1]; LAUNCH }",
            (None, None),
        ),
        (
            "void run(float *x, float *y, float *file) { int rows, cols; rows = file[0]; cols = file[1]; LAUNCH }",
            (None, None),
        ),
        (
            "void run(float *x, float *y) { int shape[] = {400, 500}; int rows = shape[0], cols = shape[1]; LAUNCH }",
            (400, 500),
        ),
        (
            "void run(float *x, float *y, int rows, int cols) { LAUNCH }\nint main() { float *x, *y;"
            " std::vector<int> sizes{400, 500, 600}; run(x, y, sizes[1], sizes[2]); }",
            (500, 600),
        ),
        (
            "void run(float *x, float *y, const int *of) { int rows = of[0], cols = of[1]; LAUNCH }\n"
            "int main() { float *x, *y; std::vector<int> sizes = {400, 500}; run(x, y, sizes.data()); }",
            (400, 500),
        ),
        (
            "void run(float *x, float *y, const int *of, int n) { for (int i = 0; i + 1 < n; i++) {"
            " int rows = of[i], cols = of[i + 1]; LAUNCH } }",
            (None, None),
        ),
    ],
)
def test_elements_of_an_array_are_as_many_sizes_as_there_are_different_ones(tmp_path, host, sizes):
    problem, text = drafted(tmp_path, COPY + host.replace("LAUNCH", LAUNCH))
    values = {one.name: one.value for one in problem.arguments}
    assert (values["rows"], values["cols"]) == ("rows", "cols")
    assert problem.launch.problem_size == ["cols", "rows"]
    for name, number in zip(("rows", "cols"), sizes, strict=True):
        assert f"{name} = {number}  # as the host has it" in text or number is None


def test_elements_of_other_loops_are_other_sizes(tmp_path):
    host = (
        "void run(float *x, float *y, const int *shape, int axis, int n) { int rows = 1, cols = 1;"
        " for (int i = 0; i < axis; i++) rows *= shape[i]; for (int i = axis; i < n; i++) cols *= shape[i]; LAUNCH }"
    )
    problem, _ = drafted(tmp_path, COPY + host.replace("LAUNCH", LAUNCH))
    assert problem.launch.problem_size == ["cols", "rows"]


def test_an_element_that_is_set_later_is_no_number_of_its_list(tmp_path):
    host = (
        "int main() { float *x, *y; int shape[2] = {0, 0}; read_into(shape); int rows = shape[0], cols = shape[1];"
        + LAUNCH
        + " }"
    )
    problem, _ = drafted(tmp_path, COPY + host)
    assert problem.launch.problem_size == ["cols", "rows"]


INSIDE = "__global__ void k(const float *x, float *y, int n) { int i = blockIdx.x * OUT + threadIdx.x - R; "
INSIDE += "if (threadIdx.x >= R && threadIdx.x < TILE - R && i < n) y[i] = x[i]; }\n"


@pytest.mark.parametrize(
    "macro",
    [
        "#define OUT ((TILE) - 2 * (R))\n",
        "#define WIDE (TILE)\n#define BOTH(r) ((r) + (r))\n#define OUT ((WIDE) - BOTH(R))\n",
        "#define OUT ((int)(TILE) - ((R) + (R)))\n",
    ],
)
def test_a_name_in_parentheses_before_a_sign_is_no_cast(tmp_path, macro):
    host = "void run(float *x, float *y, int n) { k<<<ceil(n / (float)OUT), TILE>>>(x, y, n); }"
    problem, _ = drafted(tmp_path, f"#define TILE 8\n#define R 1\n{macro}{INSIDE}{host}")
    assert problem.launch.grid_div_x == ["TILE - 2"]


def test_a_name_of_a_type_in_parentheses_before_a_sign_is_a_cast(tmp_path):
    host = "typedef long count;\nvoid run(float *x, float *y, int n) { int m = (count) -n + 2 * n; LAUNCH }"
    host = host.replace("LAUNCH", "k<<<m / 8, 8>>>(x, y, m);")
    problem, _ = drafted(tmp_path, f"#define TILE 8\n#define R 1\n#define OUT 8\n{INSIDE}{host}")
    assert not {"count", "n_count"} & problem.sizes.keys()


@pytest.mark.parametrize("grid", ["dim3((n + 15) / 16, 1)", "(n + 15) / 16"])
def test_threads_of_a_block_that_the_kernel_does_not_tell_apart_are_the_hosts_too(tmp_path, grid):
    kernel = (
        "__global__ void k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = i; }\n"
    )
    host = f"void run(float *x, int n) {{ dim3 block(16, 8); k<<<{grid}, block>>>(x, n); }}"
    problem, _ = drafted(tmp_path, kernel + host)
    assert problem.defaults == {"block_size_x": 16, "block_size_y": 8}
    assert problem.tunables["block_size_y"] == [1, 8]


@pytest.mark.parametrize(
    "declared",
    [
        "struct Config { int block = 128; int grid = 64; };\nstatic Config cfg;\n",
        "struct Config { int block; int grid; };\nstatic Config cfg{128, 64};\n",
        "struct Config { int block, grid = 64; };\nstatic Config cfg = {128};\n",
        "struct Part { int threads; };\nstruct Config { Part part; int grid; } ;\nConfig cfg = {{128}, 64};\n",
    ],
)
def test_members_of_a_variable_outside_of_functions_have_what_it_is_declared_with(tmp_path, declared):
    block = "cfg.part.threads" if "part" in declared else "cfg.block"
    kernel = (
        "__global__ void k(const float *x, float *y, int n) {"
        " for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i]; }\n"
    )
    problem, _ = drafted(
        tmp_path, f"{declared}{kernel}void run(float *x, float *y, int n) {{ k<<<cfg.grid, {block}>>>(x, y, n); }}"
    )
    assert problem.defaults == {"block_size_x": 128}
    assert problem.launch.problem_size == ["64"]
    assert problem.sizes.keys() == {"n"}


def test_where_parts_begin_is_no_number_of_any_order_though_the_host_lists_it(tmp_path):
    kernel = (
        "__global__ void k(int n, const float *a, const int *at, float *y) { int r = blockIdx.x * 256 + threadIdx.x;"
        " if (r < n) { float s = 0; for (int i = at[r]; i < at[r + 1]; i++) s += a[i]; y[r] = s; } }\n"
    )
    host = (
        "int main() { int h_at[] = {0, 3, 6, 7, 9}; float *a, *y; int *at; cudaMalloc(&a, 9 * 4); cudaMalloc(&y, 16);"
        " cudaMalloc(&at, 20); cudaMemcpy(at, h_at, 20, cudaMemcpyHostToDevice); k<<<1, 256>>>(4, a, at, y); }"
    )
    problem, _ = drafted(tmp_path, kernel + host)
    (offsets,) = (one for one in problem.arguments if one.name == "at")
    assert (offsets.fill, offsets.high) == ("offsets", "9")


@pytest.mark.parametrize(
    ("kernel", "host", "fill", "said"),
    [
        ("atomicAdd(y, x[i]);", "cudaMemset(y, 0, 4);", "zeros", "as the host sets it"),
        ("atomicAdd(&y[i % 4], x[i]);", "cudaMemsetAsync(y, 0, 16, stream);", "zeros", "as the host sets it"),
        ("atomicAdd(y, x[i]);", "cudaMemset(y, 0, 4); cudaMemcpy(y, h, 4, cudaMemcpyHostToDevice);", "normal", None),
        ("y[i] += x[i];", "cudaMemset(y, 0, n * 4);", "normal", "the host sets it to 0, by which no test"),
        ("y[i] = fmaxf(y[i], x[i]);", "", "normal", None),
    ],
)
def test_what_the_host_sets_an_array_to_is_drafted_where_it_hides_nothing_and_told_elsewhere(
    tmp_path, kernel, host, fill, said
):
    text = f"__global__ void k(float *y, const float *x, int n) {{ int i = blockIdx.x * 64 + threadIdx.x; {kernel} }}\n"
    problem, text = drafted(
        tmp_path, f"{text}void run(float *y, float *x, int n) {{ {host} k<<<n / 64, 64>>>(y, x, n); }}"
    )
    assert problem.arguments[0].fill == fill
    assert said in text if said else "the host sets it" not in text


def test_what_a_tensor_is_made_full_of_is_told(tmp_path):
    text = (
        "__global__ void k(float *m, const float *x, int n) { int i = blockIdx.x * 64 + threadIdx.x;"
        " if (i < n) m[i] = fmaxf(m[i], x[i]); }\n"
        "void run(torch::Tensor x) { int n = x.size(0); auto m = torch::full({n}, -INFINITY, x.options());"
        " k<<<n / 64, 64>>>(m.data_ptr<float>(), x.data_ptr<float>(), n); }"
    )
    _, text = drafted(tmp_path, text)
    assert "the host sets it to -INFINITY" in text


@pytest.mark.parametrize("grid", ["(w * h + 255) / 256", "dim3((w + 255) / 256, h)"])
def test_a_size_that_is_made_of_others_is_that_where_they_stand_by_themselves_too(tmp_path, grid):
    text = (
        "__global__ void k(unsigned char *x, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) x[i]++; }\n"
        "int main(int argc, char **argv) { int w = width(argv[1]), h = height(argv[1]), all = w * h;"
        f" unsigned char *d; cudaMalloc(&d, all); k<<<{grid}, 256>>>(d, all); }}"
    )
    problem, _ = drafted(tmp_path, text)
    assert problem.sizes.keys() == {"w", "h"}
    assert [one.shape or one.value for one in problem.arguments] == [["w * h"], "w * h"]


def test_a_size_of_a_size_that_is_made_of_others_is_that_where_they_stand_by_themselves_too(tmp_path):
    text = (
        "__global__ void k(const float *x, float *y) { int i = blockIdx.x * 256 + threadIdx.x; y[i] = x[i]; }\n"
        "int main(int argc, char **argv) { int w = width(argv[1]), h = height(argv[1]), area = w * h, all = 2 * area;"
        " float *x, *y; cudaMalloc(&x, all * sizeof(float)); cudaMalloc(&y, w * h * sizeof(float));"
        " k<<<(w * h + 255) / 256, 256>>>(x, y); }"
    )
    problem, _ = drafted(tmp_path, text)
    assert problem.sizes.keys() == {"w", "h"}
    assert [one.shape for one in problem.arguments] == [["2 * w * h"], ["w * h"]]


def test_a_size_that_is_made_of_others_which_stand_nowhere_else_is_one(tmp_path):
    text = (
        "__global__ void k(unsigned char *x, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) x[i]++; }\n"
        "int main(int argc, char **argv) { int w = width(argv[1]), h = height(argv[1]), all = w * h;"
        " unsigned char *d; cudaMalloc(&d, all); k<<<(all + 255) / 256, 256>>>(d, all); }"
    )
    problem, _ = drafted(tmp_path, text)
    assert problem.sizes.keys() == {"n"}


@pytest.mark.parametrize(("memory", "is_size"), [("WORDS * WORDS * 4", True), ("ALL", True), ("96 * 96 * 4", False)])
def test_a_macro_that_says_how_large_arrays_are_is_no_tunable_though_it_makes_the_block(tmp_path, memory, is_size):
    text = (
        "#define WORDS 96\n#define ALL (4 * WORDS * WORDS)\n"
        "__global__ void k(const float *x, float *y) { if (threadIdx.x < WORDS) y[blockIdx.x * 96] = x[0]; }\n"
        f"int main() {{ float *x, *y; cudaMalloc(&x, 384); cudaMalloc(&y, {memory}); k<<<96, WORDS>>>(x, y); }}"
    )
    problem, _ = drafted(tmp_path, text)
    assert problem.tunables.keys() == (set() if is_size else {"WORDS"})
    assert problem.launch.block_size == (["96"] if is_size else ["WORDS"])


@pytest.mark.parametrize(
    "kind",
    [
        "const torch::PackedTensorAccessor32<T, 2, torch::RestrictPtrTraits>",
        "at::GenericPackedTensorAccessor<float, 2>",
        "const at::cuda::detail::TensorInfo<int64_t, int>",
    ],
)
@pytest.mark.parametrize("others", ["", ", float *y"])
def test_what_only_pytorch_makes_of_a_tensor_is_named_with_what_to_pass(tmp_path, kind, others):
    kernel = f"template <typename T> __global__ void k({kind} given{others}) {{ given[0][threadIdx.x] = 1; }}"
    with pytest.raises(ProblemError) as error:
        drafted(tmp_path, kernel)
    assert "argument 'given' of k() is of type" in error.value.message
    assert kind.partition("<")[0].rpartition("::")[2] in error.value.message
    assert "data_ptr" in (error.value.hint or "")


@pytest.mark.parametrize(
    "named",
    [
        "#define Cells torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits>",
        "using Cells = at::PackedTensorAccessor64<float, 2>;",
        "typedef torch::TensorAccessor<float, 2> Cells;",
    ],
)
def test_and_so_it_is_by_another_name(tmp_path, named):
    with pytest.raises(ProblemError) as error:
        drafted(tmp_path, f"{named}\n__global__ void k(const Cells given, float *y) {{ y[0] = given[0][0]; }}")
    assert "is of type const Cells, which only PyTorch makes of a tensor" in error.value.message
    assert "data_ptr" in (error.value.hint or "")


def test_a_guess_gives_way_to_the_hosts_own_size_where_arrays_are_too_large(tmp_path):
    kernel = (
        "__global__ void walk(float *at, const float *by, int n, int steps) {\n"
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;\n"
        "for (int s = 0; s < steps; s++) at[i] += by[s * n + i]; }\n"
    )
    host = (
        "int main(int argc, char **argv) { int n = 150000, steps = atoi(argv[1]); float *at, *by;"
        " cudaMalloc(&at, n * sizeof(float)); cudaMalloc(&by, n * steps * sizeof(float));"
        " walk<<<(n + 255) / 256, 256>>>(at, by, n, steps); }"
    )
    problem, text = drafted(tmp_path, kernel + host)
    assert problem.sizes["n"] == 150000
    assert "n = 150000  # as the host has it" in text
    assert 32 <= problem.sizes["steps"] <= 128


def test_fractions_of_the_hosts_numbers_are_what_they_come_to(tmp_path):
    kernel = (
        "__global__ void step(const double *u, double *v, int n, double dt, double r) {\n"
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) v[i] = u[i] + dt * r * u[i]; }\n"
    )
    host = (
        "int main() { int n = 100000, steps = 10; double *u, *v; cudaMalloc(&u, n * sizeof(double));"
        " cudaMalloc(&v, n * sizeof(double)); double dt = 0.5 / steps; double r = 0.1 * dt + 1.0 / n;"
        " for (int t = 0; t < steps; t++) step<<<(n + 255) / 256, 256>>>(u, v, n, dt, r); }"
    )
    problem, text = drafted(tmp_path, kernel + host)
    values = {one.name: one.value for one in problem.arguments}
    assert values["dt"] == pytest.approx(0.05)
    assert values["r"] == pytest.approx(0.005 + 1e-5)
    assert "value = 0.05  # as the host passes it" in text


def test_numbers_that_the_host_draws_bound_what_an_output_holds_before_too(tmp_path):
    kernel = (
        "__global__ void join(int *parent, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < n) parent[i] = parent[i] / 2 + 1; }\n"
    )
    host = (
        "int main() { int n = 100000; int *of = new int[n]; int *parent;"
        " for (int i = 0; i < n; i++) of[i] = rand() % 77 + 3; cudaMalloc(&parent, n * sizeof(int));"
        " cudaMemcpy(parent, of, n * sizeof(int), cudaMemcpyHostToDevice);"
        " join<<<(n + 255) / 256, 256>>>(parent, n); }"
    )
    problem, _ = drafted(tmp_path, kernel + host)
    parent = problem.arguments[0]
    assert (parent.output, parent.fill, parent.low, parent.high) == (True, "integers", 3, "80")


@pytest.mark.parametrize(("kind", "dtype"), [("double", "float64"), ("long", "int64"), ("unsigned char", "uint8")])
def test_a_type_that_a_template_of_the_host_leaves_open_is_what_it_is_called_with(tmp_path, kind, dtype):
    kernel = (
        "template <typename T> __global__ void scale(T *out, const T *in, int n) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = in[i] * 2; }\n"
    )
    host = (
        "template <typename S> void run(size_t n) { S *a, *b; cudaMalloc(&a, n * sizeof(S));"
        " cudaMalloc(&b, n * sizeof(S)); scale<<<(n + 255) / 256, 256>>>(b, a, n); }\n"
        f"template <typename Q> void all() {{ run<Q>(100000); }}\nint main() {{ all<char>(); all<{kind}>(); }}"
    )
    problem, _ = drafted(tmp_path, kernel + host)
    assert problem.kernel.name == f"scale<{kind}>"
    assert [(one.dtype, one.shape) for one in problem.arguments[:2]] == [(dtype, ["n"])] * 2


@pytest.mark.parametrize(
    ("made", "is_power"),
    [("pow(2, k)", True), ("(int) std::pow(2.0, k)", True), ("exp2(k)", True), ("3 * pow(2, k)", False)],
)
def test_a_size_that_the_host_makes_as_a_power_of_two_stays_one(tmp_path, made, is_power):
    kernel = (
        "__global__ void swap(int *x, int half) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " int to = i ^ half; if (to > i && x[i] > x[to]) { int t = x[i]; x[i] = x[to]; x[to] = t; } }\n"
    )
    host = (
        f"void sort(int *host, int k) {{ int size = {made}; int *x; cudaMalloc(&x, size * sizeof(int));"
        " swap<<<size / 256, 256>>>(x, 1); }\nint main(int argc, char **argv) { sort(0, atoi(argv[1])); }"
    )
    problem, _ = drafted(tmp_path, kernel + host)
    tested = problem.tests[-1].sizes["size"]
    assert (tested & (tested - 1) == 0) is is_power


@pytest.mark.parametrize(
    ("body", "low"),
    [
        ("y[i] = x[i] / (float) counts[i];", 1),
        ("int c = counts[i]; y[i] = x[i] / c;", 1),
        ("y[i] = x[i] / (counts[i] + 1);", None),
        ("if (counts[i] > 0) y[i] = x[i] / counts[i]; else y[i] = 0;", None),
        ("y[i] = x[i] * counts[i];", None),
    ],
)
def test_whole_numbers_that_a_kernel_divides_by_are_never_0(tmp_path, body, low):
    kernel = (
        "__global__ void mean(const float *x, const int *counts, float *y, int n) {"
        f" int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; {body} }}\n"
    )
    problem, _ = drafted(tmp_path, kernel)
    assert problem.arguments[1].low == low


def test_a_macro_of_a_count_of_blocks_without_parentheses_counts_what_it_is_given(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "#define THREADS 256\n#define BLOCKS(N) (N + THREADS - 1) / THREADS\n"
        "__global__ void k(int *to, long n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i <= n) to[i]++; }\n"
        "void run(torch::Tensor to) { k<<<BLOCKS(to.numel() + 2), THREADS>>>(to.data_ptr<int>(), to.numel()); }\n",
    )
    assert problem.launch.problem_size == ["n + 2"]


def test_threads_that_a_kernel_numbers_through_a_grid_of_cooperative_groups_have_any_block(tmp_path):
    kernel = (
        "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
        "__global__ void k(float *x, int n) { auto i = cg::GROUP().thread_rank(); if (i < n) x[i] += 1; }\n"
        "void run(float *x, int n) { k<<<(n + 255) / 256, 256>>>(x, n); }\n"
    )
    free, _ = drafted(tmp_path, kernel.replace("GROUP", "this_grid"))
    fixed, _ = drafted(tmp_path, kernel.replace("GROUP", "this_thread_block"))
    assert free.defaults == {"block_size_x": 256}
    assert fixed.launch.block_size == ["256"]


@pytest.mark.parametrize("passed", ["width", "width / 4"])
def test_a_length_of_rows_that_is_passed_in_vectors_is_a_size_like_one_that_is_passed_in_elements(tmp_path, passed):
    problem, _ = drafted(
        tmp_path,
        "__global__ void act(float *y, const float *x, int stride, int rounds) {"
        " for (int i = 0; i < rounds; i++) { int at = i * blockDim.x + threadIdx.x;"
        " if (at < stride) y[blockIdx.x * stride + at] = 2 * x[blockIdx.x * stride + at]; } }\n"
        "void launch(float *y, const float *x, int width, int batch) {\n"
        "  int rounds = (width + 1023) / 1024, threads = (width - 1) / (rounds * 4) + 1;\n"
        f"  act<<<batch, threads>>>(y, x, {passed}, rounds);\n}}\n",
    )
    size = "stride" if passed == "width" else "width"
    assert problem.sizes[size] == 1024
    assert [one.value for one in problem.arguments if one.shape is None] == [
        passed.replace("width / 4", "width // 4").replace("width", size),
        f"ceil_div({size}, 1024)",
    ]
