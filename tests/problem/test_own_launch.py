"""Launches that nobody states, as the kernel's own text says them; no kernel is built here."""

from __future__ import annotations

import math

import pytest

from tests.problem.examples import drafted

X = "int column = blockIdx.x * blockDim.x + threadIdx.x;"
Y = "int row = blockIdx.y * blockDim.y + threadIdx.y;"


@pytest.mark.parametrize(
    ("body", "elements"),
    [
        (f"{X} {Y} if (row < rows && column < columns) to[row * columns + column] = 1;", ["columns", "rows"]),
        (f"{Y} {X} if (row >= rows || column >= columns) return; to[row * columns + column] = 1;", ["columns", "rows"]),
        (f"{X} {Y} if (row < columns && column < rows) to[row * rows + column] = 1;", ["rows", "columns"]),
        (f"{X} {Y} if (column < columns - 1) to[row * columns + column] = 1;", ["columns", "rows"]),
        (
            f"{X} {Y} if (column < rows) to[column] = 1; if (column < columns) to[row * columns + column] = 1;",
            ["rows", "columns"],
        ),
        (
            f"{X} for (int row = threadIdx.y; row < rows; row += blockDim.y)"
            " if (column < columns) to[row * columns + column] = 1;",
            ["columns", "1"],
        ),
    ],
    ids=["guarded", "left early", "turned", "less one", "two limits", "one block along y"],
)
def test_guards_say_which_size_the_threads_of_an_axis_count(tmp_path, body, elements):
    problem, _ = drafted(tmp_path, f"__global__ void k(float *to, int rows, int columns) {{ {body} }}\n")
    assert problem.launch.problem_size == elements


@pytest.mark.parametrize(
    ("body", "elements"),
    [
        ("if (column >= a * b * c) return; to[column] = 1;", "a * b * c"),
        ("const long all = (long)a * b * c; if (column < all) to[column] = 1;", "a * b * c"),
        ("int rows = a * b; if (column >= rows * c) return; to[column] = 1;", "a * b * c"),
        ("int all = a * 2 * b; if (column < all) to[column] = 1;", "(a * 2 * b)"),
        ("int all = a * b; all /= c; if (column < all) to[column] = 1;", "a"),
    ],
    ids=["product", "by a name", "of a name", "times a number", "changed"],
)
def test_a_guard_over_a_product_of_sizes_says_as_many_threads(tmp_path, body, elements):
    source = f"__global__ void k(float *to, int a, int b, int c) {{ {X} {body} }}\n"
    problem, _ = drafted(tmp_path, source)
    assert problem.launch.problem_size == [elements]


def test_threads_that_four_sizes_are_multiplied_to_are_no_more_than_of_one(tmp_path):
    source = (
        f"__global__ void k(float *to, const float *from, int n, int c, int h, int w) {{ {X}"
        " if (column < n * c * h * w) to[column] = from[column]; }\n"
    )
    problem, _ = drafted(tmp_path, source)
    assert (problem.launch.problem_size, problem.sizes["w"]) == (["n * c * h * w"], 32)
    emulated = problem.on_emulator()
    assert all(2048 < math.prod(sizes.values()) <= 65536 for sizes in (emulated.sizes, emulated.tests[0].sizes))


NUMBERED = {
    "at once": "int x = blockIdx.x * TILE + threadIdx.x, y = threadIdx.y + ROWS * blockIdx.y;",
    "by names": "int u = threadIdx.x, v = threadIdx.y, gx = (int)blockIdx.x * TILE, gy = ROWS * (int)blockIdx.y;"
    " int x = gx + u, y = v + gy;",
}


@pytest.mark.parametrize("numbers", NUMBERED.values(), ids=NUMBERED)
def test_macros_by_which_threads_are_numbered_are_the_block_of_what_nobody_launches(tmp_path, numbers):
    body = f"{numbers} if (x < columns && y < rows) to[y * columns + x] = 1;"
    source = "#ifndef TILE\n#define TILE 32\n#endif\n#define ROWS 8\n"
    source += f"__global__ void k(float *to, int rows, int columns) {{ {body} }}\n"
    problem, text = drafted(tmp_path, source)
    assert problem.launch.block_size == ["TILE", "ROWS"]
    assert problem.launch.problem_size == ["columns", "rows"]
    assert problem.defaults == {"TILE": 32, "ROWS": 8}
    assert problem.tunables == {"TILE": [8, 16, 32, 64], "ROWS": [2, 4, 8, 16]}
    assert problem.arguments[0].shape in (["rows * columns"], ["columns * rows"]), text
    assert "[launch]  # the file launches it nowhere\n" in text


@pytest.mark.parametrize(
    "body",
    [
        "int x = blockIdx.x * TILE + threadIdx.x; for (int i = 0; i < TILE; i += STEP) if (x + i < n) to[x + i] = 1;",
        "int x = blockIdx.x * TILE + threadIdx.x; if (x < n) to[x] = blockDim.x;",
        "int x = blockIdx.x * TILE + 2 * threadIdx.x; if (x < n) to[x] = 1;",
        "int x = blockIdx.x * HUGE + threadIdx.x; if (x < n) to[x] = 1;",
    ],
    ids=["by steps", "other blocks too", "two each", "too many"],
)
def test_macros_that_may_be_more_than_the_block_leave_it_open(tmp_path, body):
    source = f"#define TILE 64\n#define STEP 16\n#define HUGE 4096\n__global__ void k(float *to, int n) {{ {body} }}\n"
    problem, _ = drafted(tmp_path, source)
    assert problem.defaults == {"block_size_x": 256}


def test_an_index_that_is_turned_round_reaches_as_far_as_the_first(tmp_path):
    body = f"{X} {Y} if (row < rows && column < columns)"
    body += " to[row * columns + column] = from[(rows - 1 - row) * columns + column];"
    problem, text = drafted(
        tmp_path, f"__global__ void k(float *to, float *from, int rows, int columns) {{ {body} }}\n"
    )
    assert [one.shape for one in problem.arguments[:2]] == [problem.arguments[0].shape] * 2, text
    assert text.count("as far as the kernel's loops and guards go") == 2


@pytest.mark.parametrize(
    ("array", "used", "values", "start"),
    [
        ("float s[THREADS];", "s[threadIdx.x] = 1;", {"block_size_x": [16]}, {"block_size_x": 16}),
        ("float s[128];", "int t = threadIdx.x; s[t] = 1;", {"block_size_x": [32, 64, 128]}, {"block_size_x": 128}),
        ("float s[128];", "s[2 * threadIdx.x] = 1;", None, {"block_size_x": 256}),
        (
            "float s[32][33];",
            "s[threadIdx.y][threadIdx.x] = 1;",
            {"block_size_x": [16, 32], "block_size_y": [1, 2, 4, 8, 16, 32]},
            {"block_size_x": 32, "block_size_y": 32},
        ),
    ],
    ids=["by a macro", "by a name", "at other places", "of a tile"],
)
def test_a_block_is_no_larger_than_an_array_that_has_an_element_for_each_thread(tmp_path, array, used, values, start):
    source = (
        f"#define THREADS 16\n__global__ void k(const float *x, float *to, int n) {{ __shared__ {array} {used}"
        " __syncthreads(); int i = blockIdx.x; if (i < n) to[i] = x[i] + s[0]; }"
    )
    problem, _ = drafted(tmp_path, source.replace("s[0];", "s[0][0];") if "][" in array else source)
    assert problem.defaults == start
    assert values is None or problem.tunables == values


IN_A_COMMENT = """
// y[r][c] = x[r][c] + bias[c], one warp a row
//   dim3 block(32, WARPS);
//   add_bias<<<(rows + WARPS - 1) / WARPS, block, 0, stream>>>(y, x, bias, cols);
#define WARPS 4
__global__ void add_bias(float *y, const float *x, const float *bias, int cols) {
    int row = blockIdx.x * WARPS + threadIdx.y;
    for (int c = threadIdx.x; c < cols; c += 32) y[row * cols + c] = x[row * cols + c] + bias[c];
}
"""


def test_a_launch_in_a_comment_says_grid_and_block_where_nobody_launches_the_kernel(tmp_path):
    problem, text = drafted(tmp_path, IN_A_COMMENT)
    assert "[launch]  # as a comment launches it in line 4" in text
    assert problem.launch.problem_size == ["rows"]
    assert problem.launch.block_size == ["32", "WARPS"]
    assert problem.launch.grid_div_x == ["WARPS"]
    assert problem.sizes.keys() == {"rows", "cols"}
    assert [one.shape for one in problem.arguments if one.shape] == [["cols * rows"], ["cols * rows"], ["cols"]]


def test_what_a_comment_passes_and_fills_is_prose_and_a_launch_of_another_kernel_is_none(tmp_path):
    _, text = drafted(tmp_path, IN_A_COMMENT.replace("bias, cols);", "bias, all of them);"))
    assert 'problem_size = ["rows"]' in text
    _, text = drafted(tmp_path, IN_A_COMMENT.replace("add_bias<<<", "add_other_bias<<<"))
    assert "comment launches it" not in text


def test_an_array_whose_extent_nobody_says_has_room_for_all_beside_a_launch_in_a_comment(tmp_path):
    problem, _ = drafted(
        tmp_path, IN_A_COMMENT.replace("int cols", "int cols, int step").replace("bias[c]", "bias[c & step]")
    )
    assert [one.shape for one in problem.arguments if one.name == "bias"] == [["cols", "cols"]]


IN_WORDS = """
#define NX 512
#define BX 16
%s
__global__ void shift(float *y, const float *x, int rows) {
    int i = blockIdx.x * BX + threadIdx.x, j = blockIdx.y;
    printf("grid (NX, NX), block (NX)");
    if (i < NX && j < rows) y[j * NX + i] = x[j * NX + i];
}
"""


@pytest.mark.parametrize("said", ["/* grid (NX / BX, rows), block (BX) */", "// grid: (NX / BX, rows); block = BX"])
def test_grid_and_block_of_a_comment_may_be_said_in_words(tmp_path, said):
    problem, text = drafted(tmp_path, IN_WORDS % said)
    assert "[launch]  # as a comment launches it in line 4" in text
    assert problem.launch.problem_size == ["512", "rows"]
    assert problem.launch.block_size == ["BX"]


@pytest.mark.parametrize("prose", ["// the grid covers block rows", "// grid (of cells), block (of many)", ""])
def test_prose_and_texts_are_no_launch(tmp_path, prose):
    assert "comment launches it" not in drafted(tmp_path, IN_WORDS % prose)[1]


def test_the_host_comes_before_a_comment(tmp_path):
    host = "void host(float *y, float *x, float *b) { add_bias<<<512, dim3(32, WARPS)>>>(y, x, b, 768); }\n"
    problem, text = drafted(tmp_path, IN_A_COMMENT + host)
    assert "as the host launches it" in text
    assert problem.sizes["cols"] == 768
