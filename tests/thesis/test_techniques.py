"""Examples of techniques, as whole rewrites of kernels of benchmarks/thesis on a real GPU: right there, and faster."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks.thesis.measured import KERNELS
from tests.technique_examples import body
from tui_tuner.checks.places import opened
from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.build.compilers.cuda import Nvcc
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import load_problem

PRODUCT = {"problem_size": ["n", "m"]}
ROWS = {"problem_size": ["rows"], "grid_div_x": ["1"], "block_size": ["block_size_x"]}
REWRITES: dict[str, tuple[str, dict[str, Any], dict[str, int]]] = {
    "register_tile": (
        "matrix_multiply",
        {
            **PRODUCT,
            "block_size": ["block_size_x", "block_size_y"],
            "grid_div_x": ["block_size_x", "work_per_thread_x"],
            "grid_div_y": ["block_size_y", "work_per_thread_y"],
        },
        {"block_size_x": 16, "block_size_y": 16, "work_per_thread_x": 8, "work_per_thread_y": 8, "tile_k": 16},
    ),
    "tensor_core_tile": (
        "half_gemm",
        {
            **PRODUCT,
            "block_size": ["32 * warps_m * warps_n"],
            "grid_div_x": ["warps_n", "warp_tile_n"],
            "grid_div_y": ["warps_m", "warp_tile_m"],
        },
        {"warps_m": 2, "warps_n": 2, "warp_tile_m": 64, "warp_tile_n": 64, "tile_k": 32},
    ),
    "block_scan": ("inclusive_scan", ROWS, {"block_size_x": 256, "items_per_thread": 8}),
    "counters_in_shared_memory": (
        "histogram",
        {
            "grid": ["min(132 * blocks_per_sm, ceil_div(n, block_size_x))"],
            "block_size": ["block_size_x"],
            "shared_memory": "4 * bins",
        },
        {"block_size_x": 256, "blocks_per_sm": 4},
    ),
    "turn_in_shared_memory": (
        "matrix_transpose",
        {
            "problem_size": ["columns", "rows"],
            "block_size": ["32", "32 // rows_per_thread"],
            "grid_div_x": ["32"],
            "grid_div_y": ["32"],
        },
        {"rows_per_thread": 4},
    ),
}
OTHER_NAMES = {"in": "input", "out": "output"}


def rewritten(source: str, technique: str) -> str:
    """A kernel of one function with a technique's example as its body."""
    code = body(technique)
    for name, other in OTHER_NAMES.items():
        code = re.sub(rf"\b{name}\b", other, code) if re.search(rf"\b{other}\b", source) else code
    includes = "#include <cuda_pipeline.h>\n#include <mma.h>\n" if "wmma" in code else ""
    return includes + source[: source.index("{") + 1] + "\n" + code + "\n}\n"


@pytest.mark.slow
def test_the_example_for_tensor_cores_compiles_for_every_architecture_that_has_them(tmp_path: Path):
    try:
        nvcc = Nvcc.find("sm_90").program
    except DeviceError as missing:
        pytest.skip(str(missing))
    name, _, configuration = REWRITES["tensor_core_tile"]
    source = rewritten(baseline(load_problem(KERNELS / f"{name}.toml")).source, "tensor_core_tile")
    (tmp_path / "kernel.cu").write_text(source)
    macros = [f"-D{tunable}={value}" for tunable, value in configuration.items()]
    targets = [f"-gencode=arch=compute_{sm},code=sm_{sm}" for sm in (75, 90)]
    command = [nvcc, "-fatbin", "-std=c++17", *targets, *macros, "kernel.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.gpu
@pytest.mark.parametrize("technique", REWRITES)
async def test_on_a_gpu_an_example_is_right_and_faster_than_the_kernel_as_given(technique: str):
    name, launch, configuration = REWRITES[technique]
    problem = load_problem(KERNELS / f"{name}.toml")
    given = baseline(problem)
    candidate = given.model_copy(
        update={
            "source": rewritten(given.source, technique),
            "launch": type(given.launch).model_validate(launch),
            "tunables": {tunable: [value] for tunable, value in configuration.items()},
            "restrictions": [],
            "defaults": configuration,
        }
    )
    async with opened(problem, "cuda", allow_unconfined=False) as machine:
        found = await machine.evaluator.evaluate(candidate, configuration, None)
        assert found.timing is not None, found.failure
        given_timing = machine.report.given.timing
        assert given_timing is not None
        print(f"{technique}: {given_timing.median:.4g} to {found.timing.median:.4g} ms")  # noqa: T201
        assert found.timing.median < given_timing.median
