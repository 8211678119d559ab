"""Arrays that a structure points to are checked like any other: outputs, what nobody writes, inputs, guards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluate.test_local import BLOCK, evaluator_for, rewritten
from tui_tuner.problem.load import load_problem

KERNEL = """struct Data { int n; const float *from; float *to; };
__global__ void doubled(Data d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < d.n) d.to[i] = 2.0f * d.from[i];
}
"""
PROBLEM = """
[kernel]
source = "doubled.cu"
name = "doubled"
[sizes]
n = 500
[launch]
problem_size = ["n"]
[[arguments]]
name = "d"
dtype = "struct"
members = [
    { name = "n", dtype = "int32", value = "n" },
    { name = "from", dtype = "pointer", value = "from" },
    { name = "to", dtype = "pointer", value = "to" },
]
[[arguments]]
name = "from"
dtype = "float32"
shape = ["n"]
[[arguments]]
name = "to"
dtype = "float32"
shape = ["n"]
output = true
[tunables]
block_size_x = [64, 128]
[[tests]]
sizes = { n = 97 }
"""
EDITS = {
    "": ("2.0f * d.from[i]", "d.from[i] + d.from[i]"),
    "WRONG_RESULT: at n=97: to[": ("2.0f *", "2.5f *"),
    "WRONG_RESULT: at n=97: to[3] is nan": ("i < d.n", "i < d.n && i != 3"),
    "WRONG_RESULT: at n=97: it changed its input 'from'": ("d.from[i];", "d.from[i], ((float *)d.from)[i] = 3;"),
    "ILLEGAL_ACCESS: ": ("d.from[i];", "d.from[i] + 0.0f * d.from[i + 8];"),
}


@pytest.mark.parametrize("device", ["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
async def test_arrays_behind_a_structure_are_verified_as_arguments_are(tmp_path: Path, device: str) -> None:
    (tmp_path / "doubled.cu").write_text(KERNEL)
    (tmp_path / "doubled.toml").write_text(PROBLEM)
    problem = load_problem(tmp_path / "doubled.toml")
    async with evaluator_for(problem, tmp_path, device) as (evaluator, report):
        assert report.given.ok
        for expected, (old, new) in EDITS.items():
            assert KERNEL.count(old) == 1
            found = await evaluator.evaluate(rewritten(problem, KERNEL.replace(old, new)), BLOCK, None)
            said = "" if found.failure is None else f"{found.failure.kind.name}: {found.failure.message}"
            assert said.startswith(expected), said
            assert bool(said) == bool(expected)
