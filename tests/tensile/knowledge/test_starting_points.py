"""Starting points: tiles and splits ranked from what is known of a GPU."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest

from tui_tuner.tensile.document.reading import parse_configuration
from tui_tuner.tensile.knowledge.known import gpu_facts, knowledge_for
from tui_tuner.tensile.knowledge.starting_points import GpuModel, machine_for, starting_facts, starting_points

INSTRUCTIONS = ((16, 16), (32, 8))
TEXT = """\
BenchmarkProblems:
- - {DataType: DATA, Batched: true}
  - ForkParameters:
    - DepthU: [32, 64]
    BenchmarkFinalParameters:
    - ProblemSizes:
      - Exact: [256, 128, 1, 4096]
      - Exact: [8192, 8192, 1, 8192]
"""


def machine(name: str, data: str = "h") -> GpuModel:
    facts = gpu_facts(name)
    assert facts is not None
    found = machine_for(facts, data)
    assert found is not None
    return found[1]


def facts_for(gpu: str, data: str = "h") -> str:
    configuration = parse_configuration(TEXT.replace("DATA", data), Path("gemm.yaml"))
    return starting_facts(configuration, gpu_facts(gpu), knowledge_for(configuration).table)


def test_a_machine_has_the_figures_of_the_product() -> None:
    mi300x = machine("MI300X")
    assert (mi300x.units, mi300x.xcds, mi300x.lds_bytes, mi300x.element) == (304, 8, 65_536, 2)
    assert mi300x.flops == pytest.approx(2048, rel=0.01)  # dense FP16 a clock and compute unit
    assert mi300x.memory == pytest.approx(5325e9 / 2.1e9)
    assert machine("gfx942").units == 304  # two of three products have as many
    mi355x = machine("MI355X")
    assert (mi355x.units, mi355x.lds_bytes, mi355x.lds_rate) == (256, 163_840, 256)


def test_work_groups_are_dealt_to_the_xcds_in_turn() -> None:
    mi300x = machine("MI300X")
    assert [mi300x.rounds(groups) for groups in (1, 304, 305, 608, 609)] == [1, 1, 2, 2, 3]
    assert machine("MI300A").rounds(228) == 1


@pytest.mark.parametrize("streams", [True, False])
def test_few_tiles_with_long_sums_are_split_along_k(streams: bool) -> None:
    first = starting_points(machine("MI300X"), INSTRUCTIONS, (256, 128, 1, 32768), streams=streams)[0]
    assert first.split == 0 if streams else first.split > 1
    assert prod(first.tile.macro) <= 64 * 64
    assert first.tile.depth >= 64


def test_a_matrix_that_fills_every_compute_unit_once_gets_the_tile_that_does_so() -> None:
    """4864 x 4096 is 304 tiles of 256 x 256, one for each compute unit of MI300X."""
    first = starting_points(machine("MI300X"), INSTRUCTIONS, (4864, 4096, 1, 4096), streams=True)[0]
    assert (first.tile.macro, first.split, first.granularity) == ((256, 256), 1, 1.0)
    one_more = starting_points(machine("MI300X"), INSTRUCTIONS, (4865, 4096, 1, 4096), streams=False, most=99)
    same = next(point for point in one_more if point.tile.macro == (256, 256))
    assert same.granularity < 0.7  # a second round for sixteen tiles
    assert one_more[0].tile.macro != (256, 256)


@pytest.mark.slow
def test_each_fits_into_lds_and_registers_and_promises_no_more_than_the_peak() -> None:
    for name in ("MI210", "MI300X", "MI355X"):
        one = machine(name)
        for size in ((256, 128, 1, 4096), (1000, 777, 3, 100), (8192, 8192, 1, 8192)):
            points = starting_points(one, INSTRUCTIONS, size, streams=True, most=99)
            assert len({point.tile.macro for point in points}) == len(points)
            for point in points:
                m, n = point.tile.macro
                assert 2 * (m + n) * point.tile.depth * 2 <= one.lds_bytes
                assert m * n <= 256 * 64 * prod(point.tile.waves)
                assert 0 < point.share <= 1
                assert 0 < point.granularity <= 1


def test_more_lds_lets_a_tile_be_deeper() -> None:
    deepest = {}
    for name in ("MI300X", "MI355X"):
        points = starting_points(machine(name), INSTRUCTIONS, (2048, 2048, 1, 8192), streams=False, most=99)
        deepest[name] = max(sum(point.tile.macro) * point.tile.depth for point in points)
    assert deepest["MI300X"] * 2 * 2 <= 65_536 < deepest["MI355X"] * 2 * 2


def test_they_are_told_in_tensile_s_words_those_with_most_work_first() -> None:
    lines = facts_for("MI300X").splitlines()
    assert lines[0] == "Where to start, computed for Instinct MI300X and not measured:"
    assert lines[1] == "size group 0, 8192x8192x1x8192:"
    assert "MatrixInstruction [16, 16, 16, 1, 1, " in lines[2]
    assert "MatrixInstruction [16, 16, 32, 1, 1, " in facts_for("MI355X")
    assert len(lines) == 1 + 2 * 4


@pytest.mark.parametrize(("gpu", "data"), [("RX 7900 XTX", "h"), ("MI100", "d"), ("MI300X", "4xi8"), ("MI999", "h")])
def test_without_facts_there_is_nothing_to_rank(gpu: str, data: str) -> None:
    assert facts_for(gpu, data) == ""
