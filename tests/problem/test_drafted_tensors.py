"""How many elements drafts say that tensors of the host have."""

from __future__ import annotations

import pytest

from tests.problem.examples import drafted

ONE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
LOOPS = {
    "a body in braces": "for (int i = 0; i < axes; ++i) { n *= x.size(i); }",
    "a body alone": "for (int64_t d = 0; d < x.dim(); d++) n *= x.size(d);",
}
OTHERS = {
    "from the second on": "for (int i = 1; i < axes; ++i) n *= x.size(i);",
    "of another": "for (int i = 0; i < axes; ++i) n *= y.size(i);",
}


def drafted_of(tmp_path, loop, others=""):
    return drafted(
        tmp_path,
        f"__global__ void k(float *to, const float *from, int n) {{ {ONE} if (i < n) to[i] = from[i]; }}\n"
        f"void run(torch::Tensor x, torch::Tensor z) {{ const int axes = x.dim(); {others} int n = 1; {loop}"
        " k<<<(n + 255) / 256, 256>>>(z.data_ptr<float>(), x.data_ptr<float>(), n); }\n",
    )[0]


def test_extents_that_a_loop_multiplies_are_all_elements(tmp_path):
    problem = drafted_of(tmp_path, LOOPS["a body alone"])
    assert {one.name: one.shape or one.value for one in problem.arguments} == {"to": ["n"], "from": ["n"], "n": "n"}
    assert (problem.launch.problem_size, problem.sizes) == (["n"], {"n": 1048576})


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_they_are_the_product_of_those_that_the_function_names(tmp_path, loop):
    others = "if (axes == 2) { const int s = x.size(0), k = x.size(1); printf(s, k); }"
    problem = drafted_of(tmp_path, loop, others)
    assert problem.launch.problem_size == ["x_size_0 * x_size_1"]
    assert {tuple(one.shape) for one in problem.arguments if one.shape} == {("x_size_0 * x_size_1",)}


@pytest.mark.parametrize("loop", OTHERS.values(), ids=OTHERS)
def test_a_loop_over_other_extents_is_not_all_elements(tmp_path, loop):
    assert "numel" not in str(drafted_of(tmp_path, loop).sizes)


def test_a_tensor_is_as_long_as_the_only_extent_that_it_is_made_of(tmp_path):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void k(const float *from, float *to, int n) {{ {ONE} if (i < n) to[i] += from[i]; }}\n"
        "void run(torch::Tensor x) { int n = x.size(0) * x.size(1); auto z = torch::full(x.size(0), 5e4, x.options());"
        " k<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), z.data_ptr<float>(), n); }\n",
    )
    assert next(one.shape for one in problem.arguments if one.name == "to") == ["x_size_0"]
