"""The words `logic` and `bench`: files of runs found, merged in place or elsewhere, by Tensile's own merge or here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tensile.conftest import TuneHere
from tests.tensile.library.logics import parts, plain, solution, write
from tests.tensile.running.programs import python_program
from tests.tensile.sessions.world import SMALL_SPACE
from tui_tuner.errors import SettingsError
from tui_tuner.tensile.library import read_logic
from tui_tuner.tensile.library.command import find_client, speed_in, words_of
from tui_tuner.tensile.library.files import find_logic

A, B = (256, 128, 1, 4096), (512, 512, 4, 1024)
MERGE = """
import pathlib, sys
base, new, out = map(pathlib.Path, sys.argv[1:4])
assert sys.argv[4:] == ["--force_merge", "false"], sys.argv
file, = base.iterdir()
out.mkdir()
text = (new / file.name).read_text()
(out / file.name).write_text(text.replace("MinimumRequiredVersion: 4.33.0", "MinimumRequiredVersion: 4.99.0"))
"""


def test_the_last_runs_are_preferred_and_of_them_the_median(tmp_path: Path) -> None:
    for name, speed in (("00", 9e4), ("finals-1", 1e4), ("finals-2", 3e4), ("finals-3", 2e4)):
        file = tmp_path / "rounds" / name / "tensile" / "3_LibraryLogic" / "x.yaml"
        write(file, parts([solution(16)], [(A, 0, speed)]))
    (found,) = find_logic(tmp_path)
    assert found.parents[2].name == "finals-3"
    assert find_logic(found.parents[1]) == [found]
    assert find_logic(found) == [found]


def test_a_file_is_merged_in_its_place_with_the_original_beside_it(tmp_path: Path, here: TuneHere) -> None:
    base = write(tmp_path / "base.yaml", parts([solution(16)], [(A, 0, 4000.0)], "Equality"))
    new = write(tmp_path / "new.yaml", parts([solution(32)], [(A, 0, 5000.0)]))
    before = base.read_text()
    apart = here("tensile", "logic", str(new), "--into", str(base), "-o", str(tmp_path / "out.yaml"))
    assert (apart.code, base.read_text()) == (0, before)
    ended = here("tensile", "logic", str(new), "--into", str(base))
    assert ended.code == 0, ended.err
    assert "0 sizes added, 1 replaced, 0 kept as they were" in ended.out
    assert (tmp_path / "base.yaml.orig").read_text() == before
    assert base.read_text() == (tmp_path / "out.yaml").read_text()
    assert plain(base.read_text())[5][0]["DepthU"] == 32
    again = here("tensile", "logic", str(new), "--into", str(base), "-o", str(tmp_path / "out.yaml"))
    assert (again.code, "is there already" in again.err) == (2, True)


@pytest.mark.parametrize(
    ("body", "words", "version"),
    [
        (MERGE, "merged by TensileMergeLibrary of Tensile", "4.99.0"),
        ("import sys; sys.exit('no rocisa here')", "its rules were followed here: no rocisa here", "4.33.0"),
    ],
)
def test_the_merge_of_an_installed_tensile_is_used_where_it_works(
    tmp_path: Path, here: TuneHere, body: str, words: str, version: str
) -> None:
    program = python_program(tmp_path / "Tensile" / "bin", "print('4.44.0')")
    python_program(tmp_path / "Tensile" / "bin", body, "TensileMergeLibrary")
    base = write(tmp_path / "base.yaml", parts([solution(16)], [(A, 0, 4000.0)], "Equality"))
    new = write(tmp_path / "new.yaml", parts([solution(32)], [(A, 0, 5000.0)]))
    ended = here("tensile", "logic", str(new), "--into", str(base), "--tensile", str(program))
    assert (ended.code, words in ended.out) == (0, True), ended
    assert plain(base.read_text())[0]["MinimumRequiredVersion"] == version


@pytest.mark.parametrize(
    ("output", "speed"),
    [
        ("x\ntransA,transB,M,rocblas-Gflops,us\nN,T,64,  812.5, 3.1\n", 812.5),
        ("[0]:transA,transB,hipblaslt-Gflops,hipblaslt-GB/s,us\n    T,N,4711,3,2\n", 4711.0),
        ("hipblaslt-Gflops,us\nnone,1\n", None),
        ("", None),
    ],
)
def test_the_speed_is_read_by_its_name(output: str, speed: float | None) -> None:
    assert speed_in(output) == speed


@pytest.mark.slow
def test_two_libraries_are_compared_at_every_size(tmp_path: Path, here: TuneHere) -> None:
    body = (
        "import os, sys\nprint('M,rocblas-Gflops,us')\n"
        "print(f\"1,{2000 if 'after' in os.environ['ROCBLAS_TENSILE_LIBPATH'] else 1000},1\")"
    )
    client = python_program(tmp_path, body, "rocblas-bench")
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
    new = write(tmp_path / "new.yaml", parts([solution(32)], [(A, 0, 5000.0)]))
    dirs = ("--before", str(tmp_path / "before"), "--after", str(tmp_path / "after"))
    ended = here("tensile", "bench", str(new), *dirs, "--client", str(client))
    assert "256x128x1x4096  1,000 to 2,000 GFLOP/s  2.00x (2.000 to 2.000)" in ended.out, ended
    missing = here("tensile", "bench", str(new), *dirs[:2], "--client", str(client))
    assert "a library is missing: --after DIR is not named" in missing.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("gemm.yaml", "--into", "x.yaml"), "--into goes with the word logic"),
        (("gemm.yaml", "--after", "x"), "--after goes with the word bench"),
        (("logic",), "no run is named"),
        (("logic", "nowhere"), "there is no library logic in nowhere"),
        (("logic", "new.yaml", "--force"), "-o and --force go with --into FILE"),
        (("bench",), "no run is named"),
        (("start",), "no configuration is named"),
        (("start", "gemm.yaml"), "the GPU is not named"),
        (("start", "gemm.yaml", "--gpu", "RX 7900 XTX"), "there is nothing to rank"),
    ],
)
def test_what_is_missing_is_named_with_the_way_out(
    tmp_path: Path, here: TuneHere, words: tuple[str, ...], told: str
) -> None:
    write(tmp_path / "new.yaml", parts([solution(32)], [(A, 0, 5000.0)]))
    (tmp_path / "gemm.yaml").write_text(SMALL_SPACE)
    ended = here("tensile", *words)
    assert ended.code == 2
    assert told in ended.err
    assert ended.err.count("\n") == 2  # the fault, and a hint


def test_where_to_start_is_told_for_every_size(tmp_path: Path, here: TuneHere) -> None:
    (tmp_path / "gemm.yaml").write_text(SMALL_SPACE)
    lines = here("tensile", "start", "gemm.yaml", "--gpu", "MI300X").out.splitlines()
    assert lines[0] == "Where to start, computed for Instinct MI300X and not measured:"
    assert [line for line in lines if line.startswith("size")] == [
        "size group 0, 512x512x1x1024:",
        "size group 0, 256x128x1x4096:",
    ]


def test_without_a_bench_program_it_is_said_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SettingsError, match="neither rocblas-bench nor hipblaslt-bench is on PATH"):
        find_client(None)


def test_a_size_is_asked_for_in_the_words_of_each_client(tmp_path: Path) -> None:
    logic = read_logic(write(tmp_path / "x.yaml", parts([solution(32)], [(B, 0, 5000.0)])))
    words = {}
    for name in ("rocblas-bench", "hipblaslt-bench"):
        client = find_client(python_program(tmp_path, "", name))
        words[name] = " ".join(words_of(logic, B, client))
    sizes = "-m 512 -n 512 -k 1024 --alpha 1 --beta 1 --batch_count 4"
    types = "--a_type f16_r --b_type f16_r --c_type f32_r --d_type f32_r --compute_type f32_r"
    assert words == {
        "rocblas-bench": f"{sizes} {types} --transposeA T --transposeB N --function gemm_strided_batched_ex",
        "hipblaslt-bench": f"{sizes} {types} --transA T --transB N",
    }
