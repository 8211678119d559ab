"""Files of solutions: headers of several lengths, shared lists, thousands of entries."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml

from tests.tensile.results.files import NAMES, ROW, leave, solutions, table
from tui_tuner.tensile.document.reading import parse_configuration
from tui_tuner.tensile.result_tables import GroupTable, ResultRow, ResultsError
from tui_tuner.tensile.results import read_results, solutions_of
from tui_tuner.tensile.summary import summarise

SPEEDS = f"{ROW}, 1, 2, 3"
FINAL = "    BenchmarkFinalParameters:\n    - ProblemSizes:\n"
BIAS = "- BiasTypeArgs: [[4]]\n"
ACTIVATION = "- ActivationArgs:\n  - [Enum: relu]\n"


@pytest.mark.parametrize("header", ["", BIAS, ACTIVATION, BIAS + ACTIVATION])
def test_the_header_has_two_to_four_entries(tmp_path: Path, header: str) -> None:
    (group,) = read_results(leave(tmp_path, table(SPEEDS), solutions(more_header=header)))
    assert list(group.solutions) == list(NAMES)
    assert group.solutions[NAMES[1]]["ProblemType"] == {"Batched": True, "DataType": 4, "IndexAssignmentsA": [3, 0, 2]}


def test_it_reads_what_a_yaml_library_reads(tmp_path: Path) -> None:
    shared = [16, 16, 1]
    words = "a name so long that the library breaks it: " + "word " * 60
    states = [{"WorkGroup": shared, "Index": at, "Words": words, "Empty": [], "Text": "a: 'b' #c"} for at in range(4)]
    file = tmp_path / "solutions.yaml"
    file.write_text(yaml.dump(states, default_flow_style=None))
    assert "&id001" in file.read_text()
    assert solutions_of(file) == states


@pytest.mark.slow
def test_two_thousand_solutions_are_read_in_seconds(tmp_path: Path) -> None:
    file = tmp_path / "solutions.yaml"
    rest = "".join(f"  Parameter{at:03d}: {at % 5}\n" for at in range(200))
    entries = (f"- DepthU: {32 + at % 2}\n{rest}  SolutionNameMin: name_{at}\n" for at in range(2048))
    file.write_text("".join(entries))
    start = time.process_time()
    assert len(solutions_of(file)) == 2048
    assert time.process_time() - start < 3


def test_a_file_that_ends_within_a_solution_is_no_result(tmp_path: Path) -> None:
    text = solutions()
    for end in (len(text) - 1, len(text) - len("  WorkGroupMapping: 8\n")):
        with pytest.raises(ResultsError, match="ends within a solution"):
            read_results(leave(tmp_path, table(SPEEDS), text[:end]))


def test_other_numbers_of_solutions_in_the_two_files_are_said(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"columns for 3 solutions, but its \.yaml has 2"):
        read_results(leave(tmp_path, table(SPEEDS, names=("S0", "S1", "S2")), solutions(NAMES[:2])))


@pytest.mark.slow
def test_five_thousand_problem_sizes_are_summarised_in_seconds() -> None:
    sizes = [(at + 1, 64, 1, 64) for at in range(5_000)]
    exact = "".join(f"      - Exact: {list(size)}\n" for size in sizes)
    text = f"BenchmarkProblems:\n- - {{DataType: s}}\n  - ForkParameters: [{{DepthU: [8, 16]}}]\n{FINAL}{exact}"
    names: dict[str, dict[str, object]] = {
        f"S{depth}": {"DepthU": depth, **{f"P{at}": at for at in range(200)}} for depth in (8, 16)
    }
    rows = [ResultRow(size, {}, None, {"S8": 1.0, "S16": 2.0}, frozenset(), "S16", None) for size in sizes]
    start = time.process_time()
    summary = summarise(parse_configuration(text, Path("c.yaml")), [GroupTable("Cijk_00", 0, "GFlops", rows, names)])
    assert time.process_time() - start < 3
    assert {size.ranked[0].values["DepthU"] for size in summary.sizes} == {16}
    assert len({contender.derived for size in summary.sizes for contender in size.ranked}) == 2
