"""Sizes that drafts take for small numbers, as a filter's; no kernel is built here."""

from __future__ import annotations

import pytest

from tests.problem.examples import drafted
from tui_tuner.problem.draft.amendments import Amendments
from tui_tuner.problem.draft.sizes.small import named_few
from tui_tuner.problem.expressions import evaluate

ONE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def of_line(tmp_path, scalars, body, blocks="n"):
    """The draft of a kernel that its host only hands scalars through to, with a thread for each of so many."""
    given = ", ".join(f"int {one}" for one in scalars.split())
    return drafted(
        tmp_path,
        f"__global__ void k(const float *from, float *to, {given}) {{ {ONE} {body} }}\n"
        f'extern "C" void run(const float *from, float *to, {given}) {{ int all = {blocks};'
        f" k<<<(all + 127) / 128, 128>>>(from, to, {', '.join(scalars.split())}); }}\n",
    )[0]


@pytest.mark.parametrize(
    ("scalars", "body", "blocks", "small"),
    [
        (
            "n window_size",
            "float s = 0; int a = max(0, i - window_size), b = min(n, i + window_size);"
            " for (int j = a; j < b; j++) s += from[j]; to[i] = s;",
            "n",
            {"window_size": 9},
        ),
        (
            "n radius",
            "float s = 0; for (int j = -radius; j <= radius; j++) s += from[max(0, i + j) % n]; to[i] = s;",
            "n",
            {"radius": 4},
        ),
        (
            "n reach",
            "float s = 0; for (int j = -reach; j <= reach; j++) s += from[max(0, i + j) % n]; to[i] = s;",
            "n",
            {"reach": 4},
        ),
        ("n label", "if (i < n) to[i] = from[label * n + i];", "n", {"label": 3}),
        ("n zero_point", "if (i < n) to[i] = from[i] - zero_point * i;", "n", {"zero_point": 3}),
        ("n k", "if (i < n) to[i] = i + k < n ? from[i + k] : 0;", "n", {"k": 8}),
        (
            "n taps",
            "if (i < n - taps + 1) { float s = 0; for (int j = 0; j < taps; j++) s += from[i + j]; to[i] = s; }",
            "n - taps + 1",
            {"taps": 9},
        ),
        (
            "n wide far",
            "int all = (n - wide) / far + 1; if (i < all) { float s = 0;"
            " for (int j = 0; j < wide; j++) s += from[i * far + j]; to[i] = s; }",
            "(n - wide) / far + 1",
            {"wide": 9, "far": 1},
        ),
        (
            "n kernel_size stride dilation padding",
            "if (i >= n) return; float s = 0;"
            " for (int j = 0; j < kernel_size; j++) s += from[i * stride + j * dilation - padding]; to[i] = s;",
            "n",
            {"kernel_size": 9, "stride": 1, "dilation": 1, "padding": 1},
        ),
    ],
)
def test_what_the_host_hands_through_to_a_method_is_small(tmp_path, scalars, body, blocks, small):
    problem = of_line(tmp_path, scalars, body, blocks)
    assert {name: problem.sizes[name] for name in small} == small
    assert problem.sizes["n"] >= 1024
    for test in problem.tests:
        assert {name: test.sizes[name] for name in small} == small


@pytest.mark.parametrize(
    ("scalars", "body"),
    [
        (
            "m n k",
            "if (i >= m * n) return; float s = 0; for (int j = 0; j < k; j++) s += from[j * n + i % n]; to[i] = s;",
        ),
        ("n k", "if (i >= n) return; float s = 0; for (int j = 0; j < k; j++) s += from[i * k + j]; to[i] = s;"),
        ("n stride", "if (i < n) to[i] = from[i * stride];"),
        ("n limit", "if (i < n) to[i] = from[i * limit + i - limit + 1];"),
    ],
)
def test_rows_and_depths_stay_large(tmp_path, scalars, body):
    problem = of_line(tmp_path, scalars, body, "m * n" if "m" in scalars.split() else "n")
    assert min(problem.sizes.values()) >= 512


def test_a_loop_over_an_array_of_the_thread_goes_no_further_than_that(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "#define MOST 24\n"
        f"__global__ void k(const float *from, float *to, int n, int width) {{ {ONE} if (i >= n) return;\n"
        "float held[MOST]; for (int j = 0; j < width; j++) held[j] = from[i * width + j];\n"
        "for (int j = 0; j < width; j++) to[i * width + j] = held[width - 1 - j]; }\n"
        "void run(const float *from, float *to, int n, int width)"
        " { k<<<(n + 127) / 128, 128>>>(from, to, n, width); }\n",
    )
    assert problem.sizes["width"] == 24


SCALED = """
__global__ void scale(const float *x, const float *s, float *y, int n, int m, int part, int parts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < m) y[j * n + i] = x[j * n + i] * s[j / part * parts + i / part] + OTHER;
}
void run(const float *x, const float *s, float *y, int n, int m, int part)
{
    scale<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(x, s, y, n, m, part, (n + part - 1) / part);
}
"""


@pytest.mark.parametrize(("other", "part"), [("0", 16), ("n / part", 16), ("s[i * part]", 1024), ("(i < part)", 1024)])
def test_what_the_kernel_only_divides_places_by_is_how_many_share_a_number(tmp_path, other, part):
    problem, _ = drafted(tmp_path, SCALED.replace("OTHER", other))
    assert problem.sizes["part"] == part


COUNTED = f"""
__global__ void count(const int *x, int *bins, int n, int kinds)
{{
    {ONE}
    __shared__ int own[512];
    SET
    __syncthreads();
    if (i < n) atomicAdd(&own[x[i]], 1);
    __syncthreads();
    for (int k = threadIdx.x; k < kinds; k += blockDim.x) atomicAdd(&bins[k], own[k]);
}}
void run(const int *x, int *bins, int n, int kinds) {{ count<<<(n + 127) / 128, 128>>>(x, bins, n, kinds); }}
"""


@pytest.mark.parametrize(
    "cleared",
    [
        "for (int k = threadIdx.x; k < kinds; k += blockDim.x) { own[k] = 0; }",
        "if (threadIdx.x < kinds) own[threadIdx.x] = 0;",
    ],
)
def test_what_a_block_has_room_for_and_clears_in_part_bounds_that_part_and_where_it_reads(tmp_path, cleared):
    problem, _ = drafted(tmp_path, COUNTED.replace("SET", cleared))
    assert problem.sizes["kinds"] == 512
    assert (problem.arguments[0].fill, problem.arguments[0].high) == ("integers", "kinds")


def test_another_loop_over_what_a_block_has_room_for_says_nothing(tmp_path):
    problem, _ = drafted(tmp_path, COUNTED.replace("SET", "for (int k = 0; k < kinds; k++) bins[k] += own[k % 512];"))
    assert problem.sizes["kinds"] > 512


def test_a_window_reaches_no_further_than_its_elements_are_held(tmp_path):
    body = (
        "float held[7]; int a = max(0, i - window), b = min(n - 1, i + window), at = 0;"
        " for (int j = a; j <= b; j++) held[at++] = from[j]; to[i] = held[0];"
    )
    assert of_line(tmp_path, "n window", body).sizes["window"] == 3


def test_what_the_host_draws_at_random_is_no_more_than_that(tmp_path):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void k(const float *from, float *to, int n, int which) {{ {ONE}"
        " if (i < n) to[i] = from[which * n + i]; }\n#define KINDS 6\n"
        "int main() { int n = 5000; float *from, *to; cudaMalloc(&to, n * 4); cudaMalloc(&from, n * KINDS * 4);"
        " int which = rand() % KINDS; k<<<(n + 127) / 128, 128>>>(from, to, n, which); }\n",
    )
    assert (problem.sizes["n"], problem.sizes["which"]) == (5000, 5)


def test_rows_that_the_kernel_parts_into_groups_are_whole_groups_at_tests(tmp_path):
    problem = of_line(
        tmp_path,
        "rows columns group_size",
        "if (i >= rows * columns) return; int r = i / columns, g = i % columns / group_size;"
        " to[i] = from[r * (columns / group_size) + g];",
        "rows * columns",
    )
    assert problem.sizes["group_size"] == 16
    assert [test.sizes["columns"] % 16 for test in problem.tests] == [0] * len(problem.tests)


def test_without_a_host_the_name_alone_says_so(tmp_path):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void k(const float *from, float *to, int n, int kernel_size) {{ {ONE} if (i >= n) return;"
        " float s = 0; for (int j = 0; j < kernel_size; j++) s += from[i + j]; to[i] = s; }\n",
    )
    assert (problem.sizes["n"] >= 1024, problem.sizes["kernel_size"]) == (True, 9)


SLID = (
    "__global__ void k(const float *from, float *to, int images, int colours, int h, int w, int wide, int far) {"
    " int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;"
    " int all = (w - wide) / far + 1; if (x >= all || y >= (h - wide) / far + 1) return; float s = 0;"
    " for (int i = 0; i < wide; i++) s += from[(z * h + y * far) * w + x * far + i];"
    " to[(z * h + y) * all + x] = s; }\n"
    "void run(const float *from, float *to, int images, int colours, int h, int w, int wide, int far) {"
    " int p = (w - wide) / far + 1, q = (h - wide) / far + 1; dim3 blocks((p + 15) / 16, (q + 15) / 16, DEEP);"
    " k<<<blocks, dim3(16, 16)>>>(from, to, images, colours, h, w, wide, far); }\n"
)


def of_all(problem):
    """The sizes of all that is run: timed and tested, and on the emulator."""
    return [problem.sizes, problem.emulator.sizes, *(one.sizes for one in (*problem.tests, *problem.emulator.tests))]


@pytest.mark.parametrize("halvings", range(0, 9, 2))
def test_sizes_made_smaller_leave_every_extent_something(tmp_path, halvings):
    problem, text = drafted(
        tmp_path, SLID.replace("DEEP", "images * colours"), Amendments(halvings=halvings, tested="apart")
    )
    for sizes in of_all(problem):
        assert min(evaluate(one, sizes) for one in problem.launch.problem_size) >= 1, text


def test_small_sizes_that_are_guesses_are_others_in_tests(tmp_path):
    """A kernel that knows a stride of 1 by heart would pass tests that have no other."""
    source = SLID.replace("DEEP", "images * colours")
    problem, text = drafted(tmp_path, source, Amendments(tested="all"))
    assert {name: problem.sizes[name] for name in ("wide", "far")} == {"wide": 9, "far": 1}
    for test in (*problem.tests, *problem.emulator.tests):
        assert test.sizes["wide"] < 9, text
        assert test.sizes["far"] == 2, text
    by_host = source.replace("void run(", "void all() { run(a, b, 16, 3, 512, 512, 9, 1); }\nvoid run(")
    of_host, text = drafted(tmp_path, by_host, Amendments(tested="all"))
    assert {test.sizes["far"] for test in (*of_host.tests, *of_host.emulator.tests)} == {1}, text


def test_what_is_left_of_a_size_is_half_of_it_where_nobody_says_more(tmp_path):
    problem, text = drafted(
        tmp_path,
        f"__global__ void k(const float *from, float *to, int n, int first) {{ {ONE}"
        " if (i < n - first) to[i] = from[first + i]; }\n"
        "void run(int n, int first) { int left = n - first; float *from, *to; cudaMalloc(&from, n * sizeof(float));"
        " cudaMalloc(&to, left * sizeof(float)); k<<<(left + 127) / 128, 128>>>(from, to, n, first); }\n",
    )
    assert all(sizes["n"] // 2 in (sizes["first"], sizes["first"] + 1) for sizes in of_all(problem)), text


@pytest.mark.parametrize("name", ["radius_px", "blur_radius_pixels", "radius_x"])
def test_a_radius_is_a_few_in_whatever_unit(tmp_path, name):
    source = (
        f"__global__ void k(const float *from, float *to, int n, int {name}) {{ {ONE} float s = 0;"
        f" if (i < n) {{ for (int j = 0; j <= {name}; j++) s += from[min(i + j, n - 1)]; to[i] = s; }} }}\n"
    )
    assert drafted(tmp_path, source)[0].sizes[name] == 4


def test_blocks_along_z_are_no_more_than_a_grid_has(tmp_path):
    problem, text = drafted(tmp_path, SLID.replace("DEEP", "images * colours * h"))
    for sizes in of_all(problem):
        assert evaluate(problem.launch.problem_size[2], sizes) <= 65535, text


TOY = (
    f"__global__ void k(const float *from, float *to, int n, int m) {{ {ONE}"
    " if (i < n) for (int j = 0; j < m; j++) to[i * m + j] = 2 * from[i * m + j]; }\n"
    "int main() { int n = 15, m = 4; float *a, *b; cudaMalloc(&a, n * m * sizeof(float));"
    " cudaMalloc(&b, n * m * sizeof(float)); k<<<(n + 127) / 128, 128>>>(a, b, n, m); }\n"
)


def test_what_blocks_divide_is_larger_than_a_toy_of_a_host_and_a_few_stay_a_few(tmp_path):
    problem, text = drafted(tmp_path, TOY)
    assert problem.sizes == {"n": 2**20, "m": 4}
    assert "n = 1048576  # a guess, for the host's 15 is too small to be timed: check" in text
    assert "m = 4  # as the host has it" in text


def test_a_toy_of_a_host_stays_where_its_sizes_are_asked_for(tmp_path):
    problem, _ = drafted(tmp_path, TOY, Amendments(as_host=True))
    assert problem.sizes == {"n": 15, "m": 4}


def test_an_array_that_running_showed_to_be_larger_makes_no_launch_of_a_toy(tmp_path):
    problem, _ = drafted(tmp_path, TOY, Amendments(shapes={"to": "8192"}))
    assert problem.sizes["n"] == 2**20


def test_a_toy_stays_where_an_array_would_not_grow_with_its_threads(tmp_path):
    whole = TOY.replace("m = 4;", "m = 4, wide = 5;").replace("&a, n * m *", "&a, wide * wide *")
    assert drafted(tmp_path, whole)[0].sizes == {"n": 15, "m": 4, "wide": 5}


def test_a_fraction_that_is_a_size_goes_with_it(tmp_path):
    source = TOY.replace("int n, int m", "float n, int m").replace("(a, b, n, m)", "(a, b, (float)n, m)")
    problem, text = drafted(tmp_path, source)
    assert {one.name: one.value for one in problem.arguments}["n"] in problem.sizes
    assert problem.sizes[problem.arguments[2].value] == 2**20, text


def test_a_toy_with_arrays_of_a_number_stays_as_long(tmp_path):
    whole = TOY.replace("n * m * sizeof(float)", "60 * sizeof(float)")
    assert drafted(tmp_path, whole)[0].sizes == {"n": 15}


def test_elements_that_offsets_divide_among_the_rows_of_a_toy_are_more_too(tmp_path):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void k(const int *ends, const float *from, float *to, int rows) {{ {ONE} if (i < rows) {{"
        " float s = 0; for (int j = ends[i]; j < ends[i + 1]; j++) s += from[j]; to[i] = s; } }\n"
        "int main() { int rows = 4, nnz = 9; int *e; float *a, *b; cudaMalloc(&e, (rows + 1) * sizeof(int));"
        " cudaMalloc(&a, nnz * sizeof(float)); cudaMalloc(&b, rows * sizeof(float));"
        " k<<<(rows + 127) / 128, 128>>>(e, a, b, rows); }\n",
    )
    assert problem.sizes == {"rows": 2**17, "nnz": 2**20}


GATHERED = (
    f"__global__ void k(const int *at, const float *from, float *to, int n) {{ {ONE} if (i < n) to[i] = from[at[i]]; }}"
    "\nint main() { int n = MANY; int h[] = {2, 0, 1, 2}; int *at; float *a, *b; cudaMalloc(&at, n * sizeof(int));"
    " cudaMalloc(&a, n * sizeof(float)); cudaMalloc(&b, n * sizeof(float)); cudaMemcpy(at, h, n * 4, 1);"
    " k<<<(n + 127) / 128, 128>>>(at, a, b, n); }\n"
)


@pytest.mark.parametrize(("many", "high"), [("4", "n"), ("8192", "3")])
def test_where_a_toy_reads_by_numbers_that_it_lists_is_as_far_as_its_array_goes(tmp_path, many, high):
    problem, text = drafted(tmp_path, GATHERED.replace("MANY", many))
    assert (problem.arguments[0].low, problem.arguments[0].high) == (0, high)
    assert ("it says where the kernel reads: check" in text) is (high == "n")


SHARED_OUT = """
__global__ void k(const float *from, float *to, int n)
{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += from[i];
    atomicAdd(&to[blockIdx.x], sum);
}
void run(const float *from, float *to, int n, int blocks) { k<<<blocks, 256>>>(from, to, n); }
"""


def test_blocks_whose_threads_go_through_all_elements_are_fewer_than_these(tmp_path):
    problem, text = drafted(tmp_path, SHARED_OUT)
    assert (problem.launch.problem_size, problem.launch.grid_div_x) == (["blocks"], ["1"])
    assert problem.sizes == {"n": 2**20, "blocks": 1024}
    assert "blocks = 1024  # a guess: check" in text


FIXED = (
    f"__global__ void k(const float *x, float *y, int n) {{ {ONE} DO y[i] = x[i]; }}\n"
    "void run(const float *from, float *to, int n) { float *x, *y; cudaMalloc(&x, n * sizeof(float));"
    " cudaMalloc(&y, n * sizeof(float)); k<<<256, 256>>>(x, y, n); }\n"
)
ON = "for (; i < n; i += blockDim.x * gridDim.x)"


@pytest.mark.parametrize(("do", "timed", "emulated"), [("if (i < n)", 2**16, 2**14), (ON, 2**20, 2**14)])
def test_threads_of_a_fixed_number_have_no_more_to_do_than_one_each_nor_the_less_for_being_many(
    tmp_path, do, timed, emulated
):
    problem, _ = drafted(tmp_path, FIXED.replace("DO", do))
    assert (problem.sizes, problem.emulator.sizes) == ({"n": timed}, {"n": emulated})


def test_a_block_that_nobody_launches_alone_says_no_number(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "__global__ void k(float *sum, const float *x, int n) { __shared__ float part[256]; int t = threadIdx.x;"
        " part[t] = t < n ? x[t] : 0; __syncthreads(); for (int i = blockDim.x / 2; i > 0; i >>= 1) {"
        " if (t < i) part[t] += part[t + i]; __syncthreads(); } if (t == 0) *sum = part[0]; }\n",
    )
    assert problem.sizes["n"] > 256


def test_a_block_that_is_made_of_sizes_has_no_more_threads_than_it_may(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "__global__ void k(int *x, int n) { x[threadIdx.y * n + threadIdx.x] += blockDim.x; }\n"
        "void run(int *from, int n) { int *x; cudaMalloc(&x, n * n * sizeof(int)); k<<<1, dim3(n, n)>>>(x, n); }\n",
    )
    assert (problem.launch.block_size, problem.sizes) == (["n", "n"], {"n": 32})


def test_sizes_are_no_larger_than_the_int_that_is_their_product_can_be(tmp_path):
    names = ("a", "b", "c", "d", "e", "f")
    given = ", ".join(f"int {name}" for name in names)
    problem, _ = drafted(
        tmp_path,
        f"__global__ void k(float *y, const float *x, int all, {given}) {{"
        " for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += blockDim.x * gridDim.x)"
        " y[i] = x[i] + a + b + c + d + e + f; }\n"
        f"void run(float *y, float *x, {given}) {{ int all = {' * '.join(names)};"
        f" k<<<std::min(4096, (all + 255) / 256), 256>>>(y, x, all, {', '.join(names)}); }}\n",
    )
    (number,) = (one.value for one in problem.arguments if one.name == "all")
    assert {*names} <= {*problem.sizes}
    assert evaluate(number, problem.sizes) < 2**31


@pytest.mark.parametrize(
    "requires",
    [
        'if (d != 2) throw "no";',
        'if (d != 2) { printf("no"); exit(1); }',
        "if (d != 2) return;",
        "assert(d == 2);",
        'TORCH_CHECK(d == 2, "no");',
    ],
)
def test_a_size_of_which_the_host_takes_one_number_alone_is_that(tmp_path, requires):
    problem, _ = drafted(
        tmp_path,
        "__global__ void k(const float *x, float *to, int n, int d) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < n) { float s = 0; for (int j = 0; j < d; j++) s += x[i * d + j]; to[i] = s; } }\n"
        f"void run(const float *x, float *to, int n, int d) {{ {requires}"
        " k<<<(n + 127) / 128, 128>>>(x, to, n, d); }\n",
    )
    assert (problem.sizes["d"], problem.tests[0].sizes["d"]) == (2, 2)
    assert problem.sizes["n"] == 2**20


@pytest.mark.parametrize(
    ("name", "few"),
    [("sampling_ratio", [2]), ("up", [2]), ("down_x", [2]), ("pooled_height", [7]), ("pad_x0", [1]), ("upper", [])],
)
def test_ratios_margins_and_pooled_places_are_a_few(name, few):
    assert list(named_few(name)) == few
