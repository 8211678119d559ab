"""What headers of a project say to the host's code around a kernel."""

from __future__ import annotations

import pytest

from tests.problem.examples import drafted
from tui_tuner.problem.draft.problem_file import scaffold

HEADER = """\
#ifdef SINGLE
#define REAL float
#else
#define REAL double
#endif
static const int most = 96;
constexpr REAL reach = 13.5;
inline float inside(float x) { const float lone = 4.0f; return x * lone; }
"""
SOURCE = """\
#include "given.h"
__global__ void k(const float *x, float *y, int n, int m, float a, float b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < m; j++) sum += a * x[j * n + i] + b;
    y[i] = sum;
}
int main()
{
    int n = 40000;
    float *x, *y;
    REAL a = (REAL) reach;
    cudaMalloc(&x, n * most * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    k<<<(n + 255) / 256, 256>>>(x, y, n, most, a, lone);
}
"""


def test_constants_of_headers_are_what_they_say_and_those_within_functions_are_none(tmp_path):
    (tmp_path / "given.h").write_text(HEADER)
    problem, text = drafted(tmp_path, SOURCE)
    values = {one.name: one.value for one in problem.arguments}
    assert problem.sizes == {"n": 40000, "m": 96}
    assert values["a"] == 13.5
    assert values["b"] != 4.0
    assert "m = 96  # as the host has it" in text


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("typedef enum { PLAIN = 0, SQUARED = 3 } mode_t2;", "mode_t2"),
        ("enum Mode { PLAIN, SQUARED = 3 };", "Mode"),
        ("enum class Mode { PLAIN, SQUARED = 3 };", "Mode"),
    ],
)
@pytest.mark.parametrize("is_in_header", [True, False])
def test_an_enumeration_is_passed_as_a_whole_number(tmp_path, declared, kind, is_in_header):
    (tmp_path / "given.h").write_text(declared if is_in_header else "")
    squared = f"{kind}::SQUARED" if "class" in declared else "SQUARED"
    source = (
        f'#include "given.h"\n{"" if is_in_header else declared}\n'
        f"__global__ void k(float *x, int n, {kind} mode) {{ int i = blockIdx.x * blockDim.x + threadIdx.x;"
        f" if (i < n) x[i] = mode == {squared} ? x[i] * x[i] : x[i]; }}\n"
        f"int main() {{ int n = 40000; float *x; {kind} mode = {squared}; cudaMalloc(&x, n * sizeof(float));"
        " k<<<(n + 255) / 256, 256>>>(x, n, mode); }\n"
    )
    problem, _ = drafted(tmp_path, source)
    mode = problem.arguments[-1]
    assert mode.dtype == "int32"
    assert mode.value in (3, 0, 1)
    assert mode.value == 3 or "class" in declared


SIZES = """\
#if !defined(SMALL) && !defined(LARGE)
#define USUAL
#endif
#ifdef SMALL
#define ROWS 300
#endif
#ifdef USUAL
#define ROWS 5000
#endif
#ifdef LARGE
#define ROWS 70000
#endif
"""


@pytest.mark.parametrize(("chosen", "rows"), [("", 5000), ("#define LARGE", 70000)])
def test_of_sizes_that_a_header_has_for_builds_the_one_that_is_built_counts(tmp_path, chosen, rows):
    (tmp_path / "sizes.h").write_text(SIZES)
    problem, _ = drafted(
        tmp_path,
        f'{chosen}\n#include "sizes.h"\n'
        "__global__ void k(float *x, int n)"
        " { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = i * 0.5f; }\n"
        "int main() { int n = ROWS; float *x; cudaMalloc(&x, n * 4); k<<<(n + 255) / 256, 256>>>(x, n); }\n",
    )
    assert problem.sizes == {"n": rows}


def test_a_launch_in_a_header_is_given_what_the_file_that_includes_it_has(tmp_path):
    (tmp_path / "scale.cuh").write_text(
        "__global__ void k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " for (; i < n; i += gridDim.x * blockDim.x) x[i] = x[i] * 0.5f; }\n"
        "void scale(float *x, int n) { k<<<64, 256>>>(x, n); }\n"
    )
    host = tmp_path / "main.cu"
    host.write_text(
        '#include "scale.cuh"\n'
        "int main() { int rows = 40000; float *a; cudaMalloc(&a, rows * sizeof(float)); scale(a, rows); }\n"
    )
    text = scaffold(tmp_path / "scale.cuh", "k", host=host)
    assert "n = 40000  # as the host has it" in text
    assert 'shape = ["n"]  # as the host allocates it' in text
