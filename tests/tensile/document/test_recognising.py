"""Which files the start screen takes for configurations: those that the reader takes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tensile.real import DATA, needs_data
from tests.tensile.sessions.world import SMALL_SPACE
from tui_tuner.app.overview import files_in
from tui_tuner.errors import ProblemError
from tui_tuner.tensile import TENSILE, is_configuration
from tui_tuner.tensile.document.reading import parse_configuration
from tui_tuner.tui.start import GivenFile

ALTERNATE = "ProblemType:\n  DataType: h\nForkParameters:\n  - DepthU: [16, 32]\n"
LOGIC = "- {MinimumRequiredVersion: 4.33.0}\n- aldebaran\n- gfx90a\n- [Device 0050]\n- OperationType: GEMM\n"


@pytest.mark.parametrize(
    ("text", "is_own"),
    [
        (SMALL_SPACE, True),
        (SMALL_SPACE.replace("BenchmarkProblems:", '"BenchmarkProblems" :'), True),
        (
            "\ufeff" + SMALL_SPACE.partition("BenchmarkProblems")[1] + SMALL_SPACE.partition("BenchmarkProblems")[2],
            True,
        ),
        (SMALL_SPACE.replace("\n", "\r\n"), True),
        (ALTERNATE, True),
        (ALTERNATE.replace("ForkParameters", "JoinParameters"), False),
        (LOGIC, False),
        ("jobs:\n  BenchmarkProblems:\n    - 1\n", False),
        ("# BenchmarkProblems:\n", False),
        ("", False),
    ],
)
def test_a_configuration_is_known_by_the_keys_that_the_reader_asks_for(tmp_path: Path, text: str, is_own: bool) -> None:
    file = tmp_path / "some.yaml"
    file.write_bytes(text.encode())
    assert is_configuration(file) is is_own is is_read(text, file)


def is_read(text: str, file: Path) -> bool:
    try:
        parse_configuration(text, file)
    except ProblemError:
        return False
    return True


@needs_data
def test_all_that_a_real_tensile_accepts_is_known_and_nothing_that_it_wrote() -> None:
    given = [*DATA.glob("*.yaml"), *DATA.glob("accepted-by-tensile/*.yaml")]
    wrote = [file for file in DATA.glob("real-runs/*/**/*.yaml") if "3_LibraryLogic" in file.parts]
    assert len(given) > 30
    assert wrote
    assert [file.name for file in given if not is_configuration(file)] == []
    assert [file.name for file in wrote if is_configuration(file)] == []


def test_the_start_screen_lists_configurations_behind_the_kernels(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "deep.yml").write_text(ALTERNATE)
    assert files_in(tmp_path) == [GivenFile(Path("below/deep.yml"), subject=TENSILE)]
    (tmp_path / "gemm.yaml").write_text(SMALL_SPACE)
    (tmp_path / "logic.yaml").write_text(LOGIC)
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "nowhere.yaml").symlink_to("nothing")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "secret.yaml").write_text(SMALL_SPACE)
    (tmp_path / "secret.yaml").chmod(0)
    (tmp_path / "a.cu").touch()
    listed = [file for file in files_in(tmp_path) if file.path.name != "secret.yaml"]  # which root may read
    assert listed == [GivenFile(Path("a.cu"), has_problem=False), GivenFile(Path("gemm.yaml"), subject=TENSILE)]
