"""Between which numbers a host fills the arrays of a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.problem.examples import drafted
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
        ("std::vector<int> all(n); int i = 0; for (auto &c : all) c = loaded(); for (int c : all) r[i++] = c;", {}, {}),
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


@pytest.mark.parametrize(
    ("written", "bounds"),
    [
        ("n - (i * 131) % (n / 2)", ("n - n // 2 + 1", "n + 1")),
        ("n / 4 + rand() % (n - 99)", ("n // 4", "n // 4 + n - 99")),
        ("100 + next() % (n - 99)", (100, "n + 1")),
        ("length + rand() % (n - length + 1)", (64, "n + 1")),
        ("std::min(n, 10 + i % 500)", ("min(n, 10)", "min(n, 509) + 1")),
        ("std::max(n / 8, n - (int)(rand() % 40))", ("max(n // 8, n - 39)", "max(n // 8, n) + 1")),
        ("i % 3 == 0 ? n : 5", ("min(n, 5)", "max(n, 5) + 1")),
        ("2 * (rand() % n) + 1", (1, "2 * (n - 1) + 2")),
        ("n - 1 - i", (0, "n")),
        ("i * 7 + 2", (2, "(n - 1) * 7 + 3")),
        ("few(gen) + 3", (5, "n // 2 + 4")),
        ("std::uniform_int_distribution<int>(2, n / 2)(gen)", (2, "n // 2 + 1")),
        ("std::clamp(rand() % 9000, 3, n)", ("min(3, n)", "min(8999, n) + 1")),
        ("rand() & (n - 1)", (0, "n")),
        ("pick()", (1, "n + 1")),
        ("few(gen)", (2, "n // 2 + 1")),
        ("i", None),
        ("loaded(i) + n", None),
        ("-(rand() % n)", None),
    ],
)
def test_whole_numbers_are_bounded_over_sizes(written: str, bounds: tuple[int | str, str] | None) -> None:
    few = "std::uniform_int_distribution<int> few(2, n / 2); auto pick = [&]() { return 1 + rand() % n; };"
    found = launch_of(f"{few} for (int i = 0; i < n; i++) r[i] = {written};").drawn
    assert found == ({} if bounds is None else {"rows": bounds})


@pytest.mark.parametrize(
    "filled",
    [
        "for (int i = 0; i < n; i++) { int one = 3 + rand() % (n / 2); r[i] = one; }",
        "std::generate(r, r + n, [&] { return 3 + rand() % (n / 2); });",
    ],
)
def test_what_is_drawn_for_each_is_no_number_for_all(filled: str) -> None:
    assert launch_of(filled).drawn == {"rows": (3, "n // 2 + 3")}


def test_an_array_of_the_host_is_known_behind_a_function_that_copies_it() -> None:
    upload = (
        "template <class T> T *upload(const std::vector<T> &v) { T *d; cudaMalloc(&d, v.size() * sizeof(T));"
        " cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice); return d; }\n"
    )
    source = (
        "__global__ void k(int *to, const int *from, int n) { to[blockIdx.x] = from[blockIdx.x] + n; }\n"
        f"{upload}int main() {{ const int n = 4096; std::vector<int> h(n);"
        " for (int i = 0; i < n; i++) h[i] = 100 + next() % (n - 99);"
        " int *from = upload(h), *to; cudaMalloc(&to, n * sizeof(int)); k<<<n, 64>>>(to, from, n); }"
    )
    launch = drafted_launch(source, find_kernel(source, "cuda", "k"), Path("k.cu"), "cuda")
    assert launch is not None
    assert launch.drawn == {"from": (100, "n + 1")}


def test_the_least_of_the_host_stays_below_what_is_too_large_in_a_smaller_problem(tmp_path: Path) -> None:
    source = (
        "__global__ void k(int *to, const int *from, int rows, int most) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0; if (i >= rows) return;"
        " for (int j = 0; j < from[i]; j++) sum += to[i * most + j]; to[i * most] = sum; }\n"
        "int main() { const int rows = 4096, most = 256; std::vector<int> h(rows); int *from, *to;"
        " for (int i = 0; i < rows; i++) h[i] = 200 + next() % (most - 199);"
        " cudaMalloc(&from, rows * sizeof(int)); cudaMalloc(&to, rows * most * sizeof(int));"
        " cudaMemcpy(from, h.data(), rows * sizeof(int), cudaMemcpyHostToDevice);"
        " k<<<rows / 64, 64>>>(to, from, rows, most); }"
    )
    problem, _ = drafted(tmp_path, source)
    (lengths,) = (one for one in problem.arguments if one.name == "from")
    assert problem.on_emulator().tests[0].sizes["most"] < 200
    assert (lengths.low, lengths.high) == ("min(200, most)", "most + 1")
