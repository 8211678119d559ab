"""Sizes in structures that a kernel takes by value, where nobody launches it; no kernel is built here."""

from __future__ import annotations

import pytest

from tests.problem.examples import drafted

STRUCTURE = "struct Grid { int rows; int columns; int kind; float factor; };\n"
KERNEL = """\
__global__ void scale(const float *x, float *y, Grid g) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < g.rows && c < g.columns) y[r * g.columns + c] = g.kind == 1 ? g.factor * x[r * g.columns + c] : 0;
}
"""
BY_NAMES = KERNEL.replace("{\n", "{\n    const int rows = g.rows; const int columns = g.columns;\n", 1)
LAUNCH = "void run(const float *x, float *y, Grid g) { scale<<<dim3(8, 8), dim3(16, 16)>>>(x, y, g); }\n"


def members_of(problem):
    return {one.name: one.value for one in next(one for one in problem.arguments if one.members).members}


@pytest.mark.parametrize("kernel", [KERNEL, BY_NAMES])
def test_what_a_kernel_counts_by_in_a_structure_is_a_size(tmp_path, kernel):
    problem, _ = drafted(tmp_path, STRUCTURE + kernel)
    assert problem.sizes == {"rows": 1024, "columns": 1024}
    assert problem.launch.problem_size == ["columns", "rows"]
    assert members_of(problem) == {"rows": "rows", "columns": "columns", "kind": 1, "factor": 1.5}
    assert [one.shape for one in problem.arguments if one.shape] == [["columns * rows"]] * 2


def test_a_parameter_of_the_same_name_is_the_size(tmp_path):
    problem, _ = drafted(tmp_path, STRUCTURE + KERNEL.replace("Grid g)", "Grid g, int rows)"))
    assert problem.sizes.keys() == {"rows", "columns"}


def test_where_the_host_launches_it_the_host_says_what_they_are(tmp_path):
    _, text = drafted(tmp_path, STRUCTURE + KERNEL + LAUNCH)
    assert '"rows"' not in text.partition("[tunables]")[0].partition("members")[0]


HELD = """\
__global__ void add(const float *x, float *y, const int *d_rows, const int *d_columns, const int *level) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    const int rows = *d_rows, columns = d_columns[0];
    int at = *level;
    if (r < rows && c < columns) y[r * columns + c] += at == 3 ? 1 : x[r * columns + c];
}
"""


def arguments_of(problem):
    return {one.name: one for one in problem.arguments}


def test_the_only_element_of_an_array_that_a_kernel_takes_for_a_size_is_one(tmp_path):
    problem, _ = drafted(tmp_path, HELD)
    assert problem.launch.problem_size == ["columns", "rows"]
    arguments = arguments_of(problem)
    assert arguments["x"].shape == ["columns * rows"]
    assert (arguments["d_rows"].shape, arguments["d_rows"].low, arguments["d_rows"].high) == (["1"], "rows", "rows + 1")
    assert (arguments["d_columns"].low, arguments["level"].low) == ("columns", None)


def test_what_the_host_copies_to_such_an_array_is_that_size(tmp_path):
    problem, text = drafted(
        tmp_path,
        HELD + "void run() { int m = 700, n = 900; int *a, *b, *c; float *x, *y;\n"
        " cudaMalloc(&x, m * n * sizeof(float)); cudaMalloc(&y, m * n * sizeof(float));\n"
        " cudaMemcpy(a, &m, sizeof(int), cudaMemcpyHostToDevice); cudaMemcpy(b, &n, 4, cudaMemcpyHostToDevice);\n"
        " add<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(x, y, a, b, c); }\n",
    )
    assert problem.sizes == {"rows": 700, "columns": 900}, text
    arguments = arguments_of(problem)
    assert [arguments[name].low for name in ("d_rows", "d_columns")] == ["rows", "columns"]


@pytest.mark.parametrize(
    "other",
    ["int rows = *d_rows; rows += 1;", "int rows = *d_rows; y[d_rows[1]] = 0;", "int rows = *d_rows; *d_rows = 0;"],
    ids=["changed", "with another element", "written"],
)
def test_an_element_that_is_changed_or_not_the_only_one_is_no_size(tmp_path, other):
    source = HELD.replace("const int rows = *d_rows, columns", f"{other} const int columns").replace(
        "const int *d", "int *d"
    )
    assert arguments_of(drafted(tmp_path, source)[0])["d_rows"].low is None


CONSTANTS = """\
__constant__ int rows, columns;
__constant__ int level;
__constant__ float weight;
__global__ void add(const float *x, float *y) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows && c < columns) y[r * columns + c] += level == 3 ? weight : x[r * columns + c];
}
"""


def test_numbers_in_constant_memory_that_a_kernel_takes_for_sizes_are_sizes(tmp_path):
    problem, _ = drafted(tmp_path, CONSTANTS)
    arguments = arguments_of(problem)
    assert problem.launch.problem_size == ["columns", "rows"]
    assert arguments["x"].shape == ["columns * rows"]
    assert [(one.name, one.value, one.shape) for one in problem.arguments if one.constant] == [
        ("rows", "rows", None),
        ("columns", "columns", None),
        ("weight", None, [1]),
    ]


def test_what_the_host_copies_to_constant_memory_is_that_size(tmp_path):
    problem, _ = drafted(
        tmp_path,
        CONSTANTS + "void run() { int m = 700, n = 900, l = 3; float *x, *y;\n"
        " cudaMalloc(&x, m * n * sizeof(float)); cudaMalloc(&y, m * n * sizeof(float));\n"
        " cudaMemcpyToSymbol(rows, &m, sizeof(int)); cudaMemcpyToSymbol(columns, &n, sizeof(int));\n"
        " cudaMemcpyToSymbol(level, &l, sizeof(int));\n"
        " add<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(x, y); }\n",
    )
    assert {700, 900} == {*problem.sizes.values()}
    arguments = arguments_of(problem)
    assert arguments["x"].shape == [f"{arguments['rows'].value} * {arguments['columns'].value}"]
    assert (arguments["level"].value, arguments["level"].shape) == (3, None)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("float w = 0.25f; COPY", 0.25),
        ("const float half = 0.5f; float w; w = half * half; COPY", 0.25),
        ("float w = atof(text); COPY", None),
        ("float w = 0.25f; COPY w = 0.5f; COPY", None),
    ],
    ids=["stated", "made of others", "from outside", "not always the same"],
)
def test_a_number_that_the_host_copies_to_constant_memory_is_its_value(tmp_path, said, value):
    copied = said.replace("COPY", "cudaMemcpyToSymbol(weight, &w, sizeof(float));")
    problem, _ = drafted(tmp_path, f"{CONSTANTS}void run(const char *text) {{ {copied} add<<<4, 64>>>(0, 0); }}\n")
    weight = arguments_of(problem)["weight"]
    assert (weight.value, weight.shape) == (value, None if value else [1])
