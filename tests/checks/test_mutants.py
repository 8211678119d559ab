from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.checks.check import other_configuration, uneven_test
from tui_tuner.checks.mutants import Fault, Mutant, mutants
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import load_problem, parse_problem
from tui_tuner.problem.model import Problem
from tui_tuner.resources import samples_directory

CORPUS = Path(__file__).parents[1] / "trust/corpus"
KERNEL = """// rows < columns in a comment is no place of a fault, naïve or not
__device__ float unrelated(float v) { return fmaxf(v, 1.0f); }
__device__ float scaled(float v) { return v * 2; }
__global__ void sums(float *out, const float *in, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int i = 0; i < columns; i++) sum += scaled(in[row * columns + i]);
    __syncthreads();
    out[row] = sum;
}
"""
TABLES = """
[kernel]
source = "sums.cu"
name = "sums"
[sizes]
rows = 64
columns = 100
[launch]
problem_size = ["rows"]
block_size = [32]
[[arguments]]
name = "out"
dtype = "float32"
shape = ["rows"]
output = true
[[arguments]]
name = "in"
dtype = "float32"
shape = ["rows", "columns"]
[[arguments]]
name = "rows"
dtype = "int32"
value = "rows"
[[arguments]]
name = "columns"
dtype = "int32"
value = "columns"
[[tests]]
sizes = { columns = 10 }
"""


@pytest.fixture(scope="module")
def problem() -> Problem:
    return parse_problem(TABLES, directory=Path(), file=Path("sums.toml"), source_text=KERNEL)


@pytest.fixture(scope="module")
def faulty(problem: Problem) -> list[Mutant]:
    return mutants(baseline(problem), problem, 99)


def of(faulty: list[Mutant], fault: Fault) -> list[str]:
    return [f"{mutant.line}: {mutant.was} -> {mutant.now}" for mutant in faulty if mutant.fault is fault]


def test_each_fault_is_put_where_it_belongs_and_nowhere_else(faulty: list[Mutant]) -> None:
    assert of(faulty, Fault.TAIL) == ["6: rows -> (rows) / 8 * 8", "8: columns -> (columns) / 8 * 8"]
    assert of(faulty, Fault.GUARD) == ["6: row >= rows -> 0"]
    assert of(faulty, Fault.BRANCH) == []  # it only leaves the function
    assert of(faulty, Fault.STORE) == ["10: out[row] = sum; -> ;"]
    assert of(faulty, Fault.SKIP) == ["8: i++ -> i += 2"]
    assert of(faulty, Fault.LARGE) == ["8: columns -> (columns > 10 ? columns / 2 : columns)"]
    assert of(faulty, Fault.BARRIER) == ["9: __syncthreads() -> ((void)0)"]
    assert of(faulty, Fault.ATOMIC) == of(faulty, Fault.MAXIMUM) == []  # that function is not called
    assert "6: rows -> columns" in of(faulty, Fault.SIZE)
    assert "10: sum -> tuner_cut(sum)" in of(faulty, Fault.PRECISION)


def test_what_is_no_count_of_elements_has_no_tail() -> None:
    """A real number, or the threads of a block, cut to a multiple of eight is what it was: no test can notice."""
    steps = (
        "    float least = 1;\n    for (int d = 1; d < blockDim.x; d *= 2) sum += d;\n    if (sum < least) sum = 1;\n"
    )
    text = KERNEL.replace("    __syncthreads();\n", steps)
    problem = parse_problem(TABLES, directory=Path(), file=Path("sums.toml"), source_text=text)
    tails = of(mutants(baseline(problem), problem, 99), Fault.TAIL)
    assert tails == ["6: rows -> (rows) / 8 * 8", "8: columns -> (columns) / 8 * 8"]


def test_a_mutant_differs_from_the_kernel_by_its_fault_only(faulty: list[Mutant]) -> None:
    for mutant in faulty:
        lines = mutant.candidate.source.splitlines()[-len(KERNEL.splitlines()) :]
        differ = [n for n, (a, b) in enumerate(zip(lines, KERNEL.splitlines(), strict=True), start=1) if a != b]
        assert differ == [mutant.line]
        assert len(mutant.candidate.source.splitlines()) - len(lines) == (mutant.fault is Fault.PRECISION)


def test_of_few_faults_each_is_another(problem: Problem) -> None:
    few = mutants(baseline(problem), problem, 6)
    assert len({mutant.fault for mutant in few}) == len(few) == 6


@pytest.mark.parametrize("name", ["sum", "softmax", "matmul"])
def test_kernels_with_templates_and_macros_have_faults_too(name: str) -> None:
    problem = load_problem(CORPUS / f"{name}.toml")
    found = {mutant.fault for mutant in mutants(baseline(problem), problem, 99)}
    assert {Fault.SKIP, Fault.PRECISION} <= found
    assert (Fault.ATOMIC in found) == (name == "sum")
    assert (Fault.BARRIER in found) == (name != "matmul")


@pytest.mark.parametrize("name", ["jacobi.cl", "matvec.c"])
def test_other_languages_have_faults_too(name: str) -> None:
    problem = load_problem(samples_directory() / name)
    found = {mutant.fault for mutant in mutants(baseline(problem), problem, 99)}
    assert len(found) >= 4


def test_the_test_that_is_proposed_changes_only_sizes_that_vary(problem: Problem) -> None:
    test = uneven_test(problem)
    assert test is not None
    assert test.sizes == {"columns": 37}  # rows is the same wherever it is tested
    untested = uneven_test(problem.with_tests([]))
    assert untested is not None
    assert untested.sizes == {"rows": 37, "columns": 53}


def test_the_other_configuration_is_valid_and_differs(problem: Problem) -> None:
    assert other_configuration(baseline(problem), problem, 1024) is None
    tuned = load_problem(samples_directory() / "reduction.toml")
    other = other_configuration(baseline(tuned), tuned, 1024)
    assert other is not None
    assert all(other[name] != value for name, value in tuned.default_configuration.items())
