"""The kernels of benchmarks/thesis: problem files load, and references agree with loops that are written otherwise."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from benchmarks.thesis.measured import EIGHT, ELEVEN, KERNELS, MORE
from tests.thesis import loops
from tui_tuner.checks.places import opened
from tui_tuner.problem.candidate import baseline, geometry
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.inputs import array_bytes, call_reference, make_arguments
from tui_tuner.problem.load import load_problem

each_kernel = pytest.mark.parametrize("name", [*EIGHT, *ELEVEN, *MORE])


def test_the_kernels_that_are_named_are_those_that_are_there():
    assert {file.stem for file in KERNELS.glob("*.toml")} == {*EIGHT, *ELEVEN, *MORE}


@each_kernel
def test_each_has_work_odd_tests_a_small_one_and_a_size_that_a_large_gpu_takes_time_for(name):
    problem = load_problem(KERNELS / f"{name}.toml")
    work, sizes = problem.work, problem.sizes
    assert work is not None
    moved = evaluate(work.bytes, sizes)
    assert moved <= array_bytes(problem, {}) + array_bytes(problem, {}) // 2
    assert moved >= 64e6 or evaluate(work.flops, sizes) >= 5e9
    assert set(problem.tunables) <= {"block_size_x", "block_size_y", "block_size_z"}
    uneven = [test for test in problem.tests if any(size % 8 for size in problem.at(test).sizes.values())]
    assert len(uneven) >= 2
    for test in problem.tests:
        geometry(baseline(problem).launch, problem.default_configuration, problem.at(test).sizes)


SMALL = {
    "matrix_add": {"rows": 3, "columns": 5},
    "matrix_multiply": {"m": 3, "n": 4, "k": 5},
    "matrix_transpose": {"rows": 3, "columns": 5},
    "sigmoid": {"n": 7},
    "assign_clusters": {"n": 20, "clusters": 6, "dims": 3},
    "mandelbrot": {"width": 13, "height": 11, "limit": 40},
    "game_of_life": {"rows": 6, "columns": 9},
    "verlet_integration": {"n": 5},
    "layer_norm": {"rows": 3, "columns": 9},
    "rms_norm_residual": {"rows": 3, "columns": 9},
    "inclusive_scan": {"rows": 3, "columns": 9},
    "histogram": {"n": 40, "bins": 6},
    "stencil_3d": {"nx": 2, "ny": 3, "nz": 4},
    "sparse_product": {"rows": 6, "columns": 5, "nnz": 17},
    "attention": {"queries": 3, "keys": 5},
    "top_k": {"rows": 3, "columns": 9, "k": 4},
    "int8_gemm": {"m": 3, "n": 4, "k": 5},
    "half_gemm": {"m": 3, "n": 4, "k": 5},
    "half_gemm_gelu": {"m": 3, "n": 4, "k": 5},
    "depthwise_convolution": {"images": 2, "channels": 3, "height": 5, "width": 4},
}


@each_kernel
def test_the_reference_agrees_with_a_loop_over_single_elements(name):
    problem = load_problem(KERNELS / f"{name}.toml")
    at = problem.model_copy(update={"sizes": SMALL[name.removesuffix("_odd")]})
    values = make_arguments(at, {}, 3)
    found = call_reference(at, values)
    named = {argument.name: value for argument, value in zip(at.arguments, values, strict=True)}
    said = getattr(loops, name.removesuffix("_odd"))(**{key: value.tolist() for key, value in named.items()})
    for output, expected in zip(found.values(), said if isinstance(said, tuple) else (said,), strict=True):
        assert np.ravel(output).tolist() == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.gpu
@each_kernel
async def test_on_a_gpu_the_kernel_as_given_is_right_and_its_library_agrees(name):
    problem = load_problem(KERNELS / f"{name}.toml")
    async with opened(problem, "cuda", allow_unconfined=False) as machine:
        assert machine.report.given.timing is not None
        if problem.library is not None and importlib.util.find_spec("torch") is not None:
            assert machine.report.library is not None, machine.report.note
            assert machine.report.library.checked
