"""Scalars by which a kernel tells cases apart, and what drafts take them for."""

from __future__ import annotations

import pytest

from tests.problem.examples import drafted

ONE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
CASES = "case 10: y = x; break; default: case 31: y = x > 0 ? x : x * 0.2f; break; case 32: y = 0; break;"


def drafted_of(tmp_path, kernel, host="int act, int grad) {"):
    problem, text = drafted(
        tmp_path,
        f"__global__ void k(float *to, const float *from, int n, int act, int grad) {{ {ONE} if (i >= n) return;"
        f" float x = from[i], y; {kernel} to[i] = y; }}\n"
        f"void run(torch::Tensor to, torch::Tensor x, {host} int n = x.numel();"
        " k<<<(n + 127) / 128, 128>>>(to.data_ptr<float>(), x.data_ptr<float>(), n, act, grad); }\n",
    )
    return {one.name: one.value for one in problem.arguments if one.shape is None}, problem.sizes, text


def test_scalars_that_a_switch_is_made_of_are_the_case_that_does_most(tmp_path):
    values, sizes, text = drafted_of(tmp_path, f"switch (act * 10 + grad) {{ {CASES} }}")
    assert (values, list(sizes)) == ({"n": "n", "act": 3, "grad": 1}, ["n"])
    assert "value = 3  # a guess: check" in text


def test_a_scalar_that_is_a_switch_by_itself_is_a_case_too(tmp_path):
    values, sizes, _ = drafted_of(tmp_path, f"switch (act) {{ {CASES} }}")
    assert (values["act"], list(sizes)) == (31, ["n"])


@pytest.mark.parametrize("kernel", ["switch (act - 1) { case 0: y = x; }", "switch (act) { default: y = x; }"])
def test_a_switch_that_is_not_read_says_nothing(tmp_path, kernel):
    assert drafted_of(tmp_path, kernel)[0]["act"] == drafted_of(tmp_path, "y = act;")[0]["act"]


def test_the_hosts_own_number_stays(tmp_path):
    values, _, _ = drafted_of(tmp_path, f"switch (act) {{ {CASES} }}", "int grad) { const int act = 10;")
    assert values["act"] == 10
