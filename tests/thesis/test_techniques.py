"""Examples of techniques, as whole rewrites of kernels of benchmarks/thesis on a real GPU: right there, and faster."""

from __future__ import annotations

import re
from typing import Any

import pytest

from benchmarks.thesis.measured import KERNELS
from tui_tuner.checks.places import opened
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import load_problem
from tui_tuner.strategies.step_lists import own_techniques

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
    (text,) = (step.prompt_template for step in own_techniques() if step.id == technique)
    body = "\n".join(re.findall(r"^    .*$", text, re.MULTILINE))
    for name, other in OTHER_NAMES.items():
        body = re.sub(rf"\b{name}\b", other, body) if re.search(rf"\b{other}\b", source) else body
    includes = "#include <mma.h>\n" if "wmma" in body else ""
    return includes + source[: source.index("{") + 1] + "\n" + body + "\n}\n"


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
