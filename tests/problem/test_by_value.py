"""Structures that a kernel takes by value, in problem files and on their way to a launch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.problem.examples import drafted
from tests.structures import ARGUMENTS, STRUCTURES
from tui_tuner.errors import ProblemError
from tui_tuner.problem.by_value import Field, Unknown, alignment_of, fields_of, in_one_block, structure_bytes
from tui_tuner.problem.inputs import call_reference, make_arguments
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.structures import spaced
from tui_tuner.prompts import argument_facts

KERNEL = """\
struct Two { char mark; double by; int at[3]; };
__global__ void k(float *out, Two two, int n) { if (threadIdx.x < n) out[threadIdx.x] = two.by; }
"""
PROBLEM = """\
[kernel]
source = "k.cu"
name = "k"
[sizes]
n = 8
[launch]
problem_size = ["n"]
[reference]
python = "ref.py:k"
[[arguments]]
name = "out"
dtype = "float32"
shape = ["n"]
output = true
[[arguments]]
name = "two"
dtype = "struct"
members = [
    { name = "mark", dtype = "int8", value = 1 },
    { name = "by", dtype = "float64", value = "n / 16" },
    { name = "at", dtype = "int32", value = [3, 4, "n"] },
]
[[arguments]]
name = "n"
dtype = "int32"
value = "n"
"""
REFERENCE = "import numpy as np\ndef k(out, two, n): return np.full(n, two.by * two.mark + two.at[2])\n"


def problem(directory, text=PROBLEM, kernel=KERNEL):
    (directory / "k.cu").write_text(kernel)
    (directory / "ref.py").write_text(REFERENCE)
    (directory / "k.toml").write_text(text)
    return load_problem(directory / "k.cu")


def test_a_structure_is_laid_out_as_c_has_it_and_the_reference_gets_its_members(tmp_path):
    given = problem(tmp_path)
    _, two, _ = arguments = make_arguments(given, {}, 1)
    assert two.tobytes() == b"\1" + bytes(7) + np.float64(0.5).tobytes() + np.int32([3, 4, 8]).tobytes() + bytes(4)
    assert call_reference(given, arguments)["out"].tolist() == [8.5] * 8
    assert "argument two: a structure by value with int8 mark = 1, float64 by = n / 16" in argument_facts(given)[1]


def test_what_is_no_structure_is_written_as_ever(tmp_path):
    first, two, _ = (argument.model_dump(mode="json") for argument in problem(tmp_path).arguments)
    assert "members" not in first
    assert two["members"][0] == {"name": "mark", "dtype": "int8", "value": 1}


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ('"mark", dtype = "int8"', '"mark", dtype = "int32"', "are not those of Two", "int8 mark, float64 by, int32"),
        ('"by", dtype', '"bi", dtype', "the members of 'two' are not those of Two", "the source declares: int8 mark"),
        ("[3, 4, ", "[4, ", "the members of 'two' are not those of Two", "int32 at[3]"),
        ("value = 1 }", "value = 300 }", "argument 'two': mark: 300 does not fit into int8", "at the sizes n = 8"),
        ('value = "n / 16"', 'value = "m"', "unknown name 'm' in 'm'", "may use the names of [sizes]"),
        ('dtype = "struct"', 'dtype = "struct"\nfill = "ones"', "by value has no fill", "take fill out"),
        ('dtype = "struct"', 'dtype = "struct"\nlow = 1', "'low' bounds only those fills", ""),
        ('dtype = "struct"', 'dtype = "float32"', "needs dtype = \"struct\" with members", ""),
        ('dtype = "int32"\nvalue', 'dtype = "struct"\nmembers = [{ name = "a", dtype = "int32", value = 1 }]\n#',
         "argument 'n' is no structure in the kernel", "the kernel has: int n"),
    ],
)  # fmt: skip
def test_members_that_are_not_the_kernels_are_refused(tmp_path, old, new, message, hint):
    assert old in PROBLEM
    with pytest.raises(ProblemError) as caught:
        problem(tmp_path, PROBLEM.replace(old, new))
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert caught.value.line is not None


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            "double *by[2][2];",
            "is a Two by value, and its member 'by' is a list of pointers that is not of one extent, stated as a"
            " number up to 64: take a pointer, or scalars",
        ),
        ("double **by;", "its member 'by' is a pointer to pointers: take a pointer, or scalars"),
        ("double *by[2];", 'it needs dtype = "struct" with members mark, by[0], by[1], at'),
        ("double by;", 'is a Two by value: it needs dtype = "struct" with members mark, by, at'),
    ],
)
def test_a_structure_that_is_given_as_a_number_is_told(tmp_path, declared, message):
    start, end = PROBLEM.index('dtype = "struct"'), PROBLEM.index('[[arguments]]\nname = "n"')
    scalar = PROBLEM[:start] + 'dtype = "float64"\nvalue = 1.0\n' + PROBLEM[end:]
    with pytest.raises(ProblemError, match="by value") as caught:
        problem(tmp_path, scalar, KERNEL.replace("double by;", declared))
    assert message in caught.value.message


def test_the_arguments_of_a_launch_lie_in_one_block_each_at_its_alignment():
    two, four = STRUCTURES
    block = in_one_block([np.uint64(1), np.int8(2), two, np.int32(3), four]).tobytes()
    places = {0: np.uint64(1).tobytes(), 8: b"\2", 16: two.tobytes(), 48: np.int32(3).tobytes(), 64: four.tobytes()}
    assert all(block[place:].startswith(held) for place, held in places.items())
    assert len(block) == 80
    assert [alignment_of(one.dtype) for one in (np.int16(0), two, four)] == [2, 8, 16]
    assert [argument.name for argument in ARGUMENTS] == ["two", "four"]


@pytest.mark.parametrize(
    ("stated", "extent", "count"),
    [
        ("#define N 32u\n", "N / 2", 16),
        ("#define M 4\n#define N (2 * M)\n", "N + 1", 9),
        ("const int K = 3;\n", "K", 3),
        ("", "sizeof(int)", None),
        ("#define N N + N + N\n", "N", None),
        ("#define N " + "N + " * 5000 + "1\n", "N", None),
    ],
)
def test_an_extent_may_be_arithmetic_over_what_the_code_states(stated, extent, count):
    fields = fields_of("S", f"{stated}struct S {{ int at[{extent}]; }};", "cuda")
    if count is None:
        assert isinstance(fields, Unknown)
        assert fields.reason == f"has an extent that no number is known for: {extent}"
    else:
        assert fields == (Field("at", "int32", count),)


BASE = "namespace a { template <typename T> struct Base { T *data; T scale[2]; }; }\n"


def test_a_structure_that_is_derived_of_another_begins_with_its_members():
    whole = fields_of("S", f"{BASE}struct S : public a::Base<double> {{ char kind; int n; }};", "cuda")
    assert isinstance(whole, tuple)
    assert [(one.words(), one.pointee) for one in whole] == [
        ("pointer data", "double *"), ("float64 scale[2]", ""), ("int8 kind", ""), ("int32 n", "")
    ]  # fmt: skip
    assert structure_bytes(whole) == 32
    free = fields_of("S", f"{BASE}struct S : a::Base<char> {{ int n; }};", "cuda")
    assert free == Unknown("", "is derived of what leaves bytes free at its end")


@pytest.mark.parametrize("base", ["Base", "Base<int>", "public a::Base<int, 2>", "Base<int>, Other", "virtual Base"])
def test_a_structure_that_is_derived_of_what_is_not_known_is_no_plain_data(base):
    assert fields_of("S", f"struct S : {base} {{ int n; }};", "cuda") == Unknown("", "is no plain data")


@pytest.mark.parametrize(("vector", "dtype"), [("__half2", "float16"), ("__nv_bfloat162", "bfloat16")])
def test_a_vector_of_two_halves_is_passed_by_value(vector, dtype):
    assert fields_of(vector, "", "cuda") == (Field("x", dtype, None, 4), Field("y", dtype))


def test_a_colour_whose_w_is_no_width_gets_a_value_of_its_own(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "__global__ void k(float *to, int w, int h, float4 by) { int x = threadIdx.x; if (x < w * h) to[x] = by.w; }\n",
    )
    by = next(argument for argument in problem.arguments if argument.name == "by")
    assert [member.value for member in by.members or []] == [1.5] * 4


def test_a_number_of_a_structure_that_is_called_like_a_size_is_that_size(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "struct Image { float width; };\n__global__ void k(float *to, int width, Image by) { int x = threadIdx.x;"
        " if (x < width) to[x] = by.width; }\n",
    )
    (member,) = next(argument for argument in problem.arguments if argument.name == "by").members or []
    assert member.value == "width"


@pytest.mark.parametrize("opened", ["namespace a { namespace b {", "namespace a::b {"])
def test_a_structure_has_the_namespaces_in_front_that_it_stands_in(opened):
    closed = "}" * opened.count("{")
    others = "namespace c { struct Other { int y; }; } struct Free { int z; };"
    code = f"{others} {opened} struct Pair {{ int x; }}; {closed}"
    named = {name: spaced(name, code) for name in ("Pair", "Other", "Free", "None")}
    assert named == {"Pair": "a::b::Pair", "Other": "c::Other", "Free": "Free", "None": "None"}
