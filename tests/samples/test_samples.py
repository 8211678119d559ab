from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tui_tuner.exports import told_run
from tui_tuner.format import time_words
from tui_tuner.problem.candidate import geometry
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.inputs import array_bytes, call_reference, make_arguments
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Problem
from tui_tuner.problem.space import SearchSpace

SAMPLES = Path(__file__).parents[2] / "sample_kernels"
NAMES = sorted(file.stem for file in SAMPLES.glob("*.toml"))
RICH = ["convolution2d_tiled", "matmul_tiled", "stencil3d"]
"""Made for searches: many tunables that depend on each other."""
CUDA = [name for name in NAMES if (SAMPLES / f"{name}.cu").exists()]


def sample(name: str) -> Problem:
    return load_problem(SAMPLES / f"{name}.toml")


def test_there_are_ten_cuda_kernels_one_opencl_kernel_and_one_c_function():
    languages = [sample(name).language for name in NAMES]

    assert [languages.count(language) for language in ("cuda", "opencl", "c")] == [10, 1, 1]


@pytest.mark.parametrize("name", NAMES)
def test_every_file_beside_a_sample_belongs_to_it_and_it_says_what_it_is_at_the_top(name):
    problem = sample(name)

    assert problem.kernel.name == name
    assert problem.reference is not None
    assert problem.reference.python == f"{name}_reference.py:{name}"
    assert (SAMPLES / f"{name}.toml").read_text().startswith("# ")
    assert problem.source_text.startswith("// ")


@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_as_given_is_a_valid_configuration_among_several(name):
    problem = sample(name)
    space = SearchSpace(problem.tunables, problem.search.restrictions, sizes=problem.sizes, max_threads=1024)

    assert space.is_valid(problem.default_configuration) is None
    assert 1_000 <= space.size <= 20_000 if name in RICH else 6 <= space.size <= 50


@pytest.mark.parametrize("name", NAMES)
def test_tests_cover_sizes_that_the_block_does_not_divide_and_a_tiny_odd_one(name):
    problem = sample(name)
    for given in {id(p): p for p in (problem, problem.on_emulator())}.values():
        sizes = [test.sizes for test in given.tests]

        assert len(sizes) == 3
        assert all(value < 20 and value % 2 == 1 for value in sizes[-1].values())
        assert any(value % 16 for value in sizes[1].values())


@pytest.mark.parametrize("name", NAMES)
def test_the_timed_arrays_are_large_but_fit_a_gpu_and_the_emulated_ones_are_small(name):
    problem = sample(name)

    assert 50e6 <= array_bytes(problem, problem.sizes) <= 2**30
    if problem.emulator is not None:
        assert array_bytes(problem, problem.on_emulator().sizes) <= 20e6
    assert (problem.emulator is not None) == (problem.language == "cuda")


@pytest.mark.parametrize(
    ("name", "sizes", "grid"),
    [
        ("vector_add", {"n": 1000}, (4, 1, 1)),
        ("matmul", {"n": 100}, (7, 7, 1)),
        ("transpose", {"rows": 17, "columns": 50}, (4, 2, 1)),
        ("convolution2d", {"height": 17, "width": 50}, (4, 2, 1)),
        ("jacobi", {"height": 17, "width": 50}, (4, 2, 1)),
        ("softmax", {"rows": 300, "columns": 9}, (2, 1, 1)),
        ("matmul_tiled", {"n": 100}, (7, 7, 1)),
        ("convolution2d_tiled", {"height": 17, "width": 50}, (4, 2, 1)),
        ("stencil3d", {"depth": 3, "height": 17, "width": 50}, (2, 3, 3)),
        ("reduction", {"n": 1025}, (5, 1, 1)),
        ("histogram", {"n": 1025}, (5, 1, 1)),
        ("matvec", {"rows": 9, "columns": 9}, (1, 1, 1)),
    ],
)
def test_the_grid_covers_the_problem_in_the_default_configuration(name, sizes, grid):
    problem = sample(name)

    assert geometry(problem.launch, {**problem.sizes, **sizes}, problem.default_configuration).grid == grid


@pytest.mark.parametrize(
    ("name", "sizes", "flops", "moved"),
    [
        ("vector_add", {"n": 1000}, 1000, 12_000),
        ("matmul", {"n": 100}, 2_000_000, 120_000),
        ("transpose", {"rows": 10, "columns": 30}, 0, 2_400),
        ("convolution2d", {"height": 10, "width": 20}, 90_000, 4 * (200 + 24 * 34 + 225)),
        ("jacobi", {"height": 10, "width": 20}, 4 * 8 * 18, 1_600),
        ("softmax", {"rows": 10, "columns": 20}, 1_000, 1_600),
        ("matmul_tiled", {"n": 100}, 2_000_000, 120_000),
        ("convolution2d_tiled", {"height": 10, "width": 20}, 90_000, 4 * (200 + 24 * 34 + 225)),
        ("stencil3d", {"depth": 5, "height": 10, "width": 20}, 8 * 3 * 8 * 18, 8_000),
        ("reduction", {"n": 1000}, 1000, 4_000),
        ("histogram", {"n": 1000}, 0, 3_048),
        ("matvec", {"rows": 10, "columns": 20}, 400, 4 * (200 + 10 + 20)),
    ],
)
def test_work_says_how_much_is_computed_and_must_be_moved_at_least(name, sizes, flops, moved):
    problem = sample(name)
    assert problem.work is not None

    assert evaluate(problem.work.flops, {**problem.sizes, **sizes}) == flops
    assert evaluate(problem.work.bytes, {**problem.sizes, **sizes}) == moved


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_gives_finite_outputs_of_the_right_shape_at_every_test(name):
    problem = sample(name)
    for test in problem.tests:
        sizes = {**problem.sizes, **test.sizes}
        outputs = call_reference(problem, make_arguments(problem, sizes, seed=1))

        assert all(np.isfinite(output).all() for output in outputs.values())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_every_cuda_kernel_compiles_with_nvcc(tmp_path):
    sources = [SAMPLES / f"{name}.cu" for name in CUDA]
    started = [
        subprocess.Popen(
            ["nvcc", "-cubin", "-arch=sm_90", *macros(sample(source.stem)), source, "-o", tmp_path / source.stem],
            stderr=subprocess.PIPE,
            text=True,
        )
        for source in sources
    ]
    said = {source.stem: process.communicate()[1] for source, process in zip(sources, started, strict=True)}

    assert said == dict.fromkeys(CUDA, "")
    assert all((tmp_path / name).stat().st_size > 0 for name in CUDA)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_the_c_function_compiles_without_warnings_and_agrees_with_its_reference(tmp_path):
    import ctypes

    library = tmp_path / "matvec.so"
    options = ["-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-DTILE=8"]
    subprocess.run(["gcc", *options, SAMPLES / "matvec.c", "-o", library], check=True)
    problem = sample("matvec")
    arguments = make_arguments(problem, {"rows": 37, "columns": 21}, seed=1)
    arguments[2] = np.array(arguments[2])
    pointers = [a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else int(a) for a in arguments]
    ctypes.CDLL(str(library)).matvec(*pointers)

    np.testing.assert_allclose(arguments[2], call_reference(problem, arguments)["y"], rtol=1e-4, atol=1e-5)


def macros(problem: Problem) -> list[str]:
    return [f"-D{name}={value}" for name, value in problem.default_configuration.items()]


ROOT = Path(__file__).parents[2]
RUNS = ROOT / "benchmarks/from_a_file"


@pytest.mark.parametrize("name", sorted(run.name for run in RUNS.iterdir()))
def test_a_run_of_a_file_alone_has_the_figures_of_the_documentation(name: str) -> None:
    told = asyncio.run(told_run(RUNS / name))
    outcome = told.outcome
    assert outcome.status == "finished"
    assert outcome.model_calls == 1
    assert all(one.dtype == "bfloat16" for one in told.problem.arguments if one.shape is not None)
    assert outcome.comparison is not None
    times = [time_words(one.median) for one in (outcome.comparison.incumbent, outcome.comparison.challenger)]
    (paragraph,) = (one for one in (ROOT / "docs/results.md").read_text("utf-8").split("\n\n") if f"`{name}`" in one)
    for figure in (*times, f"{outcome.speedup[0]:.2f}x"):
        assert figure in paragraph.replace("\n", " ")
