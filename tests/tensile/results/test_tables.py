"""Tables of results in every form that Tensile writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tensile.results.files import HEADER, NAME, NAMES, ROW, WINNER, leave, solutions, table
from tui_tuner.tensile.result_tables import ResultsError
from tui_tuner.tensile.results import read_results

SPEEDS = "20000, 31234.5, 30000"


def test_a_plain_table_gives_sizes_speeds_and_the_winner(tmp_path: Path) -> None:
    (group,) = read_results(leave(tmp_path, table(f"{ROW}, {SPEEDS}")))
    assert (group.name, group.number, group.metric, list(group.solutions)) == (NAME, 0, "GFlops", list(NAMES))
    (row,) = group.rows
    assert row.size == (256, 128, 1, 4096)
    assert row.strides == {"LDD": 256, "LDC": 256, "LDA": 4096, "LDB": 4096}
    assert row.gflops == dict(zip(NAMES, (20000.0, 31234.5, 30000.0), strict=True))
    assert (row.winner, row.winner_gflops, row.failed) == (NAMES[1], 31234.5, frozenset())
    assert row.microseconds == pytest.approx(268435456 / 31234.5 / 1e3)


def test_winner_columns_are_read_by_name_and_tell_the_time(tmp_path: Path) -> None:
    row = f"{ROW}, 1, 0.5, 31234.5, 8.6, 1, {NAMES[1]}, {SPEEDS}"
    csv = table(row, header=f"{HEADER}, {WINNER}")
    (group,) = read_results(leave(tmp_path, csv, name=f"{NAME}_CSVWinner"))
    assert group.name == NAME
    assert (group.rows[0].winner, group.rows[0].microseconds, group.notes) == (NAMES[1], 8.6, [])


@pytest.mark.parametrize("told", [f"0, {NAMES[0]}", "0, "])
def test_a_winner_that_the_table_contradicts_is_a_note_and_no_error(tmp_path: Path, told: str) -> None:
    csv = table(f"{ROW}, 1, 0.5, 20000, 8.6, {told}, {SPEEDS}", header=f"{HEADER}, {WINNER}")
    (group,) = read_results(leave(tmp_path, csv))
    assert group.rows[0].winner == NAMES[1]
    assert group.notes == [
        f"256x128x1x4096: Tensile names {NAMES[0]} as the winner; by the table it is {NAMES[1]} with 31234.5 GFLOP/s"
    ]


def test_failed_skipped_and_missing_speeds_are_told_apart(tmp_path: Path) -> None:
    (group,) = read_results(leave(tmp_path, table(f"{ROW}, -1, 0, ", f"{ROW}, -1.0, -1, -1")))
    first, second = group.rows
    assert (first.winner, first.failed, set(first.gflops.values())) == (None, {NAMES[0]}, {None})
    assert (second.winner, second.failed, second.microseconds) == (None, set(NAMES), None)


def test_one_index_less_no_strides_and_speeds_of_a_compute_unit(tmp_path: Path) -> None:
    csv = table("0, 64, 64, 512, 1, 2, 3", header="GFlopsPerCU, SizeI, SizeJ, SizeK")
    (group,) = read_results(leave(tmp_path, csv))
    assert (group.metric, group.rows[0].size, group.rows[0].strides) == ("GFlopsPerCU", (64, 64, 512), {})
    assert (group.rows[0].total_flops, group.rows[0].microseconds) == (None, None)


def test_repeated_headers_trailing_commas_and_blank_lines_do_no_harm(tmp_path: Path) -> None:
    text = table(f"{ROW}, {SPEEDS}").replace("\n", ",\n")
    (group,) = read_results(leave(tmp_path, f"{text}\n{text}"))
    assert [row.winner for row in group.rows] == [NAMES[1], NAMES[1]]


def test_columns_that_are_no_solutions_describe_the_problem(tmp_path: Path) -> None:
    csv = table(f"{ROW}, H, Relu, {SPEEDS}", header=f"{HEADER}, BiasType, ActivationType")
    (group,) = read_results(leave(tmp_path, csv))
    assert group.rows[0].fields == {"BiasType": "H", "ActivationType": "Relu"}
    assert list(group.solutions) == list(NAMES)


def test_solutions_that_are_named_otherwise_in_the_two_files_go_together_by_their_order(tmp_path: Path) -> None:
    (group,) = read_results(leave(tmp_path, table(f"{ROW}, {SPEEDS}", names=("S0", "S1", "S2"))))
    assert group.rows[0].winner == "S1"
    assert group.solutions["S1"]["GlobalSplitU"] == 4


def test_results_that_were_not_collected_are_found_where_the_client_wrote_them(tmp_path: Path) -> None:
    data = tmp_path / "1_BenchmarkProblems" / NAME / "Data"
    data.mkdir(parents=True)
    (data / "00_Final.csv").write_text(table(f"{ROW}, {SPEEDS}"))
    (data / "00_Final.yaml").write_text(solutions())
    assert [group.name for group in read_results(tmp_path)] == [NAME]


def test_several_groups_come_in_the_order_of_their_numbers_and_lists_of_errors_are_none(tmp_path: Path) -> None:
    for name in (NAME.replace("00", "01"), NAME):
        leave(tmp_path, table(f"{ROW}, {SPEEDS}"), name=name)
    (tmp_path / "2_BenchmarkData" / f"{NAME}_errors.csv").write_text("what, ever\n")
    assert [group.number for group in read_results(tmp_path)] == [0, 1]


def test_no_results_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="left no results"):
        read_results(tmp_path)
