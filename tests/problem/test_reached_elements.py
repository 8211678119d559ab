"""How many elements of an array a kernel alone reaches, by its loops, its guards and its own words for sizes."""

import pytest

from tests.problem.examples import drafted
from tui_tuner.problem.draft.amendments import Amendments

KERNEL = """
__global__ void k(const float *x, float *y, int rows, int cols, int part)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    BODY
}
"""


@pytest.mark.parametrize(
    ("body", "elements"),
    [
        ("int n = (cols + part - 1) / part; for (int j = 0; j < cols; j++) SUM[i * n + j / part];", "PARTS * rows"),
        ("int n = (cols + 1) / 2; for (int j = 0; j < cols; j++) SUM[i * n + (j >> 1)];", "ceil_div(cols, 2) * rows"),
        ("const float *own = x + static_cast<std::size_t>(i) * cols; y[i] += own[cols - 1];", "cols * rows"),
        ("for (int j = 0; j < cols; j++) { int at = i - j; if (at >= 0) SUM[at]; }", "rows"),
        ("y[i] += x[0] * x[i];", "rows"),
        ("int t = threadIdx.x; if (t < part || t >= cols - part) return; SUM[t + part];", "cols"),
        ("for (int j = 0; j < cols; j++) SUM[j]; for (int j = 0; j <= cols; j++) SUM[j];", "cols + 1"),
        ("int a = i * cols, b = cols - 1; SUM[a + b];", "cols * rows"),
        ("int j = (int)(i * part) - 1; if (j >= 0 && j < (int)cols) SUM[j];", "cols"),
        ("const int back[3] = {0, 2, 1}; for (int d = 0; d < 3; d++) SUM[back[d] * rows + i];", "3 * rows"),
        ("int part_of = i < part ? 0 : 1; SUM[part_of * cols];", "cols + 1"),
        ("int j = int(threadIdx.x); if (j < static_cast<int>(cols)) SUM[unsigned(i) * cols + j];", "cols * rows"),
    ],
)
def test_elements_are_as_many_as_the_text_says(tmp_path, body, elements):
    problem, text = drafted(tmp_path, KERNEL.replace("BODY", body.replace("SUM", "y[i] += x")))
    shapes = {one.name: one.shape for one in problem.arguments if one.shape}
    assert shapes["x"] == [elements.replace("PARTS", "ceil_div(cols, part)")]
    assert "as far as the kernel's loops and guards go" in text


@pytest.mark.parametrize(
    ("guard", "problem_size"),
    [
        ("int i = PLACE; if (i < border || i >= n - border) return;", "n"),
        ("int i = PLACE; if (i >= n || border > 3) return;", "n"),
        ("long i = PLACE; if (i >= (size_t)n * n) return;", "n * n"),
        ("int i = (PLACE) / 32; if (i >= n) return;", "32 * n"),
        ("int t = PLACE; int i = t >> 5; if (i >= n) return;", "32 * n"),
        ("int t = PLACE; int i = t / WARP_SIZE; if (i >= n) return;", "32 * n"),
    ],
)
def test_threads_are_as_many_as_a_guard_lets_work(tmp_path, guard, problem_size):
    source = (
        "#define WARP_SIZE 32\n__global__ void k(float *x, int border, int n) { GUARD x[i] = 2.0f * x[i] + border; }"
    )
    problem, _ = drafted(
        tmp_path, source.replace("GUARD", guard.replace("PLACE", "blockIdx.x * blockDim.x + threadIdx.x"))
    )
    assert problem.launch.problem_size == [problem_size]


def test_what_a_kernel_goes_before_and_behind_a_place_by_is_a_few(tmp_path):
    problem, _ = drafted(
        tmp_path,
        """
__global__ void blurred(const float *x, float *y, int n, int around)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int j = -around; j <= around; j++) s += x[min(max(i + j, 0), n - 1)];
    y[i] = s;
}
""",
    )
    assert problem.sizes["around"] == 4


def test_how_many_are_chosen_is_a_few_where_the_kernel_is_called_so(tmp_path):
    source = (
        "__global__ void NAME(const float *x, float *y, int rows, int k) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < rows)"
        " for (int j = 0; j < k; j++) y[i * k + j] = x[i]; }"
    )
    assert drafted(tmp_path, source.replace("NAME", "topk_rows"))[0].sizes["k"] == 8
    assert drafted(tmp_path, source.replace("NAME", "spread"))[0].sizes["k"] > 8


def test_rows_are_as_far_apart_as_they_are_long_at_least(tmp_path):
    problem, _ = drafted(
        tmp_path,
        """
__global__ void k(const float *x, float *y, int width, int height, int stride)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < width && r < height) y[r * stride + c] = x[r * stride + c] * 2.0f;
}
""",
        Amendments(tested="apart"),
    )
    test = problem.tests[0].sizes
    assert test["stride"] > test["width"]
    assert {one.name: one.shape for one in problem.arguments if one.shape}["x"] == ["height * stride"]


def test_a_count_of_threads_called_k_is_as_large_as_any(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "__global__ void k(float *y) { int i = blockIdx.x; for (int l = 0; l < 32; l++) y[i * 32 + l] = l; }\n"
        "void run(float *y, int k) { int blocks = k / 32; k<<<blocks, 1>>>(y); }".replace(
            "void k(", "void unpacked("
        ).replace("k<<<", "unpacked<<<"),
    )
    assert problem.sizes["k"] >= 2**16


def test_an_array_of_a_row_for_each_element_of_a_row_is_no_larger_than_memory(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "__global__ void scaled(float *x, const float *w, int cols) { int row = blockIdx.x;"
        " for (int i = threadIdx.x; i < cols; i += blockDim.x) x[row * cols + i] *= w[row]; }",
    )
    assert problem.sizes == {"cols": 1024}
    assert {one.name: one.shape for one in problem.arguments if one.shape}["x"] == ["cols", "cols"]


LABELLED = """
__global__ void k(const float *scores, const int *labels, const float *weights, float *loss, int rows, int kinds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    int label = (int)labels[i];
    float all = 0.0f;
    BODY
    loss[i] = weights[label] * all;
}
"""


@pytest.mark.parametrize(
    "body",
    [
        "for (int c = 0; c < kinds; c++) all += scores[i * kinds + c]; all -= scores[i * kinds + label];",
        "const float *row = scores + i * kinds; for (int c = 0; c < kinds; c++) all += row[c]; all -= row[label];",
        "const float *s = &scores[(size_t)i * kinds]; for (int c = 0; c < kinds; c++) all += s[c]; all -= s[label];",
    ],
)
def test_a_label_is_a_place_in_a_row_that_is_gone_through(tmp_path, body):
    problem, _ = drafted(tmp_path, LABELLED.replace("BODY", body))
    arguments = {one.name: one for one in problem.arguments}
    assert [arguments[one].shape for one in ("scores", "weights")] == [["kinds * rows"], ["kinds"]]
    assert (arguments["labels"].fill, arguments["labels"].high) == ("integers", "kinds")


def test_a_label_is_a_place_in_a_row_of_which_no_more_is_read(tmp_path):
    source = (
        "__global__ void pick(const float *x, float *y, const unsigned *label, unsigned rows, unsigned cols) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < rows) y[i] = -logf(x[i * cols + label[i]]); }"
    )
    problem, _ = drafted(tmp_path, source)
    arguments = {one.name: one for one in problem.arguments}
    assert arguments["x"].shape == ["cols * rows"]
    assert (arguments["label"].fill, arguments["label"].high) == ("integers", "cols")


def test_a_table_that_the_kernel_fills_says_nothing_of_how_far_it_reaches(tmp_path):
    body = "int at[3] = {0, 2, 1}; at[i % 3] = part; y[i] += x[at[1] * cols];"
    problem, _ = drafted(tmp_path, KERNEL.replace("BODY", body))
    assert {one.name: one.shape for one in problem.arguments}["x"] == ["rows", "cols"]


def test_labels_of_a_byte_are_no_more_than_it_holds(tmp_path):
    body = "for (int c = 0; c < kinds; c++) all += scores[i * kinds + c]; all -= scores[i * kinds + label];"
    source = LABELLED.replace("const int *labels", "const unsigned char *labels").replace("BODY", body)
    assert drafted(tmp_path, source)[0].arguments[1].high == "min(kinds, 256)"


def test_a_pointer_that_goes_on_stands_for_no_row(tmp_path):
    body = "const float *row = scores + i * kinds; for (int c = 0; c < kinds; c++) all += *row++; all -= row[label];"
    problem, _ = drafted(tmp_path, LABELLED.replace("BODY", body))
    assert problem.arguments[0].shape != ["kinds * rows"]


@pytest.mark.parametrize("place", ["blockIdx.x + blockIdx.y * gridDim.x", "gridDim.x * blockIdx.y + blockIdx.x"])
def test_rows_of_blocks_that_are_numbered_on_are_no_axis_of_their_own(tmp_path, place):
    source = (
        "__global__ void k(float *x, int n) {"
        f" int i = ({place}) * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2.0f; }}"
    )
    problem, _ = drafted(tmp_path, source)
    assert (problem.launch.problem_size, problem.arguments[0].shape, problem.sizes) == (["n"], ["n"], {"n": 2**20})


def test_what_says_a_row_is_below_the_last_offset_which_begins_none(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "__global__ void k(const int *rows, const float *x, const int *front, float *to, int n) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; int u = front[i]; float s = 0;"
        " for (int e = rows[u]; e < rows[u + 1]; e++) s += x[e]; to[i] = s; }",
    )
    arguments = {one.name: one for one in problem.arguments}
    assert (arguments["rows"].shape, arguments["front"].high) == (["n + 1"], "n")


def test_an_array_that_is_read_at_fixed_places_is_as_long_as_these(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "__global__ void k(const float *centres, const float *x, int *to, int n) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;"
        " to[i] = fabsf(x[i] - centres[0]) < fabsf(x[i] - centres[1]) ? 0 : 1; }",
    )
    assert [one.shape for one in problem.arguments if one.shape] == [["2"], ["n"], ["n"]]


MEMBERS = """
struct Args { const float *x, *w; float *y; int rows, cols; };
__global__ void k(Args a)
{
    int r = blockIdx.x;
    BODY
}
void run(const float *x, const float *w, float *y, int rows, int cols)
{
    Args a{x, w, y, rows, cols};
    k<<<rows, 128>>>(a);
}
"""
MEMBERS_USED = {
    "by the structure": "for (int c = threadIdx.x; c < a.cols; c += blockDim.x) a.y[r * a.cols + c] = WX * a.w[c];",
    "by names of its own": "const int cols = a.cols, n = a.rows; if (r >= n) return;"
    " const float *w = a.w, *x = a.x; auto y = a.y;"
    " for (int c = threadIdx.x; c < cols; c += blockDim.x) y[r * cols + c] = x[r * cols + c] * w[c];",
    "by other names": "const float *xr = a.x + (size_t)r * a.cols; int width = a.cols;"
    " for (int c = threadIdx.x; c < width; c += blockDim.x) a.y[r * width + c] = xr[c] * a.w[c];",
}


@pytest.mark.parametrize("body", MEMBERS_USED.values(), ids=MEMBERS_USED)
def test_arrays_of_a_structure_go_as_far_as_its_sizes_let_the_kernel_reach(tmp_path, body):
    problem, _ = drafted(tmp_path, MEMBERS.replace("BODY", body.replace("WX", "a.x[r * a.cols + c]")))
    shapes = {one.name: one.shape for one in problem.arguments if one.shape}
    assert shapes == {"a_x": ["cols * rows"], "a_w": ["cols"], "a_y": ["cols * rows"]}


def test_a_name_of_the_kernels_own_is_no_size_of_a_structure_that_is_called_so(tmp_path):
    body = "int cols = a.cols / 2; for (int c = threadIdx.x; c < cols; c++) a.y[r * a.cols + c] = a.x[c] * a.w[cols];"
    problem, _ = drafted(tmp_path, MEMBERS.replace("BODY", body))
    assert {one.name: one.shape for one in problem.arguments}["a_x"] != ["cols"]


@pytest.mark.parametrize("given", ["float *x, const float *w", "Pair p"])
def test_an_array_of_an_element_for_each_thread_of_a_block_that_is_fixed_is_as_long_as_the_block(tmp_path, given):
    source = (
        "struct Pair { float *x; const float *w; };\\n"
        "__global__ void k(GIVEN, int n) { __shared__ float s[64]; int t = threadIdx.x; s[t] = P.w[t]; __syncthreads();"
        " for (int j = 0; j < 64; j++) s[t] += P.w[j * 64 + t]; P.x[blockIdx.x * 64 + t] = s[t]; }\\n"
        "void run(GIVEN, int n) { k<<<n, 64>>>(PASSED, n); }"
    ).replace("\\n", "\n")
    is_pair = given == "Pair p"
    source = source.replace("P.", "p." if is_pair else "").replace("PASSED", "p" if is_pair else "x, w")
    problem, _ = drafted(tmp_path, source.replace("GIVEN", given))
    shapes = [one.shape for one in problem.arguments if one.shape]
    assert problem.launch.block_size == ["64"]
    assert shapes == [["64 * n"], ["4096"]]
