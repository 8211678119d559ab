"""Pointers that a kernel moves before it uses them: how far it reaches, what it writes."""

from __future__ import annotations

import pytest

from tests.problem.examples import drafted
from tui_tuner.problem.draft.kernel.moves import with_moves


def test_arrays_of_pointers_that_are_moved_once_are_as_long_as_the_kernel_reaches(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "__global__ void pick(int b, int c, int n, int m, const float *from, const int *which, float *to) {\n"
        " int bs = blockIdx.z, cs = blockIdx.y, at = blockIdx.x * blockDim.x + threadIdx.x;\n"
        " if (bs >= b || cs >= c || at >= m) return;\n"
        " to += bs * c * m + cs * m + at;\n which += bs * m + at;\n"
        " to[0] = from[bs * c * n + cs * n + which[0]];\n}\n"
        "void run(const float *from, const int *which, float *to, int b, int c, int n, int m) {\n"
        " dim3 blocks((m + 511) / 512, c, b);\n pick<<<blocks, 512>>>(b, c, n, m, from, which, to);\n}\n",
    )
    shapes = {one.name: one.shape for one in problem.arguments if one.shape}
    assert (shapes["which"], shapes["to"], shapes["from"]) == (["b * m"], ["b * c * m"], ["b * c * n"])
    arguments = {one.name: one for one in problem.arguments}
    assert arguments["to"].fill is None
    assert (arguments["which"].fill, arguments["which"].high) == ("integers", "n")


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("x += r * w; y[0] = x[i + 1];", "            y[0] = x[r * w + (i + 1)];"),
        ("x += r * w; y[0] = *x;", "            y[0] = x[r * w];"),
        ("for (;;) { x += w; y[0] = x[i]; }", None),
        ("x += r; x += w; y[0] = x[i];", None),
        ("if (r) x += r; y[0] = x[i];", None),
        ("y[1] = x[i]; x += r; y[0] = x[i];", None),
        ("x += r; load(x, i);", "        load(x + r, i);"),
        ("GRID_LOOP(i, n) { x += r; y[0] = x[i]; }", "GRID_LOOP(i, n) {         y[0] = x[r + (i)]; }"),
        (
            "for (int i = blockIdx.x; i < n; i += gridDim.x) { x += r; y[0] = x[i]; }",
            "for (int i = blockIdx.x; i < n; i += gridDim.x) {         y[0] = x[r + (i)]; }",
        ),
    ],
)
def test_a_pointer_that_is_moved_once_for_all_says_so_where_it_is_used(body, read):
    assert with_moves(body, ["x"]) == (read or body)
