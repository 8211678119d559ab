"""Elements of arrays that a kernel names by pointers of other types, and numbers that it takes for other types."""

from __future__ import annotations

import pytest

from tests.problem.examples import drafted
from tui_tuner.problem.draft.kernel.casts import without_number_casts
from tui_tuner.problem.draft.kernel.guesses import times_written
from tui_tuner.problem.signature import find_kernels


def writes(text):
    (kernel,) = find_kernels(f"__global__ void k(float *to, const float4 *x, int i, float4 v) {{ {text} }}", "cuda")
    return times_written("to", kernel)


@pytest.mark.parametrize(
    "text",
    [
        "reinterpret_cast<float4 *>(to)[i] = v;",
        "((float4 *)to)[i] = v;",
        "(to + 4)[i] = v.x;",
        "float *row = to + 4 * i; reinterpret_cast<vec<float, 4> *>(row)[i] = v;",
        "*reinterpret_cast<float4 *>(to + 4 * i) = v;",
        "*reinterpret_cast<float4 *>(&to[4 * i]) = v;",
        "float *row = &to[i]; *(float4 *)(row + i) = v;",
        "(reinterpret_cast<float4 *>(&(to[4 * i]))[0]) = v;",
        "((float4 *)&to[i])[0] = v;",
        "__stcs((float4 *)to + i, v);",
        "__stcs(&to[i], v.x);",
    ],
)
def test_what_is_written_as_another_type_is_an_output(text):
    assert writes(text) == 1


@pytest.mark.parametrize(
    "text",
    [
        "v = ((float4 *)to)[i];",
        "v = *(float4 *)&to[i];",
        "v = (reinterpret_cast<float4 *>(&((to)[i]))[0]);",
        "if (i == ((int *)to)[i]) return;",
    ],
)
def test_what_is_read_as_another_type_is_none(text):
    assert writes(text) == 0


def test_an_output_beside_one_that_is_written_plainly_is_one_too(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "__global__ void k(float *to, float *sum, const float *x, int n) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n / 4) { float4 v = ((const float4 *)x)[i];"
        " reinterpret_cast<float4 *>(to)[i] = v; sum[i] = v.x; } }\n",
    )
    assert [one.name for one in problem.arguments if one.output] == ["to", "sum"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("(size_t)row * n + int(threadIdx.x)", "row * n + threadIdx.x"),
        ("static_cast<int>(blockIdx.x) * (unsigned long long)n", "blockIdx.x * n"),
        ("(const int)(a + b) * uint32_t(c)", "(a + b) * c"),
        ("print(x) + (float)y + sizeof(int) * static_cast<float *>(z)[i]", None),
        ("void f(int); g.int32_t(x);", None),
    ],
)
def test_casts_to_whole_numbers_are_left_out_and_nothing_else(text, plain):
    assert without_number_casts(text) == (plain or text)
