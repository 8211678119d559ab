"""Library logic merged by the rules of Tensile's own merge."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tests.tensile.library.logics import parts, plain, solution, write
from tests.tensile.real import DATA, needs_data
from tui_tuner.tensile.library import LibraryLogic, read_logic
from tui_tuner.tensile.library.command import explained
from tui_tuner.tensile.library.merging import Merge, MergeError, merged
from tui_tuner.tensile.result_tables import ResultsError

A, B, C = (256, 128, 1, 4096), (512, 512, 1, 1024), (64, 64, 1, 64)
AS_RUN = (*A, 256, 256, 4096, 4096)
"""With leading dimensions, as a run of Tensile writes it."""
RUNS = ("plain", "extra-columns", "winners-rerun")


def merge(directory: Path, base: list[Any], new: list[Any], *, force: bool = False) -> Merge:
    files = [write(directory / name / "logic.yaml", told) for name, told in (("base", base), ("new", new))]
    return merged(*map(read_logic, files), force=force)


def table(logic: LibraryLogic) -> dict[tuple[int, ...], tuple[object, float]]:
    """Depth of the solution and speed of every size."""
    read = plain(logic.text())
    assert [one["SolutionIndex"] for one in read[5]] == list(range(len(read[5])))
    return {tuple(size): (read[5][index]["DepthU"], speed) for size, (index, speed) in read[7]}


BASE = parts([solution(16), solution(32)], [(A, 0, 4000.0), (B, 1, 40000.0)], "Equality")


def test_a_size_is_replaced_where_it_is_faster_added_where_it_is_new_and_else_kept(tmp_path: Path) -> None:
    new = parts([solution(64), solution(128)], [(AS_RUN, 1, 5000.0), (B, 0, 39000.0), (C, 0, 100.0)])
    one = merge(tmp_path, BASE, new)
    assert table(one.logic) == {A: (128, 5000.0), B: (32, 40000.0), C: (64, 100.0)}
    assert [change.taken for change in one.changes] == [True, False, True]
    assert one.changes[0].words() == "256x128x1x4096: 5,000, 4,000 before"
    assert one.changes[1].words() == "512x512x1x1024: 39,000, 40,000 before, kept as it was"
    assert one.notes == ("2 solutions added, 0 there already, 1 no longer in use",)


def test_force_replaces_what_is_no_faster(tmp_path: Path) -> None:
    new = parts([solution(64)], [(B, 0, 39000.0)])
    assert table(merge(tmp_path, BASE, new, force=True).logic) == {A: (16, 4000.0), B: (64, 39000.0)}


def test_solutions_that_differ_in_name_and_number_only_are_one_and_the_first_stays(tmp_path: Path) -> None:
    new = parts([solution(32, name="Cijk_other")], [(A, 0, 5000.0)])
    one = merge(tmp_path, BASE, new)
    assert [solution.name for solution in one.logic.solutions] == ["Cijk_D32"]
    assert table(one.logic) == {A: (32, 5000.0), B: (32, 40000.0)}
    assert one.notes[-1] == "0 solutions added, 1 there already, 1 no longer in use"


def test_of_a_size_with_several_leading_dimensions_the_fastest_is_kept(tmp_path: Path) -> None:
    new = parts([solution(64), solution(128)], [(AS_RUN, 0, 5000.0), ((*A, 512, 512, 4096, 4096), 1, 6000.0)])
    one = merge(tmp_path, BASE, new)
    assert table(one.logic)[A] == (128, 6000.0)
    assert "1 size that differed in leading dimensions only" in one.notes[0]


def test_what_follows_from_stagger_u_0_is_set_and_compared_as_tensile_does(tmp_path: Path) -> None:
    base = parts([solution(16, StaggerU=0, StaggerUStride=0, _staggerStrideShift=0)], [(A, 0, 1000.0)], "Equality")
    new = parts([solution(16, StaggerU=0)], [(C, 0, 2000.0)])
    (only,) = plain(merge(tmp_path, base, new).logic.text())[5]
    assert (only["StaggerUStride"], only["_staggerStrideShift"]) == (0, 0)


def test_what_the_merge_does_not_touch_stays_byte_for_byte(tmp_path: Path) -> None:
    file = write(tmp_path / "base.yaml", BASE)
    text = file.read_text().replace("WorkGroupMapping: 8\n", "WorkGroupMapping:   8 # by hand\n", 1)
    file.write_text(text)
    new = read_logic(write(tmp_path / "new.yaml", parts([solution(64)], [(C, 0, 100.0)])))
    after = merged(read_logic(file), new).logic.text()
    kept = text[: text.index("- [2, 3, 0, 1]")]
    assert after.startswith(kept)


def test_a_value_that_two_solutions_share_survives_the_loss_of_the_one_that_has_it(tmp_path: Path) -> None:
    instruction = [16, 16, 16, 1]
    solutions = [solution(16, MatrixInstruction=instruction), solution(32, MatrixInstruction=instruction)]
    base = write(tmp_path / "base.yaml", parts(solutions, [(A, 0, 1.0e3), (B, 1, 2.0e3)]), shared=True)
    assert "&id" in base.read_text()
    new = read_logic(write(tmp_path / "new.yaml", parts([solution(64)], [(A, 0, 5.0e3)])))
    kept = plain(merged(read_logic(base), new).logic.text())[5]
    assert [(one["DepthU"], one["MatrixInstruction"]) for one in kept] == [(32, instruction), (64, instruction)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({0: {"MinimumRequiredVersion": "5.0.0"}}, "version 5.0.0 is not compatible with 4.33.0"),
        ({1: "arcturus"}, "schedule arcturus, not aldebaran"),
        ({2: "gfx942"}, "architecture gfx942, not gfx90a"),
        ({3: ["Device 1234"]}, "device Device 1234, not Device 0050, Device 7400"),
        ({4: {"UseBeta": False}}, "UseBeta False, not True"),
        ({4: {"UseBias": 1}}, "UseBias 1, not (not told)"),
    ],
)
def test_files_of_other_problems_and_gpus_are_refused(tmp_path: Path, change: dict[int, Any], words: str) -> None:
    new = parts([solution(64)], [(A, 0, 5000.0)])
    for place, value in change.items():
        new[place] = new[place] | value if place == 4 else value
    with pytest.raises(MergeError) as refused:
        merge(tmp_path, BASE, new)
    assert words in refused.value.message


def test_keys_that_an_older_version_did_not_know_are_taken_for_their_defaults(tmp_path: Path) -> None:
    new = parts([solution(64)], [(A, 0, 5000.0)], F32XdlMathOp=0, Fp32toFp8SWClip=True, DataTypeE=4, MirrorDimsA=[])
    new[0] = {"MinimumRequiredVersion": "4.44.0"}
    one = merge(tmp_path, BASE, new)
    assert (one.taken, one.logic.version) == (1, "4.44.0")
    assert plain(one.logic.text())[0] == {"MinimumRequiredVersion": "4.44.0"}


@pytest.mark.parametrize(
    ("base", "new", "words"),
    [
        ("GridBased", "Equality", "is Equality, and logic.yaml is GridBased"),
        ("GridBased", None, "a size that stands alone would win for all that are nearest to it"),
        ("Prediction", None, "its table is of the kind Prediction"),
    ],
)
def test_exact_tables_and_grids_are_not_mixed(tmp_path: Path, base: str, new: str | None, words: str) -> None:
    told = [parts([solution(16)], [(A, 0, 4000.0)], matching) for matching in (base, new)]
    with pytest.raises(MergeError) as refused:
        merge(tmp_path, *told)
    assert words in refused.value.message


def test_a_file_without_solutions_takes_its_first(tmp_path: Path) -> None:
    """As hipBLASLt has some, with a number of compute units and a kind of matching."""
    base = parts([], [], "Equality")
    base[2], base[7] = {"Architecture": "gfx90a", "CUCount": 104}, None
    one = merge(tmp_path, base, parts([solution(64)], [(A, 0, 5000.0)]))
    assert table(one.logic) == {A: (64, 5000.0)}
    assert plain(one.logic.text())[2] == {"Architecture": "gfx90a", "CUCount": 104}
    fewer = parts([solution(64)], [(A, 0, 5000.0)])
    fewer[2] = {"Architecture": "gfx90a", "CUCount": 80}
    with pytest.raises(MergeError, match="80 compute units, not 104"):
        merge(tmp_path, base, fewer)


def test_percent_and_gflops_are_not_compared(tmp_path: Path) -> None:
    shipped = parts([solution(16)], [(A, 0, 61.95)], "Equality")
    new = parts([solution(64)], [(A, 0, 5000.0)])
    with pytest.raises(MergeError, match=r"speeds cannot be compared: logic.yaml tells percent of the peak"):
        merge(tmp_path, shipped, new)
    assert table(merge(tmp_path, shipped, new, force=True).logic) == {A: (64, 5000.0)}
    elsewhere = parts([solution(64)], [(C, 0, 5000.0)])
    assert table(merge(tmp_path, shipped, elsewhere).logic)[C] == (64, 5000.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\n", "no list"),
        ("- {MinimumRequiredVersion: 4.33.0}\n- aldebaran\n", "a list of 9 parts or more, it has 2"),
        ("- [\n- a\n- b\n- c\n- d\n- []\n- []\n- []\n- x\n", "not valid YAML"),
    ],
)
def test_what_is_no_library_logic_is_named(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(text)
    with pytest.raises(ResultsError) as refused:
        read_logic(file)
    assert words in refused.value.message
    assert refused.value.line == 1


def test_a_row_without_its_solution_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path / "x.yaml", parts([solution(16)], [(A, 3, 1.0)]))
    with pytest.raises(ResultsError, match="the size 256x128x1x4096 has solution 3, and there are 1"):
        read_logic(file)


def logic_of(run: str) -> LibraryLogic:
    (file,) = (DATA / "real-runs" / run / "3_LibraryLogic").glob("*.yaml")
    return read_logic(file)


@needs_data
@pytest.mark.parametrize("run", RUNS)
def test_a_real_file_is_written_as_tensile_wrote_it(run: str) -> None:
    logic = logic_of(run)
    assert logic.text() == logic.file.read_text()


@needs_data
@pytest.mark.parametrize("force", [False, True])
def test_real_files_merge_into_each_other_with_every_size_as_it_was_measured(force: bool) -> None:
    for base, new in permutations(map(logic_of, RUNS), 2):
        after = plain(merged(base, new, force=force).logic.text())
        assert (after[:5], after[6], after[8:]) == tuple(
            plain(base.text())[part] for part in (slice(5), 6, slice(8, 99))
        )
        sources = {source.file: plain(source.text()) for source in (base, new)}
        for size, (index, speed) in after[7]:
            rows = [(told, *row) for told in sources.values() for row in told[7] if row[0][:4] == size]
            wanted = rows[1] if force else max(rows, key=lambda row: row[2][1])
            assert speed == wanted[2][1]
            names = {"SolutionIndex", "SolutionNameMin"}
            taken, own = after[5][index], wanted[0][5][wanted[2][0]]
            assert {key: taken[key] for key in taken.keys() - names} == {key: own[key] for key in own.keys() - names}


@needs_data
def test_a_real_file_is_explained_with_its_share_of_the_peak() -> None:
    lines = explained(logic_of("extra-columns"), "MI210")
    assert lines[:2] == [
        "aldebaran_Cijk_Alik_Bljk_HSS_H.yaml: Tensile 4.44.0, gfx90a (aldebaran, Device 7400)",
        "problem   TN h to s, compute s, batched",
    ]
    assert "  1  tile 128x128x32, MatrixInstruction [16, 16, 16, 1], MIWaveTile [4, 4]: 1 size" in lines
    assert "       4096x2048x1x512  61,506 GFLOP/s, 34.0 % of the peak" in lines
