"""Kernels in files that a host includes, and what the host states before it does."""

from __future__ import annotations

import asyncio

import pytest

from tui_tuner.app.assumptions import assumptions
from tui_tuner.app.drafting import confirmed
from tui_tuner.app.first_draft import draft_of
from tui_tuner.app.named import problem_of
from tui_tuner.errors import ProblemError
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings

SCALE = """\
__global__ void scale(const real *from, real *to, int n)
{
    __shared__ real part[THREADS];
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) part[threadIdx.x] = from[i];
    if (i < n) to[i] = TWICE(part[threadIdx.x]) + half;
}
"""
LATER = (
    "__global__ void later(real *to, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) to[i] += 1; }\n"
)
MAIN = """\
#include <cstdio>
#include "real.h"
#define THREADS 128
#define TWICE(x) (2 * (x))
const real half = 0.5;
#include "scale.cu"
#include "later.cu"
int main()
{
    const int n = 6000;
    real *a, *b;
    cudaMalloc(&a, n * sizeof(real));
    cudaMalloc(&b, n * sizeof(real));
    scale<<<(n + THREADS - 1) / THREADS, THREADS>>>(a, b, n);
    later<<<(n + 63) / 64, 64>>>(b, n);
}
"""


@pytest.fixture
def main(tmp_path):
    (tmp_path / "scale.cu").write_text(SCALE)
    (tmp_path / "later.cu").write_text(LATER)
    (tmp_path / "real.h").write_text("#pragma once\ntypedef float real;\n#define UNUSED 3\n")
    file = tmp_path / "main.cu"
    file.write_text(MAIN)
    return file


def tried(named, host=None):
    written = problem_of(named) if host is None else draft_of(named, None, host)
    return asyncio.run(confirmed(written, SessionOptions(device="emulator"), Settings()))


@pytest.mark.slow
@pytest.mark.parametrize("is_named", [False, True])
def test_what_a_host_states_before_it_includes_a_kernel_is_given_to_the_build(main, is_named):
    kernel = main.with_name("scale.cu")
    written = tried(kernel, main) if is_named else tried(main)
    problem = written.problem
    assert problem.kernel.source.name == "scale.cu"
    assert problem.kernel.compiler_options == ["-DTWICE(x)=(2 * (x))", "-Dreal=float", "-Dhalf=((real)(0.5))"]
    assert problem.tunables == {"THREADS": [32, 64, 128, 256]}
    assert [one.dtype for one in problem.arguments] == ["float32", "float32", "int32"]
    assert not any("cannot build" in doubt for doubt in written.doubts)


def test_a_kernel_is_looked_for_in_all_files_that_a_host_includes(main):
    written = problem_of(main.with_name("main.cu:later"))
    assert (written.problem.kernel.source.name, written.problem.kernel.name) == ("later.cu", "later")
    assert written.problem.kernel.compiler_options == ["-Dreal=float"]


def test_what_no_macro_can_give_is_named_with_what_to_do(main):
    main.write_text(MAIN.replace("#define THREADS", "struct Pair { float a, b; };\n#define THREADS"))
    main.with_name("scale.cu").write_text(SCALE.replace("__shared__", "Pair pair; __shared__"))
    with pytest.raises(ProblemError, match=r"Pair is not known, which main\.cu states before it includes") as caught:
        tried(main)
    assert "move it into scale.cu" in caught.value.hint


def test_a_file_that_launches_the_kernel_is_told_where_no_host_was_given(main):
    kernel = main.with_name("later.cu")
    kernel.write_text(LATER.replace("real", "float"))
    told = f"host        main.cu launches it; to take over what it says: --host {main}"
    assert told in "\n".join(assumptions(draft_of(kernel, None)))
    assert told not in "\n".join(assumptions(draft_of(kernel, None, main)))
