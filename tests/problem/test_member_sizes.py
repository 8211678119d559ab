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
