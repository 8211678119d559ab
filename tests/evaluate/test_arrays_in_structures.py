"""Arrays that a structure points to are checked like any other: outputs, what nobody writes, inputs, guards."""

from __future__ import annotations

from collections.abc import Mapping
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


async def each_is_judged(
    directory: Path, device: str, kernel: str, problem_file: str, edits: Mapping[str, tuple[str, str]]
) -> None:
    """Each edit of a kernel is refused as its key says, and accepted where that is empty."""
    (directory / "doubled.cu").write_text(kernel)
    (directory / "doubled.toml").write_text(problem_file)
    problem = load_problem(directory / "doubled.toml")
    async with evaluator_for(problem, directory, device) as (evaluator, report):
        assert report.given.ok
        for expected, (old, new) in edits.items():
            assert kernel.count(old) == 1
            found = await evaluator.evaluate(rewritten(problem, kernel.replace(old, new)), BLOCK, None)
            said = "" if found.failure is None else f"{found.failure.kind.name}: {found.failure.message}"
            assert said.startswith(expected), said
            assert bool(said) == bool(expected)


@pytest.mark.slow
@pytest.mark.parametrize("device", ["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
async def test_arrays_behind_a_structure_are_verified_as_arguments_are(tmp_path: Path, device: str) -> None:
    await each_is_judged(tmp_path, device, KERNEL, PROBLEM, EDITS)


LISTED = """struct Data { int n; const float *from[2]; float *to; };
__global__ void doubled(Data d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < d.n) d.to[i] = d.from[0][i] - 2.0f * d.from[1][i];
}
"""
LISTED_EDITS = {
    "": ("- 2.0f * d.from[1][i]", "- d.from[1][i] - d.from[1][i]"),
    "WRONG_RESULT: at n=97: to[": ("d.from[1]", "d.from[0]"),
    "WRONG_RESULT: at n=97: it changed its input 'second'": ("[1][i];", "[1][i], ((float *)d.from[1])[i] = 3;"),
    "ILLEGAL_ACCESS: ": ("d.from[1][i]", "d.from[1][i + 8]"),
}


@pytest.mark.slow
@pytest.mark.parametrize("device", ["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
async def test_each_array_of_a_list_in_a_structure_is_verified_as_arguments_are(tmp_path: Path, device: str) -> None:
    table = '[[arguments]]\nname = "from"\ndtype = "float32"\nshape = ["n"]\n'
    member = '    { name = "from", dtype = "pointer", value = "from" },\n'
    assert PROBLEM.count(table) == PROBLEM.count(member) == 1
    names = ("first", "second")
    members = [member.replace("from", f"from[{at}]", 1).replace('"from"', f'"{name}"') for at, name in enumerate(names)]
    listed = PROBLEM.replace(member, "".join(members))
    listed = listed.replace(table, "".join(table.replace("from", name) for name in names))
    await each_is_judged(tmp_path, device, LISTED, listed, LISTED_EDITS)
