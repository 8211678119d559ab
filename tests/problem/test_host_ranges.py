"""Between which numbers a host fills the arrays of a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.problem.draft.drafted_launch import DraftedLaunch
from tui_tuner.problem.draft.launch.drafting import drafted_launch
from tui_tuner.problem.signature import find_kernel

HOST = """
#include <cstdlib>
#define NOT_SEEN -1
float between(float low, float high) { return low + (high - low) * (rand() / (float)RAND_MAX); }
float unit() { return rand() / (float)RAND_MAX; }
void made(float *to, int *counts, int n) {
    for (int i = 0; i < n; i++) {
        counts[i] = 10 + (rand() % 16);
        to[i] = (i > 0) ? -(0.1f + 0.5f * ((float)rand() / RAND_MAX)) : 0.0f;
    }
}
__global__ void k(float *out, const float *x, const int *rows, int n) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = x[0] + rows[0];
}
int main() {
    int n = 4096, length = 64;
    float *h = (float *)malloc(n * sizeof(float)), *other = (float *)malloc(n * sizeof(float));
    int *r = (int *)malloc(n * sizeof(int));
    std::uniform_real_distribution<float> price(5.0f, 30.0f);
    FILLED
    float *out, *x; int *rows;
    cudaMalloc(&out, n * sizeof(float)); cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&rows, n * sizeof(int));
    cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(rows, r, n * sizeof(int), cudaMemcpyHostToDevice);
    k<<<n / 64, 64>>>(out, x, rows, n);
}
"""


def launch_of(filled: str) -> DraftedLaunch:
    source = HOST.replace("FILLED", filled)
    return drafted_launch(source, find_kernel(source, "cuda", "k"), Path("k.cu"), "cuda")


@pytest.mark.parametrize(
    ("written", "bounds"),
    [
        ("-5.0f + 10.0f * (rand() / (float)RAND_MAX)", (-5.0, 5.0)),
        ("2.f * rand() / RAND_MAX - 1.f", (-1.0, 1.0)),
        ("static_cast<float>(rand()) / static_cast<float>(RAND_MAX / 10.0f)", (0.0, 10.0)),
        ("(float)(rand() & 255) / 256.0f", (0.0, 0.996094)),
        ("rand() % 2 ? 1.0f : -1.0f", (-1.0, 1.0)),
        ("between(0.5f, 1.5f)", (0.5, 1.5)),
        ("unit() - 0.5f", (-0.5, 0.5)),
        ("price(gen)", (5.0, 30.0)),
        ("(float)drand48() + 1", (1.0, 2.0)),
        ("sinf(i * 0.1f)", (-1.0, 1.0)),
        ("fabsf(-3.0f + 2.0f * rand() / RAND_MAX) + 0.5f", (1.5, 3.5)),
        ("1.0f / (1.0f + rand() / (float)RAND_MAX)", (0.5, 1.0)),
        ("i * 0.1f", None),
        ("loaded(i)", None),
        ("1.0f / rand()", None),
        ("3.0f", None),
    ],
)
def test_arithmetic_over_random_numbers_has_bounds(written: str, bounds: tuple[float, float] | None) -> None:
    found = launch_of(f"for (int i = 0; i < n; i++) h[i] = {written};").fractions
    assert found == ({} if bounds is None else {"x": bounds})


@pytest.mark.parametrize(
    ("filled", "fractions", "whole"),
    [
        ("made(h, r, n);", {"x": (-0.6, 0.0)}, {"rows": (10, "26")}),
        ("for (int i = 0; i < n; i++) r[i] = length;", {}, {"rows": (1, "length + 1")}),
        ("for (int i = 0; i < n; i++) r[i] = 1;", {}, {}),
        ("for (int i = 0; i < n; i++) r[i] = NOT_SEEN;", {}, {}),
        ("for (int i = 0; i < n; i++) r[i] = i;", {}, {}),
        ("for (int i = 0; i < n; i++) r[i] = 2 * (rand() / 1000000000);", {}, {"rows": (0, "5")}),
        ("for (int i = 0; i < n; i++) { float u = unit(); h[i] = 2 * u + 1; }", {"x": (1.0, 3.0)}, {}),
        ("for (int i = 0; i < n; i++) { other[i] = unit() - 1; h[i] = other[i] / 2; }", {"x": (-0.5, 0.0)}, {}),
        ("for (int i = 0; i < n; i++) { h[i] = unit(); h[i] += 3; }", {}, {}),
        ("for (int i = 0; i < n; i++) { r[i] = length; r[i] -= 3; }", {}, {}),
        (
            "for (int i = 0; i < n; i++) h[i] = unit(); for (int i = 0; i < 9; i++) h[i] = -2.0f;",
            {"x": (-2.0, 1.0)},
            {},
        ),
    ],
)
def test_all_that_an_array_is_set_to_counts(
    filled: str, fractions: dict[str, tuple[float, float]], whole: dict[str, tuple[int, str]]
) -> None:
    launch = launch_of(filled)
    assert (launch.fractions, launch.drawn) == (fractions, whole)


def test_what_a_kernel_writes_is_not_what_the_host_begins_with() -> None:
    source = HOST.replace("const int *rows", "int *rows").replace("rows[0];\n", "rows[0];\n    rows[0] = 1;\n")
    source = source.replace("FILLED", "for (int i = 0; i < n; i++) r[i] = length;")
    assert drafted_launch(source, find_kernel(source, "cuda", "k"), Path("k.cu"), "cuda").drawn == {}
