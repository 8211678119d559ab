"""Macros of the build that a model states: what becomes an option of a compiler, and what is put back."""

from __future__ import annotations

import pytest

from tui_tuner.strategies.proposed_macros import faults_of_macros

SOURCE = """\
#define WIDTH 4
// LEFT is told of in a comment alone
__global__ void k(REAL *to, const REAL *from, int n)
{
    __shared__ REAL part[TILE];
    const int own = blockIdx.x * TILE + threadIdx.x;
    if (own < n) to[own] = __expf(from[own]) * REAL(SCALE) * WIDTH;
#if defined(TWICE)
    to[own] *= OP(2);
#endif
}
"""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TILE", "128"),
        ("TILE", "0x80u"),
        ("SCALE", "-2.5e-3f"),
        ("REAL", "double"),
        ("REAL", "unsigned"),
        ("TWICE", "1"),
        ("OP", "fabsf"),
    ],
)
def test_one_number_or_one_name_is_a_macro_of_what_the_text_leaves_open(name: str, value: str) -> None:
    assert [*faults_of_macros([(name, value)], {}, SOURCE, "cuda")] == []


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TILE", "16 -include /etc/passwd", "neither one number nor one name"),
        ("TILE", "16;ls", "neither one number nor one name"),
        ("TILE", "$(ls)", "neither one number nor one name"),
        ("TILE", "../16", "neither one number nor one name"),
        ("TILE", "@file", "neither one number nor one name"),
        ("TILE", "16\n", "neither one number nor one name"),
        ("TILE", "", "neither one number nor one name"),
        ("TILE", "\u0661\u0666", "neither one number nor one name"),
        ("TILE=1 -I", "16", "is not a name"),
        ("-include", "x", "is not a name"),
        ("float", "double", "has a meaning in the kernel's language"),
        ("threadIdx", "blockIdx", "has a meaning in the kernel's language"),
        ("__expf", "__logf", "has a meaning in the kernel's language"),
        ("WIDTH", "8", "itself says what 'WIDTH' is"),
        ("own", "n", "itself says what 'own' is"),
        ("n", "4", "'n' is a parameter"),
        ("LEFT", "4", "has no 'LEFT'"),
        ("NOWHERE", "4", "has no 'NOWHERE'"),
    ],
)
def test_nothing_else_becomes_an_option(name: str, value: str, said: str) -> None:
    source = SOURCE.replace("int n)", "unsigned(n))") if name == "n" else SOURCE
    faults = [*faults_of_macros([(name, value)], {"a parameter": {"n"}}, source, "cuda")]
    assert len(faults) == 1
    assert said in faults[0]


def test_a_macro_is_stated_once() -> None:
    assert "'TILE' is listed twice" in next(faults_of_macros([("TILE", "1"), ("TILE", "2")], {}, SOURCE, "cuda"))
