"""Each reference against a plain loop over every element, written from the definition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tui_tuner.problem.inputs import call_reference, make_arguments
from tui_tuner.problem.load import load_problem

SAMPLES = Path(__file__).parents[2] / "sample_kernels"
Array = np.ndarray


def vector_add(a: Array, b: Array, n: int, **_: Any) -> list[float]:
    return [a[i] + b[i] for i in range(n)]


def matmul(A: Array, B: Array, n: int, **_: Any) -> list[list[float]]:  # noqa: N803
    return [[math.fsum(A[i, k] * B[k, j] for k in range(n)) for j in range(n)] for i in range(n)]


def transpose(matrix: Array, rows: int, columns: int) -> list[list[float]]:
    return [[matrix[i, j] for i in range(rows)] for j in range(columns)]


def convolution2d(image: Array, weights: Array, height: int, width: int) -> Array:
    result = np.zeros((height, width))
    for y, x, i, j in itertools.product(range(height), range(width), range(15), range(15)):
        result[y, x] += image[y + i, x + j] * weights[i, j]
    return result


def softmax(rows: Array) -> list[list[float]]:
    return [[math.exp(x) / math.fsum(map(math.exp, row)) for x in row] for row in rows]


def histogram(data: Array) -> list[int]:
    return [list(data).count(value) for value in range(256)]


def jacobi(grid: Array, height: int, width: int) -> Array:
    result = np.empty((height, width))
    for y, x in itertools.product(range(height), range(width)):
        inner = 0 < y < height - 1 and 0 < x < width - 1
        around = grid[y, x - 1] + grid[y, x + 1] + grid[y - 1, x] + grid[y + 1, x] if inner else 4 * grid[y, x]
        result[y, x] = around / 4
    return result


def stencil3d(grid: Array, depth: int, height: int, width: int) -> Array:
    result = np.empty((depth, height, width))
    for z, y, x in itertools.product(range(depth), range(height), range(width)):
        inner = 0 < z < depth - 1 and 0 < y < height - 1 and 0 < x < width - 1
        neighbours = [(z - 1, y, x), (z + 1, y, x), (z, y - 1, x), (z, y + 1, x), (z, y, x - 1), (z, y, x + 1)]
        around = math.fsum(0.1 * grid[at] for at in neighbours) if inner else 0.6 * grid[z, y, x]
        result[z, y, x] = 0.4 * grid[z, y, x] + around
    return result


def matvec(A: Array, x: Array, rows: int, columns: int, **_: Any) -> list[float]:  # noqa: N803
    return [math.fsum(A[i, j] * x[i] for i in range(rows)) for j in range(columns)]


LOOPS: dict[str, tuple[dict[str, int], str, Callable[[dict[str, Any]], Any]]] = {
    "vector_add": ({"n": 9}, "c", lambda g: vector_add(**g)),
    "matmul": ({"n": 7}, "C", lambda g: matmul(**g)),
    "transpose": ({"rows": 3, "columns": 5}, "output", lambda g: transpose(g["input"], g["rows"], g["columns"])),
    "convolution2d": (
        {"height": 4, "width": 6},
        "output",
        lambda g: convolution2d(g["input"], g["filter"], g["height"], g["width"]),
    ),
    "softmax": ({"rows": 3, "columns": 5}, "output", lambda g: softmax(g["input"])),
    "reduction": ({"n": 11}, "result", lambda g: [math.fsum(g["input"])]),
    "histogram": ({"n": 500}, "counts", lambda g: histogram(g["data"])),
    "jacobi": ({"height": 4, "width": 6}, "output", lambda g: jacobi(g["input"], g["height"], g["width"])),
    "matmul_tiled": ({"n": 7}, "C", lambda g: matmul(**g)),
    "convolution2d_tiled": (
        {"height": 4, "width": 6},
        "output",
        lambda g: convolution2d(g["input"], g["filter"], g["height"], g["width"]),
    ),
    "stencil3d": (
        {"depth": 3, "height": 4, "width": 6},
        "output",
        lambda g: stencil3d(g["input"], g["depth"], g["height"], g["width"]),
    ),
    "matvec": ({"rows": 5, "columns": 7}, "y", lambda g: matvec(**g)),
}


def test_every_sample_has_its_loop():
    assert {file.stem for file in SAMPLES.glob("*.toml")} == set(LOOPS)


@pytest.mark.parametrize("name", LOOPS)
def test_the_reference_agrees_with_a_plain_loop(name):
    sizes, output, loop = LOOPS[name]
    problem = load_problem(SAMPLES / f"{name}.toml")
    arguments = make_arguments(problem, sizes, seed=3)
    given = {a.name: value for a, value in zip(problem.arguments, arguments, strict=True)}
    widened = {
        key: value.astype(float) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
        for key, value in given.items()
    }

    np.testing.assert_allclose(call_reference(problem, arguments)[output], loop(widened), rtol=1e-12)
