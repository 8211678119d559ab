"""Whatever bytes there are: an error with its place, never another exception."""

from __future__ import annotations

import gzip
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tensile.results.files import HEADER, NAME, NAMES, ROW, leave, solutions, table
from tui_tuner.errors import ProblemError
from tui_tuner.tensile.document.reading import read_configuration
from tui_tuner.tensile.result_tables import ResultsError
from tui_tuner.tensile.results import read_results

GOOD = table(f"{ROW}, 1, 2, 3")
DEEP = solutions() + "- Deep: " + "[" * 100_000 + "\n"
TAGGED = solutions() + "- Tagged: !!python/object/apply:os.getcwd []\n"


@pytest.mark.parametrize(
    ("csv", "line", "words"),
    [
        ("", None, "it is empty"),
        (HEADER + "\n", None, "columns for 0 solutions"),
        (table(), None, "it has no row"),
        (table(f"{ROW}, 1, fast, 3"), 2, r"column 12 \(MT64x64x32_GSU4\): 'fast' is not a number"),
        (table(f"{ROW}, 1, nan, 3"), 2, "is not a finite number"),
        (table(f"{ROW}, 1, inf, 3"), 2, "is not a finite number"),
        (table(f"{ROW}, 1, -7, 3"), 2, "is not a speed"),
        (table(f"{ROW}, 1, 2"), 2, "the row has 12 cells, the header 13"),
        (table(f"{ROW}, 1, 2, 3", f"{ROW[:30]}"), 3, "cells, the header 13"),
        (table("0, , 128, 1, 4096, 1, 1, 1, 1, 2, 1, 2, 3"), 2, r"column 2 \(SizeI\): '' is not a size"),
        (table("0, 2.5, 128, 1, 4096, 1, 1, 1, 1, 2, 1, 2, 3"), 2, "is not a count"),
        (table(f"{ROW}, 1, 2, 3", names=(NAMES[0], NAMES[0], NAMES[1])), 1, "columns 11 and 12 have the same name"),
        (table(f"{ROW}, 1, 2, 3", header=HEADER.replace("GFlops", "Speed")), 1, "it lacks GFlops"),
        ("GFlops, S0\n1, 2\n", 1, "names no problem size"),
        (b"\x7fELF\xff\xfe\x00", 1, "it is not text"),
        (GOOD.encode() + b"\n\0\0\0", 4, "it is not text"),
        (GOOD + '"' + "x" * 200_000, None, "it is no table"),
    ],
)
def test_a_table_that_cannot_be_understood_says_where_and_why(
    tmp_path: Path, csv: str | bytes, line: int | None, words: str
) -> None:
    with pytest.raises(ResultsError, match=words) as caught:
        read_results(leave(tmp_path, csv))
    assert str(caught.value.file).endswith(".csv")
    assert line is None or caught.value.line == line


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("", "it is empty: Tensile wrote no solution"),
        ("word\n", "it is no list of solutions"),
        ("- just a word\n", "not valid YAML"),
        ("- MinimumRequiredVersion: 4.33.0\n", "it names no solution"),
        (solutions().replace("GlobalSplitU: 4", "GlobalSplitU: {4"), "not valid YAML"),
        (solutions().replace("GlobalSplitU: 4", "GlobalSplitU: *nobody"), r"\*nobody is not defined"),
        pytest.param(DEEP, "nested too deeply", id="deep"),
        (TAGGED, "not valid YAML"),
        (b"\xff\xfe\n", "it is not text"),
    ],
)
def test_solutions_that_cannot_be_understood_say_why(tmp_path: Path, yaml: str | bytes, words: str) -> None:
    with pytest.raises(ResultsError, match=words) as caught:
        read_results(leave(tmp_path, GOOD, yaml))
    assert str(caught.value.file).endswith(".yaml")


def test_a_table_without_its_solutions_names_the_missing_file(tmp_path: Path) -> None:
    leave(tmp_path, GOOD)
    next(tmp_path.glob("2_BenchmarkData/*.yaml")).unlink()
    with pytest.raises(ResultsError, match=r"\.yaml: it cannot be read"):
        read_results(tmp_path)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_give_an_error_or_a_table(tmp_path: Path, data: st.DataObject) -> None:
    files = {"csv": GOOD.encode(), "yaml": solutions().encode()}
    which = data.draw(st.sampled_from(sorted(files)))
    good = files[which]
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, min(len(good), start + 40)))
    files[which] = good[:start] + data.draw(st.binary(max_size=20)) + good[end:]
    with suppress(ResultsError):
        assert read_results(leave(tmp_path, files["csv"], files["yaml"]))


def test_a_packed_table_an_empty_file_of_solutions_and_a_row_cut_off_have_a_way_out(tmp_path: Path) -> None:
    cases = (
        (gzip.compress(table(f"{ROW}, 1, 2, 3").encode()), None, "packed", f"unpack it: gzip -dk {NAME}.csv"),
        (table(f"{ROW}, 1, 2, 3"), "", "it is empty: Tensile wrote no solution", None),
        (table(f"{ROW}, 1, 2, 3", ROW), None, "has 10 cells, the header 13", "Where the run was cut off, without that"),
    )
    for number, (csv, yaml, words, hint) in enumerate(cases):
        with pytest.raises(ResultsError, match=words) as told:
            read_results(leave(tmp_path / str(number), csv, yaml))
        assert (told.value.hint or "").startswith(hint or "")
    config = tmp_path / "gemm.yaml.gz"
    config.write_bytes(gzip.compress(b"BenchmarkProblems:"))
    with pytest.raises(ProblemError, match=r"unpack it: gzip -dk gemm\.yaml\.gz"):
        read_configuration(config)
