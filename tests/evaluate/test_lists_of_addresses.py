"""Arrays that a kernel reaches by a list of addresses in device memory: the list is an input, they are checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluate.test_arrays_in_structures import each_is_judged
from tests.evaluate.test_local import evaluator_for, rewritten
from tui_tuner.problem.load import load_problem

HEAD = """__global__ void doubled(const float *const *from, float **to, int m, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y;
"""
KERNEL = f"""{HEAD}    if (i < n) to[b][i] = b + 2.0f * from[b][i];
}}
"""
PROBLEM = """
reference = { python = "doubled.py:doubled" }
[kernel]
source = "doubled.cu"
name = "doubled"
[sizes]
m = 9
n = 500
[launch]
problem_size = ["n", "m"]
grid_div_y = [1]
[[arguments]]
name = "from"
dtype = "float32"
shape = ["m", "n"]
addresses = true
[[arguments]]
name = "to"
dtype = "float32"
shape = ["m", "n"]
addresses = true
output = true
[[arguments]]
name = "m"
dtype = "int32"
value = "m"
[[arguments]]
name = "n"
dtype = "int32"
value = "n"
[tunables]
block_size_x = [64, 128]
[[tests]]
sizes = { m = 3, n = 97 }
"""
REFERENCE = """import numpy as np
def doubled(**given):
    return np.arange(given["m"])[:, None] + 2 * given["from"]
"""
EDITS = {
    "": ("2.0f * from[b][i]", "from[b][i] + from[b][i]"),
    "WRONG_RESULT: at m=3, n=97: to[": ("from[b]", "from[m - 1 - b]"),
    "WRONG_RESULT: at m=3, n=97: to[2,3] is nan": ("i < n", "i < n && (i != 3 || b != m - 1)"),
    "WRONG_RESULT: at m=3, n=97: it changed its input": (
        "from[b][i];",
        "from[b][i], ((float *)from[b])[i] = 3;",
    ),
    "ILLEGAL_ACCESS: ": ("from[b][i]", "from[0][b * n + i]"),
}
LIST_EDITS = {
    "ILLEGAL_ACCESS: ": ("if (i", "if (i == 0) ((const float **)from)[b] = from[0]; if (i"),
}


@pytest.mark.slow
@pytest.mark.parametrize("edits", [EDITS, LIST_EDITS], ids=["arrays", "list"])
@pytest.mark.parametrize("device", ["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
async def test_the_arrays_of_a_list_are_verified_as_arguments_are_and_the_list_is_not_written(
    tmp_path: Path, device: str, edits: dict[str, tuple[str, str]]
) -> None:
    (tmp_path / "doubled.py").write_text(REFERENCE)
    await each_is_judged(tmp_path, device, KERNEL, PROBLEM, edits)


@pytest.mark.slow
async def test_a_function_of_c_is_given_a_list_of_addresses_too(tmp_path: Path) -> None:
    kernel = """void doubled(const float *const *from, float **to, int m, int n) {
    for (int b = 0; b < m; b++)
        for (int i = 0; i < n; i++) to[b][i] = b + 2.0f * from[b][i];
}
"""
    problem_file = PROBLEM.replace("doubled.cu", "doubled.c").replace("block_size_x = [64, 128]", "UNROLL = [1, 2]")
    problem_file = problem_file.replace("grid_div_y = [1]\n", "")
    (tmp_path / "doubled.c").write_text(kernel)
    (tmp_path / "doubled.py").write_text(REFERENCE)
    (tmp_path / "doubled.toml").write_text(problem_file)
    problem = load_problem(tmp_path / "doubled.toml")
    async with evaluator_for(problem, tmp_path, "c") as (evaluator, report):
        assert report.given.ok
        wrong = await evaluator.evaluate(rewritten(problem, kernel.replace("b + ", "")), {"UNROLL": 1}, None)
        assert wrong.failure is not None
        assert wrong.failure.message.startswith("at m=3, n=97: to[1,0]")
        written = kernel.replace("{\n    for", "{\n    to[1] = to[0];\n    for", 1)
        faulty = await evaluator.evaluate(rewritten(problem, written), {"UNROLL": 1}, None)
        assert faulty.failure is not None
        assert "touched the list of addresses of argument 2, which can only be read" in faulty.failure.message
