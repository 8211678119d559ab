"""Arrays of structures of several types: drafted, declared member by member, filled and compared as their bytes."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from tui_tuner.app.assumptions import assumptions
from tui_tuner.app.drafting import confirmed
from tui_tuner.app.named import problem_of
from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.inputs import call_reference, fill_of, make_arguments
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.textures import occurring
from tui_tuner.prompts import argument_facts
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings

KERNEL = """\
struct Body { char kind; double mass; int near[3]; float2 at; };
__global__ void k(float *out, Body *bodies, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = bodies[i].mass * bodies[i].at.y + bodies[i].near[1]; bodies[i].kind += 1; }
}
"""
PROBLEM = """\
reference = { python = "ref.py:k" }
[kernel]
source = "k.cu"
name = "k"
[sizes]
n = 40
[launch]
problem_size = ["n"]
[[arguments]]
name = "out"
dtype = "float32"
shape = ["n"]
output = true
[[arguments]]
name = "bodies"
dtype = "uint8"
shape = ["n", 40]
output = true
members = [
    { name = "kind", dtype = "int8", fill = "ones" },
    { name = "mass", dtype = "float64", fill = "uniform", low = 2.0, high = 3.0 },
    { name = "near", dtype = "int32", count = 3, fill = "integers", high = "n" },
    { name = "at", dtype = "float32", count = 2, alignment = 8 },
]
[[arguments]]
name = "n"
dtype = "int32"
value = "n"
"""
REFERENCE = """\
def k(out, bodies, n):
    after = bodies.copy()
    after["kind"] += 1
    return bodies["mass"] * bodies["at"][:, 1] + bodies["near"][:, 1], after
"""


def problem(directory, text=PROBLEM):
    (directory / "k.cu").write_text(KERNEL)
    (directory / "ref.py").write_text(REFERENCE)
    (directory / "k.toml").write_text(text)
    return load_problem(directory / "k.cu")


def test_each_member_lies_where_c_has_it_and_is_filled_as_it_says(tmp_path):
    given = problem(tmp_path)
    out, bodies, _ = arguments = make_arguments(given, {}, 1)
    assert (bodies.dtype, bodies.shape, fill_of(given.arguments[1])) == (np.uint8, (40, 40), "by its members")
    assert np.isnan(out).all()
    mass, near = (np.ascontiguousarray(bodies[:, a:b]) for a, b in ((8, 16), (16, 28)))
    assert ((mass.view(np.float64) >= 2) & (mass.view(np.float64) < 3)).all()
    assert {*near.view(np.int32).flat} <= {*range(40)}
    assert (bodies[:, 0] == 1).all()
    assert not bodies[:, [*range(1, 8), *range(28, 32)]].any()
    expected = call_reference(given, arguments)
    assert expected["bodies"][:, 0].tolist() == [2] * 40
    assert (expected["bodies"][:, 1:] == bodies[:, 1:]).all()
    assert not np.array_equal(make_arguments(given, {}, 2)[1], bodies)
    assert "40] bytes, structures of int8 kind, float64 mass" in argument_facts(given)[1]
    assert not occurring(given.model_copy(update={"arguments": given.arguments[1:]}))


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ('"mass", dtype = "float64"', '"mass", dtype = "float32"', "the members of 'bodies' are not those of Bod", "f"),
        ('["n", 40]', '["n + 1", 39]', "1599 bytes are no whole number of structures of 40 bytes", "n = 40"),
        ('high = "n"', 'high = "m"', "unknown name 'm'", "[sizes]"),
        ('high = "n"', "high = -1", "there is nothing between low = 0 and high = -1", "n = 40"),
        ('fill = "ones"', 'fill = "normal"', "fill = 'normal' makes fractions, int8 holds none", "integers"),
        ('fill = "ones"', "value = 1", "its members have a fill, and no value", ""),
        ('dtype = "uint8"', 'dtype = "int32"', 'holds structures: it needs dtype = "uint8" and no fill', ""),
        ("members = [", 'fill = "ones"\nmembers = [', 'it needs dtype = "uint8" and no fill', ""),
        ('dtype = "int32"\nvalue = "n"', 'dtype = "struct"\nmembers = [{ name = "a", dtype = "int32" }]',
         "each of its members needs a value alone", ""),
        ("[launch]", "[tolerance]\nintegers = 1\n[launch]", "'bodies' are compared bit by bit", "of one type"),
    ],
)  # fmt: skip
def test_members_that_no_array_can_have_are_told(tmp_path, old, new, message, hint):
    assert old in PROBLEM
    with pytest.raises(ProblemError) as caught:
        problem(tmp_path, PROBLEM.replace(old, new))
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert caught.value.line is not None


def test_what_a_structure_by_value_is_written_as_stays_as_it_was(tmp_path):
    bodies = problem(tmp_path).arguments[1].model_dump(mode="json")
    assert bodies["members"][0] == {"name": "kind", "dtype": "int8", "fill": "ones"}


@pytest.mark.slow
@pytest.mark.parametrize(("file", "device"), [("k.cu", "emulator"), ("k.c", "c")])
def test_a_kernel_that_takes_such_an_array_is_drafted_and_holds(tmp_path, file, device):
    in_c = "#include <stdint.h>\ntypedef struct { float x, y; } float2;\n" + KERNEL.partition("__global__")[0]
    in_c += "void k(float *out, struct Body *bodies, int n) { for (int i = 0; i < n; i++) {"
    in_c += " out[i] = bodies[i].mass + bodies[i].near[1]; bodies[i].kind += 1; } }\n"
    (tmp_path / file).write_text(KERNEL if device == "emulator" else in_c.replace("float2 at;", "float at[2];"))
    written = asyncio.run(confirmed(problem_of(tmp_path / file), SessionOptions(device=device), Settings()))
    given = written.problem.arguments[1]
    assert (given.dtype, given.shape, given.output) == ("uint8", ["n", 40], True)
    fills = [(one.name, one.dtype, one.count, one.fill) for one in given.members]
    assert fills[1:3] == [("mass", "float64", None, "normal"), ("near", "int32", 3, "integers")]
    assert "as given at n = " in "\n".join(assumptions(written))


def test_one_of_several_types_of_32_bits_that_is_only_written_is_its_bits(tmp_path):
    kernel = tmp_path / "k.cu"
    kernel.write_text(
        "struct Hit { float t; int id; };\n__global__ void k(Hit *hits, int n) { int i = threadIdx.x;"
        " if (i < n) { hits[i].t = i; hits[i].id = i; } }\n"
    )
    kernel.with_suffix(".toml").write_text(scaffold(kernel, None))
    (hits, _) = load_problem(kernel).arguments
    assert (hits.dtype, hits.shape, hits.members) == ("int32", ["2 * n"], None)
