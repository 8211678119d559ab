from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_tuner.problem.model import Kernel, Launch, Problem
from tui_tuner.problem.syntax import identifiers, strip_definitions
from tui_tuner.strategies.rewriting.dialect import TritonDialect, rename_identifiers
from tui_tuner.strategies.rewriting.rewrite import conflicts, rename_in_expression, renames

TRITON = Problem(kernel=Kernel(source=Path("f.py"), name="f", language="python"), launch=Launch(), arguments=[])


@pytest.mark.parametrize(
    ("name", "in_use", "established"),
    [
        ("BLOCK_SIZE_X", "block_size_x block_size_y", "block_size_x"),
        ("blockSizeY", "block_size_x block_size_y", "block_size_y"),
        ("BLOCKSIZEX", "block_size_x", "block_size_x"),
        ("block_size", "block_size_x", "block_size_x"),
        ("BLOCK_SIZE", "block_size_x unroll", "block_size_x"),
        ("tile_size", "tile_size_y", "tile_size_y"),
        ("BLOCK_SIZE", "block_size block_size_x", "block_size"),
        ("block_dim_x", "block_size_x block_size_y", "block_size_x"),
        ("blockDim_y", "block_size_x block_size_y", "block_size_y"),
        ("threads_x", "block_size_x", "block_size_x"),
        ("local_size_x", "block_size_x", "block_size_x"),
        ("THREADS_PER_BLOCK", "block_size_x", "block_size_x"),
        ("WORK_GROUP_SIZE", "block_size_x", "block_size_x"),
        ("Tile", "TILE", "TILE"),
        ("block_size", "block_size_x block_size_y", None),
        ("block_size_x", "BLOCK_SIZE_X", None),
        ("block_size_x", "block_size", None),
        ("block_size_x", "block_size_x", None),
        ("block_size", "block_size block_size_x", None),
        ("BX", "block_size_x", None),
        ("block_x", "block_size_x", None),
        ("threads", "block_size_x", None),
        ("local_size", "block_size_x", None),
        ("tile", "tile_size_x", None),
        ("tile_size_x", "tile_size_y", None),
        ("tileK", "tile_k TILE_K", None),
        ("unroll_factor", "unroll", None),
    ],
)
def test_a_variant_of_exactly_one_name_in_use_is_renamed_to_it(name, in_use, established):
    found = renames([name, "other"], in_use.split(), {name, "other", "kernel"})
    assert found == ({} if established is None else {name: established})
    assert conflicts([name, "other"], in_use.split(), {name, "other", "kernel"}) == []


def test_a_variant_beside_the_name_in_use_is_a_fault_whether_that_is_listed_or_only_in_the_code():
    in_use = ["block_size_x", "block_size_y"]
    fault = "tunables: 'block_size' stands beside 'block_size_x', which is in use; use block_size_x alone"
    assert conflicts(["block_size", "block_size_x"], in_use, {"block_size"}) == [fault]
    assert conflicts(["block_size"], in_use, {"block_size", "block_size_x"}) == [fault]
    assert renames(["block_size"], ["block_size_x"], {"block_size", "block_size_x"}) == {}
    assert renames(["block_size", "block_size_x"], ["block_size_x"], {"block_size"}) == {}


def test_two_variants_of_one_name_are_a_fault_and_neither_is_renamed():
    listed = ["BLOCK_SIZE_X", "blockSizeX", "unroll"]
    assert renames(listed, ["block_size_x", "unroll"], listed) == {}
    assert conflicts(listed, ["block_size_x", "unroll"], listed) == [
        "tunables: 'BLOCK_SIZE_X', 'blockSizeX' all mean 'block_size_x', which is in use; use block_size_x alone"
    ]


def test_names_that_are_in_use_themselves_do_not_conflict():
    in_use = ["tile_size", "tile_size_x"]
    assert conflicts(in_use, in_use, in_use) == []


SOURCE = """\
#include <block_size.h>
#include "block_size.h"
#define block_size 64 /* block_size */
#define AREA (block_size * \\
              block_size)
#define NAME(p) p##block_size + block_size ## _tail
#if defined(block_size) && block_size > 32
struct Shape { int width; } shape;
#endif
// block_size stays here \\
   and block_size here
__global__ void k(float *a) {
  __shared__ float tile[block_size][my_block_size + block_size_2];
  int i = shape.block_size + shape . block_size + shape->block_size + pick(a...) + (1 ? 1'000 : block_size);
  const char *text = "block_size", *raw = R"(block_size)"; int n = 0x1block_size + 3.block_size;
  f(int... block_size);
}
"""


def test_identifiers_are_renamed_in_code_and_macros_and_nowhere_else():
    renamed = rename_identifiers(SOURCE, {"block_size": "block_size_x"}).splitlines()
    before = SOURCE.splitlines()
    changed = {i + 1: line for i, line in enumerate(renamed) if line != before[i]}
    assert changed == {
        3: "#define block_size_x 64 /* block_size */",
        4: "#define AREA (block_size_x * \\",
        5: "              block_size_x)",
        7: "#if defined(block_size_x) && block_size_x > 32",
        13: "  __shared__ float tile[block_size_x][my_block_size + block_size_2];",
        14: before[13].replace(": block_size)", ": block_size_x)"),
        16: "  f(int... block_size_x);",
    }
    assert len(renamed) == len(before)


def test_a_definition_under_the_variants_name_can_be_stripped_after_renaming():
    source = "#define BLOCK_SIZE_X \\\n  128\nint i = BLOCK_SIZE_X;\n"
    renamed = rename_identifiers(source, {"BLOCK_SIZE_X": "block_size_x"})
    assert strip_definitions(renamed, {"block_size_x"}) == "\n\nint i = block_size_x;\n"


PIECES = [*"ab+()'\"1é \n", "a1", "_a", "/*", "*/", "//", "\\\n", "#define "]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_renaming_leaves_every_other_character_and_no_use_of_the_old_name(source):
    renamed = rename_identifiers(source, {"a": "renamed"})
    assert re.sub("renamed", "a", renamed) == source
    assert "a" not in identifiers(renamed, "c")


def test_swapping_two_names_does_not_rename_twice():
    assert rename_identifiers("a + b", {"a": "b", "b": "a"}) == "b + a"
    assert rename_in_expression("a > b", {"a": "b", "b": "a"}) == "b > a"


@pytest.mark.parametrize(
    ("expression", "renamed"),
    [
        ("block_size * block_size_2 <= n", "block_size_x * block_size_2 <= n"),
        ("layout == 'block_size' or min(block_size, 2) > 1", "layout == 'block_size' or min(block_size_x, 2) > 1"),
        ("block_size", "block_size_x"),
        ("block_size && 1", "block_size && 1"),
        ("__import__('os').system(block_size)", "__import__('os').system(block_size)"),
        ("", ""),
    ],
)
def test_expressions_are_renamed_by_name_and_left_alone_where_they_are_not_allowed(expression, renamed):
    assert rename_in_expression(expression, {"block_size": "block_size_x", "min": "max"}) == renamed


def test_names_of_a_kernel_in_triton_are_renamed_in_code_and_nowhere_else():
    code = "BM = tl.constexpr(4)\n\n\ndef f(BM=1):\n    return g(BM=BM) + x.BM  # BM and 'BM'\n"
    renamed = TritonDialect(TRITON).renamed(code, {"BM": "BLOCK_M"})
    assert renamed == (
        "BLOCK_M = tl.constexpr(4)\n\n\ndef f(BLOCK_M=1):\n    return g(BLOCK_M=BLOCK_M) + x.BM  # BM and 'BM'\n"
    )
    assert TritonDialect(TRITON).renamed("def f(:\n  '''", {"f": "g"}) == "def f(:\n  '''"
