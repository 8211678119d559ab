"""The examples in the techniques that a model is told of: what they compute, at sizes that fit no tile."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.emulator.bench import Bench
from tests.technique_examples import body
from tui_tuner.evaluate.devices.base import KernelArgument
from tui_tuner.strategies.step_lists import default_techniques

SIGNATURES = {
    "register_tile": "const float *A, const float *B, float *C, int m, int n, int k",
    "block_a_row": "const float *x, float *y, int rows, int columns",
    "lanes_a_row": "const int *starts, const int *columns, const float *values, const float *x, float *y, int rows",
    "block_scan": "const float *in, float *out, int rows, int columns",
    "turn_in_shared_memory": "const float *in, float *out, int rows, int columns",
    "counters_in_shared_memory": "const int *keys, int *counts, int n, int bins",
    "packed_elements": "const unsigned char *in, unsigned char *out, int n",
    "slide_along_an_axis": "const float *in, float *out, int rows, int columns",
}
TUNABLES = {
    "register_tile": {
        "block_size_x": 8,
        "block_size_y": 4,
        "work_per_thread_x": 4,
        "work_per_thread_y": 4,
        "tile_k": 8,
    },
    "block_a_row": {"block_size_x": 64},
    "lanes_a_row": {"block_size_x": 64, "threads_per_row": 8},
    "block_scan": {"block_size_x": 64, "items_per_thread": 8},
    "turn_in_shared_memory": {"rows_per_thread": 4},
    "counters_in_shared_memory": {"block_size_x": 64, "blocks_per_sm": 1},
    "packed_elements": {"block_size_x": 32},
    "slide_along_an_axis": {"block_size_x": 16, "block_size_y": 2, "work_per_thread_y": 4},
}
RANDOM = np.random.default_rng(5)


def example(name: str) -> str:
    """The kernel that a technique's example is the body of."""
    macros = TUNABLES[name]
    defined = "".join(f"#define {macro} {value}\n" for macro, value in macros.items())
    forgotten = "".join(f"#undef {macro}\n" for macro in macros)
    kernel = f'extern "C" __global__ void {name}({SIGNATURES[name]})\n{{\n{body(name)}\n}}\n'
    return f"{defined}{kernel}{forgotten}"


SOURCE = "".join(map(example, SIGNATURES))


@pytest.fixture(scope="module")
def examples(emulator: Bench) -> Bench:
    emulator.load_all(SOURCE, [*SIGNATURES])
    return emulator


Extents = tuple[int, int, int]


def run(
    examples: Bench, name: str, *arguments: KernelArgument, grid: Extents, block: Extents, shared_bytes: int = 0
) -> list[np.ndarray]:
    """The arrays as an example leaves them."""
    kernel = examples.load(SOURCE, name)
    return examples.run(kernel, *arguments, grid=grid, block=block, shared_bytes=shared_bytes)


def zeros(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return np.zeros(shape, dtype)


def test_every_technique_with_an_example_for_all_devices_is_here():
    assert {step.id for step in default_techniques()} - SIGNATURES.keys() == {"tensor_core_tile"}


@pytest.mark.slow
def test_a_register_tile_multiplies_matrices_of_any_size(examples: Bench):
    m, n, k = 37, 71, 19
    a, b = (RANDOM.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
    sizes = map(np.int32, (m, n, k))
    *_, c = run(examples, "register_tile", a, b, zeros(m, n), *sizes, grid=(3, 3, 1), block=(8, 4, 1))
    assert np.allclose(a @ b, c, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("columns", [404, 333, 5])
def test_a_block_sums_a_row_and_scans_it(examples: Bench, columns: int):
    x = RANDOM.random((3, columns), np.float32)
    sizes = np.int32(3), np.int32(columns)
    _, y = run(examples, "block_a_row", x, zeros(3), *sizes, grid=(3, 1, 1), block=(64, 1, 1))
    _, sums = run(examples, "block_scan", x, zeros(3, columns), *sizes, grid=(3, 1, 1), block=(64, 1, 1))
    assert np.allclose((x * x).sum(1), y, rtol=1e-5)
    assert np.allclose(x.cumsum(1), sums, rtol=1e-4)


def test_lanes_share_rows_of_any_length(examples: Bench):
    lengths = np.array([0, 1, 40, 3, 0, 8, 17, 2, 9], np.int32)
    starts = np.concatenate([[0], lengths.cumsum()]).astype(np.int32)
    columns = RANDOM.integers(0, 50, starts[-1], np.int32)
    values, x = RANDOM.random(len(columns), np.float32), RANDOM.random(50, np.float32)
    rows = len(lengths)
    *_, y = run(
        examples,
        "lanes_a_row",
        starts,
        columns,
        values,
        x,
        zeros(rows),
        np.int32(rows),
        grid=(2, 1, 1),
        block=(64, 1, 1),
    )
    expected = [(values[a:b] * x[columns[a:b]]).sum() for a, b in pairwise(starts)]
    assert np.allclose(expected, y, rtol=1e-5)


def test_a_matrix_is_turned_in_shared_memory(examples: Bench):
    x = RANDOM.random((45, 67), np.float32)
    _, y = run(
        examples,
        "turn_in_shared_memory",
        x,
        zeros(67, 45),
        np.int32(45),
        np.int32(67),
        grid=(3, 2, 1),
        block=(32, 8, 1),
    )
    assert np.array_equal(x.T, y)


def test_blocks_count_in_shared_memory(examples: Bench):
    keys = RANDOM.integers(0, 19, 1003, np.int32)
    _, counts = run(
        examples,
        "counters_in_shared_memory",
        keys,
        zeros(19, dtype=np.int32),
        np.int32(1003),
        np.int32(19),
        grid=(3, 1, 1),
        block=(64, 1, 1),
        shared_bytes=4 * 19,
    )
    assert np.array_equal(np.bincount(keys, minlength=19), counts)


@pytest.mark.parametrize("n", [1600, 1003])
def test_packed_bytes_are_added_to_their_neighbours(examples: Bench, n: int):
    x = RANDOM.integers(0, 80, n, np.uint8)
    _, y = run(examples, "packed_elements", x, zeros(n, dtype=np.uint8), np.int32(n), grid=(4, 1, 1), block=(32, 1, 1))
    around = np.pad(x, 1)
    assert np.array_equal(around[:-2] + around[1:-1] + around[2:], y)


@pytest.mark.parametrize("columns", [37, 128])
def test_a_thread_slides_along_the_rows(examples: Bench, columns: int):
    x = RANDOM.random((29, columns), np.float32)
    sizes = np.int32(29), np.int32(columns)
    _, y = run(examples, "slide_along_an_axis", x, zeros(29, columns), *sizes, grid=(2, 4, 1), block=(16, 2, 1))
    around = np.pad(x, 1)
    expected = sum(around[i : i + 29, j : j + columns] for i in range(3) for j in range(3))
    assert np.allclose(expected, y, rtol=1e-5)
