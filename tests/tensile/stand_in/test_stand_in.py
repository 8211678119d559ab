"""The stand-in itself: Tensile's rules, files and words."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from tests.tensile.stand_in import sample, write_program
from tests.tensile.stand_in.space import space_of
from tui_tuner.tensile.result_tables import GroupTable
from tui_tuner.tensile.results import read_results

LATER = """\
        - BiasTypeArgs: ['h', 's']
        - ActivationArgs:
          - [Enum: none]
          - [Enum: relu]
"""


def run(tmp_path: Path, text: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run it on a configuration; its output directory is `out`."""
    table = sample.write_table(tmp_path / "measured.csv")
    program = write_program(tmp_path / "bin", **{"measured": table, **options})
    config = tmp_path / "config.yaml"
    config.write_text(text)
    return subprocess.run([program, config, tmp_path / "out"], capture_output=True, text=True, check=False)


def results(tmp_path: Path, text: str, **options: object) -> GroupTable:
    ended = run(tmp_path, text, **options)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (group,) = read_results(tmp_path / "out")
    return group


@pytest.mark.parametrize("winner", [True, False])
def test_it_finds_the_best_of_its_table_and_writes_what_tensile_writes(tmp_path: Path, winner: bool) -> None:
    group = results(tmp_path, sample.configuration(winner=winner), noise=0.001)
    assert [list(row.size) for row in group.rows] == list(sample.SIZES)
    assert len(group.solutions) == 16
    first = group.rows[0]
    assert first.winner is not None
    best = group.solutions[first.winner]
    assert (best["DepthU"], best["GlobalSplitU"], best["MIWaveTile"]) == (64, 4, [4, 4])
    assert (best["MatrixInstruction"], best["MacroTile0"], best["MacroTile1"]) == ([16, 16, 16, 1], 128, 128)
    assert first.winner_gflops == pytest.approx(72_000, rel=0.01)
    assert (tmp_path / "out" / "2_BenchmarkData" / f"{group.name}{'_CSVWinner' if winner else ''}.csv").exists()
    assert group.notes == []


def test_bias_and_activation_give_more_rows_and_a_longer_header(tmp_path: Path) -> None:
    group = results(tmp_path, sample.configuration(more=LATER))
    assert len(group.rows) == 2 * 2 * 2
    assert len(group.solutions) == 16


def test_repeats_are_rows_of_their_own_or_merged_to_the_best(tmp_path: Path) -> None:
    apart = results(tmp_path, sample.configuration(repeats=3), noise=0.05)
    merging = sample.configuration(repeats=3).replace("CSVExportWinner", "CSVMergeSameProblemID: 1\n  CSVExportWinner")
    best = results(tmp_path, merging, noise=0.05)
    assert (len(apart.rows), len(best.rows)) == (6, 2)
    assert len({row.winner_gflops for row in apart.rows if row.size[3] == 4096}) == 3


def test_noise_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    told = [results(tmp_path, sample.configuration(), noise=0.05, seed=seed).rows[0].gflops for seed in (1, 1, 2)]
    assert told[0] == told[1] != told[2]


def test_what_was_not_recorded_is_rejected_with_a_reason(tmp_path: Path) -> None:
    ended = run(tmp_path, sample.configuration().replace("DepthU: [32, 64]", "DepthU: [32, 16, 512]"))
    assert "# Actual Solutions: 8 / 24 after SolutionStructs" in ended.stdout
    assert "reject: Kernel Uses 131072 > 65536 bytes of LDS" in ended.stdout
    assert "reject: totalVgprs of MT64x64 with DepthU 16 exceeds the limit of 512" in ended.stdout


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
@pytest.mark.parametrize("layout", ["4.33", "4.44"])
def test_what_is_fatal_for_tensile_is_fatal_here(tmp_path: Path, old: str, new: str, words: str, layout: str) -> None:
    ended = run(tmp_path, sample.configuration().replace(old, new, 1), layout=layout)
    assert ended.returncode == 255
    last = ended.stdout.rpartition("\n#")[2] if layout == "4.44" else ended.stdout.partition("Tensile::FATAL: ")[2]
    assert words in last


def test_faults_strike_in_the_run_that_was_asked_for(tmp_path: Path) -> None:
    codes = [run(tmp_path, sample.configuration(), fault="2:exception").returncode for _ in range(3)]
    assert codes == [0, 1, 0]
    (tmp_path / "faults").write_text("crash")
    assert run(tmp_path, sample.configuration()).returncode == -11


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
    group = results(tmp_path, text, layout="4.44", noise=0.001)
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
    ended = run(tmp_path, sample.configuration(), layout="4.44", fault="reject_all")
    assert ended.returncode == 255
    lines = ended.stdout.splitlines()
    assert lines[-3:] == [
        "Your parameters resulted in 0 valid solutions.",
        "Examine reject and backtrace messages above to see whyand where solutions were ",
        "rejected.",
    ]
    assert lines[lines.index("rejecting solution ") + 1].startswith("Cijk_Alik_Bljk_HHS_BH_UserArgs_MT64x64x32")
    assert max(map(len, lines[lines.index("# Enumerating Solutions") :])) == 80
