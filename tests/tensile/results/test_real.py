"""Tables as Tensile 4.44 writes them, by hand in its layout; and its own files, where they are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.tensile.real import DATA, needs_data
from tests.tensile.results.files import NAMES, leave, solutions, table
from tui_tuner.tensile.document.reading import read_configuration
from tui_tuner.tensile.result_tables import ResultsError
from tui_tuner.tensile.results import read_results
from tui_tuner.tensile.summary import summarise

SIZE = "GFlops, SizeI, SizeJ, SizeK, SizeL, LDD, LDC, LDA, LDB"
PLAIN = f"{SIZE}, WinnerFreq, TotalFlops, WinnerPower, WinnerTemperature"
EXTRA = (
    f"{SIZE}, WinnerFreq, WinnerGFlops, WinnerTimeUS, WinnerIdx, WinnerName, TotalFlops, WinnerPower, WinnerTemperature"
)
CELLS = "0, 256, 128, 1, 4096, 256, 256, 4096, 4096, 1700"
SPEEDS = "4706.25, 4763.85, 1583.85"
RUNS = ("plain", "extra-columns", "winners-rerun")


def test_frequency_power_and_temperature_are_no_solutions(tmp_path: Path) -> None:
    (group,) = read_results(leave(tmp_path, table(f"{CELLS}, 268435456, 300, 55, {SPEEDS}", header=PLAIN)))
    row = group.rows[0]
    assert (row.winner, row.total_flops, row.fields, group.notes) == (NAMES[1], 268435456, {}, [])
    assert list(row.gflops.values()) == [4706.25, 4763.85, 1583.85]


def test_the_winner_s_columns_may_stand_before_the_operations(tmp_path: Path) -> None:
    row = f"{CELLS}, 4763.85, 56.3484, 1, {NAMES[1]}, 268435456, 300, 55, {SPEEDS}"
    (group,) = read_results(leave(tmp_path, table(row, header=EXTRA)))
    assert (group.rows[0].winner, group.rows[0].microseconds, group.notes) == (NAMES[1], 56.3484, [])


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (f"{PLAIN}, FanSpeed", f"{CELLS}, 268435456, 300, 55, 7, {SPEEDS}"),
        (PLAIN.replace("LDB,", "LDB, FanSpeed,"), f"{CELLS[:-6]}, 7, 1700, 268435456, 300, 55, {SPEEDS}"),
    ],
)
def test_a_column_that_nobody_knows_is_told_and_survived(tmp_path: Path, header: str, row: str) -> None:
    (group,) = read_results(leave(tmp_path, table(row, header=header)))
    assert group.rows[0].winner == NAMES[1]
    assert group.notes == ["columns that are not known here are passed over: FanSpeed"]


def test_names_that_contradict_the_order_are_no_result(tmp_path: Path) -> None:
    csv = table(f"{CELLS}, 1, 1, 1, {SPEEDS}", header=PLAIN, names=(NAMES[1], "S1", "S2"))
    with pytest.raises(ResultsError, match=r"of other solutions than its \.yaml, or in another order"):
        read_results(leave(tmp_path, csv))


def test_solutions_are_found_by_how_their_names_begin_wherever_they_stand(tmp_path: Path) -> None:
    names = tuple(f"Cijk_Alik_Bljk_HSS_H_{name}" for name in NAMES)
    text = f"{', '.join(names)}, {PLAIN}\n{SPEEDS}, {CELLS}, 268435456, 300, 55\n"
    (group,) = read_results(leave(tmp_path, text, solutions(tuple(f"{name}_K1" for name in names))))
    assert (group.rows[0].winner, group.rows[0].winner_gflops) == (names[1], 4763.85)


def test_a_table_that_was_named_otherwise_is_told(tmp_path: Path) -> None:
    output = leave(tmp_path, table(f"{CELLS}, 268435456, 300, 55, {SPEEDS}", header=PLAIN), name="mine")
    with pytest.raises(ResultsError) as told:
        read_results(output)
    assert told.value.hint == "mine.csv is not named as Tensile names tables: PROBLEM_00.csv"


def test_a_solution_without_its_entry_is_no_unknown_column(tmp_path: Path) -> None:
    names = tuple(f"Cijk_Alik_Bljk_HSS_H_{name}" for name in NAMES)
    csv = table(f"{CELLS}, 1, 1, 1, {SPEEDS}", header=PLAIN, names=names)
    with pytest.raises(ResultsError, match=r"columns for 3 solutions, but its \.yaml has 2"):
        read_results(leave(tmp_path, csv, solutions(names[:2])))


@needs_data
@pytest.mark.parametrize("run", RUNS)
def test_every_real_run_is_read_with_the_winners_of_its_own_library_logic(run: str) -> None:
    (group,) = read_results(DATA / "real-runs" / run)
    (file,) = (DATA / "real-runs" / run / "3_LibraryLogic").glob("*.yaml")
    logic: list[Any] = yaml.load(file.read_text(), yaml.CSafeLoader)
    told = {tuple(size[:4]): (logic[5][index], speed) for size, (index, speed) in logic[7]}
    assert {row.size for row in group.rows} == told.keys()
    for row in group.rows:
        solution, speed = told[row.size]
        assert row.winner is not None
        ours = group.solutions[row.winner]
        assert row.winner_gflops == speed
        assert {
            key: ours[key] for key in ("DepthU", "MacroTile0", "MIWaveTile", "GlobalSplitU")
        }.items() <= solution.items()
    assert not group.notes


@needs_data
def test_every_solution_of_a_real_run_is_one_permutation_of_its_configuration() -> None:
    given = read_configuration(DATA / "real-runs" / "config.yaml")
    summary = summarise(given, read_results(DATA / "real-runs" / "plain"))
    values = [list(size.ranked[0].values.values()) for size in summary.sizes]
    small, large = [16, 16, 16, 1, 1, 2, 2, 2, 2], [16, 16, 16, 1, 1, 4, 4, 2, 2]
    assert values == [[small, 64, 1], [large, 32, 1], [large, 32, 1]]


def without_names(*tiles: tuple[int, int, int, int]) -> str:
    """Solutions as Tensile 4.44 writes them: nothing tells their names."""
    keys = ("DepthU", "GlobalSplitU", "MacroTile0", "MacroTile1")
    blocks = ["\n  ".join(f"{key}: {value}" for key, value in zip(keys, tile, strict=True)) for tile in tiles]
    return "- MinimumRequiredVersion: 4.44.0\n" + "".join(f"- {block}\n" for block in blocks)


TILES = ((32, 1, 64, 64), (32, 4, 64, 64), (64, 1, 128, 128))
NAMED = tuple(f"Cijk_Alik_Bljk_HSS_H_MT{m}x{n}x{depth}_SN_GSU{split}_K1" for depth, split, m, n in TILES)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_columns_in_another_order_are_those_of_the_solutions_that_their_names_tell(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    speeds, names = SPEEDS.split(", "), tuple(NAMED[at] for at in order)
    row = f"{CELLS}, 268435456, 300, 55, {', '.join(speeds[at] for at in order)}"
    (group,) = read_results(leave(tmp_path, table(row, header=PLAIN, names=names), without_names(*TILES)))
    assert list(group.solutions) == list(NAMED)
    assert [one["GlobalSplitU"] for one in group.solutions.values()] == [1, 4, 1]
    assert (group.rows[0].winner, group.rows[0].winner_gflops) == (NAMED[1], 4763.85)


def test_tiles_that_are_not_those_of_the_solutions_are_no_result(tmp_path: Path) -> None:
    csv = table(f"{CELLS}, 1, 1, 1, {SPEEDS}", header=PLAIN, names=NAMED)
    with pytest.raises(ResultsError, match=r"of other solutions than its \.yaml, or in another order"):
        read_results(leave(tmp_path, csv, without_names(TILES[0], TILES[1], (64, 1, 256, 128))))


@needs_data
@pytest.mark.parametrize("run", RUNS)
def test_a_real_table_in_another_order_says_the_same(tmp_path: Path, run: str) -> None:
    (csv,) = (DATA / "real-runs" / run / "2_BenchmarkData").glob("*.csv")
    lines = [", ".join(reversed(line.split(", "))) for line in csv.read_text().splitlines()]
    leave(tmp_path, "\n".join(lines) + "\n", csv.with_suffix(".yaml").read_text(), csv.stem)
    given = read_configuration(DATA / "real-runs" / "config.yaml")
    assert summarise(given, read_results(tmp_path)) == summarise(given, read_results(DATA / "real-runs" / run))
