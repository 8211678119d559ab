"""The lines of a kernel in which it uses its tunables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.evaluate.tolerance import AllowedError
from tui_tuner.problem.load import written_in_file
from tui_tuner.problem.model import Argument, Kernel, Language, Launch, Problem, Tolerance
from tui_tuner.prompts import argument_facts, build_facts, check_facts
from tui_tuner.prompts.space_facts import LINES, WIDTH, tunable_uses
from tui_tuner.resources import samples_directory

CUDA = """\
// tile_k in a comment
#ifndef tile_k
#define tile_k 8
#endif
#define ROWS (block_size_y * tile_y)
#if use_padding
#define PAD 1
#endif
__global__ void __launch_bounds__(block_size_x * block_size_y) mm(float *C, const float *A, int n)
{
    __shared__ float sA[ROWS][tile_k + 1];
    float acc[tile_y][tile_x];
    const int x = blockIdx.x * block_size_x * tile_x + threadIdx.x;
    constexpr int stride = block_size_x * block_size_y;
    printf("tile_x %d", 1);
    for (int k0 = 0; k0 < n; k0 += tile_k) {
        #pragma unroll unroll_k
        for (int k = 0; k < tile_k; k++)
            acc[0][tile_x - 1] += A[x * tile_x + k] * sA[k][0];
    }
    C[x * tile_k] = acc[0][0];
}
"""
OPENCL = """\
__kernel void f(__global float *a, int n)
{
    int groups = get_num_groups(0) + WG;
    int i = get_group_id(0) * WG + get_local_id(0);
    for (int k = 0; k < n; k += WG) a[i] = k;
    local float t[WG * 2];
}
"""
TRITON = '''\
@triton.jit
def k(x, n,
      BLOCK: tl.constexpr,  # BLOCK elements
      num: tl.constexpr):
    """BLOCK elements"""
    a = other(BLOCK)
    if BLOCK > 4:
        a += 1
    for i in range(0, n, BLOCK):
        a += i
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
'''


def uses(source: str, name: str, language: Language = "cuda") -> list[str]:
    return tunable_uses(source, language, [name])[name]


def test_the_most_telling_lines_come_first_with_their_numbers():
    assert uses(CUDA, "tile_k") == [
        "11: __shared__ float sA[ROWS][tile_k + 1];",
        "21: C[x * tile_k] = acc[0][0];",
        "16: for (int k0 = 0; k0 < n; k0 += tile_k) {",
        "18: for (int k = 0; k < tile_k; k++)",
    ]


def test_an_index_comes_before_an_array_and_one_of_each_kind_before_a_second():
    assert uses(CUDA, "tile_x") == [
        "13: const int x = blockIdx.x * block_size_x * tile_x + threadIdx.x;",
        "12: float acc[tile_y][tile_x];",
        "19: acc[0][tile_x - 1] += A[x * tile_x + k] * sA[k][0];",
    ]


def test_conditions_of_the_preprocessor_macros_pragmas_and_bounds_are_uses():
    assert uses(CUDA, "use_padding") == ["6: #if use_padding"]
    assert uses(CUDA, "unroll_k") == ["17: #pragma unroll unroll_k"]
    found = uses(CUDA, "block_size_y")
    assert [line.partition(":")[0] for line in found] == ["14", "9", "5"]


def test_comments_strings_guards_and_own_definitions_are_none():
    lines = [line.partition(":")[0] for line in [*uses(CUDA, "tile_k"), *uses(CUDA, "tile_x")]]
    assert {"1", "2", "3", "15"}.isdisjoint(lines)


def test_a_part_of_a_name_and_a_member_are_no_uses():
    source = "__global__ void f(S s, float *a) {\n  int tile_size = s.tile;\n  a[my_tile] = 1;\n}\n"
    assert uses(source, "tile") == []


def test_every_tunable_is_there_in_the_given_order_named_by_the_code_or_not():
    found = tunable_uses(CUDA, "cuda", ["unknown", "tile_y", "tile_x"])
    assert list(found) == ["unknown", "tile_y", "tile_x"]
    assert found["unknown"] == []


def test_opencl_calls_shared_memory_local():
    assert uses(OPENCL, "WG", "opencl") == [
        "6: local float t[WG * 2];",
        "4: int i = get_group_id(0) * WG + get_local_id(0);",
        "5: for (int k = 0; k < n; k += WG) a[i] = k;",
        "3: int groups = get_num_groups(0) + WG;",
    ]


def test_c_has_its_loops_and_pragmas():
    source = "void f(int n, float *y) {\n#pragma omp parallel for schedule(static, chunk)\n"
    source += "for (int i = 0; i < n; i += chunk) y[i] = 0;\n}\n"
    assert uses(source, "chunk", "c") == [
        "3: for (int i = 0; i < n; i += chunk) y[i] = 0;",
        "2: #pragma omp parallel for schedule(static, chunk)",
    ]


def test_python_is_read_by_its_words():
    assert uses(TRITON, "BLOCK", "python") == [
        "11: at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        "9: for i in range(0, n, BLOCK):",
        "7: if BLOCK > 4:",
        "6: a = other(BLOCK)",
    ]
    assert uses(TRITON, "num", "python") == ["4: num: tl.constexpr):"]


def test_a_name_that_is_no_identifier_is_found_nowhere_or_as_it_is_written():
    assert uses("x = config.block_sizes\ny = block_sizes[0]\n", "block_sizes[0]", "python") == ["2: y = block_sizes[0]"]


def test_code_of_an_unknown_language_is_read_by_its_words():
    assert uses(CUDA, "tile_k", "recorded")[:3] == [
        "11: __shared__ float sA[ROWS][tile_k + 1];",
        "21: C[x * tile_k] = acc[0][0];",
        "16: for (int k0 = 0; k0 < n; k0 += tile_k) {",
    ]


@pytest.mark.parametrize("cut", range(0, len(CUDA), 37))
def test_source_that_does_not_parse_is_read_as_far_as_it_goes(cut):
    found = tunable_uses(CUDA[:cut] + "(((" + CUDA[cut:], "cuda", ["tile_k", "unroll_k"])
    assert any("unroll_k" in line for line in found["unroll_k"])
    assert len(found["tile_k"]) >= 2


def test_offsets_hold_behind_characters_of_several_bytes():
    assert uses("// größer ü\n__global__ void f(float *a) { a[tile] = 1; }\n", "tile") == [
        "2: __global__ void f(float *a) { a[tile] = 1; }"
    ]


def test_a_long_line_is_cut_around_the_name():
    long = "    a[0] = " + " + ".join(f"b[{i}]" for i in range(60)) + " + c[tile] + " + "d + " * 40 + "e;"
    (line,) = uses(f"__global__ void f(float *a) {{\n{long}\n}}\n", "tile")
    number, _, text = line.partition(": ")
    assert (number, len(text)) == ("2", WIDTH)
    assert text.startswith("...")
    assert text.endswith("...")
    assert "c[tile]" in text


def test_the_same_text_is_told_once_and_at_most_so_many_lines():
    body = "".join(f"  a[{i}] = tile;\n  a[0] = tile;\n" for i in range(9))
    found = uses("__global__ void f(float *a) {\n" + body + "}\n", "tile")
    assert len(found) == LINES
    assert len({line.partition(": ")[2] for line in found}) == LINES


@pytest.mark.parametrize("file", sorted(samples_directory().glob("*.toml")), ids=lambda path: path.stem)
def test_the_samples_lines_are_lines_of_their_code(file: Path):
    problem = written_in_file(file).problem
    source = problem.source_text.split("\n")
    for name, lines in tunable_uses(problem.source_text, problem.language, problem.tunables).items():
        for line in lines:
            number, _, text = line.partition(": ")
            assert name in text
            assert source[int(number) - 1].strip() == text or "..." in text


FLOATS = {"name": "x", "dtype": "float32", "shape": ["n"]}
BYTES = {"name": "x", "dtype": "uint8", "shape": ["n"], "fill": "integers", "low": 0, "high": 2}
OFF, WHOLE = "a floating-point element of a result", "a whole number of a result must be equal"


def problem(*arrays: dict[str, object], output: str, options: tuple[str, ...] = ()) -> Problem:
    arguments = [Argument.model_validate(array) for array in arrays]
    arguments.append(Argument.model_validate({"name": "y", "dtype": output, "shape": ["n"], "output": True}))
    kernel = Kernel(source=Path("k.cu"), name="k", compiler_options=list(options))
    return Problem(kernel=kernel, sizes={"n": 8}, launch=Launch(), arguments=arguments, tolerance=Tolerance(relative=1))


@pytest.mark.parametrize(
    ("arrays", "output", "there", "absent"),
    [
        ([FLOATS], "float32", [OFF, "tiny values", "zeros"], [WHOLE, "infinities"]),
        ([{**FLOATS, "infinities": True}], "float16", [OFF, "infinities"], [WHOLE, "NaN"]),
        ([{**FLOATS, "nans": True}], "float16", [OFF, "NaN"], [WHOLE, "infinities"]),
        (
            [BYTES],
            "uint8",
            [WHOLE, "quiet and loud parts", "zeros"],
            [OFF, "large values", "infinities"],
        ),
        ([{**FLOATS, "fill": "uniform", "low": 0.5}], "int32", [WHOLE, "equal values"], [OFF, "zeros", "tiny values"]),
        ([], "int32", [WHOLE], [OFF, "verified with other inputs"]),
    ],
)
def test_a_prompt_names_the_inputs_that_can_occur_and_how_its_results_are_judged(arrays, output, there, absent):
    told = check_facts(problem(*arrays, output=output))
    assert [words for words in there if words not in told] == []
    assert [words for words in absent if words in told] == []


def test_what_may_be_off_is_told_as_a_number_where_it_is_known():
    given = problem(FLOATS, output="float32")
    assert "fewer bits are not right; at the strictest test" not in check_facts(given)
    known = {"y": (8.4321e-05, 2e-06), "z": (1e-09, 0.002)}
    told = check_facts(given, {name: AllowedError(of_usual=a, of_element=r) for name, (a, r) in known.items()})
    assert told.count(": y 8.4e-05 of the usual size + 2e-06 of the element, z 0.002 of the element") == 1


def test_whole_numbers_that_may_be_off_are_told_so():
    rounded = problem(BYTES, output="uint8")
    rounded = rounded.model_copy(update={"tolerance": Tolerance(integers=1)})
    assert "may be off by at most 1, of noise in one of 100" in check_facts(rounded)
    assert WHOLE not in check_facts(rounded)


def test_other_inputs_keep_to_their_ranges_and_outputs_are_read_too():
    given = problem({**FLOATS, "output": True, "fill": "normal"}, output="float32")
    read, written = argument_facts(given)[:2]
    assert "input and output, set anew before each launch" in read
    assert written.endswith(", output")
    assert "as well, within the same ranges: " in check_facts(given)


def test_compiler_options_of_the_problem_are_told():
    assert build_facts(problem(output="int32", options=("-fmad=false",))) == "compiled with -fmad=false"
    assert build_facts(problem(output="int32")) == ""
