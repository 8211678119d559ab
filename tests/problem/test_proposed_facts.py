"""What a model says of a kernel, in the text of a draft."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.problem.draft.amendments import Amendments
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.draft.proposed_facts import ProposedFacts, ProposedFill
from tui_tuner.problem.load import problem_in_text
from tui_tuner.problem.model import Problem

GROUPS = """\
__global__ void dequantized(float *to, const unsigned char *from, const float *scales, int rows, int width, int group)
{
    int row = blockIdx.x, groups = width / group;
    for (int g = threadIdx.x; g < groups; g += blockDim.x)
        for (int i = 0; i < group; i++)
            to[row * width + g * group + i] = from[row * width + g * group + i] * scales[row * groups + g];
}
"""
TOY = """\
__global__ void swapped(int *all, int n, int odd)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 2 == odd && i < n - 1 && all[i] > all[i + 1]) { int t = all[i]; all[i] = all[i + 1]; all[i + 1] = t; }
}
int main() { int n = 50; int *all; cudaMalloc(&all, n * sizeof(int)); swapped<<<1, n>>>(all, n, 1); }
"""
WEIGHTS = """\
__constant__ float weights[8];
__global__ void weighted(float *to, const int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < *count) to[i] = weights[i % 8];
}
void run(const float *w) { cudaMemcpyToSymbol(weights, w, sizeof(weights)); }
"""


def drafted(
    tmp_path: Path, source: str, facts: ProposedFacts, amendments: Amendments | None = None
) -> tuple[str, Problem]:
    file = tmp_path / "kernel.cu"
    file.write_text(source)
    text = scaffold(file, None, amendments or Amendments(), facts=facts)
    return text, problem_in_text(text, file.with_suffix(".toml"))


def test_sizes_of_tests_are_such_as_the_model_says_the_kernel_can_do(tmp_path: Path) -> None:
    facts = ProposedFacts(
        sizes={"width": 4096, "rows": 1024, "group": 128},
        keys={"problem_size": ["rows"], "grid_div_x": ["1"]},
        shapes={"to": "rows * width", "from": "rows * width", "scales": "rows * (width // group)"},
        multiples={"width": "group", "group": "8"},
        powers=frozenset({"rows"}),
    )
    _, problem = drafted(tmp_path, GROUPS, facts, Amendments(tested="apart"))
    tried = [problem.sizes, problem.on_emulator().sizes, *(one.sizes for one in problem.on_emulator().tests)]
    tried += [one.sizes for one in problem.tests]
    assert len({one["group"] for one in tried}) > 1, "tests are at another size than is timed"
    for sizes in tried:
        assert (sizes["width"] % sizes["group"], sizes["group"] % 8, sizes["rows"] & (sizes["rows"] - 1)) == (0, 0, 0)


def test_where_a_host_launches_a_toy_that_cannot_be_larger_so_the_model_says_how_many_threads_run(
    tmp_path: Path,
) -> None:
    facts = ProposedFacts(sizes={"n": 2**20}, keys={"problem_size": ["n"]})
    text, problem = drafted(tmp_path, TOY, facts)
    assert (problem.sizes, problem.launch.problem_size, problem.launch.block_size) == ({"n": 2**20}, ["n"], None)
    assert "[launch]  # the host's launch in line 6 is too small to be timed" in text
    assert "n = 1048576  # a guess: the model's, check" in text
    assert "value = 1  # as the host passes it" in text
    _, as_host = drafted(tmp_path, TOY, facts, Amendments(as_host=True))
    assert as_host.sizes == {"n": 50}
    _, large = drafted(
        tmp_path, TOY.replace("n = 50", "n = 5000").replace("<<<1, n>>>", "<<<(n + 63) / 64, 64>>>"), facts
    )
    assert large.sizes == {"n": 5000}


def test_macros_that_a_file_states_stay_what_they_are_and_others_are_the_models(tmp_path: Path) -> None:
    facts = ProposedFacts(
        sizes={"n": 4096}, keys={"problem_size": ["n"]}, shapes={"to": "n"}, macros={"PART": "8", "LEAST": "2"}
    )
    source = WEIGHTS.replace("weights[8]", "weights[PART]") + "#if LEAST > 1\n#endif\n"
    text, problem = drafted(tmp_path, source, facts)
    assert problem.kernel.compiler_options == ["-DPART=8", "-DLEAST=2"]
    assert "a guess: the model's, check" in text
    host = tmp_path / "main.cu"
    host.write_text('#define PART 16\n#include "kernel.cu"\n')
    options = problem_in_text(
        scaffold(tmp_path / "kernel.cu", None, host=host, facts=facts), tmp_path / "k.toml"
    ).kernel
    assert options.compiler_options == ["-DPART=16", "-DLEAST=2"]


@pytest.mark.parametrize("fixed", [True, False])
def test_a_macro_of_a_model_that_is_the_block_is_tuned_unless_the_model_fixes_the_block(
    tmp_path: Path, fixed: bool
) -> None:
    source = (
        "__global__ void k(float *to, int n) { __shared__ float part[TILE]; int i = blockIdx.x * TILE + threadIdx.x;\n"
        "part[threadIdx.x] = i; __syncthreads(); if (i < n) to[i] = part[TILE - 1 - threadIdx.x]; }\n"
    )
    keys: dict[str, list[str] | str] = {"problem_size": ["n"]} | ({"block_size": ["128"]} if fixed else {})
    facts = ProposedFacts(sizes={"n": 4096}, keys=keys, shapes={"to": "n"}, macros={"TILE": "128"})
    _, problem = drafted(tmp_path, source, facts)
    assert problem.launch.block_size == ["128" if fixed else "TILE"]
    assert problem.defaults == ({} if fixed else {"TILE": 128})
    assert problem.kernel.compiler_options == (["-DTILE=128"] if fixed else [])


def test_macros_that_a_model_names_for_the_block_are_tuned(tmp_path: Path) -> None:
    source = (
        "__global__ void k(REAL *to, int n) {"
        " __shared__ REAL part[TILE]; int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " part[threadIdx.x] = i; __syncthreads(); if (i < n) to[i] = part[TILE - 1 - threadIdx.x]; }\n"
    )
    keys: dict[str, list[str] | str] = {"problem_size": ["n"], "block_size": ["TILE"]}
    macros = {"TILE": "128", "REAL": "double"}
    facts = ProposedFacts(sizes={"n": 4096}, keys=keys, shapes={"to": "n"}, macros=macros)
    text, problem = drafted(tmp_path, source, facts)
    assert (problem.launch.block_size, problem.defaults) == (["TILE"], {"TILE": 128})
    assert "TILE = [32, 64, 128, 256]  # a guess: check" in text
    assert problem.kernel.compiler_options == ["-DREAL=double"]


@pytest.mark.parametrize(("low", "high"), [("n", "n + 1"), (4096.0, 4097.0)])
def test_bounds_are_expressions_or_numbers_and_constant_memory_has_a_fill_too(
    tmp_path: Path, low: str | float, high: str | float
) -> None:
    fills = {"count": ProposedFill("integers", low, high), "weights": ProposedFill("uniform", 0, 0.5)}
    shapes = {"to": "n", "count": "1"}
    facts = ProposedFacts(sizes={"n": 4096}, keys={"problem_size": ["n"]}, shapes=shapes, fills=fills)
    _, problem = drafted(tmp_path, WEIGHTS, facts)
    bounds = {one.name: (one.fill, one.low, one.high) for one in problem.arguments}
    assert bounds["count"] == ("integers", low, high)
    assert bounds["weights"] == ("uniform", 0, 0.5)


@pytest.mark.parametrize("doublings", [-1, -3, -14])
def test_no_size_is_tested_larger_than_it_is_timed(tmp_path: Path, doublings: int) -> None:
    facts = ProposedFacts(
        sizes={"width": 4096, "rows": 1024, "group": 128},
        keys={"problem_size": ["rows"], "grid_div_x": ["1"]},
        shapes={"to": "rows * width", "from": "rows * width", "scales": "rows * (width // group)"},
    )
    _, problem = drafted(tmp_path, GROUPS, facts, Amendments(doublings=doublings))
    assert problem.sizes["rows"] == max(32, 1024 >> -doublings)
    assert all(problem.tests[0].sizes[name] <= size for name, size in problem.sizes.items())


@pytest.mark.parametrize(("doublings", "n"), [(-2, 2**18), (0, 2**20), (2, 2**20)])
def test_sizes_that_a_model_proposes_are_made_smaller_where_a_launch_takes_long(
    tmp_path: Path, doublings: int, n: int
) -> None:
    facts = ProposedFacts(sizes={"n": 2**20}, keys={"problem_size": ["n"]}, shapes={"to": "n", "count": "1"})
    _, problem = drafted(tmp_path, WEIGHTS, facts, Amendments(doublings=doublings))
    assert problem.sizes["n"] == n
