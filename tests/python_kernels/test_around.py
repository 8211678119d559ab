"""What is tuned of a launch in Triton that has no list of configurations; neither torch nor Triton is needed."""

from __future__ import annotations

import pytest

from tui_tuner.python_kernels.child.around import Space, around, divided_otherwise, odd_sizes

WARPS = {"num_warps": [1, 2, 4, 8, 16], "num_stages": [1, 2, 3, 4, 5]}
DEFAULTS = {"num_warps": 4, "num_stages": 3}


def test_blocks_that_the_grid_asks_for_or_that_are_named_so_are_tuned():
    given = {"n": 5000, "CHUNK": 64, "BLOCK_K": 32, "HEADS": 16, "STEPS": 48, "CAUSAL": True, "num_warps": 8}
    names = ["CHUNK", "BLOCK_K", "HEADS", "STEPS", "CAUSAL"]
    found = around(given, names, lambda meta: (meta["n"] // meta["CHUNK"], meta["num_warps"]))

    assert found.space.columns == {**WARPS, "CHUNK": [16, 32, 64, 128, 256], "BLOCK_K": [8, 16, 32, 64, 128]}
    assert found.space.listed == [{**DEFAULTS, "num_warps": 8, "CHUNK": 64, "BLOCK_K": 32}]
    assert found.notes == []


def test_small_blocks_have_no_halves_that_are_none_and_unusual_options_stay_values():
    found = around({"BLOCK": 2, "num_warps": 3, "num_stages": 7}, ["BLOCK"], (1,))
    assert found.space.columns["BLOCK"] == [1, 2, 4, 8]
    assert found.space.columns["num_warps"] == [3, 1, 2, 4, 8, 16]
    assert found.space.columns["num_stages"][0] == 7


@pytest.mark.parametrize(
    ("grid", "configuration", "made"),
    [
        ((16, 8), {"BLOCK_M": 64, "BLOCK_N": 128}, (16, 8)),
        ((16, 8), {"BLOCK_M": 128, "BLOCK_N": 32}, (8, 32)),
        ((16, 1, 77), {"BLOCK_M": 256, "BLOCK_N": 32}, (4, 1, 77)),
        ((1000,), {"BLOCK_M": 16, "BLOCK_N": 32}, (1000,)),
    ],
)
def test_an_axis_of_the_grid_is_an_extent_divided_by_a_block_and_rounded_up(grid, configuration, made):
    given = {"M": 1000, "N": 1024, "K": 4096, "stride_am": 4096, "BLOCK_M": 64, "BLOCK_N": 128}
    found = around(given, ["BLOCK_M", "BLOCK_N"], grid, {1000, 4096})
    if callable(found.grid):
        assert tuple(found.grid({**given, **configuration})) == made
        assert found.notes[0].startswith("grid        (")
        assert found.notes[0].endswith("as its numbers seem to be made")
    else:
        assert tuple(found.grid) == made
        assert found.notes == []


def test_a_grid_that_two_blocks_could_have_made_stays_and_that_is_said():
    found = around({"n": 4096, "BLOCK_A": 32, "BLOCK_B": 32}, ["BLOCK_A", "BLOCK_B"], (128,))
    assert found.grid == (128,)
    assert found.notes[0].startswith("grid        stays (128): ")
    assert "lambda meta" in found.notes[0]
    assert around({"n": 4096}, [], (128,)).notes == [], "there is no block that it could follow"


def test_a_block_that_covers_a_size_is_not_made_smaller():
    given = {"rows": 512, "EXPERTS": 60, "stride_x": 8, "BLOCK_E": 64, "BLOCK_T": 32, "BLOCK_K": 8}
    found = around(given, ["EXPERTS", "BLOCK_E", "BLOCK_T", "BLOCK_K"], (16,))
    assert found.space.columns["BLOCK_E"] == [64, 128, 256]
    assert found.space.columns["BLOCK_T"] == [8, 16, 32, 64, 128]
    assert found.space.columns["BLOCK_K"] == [2, 4, 8, 16, 32], "a stride is nothing that is covered"
    assert found.notes == [
        "grid        (cdiv(512, BLOCK_T)), as its numbers seem to be made",
        "blocks      not smaller than what they cover: BLOCK_E (EXPERTS)",
    ]


@pytest.mark.parametrize(
    ("listed", "columns", "other"),
    [
        ([{"A": 16, "num_warps": 4}], {"A": [4, 16, 32], "num_warps": [4, 8]}, {"A": 32, "num_warps": 8}),
        ([{"A": 16, "B": 8}, {"A": 16, "B": 4}, {"A": 64, "B": 4}], {}, {"A": 64, "B": 4}),
        ([{"A": 16, "num_warps": 4}], {"A": [16], "num_warps": [4, 8]}, None),
        ([{"A": True}], {"A": [True, False]}, None),
    ],
)
def test_other_blocks_are_those_that_differ_most_or_are_nearest(listed, columns, other):
    assert divided_otherwise(Space(listed, columns)) == other


def test_sizes_are_whole_numbers_that_a_tensor_has_and_no_strides():
    named = {"x": None, "n": 4096, "stride_x": 4096, "ldx": 4096, "heads": 16, "seed": 12345, "eps": 4096.0, "on": True}
    assert odd_sizes(named, {4096, 16, 1}) == {"n": 4059}


@pytest.mark.parametrize(
    ("blocks", "limits"),
    [
        ({"BLOCK": 1024}, []),
        ({"BLOCK": 8192}, ["BLOCK <= 16384 * num_warps"]),
        ({"BLOCK": 131072}, ["BLOCK <= 32768 * num_warps"]),
        ({"BLOCK_M": 32, "BLOCK_N": 32}, []),
        (
            {"BLOCK_M": 128, "BLOCK_N": 128, "GROUP_M": 8},
            ["BLOCK_M * BLOCK_N <= 16384 * num_warps"],
        ),
        ({"BLOCK_A": 4096, "BLOCK_B": 4096}, []),
    ],
    ids=["small", "a row", "a row that is far too long already", "a small tile", "a tile", "two that are no tile"],
)
def test_tiles_are_not_tried_that_are_too_large_for_their_warps(blocks, limits):
    assert around({"n": 100, **blocks}, [*blocks], (1,)).restrictions == limits
