from __future__ import annotations

import pytest

from tui_tuner.problem.syntax import constant_in_namespaces, identifiers, strip_definitions

SOURCE = """\
// tile_x is only mentioned here
#define tile_y 4 /* a comment
   that goes on */
#define LOOP for (int i = 0; i < unroll; i++) \\
    sum += vector * i;
#ifndef guard_only
#define guard_only 3
#endif
__global__ void k(float* a) {
  const char* text = "quoted_name // no comment"; /* #define unroll 3 */
  a[block_size_x + 1e5f] = R"(raw_name " )"[0] + 'c';
#if vector > 1
  use_it();
#endif
}
"""


def test_only_what_code_or_a_macro_body_uses_is_an_identifier():
    found = identifiers(SOURCE, "cuda")
    assert {"k", "a", "block_size_x", "unroll", "vector", "sum", "use_it", "text"} <= found
    assert found.isdisjoint({"tile_x", "tile_y", "quoted_name", "raw_name", "guard_only", "comment", "e5f"})


def test_keywords_of_the_language_are_no_identifiers():
    assert "global" in identifiers("int global;", "cuda")
    assert identifiers("__kernel void f(global int *x) { return; }", "opencl") == {"f", "x"}


def test_definitions_of_the_named_macros_go_and_the_line_numbers_stay():
    stripped = strip_definitions(SOURCE, {"tile_y", "LOOP", "guard_only"})
    assert "#define" not in stripped.replace("/* #define unroll 3 */", "")
    assert "sum +=" not in stripped
    assert "that goes on" not in stripped
    lines, before = stripped.split("\n"), SOURCE.split("\n")
    assert len(lines) == len(before)
    assert lines[5:6] == before[5:6]
    assert lines[7:] == before[7:]


def test_macros_that_are_not_named_stay_as_they_are():
    assert strip_definitions(SOURCE, {"tile", "LOOPS", "unroll"}) == SOURCE


def test_a_definition_with_spaces_tabs_windows_line_ends_or_at_the_end_of_the_file_goes():
    source = " #\tdefine  A 1 \\\r\n 2\r\nint a;\n#undef A\n#define A(x) x"
    assert strip_definitions(source, {"A"}) == "\n\nint a;\n\n"


def test_a_comment_sign_inside_a_macros_string_does_not_swallow_the_next_line():
    assert strip_definitions('#define A "/*"\nint b; /* c */', {"A"}) == "\nint b; /* c */"


def test_a_definition_goes_whole_where_spaces_follow_the_backslash_and_names_after_digit_separators_are_seen():
    source = "#define A(x) \\ \t\n  ((x) * 2) \\\n  + 1\nint a = b < 1'000 ? tile_x : 2'000;\n#define AB 3\n"
    assert strip_definitions(source, {"A"}) == "\n\n\nint a = b < 1'000 ? tile_x : 2'000;\n#define AB 3\n"
    assert "tile_x" in identifiers(source, "cuda")


def test_a_definition_inside_its_guard_goes_and_leaves_the_guard_balanced():
    source = "#ifndef block_size_x\n  #define block_size_x \\\n    256\n#endif\nint a[block_size_x];\n"
    assert strip_definitions(source, {"block_size_x"}) == "#ifndef block_size_x\n\n\n#endif\nint a[block_size_x];\n"


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("__constant__ float w[4];", "w"),
        ("namespace a { int f() { return 1; } } namespace b { static __constant__ float w[4]; }", "b::w"),
        ("namespace a::b { namespace { struct S { float v; }; __constant__ S w; } }", "a::b::w"),
    ],
)
def test_constant_memory_is_named_with_its_namespaces(source, named):
    assert constant_in_namespaces("w", source) == named
