"""The stand-in itself: Tensile's rules, files and words."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import yaml

from tests.tensile.stand_in import sample, write_program
from tests.tensile.stand_in.main import main
from tests.tensile.stand_in.space import space_of
from tui_tuner.tensile.result_tables import GroupTable
from tui_tuner.tensile.results import read_results


def run(tmp_path: Path, text: str, **options: object) -> tuple[int, str]:
    """Run it on a configuration, its output directory `out`; the exit status and what it printed."""
    table = sample.write_table(tmp_path / "measured.csv")
    program = write_program(tmp_path / "bin", measured=table, **options)
    config = tmp_path / "config.yaml"
    config.write_text(text)
    with redirect_stdout(io.StringIO()) as told:
        try:
            main([str(config), str(tmp_path / "out")], str(program.with_name("options.json")))
        except SystemExit as end:
            return int(end.code or 0), told.getvalue()
    return 0, told.getvalue()


def results(tmp_path: Path, text: str, **options: object) -> GroupTable:
    code, told = run(tmp_path, text, **options)
    assert code == 0, told
    (group,) = read_results(tmp_path / "out")
    return group


@pytest.mark.parametrize("winner", [True, False])
def test_it_finds_the_best_of_its_table_and_writes_what_tensile_writes(tmp_path: Path, winner: bool) -> None:
    group = results(tmp_path, sample.configuration(winner=winner))
    assert [list(row.size) for row in group.rows] == list(sample.SIZES)
    assert len(group.solutions) == 16
    first = group.rows[0]
    assert first.winner is not None
    best = group.solutions[first.winner]
    assert (best["DepthU"], best["GlobalSplitU"], best["MIWaveTile"]) == (64, 4, [4, 4])
    assert (best["MatrixInstruction"], best["MacroTile0"], best["MacroTile1"]) == ([16, 16, 16, 1], 128, 128)
    assert first.winner_gflops == 72_000
    assert (tmp_path / "out" / "2_BenchmarkData" / f"{group.name}{'_CSVWinner' if winner else ''}.csv").exists()
    assert group.notes == []


def test_what_was_not_recorded_is_rejected_with_a_reason(tmp_path: Path) -> None:
    _, told = run(tmp_path, sample.configuration().replace("DepthU: [32, 64]", "DepthU: [32, 16, 512]"))
    assert "# Actual Solutions: 8 / 24 after SolutionStructs" in told
    assert "reject: Kernel Uses 131072 > 65536 bytes of LDS" in told
    assert "reject: totalVgprs of MT64x64 with DepthU 16 exceeds the limit of 512" in told


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("- DepthU", "- DepthX", "Invalid parameter name: DepthX"),
        ("DepthU: [32, 64]", "DepthU: [32, 1]", "Invalid parameter value: DepthU = 1"),
        ("BenchmarkJoinParameters:", "BenchmarkJoinParameters: [MacroTile]", "'BenchmarkJoinParameters' is no longer"),
        ("DepthU: [32, 64]", "DepthU: [16]", "Your parameters resulted in 0 valid solutions"),
        ("4096]", "4095]", "no recorded speeds at [[256, 128, 1, 4095]]"),
    ],
)
def test_what_is_fatal_for_tensile_is_fatal_here(tmp_path: Path, old: str, new: str, words: str) -> None:
    code, told = run(tmp_path, sample.configuration().replace(old, new, 1))
    assert code == -1
    assert words in told.partition("Tensile::FATAL: ")[2]


def test_faults_strike_in_the_run_that_was_asked_for(tmp_path: Path) -> None:
    text, fault = sample.configuration(), "2:exception"
    assert run(tmp_path, text, fault=fault)[0] == 0
    with pytest.raises(RuntimeError):
        run(tmp_path, text, fault=fault)
    assert run(tmp_path, text, fault=fault)[0] == 0


def test_groups_multiply_win_over_forks_and_come_last() -> None:
    text = """
    BenchmarkCommonParameters: [{DepthU: [16, 32]}]
    ForkParameters:
      - GlobalSplitU: [1, 2, 3]
      - Groups:
        - [{StaggerU: 0, GlobalSplitU: 8}, {StaggerU: 4}]
        - [{NonTemporalA: 1}, {NonTemporalA: 2}, {NonTemporalB: 3}]
    """
    permutations = space_of(yaml.safe_load(text)).permutations()
    assert len(permutations) == 2 * 3 * 2 * 3
    assert [one["GlobalSplitU"] for one in permutations[:4]] == [8, 8, 8, 8]
    assert permutations[0] == {"DepthU": 16, "GlobalSplitU": 8, "StaggerU": 0, "NonTemporalA": 1}
    assert permutations[-1] == {"DepthU": 32, "GlobalSplitU": 3, "StaggerU": 4, "NonTemporalB": 3}


def test_the_last_of_two_entries_wins_and_an_empty_list_vanishes() -> None:
    space = space_of({"ForkParameters": [{"DepthU": [16, 32]}, {"DepthU": [64]}, {"StaggerU": []}]})
    assert (space.constants["DepthU"], len(space.permutations())) == (64, 1)
    assert "StaggerU" not in space.constants
    assert space_of({"ForkParameters": [{"Groups": [[]]}]}).permutations() == []


@pytest.mark.parametrize("winner", [True, False])
def test_the_newer_layout_is_that_of_the_real_one(tmp_path: Path, winner: bool) -> None:
    """Its columns, its last words and its library logic; what a real one wrote is kept beside the project."""
    text = sample.configuration(winner=winner) + "LibraryLogic: {ScheduleName: aldebaran, ArchitectureName: gfx90a}\n"
    group = results(tmp_path, text, layout="4.44")
    header = next((tmp_path / "out" / "2_BenchmarkData").glob("*.csv")).read_text().partition(", Cijk")[0]
    own = "WinnerGFlops, WinnerTimeUS, WinnerIdx, WinnerName, " if winner else ""
    sizes = "SizeI, SizeJ, SizeK, SizeL, LDD, LDC, LDA, LDB"
    assert header == f"GFlops, {sizes}, WinnerFreq, {own}TotalFlops, WinnerPower, WinnerTemperature"
    (logic,) = (tmp_path / "out" / "3_LibraryLogic").glob("*.yaml")
    exact = yaml.safe_load(logic.read_text())[7]
    assert [speed for _, (_, speed) in exact] == [row.winner_gflops for row in group.rows]
    assert [size[:4] for size, _ in exact] == [list(row.size) for row in group.rows]


def test_the_newer_layout_breaks_its_lines_and_gives_up_without_a_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    code, told = run(tmp_path, sample.configuration(), layout="4.44", fault="reject_all")
    assert code == -1
    lines = told.splitlines()
    assert lines[-3:] == [
        "Your parameters resulted in 0 valid solutions.",
        "Examine reject and backtrace messages above to see whyand where solutions were ",
        "rejected.",
    ]
    assert lines[lines.index("rejecting solution ") + 1].startswith("Cijk_Alik_Bljk_HHS_BH_UserArgs_MT64x64x32")
    assert max(map(len, lines[lines.index("# Enumerating Solutions") :])) == 80
