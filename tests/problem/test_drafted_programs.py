"""What whole programs say of a kernel: what they do where nothing is given, which launch is theirs, what they fill."""

import pytest

from tests.problem.examples import drafted
from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.arithmetic.c_expressions import arithmetic
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.kernel.order import in_any_order
from tui_tuner.problem.draft.kernel.reach import elements_reached
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.signature import find_kernel
from tui_tuner.problem.syntax import with_macros

ONE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
SCALE = f"__global__ void k(float *to, const float *from, int n) {{ {ONE} if (i < n) to[i] = from[i]; }}\n"


def drafted_of(tmp_path, source):
    problem, text = drafted(tmp_path, source)
    return problem, text, {one.name: one for one in problem.arguments}


def test_launches_by_macros_come_in_the_order_of_these():
    names = [f"LAUNCH_{name}" for name in ("ROWS", "ALL", "FEW", "MANY", "TILES", "HALVES", "REST", "ONE")]
    code = "".join(f"#define {name}(n) k<<<n, 64>>>(a, n)\n" for name in names)
    code += f"void go(int n) {{ {' '.join(f'{name}(n);' for name in names)} }}\n"
    places = [place for _, place in HostProgram(code, []).uses_of_macros("<<<")]
    assert places == [code.index(f"{name}(n);") for name in names]


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("argc > 1 ? atoi(argv[1]) : 2048", 2048),
        ("(c > 1) ? std::strtoul(v[1], 0, 10) : (1 << 11)", 2048),
        ("argc == 1 ? 2048 : std::stoi(argv[1])", 2048),
        ('getenv("N") ? atoi(getenv("N")) : 2048', 2048),
    ],
)
def test_a_size_that_may_be_given_is_what_it_is_where_it_is_not(tmp_path, written, number):
    host = f"int main(int argc, char **argv) {{ int n = {written}; float *a, *b; cudaMalloc(&a, n * 4);"
    problem, text, _ = drafted_of(
        tmp_path, SCALE + host + " cudaMalloc(&b, n * 4); k<<<(n + 255) / 256, 256>>>(a, b, n); }"
    )
    assert problem.sizes == {"n": number}
    assert f"n = {number}  # as the host has it" in text


def test_a_function_with_names_of_its_own_and_a_limit_counts_blocks(tmp_path):
    source = SCALE + (
        "inline int blocks_of(const int all) { int b = (all + 256 - 1) / 256; return b < 65535 ? b : 65535; }\n"
        "int main() { const int n = 70000; float *a, *b; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);"
        " k<<<blocks_of(n), 256>>>(a, b, n); }"
    )
    problem, _, _ = drafted_of(tmp_path, source)
    assert (problem.launch.problem_size, problem.launch.grid_div_x) == (["n"], None)


def test_a_function_that_asks_for_the_device_counts_blocks(tmp_path):
    source = SCALE + (
        "int blocks_of(size_t all) { size_t b = (all + 255) / 256; cudaDeviceProp device;"
        " cudaGetDeviceProperties(&device, 0); size_t most = min((size_t)device.maxGridSize[0], b); return most; }\n"
        "int main() { const int n = 70000; float *a, *b; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);"
        " k<<<blocks_of(n), 256>>>(a, b, n); }"
    )
    problem, _, _ = drafted_of(tmp_path, source)
    assert (problem.launch.problem_size, problem.launch.grid_div_x) == (["n"], None)


def test_a_product_begins_with_a_name_that_is_cast(tmp_path):
    source = SCALE + (
        "void go(int rows, int columns) { size_t n = static_cast<size_t>(rows) * columns; float *a, *b;"
        " cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4); k<<<n / 64, 64>>>(a, b, n); }\n"
        "int main() { go(96, 1000); }"
    )
    problem, text, _ = drafted_of(tmp_path, source)
    assert problem.sizes == {"n": 96000}
    assert "n = 96000  # as the host has it" in text


@pytest.mark.parametrize("step", ["r += 2", "r = r + 2"])
def test_a_name_for_what_a_loop_counts_is_what_that_is_halfway(tmp_path, step):
    source = (
        "__global__ void k(float *to, const float *from, int n, int radius) {"
        f" {ONE} if (i < n) to[i] = from[i] * radius; }}\n"
        "void go(int n, int radius) { float *a, *b; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);"
        " k<<<n / 64, 64>>>(a, b, n, radius); }\n"
        f"int main() {{ for (int r = 1; r <= 9; {step}) {{ int radius = r; go(8192, radius); }} }}"
    )
    _, _, arguments = drafted_of(tmp_path, source)
    assert arguments["radius"].value == 5


def test_a_structure_that_a_function_makes_has_what_it_sets(tmp_path):
    source = (
        "struct Rows { int count; int *at; };\n"
        f"__global__ void k(Rows r, float *y) {{ {ONE} if (i < r.count) y[i] = r.at[i]; }}\n"
        "static Rows make_rows(int rows) { Rows r; r.count = rows; cudaMalloc(&r.at, sizeof(int) * rows); return r; }\n"
        "int main() { const int n = 5000; Rows r = make_rows(n); float *y; cudaMalloc(&y, n * sizeof(float));"
        " k<<<(n + 127) / 128, 128>>>(r, y); }"
    )
    problem, _, arguments = drafted_of(tmp_path, source)
    assert arguments["r"].members[0].value == problem.launch.problem_size[0]
    assert arguments["r_at"].shape == problem.launch.problem_size
    assert list(problem.sizes.values()) == [5000]


def test_memory_that_a_function_takes_for_a_vector_holds_as_much(tmp_path):
    source = SCALE + (
        "template <class T> T *upload(const std::vector<T> &v)"
        " { T *p; cudaMalloc(&p, v.size() * sizeof(T)); return p; }\n"
        "int main() { const int n = 9000; std::vector<float> A((size_t)n * 3), B(n);"
        " auto a = upload(A); auto b = upload(B);"
        " k<<<(n + 255) / 256, 256>>>(a, b, n); }"
    )
    _, _, arguments = drafted_of(tmp_path, source)
    assert (arguments["to"].shape, arguments["from"].shape) == (["n * 3"], ["n"])


CHOICES = {
    "if": "if (each == 2) k<2><<<all / 64, 64>>>(a, n);\n else if (each == 4) k<4><<<all / 64, 64>>>(a, n);",
    "switch": "switch (each) { case 2: k<2><<<all / 64, 64>>>(a, n); break; case 4: k<4><<<all / 64, 64>>>(a, n); }",
}


@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
def test_of_several_launches_the_hosts_numbers_choose_and_what_they_choose_by_is_no_size(tmp_path, choice):
    source = (
        f"template <int EACH> __global__ void k(float *a, int n) {{ {ONE} if (i < n)"
        " for (int j = 0; j < EACH; j++) a[i * EACH + j] = j; }\n"
        f"void run(float *a, int n, int each, int all) {{\n {choice}\n}}\n"
        "int main() { int n = 4096, each = 4; float *a; cudaMalloc(&a, n * each * sizeof(float)); run(a, n, each, n); }"
    )
    problem, _, arguments = drafted_of(tmp_path, source)
    assert problem.kernel.name == "k<4>"
    assert (list(problem.sizes), arguments["a"].shape) == (["n"], ["n * 4"])


def test_a_block_made_of_a_size_is_that_and_a_power_of_two_stays_one(tmp_path):
    source = (
        "__global__ void k(float *a, const float *b, int len) { int i = blockIdx.x * len + threadIdx.x;"
        " a[i] = b[i]; a[i + len / 2] = b[i + len / 2]; }\n"
        "void run(float *a, float *b, int count, int len) { assert((len & (len - 1)) == 0);"
        " k<<<count, len / 2>>>(a, b, len); }\n"
        "int main() { int N = 1 << 16, len = 256; float *a, *b; cudaMalloc(&a, N * 4); cudaMalloc(&b, N * 4);"
        " run(a, b, N / len, len); }"
    )
    problem, _, _ = drafted_of(tmp_path, source)
    assert (problem.launch.block_size, problem.tunables) == (["len // 2"], {})
    sizes = [problem.sizes, *(test.sizes for test in problem.tests), problem.on_emulator().sizes]
    assert all(one & one - 1 == 0 for each in sizes for one in each.values())


def test_a_number_of_a_template_leaves_the_block_alone_where_the_host_says_how_much_memory_is_shared(tmp_path):
    source = (
        "template <int D> __global__ void k(float *y, const float *x, int n) {\n"
        f"extern __shared__ float near[]; {ONE} near[threadIdx.x] = 0;"
        " if (i < n) y[i] = x[i * D] + near[threadIdx.x]; }\n"
        "int main() { constexpr int D = 4; const int n = 5000, threads = 256; float *y, *x; cudaMalloc(&y, n * 4);"
        " cudaMalloc(&x, n * D * sizeof(float)); "
        "k<D><<<(n + threads - 1) / threads, threads, threads * 4>>>(y, x, n); }"
    )
    problem, _, _ = drafted_of(tmp_path, source)
    assert problem.kernel.name == "k<4>"
    assert problem.defaults == {"block_size_x": 256}
    assert problem.launch.shared_memory == "block_size_x * 4"


def test_a_block_of_so_many_warps_is_as_large_as_the_text_has_it_and_rows_are_whole_groups(tmp_path):
    source = (
        "#define WARPS 4\n#define GROUP 128\n"
        "__global__ void k(float *y, const float *w, const float *s, int n, int m) {"
        " int row = blockIdx.x * WARPS + threadIdx.x / 32; if (row >= n) return;"
        " for (int j = threadIdx.x % 32; j < m; j += 32)"
        " y[row] += w[row * m + j] * s[row * (m / GROUP) + j / GROUP]; }\n"
        "int main() { const int n = 1000, m = 1280, groups = m / GROUP; float *y, *w, *s; cudaMalloc(&y, n * 4);"
        " cudaMalloc(&w, n * m * 4); cudaMalloc(&s, n * groups * 4);"
        " k<<<(n + WARPS - 1) / WARPS, WARPS * 32>>>(y, w, s, n, m); }"
    )
    problem, _, arguments = drafted_of(tmp_path, source)
    assert (problem.launch.block_size, problem.launch.grid_div_x, problem.tunables) == (["128"], ["4"], {})
    assert arguments["s"].shape == ["n * (m // 128)"]
    assert [test.sizes["m"] % 128 for test in problem.tests] == [0] * len(problem.tests)


def test_what_a_kernel_counts_to_stays_within_rows_that_are_a_little_longer(tmp_path):
    source = (
        f"__global__ void k(float *a, int rows, int used, int row) {{ {ONE} if (i >= rows) return;"
        " float *mine = a + (size_t)i * row; for (int j = 0; j < used; j++) mine[j] *= 2; }\n"
        "int main() { const int rows = 512, used = 20257, row = 20352; float *a;"
        " cudaMalloc(&a, (size_t)rows * row * sizeof(float)); k<<<rows / 64, 64>>>(a, rows, used, row); }"
    )
    problem, _, arguments = drafted_of(tmp_path, source)
    assert problem.sizes == {"rows": 512, "used": 20257, "row": 20352}
    on_emulator = problem.on_emulator()
    sizes = [on_emulator.sizes, *(test.sizes for test in on_emulator.tests)]
    assert all(one["used"] < one["row"] < 20352 for one in sizes)
    assert (arguments["a"].output, arguments["a"].fill) == (True, "normal")  # `mine` is read


REACHED = [
    ("for (int r = 0; r < m; ++r) { const long at = r * n + i; s += a[at]; }", "m * n"),
    ("for (int r = 0; r < m; ++r) s += a[r];", "m"),
    ("const float *mine = a + (size_t)i * m; for (int j = 0; j < m; j++) s += mine[j];", "m * n"),
    (
        "const float *mine = a + i * m; const float *part = mine + 0; for (int j = 0; j < m; j++) s += part[j];",
        "m * n",
    ),
    ("for (int r = 0; r < m; ++r) s += a[i * m / n];", "m"),
    ("for (int r = 0; r < m; ++r) s += a[i * (m / 4) + r % (m / 4)];", "(m // 4) * n"),
    ("for (int r = 0; r < m; ++r) s += a[r / 16];", "ceil_div(m, 16)"),
    ("s = a == nullptr ? 0 : a[i];", "n"),
    ("s = a[i] + a[i + 1];", "n + 1"),
    ("for (int r = 1; r <= m; ++r) s += a[0] + a[r];", "m + 1"),
    ("for (int q = -2; q <= 2; q++) for (int r = 2; r >= -2; r--) s += a[r * 5 + q + 12];", "25"),
    ("for (int r = 1; 2 * r < m; ++r) s += a[0] + a[r];", ""),
    ("s = a[i] + a[2 * n + i] + a[n + i];", "3 * n"),
    ("for (int r = 0; r < n - m; ++r) s += a[r + m];", "n"),
    ("for (int r = 0; r < n - m % 8; ++r) s += a[r];", ""),
    ("for (int r = 0; r < n - m; ++r) s += a[r];", ""),
    ("int last = min((m + 31) / 32 * (int)threadIdx.x + 7, m); for (int r = 0; r <= last; ++r) s += a[r];", "m + 1"),
    ("int last = max(4, m); for (int r = 0; r <= last; ++r) s += a[r];", ""),
    ("s = a[i]; for (int r = 0; r < m; ++r) s += a[r];", ""),
    ("s = a[i]; other(a);", ""),
    ("s = a[which[i]];", ""),
]


@pytest.mark.parametrize(("body", "elements"), REACHED)
def test_loops_and_guards_say_how_far_a_kernel_reaches(body, elements):
    work = f"{ONE} if (i < n) {{ float s = 0; {body} y[i] = s; }}"
    source = f"__global__ void k(float *y, const float *a, const int *which, int m, int n) {{ {work} }}"
    signature = find_kernel(source, "cuda", "k")
    assert elements_reached(signature, "a", {"m", "n"}, {}) == elements
    assert elements_reached(signature, "y", {"m", "n"}, {}) == "n"


ANY_ORDER = [
    ("int at = atomicAdd(count, 1); if (at < 9) out[at] = i;", "out"),
    ("out[atomicAdd(count, 1)] = i;", "out"),
    ("if (atomicCAS(&count[i], -1, 1) == -1) { out[i] = i; }", "out"),
    ("if (atomicExch(&count[i], 1) == 0) out[i] = level;", ""),
    ("int w = i; while (true) { int p = atomicCAS(&out[w], -1, i); if (p == -1) return; w = (w + 1) & 7; }", "out"),
    ("int row = atomicAdd(count, 1); out[row] = in[row];", ""),
    ("int at = atomicAdd(count, 1); out[at] = i; in[at] = level;", "out"),
    ("int old = out[i], seen; do { seen = old; old = atomicCAS(&out[i], seen, seen + 1); } while (old != seen);", ""),
    ("atomicAdd(&out[in[i]], 1);", ""),
]


@pytest.mark.parametrize(("body", "array"), ANY_ORDER)
def test_what_the_order_of_threads_decides_is_told_apart(body, array):
    source = f"__global__ void k(int *out, int *count, const int *in, int level) {{ {ONE} {body} }}"
    found = in_any_order(find_kernel(source, "cuda", "k"))
    assert (found.array if found else "") == array


def test_what_threads_append_is_refused_with_its_line(tmp_path):
    kernel = tmp_path / "found.cu"
    kernel.write_text(
        "__global__ void k(int *out, int *count,\n  const int *in, int *where)\n"
        "{\n  int at = atomicAdd(count, 1); out[at] = in[threadIdx.x]; where[at] = threadIdx.x;\n}\n"
    )
    with pytest.raises(ProblemError, match="holds what threads append in the order in which they come") as error:
        scaffold(kernel, None)
    assert (error.value.line, "a kernel that gives each thread elements of its own" in error.value.hint) == (4, True)


def test_numbers_that_say_where_to_write_are_each_there_once_and_where_to_read_within_the_array(tmp_path):
    source = (
        "__global__ void k(float *to, const float *from, const int *slot, const int *column, int n) {"
        f" {ONE} if (i >= n) return; const int at = slot[i]; const int block = at / 16;"
        " to[block * 16 + at % 16] = from[column[i]]; }\n"
        "int main() { const int n = 8192, m = 3000; float *a, *b; int *s, *c;"
        " cudaMalloc(&a, n * 4); cudaMalloc(&b, m * 4);"
        " cudaMalloc(&s, n * 4); cudaMalloc(&c, n * 4); k<<<n / 64, 64>>>(a, b, s, c, n); }"
    )
    _, _, arguments = drafted_of(tmp_path, source)
    assert arguments["slot"].fill == "shuffled"
    assert (arguments["column"].fill, arguments["column"].high) == ("integers", "m")


ROWS_OF_A_TABLE = {
    "by a name for one": ("const int64_t id = ids[row];", "table[id * dim + d]", "vocab"),
    "by a cast one": ("int id = (int)ids[row];", "table[(size_t)id * dim + d]", "vocab"),
    "at once": ("", "table[ids[row] * dim + d]", "vocab"),
    "by a pointer to its row": ("const float *from = table + ids[row] * (size_t)dim;", "from[d]", "vocab"),
    "in quarters": ("int id = ids[row];", "table[id * 4 + d % 4]", "vocab * dim // 4"),
    "by a name for its place": ("int id = ids[row]; int at = id * dim + d % 2;", "table[at]", "vocab"),
    "by a name for where its row begins": ("int begins = ids[row] * dim;", "table[begins + d]", "vocab"),
    "with what remains of a row": ("int id = ids[row];", "table[id * dim + d % dim]", "vocab"),
    "by a name that goes on": ("int at = ids[row] * dim; at += row;", "table[at]", None),
    "with what remains of another": ("int id = ids[row];", "table[id * dim + dim % d]", None),
    "from the second one on": ("int id = ids[row];", "table[(id + 1) * dim - dim + d]", None),
    "of a table for each batch": ("int id = ids[row];", "table[(row * dim + id) * dim + d]", None),
    "behind a row": ("int id = ids[row];", "table[row * dim + id]", "dim"),
    "as far as a number that is read": ("int id = ids[row];", "table[id * ids[0] + d]", None),
}


@pytest.mark.parametrize(("held", "read", "high"), ROWS_OF_A_TABLE.values(), ids=ROWS_OF_A_TABLE)
def test_numbers_that_say_which_row_to_read_are_below_the_number_of_rows(tmp_path, held, read, high):
    source = (
        "__global__ void k(float *to, const float *table, const int64_t *ids, int dim) {"
        f" int row = blockIdx.x; {held} for (int d = threadIdx.x; d < dim; d += blockDim.x)"
        f" to[row * dim + d] = {read}; }}\n"
        "int main() { const int vocab = 3000, dim = 512, n = 4096; float *a, *b; int64_t *c;"
        " cudaMalloc(&a, n * dim * 4); cudaMalloc(&b, vocab * dim * 4); cudaMalloc(&c, n * 8);"
        " k<<<n, 128>>>(a, b, c, dim); }"
    )
    _, _, arguments = drafted_of(tmp_path, source)
    assert arguments["ids"].high == high


@pytest.mark.parametrize("guard", ["i < n * dim", "i >= n * dim) return; if (true"])
def test_what_is_read_by_numbers_of_rows_is_as_large_as_a_guard_over_all_elements_says(tmp_path, guard):
    source = (
        f"__global__ void k(float *to, const float *table, const int *ids, int n, int dim) {{ {ONE}"
        f" if ({guard}) to[i] = table[ids[i / dim] * dim + i % dim]; }}\n"
        "void run(float *a, float *b, int *c, int n, int dim) { k<<<(n * dim + 127) / 128, 128>>>(a, b, c, n, dim); }"
    )
    _, _, arguments = drafted_of(tmp_path, source)
    assert (arguments["to"].shape, arguments["ids"].shape) == (["dim * n"], ["n"])
    assert (arguments["table"].shape, arguments["ids"].high) == (["n * dim"], "n")


@pytest.mark.parametrize(
    ("dtype", "taken", "high"),
    [
        ("unsigned", "(keys[i] >> shift) & 15", 2**31 - 1),
        ("int64_t", "one >> shift", 2**31 - 1),
        ("unsigned", "keys[i] >> 2", None),
        ("unsigned char", "keys[i] >> shift", None),
    ],
)
def test_numbers_of_which_the_kernel_takes_digits_have_all_of_them(tmp_path, dtype, taken, high):
    source = (
        f"__global__ void k(int *to, const {dtype} *keys, int n, int shift) {{ {ONE} if (i >= n) return;"
        f" {dtype} one = keys[i]; to[i] = {taken} + one; }}\n"
    )
    _, _, arguments = drafted_of(tmp_path, source)
    assert arguments["keys"].high == high


def test_pixels_say_no_place_to_write_at_nor_does_a_member_of_another_name(tmp_path):
    source = (
        "__global__ void k(uchar4 *to, const uchar4 *from, int n) { int x = blockIdx.x * blockDim.x + threadIdx.x;"
        " uchar4 o; o.x = from[x].y; o.y = o.z = o.w = 0; if (x < n) to[x] = o; }\n"
        "int main() { const int n = 8192; uchar4 *a, *b; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);"
        " k<<<n / 64, 64>>>(a, b, n); }"
    )
    _, _, arguments = drafted_of(tmp_path, source)
    assert arguments["from"].fill != "arange"


FILLED = {
    "between a least and what is taken off": ("h[i] = std::max(1, n - i * 113);", 1, "n + 1"),
    "one after another": ("h.push_back(rand() % 20);", 0, "20"),
}


@pytest.mark.parametrize("filled", FILLED.values(), ids=FILLED)
def test_whole_numbers_are_bounded_as_the_host_fills_them(tmp_path, filled):
    text, low, high = filled
    source = f"__global__ void k(float *to, const int *at, int n) {{ {ONE} if (i < n) to[i] = at[i]; }}\n" + (
        f"int main() {{ const int n = 8192; std::vector<int> h; for (int i = 0; i < n; i++) {text}\n float *a; int *d;"
        " cudaMalloc(&a, n * 4); cudaMalloc(&d, n * 4); cudaMemcpy(d, h.data(), n * 4, cudaMemcpyHostToDevice);"
        " k<<<n / 64, 64>>>(a, d, n); }"
    )
    _, _, arguments = drafted_of(tmp_path, source)
    assert (arguments["at"].low, arguments["at"].high) == (low, high)


def test_constant_memory_is_bounded_as_the_host_fills_it(tmp_path):
    source = (
        "__constant__ unsigned char query[64];\n"
        f"__global__ void k(float *to, int n) {{ {ONE} if (i < n) to[i] = query[i % 64]; }}\n"
        "int main() { const int n = 8192; unsigned char q[64]; for (int i = 0; i < 64; i++) q[i] = rand() % 20;"
        " cudaMemcpyToSymbol(query, q, 64); float *a; cudaMalloc(&a, n * 4); k<<<n / 64, 64>>>(a, n); }"
    )
    _, _, arguments = drafted_of(tmp_path, source)
    assert (arguments["query"].fill, arguments["query"].low, arguments["query"].high) == ("integers", 0, 20)


def test_a_type_that_no_problem_file_has_is_refused(tmp_path):
    kernel = tmp_path / "k.cu"
    kernel.write_text(f"__global__ void k(__nv_fp8_e8m0 *a, int n) {{ {ONE} if (i < n) a[i] = a[i]; }}\n")
    with pytest.raises(ProblemError, match="is of __nv_fp8_e8m0, a type of numbers that no problem file has"):
        scaffold(kernel, None)


@pytest.mark.parametrize(
    ("type_text", "dtype", "extent"),
    [
        ("nv_bfloat16", "bfloat16", "n"),
        ("__nv_bfloat162", "bfloat16", "2 * n"),
        ("__nv_fp8_e4m3", "float8_e4m3fn", "n"),
        ("__nv_fp8x4_e5m2", "float8_e5m2", "4 * n"),
    ],
)
def test_arrays_of_narrow_types_are_drafted(tmp_path, type_text, dtype, extent):
    host = f"int main() {{ const int n = 9000; {type_text} *a; cudaMalloc(&a, n * sizeof({type_text}));"
    host += " k<<<n / 64, 64>>>(a, __float2bfloat16(0.75f), n); }"
    source = f"__global__ void k({type_text} *a, nv_bfloat16 s, int n) {{ {ONE} if (i < n) a[i] = a[i]; }}\n{host}"
    _, _, arguments = drafted_of(tmp_path, source)
    assert (arguments["a"].dtype, arguments["a"].shape) == (dtype, [extent])
    assert (arguments["s"].dtype, arguments["s"].value) == ("bfloat16", 0.75)


def test_a_template_is_drafted_of_the_narrow_type_that_the_host_has(tmp_path):
    host = "int main() { const int n = 9000; __nv_bfloat16 *a, *b; cudaMalloc(&a, n * 2);"
    host += " k<__nv_bfloat16><<<n / 64, 64>>>(a, n); }"
    source = f"template <typename T> __global__ void k(T *a, int n) {{ {ONE} if (i < n) a[i] = a[i]; }}\n{host}"
    problem, _, arguments = drafted_of(tmp_path, source)
    assert problem.kernel.name == "k<__nv_bfloat16>"
    assert (arguments["a"].dtype, arguments["a"].shape) == ("bfloat16", ["n"])


def test_a_number_of_a_loop_that_a_kernel_shifts_by_is_the_first(tmp_path):
    source = (
        f"__global__ void k(float *a, int n, int stage) {{ {ONE} int half = 1 << stage; if (i < n) a[i] = half; }}\n"
        "int main() { const int n = 8192; float *a; cudaMalloc(&a, n * 4);"
        " for (int s = 0; s < 12; s++) k<<<n / 64, 64>>>(a, n, s); }"
    )
    _, _, arguments = drafted_of(tmp_path, source)
    assert arguments["stage"].value == 0


@pytest.mark.parametrize(
    ("text", "read"), [("b < M ? b : M", "min"), ("b < M ? M : b", "max"), ("b >= M ? b : M", "max")]
)
def test_the_less_or_the_more_of_two_is_read_as_that(text, read):
    assert arithmetic(text).func.id == read


def test_numbers_that_say_where_all_threads_write_the_same_may_be_there_twice(tmp_path):
    source = (
        "__global__ void k(const int *rows, const int *columns, int *distance, int n, int level) {"
        f" {ONE} if (i >= n || distance[i] != level) return; for (int e = rows[i]; e < rows[i + 1]; ++e) {{"
        " int u = columns[e]; if (distance[u] < 0) distance[u] = level + 1; } }\n"
        "int main() { const int n = 9000; int *r, *c, *d; cudaMalloc(&d, n * 4); k<<<n / 64, 64>>>(r, c, d, n, 3); }"
    )
    _, text, arguments = drafted_of(tmp_path, source)
    assert (arguments["columns"].fill, arguments["columns"].high) == ("integers", "n")
    assert (arguments["distance"].low, arguments["distance"].high) == (-1, 5)
    assert "# a guess, for the kernel asks which are below 0: check" in text


def test_a_level_that_a_loop_counts_up_is_among_those_that_elements_have(tmp_path):
    source = (
        "__global__ void k(const int *wall, int *distance, int n, int level) {"
        f" {ONE} if (i >= n || distance[i] != level) return;"
        " if (i + 1 < n && wall[i + 1] == 0 && distance[i + 1] == -1) distance[i + 1] = level + 1; }\n"
        "int main() { const int n = 9000; int *w, *d; cudaMalloc(&w, n * 4); cudaMalloc(&d, n * 4);"
        " for (int level = 0; level < n; level++) k<<<n / 64, 64>>>(w, d, n, level); }"
    )
    _, _, arguments = drafted_of(tmp_path, source)
    distance, level, wall = (arguments[name] for name in ("distance", "level", "wall"))
    assert distance.low < level.value < distance.high
    assert (wall.fill, wall.high) == ("integers", 2)


BOX = "struct Box { int nx, ny; float h; };\n" + (
    f"__global__ void k(float *a, Box b, float mass, float2 at) {{ {ONE}"
    " if (i < b.nx * b.ny) a[i] = b.h * at.x * mass; }\n"
)
SET_BY_CONSTRUCTORS = {
    "listed": "Field(int nx, int ny, float h) : box{nx, ny, h}, mass{1.f / nx}, at{-1.f, 3.f} {",
    "one by one": "Field(int nx, int ny, float h) { box.nx = nx; box.ny = ny; box.h = h;"
    " at = make_float2(-1.f, 3.f); mass = 1.f / nx;",
}


@pytest.mark.parametrize("constructor", SET_BY_CONSTRUCTORS.values(), ids=SET_BY_CONSTRUCTORS)
def test_a_structure_that_is_a_member_has_what_the_constructor_sets(tmp_path, constructor):
    source = BOX + (
        f"class Field {{ public: {constructor} cudaMalloc(&a, sizeof(float) * nx * ny); }}\n"
        " void step() { k<<<(box.nx * box.ny + 127) / 128, 128>>>(a, box, mass, at); }\n"
        " private: Box box; float mass; float2 at; float *a; };\n"
        "int main() { int width = 640, height = 500; Field f(width, height, .5f); f.step(); }"
    )
    problem, text, arguments = drafted_of(tmp_path, source)
    assert sorted(problem.sizes.values()) == [500, 640]
    assert [one.value for one in (*arguments["b"].members, *arguments["at"].members)][2:] == [0.5, -1.0, 3.0]
    assert (arguments["mass"].value, "value = 1.5" in text) == (1 / 640, False)


def test_extents_that_a_constructor_is_given_as_a_vector_are_those(tmp_path):
    source = (
        "struct Params { float cell; uint3 grid; };\n"
        f"__global__ void k(unsigned *to, uint3 grid, float cell, unsigned n) {{ {ONE}"
        " if (i < n) to[i] = grid.x * grid.y * cell; }\n"
        "class Cells { public: Cells(unsigned n, uint3 size) : n(n), size(size) { all = size.x * size.y * size.z;"
        " p.grid = size; p.cell = 2.f / size.x; cudaMalloc(&to, all * sizeof(unsigned)); }\n"
        " void run() { k<<<(n + 63) / 64, 64>>>(to, size, p.cell, n); }\n"
        " unsigned n, all; uint3 size; Params p; unsigned *to; };\n"
        "int main() { unsigned n = 5000, side = 32; Cells *c = new Cells(n, make_uint3(side, side, 16)); c->run(); }"
    )
    problem, _, arguments = drafted_of(tmp_path, source)
    (side,) = [name for name, number in problem.sizes.items() if number == 32]
    assert [one.value for one in arguments["grid"].members] == [side, side, 16]
    assert (arguments["to"].shape, arguments["cell"].value) == ([f"{side} * {side} * 16"], 0.0625)


@pytest.mark.parametrize("count", ["5000", "atoi(argv[1])"])
def test_a_block_that_is_no_longer_than_the_data_is_what_limits_it(tmp_path, count):
    source = SCALE + (
        "void shape(int n, int most, int &blocks, int &threads) { threads = most < n ? most : n;"
        " blocks = (n + threads - 1) / threads; }\n"
        f"int main(int argc, char **argv) {{ int n = {count}, blocks, threads; float *a, *b; cudaMalloc(&a, n * 4);"
        " cudaMalloc(&b, n * 4); shape(n, 128, blocks, threads); k<<<blocks, threads>>>(a, b, n); }"
    )
    problem, _, _ = drafted_of(tmp_path, source)
    assert (problem.launch.problem_size, problem.launch.grid_div_x, problem.defaults) == (
        ["n"],
        None,
        {"block_size_x": 128},
    )
    assert [*problem.sizes] == ["n"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("powf(base, -2.0f / n)", 10000 ** (-2 / 4096)),
        ("1.0f - powf(0.9f, 3)", 1 - 0.9**3),
        ("std::pow(base, 3)", 1e12),
    ],
)
def test_a_power_of_what_the_host_knows_is_worked_out(tmp_path, written, value):
    source = (
        f"__global__ void k(float *to, float by, int n) {{ {ONE} if (i < n) to[i] = by; }}\n"
        "int main() { const int n = 4096; const float base = 10000.f; float *a; cudaMalloc(&a, n * 4);"
        f" const float by = {written}; k<<<n / 64, 64>>>(a, by, n); }}"
    )
    _, text, arguments = drafted_of(tmp_path, source)
    assert arguments["by"].value == pytest.approx(value)
    assert text.count("as the host passes it") == 2


def test_a_grid_that_says_nothing_of_the_data_goes_through_as_much_as_others_do(tmp_path):
    source = (
        f"__global__ void k(float *sum, const float *from, size_t count) {{ float s = 0; {ONE}"
        " for (size_t j = i; j < count; j += blockDim.x * gridDim.x) s += from[j]; atomicAdd(sum, s); }\n"
        "void run(float *sum, const float *from, size_t count) { k<<<2 * 108, 512>>>(sum, from, count); }\n"
        "int main() { float *sum; cudaMalloc(&sum, sizeof(float)); Model m = load(); run(sum, m.all, m.count); }"
    )
    problem, text, arguments = drafted_of(tmp_path, source)
    assert (problem.sizes, arguments["from"].shape, arguments["sum"].shape) == ({"count": 2**20}, ["count"], ["1"])
    assert "count = 1048576  # a guess: check" in text


OF_THE_DEVICE = {
    "processors": ("cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); int blocks = p.multiProcessorCount * 4;", True),
    "an attribute": (
        "int all, blocks; cudaDeviceGetAttribute(&all, cudaDevAttrMultiProcessorCount, 0); blocks = all;",
        True,
    ),
    "what fits": ("int blocks, each; cudaOccupancyMaxPotentialBlockSize(&blocks, &each, k, 0, 0);", True),
    "a number": ("int blocks = 512;", False),
    "the data": ("int blocks = (n + 255) / 256;", False),
}


@pytest.mark.parametrize(("made", "is_told"), OF_THE_DEVICE.values(), ids=OF_THE_DEVICE)
def test_a_grid_that_the_device_says_is_told_to_be_a_usual_one(tmp_path, made, is_told):
    source = (
        f"__global__ void k(float *to, const float *from, int n) {{ {ONE}"
        " for (; i < n; i += blockDim.x * gridDim.x) to[i] = from[i]; }\n"
        "int main() { int n = 100000; float *a, *b; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);"
        f" {made} k<<<blocks, 256>>>(a, b, n); }}"
    )
    _, text, _ = drafted_of(tmp_path, source)
    assert ("; the device says how many blocks, here a usual number is taken: check" in text) is is_told
    assert "[launch]  # as the host launches it in line 2" in text


@pytest.mark.parametrize(
    ("written", "elements"),
    [
        ("atomicAdd(sum, s);", "1"),
        ("if (i == 0) *sum = s;", "1"),
        ("if (i == 0) (*sum) += s;", "1"),
        ("atomicAdd(&sum[0], s);", "1"),
        ("sum[i] = s;", "n"),
        ("atomicAdd(sum, s); sum[i + 1] = s;", "n"),
        ("atomicAdd(sum + i, s);", "n"),
        ("float *at = sum + i; *at = s;", "n"),
        ("*sum++ = s;", "n"),
        ("put(sum, s);", "n"),
    ],
)
def test_an_array_of_which_the_kernel_touches_the_first_element_alone_has_one(tmp_path, written, elements):
    source = (
        f"__global__ void k(const float *from, float *sum, int n) {{ {ONE} float s = i < n ? from[i] : 0;"
        f" {written} }}\n"
        "void run(const float *from, float *sum, int n) { k<<<(n + 255) / 256, 256>>>(from, sum, n); }"
    )
    _, text, arguments = drafted_of(tmp_path, source)
    assert (arguments["from"].shape, arguments["sum"].shape) == (["n"], [elements])
    assert " * 1" not in text


MACROS_OF_ELEMENTS = {
    "an element": ("#define OUT(i, j) out[(i) * nx + (j)]", "OUT(i, j) = 1;"),
    "in parentheses": ("#define OUT(i, j) (out[(i) * nx + (j)])", "OUT(i, j) = 1;"),
    "of a row": ("#define OUT(j) out[at[j]]", "OUT(j) = 1;"),
    "changed in place": ("#define OUT(i, j) out[(i) * nx + (j)]", "OUT(i, j) += 1;"),
}


@pytest.mark.parametrize(("macro", "written"), MACROS_OF_ELEMENTS.values(), ids=MACROS_OF_ELEMENTS)
def test_what_a_macro_with_an_index_writes_is_an_output_for_certain(tmp_path, macro, written):
    source = f"{macro}\n__global__ void k(float *in, float *out, int *at, int nx) {{ {ONE} int j = 0; {written} }}\n"
    _, text, arguments = drafted_of(tmp_path, source)
    assert [name for name, one in arguments.items() if one.output] == ["out"]
    assert "output = true  # the text writes it" in text


def test_a_macro_that_is_no_element_keeps_its_parentheses():
    macros = {"AT": ("(i)", "a[i] + 1"), "SUM": ("(i)", "(a[i]) + (b[i])"), "ONE": ("(i)", "p->x[(i) + 1]")}
    assert (
        with_macros("2 * AT(3) + SUM(4) - ONE(j)", macros) == "2 * (a[(3)] + 1) + ((a[(4)]) + (b[(4)])) - p->x[(j) + 1]"
    )


OF_MEMORY_TAKEN_ELSEWHERE = {
    "set": ("size_t size = nx * ny * sizeof(float); cudaMemset(a, 0, size);", "nx * ny"),
    "set in a check": ("CHECK(cudaMemsetAsync(a, 0, sizeof(float) * nx * ny, stream));", "nx * ny"),
    "copied to": ("cudaMemcpy(a, h, (nx + 2) * ny * 4, cudaMemcpyHostToDevice);", "(nx + 2) * ny"),
    "copied from": ("cudaMemcpy(h, a, nx * ny * 4, cudaMemcpyDeviceToHost);", "nx * ny"),
    "a part": ("cudaMemcpy(h, a + 1, nx * 4, cudaMemcpyDeviceToHost);", "nx"),
}


@pytest.mark.parametrize(("host", "elements"), OF_MEMORY_TAKEN_ELSEWHERE.values(), ids=OF_MEMORY_TAKEN_ELSEWHERE)
def test_what_the_host_sets_or_copies_says_the_elements_of_memory_that_it_takes_nowhere(tmp_path, host, elements):
    source = (
        f"__global__ void k(float *a, int nx, int ny) {{ {ONE} a[i + ny] = i; }}\n"
        f"void run(float *a, float *h, int nx, int ny) {{ {host} k<<<(nx + 255) / 256, 256>>>(a, nx, ny); }}\n"
    )
    _, text, arguments = drafted_of(tmp_path, source)
    assert arguments["a"].shape == [elements]
    assert "# as the host allocates it" not in text


def test_memory_that_a_caller_takes_is_no_less_than_that_whatever_is_set_of_it(tmp_path):
    source = SCALE + (
        "void run(float *a, float *b, int n) { cudaMemset(a, 0, 4); k<<<(n + 255) / 256, 256>>>(a, b, n); }\n"
        "int main() { int n = 5000; float *a, *b; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4); run(a, b, n); }"
    )
    _, text, arguments = drafted_of(tmp_path, source)
    assert arguments["to"].shape == ["n"]
    assert text.count("# as the host allocates it") == 2


def test_a_scalar_that_the_kernel_never_names_is_no_size(tmp_path):
    source = (
        f"__global__ void k(float *a, const float *b, int n, int device) {{ {ONE} if (i < n) a[i] = b[i]; }}\n"
        "void run(float *a, float *b, int n, int device) { k<<<(n + 255) / 256, 256>>>(a, b, n, device); }\n"
    )
    problem, _, arguments = drafted_of(tmp_path, source)
    assert (list(problem.sizes), arguments["device"].value) == (["n"], 1)


PARTS = {
    "with names for all": ("int b = rows[i], e = rows[i + 1], m = e - b;", "a[b + j]", ("offsets", "all")),
    "of the element itself": ("int m = rows[i + 1] - rows[i];", "a[rows[i] + j]", ("offsets", "all")),
    "by a pointer to the first": (
        "size_t b = (size_t)rows[i]; int m = rows[i + 1] - b; float *p = a + b;",
        "p[j]",
        ("offsets", "all"),
    ),
    "given to a function that takes the first and how many": (
        "twice(a + rows[i], rows[i + 1] - rows[i]); int m = 0;",
        "a[j]",
        ("offsets", "all"),
    ),
    "of no difference": ("int b = rows[i], e = rows[i + 1], m = e > b;", "a[b + j]", ("arange", None)),
    "of another array": ("int b = rows[i], e = rows[i + 1], m = e - b;", "a[i + j]", ("arange", None)),
}


@pytest.mark.parametrize(("named", "written", "fill"), PARTS.values(), ids=PARTS)
def test_offsets_whose_difference_is_taken_divide_what_is_counted_from_them_on(tmp_path, named, written, fill):
    source = (
        f"__global__ void k(float *a, const unsigned *rows, int n) {{ {ONE} if (i >= n) return; {named}"
        f" for (int j = 0; j < m; j++) {written} *= 2; }}\n"
        "void run(float *h, int n, int all) { float *a; unsigned *r; cudaMalloc(&a, all * 4);"
        " cudaMalloc(&r, (n + 1) * 4); k<<<(n + 127) / 128, 128>>>(a, r, n); }"
    )
    problem, _, arguments = drafted_of(tmp_path, source)
    assert (arguments["rows"].shape, arguments["rows"].fill, arguments["rows"].high) == (["n + 1"], *fill)
    emulated = problem.on_emulator().sizes
    assert (problem.sizes["n"] * 8 == problem.sizes["all"]) is (fill[0] == "offsets")
    assert fill[0] == "arange" or emulated["n"] * 8 == emulated["all"]


@pytest.mark.parametrize(
    ("read", "fill"),
    [
        ("int x = at[2 * i], y = at[2 * i + 1];", None),
        ("int k = i * 2; int x = at[k], y = at[k + 1];", None),
        ("int x = at[i << 1], y = at[(i << 1) + 1];", None),
        ("int x = at[i], y = at[i + 1];", "arange"),
        ("int x = 0, y = 0; for (int j = at[2 * i]; j < at[2 * i + 1]; j++) x += j;", "arange"),
    ],
)
def test_pairs_that_have_two_numbers_each_are_no_offsets(tmp_path, read, fill):
    source = (
        f"__global__ void k(float *to, const int *at, int n) {{ {ONE} if (i >= n) return; {read} to[i] = x - y; }}\n"
        "int main() { int n = 5000, *b; float *a; cudaMalloc(&a, n * 4); cudaMalloc(&b, 2 * n * 4);"
        " k<<<(n + 127) / 128, 128>>>(a, b, n); }"
    )
    _, _, arguments = drafted_of(tmp_path, source)
    assert (arguments["at"].shape, arguments["at"].fill) == (["2 * n"], fill)


WRITTEN_TWICE = {
    "by two names": ("const int N = 1 << 16; int n = 1 << 16;", "N", "n", ["n"], ["n"]),
    "for the grid": ("const int N = 1 << 16; int n = 1 << 16;", "N", "N", ["N"], ["N"]),
    "that is another": ("const int N = 1 << 17; int n = 1 << 16;", "N", "n", ["N"], ["n", "N"]),
    "of the block": ("const int N = 256; int n = 5000;", "N", "n", ["N"], ["n", "N"]),
}


@pytest.mark.parametrize(("host", "elements", "threads", "shape", "sizes"), WRITTEN_TWICE.values(), ids=WRITTEN_TWICE)
def test_a_number_that_the_host_writes_twice_is_one_size(tmp_path, host, elements, threads, shape, sizes):
    source = SCALE + (
        f"int main() {{ {host} float *a, *b; cudaMalloc(&a, {elements} * 4); cudaMalloc(&b, {elements} * 4);"
        f" k<<<({threads} + 255) / 256, 256>>>(a, b, n); }}"
    )
    problem, _, arguments = drafted_of(tmp_path, source)
    assert (arguments["to"].shape, sorted(problem.sizes), arguments["n"].value) == (shape, sorted(sizes), sizes[0])


def test_extents_that_are_alike_stay_two_sizes_where_the_kernel_is_passed_both_or_its_grid_is_one_of_them(tmp_path):
    source = (
        "__global__ void k(float *to, const float *from, int m, int n) { int i = blockIdx.y;"
        " for (int j = threadIdx.x; j < m; j += blockDim.x) to[i * m + j] = from[j] * n; }\n"
        "int main() { const int rows = 512, m = 512, n = 512; float *a, *b; cudaMalloc(&a, rows * m * 4);"
        " cudaMalloc(&b, m * n * 4); k<<<dim3(1, rows), 256>>>(a, b, m, n); }"
    )
    problem, _, arguments = drafted_of(tmp_path, source)
    assert (sorted(problem.sizes), arguments["to"].shape) == (["m", "n", "rows"], ["rows * m"])


FLAGS = {
    "of what is not known": ("auto r = other.contiguous(); int flag = r.numel() ? 1 : 0;", "if (i < n && flag)", 1),
    "of what is known": ("int flag = n > 1 ? 1 : 0;", "if (i < n && flag)", "1 if n > 1 else 0"),
    "of a comparison": ("const int flag = (other == way);", "if (i < n) for (int j = 0; j < flag; j++)", 1),
    "that is only asked": ("", "if (i < n) if (flag)", 1),
    "that is only asked to be one": ("", "if (i < n) if (flag == 1)", 1),
    "that is none": ("", "if (i < n) if (flag > 1)", "flag"),
}


@pytest.mark.parametrize(("host", "asked", "value"), FLAGS.values(), ids=FLAGS)
def test_a_scalar_that_is_0_or_1_is_no_size(tmp_path, host, asked, value):
    source = (
        f"__global__ void k(float *to, int n, int flag) {{ {ONE} {asked} to[i] = 1; }}\n"
        f"void run(float *to, T &other, int n{'' if host else ', int flag'}) {{ {host}"
        " k<<<(n + 127) / 128, 128>>>(to, n, flag); }\n"
    )
    problem, _, arguments = drafted_of(tmp_path, source)
    assert (arguments["flag"].value, "flag" in problem.sizes) == (value, value == "flag")


SHARED = {
    "a number of threads": ("64, (64 + w) * 4", "(max(64, block_size_x) + w) * 4"),
    "by a name": ("64, bytes", "(max(64, block_size_x) + w) * 4"),
    "in two dimensions": ("dim3(16, 4), 64 * sizeof(float)", "max(64, block_size_x * block_size_y) * 4"),
    "another number": ("64, (128 + w) * 4", "(128 + w) * 4"),
    "of a block with a name": ("threads, (threads + 64) * 4", "(block_size_x + 64) * 4"),
    "of few threads": ("4, w * 4", "w * 4"),
}


@pytest.mark.parametrize(("launched", "said"), SHARED.values(), ids=SHARED)
def test_shared_memory_that_the_host_gives_for_its_number_of_threads_grows_with_the_block(tmp_path, launched, said):
    own = "threadIdx.y * blockDim.x + threadIdx.x" if "dim3" in launched else "threadIdx.x"
    source = (
        f"__global__ void k(float *to, int n, int w) {{ extern __shared__ float s[]; {ONE}"
        f" s[{own}] = w; if (i < n) to[i] = s[{own}]; }}\n"
        "int main() { int n = 5000, w = 8; const int threads = 64; int bytes = (64 + w) * sizeof(float); float *a;"
        f" cudaMalloc(&a, n * 4); k<<<(n + 63) / 64, {launched}>>>(a, n, w); }}"
    )
    problem, _, _ = drafted_of(tmp_path, source)
    assert problem.launch.shared_memory == said


ASSERTED = {
    "a number": ('assert(q.size(1) == D && "wide"); assert(x.size(1) == q.size(1));', "m * 128", "n * 128"),
    "a variable": ('int d = q.size(1); TORCH_CHECK(x.size(1) == d, "wide");', "m * q_size_1", "n * q_size_1"),
    "each other": ('TORCH_CHECK((q.size(1) == x.size(1)), "wide");', "m * q_size_1", "n * q_size_1"),
    "each other, by name": ("TORCH_CHECK_EQ(x.size(1), q.size(1));", "m * x_size_1", "n * x_size_1"),
    "different": ("TORCH_CHECK(x.size(1) != q.size(1));", "m * x_size_1", "n * q_size_1"),
    "nothing, but elsewhere": ("int a = x.size(1), b = q.size(1);", "m * x_size_1", "n * q_size_1"),
}


@pytest.mark.parametrize(("asserted", "of_x", "of_q"), ASSERTED.values(), ids=ASSERTED)
def test_extents_of_tensors_that_are_asserted_to_be_alike_are_one_size(tmp_path, asserted, of_x, of_q):
    source = (
        "constexpr int D = 128;\n"
        f"__global__ void k(const float *x, const float *q, float *to, int n, int m) {{ {ONE} float s = 0;"
        " if (i < n) for (int j = 0; j < D; j++) s += q[i * D + j] * x[j]; if (i < n) to[i] = s; }\n"
        "void other(torch::Tensor x, torch::Tensor q) { assert(x.size(1) == 64 && x.size(1) == q.size(1)); }\n"
        f"torch::Tensor run(torch::Tensor x, torch::Tensor q) {{ int n = q.size(0), m = x.size(0); {asserted}"
        " auto to = torch::zeros({n}, q.options());"
        " k<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), q.data_ptr<float>(), to.data_ptr<float>(), n, m); return to; }"
    )
    _, _, arguments = drafted_of(tmp_path, source)
    assert [arguments[name].shape for name in ("x", "q")] == [[of_x], [of_q]]


def test_an_extent_of_a_tensor_stays_the_multiple_that_is_asserted(tmp_path):
    source = SCALE + (
        "torch::Tensor run(torch::Tensor x) { TORCH_CHECK(x.size(0) % 48 == 0);"
        " auto to = torch::zeros({x.size(0)}, x.options());"
        " k<<<(x.size(0) + 63) / 64, 64>>>(to.data_ptr<float>(), x.data_ptr<float>(), x.size(0)); }"
    )
    problem, _, _ = drafted_of(tmp_path, source)
    sizes = [problem.sizes, *(test.sizes for test in problem.tests), problem.on_emulator().sizes]
    assert [one["n"] % 48 for one in sizes] == [0] * len(sizes)


def test_the_half_of_a_number_that_nobody_says_is_a_size(tmp_path):
    source = """
__global__ void step(float *to, const float *from, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] + from[i + stride];
}
void run(float *data, int m, int log2n) {
    int n = 1 << log2n;
    for (; log2n > 10; log2n--, n >>= 1) step<<<dim3((1 << log2n) / 512, m), 256>>>(data, data, n / 2);
}
"""
    problem, _, arguments = drafted_of(tmp_path, source)
    assert (arguments["stride"].value, problem.sizes["stride"] > 64) == ("stride", True)


def test_an_exponent_is_a_small_number_at_all_sizes(tmp_path):
    source = """
__global__ void rows(float *to, const float *from, int log2n) {
    extern __shared__ float row[];
    const int n = 1 << log2n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = from[blockIdx.x * n + i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) to[blockIdx.x * n + i] = row[n - 1 - i];
}
void run(float *to, const float *from, int m, int log2n) {
    int n = 1 << log2n;
    rows<<<m, 256, n * sizeof(float)>>>(to, from, log2n);
}
"""
    problem, _, _ = drafted_of(tmp_path, source)
    sizes = [problem.sizes, *(test.sizes for test in problem.tests), problem.on_emulator().sizes]
    assert [one["log2n"] for one in sizes] == [10] * len(sizes)


def test_what_threads_count_the_half_of_is_even_where_the_kernel_halves_it(tmp_path):
    source = """
__global__ void k(float *to, const float *from, int rows, int width) {
    int half = width / 2, pairs = rows * half, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) { int j = i / half * width + i % half * 2; to[j] = from[j + 1]; to[j + 1] = from[j]; }
}
void run(float *to, float *from, int rows, int width) {
    int pairs = rows * width / 2;
    k<<<(pairs + 255) / 256, 256>>>(to, from, rows, width);
}
"""
    problem, _, _ = drafted_of(tmp_path, source)
    sizes = [problem.sizes, *(test.sizes for test in problem.tests), problem.on_emulator().sizes]
    assert [one["width"] % 2 for one in sizes] == [0] * len(sizes)
    assert any(one["rows"] % 2 for one in sizes)


OF_CALLERS = {
    "a vector of the host": ("thrust::host_vector<T> &h", "thrust::host_vector<int> h(70000);", "k", "int32"),
    "one of the standard library": ("std::vector<T> &h", "std::vector<double> h(70000);", "k", "float64"),
    "named at the launch": ("const std::vector<T> &h", "std::vector<unsigned> h(70000);", "k<T>", "uint32"),
    "one that none tells": ("const std::vector<T> &h", "auto h = made();", "k", "float32"),
}


@pytest.mark.parametrize(("given", "made", "called", "dtype"), OF_CALLERS.values(), ids=OF_CALLERS)
def test_vectors_that_a_function_is_given_say_the_type_and_the_elements_of_their_copies(
    tmp_path, given, made, called, dtype
):
    source = (
        f"template <typename T> __global__ void k(const T *in, T *out, int n) {{ {ONE} if (i < n) out[i] = -in[i]; }}\n"
        f"template <typename T> void run({given}) {{ int n = h.size(); thrust::device_vector<T> in = h;"
        f" thrust::device_vector<T> out(h), more(n); {called}<<<(n + 255) / 256, 256>>>("
        "thrust::raw_pointer_cast(in.data()), thrust::raw_pointer_cast(out.data()), n); }\n"
        f"int main() {{ {made} run(h); }}"
    )
    problem, _, arguments = drafted_of(tmp_path, source)
    assert (arguments["in"].dtype, arguments["in"].shape, arguments["out"].shape) == (dtype, ["n"], ["n"])
    assert [*problem.sizes] == ["n"]


def test_the_elements_of_a_vector_that_a_function_asks_no_name_for_are_one_size(tmp_path):
    source = SCALE + (
        "void run(const std::vector<float> &h) { thrust::device_vector<float> in(h), out = h;"
        " k<<<64, 128>>>(raw_pointer_cast(out.data()), raw_pointer_cast(in.data()), h.size()); }\n"
    )
    problem, _, arguments = drafted_of(tmp_path, source)
    assert (arguments["to"].shape, arguments["from"].shape, [*problem.sizes]) == (["n"], ["n"], ["n"])


OF_HIP = {
    "by its name": "hipLaunchKernelGGL(k, dim3((n + 63) / 64), dim3(64), 0, 0, to, from, n);",
    "in parentheses, over lines": "hipLaunchKernelGGL((k), dim3((n + 63) / 64),\n dim3(64), 0, stream,\n to, from, n);",
    "by a macro": "hipLaunchKernelGGL(HIP_KERNEL_NAME(k), (n + 63) / 64, 64, 0, 0, to, from, n);",
    "as CUDA has it": "k<<<(n + 63) / 64, 64>>>(to, from, n);",
}


@pytest.mark.parametrize("launch", OF_HIP.values(), ids=OF_HIP)
def test_a_launch_in_hip_says_what_one_in_cuda_says(tmp_path, launch):
    source = SCALE + (
        "int main() { int n = 5000; float *to, *from; hipMalloc(&to, n * 4);\n hipMalloc((void **)&from, n * 4);\n"
        f" {launch} hipMemcpy(h, to, n * 4, hipMemcpyDeviceToHost); }}"
    )
    problem, text, arguments = drafted_of(tmp_path, source)
    assert (problem.sizes, problem.launch.problem_size, problem.defaults) == ({"n": 5000}, ["n"], {"block_size_x": 64})
    assert (arguments["to"].shape, arguments["from"].shape) == (["n"], ["n"])
    assert "[launch]  # as the host launches it in line 4" in text


def test_templates_that_call_each_other_with_what_they_leave_open_are_left_open(tmp_path):
    source = (
        f"template <typename T> __global__ void k(T *to, int n) {{ {ONE} if (i < n) to[i] = 1; }}\n"
        "template <typename T> void f(std::vector<T> &a, int n) { thrust::device_vector<T> x = a;"
        " k<<<(n + 63) / 64, 64>>>(x.data(), n); g(x, n); }\n"
        "template <typename T> void g(std::vector<T> &b, int n) { std::vector<T> y(n); f(y, n); }"
    )
    problem, _, _ = drafted_of(tmp_path, source)
    assert problem.kernel.name == "k<float>"


IN_A_TYPE_OF_A_HEADER = """
#include "real.h"
__global__ void twice(real *y, const real *x, real by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = by * x[i];
}
int main()
{
    int n = 1 << 16;
    real *y, *x;
    cudaMalloc(&y, n * sizeof(real));
    cudaMalloc(&x, n * sizeof(real));
    twice<<<(n + 255) / 256, 256>>>(y, x, 2, n);
}
"""


@pytest.mark.parametrize(
    ("first", "dtype"), [("", "float32"), ("#define WIDE\n", "float64"), ("#define WIDE\n#undef WIDE\n", "float32")]
)
def test_types_that_a_header_names_are_known_as_the_macros_before_it_choose(tmp_path, first, dtype):
    (tmp_path / "real.h").write_text(
        "#ifndef REAL_H\n#define REAL_H\n#if defined(WIDE)\ntypedef double real;\n#else\ntypedef float real;\n#endif\n"
        "#endif\n"
    )
    _, text, arguments = drafted_of(tmp_path, first + IN_A_TYPE_OF_A_HEADER)
    assert {arguments[name].dtype for name in ("y", "x", "by")} == {dtype}
    assert f'dtype = "{dtype}"  # a guess' not in text


def test_a_macro_of_nothing_that_the_device_asks_for_is_no_number(tmp_path):
    source = "#define WIDE\n#if defined(WIDE)\ntypedef double real;\n#else\ntypedef float real;\n#endif\n"
    source += IN_A_TYPE_OF_A_HEADER.replace('#include "real.h"', "")
    _, _, arguments = drafted_of(tmp_path, source)
    assert arguments["y"].dtype == "float64"


def test_threads_that_a_multiprocessor_holds_are_a_usual_number(tmp_path):
    problem, _, _ = drafted_of(
        tmp_path,
        "__global__ void sum(float *to, const float *from, int n)\n{\n"
        "    int first = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    for (int i = first; i < n; i += blockDim.x * gridDim.x) to[i] += from[i];\n"
        "}\nint main()\n{\n    int n = 1 << 20;\n    float *to, *from;\n    cudaDeviceProp of;\n"
        "    cudaGetDeviceProperties(&of, 0);\n"
        "    cudaMalloc(&to, n * sizeof(float));\n    cudaMalloc(&from, n * sizeof(float));\n"
        "    int blocks = of.maxThreadsPerMultiProcessor * of.multiProcessorCount / 256;\n"
        "    sum<<<blocks, 256>>>(to, from, n);\n}\n",
    )
    assert [*problem.sizes] == ["n"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [("uint4", "n // 16"), ("typedef uint4 packed; packed", "n // 16"), ("using packed = short2; packed", "n // 4")],
)
def test_bytes_of_vectors_and_of_names_for_them_are_told(tmp_path, kind, value):
    named, _, kind = kind.rpartition(" ")
    source = (
        f"{named}\n__global__ void k({kind} *to, unsigned count) {{ {ONE} if (i < count) to[i].x = 1; }}\n"
        f"void run({kind} *to, unsigned n) {{ k<<<(n / sizeof({kind}) + 63) / 64, 64>>>(to, n / sizeof({kind})); }}"
    )
    _, text, arguments = drafted_of(tmp_path, source)
    assert arguments["count"].value == value, text


def test_threads_of_a_list_that_the_kernel_is_passed_are_those_of_its_block(tmp_path):
    problem, text, arguments = drafted_of(
        tmp_path,
        "__global__ void rows(float *to, const float *from, int n, int threads)\n{\n    float sum = 0;\n"
        "    for (int i = threadIdx.x; i < n; i += threads) sum += from[blockIdx.x * n + i];\n"
        "    atomicAdd(&to[blockIdx.x], sum);\n}\n"
        "void run(float *to, const float *from, int m, int n, const int threads)\n{\n"
        "    rows<<<m, threads>>>(to, from, n, threads);\n}\n"
        "int main()\n{\n    int m = 512, n = 1024, tried[] = {32, 64, 128};\n    float *to, *from;\n"
        "    cudaMalloc(&to, m * sizeof(float));\n    cudaMalloc(&from, m * n * sizeof(float));\n"
        "    for (int j = 0; j < 3; j++) { int threads = tried[j]; run(to, from, m, n, threads); }\n}\n",
    )
    assert (problem.launch.block_size, arguments["threads"].value) == (["256"], 256)
    assert "value = 256  # a guess: check" in text
    assert not problem.tunables


@pytest.mark.parametrize("counted", ["edges++;", "++edges;", "edges += degree(i);"])
def test_what_a_host_counts_up_from_0_is_a_size_from_outside(tmp_path, counted):
    source = (
        f"__global__ void k(float *x, const int *ends, int n) {{ {ONE} if (i < n)"
        " for (int j = ends[i]; j < ends[i + 1]; j++) x[j] *= 2; }\n"
        f"void run(std::vector<int> &all, int n) {{ int edges = 0; for (int i : all) {{ {counted} }}"
        " float *x; int *e; cudaMalloc(&x, edges * sizeof(float)); cudaMalloc(&e, (n + 1) * sizeof(int));"
        " k<<<(n + 255) / 256, 256>>>(x, e, n); }\n"
    )
    problem, _, arguments = drafted_of(tmp_path, source)
    assert (arguments["x"].shape, arguments["ends"].high) == (["edges"], "edges")
    assert problem.sizes == {"n": 2**17, "edges": 2**20}


@pytest.mark.parametrize(("how", "fill"), [("AT(i, j) = 2.0f * AT(j, i);", "uniform"), ("AT(i, j) += 1.0f;", "normal")])
def test_elements_that_macros_stand_for_are_written_and_read(tmp_path, how, fill):
    source = (
        "#define ELEMENT(m, a, b) m[(a) * n + (b)]\n#define AT(a, b) ELEMENT(grid, a, b)\n"
        "__global__ void k(float *grid, int n) { int i = blockIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;"
        f" if (j < n) {{ {how} }} }}\n"
    )
    _, text, arguments = drafted_of(tmp_path, source)
    assert (arguments["grid"].output, arguments["grid"].fill) == (True, fill)
    assert "output = true  # the text writes it" in text


@pytest.mark.parametrize(("maker", "high"), [("__global__ void", "n"), ("void", "seeds")])
def test_what_remains_by_a_scalar_of_another_kernel_bounds_no_numbers_of_the_host(tmp_path, maker, high):
    source = (
        f"{maker} make(unsigned *ids, int n, unsigned seeds) {{ for (int i = 0; i < n; i++) ids[i] = i % seeds; }}\n"
        f"__global__ void k(float *to, const float *from, const unsigned *ids, int n) {{ {ONE}"
        " if (i < n) to[i] = from[ids[i]]; }\n"
        "void run(float *to, const float *from, const unsigned *ids, int n)"
        " { k<<<(n + 255) / 256, 256>>>(to, from, ids, n); }\n"
    )
    kernel = tmp_path / "kernel.cu"
    kernel.write_text(source)
    text = scaffold(kernel, "k")
    assert f'high = "{high}"' in text
    assert ("seeds" in text) is (high == "seeds")
