"""Launches that nobody states, as the kernel's own text says them; no kernel is built here."""

from __future__ import annotations

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
        (f"{X} {Y} if (column < columns - 1) to[row * columns + column] = 1;", ["rows", "columns"]),
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
