"""Whole scalars that are no sizes, in the drafts of kernels that nobody launches; no kernel is built here."""

from __future__ import annotations

import pytest

from tests.problem.examples import drafted
from tui_tuner.problem.draft.kernel.usual_numbers import is_plain_number

ONE = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;"


def value_of(problem, name):
    return next(one.value for one in problem.arguments if one.name == name)


@pytest.mark.parametrize(
    "said",
    [
        "if (at[i] == v) at[i] = v + 1;",
        "if (v != at[i]) at[i] = 2;",
        "at[i] = v == 0 ? at[i] : -at[i];",
        "at[i] = (at[i] >> v) & 15;",
        "at[i] = at[i] & v ? 1 : 2;",
        "atomicCAS(&at[i], -1, v + 1);",
        "at[i] = powf(0.9f, v) * 100;",
    ],
)
def test_what_a_kernel_only_asks_stores_or_takes_the_bits_of_is_no_size(tmp_path, said):
    problem, _ = drafted(tmp_path, f"__global__ void k(int *at, int n, int v) {{ {ONE} {said} }}")
    assert (problem.sizes, value_of(problem, "v")) == ({"n": 2**20}, 1)


@pytest.mark.parametrize(
    "said",
    [
        "if (i == v - 1) at[i] = 0;",
        "if (i < v) at[i] = at[i] == v;",
        "at[i] = at[i + v];",
        "for (int j = 0; j < v; j++) at[i] += j == v;",
        "at[i * v] = v;",
        "at[i] = i % v;",
        "at[i] = v > 3 && at[i] == v;",
        "if (i + 1 != v) at[i] = at[i + 1];",
    ],
)
def test_what_it_counts_or_measures_by_may_be_one(tmp_path, said):
    problem, _ = drafted(tmp_path, f"__global__ void k(int *at, int n, int v) {{ {ONE} {said} }}")
    assert value_of(problem, "v") == "v"


def test_a_number_that_is_passed_on_is_what_the_function_takes_it_for(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "__device__ float bent(float x, int how) { return how == 1 ? x * x : x > 0 ? x : 0; }\n"
        "__global__ void rows(const float *x, float *to, int width, int how) {"
        " const float *own = x + blockIdx.x * width;"
        " for (int j = threadIdx.x; j < width; j += blockDim.x) to[blockIdx.x * width + j] = bent(own[j], how); }",
    )
    assert (problem.launch.problem_size, value_of(problem, "how")) == (["width"], 1)


@pytest.mark.parametrize(("name", "value"), [("stage", 3), ("log_n", 10)])
def test_what_two_is_raised_to_is_more_than_one(tmp_path, name, value):
    problem, _ = drafted(
        tmp_path, f"__global__ void k(int *at, int n, int {name}) {{ {ONE} at[i] = i % (1 << {name}); }}"
    )
    assert (problem.sizes, value_of(problem, name)) == ({"n": 2**20}, value)


def test_a_seed_is_none_whatever_is_done_with_it(tmp_path):
    problem, _ = drafted(
        tmp_path, f"__global__ void k(unsigned *at, int n, unsigned seed) {{ {ONE} at[i] = i * 747796405u + seed; }}"
    )
    assert (problem.sizes, value_of(problem, "seed")) == ({"n": 2**20}, 1)


def test_of_a_scalar_that_is_nowhere_named_nothing_is_known():
    assert not is_plain_number("v", "at[i] = 1;")


def test_a_structure_of_whole_numbers_is_no_size(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "struct Costs { int match; int gap; };\n"
        f"__global__ void k(int *at, int n, Costs costs) {{ {ONE} at[i] = at[i] ? costs.match : costs.gap; }}",
    )
    assert problem.sizes == {"n": 2**20}
